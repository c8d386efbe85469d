"""A joint type that a user adds, as the page says: every question, short and long chains."""

from __future__ import annotations

import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena.algorithms.forward_dynamics import FD3
from catena.errors import ModelError
from catena.functions import engine
from catena.model.joints import BY_NAME, JOINT_TYPES, JointType, Universal, add_joint_type
from catena.spatial import Motion

PAGE = Path(__file__).parents[2] / "docs" / "howto" / "extend.md"


def polar() -> type[JointType]:
    """The class on the page, to the letter."""
    (code,) = [x for x in re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), re.S) if "class Polar" in x]
    names: dict[str, Any] = {"__name__": "a_users_module"}
    exec(code, names)
    return names["Polar"]


def state(robot: catena.Robot) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(1)
    return robot.random_configuration(rng=1, shape=3), rng.standard_normal((3, robot.nv)), np.ones((3, robot.nv))


def test_derivatives_of_the_joint_on_the_page() -> None:
    """Against differences: by hand its moving axes would be forgotten, and these off by 16."""
    assert add_joint_type(polar()).moving_axes
    robot = catena.random_tree(0, 4, ["polar", "universal"], 0.3)
    q, v, tau = (x[0] for x in state(robot))
    found = robot.forward_dynamics_derivatives(q, v, tau)
    h = 1e-6
    for i, unit in enumerate(np.eye(robot.nv)):
        by_q = [robot.forward_dynamics(robot.integrate(q, s * h * unit), v, tau) for s in (1, -1)]
        by_v = [robot.forward_dynamics(q, v + s * h * unit, tau) for s in (1, -1)]
        for slope, (ahead, behind) in zip(found, (by_q, by_v), strict=False):
            expected = (ahead - behind) / (2 * h)
            assert np.abs(slope[:, i] - expected).max() < 1e-6 * max(1.0, np.abs(expected).max())


def test_long_chains_of_the_joint_on_the_page() -> None:
    """Loops agree with the reference link by link, batch and single; straight-line code with a dense solve."""
    add_joint_type(polar())
    robot = catena.random_tree(0, 110, ["polar", "revolute", "prismatic"], 0.0)
    q, v, tau = state(robot)
    a = robot.forward_dynamics(q, v, tau)
    scale = np.abs(a).max()
    assert np.abs(robot.forward_dynamics(q[0], v[0], tau[0]) - a[0]).max() < 1e-12 * scale
    exact = engine.evaluate(robot.tree, FD3, {"q": q[0], "v": v[0], "tau": tau[0]})["a"].astype(float)
    assert np.abs(a[0] - exact).max() < 1e-9 * scale
    short = catena.random_tree(0, 6, ["polar", "revolute"], 0.0)
    q, v, tau = state(short)
    M, b = short.mass_matrix(q).dense(), short.bias(q, v)
    assert np.allclose(np.einsum("nij,nj->ni", M, short.forward_dynamics(q, v, tau)) + b, tau, atol=1e-9)


def test_what_is_wrong_with_a_joint_type_is_named() -> None:
    class Again(Universal):
        """Has a name of the package."""

    class Coded(Universal):
        name, code = "coded", 3

    class Forgets(Universal):
        name = "forgets"

        @classmethod
        def axis_rates(cls, q: Any, v: Any) -> Any:
            return [Motion.zero()] * 2

    class Flat(Universal):
        name = "flat"

        @classmethod
        def axes_rate_slopes(cls, q: Any, v: Any) -> Any:
            return [Motion.zero()] * 2

    for joint, why in (
        (Again, "there is one"),
        (Coded, "next free one, 10; found 3"),
        (Flat, "axes_rate_slopes is not"),
    ):
        with pytest.raises(ModelError, match=f"joint type '{joint.name}'.*{why}"):
            add_joint_type(joint)
    with pytest.raises(ModelError, match=r"axis_rates is not"):
        add_joint_type(Forgets)
    assert len(JOINT_TYPES) == 10


def test_pickled_robots_know_their_joint_types_by_name() -> None:
    """Codes are given in the order in which types become known: in another process they may be another's."""
    other = type("Other", (polar(),), {"name": "other"})
    add_joint_type(polar())
    robot = catena.random_tree(0, 3, ["polar", "revolute"], 0.0)
    q = robot.random_configuration(0)
    expected, stored, digest = robot.placement(q, robot.links[-1].name), pickle.dumps(robot), robot.tree.digest()
    del JOINT_TYPES[-1], BY_NAME["polar"]
    with pytest.raises(catena.ModelError, match="'polar' is not known here"):
        pickle.loads(stored)
    add_joint_type(other)
    with pytest.raises(catena.ModelError, match="'polar' is not known here"):
        pickle.loads(stored)
    assert catena.random_tree(0, 3, ["other", "revolute"], 0.0).tree.digest() != digest
    joint = add_joint_type(polar())
    found = pickle.loads(stored)
    assert joint.code in found.tree.joint_type
    assert np.array_equal(found.placement(q, found.links[-1].name)[1], expected[1])
