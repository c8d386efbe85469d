"""Exact scalars for symbolic work: polynomials in parameters, coordinates, sines and cosines, kept in normal form.

sin² is replaced by 1 − cos² as soon as it appears, so equal expressions are equal polynomials and what cancels is gone.
A division by a polynomial names its reciprocal: 1/m̂ becomes one more variable, with m̂'s expression remembered. That is
how the papers write U and D, and it keeps every element short.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from catena.errors import UnsupportedError
from catena.scalars import Scalar

QUARTER = "quarter_turn"
"""The variable that stands for the angle π/2 inside a sine or a cosine."""


class Ring:
    """The variables of a symbolic computation.

    ``plain`` are names of variables; ``angles`` are names of variables that also have a sine and a cosine; ``pivots``
    are names for what will be divided by, in that order.
    """

    def __init__(self, plain: Sequence[str], angles: Sequence[str], pivots: Sequence[str]) -> None:
        from sympy import QQ, Symbol, cos, sin
        from sympy.polys.rings import ring

        self.field = QQ
        symbols = [Symbol(name) for name in (*plain, *angles, QUARTER)]
        turned = [f(Symbol(name)) for name in angles for f in (sin, cos)]
        reciprocals = [1 / Symbol(name) for name in pivots]
        self.generators = [*symbols, *turned, *reciprocals]
        names = [f"x{i}" for i in range(len(self.generators))]
        self.polynomials, *variables = ring(names, QQ)
        self._place = {str(symbol): i for i, symbol in enumerate(symbols)}
        first = len(symbols)
        self._sines = {first + 2 * i: first + 2 * i + 1 for i in range(len(angles))}
        self._angles = {self._place[name]: first + 2 * i for i, name in enumerate(angles)}
        self.trigonometric = frozenset(x for pair in self._sines.items() for x in pair)
        self._variables = variables
        self._squares = {s: 1 - variables[c] ** 2 for s, c in self._sines.items()}
        self._free = list(range(first + len(turned), len(self.generators)))
        self.definitions: dict[Any, Value] = {}
        self._reciprocals: dict[Any, Value] = {}

    @property
    def sine_places(self) -> list[tuple[int, int]]:
        """Where the sine and the cosine of each angle stand among the generators."""
        return list(self._sines.items())

    def angle_at(self, sine: int) -> Any:
        """The symbol of the angle whose sine stands at that place."""
        return self.generators[sine].args[0]

    def variable(self, name: str) -> Value:
        """The variable of that name."""
        return Value(self, self._variables[self._place[name]])

    def number(self, x: Scalar) -> Any:
        """A number as an exact element of the field: a float is read as the decimal that Python prints for it."""
        exact = Fraction(repr(x)) if isinstance(x, float) else Fraction(x)
        return self.field(exact.numerator, exact.denominator)

    def tidy(self, polynomial: Any) -> Scalar:
        """A polynomial in normal form, as a scalar: 0 and ±1 become plain integers."""
        result = polynomial if self._is_normal(polynomial) else self._reduced(polynomial)
        if result.is_ground:
            constant = result.LC if result else 0
            if constant in (0, 1, -1):
                return int(constant)
        return Value(self, result)

    def _is_normal(self, polynomial: Any) -> bool:
        return all(monomial[s] < 2 for monomial in polynomial for s in self._sines)

    def _reduced(self, polynomial: Any) -> Any:
        """Every sin² replaced by 1 − cos²."""
        total = self.polynomials.zero
        for monomial, coefficient in polynomial.items():
            powers, factor = list(monomial), self.polynomials.one
            for s in self._sines:
                if powers[s] >= 2:
                    factor *= self._squares[s] ** (powers[s] // 2)
                    powers[s] %= 2
            total += self.polynomials.term_new(tuple(powers), coefficient) * factor
        return total

    def reciprocal(self, polynomial: Any) -> Value:
        """1 / polynomial, a new variable unless the same was divided by before."""
        key = tuple(sorted(polynomial.items()))
        if key not in self._reciprocals:
            if not self._free:
                raise UnsupportedError("this symbolic computation divides more often than its mechanism has pivots")
            place = self._free.pop(0)
            self._reciprocals[key] = Value(self, self._variables[place])
            self.definitions[1 / self.generators[place]] = Value(self, polynomial)
        return self._reciprocals[key]

    def sincos(self, angle: Value) -> tuple[Scalar, Scalar]:
        """Sine and cosine of a sum of angles, by the addition formulas."""
        s: Scalar = 0
        c: Scalar = 1
        for monomial, coefficient in angle.polynomial.items():
            place = next((i for i, power in enumerate(monomial) if power), None)
            if place is None or sum(monomial) != 1 or coefficient.denominator != 1:
                raise UnsupportedError(
                    "a symbolic angle must be a whole combination of coordinates and constant angles"
                )
            for _ in range(abs(int(coefficient))):
                ds, dc = self._single(place)
                ds = ds if coefficient > 0 else -ds
                s, c = s * dc + c * ds, c * dc - s * ds
        return s, c

    def _single(self, place: int) -> tuple[Scalar, Scalar]:
        if place == self._place[QUARTER]:
            return 1, 0
        if place not in self._angles:
            raise UnsupportedError(f"{self.generators[place]} was not announced as an angle")
        s = self._angles[place]
        return Value(self, self._variables[s]), Value(self, self._variables[s + 1])


class _Library:
    """sin and cos of exact scalars."""

    @staticmethod
    def sin(x: Value) -> Scalar:
        return x.ring.sincos(x)[0]

    @staticmethod
    def cos(x: Value) -> Scalar:
        return x.ring.sincos(x)[1]


class Value:
    """An exact scalar: a polynomial in normal form."""

    __slots__ = ("polynomial", "ring")
    library = _Library

    def __init__(self, ring: Ring, polynomial: Any) -> None:
        self.ring, self.polynomial = ring, polynomial

    def _other(self, x: Scalar) -> Any:
        return x.polynomial if isinstance(x, Value) else self.ring.number(x)

    def __add__(self, other: Scalar) -> Scalar:
        return self.ring.tidy(self.polynomial + self._other(other))

    __radd__ = __add__

    def __sub__(self, other: Scalar) -> Scalar:
        return self.ring.tidy(self.polynomial - self._other(other))

    def __rsub__(self, other: Scalar) -> Scalar:
        return self.ring.tidy(self._other(other) - self.polynomial)

    def __mul__(self, other: Scalar) -> Scalar:
        return self.ring.tidy(self.polynomial * self._other(other))

    __rmul__ = __mul__

    def __neg__(self) -> Scalar:
        return Value(self.ring, -self.polynomial)

    def __truediv__(self, other: Scalar) -> Scalar:
        if not isinstance(other, Value):
            return self.ring.tidy(self.polynomial * (1 / self.ring.number(other)))
        return self * other._inverse()

    def __rtruediv__(self, other: Scalar) -> Scalar:
        return self._inverse() * other

    def _inverse(self) -> Scalar:
        if self.polynomial.is_ground:
            return self.ring.tidy(self.ring.polynomials(1 / self.polynomial.LC))
        return self.ring.reciprocal(self.polynomial)

    def __pow__(self, exponent: int) -> Scalar:
        return self.ring.tidy(self.polynomial**exponent)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Value):
            return bool(self.polynomial == other.polynomial)
        return isinstance(other, int | float | Fraction) and bool(self.polynomial == self.ring.number(other))

    def __hash__(self) -> int:
        return hash(self.polynomial)

    def terms(self) -> Iterable[tuple[tuple[int, ...], Any]]:
        """Powers of the ring's generators, and the coefficient, of each monomial."""
        terms: Iterable[tuple[tuple[int, ...], Any]] = self.polynomial.terms()
        return terms

    def __repr__(self) -> str:
        return f"Value({self.polynomial})"
