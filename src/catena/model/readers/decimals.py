"""Many decimal numbers at a time, from text to float64, each rounded as Python's `float` rounds it.

Digits are read eight at a time, as words of 64 bits (Lemire, "Number parsing at a gigabyte per second", 2021, section
4). A number is then an integer m below 2⁶³ over a power of ten. Their quotient is found with twice the digits of a
float64, by Dekker's products, and rounded twice: from a little above it and from a little below. Where both agree, that
is the nearest float64. Where they do not, or a number is not written as plainly as most are, it is left to others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

MARGIN = 32  # blanks that a text begins with, so that words may begin before its first number
_MOST_DIGITS = 24  # after the point; before it, 8
_MOST_ZEROS = 60  # of the power of ten
_BELOW = 9e18  # the integer m
_BLANK, _PLUS, _MINUS, _POINT, _E = b" +-.e"
_LITTLE = 2.0**-95  # more than the quotient is wrong by, of its size

_KEEP = np.array([(2**64 - 1) << 8 * (8 - n) & 2**64 - 1 for n in range(9)], dtype=np.uint64)  # a word's last n bytes
_TENS = np.array([10**n for n in range(19)], dtype=np.int64)
_HIGH = np.array([float(10**n) for n in range(_MOST_ZEROS + 1)])
_LOW = np.array([float(10**n - int(float(10**n))) for n in range(_MOST_ZEROS + 1)])
_HALVING = 2.0**27 + 1.0


def decimals(text: Array) -> tuple[Array, Array, Array]:
    """The numbers in a text, where each begins, and which of them could not be read.

    `text` holds bytes, begins with MARGIN blanks and ends with one; numbers lie between blanks, by which all bytes up
    to 32 are meant. Cost: about 50 ns for a number of 17 digits.
    """
    blank = text <= _BLANK
    edges = np.flatnonzero(blank[1:] != blank[:-1]) + 1
    begin, end = edges[::2], edges[1::2]
    first = text[begin]
    negative = first == _MINUS
    start = begin + (negative | (first == _PLUS))
    exponent, end, odd = _exponents(text, start, end)
    point = _points(text, start, end, odd)
    after = np.maximum(end - point - 1, 0)
    before = point - start
    odd |= (before + after < 1) | (before > 8) | (after > _MOST_DIGITS)
    whole = _digits(text, point, before, odd)
    fraction = _digits(text, end, after, odd)
    for place in (8, 16):
        if len(after) and int(after.max()) > place:
            more = _digits(text, end - place, after - place, odd)
            odd |= more > (10**8 if place == 8 else 900)
            fraction += more * _TENS[place]
    scale = _TENS[np.minimum(after, 18)]
    odd |= (whole * scale.astype(float) + fraction > _BELOW) | ((after > 18) & (whole > 0))
    zeros = after - exponent
    odd |= (zeros < 0) | (zeros > _MOST_ZEROS)
    size, rounded = _quotients(whole * scale + fraction, np.clip(zeros, 0, _MOST_ZEROS))
    return np.where(negative, -size, size), begin, odd | ~rounded


def _exponents(text: Array, start: Array, end: Array) -> tuple[Array, Array, Array]:
    """The exponents, where the digits before them end, and which numbers are odd: with more than one."""
    exponent, odd = np.zeros(len(start), dtype=np.int64), np.zeros(len(start), dtype=bool)
    letter = np.flatnonzero((text | 32) == _E)
    if not len(letter):
        return exponent, end, odd
    which = np.searchsorted(start, letter, side="right") - 1
    odd[which[1:][np.diff(which) == 0]] = True
    odd |= len(letter) > 0 and which[0] < 0
    sign = text[letter + 1]
    behind = letter + 1 + ((sign == _MINUS) | (sign == _PLUS))
    wrong = (end[which] <= behind) | (end[which] - behind > 4)
    size = _digits(text, end[which], end[which] - behind, wrong)
    exponent[which] = np.where(sign == _MINUS, -size, size)
    odd[which] |= wrong
    shorter = end.copy()
    shorter[which] = letter
    return exponent, shorter, odd


def _points(text: Array, start: Array, end: Array, odd: Array) -> Array:
    """Where the decimal points are, or the ends of the numbers that have none; those with two become odd."""
    point = np.flatnonzero(text == _POINT)
    if len(point) == len(start) and ((start <= point) & (point < end)).all():
        return point
    which = np.searchsorted(start, point, side="right") - 1
    found = end.copy()
    found[which] = point
    odd[which[1:][np.diff(which) == 0]] = True
    odd |= (found > end) | (found < start)
    return np.asarray(np.clip(found, start, end))


def _digits(text: Array, end: Array, count: Array, odd: Array) -> Array:
    """The integers that the last digits before `end` are, up to 8 of them; `odd` becomes what has something else."""
    words = np.ndarray(len(text) - 7, dtype="<u8", buffer=text.data, strides=(1,))
    upper: Array = words[end - 8]  # in place, as long as it can be: new memory costs more than the sums
    upper ^= np.uint64(0x3030303030303030)
    upper &= _KEEP[np.clip(count, 0, 8)]
    lower = upper + np.uint64(0x7676767676767676)
    lower |= upper
    lower &= np.uint64(0x8080808080808080)
    odd |= lower != 0
    np.right_shift(upper, np.uint64(8), out=lower)
    upper *= np.uint64(10)
    upper += lower  # pairs of digits
    np.right_shift(upper, np.uint64(16), out=lower)
    for half, factor in ((upper, 0x000F424000000064), (lower, 0x0000271000000001)):
        half &= np.uint64(0x000000FF000000FF)
        half *= np.uint64(factor)
    upper += lower
    upper >>= np.uint64(32)
    return np.asarray(upper.view(np.int64))


def _quotients(m: Array, zeros: Array) -> tuple[Array, Array]:
    """m / 10^zeros to the nearest, and where that is certain. m is less than 2⁶³."""
    most = m.astype(float)
    rest = (m - most.astype(np.int64)).astype(float)
    ten, ten_rest = _HIGH[zeros], _LOW[zeros]
    quotient = most / ten
    product, error = _product(quotient, ten)
    correction = ((most - product) - error + rest - quotient * ten_rest) / ten
    little = quotient * _LITTLE
    size = quotient + (correction + little)
    return size, size == quotient + (correction - little)


def _product(a: Array, b: Array) -> tuple[Array, Array]:
    """a b, and by how much it is less than the exact product (Dekker, 1971)."""
    product = a * b
    (a_high, a_low), (b_high, b_low) = _halves(a), _halves(b)
    return product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low


def _halves(a: Array) -> tuple[Array, Array]:
    wide = a * _HALVING
    high = wide - (wide - a)
    return high, a - high
