"""Damaged systems in TOML: every one must load or be refused with a LoadError, and quickly.

`python -m tests.model.readers.fuzz_systems --count 100000` makes that many; test_system_toml.py runs a few hundred.
"""

from __future__ import annotations

import numpy as np
from tests.model.readers import fuzz

import catena

SEEDS = [
    b"""name = "two"
gravity = [0, 0, -9.81]
mimic = "coupled"
[robots.left]
model = "two_link_arm"
position = [-0.5, 0, 0]
rotation = [0, 0, 1.57]
[robots.right]
model = "two_link_arm"
base = "fixed"
[objects.box]
mass = 3.0
com = [0, 0, 0.1]
inertia = [0.03, 0.04, 0.05]
[[constraints]]
kind = "Weld"
first = "left/tool"
second = "box"
[[constraints]]
kind = "Distance"
first = "right/tool"
second = "box"
distance = 0.3
""",
    b"""[objects.a]
mass = 1
inertia = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]
[objects.b]
mass = 2.5
inertia = [1, 1, 1]
[[constraints]]
kind = "Hinge"
first = "a"
second = "b"
position = [0, 0, 1]
axis = [0, 1, 0]
name = "h"
[[constraints]]
kind = "PointOnPlane"
first = "b"
second = "a"
[[constraints]]
kind = "FixedToWorld"
frame = "a"
""",
]
WORDS = [
    *("", "x", "left", "box", "world", "two_link_arm", "../../etc/passwd", "\\u0000", "Ball", "Coupling", "Slider"),
    *("Universal", "SoftFinger", "PointWithFriction", "FrictionlessPoint"),
]
VALUES = [
    *("0", "-1", "1e308", "nan", "-inf", "1e400", "true", "[]", "{}", "[0, 0, 0]", "[1e308, 1e308, 0]", "9" * 400),
    *("[nan, 0, 0]", "['a', 'b', 'c']", "[[1], [2, 3]]", "1979-05-27T07:32:00Z", "{a = 1}", "[[[[1]]]]", "0x10", "1_0"),
    *("[true]", *(f'"{word}"' for word in WORDS)),
]
KEYS = ["name", "gravity", "mimic", "mass", "com", "inertia", "model", "file", "base", "position", "rotation", "kind"]
KEYS += ["first", "second", "frame", "distance", "axis", "normal", "second_position", "second_rotation", "ratio", "x.y"]


def case(seed: int, number: int) -> bytes:
    """One damaged file: in its bytes if its number is even, else in its lines."""
    rng = np.random.default_rng([seed, number])
    sound = SEEDS[int(rng.integers(len(SEEDS)))]
    return fuzz.damage_bytes(sound, rng) if number % 2 == 0 else _damaged_lines(sound, rng)


def _damaged_lines(data: bytes, rng: fuzz.Random) -> bytes:
    """Lines dropped, moved, and given odd keys and values."""
    lines = data.decode().splitlines()
    for _ in range(int(rng.geometric(0.4))):
        at = int(rng.integers(len(lines)))
        key, separator, _ = lines[at].partition(" = ")
        what = rng.integers(5)
        if what == 0:
            del lines[at]
            lines = lines or ["a = 1"]
        elif what == 1:
            lines.insert(int(rng.integers(len(lines))), lines[at])
        elif what == 2:
            lines.insert(at, f"{rng.choice(KEYS)} = {rng.choice(VALUES)}")
        elif separator:
            lines[at] = f"{key} = {rng.choice(VALUES)}"
    return "\n".join(lines).encode() + b"\n"


def judge(source: bytes, number: int) -> str:
    """What becomes of it."""
    return fuzz.judged(lambda: catena.System.load(source))


if __name__ == "__main__":
    from tests.model.readers import fuzz_systems  # what another process can find by name

    fuzz.main(fuzz_systems.case, __doc__, fuzz_systems.judge)
