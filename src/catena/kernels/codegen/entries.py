"""The entry points of kernels, and how those of rolled kernels lead to one function for W lanes."""

from __future__ import annotations

from collections.abc import Sequence

from catena.kernels.codegen.emit import Lanes, Writer
from catena.kernels.codegen.loops import Counted
from catena.kernels.codegen.transposition import transpose, transposing_functions

BATCH = (
    "dso_local void @batch(ptr %context, ptr %inputs, ptr %row_strides, ptr %outputs, ptr %scratch, "
    "i64 %first, i64 %count)"
)
SINGLE = "dso_local void @single(ptr %context, ptr %inputs, ptr %outputs, ptr %scratch)"


def pointers(w: Writer, table: str, count: int) -> list[str]:
    """The pointers in a table."""
    return [w.new(f"load ptr, ptr {w.new(f'getelementptr ptr, ptr {table}, i64 {i}')}") for i in range(count)]


def strides(w: Writer, count: int) -> list[str]:
    """The strides of the input rows."""
    places = [w.new(f"getelementptr i64, ptr %row_strides, i64 {i}") for i in range(count)]
    return [w.new(f"load i64, ptr {place}") for place in places]


def single_function(core: str, inputs: Sequence[str], outputs: Sequence[str], numbered: bool = False) -> str:
    """``single``: the function ``core`` for one lane, on rows as they are, of the first of ``numbered`` samples."""
    w = Writer()
    w.label("entry")
    rows = pointers(w, "%inputs", len(inputs)) + pointers(w, "%outputs", len(outputs))
    arguments = ", ".join([*["i64 0"] * numbered, *[f"ptr {row}" for row in rows]])
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
    numbered: bool = False,
) -> str:
    """``batch``: W samples at a time, the last one repeated where there are fewer, in blocks ``[component][lane]``.

    ``inputs`` and ``outputs`` are the widths of the rows: numbers, or values that the lines of the ``prologue`` define.
    Inputs whose numbers are in ``one_row`` have one row for all samples, which the function ``core`` gets as it is.
    Where samples are ``numbered``, it is also told which is its first; that is a multiple of the lanes.
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
    arguments = ", ".join([*[f"i64 {loop.i}"] * numbered, *[f"ptr {block}" for block in blocks]])
    w.put(f"call void @{core}{lanes.W}(ptr %context, {arguments}, ptr {at})")
    for i, (row, width) in enumerate(zip(rows_out, outputs, strict=True)):
        transpose(w, "scatter", lanes, row, loop.i, "%stop", width, blocks[len(inputs) + i], width)
    loop.close()
    w.put("ret void")
    return "\n".join([*transposing_functions(lanes), w.function(BATCH, lanes.size)])
