"""Elementary functions over lanes, by the formulas of :mod:`catena.kernels.codegen.formulas`, for a kernel's module."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from catena.kernels.codegen.formulas import FUNCTIONS, Function
from catena.kernels.codegen.lanewise import Maker
from catena.kernels.codegen.loops import Counted
from catena.kernels.machine.compile import HELPERS
from catena.kernels.machine.target import Target

HELPERS_IR = f"@helpers = dso_local global [{len(HELPERS)} x ptr] zeroinitializer"


def elementary_ir(names: Iterable[str], target: Target, dtype: np.dtype[Any], W: int) -> tuple[list[str], set[str]]:
    """The functions of the given names for W lanes, and the intrinsics they use.

    "sincos", "log", "exp" and "arctan2" take values; "sincos_all" and so on take arrays of values: pointers to the
    arguments and to the results, and how many there are, at least one.
    """
    texts, declarations = [], set()
    for name in sorted(names):
        maker = Maker(target, dtype, W)
        texts.append(_looped(maker, name) if name.endswith("_all") else _plain(maker, name))
        declarations |= maker.block.declarations
    return texts, declarations


def _plain(m: Maker, name: str) -> str:
    """The function of values."""
    f, w = FUNCTIONS[name], m.w
    given = [f"%x{i}" for i in range(f.arguments)]
    w.label("entry")
    chosen = f.values(m, *given)
    if f.beyond is not None:
        chosen = _checked(m, f, given, chosen)
    kind, result = m.T, chosen[0]
    if len(chosen) > 1:
        kind, result = f"{{{', '.join([m.T] * len(chosen))}}}", "poison"
        for i, value in enumerate(chosen):
            result = w.new(f"insertvalue {kind} {result}, {m.T} {value}, {i}")
    w.put(f"ret {kind} {result}")
    return m.w.function(f"internal {kind} @{name}{m.W}({', '.join(f'{m.T} {x}' for x in given)})")


def _checked(m: Maker, f: Function, given: Sequence[str], values: Sequence[str]) -> list[str]:
    """The values, by the C library where they are not to be trusted."""
    assert f.beyond is not None
    w, bad = m.w, f.beyond(m, *given)
    w.put(f"br i1 {m.any(bad)}, label %cold, label %done")
    w.label("cold")
    exact = m.redone(bad, values, given, f.helpers)
    w.put("br label %done")
    w.label("done")
    return [w.new(f"phi {m.T} [{x}, %entry], [{y}, %cold]") for x, y in zip(values, exact, strict=True)]


def _looped(m: Maker, name: str) -> str:
    """The function of arrays. The C library comes in after the loop, so that it is not in the way."""
    f, w = FUNCTIONS[name.removesuffix("_all")], m.w
    arrays = [f"%arguments{i}" for i in range(f.arguments)]
    w.label("entry")
    m.table = f"@{name}{m.W}.numbers"
    w.put("br label %each")
    w.label("each")
    w.put("%i = phi i64 [0, %entry], [%i.next, %each]")
    if f.beyond is not None:
        w.put(f"%seen = phi {m.I} [{m.integer(0)}, %entry], [%seen.next, %each]")
    given = [m.load(array, "%i") for array in arrays]
    values = f.values(m, *given)
    m.store(values, "%i")
    if f.beyond is not None:
        w.put(f"%seen.next = or {m.I} %seen, {w.new(f'sext {m.lanes.truth} {f.beyond(m, *given)} to {m.I}')}")
    w.put("%i.next = add i64 %i, 1")
    w.put("%more = icmp slt i64 %i.next, %count")
    w.put("br i1 %more, label %each, label %check")
    w.label("check")
    if f.beyond is not None:
        bad = w.new(f"icmp ne {m.I} %seen.next, {m.integer(0)}")
        w.put(f"br i1 {m.any(bad)}, label %cold, label %done")
        w.label("cold")
        loop = Counted(w, "again", "%count")
        given = [m.load(array, loop.i) for array in arrays]
        found = [m.load(f"%results{i}", loop.i) for i in range(len(f.helpers))]
        m.store(m.redone(f.beyond(m, *given), found, given, f.helpers), loop.i)
        loop.close()
    w.put("br label %done")
    w.label("done")
    w.put("ret void")
    pointers = ", ".join(f"ptr noalias {x}" for x in (*arrays, *[f"%results{i}" for i in range(len(values))]))
    return m.numbers() + w.function(f"internal void @{name}{m.W}({pointers}, i64 %count)")
