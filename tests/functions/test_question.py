"""How questions are answered where machine code may not call Python: all in Python, and the same."""

from __future__ import annotations

import io
import subprocess
import sys

import pytest
from rich.console import Console

import catena
from catena.cli import info
from catena.kernels.call import layout

GIL = pytest.mark.skipif(hasattr(sys, "_is_gil_enabled") and not sys._is_gil_enabled(), reason="no GIL")

CODE = """
import numpy as np
from catena.kernels.call import layout
def unfamiliar():
    raise layout.UnfamiliarError("this is a test")
if {without}:
    layout.python_api.cache_clear()
    layout._require_familiar_interpreter = unfamiliar
import catena
robot = catena.load(catena.robots.path("quadruped"), base="floating")
rng = np.random.default_rng(0)
q = robot.random_configuration(rng)
v, a = rng.standard_normal((2, robot.nv))
M = robot.mass_matrix(q)
for x in (
    robot.forward_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), robot.bias(q, v), robot.kinetic_energy(q, v),
    robot.forward_dynamics(q, v, a, method="udu"), robot.forward_dynamics(q, v, a, {{"trunk": np.ones(6)}}),
    robot.integrate(q, v), robot.difference(q, q), robot.normalize(q), robot.gravity_torque(q),
    robot.jacobian(q, "trunk"), robot.jacobian(q, ["trunk", "trunk"], frame="mixed"), M.solve(a), M.times(a),
    M.logdet(), M.diagonal(), M.factors().U @ a, *robot.placements(q),
):
    print(np.asarray(x).tobytes().hex())
for _ in range(3):  # from the second time on, calls with arrays alone go a quicker way
    for x in (
        robot.forward_dynamics(q, v, a), robot.forward_dynamics(q, v=v, tau=a, method="udu"), robot.bias(q, v),
        robot.kinetic_energy(q, v), robot.jacobian(q, "trunk"), *robot.placements(q), *robot.step(q, v, a, 0.001),
        robot.forward_dynamics(q, v, a, dtype=np.float32), robot.gravity_torque(q.astype(np.float32)),
        robot.forward_dynamics(np.stack([q, q])[::2][0], v[::-1], np.arange(robot.nv)), robot.bias(np.stack([q, q]), v),
        robot.forward_dynamics(q.tolist(), list(v), tuple(a)), *robot.placements(np.stack([[q, q]])),
        robot.forward_dynamics(np.stack([[q], [q]]), v, np.stack([a, -a, 2 * a])), robot.bias(q, v, out=0 * v),
        robot.kinetic_energy(q, v, out=np.empty(())), robot.bias(np.stack([[q] * 200] * 2), np.stack([[v] * 200] * 2)),
        robot.forward_dynamics(np.stack([[q], [q]]), v, a, {{"trunk": [np.ones(6)], 1: np.arange(6)}}),
        robot.forward_dynamics(np.stack([[q], [q]]), v, a, {{"trunk": np.ones(6), 1: np.arange(6)}}),
        robot.forward_dynamics(np.stack([q] * 5), v, a, {{"trunk": np.ones(6), 1: np.arange(6)}}),
        robot.forward_dynamics(q, v, over := a.copy(), out=over), robot.bias(q, v, out=np.empty((robot.nv, 2))[:, 1]),
        robot.bias(q, v, out=np.empty((2, 3, robot.nv))[::-1, :, ::-1][0, 0]),
        robot.forward_dynamics(np.stack([[q, q]]), v, over := np.stack([[a, -a]]), out=over),
        robot.forward_dynamics(np.stack([[q, q]]), over := np.stack([[v, -v]]), over, out=over),
    ):
        print(type(x).__name__, x.dtype, np.asarray(x).tobytes().hex())
    for wrong in (q[1:], q.astype(complex), "x", None, np.full(robot.nq, np.nan)):
        try:
            print(robot.forward_dynamics(wrong, v, a))
        except catena.CatenaError as error:
            print(error)
    try:
        robot.step(q, v, a, -0.001)
    except catena.CatenaError as error:
        print(error)
"""


@GIL
def test_python_alone_gives_the_same_bits() -> None:
    runs = [[sys.executable, "-W", "error", "-c", CODE.format(without=without)] for without in (False, True)]
    found = [subprocess.run(run, capture_output=True, text=True, timeout=300) for run in runs]
    assert [run.returncode for run in found] == [0, 1]
    assert "SpeedWarning: every call takes some microseconds more than it could" in found[1].stderr
    assert "this is a test" in found[1].stderr
    runs[1][2] = "always::catena.SpeedWarning"
    found[1] = subprocess.run(runs[1], capture_output=True, text=True, timeout=300, check=True)
    assert found[1].stderr.count("SpeedWarning") == 1
    assert found[0].stdout == found[1].stdout
    assert len(found[0].stdout.split()) > 100


QUICKLY = """
import warnings
import numpy as np
from catena.kernels.call import layout
def unfamiliar():
    raise layout.UnfamiliarError("this is a test")
if {without}:
    layout._require_familiar_interpreter = unfamiliar
import catena
from catena.functions import question
asked, general = [], question.Declared.answer
def counted(self, *args):
    asked.append(self.name)
    return general(self, *args)
question.Declared.answer = counted
warnings.simplefilter("ignore")
robot, x, out, whole = catena.load("two_link_arm"), np.ones(2), np.ones(2), np.ones((3, 4, 2))
large, wrench = np.ones((40, 50, 2)), np.ones((4, 6))
for i in range(4):
    print(*set(asked))
    asked.clear()
    robot.forward_dynamics(x, x, x), robot.bias(x, v=x), robot.step(x, x, x, 0.001)
    robot.forward_dynamics([1, 2], x, x)
    robot.forward_dynamics(x, x, x, out=out), robot.forward_dynamics(out, x, x, out=out)
    robot.forward_dynamics(whole, whole, whole), robot.forward_dynamics(whole, whole, whole, out=whole)
    robot.forward_dynamics(whole[:, :1], x, whole[0].T.copy().T), robot.bias(large, large)
    robot.forward_dynamics(x, x, x, {{robot.links[1].name: wrench[0]}})
    robot.forward_dynamics(whole, x, x, {{robot.links[1].name: wrench}})
    robot.forward_dynamics(whole, x, x, {{robot.links[1].name: wrench[0]}})
    robot.forward_dynamics(x, x, x, out=whole[0].T[:, 0]), robot.forward_dynamics(whole, x, x, out=whole[:, ::-1])
print(*set(asked))
"""


@GIL
def test_every_supported_python_is_answered_by_machine_code() -> None:
    """Tests of the emitted call are skipped where it is off: this one is not."""
    assert layout.why_python_answers() is None


@pytest.mark.parametrize("without", [False, True])
def test_calls_go_the_general_way_once(without: bool) -> None:
    code = QUICKLY.format(without=without)
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert sorted(run.stdout.split()) == ["bias", "forward_dynamics", "step"]


FREE_THREADED = """
import sys
import warnings
sys._is_gil_enabled = lambda: False
import catena
from catena.cli import info
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    robots = [catena.load("two_link_arm") for _ in range(3)]
    found = [robot.bias([0.1, 0.2], [1.0, 2.0]).tolist() for robot in robots]
print([w.category.__name__ for w in caught], "free-threaded" in str(caught[0].message), found == found[:1] * 3)
print("free-threaded" in info.as_dictionary(robots[0])["answered_by_python"])
"""


def test_free_threaded_builds_say_once_that_python_answers() -> None:
    run = [sys.executable, "-c", FREE_THREADED]
    found = subprocess.run(run, capture_output=True, text=True, timeout=300, check=True)
    assert found.stdout.splitlines() == ["['SpeedWarning'] True True", "True"]


@GIL
def test_info_says_that_python_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    robot = catena.load("two_link_arm")
    assert info.as_dictionary(robot)["answered_by_python"] is None
    monkeypatch.setattr(layout, "_addresses", _unfamiliar)
    layout.python_api.cache_clear()
    try:
        assert info.as_dictionary(robot)["answered_by_python"] == "this is a test"
        console = Console(file=io.StringIO(), width=200)
        info.show(robot, console, 60)
        assert "calls are answered by Python, not by machine code at once: this is a test" in console.file.getvalue()
    finally:
        monkeypatch.undo()
        layout.python_api.cache_clear()


def _unfamiliar() -> dict[str, int]:
    raise layout.UnfamiliarError("this is a test")
