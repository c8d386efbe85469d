"""Damaged URDF files: every one must load or be refused with a CatenaError, and quickly.

`python -m tests.model.readers.fuzz_urdf --count 10000` makes that many and reports the slowest; test_urdf_fuzz.py runs
a few hundred.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

import numpy as np
from tests.model.readers import fuzz
from tests.model.readers.fuzz import NUMBERS, VECTORS, WORDS

from catena import robots

TAGS = ["link", "joint", "robot", "origin", "inertial", "mass", "inertia", "axis", "limit", "mimic", "parent", "x"]


@cache
def seeds() -> list[bytes]:
    """Sound files to damage: our own, and a few others where example-robot-data is installed."""
    found = [robots.path(name) for name in robots.names() if robots.path(name).suffix == ".urdf"]
    try:
        import pinocchio
    except ImportError:
        pass
    else:
        share = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
        found += [file for file in sorted(share.rglob("*.urdf")) if 2_000 < file.stat().st_size < 13_000]
    return [file.read_bytes() for file in found]


def case(seed: int, number: int) -> bytes:
    """One damaged file: in its bytes if its number is even, else in its elements."""
    rng = np.random.default_rng([seed, number])
    sound = seeds()[int(rng.integers(len(seeds())))]
    if number % 2 == 0:
        return fuzz.damage_bytes(sound, rng)
    return fuzz.damage_elements(sound, rng, TAGS, NUMBERS + VECTORS + WORDS, encodings=0.2)


if __name__ == "__main__":
    from tests.model.readers.fuzz_urdf import case as importable  # what another process can find by name

    fuzz.main(importable, __doc__)
