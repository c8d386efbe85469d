"""What unrolled and rolled kernels share: the entry points, and loops that transpose rows into lanes and back."""

from __future__ import annotations

from collections.abc import Sequence

from catena.kernels.emit import Lanes, Writer


class Counted:
    """A loop over i from 0 to a width that may be zero; the lines until `close` are its body."""

    def __init__(self, w: Writer, name: str, width: str) -> None:
        self.w, self.name, self.i = w, name, f"%{name}.i"
        w.put(f"br label %{name}.before")
        w.label(f"{name}.before")
        w.put(f"br label %{name}.test")
        w.label(f"{name}.test")
        w.put(f"{self.i} = phi i64 [0, %{name}.before], [%{name}.next, %{name}.body]")
        w.put(f"%{name}.more = icmp slt i64 {self.i}, {width}")
        w.put(f"br i1 %{name}.more, label %{name}.body, label %{name}.done")
        w.label(f"{name}.body")

    def close(self) -> None:
        """Go round again, or on."""
        self.w.put(f"%{self.name}.next = add i64 {self.i}, 1")
        self.w.put(f"br label %{self.name}.test")
        self.w.label(f"{self.name}.done")


def _pointers(w: Writer, table: str, count: int) -> list[str]:
    return [w.new(f"load ptr, ptr {w.new(f'getelementptr ptr, ptr {table}, i64 {i}')}") for i in range(count)]


def single_function(core: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """``single``: the function ``core`` for one lane, on rows as they are."""
    w = Writer()
    w.label("entry")
    rows = _pointers(w, "%inputs", len(inputs)) + _pointers(w, "%outputs", len(outputs))
    arguments = ", ".join(f"ptr {row}" for row in rows)
    w.put(f"call void @{core}1(ptr %context, {arguments}, ptr %scratch)")
    w.put("ret void")
    return w.function("dso_local void @single(ptr %context, ptr %inputs, ptr %outputs, ptr %scratch)")


def batch_function(
    core: str, inputs: Sequence[str], outputs: Sequence[str], lanes: Lanes, prologue: Sequence[str] = ()
) -> str:
    """``batch``: W samples at a time, the last one repeated where there are fewer, through blocks ``[component][lane]``.

    ``inputs`` and ``outputs`` are the widths of the rows: numbers, or values that the lines of the ``prologue`` define.
    """
    w = Writer()
    w.label("entry")
    w.lines += prologue
    w.put("%stop = add i64 %first, %count")
    w.put("%final = sub i64 %stop, 1")
    rows_in, rows_out = _pointers(w, "%inputs", len(inputs)), _pointers(w, "%outputs", len(outputs))
    at, blocks = "%scratch", []
    for width in (*inputs, *outputs):
        blocks.append(at)
        at = w.new(f"getelementptr {lanes.type}, ptr {at}, i64 {width}")
    w.put("br label %group")
    w.label("group")
    w.put("%sample = phi i64 [%first, %entry], [%sample.next, %group.end]")
    samples = _samples(w, lanes.W)
    for i, (row, width) in enumerate(zip(rows_in, inputs, strict=True)):
        stride = w.new(f"load i64, ptr {w.new(f'getelementptr i64, ptr %row_strides, i64 {i}')}")
        _gather(w, f"in{i}", lanes, _starts(w, row, samples, stride, lanes), blocks[i], width)
    arguments = ", ".join(f"ptr {block}" for block in blocks)
    w.put(f"call void @{core}{lanes.W}(ptr %context, {arguments}, ptr {at})")
    for i, (row, width) in enumerate(zip(rows_out, outputs, strict=True)):
        _scatter(w, f"out{i}", lanes, blocks[len(inputs) + i], _starts(w, row, samples, width, lanes), width)
    w.put("br label %group.end")
    w.label("group.end")
    w.put(f"%sample.next = add i64 %sample, {lanes.W}")
    w.put("%more = icmp slt i64 %sample.next, %stop")
    w.put("br i1 %more, label %group, label %end")
    w.label("end")
    w.put("ret void")
    arguments = "ptr %context, ptr %inputs, ptr %row_strides, ptr %outputs, ptr %scratch, i64 %first, i64 %count"
    return w.function(f"dso_local void @batch({arguments})")


def _samples(w: Writer, W: int) -> list[str]:
    """The sample that each lane computes."""
    samples = []
    for lane in range(W):
        i = w.new(f"add i64 %sample, {lane}")
        over = w.new(f"icmp sgt i64 {i}, %final")
        samples.append(w.new(f"select i1 {over}, i64 %final, i64 {i}"))
    return samples


def _starts(w: Writer, row: str, samples: Sequence[str], stride: str, lanes: Lanes) -> list[str]:
    """Where the rows of the lanes' samples start."""
    return [
        w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {w.new(f'mul i64 {sample}, {stride}')}")
        for sample in samples
    ]


def _gather(w: Writer, name: str, lanes: Lanes, starts: Sequence[str], block: str, width: str) -> None:
    T, scalar = lanes.type, lanes.scalar
    loop, value = Counted(w, name, width), "poison"
    for lane, start in enumerate(starts):
        x = w.new(f"load {scalar}, ptr {w.new(f'getelementptr {scalar}, ptr {start}, i64 {loop.i}')}")
        value = x if lanes.W == 1 else w.new(f"insertelement {T} {value}, {scalar} {x}, i64 {lane}")
    w.put(f"store {T} {value}, ptr {w.new(f'getelementptr {T}, ptr {block}, i64 {loop.i}')}")
    loop.close()


def _scatter(w: Writer, name: str, lanes: Lanes, block: str, starts: Sequence[str], width: str) -> None:
    T, scalar = lanes.type, lanes.scalar
    loop = Counted(w, name, width)
    value = w.new(f"load {T}, ptr {w.new(f'getelementptr {T}, ptr {block}, i64 {loop.i}')}")
    for lane, start in enumerate(starts):
        x = value if lanes.W == 1 else w.new(f"extractelement {T} {value}, i64 {lane}")
        w.put(f"store {scalar} {x}, ptr {w.new(f'getelementptr {scalar}, ptr {start}, i64 {loop.i}')}")
    loop.close()
