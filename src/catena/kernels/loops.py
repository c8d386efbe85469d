"""What unrolled and rolled kernels share: the entry points, and loops that transpose rows into lanes and back."""

from __future__ import annotations

from collections.abc import Sequence

from catena.kernels.emit import Lanes, Writer

BATCH = (
    "dso_local void @batch(ptr %context, ptr %inputs, ptr %row_strides, ptr %outputs, ptr %scratch, "
    "i64 %first, i64 %count)"
)
INLINE = 12
"""Rows of up to so many registers are transposed without a loop."""
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
    core: str,
    inputs: Sequence[str],
    outputs: Sequence[str],
    lanes: Lanes,
    prologue: Sequence[str] = (),
    one_row: Sequence[int] = (),
) -> str:
    """``batch``: W samples at a time, the last one repeated where there are fewer, in blocks ``[component][lane]``.

    ``inputs`` and ``outputs`` are the widths of the rows: numbers, or values that the lines of the ``prologue`` define.
    Inputs whose numbers are in ``one_row`` have one row for all samples, which the function ``core`` gets as it is.
    """
    w = Writer()
    w.label("entry")
    w.lines += prologue
    w.put("%stop = add i64 %first, %count")
    rows_in, rows_out = pointers(w, "%inputs", len(inputs)), pointers(w, "%outputs", len(outputs))
    steps = strides(w, len(inputs))
    at, blocks = "%scratch", []
    for i, width in enumerate((*inputs, *outputs)):
        if i in one_row:
            blocks.append(rows_in[i])
        else:
            blocks.append(at)
            at = w.new(f"getelementptr {lanes.type}, ptr {at}, i64 {width}")
    loop = Counted(w, "group", "%stop", "%first", lanes.W)
    for i, (row, stride, width) in enumerate(zip(rows_in, steps, inputs, strict=True)):
        if i not in one_row:
            transpose(w, "gather", lanes, row, loop.i, "%stop", stride, blocks[i], width)
    arguments = ", ".join(f"ptr {block}" for block in blocks)
    w.put(f"call void @{core}{lanes.W}(ptr %context, {arguments}, ptr {at})")
    for i, (row, width) in enumerate(zip(rows_out, outputs, strict=True)):
        transpose(w, "scatter", lanes, row, loop.i, "%stop", width, blocks[len(inputs) + i], width)
    loop.close()
    w.put("ret void")
    return "\n".join([*transposing_functions(lanes), w.function(BATCH)])


def transpose(
    w: Writer, direction: str, lanes: Lanes, rows: str, sample: str, stop: str, stride: str, block: str, width: str
) -> None:
    """Have rows, from a sample on but none from ``stop`` on, gathered into a block or a block scattered to them."""
    offset = w.new(f"mul i64 {sample}, {stride}")
    row = w.new(f"getelementptr {lanes.scalar}, ptr {rows}, i64 {offset}")
    count = w.new(f"sub i64 {stop}, {sample}")
    if width.isdigit() and lanes.W <= int(width) <= INLINE * lanes.W:
        every = _rows(w, lanes, row, stride, count)
        for i in [*range(0, int(width) - lanes.W, lanes.W), int(width) - lanes.W]:
            _square(w, lanes, every, block, str(i), direction)
        return
    arguments = f"ptr {row}, i64 {stride}, i64 {count}, ptr {block}, i64 {width}"
    w.put(f"call void @{direction}{lanes.W}({arguments})")


def transposing_functions(lanes: Lanes) -> list[str]:
    """``gatherW`` and ``scatterW(row, stride, count, block, width)``: rows to a block ``[component][lane]`` and back.

    Lanes from ``count`` on stand for the last row as well.
    """
    return [_transposing(lanes, direction) for direction in ("gather", "scatter")]


def _transposing(lanes: Lanes, direction: str) -> str:
    """Squares of W rows and W components, the last two of which may overlap; single components in narrow rows."""
    w, W = Writer(), lanes.W
    w.label("entry")
    rows = _rows(w, lanes, "%row", "%stride", "%count")
    w.put(f"%narrow = icmp slt i64 %width, {W}")
    w.put("br i1 %narrow, label %few, label %many")
    w.label("many")
    w.put(f"%end = sub i64 %width, {W}")
    loop = Counted(w, "squares", "%end", "0", W)
    _square(w, lanes, rows, "%block", loop.i, direction)
    loop.close()
    _square(w, lanes, rows, "%block", "%end", direction)
    w.put("ret void")
    w.label("few")
    loop = Counted(w, "columns", "%width")
    _column(w, lanes, rows, loop.i, direction)
    loop.close()
    w.put("ret void")
    arguments = "ptr %row, i64 %stride, i64 %count, ptr %block, i64 %width"
    return w.function(f"internal void @{direction}{W}({arguments})")


def _rows(w: Writer, lanes: Lanes, row: str, stride: str, count: str) -> list[str]:
    """Where the rows of the lanes start: one after the other, the last one again where there are no more."""
    last = w.new(f"sub i64 {count}, 1")
    rows = [row]
    for lane in range(1, lanes.W):
        over = w.new(f"icmp sgt i64 {lane}, {last}")
        offset = w.new(f"mul i64 {w.new(f'select i1 {over}, i64 {last}, i64 {lane}')}, {stride}")
        rows.append(w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {offset}"))
    return rows


def _square(w: Writer, lanes: Lanes, rows: Sequence[str], block: str, i: str, direction: str) -> None:
    T, W, gathers = lanes.type, lanes.W, direction == "gather"
    in_rows = [w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {i}") for row in rows]
    first = w.new(f"getelementptr {T}, ptr {block}, i64 {i}")
    in_block = [w.new(f"getelementptr {T}, ptr {first}, i64 {k}") for k in range(W)]
    source, target = (in_rows, in_block) if gathers else (in_block, in_rows)
    align = [lanes.dtype.itemsize, lanes.size] if gathers else [lanes.size, lanes.dtype.itemsize]
    values = [w.new(f"load {T}, ptr {place}, align {align[0]}") for place in source]
    for value, place in zip(_transposed(w, values, lanes), target, strict=True):
        w.put(f"store {T} {value}, ptr {place}, align {align[1]}")


def _column(w: Writer, lanes: Lanes, rows: Sequence[str], i: str, direction: str) -> None:
    T, scalar, gathers = lanes.type, lanes.scalar, direction == "gather"
    places = [w.new(f"getelementptr {scalar}, ptr {row}, i64 {i}") for row in rows]
    in_block = w.new(f"getelementptr {T}, ptr %block, i64 {i}")
    value = "poison" if gathers else w.new(f"load {T}, ptr {in_block}, align {lanes.size}")
    for lane, place in enumerate(places):
        if gathers:
            x = w.new(f"load {scalar}, ptr {place}")
            value = w.new(f"insertelement {T} {value}, {scalar} {x}, i64 {lane}")
        else:
            w.put(f"store {scalar} {w.new(f'extractelement {T} {value}, i64 {lane}')}, ptr {place}")
    if gathers:
        w.put(f"store {T} {value}, ptr {in_block}, align {lanes.size}")


def copy(w: Writer, name: str, lanes: Lanes, source: str, target: str, width: int) -> None:
    """Numbers from one place to another."""
    loop = Counted(w, name, str(width))
    places = [w.new(f"getelementptr {lanes.scalar}, ptr {base}, i64 {loop.i}") for base in (source, target)]
    w.put(f"store {lanes.scalar} {w.new(f'load {lanes.scalar}, ptr {places[0]}')}, ptr {places[1]}")
    loop.close()


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
