"""What unrolled and rolled kernels share: the entry points, and loops that transpose rows into lanes and back."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from catena.kernels.emit import Lanes, Writer

BATCH = (
    "dso_local void @batch(ptr %context, ptr %inputs, ptr %row_strides, ptr %outputs, ptr %scratch, "
    "i64 %first, i64 %count)"
)
SINGLE = "dso_local void @single(ptr %context, ptr %inputs, ptr %outputs, ptr %scratch)"


class Counted:
    """A loop over i from ``start`` up to ``stop``, perhaps for no i at all; the lines until `close` are its body."""

    def __init__(self, w: Writer, name: str, stop: str, start: str = "0", step: int = 1) -> None:
        self.w, self.name, self.step, self.i = w, name, step, f"%{name}.i"
        w.put(f"br label %{name}.before")
        w.label(f"{name}.before")
        w.put(f"br label %{name}.test")
        w.label(f"{name}.test")
        w.put(f"{self.i} = phi i64 [{start}, %{name}.before], [%{name}.next, %{name}.again]")
        w.put(f"%{name}.more = icmp slt i64 {self.i}, {stop}")
        w.put(f"br i1 %{name}.more, label %{name}.body, label %{name}.done")
        w.label(f"{name}.body")

    def close(self) -> None:
        """Go round again, or on."""
        self.w.put(f"br label %{self.name}.again")
        self.w.label(f"{self.name}.again")
        self.w.put(f"%{self.name}.next = add i64 {self.i}, {self.step}")
        self.w.put(f"br label %{self.name}.test")
        self.w.label(f"{self.name}.done")


def pointers(w: Writer, table: str, count: int) -> list[str]:
    """The pointers in a table."""
    return [w.new(f"load ptr, ptr {w.new(f'getelementptr ptr, ptr {table}, i64 {i}')}") for i in range(count)]


def strides(w: Writer, count: int) -> list[str]:
    """The strides of the input rows."""
    places = [w.new(f"getelementptr i64, ptr %row_strides, i64 {i}") for i in range(count)]
    return [w.new(f"load i64, ptr {place}") for place in places]


def single_function(core: str, inputs: Sequence[str], outputs: Sequence[str]) -> str:
    """``single``: the function ``core`` for one lane, on rows as they are."""
    w = Writer()
    w.label("entry")
    rows = pointers(w, "%inputs", len(inputs)) + pointers(w, "%outputs", len(outputs))
    arguments = ", ".join(f"ptr {row}" for row in rows)
    w.put(f"call void @{core}1(ptr %context, {arguments}, ptr %scratch)")
    w.put("ret void")
    return w.function(SINGLE)


def batch_function(
    core: str, inputs: Sequence[str], outputs: Sequence[str], lanes: Lanes, prologue: Sequence[str] = ()
) -> str:
    """``batch``: W samples at a time, the last one repeated where there are fewer, in blocks ``[component][lane]``.

    ``inputs`` and ``outputs`` are the widths of the rows: numbers, or values that the lines of the ``prologue`` define.
    """
    w = Writer()
    w.label("entry")
    w.lines += prologue
    w.put("%stop = add i64 %first, %count")
    w.put("%final = sub i64 %stop, 1")
    rows_in, rows_out = pointers(w, "%inputs", len(inputs)), pointers(w, "%outputs", len(outputs))
    steps = strides(w, len(inputs))
    at, blocks = "%scratch", []
    for width in (*inputs, *outputs):
        blocks.append(at)
        at = w.new(f"getelementptr {lanes.type}, ptr {at}, i64 {width}")
    loop = Counted(w, "group", "%stop", "%first", lanes.W)
    chosen = samples(w, lanes.W, loop.i, "%final")
    for i, (row, stride, width) in enumerate(zip(rows_in, steps, inputs, strict=True)):
        gather(w, f"in{i}", lanes, starts(w, row, chosen, stride, lanes), blocks[i], width)
    arguments = ", ".join(f"ptr {block}" for block in blocks)
    w.put(f"call void @{core}{lanes.W}(ptr %context, {arguments}, ptr {at})")
    for i, (row, width) in enumerate(zip(rows_out, outputs, strict=True)):
        scatter(w, f"out{i}", lanes, blocks[len(inputs) + i], starts(w, row, chosen, width, lanes), width)
    loop.close()
    w.put("ret void")
    return w.function(BATCH)


def samples(w: Writer, W: int, first: str, final: str) -> list[str]:
    """The sample that each lane computes: one after the other, but none behind the final one."""
    chosen = []
    for lane in range(W):
        i = w.new(f"add i64 {first}, {lane}")
        over = w.new(f"icmp sgt i64 {i}, {final}")
        chosen.append(w.new(f"select i1 {over}, i64 {final}, i64 {i}"))
    return chosen


def starts(w: Writer, row: str, chosen: Sequence[str], stride: str, lanes: Lanes) -> list[str]:
    """Where the rows of the lanes' samples start."""
    offsets = [w.new(f"mul i64 {sample}, {stride}") for sample in chosen]
    return [w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {offset}") for offset in offsets]


def gather(w: Writer, name: str, lanes: Lanes, rows: Sequence[str], block: str, width: str, ahead: str = "") -> None:
    """Rows to a block ``[component][lane]``; rows ``ahead`` elements on are fetched into the cache meanwhile."""
    T, scalar = lanes.type, lanes.scalar

    def square(i: str) -> None:
        places = _places(w, lanes, rows, i)
        values = [w.new(f"load {T}, ptr {place}, align {lanes.dtype.itemsize}") for place in places]
        for k, value in enumerate(_transposed(w, values, lanes)):
            w.put(f"store {T} {value}, ptr {_component(w, lanes, block, i, k)}, align {lanes.size}")
        for place in places if ahead else ():
            line = w.new(f"getelementptr {scalar}, ptr {place}, i64 {ahead}")
            w.put(f"call void @llvm.prefetch.p0(ptr {line}, i32 0, i32 3, i32 1)")

    def column(i: str) -> None:
        value = "poison"
        for lane, place in enumerate(_places(w, lanes, rows, i)):
            x = w.new(f"load {scalar}, ptr {place}")
            value = x if lanes.W == 1 else w.new(f"insertelement {T} {value}, {scalar} {x}, i64 {lane}")
        w.put(f"store {T} {value}, ptr {_component(w, lanes, block, i, 0)}, align {lanes.size}")

    _squares_and_columns(w, name, lanes, width, square, column)


def scatter(w: Writer, name: str, lanes: Lanes, block: str, rows: Sequence[str], width: str) -> None:
    """A block ``[component][lane]`` to rows."""
    T, scalar = lanes.type, lanes.scalar

    def square(i: str) -> None:
        places = [_component(w, lanes, block, i, k) for k in range(lanes.W)]
        values = [w.new(f"load {T}, ptr {place}, align {lanes.size}") for place in places]
        for place, value in zip(_places(w, lanes, rows, i), _transposed(w, values, lanes), strict=True):
            w.put(f"store {T} {value}, ptr {place}, align {lanes.dtype.itemsize}")

    def column(i: str) -> None:
        value = w.new(f"load {T}, ptr {_component(w, lanes, block, i, 0)}, align {lanes.size}")
        for lane, place in enumerate(_places(w, lanes, rows, i)):
            x = value if lanes.W == 1 else w.new(f"extractelement {T} {value}, i64 {lane}")
            w.put(f"store {scalar} {x}, ptr {place}")

    _squares_and_columns(w, name, lanes, width, square, column)


def _squares_and_columns(
    w: Writer, name: str, lanes: Lanes, width: str, square: Callable[[str], None], column: Callable[[str], None]
) -> None:
    """W components at a time as far as they go, then one at a time."""
    whole = "0"
    if lanes.W > 1:
        whole = str(int(width) & -lanes.W) if width.isdigit() else w.new(f"and i64 {width}, {-lanes.W}")
        if whole != "0":
            loop = Counted(w, f"{name}.squares", whole, "0", lanes.W)
            square(loop.i)
            loop.close()
    if whole != width:
        loop = Counted(w, f"{name}.columns", width, whole)
        column(loop.i)
        loop.close()


def _places(w: Writer, lanes: Lanes, rows: Sequence[str], i: str) -> list[str]:
    return [w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {i}") for row in rows]


def _component(w: Writer, lanes: Lanes, block: str, i: str, k: int) -> str:
    index = i if k == 0 else w.new(f"add i64 {i}, {k}")
    return w.new(f"getelementptr {lanes.type}, ptr {block}, i64 {index}")


def _transposed(w: Writer, rows: Sequence[str], lanes: Lanes) -> list[str]:
    """The columns of a square matrix of which the rows are given, by exchanging ever larger blocks."""
    values, step = list(rows), 1
    while step < lanes.W:
        upper = [j if not j & step else lanes.W + j - step for j in range(lanes.W)]
        lower = [j + step if not j & step else lanes.W + j for j in range(lanes.W)]
        for i in range(lanes.W):
            if not i & step:
                x, y = values[i], values[i + step]
                values[i], values[i + step] = (_shuffle(w, lanes, x, y, mask) for mask in (upper, lower))
        step *= 2
    return values


def _shuffle(w: Writer, lanes: Lanes, x: str, y: str, mask: Sequence[int]) -> str:
    T, indices = lanes.type, ", ".join(f"i32 {j}" for j in mask)
    return w.new(f"shufflevector {T} {x}, {T} {y}, <{lanes.W} x i32> <{indices}>")
