"""From normal forms to expressions as a person would write them: angles added up, masses before what they multiply."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from fractions import Fraction
from typing import Any

from catena.scalars import Scalar
from catena.symbols.ring import Ring, Value

Powers = tuple[int, ...]
Trigonometric = dict[Powers, Any]

_LARGE = 12
"""Groups of more terms than this are left as they are: factoring them takes long and seldom helps."""

_STEEP = 8
"""Products of more sines and cosines than this are left as they are: as sums of angles they have 2^8 terms."""


def expression(x: Scalar, ring: Ring, inertial: frozenset[str]) -> Any:
    """A SymPy expression of a scalar of the ring; terms are collected by the ``inertial`` parameters they contain."""
    from sympy import Add, Integer, Rational, factor_terms, sympify

    if not isinstance(x, Value):
        return Rational(str(x)) if isinstance(x, Fraction) else sympify(x)
    by_factor: dict[Powers, Trigonometric] = defaultdict(dict)
    for monomial, coefficient in x.terms():
        outside = tuple(0 if i in ring.trigonometric else power for i, power in enumerate(monomial))
        inside = tuple(power if i in ring.trigonometric else 0 for i, power in enumerate(monomial))
        by_factor[outside][inside] = coefficient
    groups: dict[Any, Any] = defaultdict(lambda: Integer(0))
    for outside, polynomial in by_factor.items():
        term = _product(outside, ring) * trigonometric(polynomial, ring)
        heads = [s for s in term.free_symbols if s.name in inertial]
        head = (
            tuple(sorted(heads, key=str)),
            tuple(p for p, g in zip(outside, ring.generators, strict=True) if g.is_Pow),
        )
        groups[head] += term
    return Add(*[factor_terms(_combined(group), radical=False) for group in groups.values()])


def _product(powers: Powers, ring: Ring) -> Any:
    from sympy import Mul

    return Mul(*[g**p for g, p in zip(ring.generators, powers, strict=True) if p])


def _combined(group: Any) -> Any:
    """A group with the factors that its terms share taken out, where that makes it shorter."""
    from sympy import count_ops, factor

    if not group.is_Add or len(group.args) > _LARGE:
        return group
    return min((group, factor(group)), key=count_ops)


def trigonometric(polynomial: Trigonometric, ring: Ring) -> Any:
    """A polynomial in sines and cosines: as it is, or in sums of the angles, whichever has fewer terms."""
    from sympy import Add

    plain = Add(*[_number(c) * _product(powers, ring) for powers, c in polynomial.items()])
    if len(polynomial) < 2 or max(sum(powers) for powers in polynomial) > _STEEP:
        return plain
    summed = _harmonics(polynomial, ring)
    return summed if len(Add.make_args(summed)) < len(polynomial) else plain


def _number(x: Any) -> Any:
    from sympy import Rational

    return Rational(int(x.numerator), int(x.denominator))


def _harmonics(polynomial: Trigonometric, ring: Ring) -> Any:
    """The same as a sum of cos(k·q) and sin(k·q): products become powers of exp(iq), which are sorted by k."""
    from sympy import Add, cos, sin

    pairs = ring.sine_places
    spectrum: dict[Powers, tuple[Fraction, Fraction]] = {}
    for powers, coefficient in polynomial.items():
        waves: dict[Powers, tuple[Fraction, Fraction]] = {
            (0,) * len(pairs): (Fraction(int(coefficient.numerator), int(coefficient.denominator)), Fraction(0))
        }
        for number, (s, c) in enumerate(pairs):
            for _ in range(powers[s]):
                waves = _times(waves, number, sine=True)
            for _ in range(powers[c]):
                waves = _times(waves, number, sine=False)
        for k, (re, im) in waves.items():
            old = spectrum.get(k, (Fraction(0), Fraction(0)))
            spectrum[k] = old[0] + re, old[1] + im
    terms = []
    for k, (re, im) in spectrum.items():
        if any(k) and next(x for x in k if x) < 0:
            continue  # the conjugate of a term that is counted twice
        angle = Add(*[n * ring.angle_at(s) for n, (s, _) in zip(k, pairs, strict=True) if n])
        weight = 2 if any(k) else 1
        terms.append(_exact(weight * re) * cos(angle) - _exact(weight * im) * sin(angle))
    return Add(*terms)


def _times(waves: Mapping[Powers, tuple[Fraction, Fraction]], number: int, *, sine: bool) -> Any:
    """Sums of exp(ik·q) times the sine or cosine of one angle: (e − 1/e)/2i or (e + 1/e)/2."""
    product: dict[Powers, tuple[Fraction, Fraction]] = {}
    for k, (re, im) in waves.items():
        for step in (1, -1):
            shifted = tuple(x + step if i == number else x for i, x in enumerate(k))
            add = (step * im / 2, -step * re / 2) if sine else (re / 2, im / 2)
            old = product.get(shifted, (Fraction(0), Fraction(0)))
            product[shifted] = old[0] + add[0], old[1] + add[1]
    return product


def _exact(x: Fraction) -> Any:
    from sympy import Rational

    return Rational(x.numerator, x.denominator)
