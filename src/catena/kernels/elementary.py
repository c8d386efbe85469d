"""Sine and cosine together, and the logarithm, as functions over lanes that go into a kernel's module.

Sine and cosine: k = x · 2/π to the nearest integer, r = x − k π/2 in three steps, and polynomials in r² of the FreeBSD library. With
fused multiply-adds the first step is exact, so r is right to the last bit but one for all |x| up to :data:`LIMIT`; lanes beyond that
are redone by the C library, which only they wait for. The logarithm is FreeBSD's too; the C library takes zero, subnormal and bad arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from catena.kernels.emit import Block, Writer
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
_LOG = (
    6.666666666666735130e-01,
    3.999999999940941908e-01,
    2.857142874366239149e-01,
    2.222219843214978396e-01,
    1.818357216161805012e-01,
    1.531383769920937332e-01,
    1.479819860511658591e-01,
)
_LN2 = (6.93147180369123816490e-01, 1.90821492927058770002e-10)


def elementary_ir(names: Iterable[str], target: Target, dtype: np.dtype[Any], W: int) -> tuple[list[str], set[str]]:
    """The functions of the given names ("sincos", "log") for W lanes, and the intrinsics they use."""
    makers = {"sincos": _sincos, "log": _log}
    texts, declarations = [], set()
    for name in sorted(names):
        maker = _Maker(target, dtype, W)
        makers[name](maker)
        T = maker.T
        result = f"{{{T}, {T}}}" if name == "sincos" else T
        texts.append(maker.w.function(f"internal {result} @{name}{W}({T} %x)"))
        declarations |= maker.block.declarations
    return texts, declarations


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

    def redone(self, test: str, value: str, helper: int) -> str:
        """The value, with the lanes in which the test holds computed by a function of the C library."""
        exact, scalar = value, self.lanes.scalar
        at = self.w.new(f"getelementptr [3 x ptr], ptr @helpers, i64 0, i64 {helper}")
        function = self.w.new(f"load ptr, ptr {at}")
        for lane in range(self.W):
            x = "%x" if self.W == 1 else self.w.new(f"extractelement {self.T} %x, i64 {lane}")
            wide = x if self.size == 8 else self.w.new(f"fpext float {x} to double")
            y = self.w.new(f"call double {function}(double {wide})")
            y = y if self.size == 8 else self.w.new(f"fptrunc double {y} to float")
            exact = y if self.W == 1 else self.w.new(f"insertelement {self.T} {exact}, {scalar} {y}, i64 {lane}")
        return self.select(test, exact, value)


def _sincos(m: _Maker) -> None:
    """{sin x, cos x}."""
    w, size = m.w, m.size
    w.label("entry")
    magic = m.number(1.5 * 2.0 ** (52 if size == 8 else 23))  # adding it rounds to an integer, in the last bits
    shifted = m.fma("%x", m.number(2 / np.pi), magic)
    k = m.op("fsub", shifted, magic)
    r = "%x"
    for part in (_FUSED_PI_2 if m.fused else _SPLIT_PI_2)[size]:
        r = m.fma(k, m.number(-part), r)
    z = m.op("fmul", r, r)
    sine = m.fma(m.op("fmul", r, z), m.polynomial(z, _SINE[size]), r)
    cosine = m.fma(m.op("fmul", z, z), m.polynomial(z, _COSINE[size]), m.fma(z, m.number(-0.5), m.number(1.0)))
    quadrant = m.cast(shifted, m.I)
    odd = w.new(f"icmp ne {m.I} {m.iop('and', quadrant, m.integer(1))}, {m.integer(0)}")
    top = m.integer(8 * size - 2)
    signs = [
        m.iop("shl", m.iop("and", turned, m.integer(2)), top)
        for turned in (quadrant, m.iop("add", quadrant, m.integer(1)))
    ]
    values = [
        m.cast(m.iop("xor", m.cast(m.select(odd, *pair), m.I), sign), m.T)
        for pair, sign in zip(((cosine, sine), (sine, cosine)), signs, strict=True)
    ]
    far = m.compare("ogt", m.block.call("fabs", ["%x"], w), m.number((LIMIT if m.fused else _UNFUSED_LIMIT)[size]))
    w.put(f"br i1 {m.any(far)}, label %cold, label %end")
    w.label("cold")
    exact = [m.redone(far, value, helper) for value, helper in zip(values, (SIN, COS), strict=True)]
    w.put("br label %end")
    w.label("end")
    chosen = [w.new(f"phi {m.T} [{x}, %entry], [{y}, %cold]") for x, y in zip(values, exact, strict=True)]
    both = w.new(f"insertvalue {{{m.T}, {m.T}}} poison, {m.T} {chosen[0]}, 0")
    both = w.new(f"insertvalue {{{m.T}, {m.T}}} {both}, {m.T} {chosen[1]}, 1")
    w.put(f"ret {{{m.T}, {m.T}}} {both}")


def _log(m: _Maker) -> None:
    """log x. In single precision, and where x is not a positive normal number, by the C library."""
    w = m.w
    w.label("entry")
    normal = m.compare("oge", "%x", m.number(float(np.finfo(m.lanes.dtype).tiny)))
    finite = m.compare("olt", "%x", m.number(np.inf))
    good = w.new(f"and {m.lanes.truth} {normal}, {finite}")
    odd = w.new(f"xor {m.lanes.truth} {good}, {_all_true(m)}")
    if m.size == 4:
        w.put(f"ret {m.T} {m.redone(_all_true(m), '%x', LOG)}")
        return
    value = _log_of_normal(m)
    w.put(f"br i1 {m.any(odd)}, label %cold, label %end")
    w.label("cold")
    exact = m.redone(odd, value, LOG)
    w.put("br label %end")
    w.label("end")
    w.put(f"ret {m.T} {w.new(f'phi {m.T} [{value}, %entry], [{exact}, %cold]')}")


def _all_true(m: _Maker) -> str:
    return "true" if m.W == 1 else "<" + ", ".join(["i1 true"] * m.W) + ">"


def _log_of_normal(m: _Maker) -> str:
    """x = 2^e (1 + f) with 1 + f between √½ and √2; log x = e log 2 + f − (f²/2 − s (f²/2 + R(s²))), s = f / (2 + f)."""
    bits = m.cast("%x", m.I)
    root_half = 0x3FE6A09E667F3BCD
    offset = m.iop("sub", bits, m.integer(root_half))
    exponent = m.iop("ashr", offset, m.integer(52))
    mantissa = m.cast(m.iop("sub", bits, m.iop("shl", exponent, m.integer(52))), m.T)
    magic = 0x4338000000000000  # 1.5 · 2^52: integers in the last bits
    e = m.op("fsub", m.cast(m.iop("add", exponent, m.integer(magic)), m.T), m.number(1.5 * 2.0**52))
    f = m.op("fsub", mantissa, m.number(1.0))
    s = m.op("fdiv", f, m.op("fadd", f, m.number(2.0)))
    z = m.op("fmul", s, s)
    R = m.op("fmul", z, m.polynomial(z, _LOG))
    half = m.op("fmul", m.op("fmul", f, m.number(0.5)), f)
    low = m.fma(e, m.number(_LN2[1]), m.op("fmul", s, m.op("fadd", half, R)))
    rest = m.op("fsub", m.op("fsub", half, low), f)
    return m.op("fsub", m.op("fmul", e, m.number(_LN2[0])), rest)
