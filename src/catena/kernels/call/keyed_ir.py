"""The IR of a call from Python in which one argument, such as the name of a link, picks the kernel.

``self`` is a tuple whose first item is an int64 array: 0 the Python function ``general``, 1 the place of that argument,
2 how many arguments there are, 3 the string "out", 4 how many entries follow from word 5 on, of two words each: an
object, and ``self`` of :mod:`catena.kernels.call.call_ir` for the call when the argument is that very object. Any other
call goes, unchanged, to ``general``.
"""

from __future__ import annotations

from catena.kernels.call.call_ir import load_api, load_word
from catena.kernels.call.share_ir import MAX_ARRAYS

FIRST_ENTRY = 5

KEYED_IR = f"""
define dso_local ptr @call_keyed(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) #0 {{
entry:
  %others = alloca [{1 + MAX_ARRAYS} x ptr]
{load_api("PyTuple_GetItem", "%item")}
{load_api("PyTuple_Size", "%size.of")}
{load_api("PyObject_Vectorcall", "%vectorcall")}
  %table = call ptr %item(ptr %self, i64 0)
  %d.at = getelementptr i8, ptr %table, i64 16
  %d = load ptr, ptr %d.at
{load_word(0, "%python", "ptr")}
{load_word(1, "%place", "i64")}
{load_word(2, "%expected", "i64")}
{load_word(3, "%out.name", "ptr")}
{load_word(4, "%entries", "i64")}
  %first.entry = getelementptr i64, ptr %d, i64 {FIRST_ENTRY}
  %right.number = icmp eq i64 %nargs, %expected
  br i1 %right.number, label %look.for.keywords, label %general
look.for.keywords:
  %no.keywords = icmp eq ptr %kwnames, null
  br i1 %no.keywords, label %search, label %keywords
keywords:
  %n.keywords = call i64 %size.of(ptr %kwnames)
  %keyword = call ptr %item(ptr %kwnames, i64 0)
  %one.keyword = icmp eq i64 %n.keywords, 1
  %is.out = icmp eq ptr %keyword, %out.name
  %known.keyword = and i1 %one.keyword, %is.out
  br i1 %known.keyword, label %search, label %general
search:
  %n.values = phi i64 [0, %look.for.keywords], [1, %keywords]
  %n.all = add i64 %nargs, %n.values
  %key.at = getelementptr ptr, ptr %args, i64 %place
  %key = load ptr, ptr %key.at
  br label %next.entry
next.entry:
  %e = phi i64 [0, %search], [%e.next, %look]
  %entry.at = phi ptr [%first.entry, %search], [%entry.next, %look]
  %entries.left = icmp slt i64 %e, %entries
  br i1 %entries.left, label %look, label %general
look:
  %known = load ptr, ptr %entry.at
  %e.next = add i64 %e, 1
  %entry.next = getelementptr i64, ptr %entry.at, i64 2
  %found = icmp eq ptr %known, %key
  br i1 %found, label %next.value, label %next.entry
next.value:
  %i = phi i64 [0, %look], [%i.next, %move]
  %to = phi i64 [0, %look], [%to.next, %move]
  %values.left = icmp slt i64 %i, %n.all
  br i1 %values.left, label %move, label %pass.on
move:
  %value.at = getelementptr ptr, ptr %args, i64 %i
  %value = load ptr, ptr %value.at
  %to.at = getelementptr ptr, ptr %others, i64 %to
  store ptr %value, ptr %to.at
  %is.key = icmp eq i64 %i, %place
  %step = select i1 %is.key, i64 0, i64 1
  %to.next = add i64 %to, %step
  %i.next = add i64 %i, 1
  br label %next.value
pass.on:
  %inner.at = getelementptr i64, ptr %entry.at, i64 1
  %inner = load ptr, ptr %inner.at
  %n.others = sub i64 %nargs, 1
  %result = call ptr @call(ptr %inner, ptr %others, i64 %n.others, ptr %kwnames)
  ret ptr %result
general:
  %answer = call ptr %vectorcall(ptr %python, ptr %args, i64 %nargs, ptr %kwnames)
  ret ptr %answer
}}
"""
