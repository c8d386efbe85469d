"""The IR of the call from Python: a ``METH_FASTCALL | METH_KEYWORDS`` function that serves every kernel.

``self`` is a tuple whose first item is an int64 array, the kernel's *descriptor*. Arguments that are plain contiguous
arrays of the kernel's type and shape, with no leading dimension or with one that is small, are computed at once, into a
new array or into one given as ``out`` that is as plain and overlaps no argument. More samples than that go to the
Python function ``large(job, samples, *arrays)``, where ``job`` is the address of a job (see
:mod:`catena.kernels.call.runtime`) with rows, strides and results filled in, and ``arrays`` own the memory. Anything
else goes, unchanged, to the Python function ``general``. The GIL is held throughout.

Descriptor words: 0 general, 1 dtype, 2 number of inputs, 3 of outputs, 4 ``single``, 5 ``batch``, 6 context, 7 scratch,
8 how many samples are computed at once at most, 9 large, 10 the string "out", 11 None, 12 bytes per element, 13 the
number of samples from which new results are large (:mod:`catena.kernels.call.results`); from word 16 on, 40 words for
each array: the number of dimensions of one sample, its elements, room for the number of samples, and the dimensions.
"""

from __future__ import annotations

from catena.kernels.call.share_ir import JOB_WORDS, MAX_ARRAYS, RESULTS, ROWS, STRIDES

API = (
    "PyTuple_GetItem",
    "PyTuple_Size",
    "PyObject_Vectorcall",
    "Py_IncRef",
    "Py_DecRef",
    "PyLong_FromVoidPtr",
    "PyTuple_New",
    "PyTuple_SetItem",
    "PyArray_NewFromDescr",
    "PyArray_Return",
    "PyArray_Type",
    "PyThreadState_Get",
    "_PyObject_MakeTpCall",
)
"""What ``@api`` points to, in this order. The last two are needed where ``PyObject_Vectorcall`` is not exported."""

FIRST_PORT, PORT_WORDS = 16, 40
MAX_DIMENSIONS = PORT_WORDS - 3


def load_api(name: str, to: str) -> str:
    """IR that loads an address from ``@api``."""
    return f"  {to} = load ptr, ptr getelementptr ([{len(API)} x ptr], ptr @api, i64 0, i64 {API.index(name)})"


def load_word(index: int, to: str, kind: str) -> str:
    """IR that loads a word of the descriptor."""
    return f"  {to}.at = getelementptr i64, ptr %d, i64 {index}\n  {to} = load {kind}, ptr {to}.at"


# Offsets in the header of an array: 8 type, 16 data, 24 number of dimensions (i32), 32 dimensions, 56 dtype, 64 flags
# (i32). Flags 257: C-contiguous (1) and aligned (256); 1281: and writeable (1024). catena.kernels.call.layout verifies
# all this before the code is used.
CALL_IR = f"""
@api = dso_local global [{len(API)} x ptr] zeroinitializer

define dso_local ptr @call(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {{
entry:
  %job = alloca [{JOB_WORDS} x i64]
  %rows = getelementptr i64, ptr %job, i64 {ROWS}
  %strides = getelementptr i64, ptr %job, i64 {STRIDES}
  %results = getelementptr i64, ptr %job, i64 {RESULTS}
  %passed = alloca [{2 + 2 * MAX_ARRAYS} x ptr]
  %passed.arrays = getelementptr ptr, ptr %passed, i64 2
{load_api("PyTuple_GetItem", "%item")}
{load_api("PyObject_Vectorcall", "%vectorcall")}
{load_api("PyArray_Type", "%array.type")}
  %table = call ptr %item(ptr %self, i64 0)
  %d.at = getelementptr i8, ptr %table, i64 16
  %d = load ptr, ptr %d.at
{load_word(0, "%python", "ptr")}
{load_word(1, "%dtype", "ptr")}
{load_word(2, "%n.inputs", "i64")}
{load_word(3, "%n.outputs", "i64")}
  %ports = getelementptr i64, ptr %d, i64 {FIRST_PORT}
  %right.number = icmp eq i64 %nargs, %n.inputs
  br i1 %right.number, label %look.for.keywords, label %general
look.for.keywords:
  %no.keywords = icmp eq ptr %kwnames, null
  br i1 %no.keywords, label %inputs, label %keywords
keywords:
{load_api("PyTuple_Size", "%size.of")}
  %n.keywords = call i64 %size.of(ptr %kwnames)
  %keyword = call ptr %item(ptr %kwnames, i64 0)
{load_word(10, "%out.name", "ptr")}
{load_word(11, "%none.given", "ptr")}
  %is.out = icmp eq ptr %keyword, %out.name
  %one.keyword = icmp eq i64 %n.keywords, 1
  %one.out = icmp eq i64 %n.outputs, 1
  %known.keyword = and i1 %is.out, %one.keyword
  %out.usable = and i1 %known.keyword, %one.out
  %value.at = getelementptr ptr, ptr %args, i64 %nargs
  %given.value = load ptr, ptr %value.at
  %is.none = icmp eq ptr %given.value, %none.given
  %given.or.null = select i1 %is.none, ptr null, ptr %given.value
  br i1 %out.usable, label %inputs, label %general
inputs:
  %given = phi ptr [null, %look.for.keywords], [%given.or.null, %keywords]
  %is.given = icmp ne ptr %given, null
  br label %next.input

next.input:
  %i = phi i64 [0, %inputs], [%i.next, %input.done]
  %port = phi ptr [%ports, %inputs], [%port.next, %input.done]
  %samples = phi i64 [-1, %inputs], [%samples.now, %input.done]
  %inputs.left = icmp slt i64 %i, %n.inputs
  br i1 %inputs.left, label %input, label %check.samples
input:
  %arg.at = getelementptr ptr, ptr %args, i64 %i
  %arg = load ptr, ptr %arg.at
  %type.at = getelementptr i8, ptr %arg, i64 8
  %type = load ptr, ptr %type.at
  %is.array = icmp eq ptr %type, %array.type
  br i1 %is.array, label %header, label %general
header:
  %arg.dtype.at = getelementptr i8, ptr %arg, i64 56
  %arg.dtype = load ptr, ptr %arg.dtype.at
  %same.dtype = icmp eq ptr %arg.dtype, %dtype
  %flags.at = getelementptr i8, ptr %arg, i64 64
  %flags = load i32, ptr %flags.at
  %layout = and i32 %flags, 257
  %good.layout = icmp eq i32 %layout, 257
  %ndim.at = getelementptr i8, ptr %arg, i64 24
  %ndim32 = load i32, ptr %ndim.at
  %ndim = sext i32 %ndim32 to i64
  %rank = load i64, ptr %port
  %leading = sub i64 %ndim, %rank
  %leading.ok = icmp ule i64 %leading, 1
  %header.1 = and i1 %same.dtype, %good.layout
  %header.2 = and i1 %header.1, %leading.ok
  %dims.at = getelementptr i8, ptr %arg, i64 32
  %dims = load ptr, ptr %dims.at
  br i1 %header.2, label %next.dim, label %general
next.dim:
  %k = phi i64 [0, %header], [%k.next, %dim]
  %dims.left = icmp slt i64 %k, %rank
  br i1 %dims.left, label %dim, label %dims.done
dim:
  %k.dim = add i64 %k, %leading
  %dim.at = getelementptr i64, ptr %dims, i64 %k.dim
  %size = load i64, ptr %dim.at
  %k.port = add i64 %k, 3
  %expected.at = getelementptr i64, ptr %port, i64 %k.port
  %expected = load i64, ptr %expected.at
  %k.next = add i64 %k, 1
  %same.size = icmp eq i64 %size, %expected
  br i1 %same.size, label %next.dim, label %general
dims.done:
  %batched = icmp ne i64 %leading, 0
  br i1 %batched, label %count, label %input.done
count:
  %counted = load i64, ptr %dims
  %first.count = icmp eq i64 %samples, -1
  %same.count = icmp eq i64 %samples, %counted
  %count.ok = or i1 %first.count, %same.count
  %width.at = getelementptr i64, ptr %port, i64 1
  %width = load i64, ptr %width.at
  br i1 %count.ok, label %input.done, label %general
input.done:
  %samples.now = phi i64 [%samples, %dims.done], [%counted, %count]
  %stride = phi i64 [0, %dims.done], [%width, %count]
  %data.at = getelementptr i8, ptr %arg, i64 16
  %data = load ptr, ptr %data.at
  %row.at = getelementptr ptr, ptr %rows, i64 %i
  store ptr %data, ptr %row.at
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  store i64 %stride, ptr %stride.at
  %passed.at = getelementptr ptr, ptr %passed.arrays, i64 %i
  store ptr %arg, ptr %passed.at
  %i.next = add i64 %i, 1
  %port.next = getelementptr i64, ptr %port, i64 {PORT_WORDS}
  br label %next.input

check.samples:
{load_word(8, "%limit", "i64")}
  %one = icmp eq i64 %samples, -1
  %some = icmp ne i64 %samples, 0
{load_word(13, "%many.samples", "i64")}
  %small = icmp slt i64 %samples, %many.samples
  %more.dims = select i1 %one, i64 0, i64 1
  %dims.start = select i1 %one, i64 3, i64 2
  %arrays = getelementptr ptr, ptr %passed.arrays, i64 %n.inputs
{load_api("PyArray_NewFromDescr", "%new.array")}
{load_api("Py_IncRef", "%incref")}
{load_api("Py_DecRef", "%decref")}
  br i1 %some, label %look.for.out, label %general
look.for.out:
  br i1 %is.given, label %check.given, label %look.at.size
look.at.size:
  br i1 %small, label %next.output, label %general

check.given:
  %given.type.at = getelementptr i8, ptr %given, i64 8
  %given.type = load ptr, ptr %given.type.at
  %given.is.array = icmp eq ptr %given.type, %array.type
  br i1 %given.is.array, label %given.header, label %general
given.header:
  %given.dtype.at = getelementptr i8, ptr %given, i64 56
  %given.dtype = load ptr, ptr %given.dtype.at
  %given.same.dtype = icmp eq ptr %given.dtype, %dtype
  %given.flags.at = getelementptr i8, ptr %given, i64 64
  %given.flags = load i32, ptr %given.flags.at
  %given.layout = and i32 %given.flags, 1281
  %given.good.layout = icmp eq i32 %given.layout, 1281
  %given.ndim.at = getelementptr i8, ptr %given, i64 24
  %given.ndim32 = load i32, ptr %given.ndim.at
  %given.ndim = sext i32 %given.ndim32 to i64
  %given.rank = load i64, ptr %port
  %given.expected.ndim = add i64 %given.rank, %more.dims
  %given.same.ndim = icmp eq i64 %given.ndim, %given.expected.ndim
  %given.1 = and i1 %given.same.dtype, %given.good.layout
  %given.2 = and i1 %given.1, %given.same.ndim
  %given.dims.at = getelementptr i8, ptr %given, i64 32
  %given.dims = load ptr, ptr %given.dims.at
  %given.samples.at = getelementptr i64, ptr %port, i64 2
  store i64 %samples, ptr %given.samples.at
  %given.expected = getelementptr i64, ptr %port, i64 %dims.start
  br i1 %given.2, label %next.given.dim, label %general
next.given.dim:
  %g = phi i64 [0, %given.header], [%g.next, %given.dim]
  %given.dims.left = icmp slt i64 %g, %given.ndim
  br i1 %given.dims.left, label %given.dim, label %given.range
given.dim:
  %given.size.at = getelementptr i64, ptr %given.dims, i64 %g
  %given.size = load i64, ptr %given.size.at
  %given.wanted.at = getelementptr i64, ptr %given.expected, i64 %g
  %given.wanted = load i64, ptr %given.wanted.at
  %g.next = add i64 %g, 1
  %given.same.size = icmp eq i64 %given.size, %given.wanted
  br i1 %given.same.size, label %next.given.dim, label %general
given.range:
{load_word(12, "%bytes", "i64")}
  %given.data.at = getelementptr i8, ptr %given, i64 16
  %given.data = load ptr, ptr %given.data.at
  %given.start = ptrtoint ptr %given.data to i64
  %row.count = select i1 %one, i64 1, i64 %samples
  %row.bytes = mul i64 %row.count, %bytes
  %given.width.at = getelementptr i64, ptr %port, i64 1
  %given.width = load i64, ptr %given.width.at
  %given.bytes = mul i64 %given.width, %row.bytes
  %given.end = add i64 %given.start, %given.bytes
  br label %next.apart
next.apart:
  %a = phi i64 [0, %given.range], [%a.next, %apart]
  %a.port = phi ptr [%ports, %given.range], [%a.port.next, %apart]
  %apart.left = icmp slt i64 %a, %n.inputs
  br i1 %apart.left, label %apart, label %take.given
apart:
  %a.row.at = getelementptr i64, ptr %rows, i64 %a
  %a.start = load i64, ptr %a.row.at
  %a.width.at = getelementptr i64, ptr %a.port, i64 1
  %a.width = load i64, ptr %a.width.at
  %a.bytes = mul i64 %a.width, %row.bytes
  %a.end = add i64 %a.start, %a.bytes
  %a.next = add i64 %a, 1
  %a.port.next = getelementptr i64, ptr %a.port, i64 {PORT_WORDS}
  %before = icmp ule i64 %given.end, %a.start
  %behind = icmp ule i64 %a.end, %given.start
  %is.apart = or i1 %before, %behind
  br i1 %is.apart, label %next.apart, label %general
take.given:
  call void %incref(ptr %given)
  store ptr %given, ptr %arrays
  store ptr %given.data, ptr %results
  br label %compute

next.output:
  %j = phi i64 [0, %look.at.size], [%j.next, %output.done]
  %out.port = phi ptr [%port, %look.at.size], [%out.port.next, %output.done]
  %outputs.left = icmp slt i64 %j, %n.outputs
  br i1 %outputs.left, label %output, label %compute
output:
  %out.rank = load i64, ptr %out.port
  %out.ndim = add i64 %out.rank, %more.dims
  %out.ndim32 = trunc i64 %out.ndim to i32
  %out.samples.at = getelementptr i64, ptr %out.port, i64 2
  store i64 %samples, ptr %out.samples.at
  %out.dims = getelementptr i64, ptr %out.port, i64 %dims.start
  call void %incref(ptr %dtype)
  %array = call ptr %new.array(ptr %array.type, ptr %dtype, i32 %out.ndim32, ptr %out.dims, ptr null, ptr null,
                               i32 0, ptr null)
  %made = icmp ne ptr %array, null
  br i1 %made, label %output.done, label %next.undo
output.done:
  %array.at = getelementptr ptr, ptr %arrays, i64 %j
  store ptr %array, ptr %array.at
  %out.data.at = getelementptr i8, ptr %array, i64 16
  %out.data = load ptr, ptr %out.data.at
  %result.at = getelementptr ptr, ptr %results, i64 %j
  store ptr %out.data, ptr %result.at
  %j.next = add i64 %j, 1
  %out.port.next = getelementptr i64, ptr %out.port, i64 {PORT_WORDS}
  br label %next.output

compute:
{load_word(6, "%context", "ptr")}
{load_word(7, "%scratch", "ptr")}
{load_word(4, "%single", "ptr")}
{load_word(5, "%batch", "ptr")}
  br i1 %one, label %compute.one, label %check.limit
compute.one:
  call void %single(ptr %context, ptr %rows, ptr %results, ptr %scratch)
  br label %finish
check.limit:
  %few = icmp sle i64 %samples, %limit
  br i1 %few, label %compute.some, label %compute.many
compute.some:
  call void %batch(ptr %context, ptr %rows, ptr %strides, ptr %results, ptr %scratch, i64 0, i64 %samples)
  br label %finish
compute.many:
{load_word(9, "%large", "ptr")}
{load_api("PyLong_FromVoidPtr", "%to.integer")}
  %many = inttoptr i64 %samples to ptr
  %job.number = call ptr %to.integer(ptr %job)
  %samples.number = call ptr %to.integer(ptr %many)
  store ptr %job.number, ptr %passed
  %passed.samples = getelementptr ptr, ptr %passed, i64 1
  store ptr %samples.number, ptr %passed.samples
  %has.job = icmp ne ptr %job.number, null
  %has.samples = icmp ne ptr %samples.number, null
  %has.numbers = and i1 %has.job, %has.samples
  br i1 %has.numbers, label %call.large, label %large.done
call.large:
  %n.arrays = add i64 %n.inputs, %n.outputs
  %n.passed = add i64 %n.arrays, 2
  %none = call ptr %vectorcall(ptr %large, ptr %passed, i64 %n.passed, ptr null)
  br label %large.done
large.done:
  %large.result = phi ptr [null, %compute.many], [%none, %call.large]
  call void %decref(ptr %job.number)
  call void %decref(ptr %samples.number)
  call void %decref(ptr %large.result)
  %large.worked = icmp ne ptr %large.result, null
  br i1 %large.worked, label %finish, label %next.undo

finish:
  %one.result = icmp eq i64 %n.outputs, 1
  %first.result = load ptr, ptr %arrays
  br i1 %one.result, label %return.one, label %return.tuple
return.one:
  %result.ndim.at = getelementptr i8, ptr %first.result, i64 24
  %result.ndim = load i32, ptr %result.ndim.at
  %no.dims = icmp eq i32 %result.ndim, 0
  %is.new = xor i1 %is.given, true
  %is.scalar = and i1 %no.dims, %is.new
  br i1 %is.scalar, label %return.scalar, label %return.array
return.array:
  ret ptr %first.result
return.scalar:
{load_api("PyArray_Return", "%to.scalar")}
  %scalar = call ptr %to.scalar(ptr %first.result)
  ret ptr %scalar
return.tuple:
{load_api("PyTuple_New", "%new.tuple")}
{load_api("PyTuple_SetItem", "%set.item")}
  %tuple = call ptr %new.tuple(i64 %n.outputs)
  %tuple.made = icmp ne ptr %tuple, null
  br i1 %tuple.made, label %next.item, label %next.undo
next.item:
  %t = phi i64 [0, %return.tuple], [%t.next, %set]
  %items.left = icmp slt i64 %t, %n.outputs
  br i1 %items.left, label %set, label %return.all
set:
  %item.at = getelementptr ptr, ptr %arrays, i64 %t
  %value = load ptr, ptr %item.at
  %ignored = call i32 %set.item(ptr %tuple, i64 %t, ptr %value)
  %t.next = add i64 %t, 1
  br label %next.item
return.all:
  ret ptr %tuple

next.undo:
  %u = phi i64 [%j, %output], [%n.outputs, %large.done], [%n.outputs, %return.tuple], [%u.next, %undo]
  %undo.left = icmp sgt i64 %u, 0
  br i1 %undo.left, label %undo, label %failed
undo:
  %u.next = sub i64 %u, 1
  %undo.at = getelementptr ptr, ptr %arrays, i64 %u.next
  %undone = load ptr, ptr %undo.at
  call void %decref(ptr %undone)
  br label %next.undo
failed:
  ret ptr null

general:
  %answer = call ptr %vectorcall(ptr %python, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}

; PyObject_Vectorcall for Python 3.10, which has it in its headers only
define dso_local ptr @vectorcall(ptr %callable, ptr %args, i64 %nargs, ptr %kwnames) #0 {{
{load_api("PyThreadState_Get", "%current")}
{load_api("_PyObject_MakeTpCall", "%make.call")}
  %thread = call ptr %current()
  %answer = call ptr %make.call(ptr %thread, ptr %callable, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
"""
