"""Damaged files of runs: every one must load, and then be of use, or be refused with a LoadError, and quickly.

`python -m tests.simulation.fuzz_runs --count 100000` makes that many; test_runs.py runs a few hundred.
"""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Iterator
from copy import deepcopy
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from tests.model.readers import fuzz

import catena
from catena.drawing.pictures import Stage
from catena.drawing.stage import samples_of
from catena.simulation.events import Event

VALUES: list[Any] = [
    *(None, True, 0, -1, 5, 1e308, float("nan"), float("inf"), 10**30, 10**400, "", "x", "\0", "\ud800", "/", "1"),
    *("../a.stl", "semi_implicit", "elbow", "forearm", "w" * 999, [], {}, ["a"], {"x": 1}, [0, 0, 0], [[1], [2, 3]]),
    *([[1, 0, 0], [0, 1, 0], [0, 0, 1]], [["a", 0.0, []]], {"x": ["elbow", 1.0, 0.0]}, [5.0, -5.0]),
]
ARM = """<mujoco><worldbody><body name="a"><joint name="hip"/><geom type="capsule" fromto="0 0 0 0 0 1" size=".1"/>
<body name="b" pos="0 0 1"><joint name="knee"/><geom type="box" size=".1 .1 .2" rgba="1 0 0 1"/></body></body>
</worldbody><actuator>
<motor name="m" joint="hip" gear="3" ctrlrange="-1 1"/><position name="p" joint="knee" kp="2"/></actuator>
</mujoco>"""


@cache
def seeds() -> list[dict[str, Any]]:
    """The arrays and notes of sound files: one of a robot with shapes, a batch, a system, and robots with
    mimic joints and with actuators, on which something acted."""
    arm = catena.load("two_link_arm")
    one = arm.rollout([0.3, 0.2], [0.0, 0.0], np.ones((4, 2)), 1e-3)
    many = arm.rollout(np.zeros((2, 2)), np.zeros((2, 2)), None, 1e-3, steps=3)
    bars = catena.System.load("gripper")
    still = np.broadcast_to(bars.neutral(), (3, bars.nq))
    none = np.array(-1)
    closed = catena.Run(bars, np.arange(3.0), still, np.zeros((3, bars.nv)), none, none)
    following, driven = (_at_rest(catena.load(model)) for model in ("gripper", ARM.encode()))
    found = []
    for run in (one, many, closed, following, driven):
        run.save(path := folder() / "sound.npz")
        with np.load(path) as file:
            arrays = dict(file)
        found.append({**arrays, "notes": json.loads(arrays["notes"].tobytes())})
    mesh = {"uri": "a.stl", "role": "visual", "directory": "/", "roots": ["/"], "scale": [1.0, 1.0, 1.0], "color": None}
    found[0]["notes"]["robot"]["meshes"]["forearm"].append(mesh)
    return found


def _at_rest(robot: catena.Robot) -> catena.Run:
    """Two samples of it, with all that a run may hold."""
    still = np.broadcast_to(robot.neutral(), (2, 3, robot.nq))
    return catena.Run(
        *(robot, np.arange(3.0), still, np.zeros((2, 3, robot.nv)), np.array([-1, 2]), np.array([-1, 0]), np.ones(2)),
        events=(Event("hit", 0.5, (1,)),),
        torques=np.zeros((2, 2, robot.nv)),
        memory={"friction": np.zeros((2, 4))},
        acting=np.ones((2, 2, robot.tree.n, 9)),
    )


@cache
def folder() -> Path:
    """Of this process."""
    return Path(tempfile.mkdtemp(prefix="catena-fuzz-"))


def case(seed: int, number: int) -> Path:
    """One damaged file: its notes, its arrays, or its bytes."""
    rng = np.random.default_rng([seed, number])
    sound = seeds()[int(rng.integers(len(seeds())))]
    arrays: dict[str, Any] = {name: x for name, x in sound.items() if name != "notes"}
    notes = json.dumps(sound["notes"])
    what = number % 8  # bytes of archives are seldom read beyond their checksums
    if what < 5:
        changed = json.loads(notes)
        for _ in range(int(rng.geometric(0.6))):
            _damage_words(changed, rng)
        notes = json.dumps(changed)
    elif what < 7:
        name = str(rng.choice(sorted(arrays)))
        arrays[name] = _damaged_array(arrays[name], rng)
    file = io.BytesIO()
    np.savez(file, notes=np.frombuffer(notes.encode(), np.uint8), **arrays)
    data = file.getvalue()
    path = folder() / "run.npz"
    path.write_bytes(fuzz.damage_bytes(data, rng) if what == 7 else data)
    return path


def _damage_words(notes: Any, rng: fuzz.Random) -> None:
    """Something in them is dropped, renamed or becomes something else."""
    places = [(parent, key) for parent, key in _places(notes) if key != "format" or rng.random() < 0.1]
    if not places:
        return
    few = [(parent, key) for parent, key in places if not isinstance(parent, list)]  # not numbers of matrices alone
    chosen = few if few and rng.random() < 0.6 else places
    notes, key = chosen[int(rng.integers(len(chosen)))]
    what = rng.integers(4)
    if what == 0:
        del notes[key]
    elif what == 1 and isinstance(notes, dict):
        notes["x"] = notes.pop(key)
    else:
        notes[key] = deepcopy(VALUES[int(rng.integers(len(VALUES)))])


def _places(words: Any) -> Iterator[tuple[Any, Any]]:
    """All that can be changed: what holds it, and under which name or number."""
    if isinstance(words, dict | list):
        for key in words if isinstance(words, dict) else range(len(words)):
            yield words, key
            yield from _places(words[key])


def _damaged_array(x: Any, rng: fuzz.Random) -> Any:
    """Of another shape, of another kind, or with odd numbers."""
    what = rng.integers(7)
    if what == 0:
        return x[..., None]
    if what == 1:
        return x[:-1] if x.ndim else x.reshape(1)
    if what == 2:
        return x.astype(
            str(rng.choice(["complex", "float32", "int8", "bool", "U5", "M8[s]", "V3", "float16", "uint64"]))
        )
    if what == 3:
        return np.zeros((0,) if rng.random() < 0.5 else ())
    if what == 4:
        return np.concatenate([x, x]) if x.ndim else x
    odd = np.array(x)
    with np.errstate(all="ignore"):
        odd.reshape(-1)[int(rng.integers(max(x.size, 1))) : None : 3] = np.array(
            rng.choice([np.nan, np.inf, -1.0, 1e308, 0.0, 7.0])
        ).astype(x.dtype)
    return odd


def judge(source: Path, number: int) -> str:
    """What becomes of it; one that loads is shown, asked about and, now and then, drawn and saved."""

    def use() -> None:
        run = catena.load_run(source)
        assert repr(run)
        assert np.shape(run.diverged) == run.q.shape[:-2]
        for some in run.robot.tree.meshes.values():
            assert all(str(source.parent) == shape.directory for shape in some if hasattr(shape, "uri"))
        if number % 10 < 5:
            run.resampled(run.t[-1:])
            assert repr((run.robot.actuators.columns(), run.tau, run.wrenches, run.events, run.robot.tree.mimic))
            run.save(folder() / "again.npz")
            Stage(run.robot, samples_of(run.robot, run.q[..., -1:, :]), (16, 16), (0, 0)).frame(0)

    with np.errstate(all="ignore"):
        return fuzz.judged(use)


if __name__ == "__main__":
    from tests.simulation import fuzz_runs  # what another process can find by name

    fuzz.main(fuzz_runs.case, __doc__, fuzz_runs.judge)
