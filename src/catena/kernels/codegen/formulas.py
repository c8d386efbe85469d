"""How elementary functions are computed over lanes.

Sine and cosine: k = x · 2/π to the nearest integer, r = x − k π/2 in three steps, and polynomials in r² of the FreeBSD
library. With fused multiply-adds the first step is exact, so r is right to the last bit but one for all |x| up to
:data:`LIMIT`; lanes beyond that are redone by the C library, which only they wait for. The logarithm is FreeBSD's too;
the C library takes zero, subnormal and bad arguments. So are the exponential, which needs no help, and the polynomial
of the arctangent, where the C library takes coordinates that are infinite or nearly so.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from catena.kernels.codegen.emit import MANTISSA
from catena.kernels.codegen.lanewise import Maker

SIN, COS, LOG, ATAN2 = 0, 1, 2, 3
"""Functions of the C library by their places in the table of helpers."""

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
_INTEGERS = {8: 0x4338000000000000, 4: 0x4B400000}
"""The bits of 1.5 · 2^52 or 1.5 · 2^23: added to these numbers, integers stand in the last bits."""
_BIAS = {8: 1023, 4: 127}
_EXP_ENDS = {8: (-746.0, 710.0), 4: (-104.0, 89.0)}
"""Here and beyond, the exponential is zero or infinite."""
_LN2_EXP = {8: _LN2[8], 4: (6.9314575195e-01, 1.4286067653e-06)}
_EXP = {
    8: (
        1.66666666666666019037e-01,
        -2.77777777770155933842e-03,
        6.61375632143793436117e-05,
        -1.65339022054652515390e-06,
        4.13813679705723846039e-08,
    ),
    4: (1.6666625440e-1, -2.7667332906e-3),
}
_TAN_EIGHTH = 0.41421356237309503
_ARCTANGENT = {
    8: (
        3.33333333333329318027e-01,
        -1.99999999998764832476e-01,
        1.42857142725034663711e-01,
        -1.11111104054623557880e-01,
        9.09088713343650656196e-02,
        -7.69187620504482999495e-02,
        6.66107313738753120669e-02,
        -5.83357013379057348645e-02,
        4.97687799461593236017e-02,
        -3.65315727442169155270e-02,
        1.62858201153657823623e-02,
    ),
    4: (3.3333328366e-01, -1.9999158382e-01, 1.4253635705e-01, -1.0648017377e-01, 6.1687607318e-02),
}
_EIGHTHS = {
    8: (
        (0.0, 0.7853981633974483, 1.5707963267948966, 2.356194490192345, 3.141592653589793),
        (0.0, 3.061616997868383e-17, 6.123233995736766e-17, 9.184850993605148e-17, 1.2246467991473532e-16),
    ),
    4: (
        (0.0, 0.7853981852531433, 1.5707963705062866, 2.356194496154785, 3.1415927410125732),
        (0.0, -2.1855694143368964e-08, -4.371138828673793e-08, -5.962440319251527e-09, -8.742277657347586e-08),
    ),
}
"""0, π/4, … π as a number of the type and what it lacks."""


class Function(NamedTuple):
    """How a function is computed: its values, and where they are not to be trusted and which helpers compute them."""

    values: Callable[..., list[str]]
    beyond: Callable[..., str] | None = None
    helpers: tuple[int, ...] = ()
    arguments: int = 1


def _sincos(m: Maker, x: str) -> list[str]:
    """The sine and the cosine of x."""
    w, size = m.w, m.size
    magic = m.number(1.5 * 2.0 ** MANTISSA[size])
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


def _far(m: Maker, x: str) -> str:
    """Whether the reduction of x loses digits."""
    limit = (LIMIT if m.fused else _UNFUSED_LIMIT)[m.size]
    return m.compare("ogt", m.absolute(x), m.number(limit))


def _abnormal(m: Maker, x: str) -> str:
    """Whether x is not a positive normal number."""
    tiny = m.number(float(np.finfo(m.lanes.dtype).tiny))
    bad = [m.compare("ult", x, tiny), m.compare("uge", x, m.number(np.inf))]
    return m.w.new(f"or {m.lanes.truth} {bad[0]}, {bad[1]}")


def _log(m: Maker, x: str) -> list[str]:
    """log x = e log 2 + f − (f²/2 − s (f²/2 + R(s²))) with x = 2^e (1 + f), √½ ≤ 1 + f < √2 and s = f / (2 + f)."""
    size = m.size
    bits, mantissa = m.cast(x, m.I), m.integer(MANTISSA[size])
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


def _exp(m: Maker, x: str) -> list[str]:
    """exp x = 2^k exp r with k = x / log 2 to the nearest integer; 2^k in two factors, each of them a normal number.

    What is too large or too small is cut off where the result is infinite or zero anyway.
    """
    size, (low, high) = m.size, _EXP_ENDS[m.size]
    x = m.select(m.compare("ogt", x, m.number(high)), m.number(high), x)
    x = m.select(m.compare("olt", x, m.number(low)), m.number(low), x)
    magic = m.number(1.5 * 2.0 ** MANTISSA[size])
    shifted = m.fma(x, m.number(1 / math.log(2.0)), magic)
    k = m.op("fsub", shifted, magic)
    above = m.fma(k, m.number(-_LN2_EXP[size][0]), x)
    below = m.op("fmul", k, m.number(_LN2_EXP[size][1]))
    r = m.op("fsub", above, below)
    z = m.op("fmul", r, r)
    c = m.op("fsub", r, m.op("fmul", z, m.polynomial(z, _EXP[size])))
    quotient = m.op("fdiv", m.op("fmul", r, c), m.op("fsub", m.number(2.0), c))
    grown = m.op("fadd", m.number(1.0), m.op("fsub", above, m.op("fsub", below, quotient)))
    power = m.iop("sub", m.cast(shifted, m.I), m.integer(_INTEGERS[size]))
    half = m.iop("ashr", power, m.integer(1))
    for part in (half, m.iop("sub", power, half)):
        biased = m.iop("add", part, m.integer(_BIAS[size]))
        grown = m.op("fmul", grown, m.cast(m.iop("shl", biased, m.integer(MANTISSA[size])), m.T))
    return [grown]


def _arctan2(m: Maker, y: str, x: str) -> list[str]:
    """The angle as k π/4 ± arctan u with u = n / d, |u| ≤ tan π/8: |y| / |x|, its inverse, or that turned back by π/4.

    What rounding takes from n, d and u is made good in the end, what it takes from u only with fused multiply-adds.
    """
    ys, xs = m.absolute(y), m.absolute(x)
    steep = m.compare("ogt", ys, xs)
    small, large = m.select(steep, xs, ys), m.select(steep, ys, xs)
    large = m.select(m.compare("oeq", large, m.number(0.0)), m.number(1.0), large)
    wide = m.compare("ogt", small, m.op("fmul", large, m.number(_TAN_EIGHTH)))
    less, more = m.op("fsub", large, small), m.op("fadd", large, small)
    n, d = m.select(wide, m.minus(less), small), m.select(wide, more, large)
    u = m.op("fdiv", n, d)
    n_lost, d_lost = m.op("fsub", small, m.op("fsub", large, less)), m.op("fsub", small, m.op("fsub", more, large))
    lost = m.select(wide, m.op("fsub", n_lost, m.op("fmul", u, d_lost)), m.number(0.0))
    if m.fused:
        lost = m.op("fadd", lost, m.fma(m.minus(u), d, n))
    z = m.op("fmul", u, u)
    correction = m.op("fdiv", lost, m.fma(u, n, d))
    rest = m.op("fsub", correction, m.op("fmul", m.op("fmul", u, z), m.polynomial(z, _ARCTANGENT[m.size])))
    return [_turned(m, u, rest, steep, wide, y, x)]


def _turned(m: Maker, u: str, rest: str, steep: str, wide: str, y: str, x: str) -> str:
    """The angle u + rest, counted from a multiple of π/4 in the sense that the octant of (x, y) says."""
    sign = m.integer(-(1 << (8 * m.size - 1)))
    left = m.w.new(f"icmp slt {m.I} {m.cast(x, m.I)}, {m.integer(0)}")
    back = m.w.new(f"xor {m.lanes.truth} {left}, {steep}")
    flip = m.w.new(f"select {m.lanes.truth} {back}, {m.I} {sign}, {m.I} {m.integer(0)}")
    u, rest = (m.cast(m.iop("xor", m.cast(part, m.I), flip), m.T) for part in (u, rest))
    starts = []
    for eighths in _EIGHTHS[m.size]:
        none, one, two, three, four = map(m.number, eighths)
        straight = m.select(steep, two, m.select(left, four, none))
        starts.append(m.select(wide, m.select(left, three, one), straight))
    total = m.op("fadd", starts[0], u)
    lost = m.op("fsub", u, m.op("fsub", total, starts[0]))
    angle = m.op("fadd", total, m.op("fadd", lost, m.op("fadd", starts[1], rest)))
    return m.cast(m.iop("or", m.cast(angle, m.I), m.iop("and", m.cast(y, m.I), sign)), m.T)


def _huge(m: Maker, y: str, x: str) -> str:
    """Whether the sum of two coordinates may be infinite."""
    end = m.number(float(np.finfo(m.lanes.dtype).max) / 4)
    tests = [m.compare("ogt", m.absolute(value), end) for value in (y, x)]
    return m.w.new(f"or {m.lanes.truth} {tests[0]}, {tests[1]}")


FUNCTIONS = {
    "sincos": Function(_sincos, _far, (SIN, COS)),
    "log": Function(_log, _abnormal, (LOG,)),
    "exp": Function(_exp),
    "arctan2": Function(_arctan2, _huge, (ATAN2,), arguments=2),
}
"""By name."""
