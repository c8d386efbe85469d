"""Rows of a batch to blocks ``[component][lane]`` and back, in squares of W rows and W components."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from catena.kernels.codegen.emit import Lanes, Writer
from catena.kernels.codegen.loops import Counted

INLINE = 12
"""Rows of up to so many registers are transposed without a loop."""


def transpose(
    w: Writer, direction: str, lanes: Lanes, rows: str, sample: str, stop: str, stride: str, block: str, width: str
) -> None:
    """Have rows, from a sample on but none from ``stop`` on, gathered into a block or a block scattered to them."""
    if width.isdigit() and lanes.W <= int(width) <= INLINE * lanes.W:
        every = _from_sample(w, lanes, rows, sample, stop, stride)
        for i in [*range(0, int(width) - lanes.W, lanes.W), int(width) - lanes.W]:
            _square(w, lanes, every, block, str(i), direction)
        return
    row, count = _start(w, lanes, rows, sample, stop, stride)
    arguments = f"ptr {row}, i64 {stride}, i64 {count}, ptr {block}, i64 {width}"
    w.put(f"call void @{direction}{lanes.W}({arguments})")


def gather_some(
    w: Writer,
    lanes: Lanes,
    rows: str,
    sample: str,
    stop: str,
    stride: str,
    block: str,
    width: int,
    used: Collection[int],
) -> None:
    """Have those components of rows gathered that are used, with others where that takes no more instructions."""
    wanted = sorted({min(i - i % lanes.W, width - lanes.W) for i in used}) if width >= lanes.W else []
    if not used:
        return
    if not wanted:
        transpose(w, "gather", lanes, rows, sample, stop, stride, block, str(width))
        return
    if len(wanted) > INLINE:
        row, count = _start(w, lanes, rows, sample, stop, stride)
        for first, size in _runs(wanted, lanes.W):
            start = _component(w, lanes, row, str(first))
            place = w.new(f"getelementptr {lanes.type}, ptr {block}, i64 {first}")
            w.put(f"call void @gather{lanes.W}(ptr {start}, i64 {stride}, i64 {count}, ptr {place}, i64 {size})")
        return
    every = _from_sample(w, lanes, rows, sample, stop, stride)
    for i in wanted:
        _square(w, lanes, every, block, str(i), "gather")


def _runs(starts: Sequence[int], W: int) -> list[tuple[int, int]]:
    """Squares of W components that touch or overlap, put together: where each run starts, and how long it is."""
    runs: list[tuple[int, int]] = []
    for i in starts:
        if runs and i <= sum(runs[-1]):
            runs[-1] = runs[-1][0], i + W - runs[-1][0]
        else:
            runs.append((i, W))
    return runs


def scatter_from(
    w: Writer, name: str, lanes: Lanes, rows: str, sample: str, stop: str, block: str, places: Sequence[int | float]
) -> list[str]:
    """Rows of which each component is at a place of the block (an int), or the same number in all of them (a float).

    The code is straight: squares of numbers alone are stored without being loaded or transposed. Code for wide rows is
    in functions of its own, the definitions of which are returned: one long piece would take LLVM long.
    """
    W, width = lanes.W, len(places)
    starts = [*range(0, width - W, W), width - W]
    if len(starts) <= INLINE:
        every = _from_sample(w, lanes, rows, sample, stop, str(width))
        if width < W:
            for i, place in enumerate(places):
                in_rows = [_component(w, lanes, row, str(i)) for row in every]
                _store_column(w, lanes, in_rows, _value(w, lanes, block, place))
        for i in starts if width >= W else ():
            _store_square(w, lanes, every, i, block, places)
        return []
    row, count = _start(w, lanes, rows, sample, stop, str(width))
    functions = []
    for k in range(0, len(starts), INLINE):
        w.put(f"call void @{name}.{k}(ptr {row}, i64 {count}, ptr {block})")
        inner = Writer()
        inner.label("entry")
        every = _rows(inner, lanes, "%row", str(width), "%count")
        for i in starts[k : k + INLINE]:
            _store_square(inner, lanes, every, i, "%block", places)
        inner.put("ret void")
        functions.append(inner.function(f"internal void @{name}.{k}(ptr %row, i64 %count, ptr %block)"))
    return functions


def _value(w: Writer, lanes: Lanes, block: str, place: int | float) -> str:
    if isinstance(place, float):
        return lanes.number(place)
    at = w.new(f"getelementptr {lanes.type}, ptr {block}, i64 {place}")
    return w.new(f"load {lanes.type}, ptr {at}, align {lanes.size}")


def square(w: Writer, lanes: Lanes, block: str, places: Sequence[int | float], i: int) -> list[str]:
    """W components from number i on, of every row."""
    chosen = places[i : i + lanes.W]
    if all(isinstance(place, float) for place in chosen):
        return [lanes.numbers([float(x) for x in chosen])] * lanes.W
    return _transposed(w, [_value(w, lanes, block, place) for place in chosen], lanes)


def _store_square(
    w: Writer, lanes: Lanes, rows: Sequence[str], i: int, block: str, places: Sequence[int | float]
) -> None:
    """The components from number i on, as many as there are rows."""
    for row, x in zip(rows, square(w, lanes, block, places, i), strict=True):
        w.put(f"store {lanes.type} {x}, ptr {_component(w, lanes, row, str(i))}, align {lanes.dtype.itemsize}")


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


def _start(w: Writer, lanes: Lanes, rows: str, sample: str, stop: str, stride: str) -> tuple[str, str]:
    """The row of a sample, and how many there are from it on."""
    offset = w.new(f"mul i64 {sample}, {stride}")
    return w.new(f"getelementptr {lanes.scalar}, ptr {rows}, i64 {offset}"), w.new(f"sub i64 {stop}, {sample}")


def _from_sample(w: Writer, lanes: Lanes, rows: str, sample: str, stop: str, stride: str) -> list[str]:
    row, count = _start(w, lanes, rows, sample, stop, stride)
    return _rows(w, lanes, row, stride, count)


def _component(w: Writer, lanes: Lanes, row: str, i: str) -> str:
    return w.new(f"getelementptr {lanes.scalar}, ptr {row}, i64 {i}")


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
    in_rows = [_component(w, lanes, row, i) for row in rows]
    first = w.new(f"getelementptr {T}, ptr {block}, i64 {i}")
    in_block = [w.new(f"getelementptr {T}, ptr {first}, i64 {k}") for k in range(W)]
    source, target = (in_rows, in_block) if gathers else (in_block, in_rows)
    align = [lanes.dtype.itemsize, lanes.size] if gathers else [lanes.size, lanes.dtype.itemsize]
    values = [w.new(f"load {T}, ptr {place}, align {align[0]}") for place in source]
    for value, place in zip(_transposed(w, values, lanes), target, strict=True):
        w.put(f"store {T} {value}, ptr {place}, align {align[1]}")


def _column(w: Writer, lanes: Lanes, rows: Sequence[str], i: str, direction: str) -> None:
    T = lanes.type
    places = [_component(w, lanes, row, i) for row in rows]
    in_block = w.new(f"getelementptr {T}, ptr %block, i64 {i}")
    if direction == "scatter":
        _store_column(w, lanes, places, w.new(f"load {T}, ptr {in_block}, align {lanes.size}"))
        return
    value = "poison"
    for lane, place in enumerate(places):
        value = w.new(
            f"insertelement {T} {value}, {lanes.scalar} {w.new(f'load {lanes.scalar}, ptr {place}')}, i64 {lane}"
        )
    w.put(f"store {T} {value}, ptr {in_block}, align {lanes.size}")


def _store_column(w: Writer, lanes: Lanes, places: Sequence[str], value: str) -> None:
    for lane, place in enumerate(places):
        w.put(f"store {lanes.scalar} {w.new(f'extractelement {lanes.type} {value}, i64 {lane}')}, ptr {place}")


def _transposed(w: Writer, rows: Sequence[str], lanes: Lanes) -> list[str]:
    """The columns of a square matrix of which the rows are given, by exchanging ever larger blocks."""
    values, step = list(rows), 1
    while step < lanes.W:
        upper = [j if not j & step else lanes.W + j - step for j in range(lanes.W)]
        lower = [j + step if not j & step else lanes.W + j for j in range(lanes.W)]
        for i in range(lanes.W):
            if not i & step:
                x, y = values[i], values[i + step]
                values[i], values[i + step] = (shuffle(w, lanes, x, y, mask) for mask in (upper, lower))
        step *= 2
    return values


def shuffle(w: Writer, lanes: Lanes, x: str, y: str, mask: Sequence[int]) -> str:
    """A vector of numbers out of two, by their places in both."""
    T, indices = lanes.type, ", ".join(f"i32 {j}" for j in mask)
    return w.new(f"shufflevector {T} {x}, {T} {y}, <{lanes.W} x i32> <{indices}>")
