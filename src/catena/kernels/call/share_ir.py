"""The IR that works through the samples of a batch, several threads at a time if need be.

Threads take pieces of a *job* by adding to a common counter. A job is a block of words: those of :data:`JOB`, then the
addresses of the input rows, their strides, and the addresses of the output rows.
"""

from __future__ import annotations

MAX_ARRAYS = 48
"""How many inputs, and how many outputs, a kernel can have."""

JOB = (
    "entry",  # address of the kernel's entry point
    "context",  # address of what the kernel was made with
    "next",  # the next sample to take
    "samples",  # how many there are
    "piece",  # how many are taken at a time
    "inputs",  # how many arrays
    "outputs",
    "bytes",  # of an element
    "widths",  # address of the widths of the output rows
    "done",  # how many samples are computed
    "bell",  # address of a counter that grows when work on a job begins, below zero in a forked child
    "unheard",  # a bell that nobody listens to
    "raised",  # not zero if numbers of some sample became infinite or NaN
)
"""The first words of a job, in order."""

ROWS = len(JOB)
STRIDES = ROWS + MAX_ARRAYS
RESULTS = STRIDES + MAX_ARRAYS
JOB_WORDS = RESULTS + MAX_ARRAYS


def _at(word: str, to: str) -> str:
    """IR that finds a word of the job."""
    return f"  {to} = getelementptr i64, ptr %job, i64 {JOB.index(word)}"


def _load(word: str, to: str, kind: str) -> str:
    """IR that loads a word of the job."""
    return f"{_at(word, f'{to}.at')}\n  {to} = load {kind}, ptr {to}.at"


_LOAD_COMMON = f"""
  %inputs = getelementptr i64, ptr %job, i64 {ROWS}
  %strides = getelementptr i64, ptr %job, i64 {STRIDES}
  %outputs = getelementptr i64, ptr %job, i64 {RESULTS}
{_at("next", "%next")}
{_at("done", "%done")}
{_at("raised", "%raised")}
{_load("entry", "%entry.point", "ptr")}
{_load("context", "%context", "ptr")}
{_load("samples", "%count", "i64")}
{_load("bell", "%bell", "ptr")}"""


def _ring_after(taken: str) -> str:
    """IR that rings the bell if a piece is the first of its job."""
    return f"""  %is.first = icmp eq i64 {taken}, 0
  %rings = zext i1 %is.first to i64
  %rung = atomicrmw add ptr %bell, i64 %rings monotonic"""


_NOTE_FLAGS = """  %flag = call i1 @raised()
  %flag.word = zext i1 %flag to i64
  %flags = atomicrmw or ptr %raised, i64 %flag.word monotonic"""

SHARE_IR = f"""
define dso_local void @share_batch(ptr %job, ptr %scratch) #0 {{
entry:{_LOAD_COMMON}
{_load("piece", "%piece", "i64")}
  br label %take
take:
  %first = atomicrmw add ptr %next, i64 %piece monotonic
  %left = sub i64 %count, %first
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %run, label %end
run:
  %last = icmp slt i64 %left, %piece
  %samples = select i1 %last, i64 %left, i64 %piece
{_ring_after("%first")}
  call void %entry.point(ptr %context, ptr %inputs, ptr %strides, ptr %outputs, ptr %scratch, i64 %first, i64 %samples)
{_NOTE_FLAGS}
  %done.batch = atomicrmw add ptr %done, i64 %samples release
  br label %take
end:
  ret void
}}

define dso_local void @share_single(ptr %job, ptr %scratch) #0 {{
entry:{_LOAD_COMMON}
{_load("inputs", "%n.inputs", "i64")}
{_load("outputs", "%n.outputs", "i64")}
{_load("bytes", "%bytes", "i64")}
{_load("widths", "%widths", "ptr")}
  %rows = alloca [{MAX_ARRAYS} x ptr]
  %results = alloca [{MAX_ARRAYS} x ptr]
  br label %take
take:
  %sample = atomicrmw add ptr %next, i64 1 monotonic
  %more = icmp slt i64 %sample, %count
  br i1 %more, label %run, label %end
run:
{_ring_after("%sample")}
  call void @advance(ptr %rows, ptr %inputs, ptr %strides, i64 %n.inputs, i64 %bytes, i64 %sample)
  call void @advance(ptr %results, ptr %outputs, ptr %widths, i64 %n.outputs, i64 %bytes, i64 %sample)
  call void %entry.point(ptr %context, ptr %rows, ptr %results, ptr %scratch)
{_NOTE_FLAGS}
  %done.one = atomicrmw add ptr %done, i64 1 release
  br label %take
end:
  ret void
}}

; ``share`` a job as a helper does, then wait until a bell is rung, but look no more than ``times``: the caller rings it
; after it has let go of the GIL, so that the helper need not wait for that
define dso_local void @help(ptr %share, ptr %job, ptr %scratch, i64 %times, ptr %yield) #0 {{
entry:
{_load("bell", "%bell", "ptr")}
  call void %share(ptr %job, ptr %scratch)
  %heard = load atomic i64, ptr %bell monotonic, align 8
  br label %look
look:
  %i = phi i64 [0, %entry], [%i.next, %wait]
  %rings = load atomic i64, ptr %bell monotonic, align 8
  %quiet = icmp eq i64 %rings, %heard
  %patient = icmp slt i64 %i, %times
  %go.on = and i1 %quiet, %patient
  br i1 %go.on, label %wait, label %end
wait:
  %ignored = call i32 %yield()
  %i.next = add i64 %i, 1
  br label %look
end:
  ret void
}}

; wait until all samples are done, which is soon once none is left to take, or until the bell says that this is a forked
; child, which has no helpers; ``yield`` lets others run
define dso_local void @finish(ptr %job, ptr %yield) #0 {{
entry:
{_at("done", "%done")}
{_load("samples", "%count", "i64")}
{_load("bell", "%bell", "ptr")}
  br label %look
look:
  %so.far = load atomic i64, ptr %done acquire, align 8
  %complete = icmp sge i64 %so.far, %count
  %rings = load atomic i64, ptr %bell monotonic, align 8
  %lost = icmp slt i64 %rings, 0
  %over = or i1 %complete, %lost
  br i1 %over, label %end, label %wait
wait:
  %ignored = call i32 %yield()
  br label %look
end:
  ret void
}}

; share a job once more, alone: the words are ``share``, ``job`` and ``scratch``; the result is not 0 if numbers became
; infinite or NaN
define dso_local i64 @again(ptr %words) #0 {{
entry:
  %share = load ptr, ptr %words
  %job.at = getelementptr ptr, ptr %words, i64 1
  %job = load ptr, ptr %job.at
  %scratch.at = getelementptr ptr, ptr %words, i64 2
  %scratch = load ptr, ptr %scratch.at
{_at("next", "%next")}
{_at("raised", "%raised")}
  store i64 0, ptr %next
  store i64 0, ptr %raised
  call void %share(ptr %job, ptr %scratch)
  %flags = load i64, ptr %raised
  ret i64 %flags
}}

; to[i] = from[i] + sample * strides[i] * bytes
define internal void @advance(ptr %to, ptr %from, ptr %strides, i64 %n, i64 %bytes, i64 %sample) #0 {{
entry:
  br label %test
test:
  %i = phi i64 [0, %entry], [%i.next, %move]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %move, label %end
move:
  %from.at = getelementptr ptr, ptr %from, i64 %i
  %start = load ptr, ptr %from.at
  %stride.at = getelementptr i64, ptr %strides, i64 %i
  %stride = load i64, ptr %stride.at
  %elements = mul i64 %stride, %sample
  %offset = mul i64 %elements, %bytes
  %row = getelementptr i8, ptr %start, i64 %offset
  %to.at = getelementptr ptr, ptr %to, i64 %i
  store ptr %row, ptr %to.at
  %i.next = add i64 %i, 1
  br label %test
end:
  ret void
}}

attributes #0 = {{ nounwind "no-builtins" "no-stack-arg-probe" }}
"""
