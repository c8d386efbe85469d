"""Decimal numbers read many at a time are those that Python's `float` reads, bit by bit, or are left to it."""

from __future__ import annotations

import random
from decimal import Decimal
from math import nextafter

import numpy as np
import pytest

from catena.model.readers.decimals import MARGIN, decimals

RANDOM = random.Random(5)
MANY = 4000


def spelled(form: str) -> list[str]:
    """Numbers as programs write them."""
    return [form % (RANDOM.gauss(0, 1) * 10 ** RANDOM.randrange(-9, 1)) for _ in range(MANY)]


def digits(count: int) -> str:
    return "".join(RANDOM.choices("0123456789", k=count))


def between_floats() -> list[str]:
    """Decimals halfway from one float64 to the next, cut off somewhere: the hardest to round."""
    found = []
    for _ in range(MANY):
        x = RANDOM.uniform(1e-4, 1e3)
        halfway = (Decimal(x) + Decimal(nextafter(x, 2 * x))) / 2
        found.append(format(halfway, "f")[: RANDOM.randrange(15, 27)])
    return found


def noise() -> list[str]:
    return ["".join(RANDOM.choices("01234567890123456789.-+eEx_", k=RANDOM.randrange(1, 9))) for _ in range(MANY)]


SPELLINGS = {
    "shortest": [repr(RANDOM.uniform(-1, 1)) for _ in range(MANY)],
    "fixed": spelled("%.6f"),
    "general": spelled("%.6g"),
    "scientific": spelled("%.14E"),
    "integers": [str(RANDOM.randrange(-(10**8) + 1, 10**8)) for _ in range(MANY)],
}
HARD = {
    "digits": [f"{digits(RANDOM.randrange(10))}.{digits(RANDOM.randrange(27))}" for _ in range(MANY)],
    "halfway": between_floats(),
    "noise": noise(),
    "odd": [
        *("1e", "e5", "-", "+", ".", ".5", "5.", "-.e1", "1e-5", "1e5.5", "1.2.3", "--1", "1e--5", "1e+", "inf", "nan"),
        *("e", "1_0", "0x1", "1e0005", "٣", "-0", "-0.0", "1e-400", "1e308"),
    ],
}


def read(words: list[str]) -> list[float | None]:
    """What is found for each of the words; None where it is left to others."""
    text = np.frombuffer((" " * MARGIN + " ".join(words) + " ").encode(), dtype=np.uint8)
    found, _, odd = decimals(text)
    assert len(found) == len(words)
    return [None if left else x for x, left in zip(found.tolist(), odd.tolist(), strict=True)]


@pytest.mark.parametrize("name", SPELLINGS)
def test_usual_spellings_are_read_as_python_reads_them(name: str) -> None:
    words = SPELLINGS[name]
    assert [x if x is None else x.hex() for x in read(words)] == [float(word).hex() for word in words]


@pytest.mark.parametrize("name", HARD)
def test_others_are_read_so_too_or_not_at_all(name: str) -> None:
    for word, found in zip(HARD[name], read(HARD[name]), strict=True):
        if found is not None:
            assert found.hex() == float(word).hex(), word


def test_no_numbers() -> None:
    found, start, odd = decimals(np.full(MARGIN + 1, 32, dtype=np.uint8))
    assert len(found) == len(start) == len(odd) == 0
