"""Machine code is there as long as anybody can call it: in finalizers, callbacks, cycles, threads, at exit."""

from __future__ import annotations

import gc
import os
import subprocess
import sys

import pytest

from catena.kernels.machine import compile as machine
from catena.kernels.machine.compile import load, object_code

IN_A_FINALIZER = """
import gc
import numpy as np
import catena

class Holder:
    def __init__(self, robot, batch):
        self.robot, self.itself = robot, self
        self.given = [np.full((*batch, n), 0.1) for n in (robot.nq, robot.nv, robot.nv)]
        self.expected = self.answers()

    def answers(self):
        q, v, tau = self.given
        M = self.robot.mass_matrix(q)
        return [self.robot.forward_dynamics(q, v, tau), M.solve(tau), M.times(v, out=np.empty(v.shape))]

    def __del__(self):
        same = zip(self.answers(), self.expected, strict=True)
        print("same" if all(np.array_equal(x, y) for x, y in same) else "different", flush=True)

def dropped(links, batch):
    Holder(catena.random_tree(links, links), batch)
    gc.collect()

"""


def run(code: str, **environment: str) -> str:
    """What a program prints; it must end well."""
    ended = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", IN_A_FINALIZER + code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, **environment},
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    return ended.stdout


@pytest.mark.parametrize("links", [5, 70], ids=["unrolled", "rolled"])
@pytest.mark.parametrize("allocator", ["", "malloc"])
def test_a_finalizer_that_the_collector_runs_may_ask_a_robot(links, allocator):
    code = f"for batch in ((), (5,), (5000,)):\n    dropped({links}, batch)"
    assert run(code, PYTHONMALLOC=allocator, MALLOC_PERTURB_="2").split() == ["same"] * 3


def test_a_finalizer_of_what_is_younger_than_the_code_may_ask_a_robot():
    """The collector finalizes the oldest first: nothing of the code itself may be among them."""
    code = """
def younger():
    robot = catena.rod_chain(5)
    Holder.answers(type("", (), {"robot": robot, "given": [np.full(5, 0.1)] * 3}))
    gc.collect()
    Holder(robot, ())

younger()
gc.collect()
"""
    assert run(code, PYTHONMALLOC="malloc", MALLOC_PERTURB_="2").split() == ["same"]


def test_a_finalizer_that_runs_at_exit_may_ask_a_robot():
    code = "kept = Holder(catena.random_tree(6, 6), (3,))\nkept.itself = None"
    assert run(code).split() == ["same"]


def test_callbacks_of_weak_references_may_ask_a_robot_that_goes_with_them():
    code = """
import weakref
class Thing: pass
robot, thing = catena.random_tree(5, 5), Thing()
q = np.zeros(robot.nq)
robot.placements(q)
thing.itself = thing
called = []
reference = weakref.ref(thing, lambda _, robot=robot: print("same" if len(robot.placements(q)) else "", flush=True))
del robot, thing
gc.collect()
"""
    assert run(code).split() == ["same"]


IDENTITY = "define dso_local double @f(double %x) nounwind { ret double %x }"


def test_code_in_a_cycle_is_freed():
    gc.collect()
    module = load(object_code(IDENTITY))
    assert not gc.is_tracked(module._claim)
    before = len(machine._engines)
    cycle = [module]
    cycle.append(cycle)
    del module, cycle
    gc.collect()
    assert len(machine._engines) == before - 1


def test_code_is_freed_later_where_llvm_is_busy(monkeypatch):
    module = load(object_code(IDENTITY))
    number = module._number

    class Busy:
        def acquire(self, blocking=True):
            return False

    with monkeypatch.context() as patch:
        patch.setattr(machine, "_lock", Busy())
        del module
    assert number in machine._engines
    load(object_code(IDENTITY))
    assert number not in machine._engines


def test_a_robot_that_was_asked_is_freed_with_its_last_name():
    """Nothing that was made for it holds it in a circle, which only the collector would find."""
    code = """
import weakref
gc.disable()
robot = catena.random_tree(5, 5)
q, v = robot.neutral(), np.zeros(robot.nv)
robot.forward_dynamics(q, v, v)
robot.inverse_mass_matrix(q)
reference = weakref.ref(robot._compiled)
del robot
print("same" if reference() is None else "held", flush=True)
"""
    assert run(code).split() == ["same"]


def test_runs_systems_and_matrices_in_cycles_may_be_asked():
    code = """
class Kept:
    def __init__(self, thing, ask):
        self.thing, self.ask, self.itself = thing, ask, self
        self.expected = ask(thing)

    def __del__(self):
        print("same" if np.array_equal(self.ask(self.thing), self.expected) else "different", flush=True)

def drop(robot):
    zero = np.zeros(3)
    Kept(catena.System([robot]), lambda system: system.forward_dynamics(zero, zero, zero)[0])
    Kept(robot.rollout(zero, zero, np.ones((4, 3)), 1e-3), lambda run: [*run.energy(), *run.momentum()[:, 0]])
    Kept(robot.mass_matrix(zero), lambda M: M.factors()[0].solve(M.solve(np.ones(3))))

drop(catena.rod_chain(3))
gc.collect()
"""
    assert run(code, PYTHONMALLOC="malloc", MALLOC_PERTURB_="2").split() == ["same"] * 3


def test_copies_of_factors_leave_the_code_to_those_who_still_have_it():
    """Copies went with the engine of the original, whose next product was the end of the process."""
    code = """
import copy, pickle
factors = catena.rod_chain(4).mass_matrix(np.ones(4)).factors()
factors = [*factors, factors.U.T]
expected = [factor.times(np.ones(4)) for factor in factors]
for copied in (copy.copy, copy.deepcopy, lambda f: pickle.loads(pickle.dumps(f))):
    for whose in (copied(factors), factors):
        print(all(np.array_equal(factor.times(np.ones(4)), y) for factor, y in zip(whose, expected, strict=True)))
    del whose
    gc.collect()
"""
    assert run(code).split() == ["True"] * 6
