"""Damaged URDF files: every one must load or be refused with a CatenaError, and quickly.

`python -m tests.model.readers.fuzz_urdf --count 10000` makes that many and reports the slowest; test_urdf_fuzz.py runs
a few hundred.
"""

from __future__ import annotations

import argparse
import collections
import time
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

import catena
from catena import robots

Random = np.random.Generator
NUMBERS = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "1e400",
    "",
    " ",
    "1,5",
    "0x1",
    "1_0",
    "${x}",
    "9" * 400,
]
VECTORS = ["0 0 0", "1 2", "1 2 3 4", "1e200 0 0", "1e308 1e308 1e308", "1e-200 0 0", "nan 0 0", "a b c", "0 0 -0"]
WORDS = ["", " ", "base", "world", "x" * 10_000, "é\u202e", "a/b:c", "revolute", "fixed", "floating", "planar", "screw"]
TAGS = ["link", "joint", "robot", "origin", "inertial", "mass", "inertia", "axis", "limit", "mimic", "parent", "x"]


def seeds() -> list[bytes]:
    """Sound files to damage: our own, and a few others where example-robot-data is installed."""
    found = [robots.path(name) for name in robots.names() if robots.path(name).suffix == ".urdf"]
    try:
        import pinocchio
    except ImportError:
        pass
    else:
        share = Path(pinocchio.__file__).parents[4] / "share" / "example-robot-data" / "robots"
        found += [file for file in sorted(share.rglob("*.urdf")) if 2_000 < file.stat().st_size < 30_000]
    return [file.read_bytes() for file in found]


def damage_bytes(data: bytes, rng: Random) -> bytes:
    """A few bytes flipped, cut, doubled, moved or replaced by noise."""
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(result) + 1)), int(rng.geometric(0.05))
        piece = result[at : at + length]
        what = rng.integers(6)
        if what == 0 and at < len(result):
            result[at] ^= 1 << int(rng.integers(8))
        elif what == 1:
            del result[at : at + length]
        elif what == 2:
            result[at:at] = rng.bytes(length)
        elif what == 3:
            result[at:at] = piece * int(rng.integers(1, 5))
        elif what == 4:
            del result[at : at + length]
            there = int(rng.integers(len(result) + 1))
            result[there:there] = piece
        elif what == 5 and rng.random() < 0.2:
            del result[at:]
    return bytes(result)


def damage_elements(data: bytes, rng: Random) -> bytes:
    """The same XML with elements dropped, doubled, renamed, moved, and attributes dropped or given odd values."""
    root = ET.fromstring(data)
    for _ in range(int(rng.integers(1, 6))):
        everything = list(root.iter())
        element, other = (everything[int(i)] for i in rng.integers(len(everything), size=2))
        child = element[int(rng.integers(len(element)))] if len(element) else None
        what = rng.integers(7)
        if what == 0 and child is not None:
            element.remove(child)
        elif what == 1 and child is not None:
            element.append(child)
        elif what == 2:
            element.tag = str(rng.choice(TAGS))
        elif what == 3 and child is not None and child is not other and other not in list(child.iter()):
            element.remove(child)
            other.append(child)
        elif what == 4 and element.attrib:
            del element.attrib[str(rng.choice(list(element.attrib)))]
        elif element.attrib:
            name = str(rng.choice(list(element.attrib)))
            mine = NUMBERS + VECTORS + WORDS + list(other.attrib.values())
            element.set(name, mine[int(rng.integers(len(mine)))])
    return ET.tostring(root, encoding=str(rng.choice(["utf-8", "utf-16", "latin-1"], p=[0.8, 0.1, 0.1])))


DAMAGES: tuple[Callable[[bytes, Random], bytes], ...] = (damage_bytes, damage_elements)


def damaged_files(count: int, seed: int) -> Iterator[bytes]:
    """`count` files, half damaged in their bytes, half in their elements."""
    rng, sound = np.random.default_rng(seed), seeds()
    for i in range(count):
        yield DAMAGES[i % 2](sound[int(rng.integers(len(sound)))], rng)


def outcome(data: bytes, base: str) -> str:
    """What becomes of a file: "loaded" or the name of the CatenaError. Any other exception escapes."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", catena.ModelWarning)
        try:
            robot = catena.load(data, base)  # type: ignore[arg-type]
        except catena.CatenaError as error:
            return type(error).__name__
    assert np.isfinite(robot.tree.mass).all()
    assert np.isfinite(robot.tree.inertia).all()
    assert np.isfinite(robot.tree.placement_rotation).all()
    return "loaded"


def main() -> None:
    """Damages and loads files; keeps the first that misbehaves."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    outcomes: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    for i, data in enumerate(damaged_files(arguments.count, arguments.seed)):
        start = time.perf_counter()
        try:
            outcomes[outcome(data, ("fixed", "floating")[i // 2 % 2])] += 1
        except BaseException:
            Path("misbehaves.urdf").write_bytes(data)
            raise
        slowest = max(slowest, time.perf_counter() - start)
    print(f"{arguments.count:,} files: {dict(outcomes)}; the slowest took {slowest:.3f} s")


if __name__ == "__main__":
    main()
