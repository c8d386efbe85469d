"""Sine and cosine together, and the logarithm, as functions over lanes that go into a kernel's module.

Sine and cosine: k = x · 2/π to the nearest integer, r = x − k π/2 in three steps, and polynomials in r² of the FreeBSD
library. With fused multiply-adds the first step is exact, so r is right to the last bit but one for all |x| up to
:data:`LIMIT`; lanes beyond that are redone by the C library, which only they wait for. The logarithm is FreeBSD's too;
the C library takes zero, subnormal and bad arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from catena.kernels.emit import Block, Writer
from catena.kernels.loops import Counted
from catena.kernels.target import Target

HELPERS_IR = "@helpers = dso_local global [3 x ptr] zeroinitializer"
SIN, COS, LOG = 0, 1, 2

LIMIT = {8: 2.0**30, 4: 2.0**13}
"""From here on, by bytes of the type, the C library takes over."""

_UNFUSED_LIMIT = {8: 2.0**19, 4: 2.0**7}

_FUSED_PI_2 = {
    8: (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591833e-33),
    4: (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15),
}
_SPLIT_PI_2 = {
    8: (1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624871116645580e-21, 8.47842766036889956997e-32),
    4: (1.5703125, 4.837512969970703125e-4, 7.549789948768648e-8, 5.6e-12),
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
"""The bits of 1.5 · 2^52 or 1.5 · 2^23: added to it, integers stand in the last bits."""


def elementary_ir(names: Iterable[str], target: Target, dtype: np.dtype[Any], W: int) -> tuple[list[str], set[str]]:
    """The functions of the given names for W lanes, and the intrinsics they use.

    "sincos" and "log" take one value; "sincos_all" and "log_all" take arrays of values: pointers to the arguments and
    to the results, and how many there are.
    """
    texts, declarations = [], set()
    for name in sorted(names):
        maker = _Maker(target, dtype, W)
        texts.append(_looped(maker, name) if name.endswith("_all") else _plain(maker, name))
        declarations |= maker.block.declarations
    return texts, declarations


def _plain(m: _Maker, name: str) -> str:
    """The function of one value."""
    m.w.label("entry")
    values = _FUNCTIONS[name](m, "%x", "entry")
    result = values[0]
    if len(values) > 1:
        kind, result = f"{{{', '.join([m.T] * len(values))}}}", "poison"
        for i, value in enumerate(values):
            result = m.w.new(f"insertvalue {kind} {result}, {m.T} {value}, {i}")
    else:
        kind = m.T
    m.w.put(f"ret {kind} {result}")
    return m.w.function(f"internal {kind} @{name}{m.W}({m.T} %x)")


def _looped(m: _Maker, name: str) -> str:
    """The function of arrays."""
    function = _FUNCTIONS[name.removesuffix("_all")]
    m.w.label("entry")
    loop = Counted(m.w, "each", "%count")
    x = m.w.new(f"load {m.T}, ptr {m.w.new(f'getelementptr {m.T}, ptr %arguments, i64 {loop.i}')}")
    values = function(m, x, "each.body")
    for i, value in enumerate(values):
        at = m.w.new(f"getelementptr {m.T}, ptr %results{i}, i64 {loop.i}")
        m.w.put(f"store {m.T} {value}, ptr {at}")
    loop.close()
    m.w.put("ret void")
    results = ", ".join(f"ptr %results{i}" for i in range(len(values)))
    return m.w.function(f"internal void @{name}{m.W}(ptr %arguments, {results}, i64 %count)")


class _Maker:
    """Arithmetic on values by name."""

    def __init__(self, target: Target, dtype: np.dtype[Any], W: int) -> None:
        self.block, self.w = Block(target, dtype, W), Writer()
        self.lanes, self.fused, self.size, self.W = self.block.lanes, target.has_fma, dtype.itemsize, W
        self.T, self.I = self.lanes.type, self.lanes.bits
        self.number, self.integer = self.lanes.number, self.lanes.integer

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

    def unless(self, bad: str, values: Sequence[str], x: str, helpers: Sequence[int], label: str) -> list[str]:
        """The values, with the lanes in which the test holds computed by functions of the C library.

        ``label`` is the basic block that we are in; afterwards we are in another one.
        """
        self.w.put(f"br i1 {self.any(bad)}, label %cold, label %done")
        self.w.label("cold")
        exact = [self._redone(bad, value, x, helper) for value, helper in zip(values, helpers, strict=True)]
        self.w.put("br label %done")
        self.w.label("done")
        pairs = zip(values, exact, strict=True)
        return [self.w.new(f"phi {self.T} [{y}, %{label}], [{z}, %cold]") for y, z in pairs]

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


def _sincos(m: _Maker, x: str, label: str) -> list[str]:
    """The sine and the cosine of x."""
    w, size = m.w, m.size
    magic = m.cast(m.integer(_INTEGERS[size]), m.T)
    shifted = m.fma(x, m.number(2 / np.pi), magic)
    k = m.op("fsub", shifted, magic)
    r = x
    for part in (_FUSED_PI_2 if m.fused else _SPLIT_PI_2)[size]:
        r = m.fma(k, m.number(-part), r)
    z = m.op("fmul", r, r)
    sine = m.fma(m.op("fmul", r, z), m.polynomial(z, _SINE[size]), r)
    cosine = m.fma(m.op("fmul", z, z), m.polynomial(z, _COSINE[size]), m.fma(z, m.number(-0.5), m.number(1.0)))
    quarters = m.cast(shifted, m.I)
    odd_sign = m.iop("shl", quarters, m.integer(8 * size - 1))
    sine_sign = m.iop("and", m.iop("shl", quarters, m.integer(8 * size - 2)), m.integer(-(1 << (8 * size - 1))))
    odd = w.new(f"icmp slt {m.I} {odd_sign}, {m.integer(0)}")
    signs = sine_sign, m.iop("xor", sine_sign, odd_sign)
    values = [
        m.cast(m.iop("xor", m.cast(m.select(odd, *pair), m.I), sign), m.T)
        for pair, sign in zip(((cosine, sine), (sine, cosine)), signs, strict=True)
    ]
    far = m.compare("ogt", m.block.call("fabs", [x], w), m.number((LIMIT if m.fused else _UNFUSED_LIMIT)[size]))
    return m.unless(far, values, x, (SIN, COS), label)


def _log(m: _Maker, x: str, label: str) -> list[str]:
    """The logarithm of x; where x is not a positive normal number, the C library's."""
    tiny = m.number(float(np.finfo(m.lanes.dtype).tiny))
    bad = [m.compare("ult", x, tiny), m.compare("uge", x, m.number(np.inf))]
    either = m.w.new(f"or {m.lanes.truth} {bad[0]}, {bad[1]}")
    return m.unless(either, [_log_of_normal(m, x)], x, (LOG,), label)


def _log_of_normal(m: _Maker, x: str) -> str:
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
    return m.op("fsub", m.op("fmul", e, m.number(_LN2[size][0])), rest)


_FUNCTIONS = {"sincos": _sincos, "log": _log}
