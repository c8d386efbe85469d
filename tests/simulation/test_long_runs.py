"""What long simulations keep: energy, momentum, and the bits of runs that were killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import rollout_soak

import catena
from catena.simulation import parts

SWING = np.array([0.3, -0.8, 0.5, 1.2, -0.4, 0.7, 0.2])


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(catena.robots.path("seven_dof_arm"))


def drift(run: catena.Run) -> np.ndarray:
    """How far the energy is from that of the start, beside the peak kinetic energy, at each state."""
    energy = run.energy()
    found: np.ndarray = np.abs(energy - energy[0]) / run.robot.kinetic_energy(run.q, run.v).max()
    return found


@pytest.mark.long
def test_energy_over_a_minute_of_adaptive_steps(arm: catena.Robot) -> None:
    run = catena.simulate(arm, SWING, np.zeros(7), 60.0, 0.05, integrator="adaptive", tolerance=1e-12)
    assert drift(run).max() < 1e-10


@pytest.mark.long
def test_energy_over_a_million_variational_steps(arm: catena.Robot) -> None:
    run = catena.simulate(arm, SWING, np.zeros(7), 1000.0, 1e-3, integrator="variational", every=10)
    assert not run.diverged
    error = drift(run)
    tenth = len(error) // 10
    assert error.max() < 3e-3
    assert error[-tenth:].max() < 2 * error[:tenth].max()


@pytest.mark.long
def test_many_steps_on_one_and_two_threads_and_killed(capfd: pytest.CaptureFixture[str]) -> None:
    assert rollout_soak.main(["--steps", "1e8"]) == 0
    assert "killed with" in capfd.readouterr().out


def wave(t: Any, q: Any, v: Any) -> Any:
    return 0 * q + np.sin(20 * t) - 0.1 * v


def simulated(integrator: str, **more: Any) -> catena.Run:
    robot = catena.load(catena.robots.path("two_link_arm"))
    given = {"control": wave, "integrator": integrator, "events": {"low": lambda t, q, v: -q[..., 0]}, **more}
    return catena.simulate(robot, np.array([0.4, -0.3]), np.zeros(2), 1.0, 5e-3, **given)


MORTAL = """
import os, sys
from catena.simulation import checkpoints, parts
from {module} import simulated

write, count = checkpoints.Checkpoint.write, []

def mortal(self, *arguments):
    count.append(1)
    if len(count) == 3:
        os.kill(os.getpid(), 9)
    write(self, *arguments)

checkpoints.Checkpoint.write, checkpoints.PAUSE, parts.PACE = mortal, 0.0, 0.0
checkpoints.SHARE = float("inf")
simulated({integrator!r}, checkpoint={path!r})
"""


@pytest.mark.parametrize("integrator", ["rk4", "variational", "adaptive"])
@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="needs signals")
def test_a_simulation_that_was_killed_goes_on_bit_by_bit(integrator: str, tmp_path: Path) -> None:
    path = str(tmp_path / "run.npz")
    text = MORTAL.format(module="tests.simulation.test_long_runs", integrator=integrator, path=path)
    root = Path(__file__).parents[2]
    paths = os.pathsep.join([str(root), str(Path(catena.__file__).parents[1])])
    killed = subprocess.run([sys.executable, "-c", text], env={**os.environ, "PYTHONPATH": paths}, check=False)
    assert killed.returncode == -signal.SIGKILL
    half = catena.load_run(path)
    assert 1 < len(half.t) < 201
    whole, rest = simulated(integrator), simulated(integrator, checkpoint=path)
    the_same(rest, whole)
    the_same(simulated(integrator, checkpoint=path), whole)  # there is nothing left to do
    the_same(catena.load_run(path), whole)


def the_same(found: catena.Run, whole: catena.Run) -> None:
    for name in ("t", "q", "v", "diverged_step"):
        assert np.array_equal(getattr(found, name), getattr(whole, name))
    assert found.events == whole.events
    assert (found.integrator, found.how) == (whole.integrator, whole.how)


def test_an_interrupted_simulation_leaves_a_checkpoint(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    plain, calls, path = parts.run_of, list[int](), tmp_path / "run.npz"

    def interrupted(*arguments: Any) -> Any:
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return plain(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(parts, "run_of", interrupted)
        patch.setattr(parts, "PACE", 0.0)
        assert "interrupted" in simulated("rk4", checkpoint=path).how
    the_same(simulated("rk4", checkpoint=path), simulated("rk4"))


def test_a_run_that_was_stopped_stays_stopped(tmp_path: Path) -> None:
    stop = {"stop": lambda t, q, v: t >= 0.5, "checkpoint": tmp_path / "run.npz"}
    the_same(simulated("rk4", **stop), simulated("rk4", **stop))
    assert simulated("rk4", **stop).t[-1] == 0.5


def test_checkpoints_of_other_simulations_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    simulated("rk4", checkpoint=path)
    robot = catena.load(catena.robots.path("two_link_arm"))
    for change in ({"integrator": "midpoint"}, {"control": None}, {"every": 2}, {"bound": 50.0}, {"method": "udu"}):
        with pytest.raises(catena.LoadError, match="found one of another"):
            simulated(**{"integrator": "rk4", "checkpoint": path, **change})
    start = np.array([0.4, -0.3]), np.zeros(2)
    with pytest.raises(catena.LoadError, match=r"at most 0.5 s, found one that has come to 1 s"):
        catena.simulate(robot, *start, 0.5, 5e-3, control=wave, integrator="rk4", checkpoint=path)
    longer = catena.simulate(robot, *start, 1.5, 5e-3, control=wave, integrator="rk4", checkpoint=path)
    assert np.array_equal(longer.q, catena.simulate(robot, *start, 1.5, 5e-3, control=wave, integrator="rk4").q)
    simulated("rk4").save(path)
    with pytest.raises(catena.LoadError, match="found a run that was saved"):
        simulated("rk4", checkpoint=path)
    path.write_bytes(path.read_bytes()[:1000])
    with pytest.raises(catena.LoadError, match="cut off"):
        simulated("rk4", checkpoint=path)
