"""A kernel as a custom call of XLA: a handler of its foreign-function interface, written in LLVM's text.

XLA calls a handler with the address of a call frame, in which the handler finds the buffers. The layout of frames,
buffers and errors is that of XLA's header ``xla/ffi/api/c_api.h``, whose major version 0 promises to keep it. Before
anything else XLA asks for the handler's version, by an extension of the frame.
"""

from __future__ import annotations

from collections.abc import Mapping

from catena.kernels.call.code import Code
from catena.kernels.call.share_ir import MAX_ARRAYS

KERNEL = (
    "batch",  # addresses of the kernel's entry points
    "single",
    "context",  # address of what the kernel was made with
    "batch_scratch",  # bytes that the entry points compute in
    "single_scratch",
    "stack",  # up to how many bytes are taken from the stack
    "malloc",  # addresses of the C library's functions
    "free",
    "inputs",  # how many arrays
    "outputs",
    "rank",  # dimensions of a sample of the first result
    "minor",  # the version that XLA is told
)
"""The first words of a handler's table, which is filled in after loading."""

RANKS = len(KERNEL)
"""Then come the dimensions of a sample of each input."""
WIDTHS = RANKS + MAX_ARRAYS
"""And how many numbers that is."""
TABLE_WORDS = WIDTHS + MAX_ARRAYS

ALIGNMENT = 64
RESOURCE_EXHAUSTED = 8
NO_MEMORY = "catena: no memory to compute in"

FRAME: Mapping[str, int] = {"extension": 8, "api": 16, "args": 72, "rets": 112}
"""Where a call frame has the first of its extensions, XLA's functions, the arguments and the results, in bytes."""
EXTENSION = {"type": 8, "metadata": 24}
METADATA = {"major": 24, "minor": 28}
BUFFER = {"data": 24, "rank": 32, "dims": 40}
API_ERROR_CREATE = 48
ERROR = {"message": 16, "code": 24}
ERROR_SIZE = 28


def handler_ir() -> str:
    """A module with the function ``handler``, and the table ``kernel`` of the kernel that it calls."""
    message = NO_MEMORY.encode() + b"\0"
    text = "".join(f"\\{byte:02X}" for byte in message)
    return "\n".join(
        [
            f"@kernel = dso_local global [{TABLE_WORDS} x i64] zeroinitializer",
            f'@message = internal constant [{len(message)} x i8] c"{text}"',
            str(_handler()),
            str(_samples()),
            str(_run()),
        ]
    )


def _word(c: Code, name: str, kind: str = "i64") -> str:
    return c.word("@kernel", KERNEL.index(name), kind)


def _handler() -> Code:
    """Answer the question for the version, or find memory and run the kernel."""
    c = Code("ptr @handler(ptr %frame)")
    extension = c.member("%frame", FRAME["extension"])
    with c.when(c.compare("ne", extension, "null", "ptr")):
        is_metadata = c.compare("eq", c.member(extension, EXTENSION["type"], "i32"), "1", "i32")
        with c.when(is_metadata):
            metadata = c.member(extension, EXTENSION["metadata"])
            minor = c.new(f"trunc i64 {_word(c, 'minor')} to i32")
            c.put(f"store i32 0, ptr {c.at(metadata, METADATA['major'], 'i8')}")
            c.put(f"store i32 {minor}, ptr {c.at(metadata, METADATA['minor'], 'i8')}")
            c.give("null")
    count = c.call("@samples", "ptr %frame", gives="i64")
    with c.when(c.compare("eq", count, "0")):
        c.give("null")
    alone = c.compare("eq", count, "1")
    size = c.choice(alone, _word(c, "single_scratch"), _word(c, "batch_scratch"))
    with c.when(c.compare("ule", size, _word(c, "stack"))):
        room = c.new(f"alloca i8, i64 {size}, align {ALIGNMENT}")
        c.call("@run", "ptr %frame", f"i64 {count}", f"ptr {room}", gives="void")
        c.give("null")
    block = c.call(_word(c, "malloc", "ptr"), f"i64 {c.sum(size, ALIGNMENT)}")
    with c.when(c.same(block, "null")):
        create = c.member(c.member("%frame", FRAME["api"]), API_ERROR_CREATE)
        error = c.room("i64", 4)
        c.set_word(error, 0, str(ERROR_SIZE))
        c.set_word(error, 1, "0")
        c.put(f"store ptr @message, ptr {c.at(error, ERROR['message'], 'i8')}")
        c.put(f"store i32 {RESOURCE_EXHAUSTED}, ptr {c.at(error, ERROR['code'], 'i8')}")
        c.give(c.call(create, f"ptr {error}"))
    start = c.sum(c.new(f"ptrtoint ptr {block} to i64"), ALIGNMENT - 1)
    aligned = c.new(f"inttoptr i64 {c.new(f'and i64 {start}, {-ALIGNMENT}')} to ptr")
    c.call("@run", "ptr %frame", f"i64 {count}", f"ptr {aligned}", gives="void")
    c.call(_word(c, "free", "ptr"), f"ptr {block}", gives="void")
    c.give("null")
    return c


def _samples() -> Code:
    """How many samples the call has: the product of the leading dimensions of its first result."""
    c = Code("i64 @samples(ptr %frame)")
    result = c.word(c.member("%frame", FRAME["rets"]), 0, "ptr")
    leading = c.difference(c.member(result, BUFFER["rank"], "i64"), _word(c, "rank"))
    dims = c.member(result, BUFFER["dims"])
    product = c.variable("i64", "1")
    with c.count(leading) as i:
        product.set(c.product(product.get(), c.word(dims, i)))
    c.give(product.get(), "i64")
    return c


def _run() -> Code:
    """Run the kernel on the buffers of the frame; inputs without leading dimensions are the same for all samples."""
    c = Code("void @run(ptr %frame, i64 %count, ptr %scratch)")
    rows, strides, results = c.room("ptr", MAX_ARRAYS), c.room("i64", MAX_ARRAYS), c.room("ptr", MAX_ARRAYS)
    args, rets = c.member("%frame", FRAME["args"]), c.member("%frame", FRAME["rets"])
    with c.count(_word(c, "inputs")) as i:
        buffer = c.word(args, i, "ptr")
        c.set_word(rows, i, c.member(buffer, BUFFER["data"]), "ptr")
        rank, width = (c.word("@kernel", c.sum(i, start)) for start in (RANKS, WIDTHS))
        repeats = c.compare("eq", c.member(buffer, BUFFER["rank"], "i64"), rank)
        c.set_word(strides, i, c.choice(repeats, "0", width))
    with c.count(_word(c, "outputs")) as i:
        c.set_word(results, i, c.member(c.word(rets, i, "ptr"), BUFFER["data"]), "ptr")
    context = f"ptr {_word(c, 'context', 'ptr')}"
    with c.when(c.compare("eq", "%count", "1")):
        c.call(_word(c, "single", "ptr"), context, f"ptr {rows}", f"ptr {results}", "ptr %scratch", gives="void")
        c.give("", "void")
    arrays = f"ptr {rows}", f"ptr {strides}", f"ptr {results}"
    c.call(_word(c, "batch", "ptr"), context, *arrays, "ptr %scratch", "i64 0", "i64 %count", gives="void")
    c.give("", "void")
    return c
