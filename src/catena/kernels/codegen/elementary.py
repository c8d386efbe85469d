"""Sine and cosine together, and the logarithm, as functions over lanes that go into a kernel's module.

Sine and cosine: k = x · 2/π to the nearest integer, r = x − k π/2 in three steps, and polynomials in r² of the FreeBSD
library. With fused multiply-adds the first step is exact, so r is right to the last bit but one for all |x| up to
:data:`LIMIT`; lanes beyond that are redone by the C library, which only they wait for. The logarithm is FreeBSD's too;
the C library takes zero, subnormal and bad arguments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from catena.kernels.codegen.emit import Block, Writer
from catena.kernels.codegen.loops import Counted
from catena.kernels.machine.target import Target

HELPERS_IR = "@helpers = dso_local global [3 x ptr] zeroinitializer"
SIN, COS, LOG = 0, 1, 2

LIMIT = {8: 2.0**30, 4: 2.0**13}
"""From here on, by bytes of the type, the C library takes over."""

_UNFUSED_LIMIT = {8: 2.0**19, 4: 2.0**12}

_FUSED_PI_2 = {
    8: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    4: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
_SPLIT_PI_2 = {
    8: (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624871116645580e-21, 8.47842766036889956997e-32),
    4: (1.5703125, 4.837512969970703125e-4, 7.549533620476723e-08, 2.5633440682570896e-12),
}
_SINE = {
    8: (
        -1.66666666666666324348e-01,
        8.33333333332248946124e-03,
        -1.98412698298579493134e-04,
        2.75573137070700676789e-06,
        -2.50507602534068634195e-08,
        1.58969099521155010221e-10,
    ),
    4: (-1.6666654611e-1, 8.3321608736e-3, -1.9515295891e-4),
}
_COSINE = {
    8: (
        4.16666666666666019037e-02,
        -1.38888888888741095749e-03,
        2.48015872894767294178e-05,
        -2.75573143513906633035e-07,
        2.08757232129817482790e-09,
        -1.13596475577881948265e-11,
    ),
    4: (4.166664568298827e-2, -1.388731625493765e-3, 2.443315711809948e-5),
}
_LOG = {
    8: (
        6.666666666666735130e-01,
        3.999999999940941908e-01,
        2.857142874366239149e-01,
        2.222219843214978396e-01,
        1.818357216161805012e-01,
        1.531383769920937332e-01,
        1.479819860511658591e-01,
    ),
    4: (0.66666662693, 0.40000972152, 0.28498786688, 0.24279078841),
}
_LN2 = {8: (6.93147180369123816490e-01, 1.90821492927058770002e-10), 4: (6.9313812256e-01, 9.0580006145e-06)}
_ROOT_HALF = {8: 0x3FE6A09E667F3BCD, 4: 0x3F3504F3}
_MANTISSA = {8: 52, 4: 23}
_INTEGERS = {8: 0x4338000000000000, 4: 0x4B400000}
"""The bits of 1.5 · 2^52 or 1.5 · 2^23: added to these numbers, integers stand in the last bits."""


def elementary_ir(names: Iterable[str], target: Target, dtype: np.dtype[Any], W: int) -> tuple[list[str], set[str]]:
    """The functions of the given names for W lanes, and the intrinsics they use.

    "sincos" and "log" take one value; "sincos_all" and "log_all" take arrays of values: pointers to the arguments and
    to the results, and how many there are, at least one.
    """
    texts, declarations = [], set()
    for name in sorted(names):
        maker = _Maker(target, dtype, W)
        texts.append(_looped(maker, name) if name.endswith("_all") else _plain(maker, name))
        declarations |= maker.block.declarations
    return texts, declarations


def _plain(m: _Maker, name: str) -> str:
    """The function of one value."""
    f, w = _FUNCTIONS[name], m.w
    w.label("entry")
    values = f.values(m, "%x")
    bad = f.beyond(m, "%x")
    w.put(f"br i1 {m.any(bad)}, label %cold, label %done")
    w.label("cold")
    exact = m.redone(bad, values, "%x", f.helpers)
    w.put("br label %done")
    w.label("done")
    chosen = [w.new(f"phi {m.T} [{x}, %entry], [{y}, %cold]") for x, y in zip(values, exact, strict=True)]
    kind, result = m.T, chosen[0]
    if len(chosen) > 1:
        kind, result = f"{{{', '.join([m.T] * len(values))}}}", "poison"
        for i, value in enumerate(chosen):
            result = w.new(f"insertvalue {kind} {result}, {m.T} {value}, {i}")
    w.put(f"ret {kind} {result}")
    return m.w.function(f"internal {kind} @{name}{m.W}({m.T} %x)")


def _looped(m: _Maker, name: str) -> str:
    """The function of arrays. The C library comes in after the loop, so that it is not in the way."""
    f, w = _FUNCTIONS[name.removesuffix("_all")], m.w
    w.label("entry")
    m.table = f"@{name}{m.W}.numbers"
    w.put("br label %each")
    w.label("each")
    w.put("%i = phi i64 [0, %entry], [%i.next, %each]")
    w.put(f"%seen = phi {m.I} [{m.integer(0)}, %entry], [%seen.next, %each]")
    x = m.load("%arguments", "%i")
    m.store(f.values(m, x), "%i")
    w.put(f"%seen.next = or {m.I} %seen, {w.new(f'sext {m.lanes.truth} {f.beyond(m, x)} to {m.I}')}")
    w.put("%i.next = add i64 %i, 1")
    w.put("%more = icmp slt i64 %i.next, %count")
    w.put("br i1 %more, label %each, label %check")
    w.label("check")
    bad = w.new(f"icmp ne {m.I} %seen.next, {m.integer(0)}")
    w.put(f"br i1 {m.any(bad)}, label %cold, label %done")
    w.label("cold")
    loop = Counted(w, "again", "%count")
    x = m.load("%arguments", loop.i)
    values = [m.load(f"%results{i}", loop.i) for i in range(len(f.helpers))]
    m.store(m.redone(f.beyond(m, x), values, x, f.helpers), loop.i)
    loop.close()
    w.put("br label %done")
    w.label("done")
    w.put("ret void")
    results = ", ".join(f"ptr noalias %results{i}" for i in range(len(values)))
    return m.numbers() + w.function(f"internal void @{name}{m.W}(ptr noalias %arguments, {results}, i64 %count)")


class _Maker:
    """Arithmetic on values by name."""

    def __init__(self, target: Target, dtype: np.dtype[Any], W: int) -> None:
        self.block, self.w = Block(target, dtype, W), Writer()
        self.lanes, self.fused, self.size, self.W = self.block.lanes, target.has_fma, dtype.itemsize, W
        self.T, self.I = self.lanes.type, self.lanes.bits
        self.integer = self.lanes.integer
        self.table = ""
        self._numbers: list[float] = []
        self._tabulates = target.assembles and self.lanes.size == 32

    def number(self, x: float) -> str:
        """A constant. LLVM would broadcast it to a register first; from a table, instructions take it directly."""
        if not (self.table and self._tabulates):
            return self.lanes.number(x)
        if x not in self._numbers:
            self._numbers.append(x)
        return self.load(self.table, str(self._numbers.index(x)))

    def numbers(self) -> str:
        """The table of constants."""
        if not self._numbers:
            return ""
        values = ", ".join(f"{self.T} {self.lanes.number(x)}" for x in self._numbers)
        return f"{self.table} = internal constant [{len(self._numbers)} x {self.T}] [{values}]\n"

    def load(self, base: str, index: str) -> str:
        """A value in an array."""
        return self.w.new(f"load {self.T}, ptr {self.w.new(f'getelementptr {self.T}, ptr {base}, i64 {index}')}")

    def store(self, values: Sequence[str], index: str) -> None:
        """The results of a function, in their arrays."""
        for i, value in enumerate(values):
            at = self.w.new(f"getelementptr {self.T}, ptr %results{i}, i64 {index}")
            self.w.put(f"store {self.T} {value}, ptr {at}")

    def op(self, name: str, x: str, y: str) -> str:
        return self.w.new(f"{name} {self.T} {x}, {y}")

    def iop(self, name: str, x: str, y: str) -> str:
        return self.w.new(f"{name} {self.I} {x}, {y}")

    def fma(self, x: str, y: str, z: str) -> str:
        """x y + z, rounded once where the target can."""
        return self.block.call("fma", [x, y, z], self.w) if self.fused else self.op("fadd", self.op("fmul", x, y), z)

    def polynomial(self, x: str, coefficients: Sequence[float]) -> str:
        """Horner's rule, constant term first."""
        value = self.number(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            value = self.fma(value, x, self.number(c))
        return value

    def cast(self, x: str, to: str) -> str:
        source = self.T if to == self.I else self.I
        return self.w.new(f"bitcast {source} {x} to {to}")

    def select(self, test: str, x: str, y: str) -> str:
        return self.w.new(f"select {self.lanes.truth} {test}, {self.T} {x}, {self.T} {y}")

    def compare(self, predicate: str, x: str, y: str) -> str:
        return self.w.new(f"fcmp {predicate} {self.T} {x}, {y}")

    def any(self, test: str) -> str:
        """Whether the test holds in some lane."""
        if self.W == 1:
            return test
        mask = self.w.new(f"bitcast {self.lanes.truth} {test} to i{self.W}")
        return self.w.new(f"icmp ne i{self.W} {mask}, 0")

    def redone(self, test: str, values: Sequence[str], x: str, helpers: Sequence[int]) -> list[str]:
        """The values, with the lanes in which the test holds computed by functions of the C library."""
        return [self._redone(test, value, x, helper) for value, helper in zip(values, helpers, strict=True)]

    def _redone(self, test: str, value: str, x: str, helper: int) -> str:
        exact, scalar = value, self.lanes.scalar
        at = self.w.new(f"getelementptr [3 x ptr], ptr @helpers, i64 0, i64 {helper}")
        function = self.w.new(f"load ptr, ptr {at}")
        for lane in range(self.W):
            z = x if self.W == 1 else self.w.new(f"extractelement {self.T} {x}, i64 {lane}")
            wide = z if self.size == 8 else self.w.new(f"fpext float {z} to double")
            y = self.w.new(f"call double {function}(double {wide})")
            y = y if self.size == 8 else self.w.new(f"fptrunc double {y} to float")
            exact = y if self.W == 1 else self.w.new(f"insertelement {self.T} {exact}, {scalar} {y}, i64 {lane}")
        return self.select(test, exact, value)


class _Function(NamedTuple):
    """How a function is computed: its values, where they are not to be trusted, and what the C library calls it."""

    values: Callable[[_Maker, str], list[str]]
    beyond: Callable[[_Maker, str], str]
    helpers: tuple[int, ...]


def _sincos(m: _Maker, x: str) -> list[str]:
    """The sine and the cosine of x."""
    w, size = m.w, m.size
    magic = m.number(1.5 * 2.0 ** _MANTISSA[size])
    shifted = m.fma(x, m.number(2 / np.pi), magic)
    k = m.op("fsub", shifted, magic)
    r = x
    *parts, last = (_FUSED_PI_2 if m.fused else _SPLIT_PI_2)[size]
    for part in parts:
        r = m.fma(k, m.number(-part), r)
    z = m.op("fmul", r, r)
    sine = m.fma(m.op("fmul", r, z), m.polynomial(z, _SINE[size]), m.fma(k, m.number(-last), r))
    cosine = m.fma(m.op("fmul", z, z), m.polynomial(z, _COSINE[size]), m.fma(z, m.number(-0.5), m.number(1.0)))
    quarters = m.cast(shifted, m.I)
    odd_sign = m.iop("shl", quarters, m.integer(8 * size - 1))
    sine_sign = m.iop("and", m.iop("shl", quarters, m.integer(8 * size - 2)), m.integer(-(1 << (8 * size - 1))))
    odd = w.new(f"icmp slt {m.I} {odd_sign}, {m.integer(0)}")
    signs = sine_sign, m.iop("xor", sine_sign, odd_sign)
    return [
        m.cast(m.iop("xor", m.cast(m.select(odd, *pair), m.I), sign), m.T)
        for pair, sign in zip(((cosine, sine), (sine, cosine)), signs, strict=True)
    ]


def _far(m: _Maker, x: str) -> str:
    """Whether the reduction of x loses digits."""
    limit = (LIMIT if m.fused else _UNFUSED_LIMIT)[m.size]
    return m.compare("ogt", m.block.call("fabs", [x], m.w), m.number(limit))


def _abnormal(m: _Maker, x: str) -> str:
    """Whether x is not a positive normal number."""
    tiny = m.number(float(np.finfo(m.lanes.dtype).tiny))
    bad = [m.compare("ult", x, tiny), m.compare("uge", x, m.number(np.inf))]
    return m.w.new(f"or {m.lanes.truth} {bad[0]}, {bad[1]}")


def _log(m: _Maker, x: str) -> list[str]:
    """log x = e log 2 + f − (f²/2 − s (f²/2 + R(s²))) with x = 2^e (1 + f), √½ ≤ 1 + f < √2 and s = f / (2 + f)."""
    size = m.size
    bits, mantissa = m.cast(x, m.I), m.integer(_MANTISSA[size])
    exponent = m.iop("ashr", m.iop("sub", bits, m.integer(_ROOT_HALF[size])), mantissa)
    scaled = m.cast(m.iop("sub", bits, m.iop("shl", exponent, mantissa)), m.T)
    magic = m.integer(_INTEGERS[size])
    e = m.op("fsub", m.cast(m.iop("add", exponent, magic), m.T), m.cast(magic, m.T))
    f = m.op("fsub", scaled, m.number(1.0))
    s = m.op("fdiv", f, m.op("fadd", f, m.number(2.0)))
    z = m.op("fmul", s, s)
    R = m.op("fmul", z, m.polynomial(z, _LOG[size]))
    half = m.op("fmul", m.op("fmul", f, m.number(0.5)), f)
    low = m.fma(e, m.number(_LN2[size][1]), m.op("fmul", s, m.op("fadd", half, R)))
    rest = m.op("fsub", m.op("fsub", half, low), f)
    return [m.op("fsub", m.op("fmul", e, m.number(_LN2[size][0])), rest)]


_FUNCTIONS = {"sincos": _Function(_sincos, _far, (SIN, COS)), "log": _Function(_log, _abnormal, (LOG,))}
