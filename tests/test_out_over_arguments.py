"""`out` may be any of the arguments, or overlap one: results are those that new arrays get."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests import asking
from tests.closed_systems import closed_model, state

import catena
from catena.errors import ShapeError
from catena.kernels.call.words import Role
from catena.mass_matrix.formulation import METHODS

LOSSES = {"damping": 0.3, "friction": 0.2}


def _walker() -> catena.Robot:
    """Two links on a floating base: seven coordinates of a free joint, friction and damping on others."""
    inertia = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}
    builder = catena.Builder("walker").link("root", **inertia).link("leg", **inertia).link("foot", **inertia)
    builder.revolute("hip", "root", "leg", axis="y", position=(0, 0, -0.1), **LOSSES)
    builder.prismatic("knee", "leg", "foot", axis="z", position=(0, 0.1, -0.4), **LOSSES)
    return builder.build(base="floating")


ROBOTS = {"walker": _walker(), "rods": catena.rod_chain(3, 1.0, 1.0)}
BATCHES = [(), (3,), (40,)]
DTYPES = [np.float64, np.float32]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "forward_dynamics": [{}, {"joint_losses": True}, {"method": "fixman"}, {"method": "udu"}],
    "inverse_dynamics": [{}, {"joint_losses": True}],
    "link_velocities": [{"frame": "mixed"}],
}


def overlapping(arguments: dict[str, Any], shape: tuple[int, ...], dtype: Any) -> Any:
    """Pairs of arguments and an array of that shape which lies over one of them: all of it, its start or its end."""
    size = int(np.prod(shape))
    for name, value in arguments.items():
        if not isinstance(value, np.ndarray):
            continue
        for start in {0, 1, max(0, value.size - size), max(0, value.size - 1)}:
            memory = np.zeros(max(start + size, value.size) + 1, dtype)
            moved = memory[: value.size].reshape(value.shape)
            moved[...] = value
            yield name, arguments | {name: moved}, memory[start : start + size].reshape(shape)


def check(ask: Any, arguments: dict[str, Any], expected: list[np.ndarray], dtype: Any) -> None:
    """Ask with `out` over each argument in turn, for one result after another."""
    for i, wanted in enumerate(expected):
        for name, given, out in overlapping(arguments, wanted.shape, dtype):
            outs = tuple(out if i == j else None for j in range(len(expected)))
            found = asking.results(ask(**given, out=outs if len(outs) > 1 else out))
            np.testing.assert_array_equal(out, wanted, err_msg=f"out for result {i} over {name}")
            for x, y in zip(found, expected, strict=True):
                np.testing.assert_array_equal(x, y, err_msg=f"beside out for result {i} over {name}")


@pytest.mark.parametrize("dtype", DTYPES, ids=["float64", "float32"])
@pytest.mark.parametrize("batch", BATCHES, ids=["one", "few", "many"])
@pytest.mark.parametrize("name", asking.ROBOT)
def test_over_each_argument_of_a_robot(name, batch, dtype, rng):
    for robot in ROBOTS.values():
        if name in asking.NEED_SIX and robot.nv < 6:
            continue
        for options in OPTIONS.get(name, [{}]):
            given = asking.arguments(robot, asking.ROBOT[name], rng, batch)
            given = {k: x.astype(dtype) if isinstance(x, np.ndarray) else x for k, x in given.items()}
            if name != "bias":  # one question with parameters stands for all: they are an array as others are
                given = {k: x for k, x in given.items() if k not in ("parameters", "dparameters")}

            def ask(robot: Any = robot, options: Any = options, **arguments: Any) -> Any:
                return getattr(robot, name)(**arguments, **options, dtype=dtype)

            check(ask, given, asking.results(ask(**given)), dtype)
            if "f_ext" in given and not options:
                mapped = given | {"f_ext": {-1 % robot.tree.n: given["f_ext"][..., -1, :].copy()}}
                check(ask, mapped, asking.results(ask(**mapped)), dtype)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("batch", BATCHES[:2], ids=["one", "few"])
@pytest.mark.parametrize("method", METHODS)
def test_over_each_argument_of_a_mass_matrix(method, batch, kernel, rng):
    for robot in ROBOTS.values():
        for dtype in DTYPES:
            M = robot.mass_matrix(robot.random_configuration(rng, batch), method, dtype=dtype, kernel=kernel)
            for name, declared in asking.MASS_MATRIX.items():
                if "out" not in declared.names:
                    continue
                ask = getattr(M, name)
                given = {k: x.astype(dtype) for k, x in asking.arguments(robot, declared, rng, batch).items()}
                before = asking.results(ask(**given))
                check(ask, given, before, dtype)
                for x in before:  # its own arrays must not be writable through results, nor change
                    ask(**given, out=x)
                for x, y in zip(asking.results(ask(**given)), before, strict=True):
                    np.testing.assert_array_equal(x, y)
            if method != "dense":
                for factor in M.factors():
                    for name, declared in asking.FACTORS.items():
                        ask = getattr(factor, name)
                        given = {k: x.astype(dtype) for k, x in asking.arguments(robot, declared, rng, batch).items()}
                        check(ask, given, asking.results(ask(**given)), dtype)


@pytest.mark.parametrize("batch", BATCHES, ids=["one", "few", "many"])
@pytest.mark.parametrize("name", asking.ROBOT)
def test_several_that_overlap_each_other_are_refused(name, batch, rng):
    robot, declared = ROBOTS["walker"], asking.ROBOT[name]
    given = asking.arguments(robot, declared, rng, batch)
    expected = asking.results(getattr(robot, name)(**given))
    if len(expected) == 1:
        assert asking.takes(declared, Role.OUT) == ["out"]
        return
    sizes = [x.size for x in expected]
    memory = np.zeros(2 * max(sizes))
    for i in range(len(expected)):
        for j in range(i):
            outs: list[Any] = [None] * len(expected)
            outs[i], outs[j] = (
                memory[k : k + sizes[n]].reshape(expected[n].shape) for n, k in ((i, 0), (j, sizes[i] - 1))
            )
            for _ in range(2):
                with pytest.raises(ShapeError, match="overlap"):
                    getattr(robot, name)(**given, out=tuple(outs))
            outs[j] = memory[sizes[i] : sizes[i] + sizes[j]].reshape(expected[j].shape)  # beside each other is fine
            getattr(robot, name)(**given, out=tuple(outs))
            for n in (i, j):
                np.testing.assert_array_equal(outs[n], expected[n])


@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "few"])
def test_over_each_argument_of_a_system(batch, rng):
    """Questions, steps and rollouts of a closed mechanism."""
    system = closed_model("four_bar")
    q, v, tau = (np.tile(x, (*batch, 1)) for x in state(system, rng))
    f_ext = rng.uniform(-1, 1, (*batch, system.tree.n, 6))

    def rollout(out: Any = (None, None), **given: Any) -> Any:
        outs = [np.empty((*batch, 6, system.nv)) if x is None else x for x in out]
        run = system.rollout(**given, dt=1e-3, out=tuple(outs))
        return run.q, run.v

    def step(**given: Any) -> Any:
        return system.step(**given, dt=1e-3)

    moved = {"q": q, "v": v, "tau": tau, "f_ext": f_ext}
    steered = {"q": q, "v": v, "tau": rng.uniform(-1, 1, (*batch, 5, system.nv))}
    for ask, given in ((system.forward_dynamics, moved), (step, moved), (rollout, steered)):
        check(ask, given, [np.array(x) for x in asking.results(ask(**given))], np.float64)


def test_arrays_whose_elements_lie_over_each_other_are_refused(rng):
    """Not those that are only strided, turned round, or interlaced with others."""
    robot = ROBOTS["rods"]
    q, v, tau = rng.standard_normal((3, 4, robot.nv))
    expected = robot.forward_dynamics(q, v, tau)
    for strides in ((0, 8), (24, 0), (0, 0), (8, 8), (-8, 8)):
        out = np.lib.stride_tricks.as_strided(np.zeros(100)[50:], expected.shape, strides)
        with pytest.raises(ShapeError, match="out has elements that share their memory"):
            robot.forward_dynamics(q, v, tau, out=out)
    wide = np.zeros((8, 2 * robot.nv))
    for out in (wide[:4, : robot.nv], wide[::-2, ::-2], wide.T[: robot.nv, :4].T):
        robot.forward_dynamics(q, v, tau, out=out)
        np.testing.assert_array_equal(out, expected)
    out = wide[:4, : robot.nv], wide[:4, robot.nv :]
    robot.step(q, v, tau, 0.01, out=out)
    for x, y in zip(out, robot.step(q, v, tau, 0.01), strict=True):
        np.testing.assert_array_equal(x, y)


def test_states_of_rollouts_that_overlap_are_refused(rng):
    """Whether the loop is compiled or, round a controller that cannot be, Python's."""
    robot, memory = ROBOTS["rods"], np.zeros(50)
    out = tuple(memory[i : i + 9].reshape(3, 3) for i in (0, 5))
    for control in (None, lambda t, q, v: [float(q[0]), 0.0, 0.0]):
        with pytest.raises(ShapeError, match="the arrays in out for q and v overlap"):
            robot.rollout(np.zeros(3), np.zeros(3), None, 0.01, steps=2, control=control, out=out)
