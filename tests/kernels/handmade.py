"""Small kernels written by hand, and objects that answer questions with them, to test what surrounds kernels."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt

from catena.functions.function import Function
from catena.functions.question import Answering, install, question
from catena.functions.store import Compiled
from catena.kernels.call.kernel import Kernel

HEADER = """
@lanes = dso_local constant i64 {lanes}
@operations = dso_local constant i64 {operations}
@scratch_bytes = dso_local constant [4 x i64] [i64 {batch}, i64 {batch_link}, i64 {single}, i64 {single_link}]
"""


def multiply_add_ir(
    n: int,
    real: str = "double",
    *,
    lanes: int = 1,
    operations: int = 1,
    scratch: tuple[int, int, int, int] = (64, 0, 64, 0),
) -> str:
    """IR of ``y = a * x + b`` and ``total = sum(y)`` for x, b of n elements and a scalar a; y goes through scratch."""
    sizes = dict(zip(("batch", "batch_link", "single", "single_link"), scratch, strict=True))
    header = HEADER.format(lanes=lanes, operations=operations, **sizes)
    return header + BODY.replace("REAL", real).replace("SIZE", str(n))


def square_ir() -> str:
    """IR of the square of one number."""
    return HEADER.format(lanes=1, operations=1, batch=0, batch_link=0, single=0, single_link=0) + SQUARE


SQUARE = """
define dso_local void @batch(ptr %context, ptr %inputs, ptr %strides, ptr %outputs, ptr %scratch,
                             i64 %first, i64 %count) #0 {
entry:
  %end = add i64 %first, %count
  %x = load ptr, ptr %inputs
  %y = load ptr, ptr %outputs
  %stride = load i64, ptr %strides
  br label %loop
loop:
  %i = phi i64 [%first, %entry], [%i.next, %loop]
  %offset = mul i64 %i, %stride
  %xi.at = getelementptr double, ptr %x, i64 %offset
  %xi = load double, ptr %xi.at
  %square = fmul double %xi, %xi
  %yi.at = getelementptr double, ptr %y, i64 %i
  store double %square, ptr %yi.at
  %i.next = add i64 %i, 1
  %more = icmp slt i64 %i.next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}

define dso_local void @single(ptr %context, ptr %inputs, ptr %outputs, ptr %scratch) #0 {
  %x.at = load ptr, ptr %inputs
  %x = load double, ptr %x.at
  %y.at = load ptr, ptr %outputs
  %square = fmul double %x, %x
  store double %square, ptr %y.at
  ret void
}

attributes #0 = { nounwind "no-builtins" "no-stack-arg-probe" }
"""

BODY = """
define dso_local void @batch(ptr %context, ptr %inputs, ptr %strides, ptr %outputs, ptr %scratch,
                             i64 %first, i64 %count) #0 {
entry:
  %rows = alloca [3 x ptr]
  %results = alloca [2 x ptr]
  %end = add i64 %first, %count
  br label %test
test:
  %i = phi i64 [%first, %entry], [%i.next, %run]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %run, label %done
run:
  call void @point(ptr %rows, ptr %inputs, ptr %strides, i64 0, i64 %i)
  call void @point(ptr %rows, ptr %inputs, ptr %strides, i64 1, i64 %i)
  call void @point(ptr %rows, ptr %inputs, ptr %strides, i64 2, i64 %i)
  %y.row = mul i64 %i, SIZE
  %y.start = load ptr, ptr %outputs
  %y = getelementptr REAL, ptr %y.start, i64 %y.row
  store ptr %y, ptr %results
  %total.at = getelementptr ptr, ptr %outputs, i64 1
  %total.start = load ptr, ptr %total.at
  %total = getelementptr REAL, ptr %total.start, i64 %i
  %result.at = getelementptr ptr, ptr %results, i64 1
  store ptr %total, ptr %result.at
  call void @single(ptr %context, ptr %rows, ptr %results, ptr %scratch)
  %i.next = add i64 %i, 1
  br label %test
done:
  ret void
}

define internal void @point(ptr %rows, ptr %inputs, ptr %strides, i64 %k, i64 %i) #0 {
  %start.at = getelementptr ptr, ptr %inputs, i64 %k
  %start = load ptr, ptr %start.at
  %stride.at = getelementptr i64, ptr %strides, i64 %k
  %stride = load i64, ptr %stride.at
  %offset = mul i64 %stride, %i
  %row = getelementptr REAL, ptr %start, i64 %offset
  %row.at = getelementptr ptr, ptr %rows, i64 %k
  store ptr %row, ptr %row.at
  ret void
}

define dso_local void @single(ptr %context, ptr %inputs, ptr %outputs, ptr %scratch) #0 {
entry:
  %a.row = load ptr, ptr %inputs
  %a = load REAL, ptr %a.row
  %x.at = getelementptr ptr, ptr %inputs, i64 1
  %x = load ptr, ptr %x.at
  %b.at = getelementptr ptr, ptr %inputs, i64 2
  %b = load ptr, ptr %b.at
  %y = load ptr, ptr %outputs
  %total.at = getelementptr ptr, ptr %outputs, i64 1
  %total = load ptr, ptr %total.at
  store REAL 0.0, ptr %scratch
  br label %loop
loop:
  %k = phi i64 [0, %entry], [%k.next, %loop]
  %xk.at = getelementptr REAL, ptr %x, i64 %k
  %xk = load REAL, ptr %xk.at
  %bk.at = getelementptr REAL, ptr %b, i64 %k
  %bk = load REAL, ptr %bk.at
  %product = fmul REAL %a, %xk
  %sum = fadd REAL %product, %bk
  %yk.at = getelementptr REAL, ptr %y, i64 %k
  store REAL %sum, ptr %yk.at
  %before = load REAL, ptr %scratch
  %after = fadd REAL %before, %sum
  store REAL %after, ptr %scratch
  %k.next = add i64 %k, 1
  %again = icmp slt i64 %k.next, SIZE
  br i1 %again, label %loop, label %done
done:
  %result = load REAL, ptr %scratch
  store REAL %result, ptr %total
  ret void
}

attributes #0 = { nounwind "no-builtins" "no-stack-arg-probe" }
"""


class Results(NamedTuple):
    """What multiply_add gives."""

    y: Any
    total: Any


class Bench(Compiled):
    """What was compiled for an object is just one kernel."""

    __slots__ = ("made",)

    def __init__(self, made: Kernel) -> None:
        super().__init__(None)  # type: ignore[arg-type]
        self.made = made

    def kernel(self, function: Function, present: tuple[str, ...] = (), dtype: Any = None, shape: Any = None) -> Any:
        return self.made


def _choose(machine: Any, given: tuple[str, ...], **options: Any) -> Function:
    machine.chosen.append(copy.deepcopy(options))
    return Function("multiply_add", None, dict.fromkeys(("a", "x", "b"), "v"), {"y": "v", "total": "v"})


def _square(machine: Any, given: tuple[str, ...], **options: Any) -> Function:
    machine.chosen.append(options)
    return Function("square", None, {"x": "v"}, {"y": "v"})


def _scale(machine: Any, given: tuple[str, ...]) -> Function:
    return Function("scale", None, dict.fromkeys(("a", "x", "b"), "v"), {"y": "v", "total": "v"})


class Scale(Answering):
    """Multiplies and adds with numbers of its own, a and b, which it may have to make first."""

    _own_names: ClassVar = {"a": 0, "b": 1}

    def __init__(self, kernel: Kernel, *own: Any) -> None:
        install()
        self._compiled, self._own, self.made = Bench(kernel), own, 0

    def _make_own(self) -> None:
        self.made += 1
        self._own = (np.full(1, 3.0), np.full(5, 2.0))

    @question(_scale)
    def scale(self, x: npt.ArrayLike, *, out: Any = None) -> Results:
        """a x + b."""


class Machine(Answering):
    """Answers with a kernel written by hand; `chosen` keeps the options that were looked at in Python."""

    def __init__(self, kernel: Kernel) -> None:
        install()
        self._compiled, self._own, self.chosen = Bench(kernel), (), []

    @question(_choose)
    def multiply_add(
        self,
        a: npt.ArrayLike,
        x: npt.ArrayLike,
        b: npt.ArrayLike,
        how: Any = "plainly",
        *,
        out: tuple[Any, Any] | None = None,
        links: Any = None,
    ) -> Results:
        """Multiply, then add."""

    @question(_square)
    def square(self, x: npt.ArrayLike, name: Any, *, out: Any = None) -> Any:
        """The square of a number."""
