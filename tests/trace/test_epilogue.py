"""The epilogue of recorded sweeps: what an algorithm makes of the base's values after its last loop."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

import catena
from catena.errors import CatenaError
from catena.functions import engine
from catena.functions.function import Function
from catena.spatial import Motion


def masses(links: Any, q: Any, x: Any) -> Any:
    """At the base: five numbers from sums, an input, and a sum that was read between two sweeps."""
    (m, s, out) = links.fields("m s out")
    m[links.base] = s[links.base] = 0
    start = m[links.base]
    for k in links.base_to_tip():
        m[k] = k.M.m
    for k in links.tip_to_base():
        m[k.parent] += m[k]
    early = m[links.base]
    for k in links.base_to_tip():
        s[k] = k.M.m * k.M.m
    for k in links.tip_to_base():
        s[k.parent] += s[k]
    out[links.base] = [early * x[0], s[links.base] / early, start, x[1], s[links.base]]
    return out


MASSES = Function("masses", masses, {"q": "q", "x": "robot:2"}, {"out": "robot:5"}, regroup=False)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
@pytest.mark.parametrize("name", ALL)
def test_what_follows_the_last_sweep(name: str, shape: str) -> None:
    robot = ALL[name]()
    q, x = robot.random_configuration(0, (5,)), np.random.default_rng(1).standard_normal((5, 2))
    m, s = robot.tree.mass.sum(), (robot.tree.mass**2).sum()
    expected = np.stack([m * x[:, 0], np.full(5, s / m), np.zeros(5), x[:, 1], np.full(5, s)], axis=-1)
    assert relative(engine.kernel(robot, MASSES, kernel=shape)(q, x), expected) < 1e-13
    assert relative(engine.evaluate(robot.tree, MASSES, {"q": q[0], "x": x[0]})["out"], expected[0]) < 1e-13


def recorded(algorithm: Any) -> Any:
    robot = catena.random_tree(1, 4, ["revolute"], 0.0)
    return engine.kernel(robot, Function("wrong", algorithm, {"q": "q"}, {"out": "robot"}), kernel="rolled")


def test_a_sum_is_read_after_all_has_been_added() -> None:
    def algorithm(links: Any, q: Any) -> Any:
        m, out = links.fields("m out")
        m[links.base] = 0
        for k in links.base_to_tip():
            m[k] = k.M.m
        for k in links.tip_to_base():
            m[k.parent] += m[k]
        out[links.base] = 2 * m[links.base]
        for k in links.tip_to_base():
            m[k.parent] += m[k]
        return out

    with pytest.raises(CatenaError, match="added to after its sum was read at the base"):
        recorded(algorithm)


def test_links_cannot_read_what_was_made_at_the_base() -> None:
    def algorithm(links: Any, q: Any) -> Any:
        m, out = links.fields("m out")
        m[links.base] = out[links.base] = 0
        for k in links.base_to_tip():
            m[k] = k.M.m
        for k in links.tip_to_base():
            m[k.parent] += m[k]
        out[links.base] = 2 * m[links.base]
        for k in links.base_to_tip():
            out[k] = out[k.parent]
        return out

    with pytest.raises(CatenaError, match="is read at the parent; expected a number at the base"):
        recorded(algorithm)


def test_the_base_knows_nothing_of_single_links() -> None:
    def algorithm(links: Any, q: Any) -> Any:
        m, out = links.fields("m out")
        for k in links.base_to_tip():
            m[k] = k.M.m
            mass = m[k]
        for k in links.tip_to_base():
            mass = m[k] * q[k][0]
        out[links.base] = mass
        return out

    def unwritten(links: Any, q: Any) -> Any:
        m, out = links.fields("m out")
        for k in links.base_to_tip():
            m[k] = k.M.m
        out[links.base] = m[links.base]
        return out

    with pytest.raises(CatenaError, match=r"only compute with what fields hold at links\.base"):
        recorded(algorithm)
    with pytest.raises(CatenaError, match="read at the base, where it was never written"):
        recorded(unwritten)


def at_the_tip(links: Any, q: Any, v: Any) -> Any:
    """The velocity of the last link, which is carried there, and what one more sweep writes at every link."""
    V, twice, other, out = links.fields("V twice other out")
    V[links.base] = Motion.zero()
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        V[k] = phi.T @ V[k.parent] + H.T @ v[k]
        other[k] = V[k].angular
    for k in links.base_to_tip():
        twice[k] = Motion(other[k], other[k]) + V[k]
    out[links.base] = [*V[links.tip].components, *twice[links.tip].components]
    return out


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_what_the_last_link_of_a_chain_holds(shape: str) -> None:
    robot = catena.random_tree(1, 9, branching=0.0)
    function = Function("at_the_tip", at_the_tip, {"q": "q", "v": "v"}, {"out": "robot:12"}, choose=False)
    rng = np.random.default_rng(1)
    q, v = robot.random_configuration(rng, (11,)), rng.standard_normal((11, robot.nv))
    kernel = engine.kernel(robot, function, kernel=shape)
    expected = [engine.evaluate(robot.tree, function, {"q": a, "v": b})["out"] for a, b in zip(q, v, strict=True)]
    assert relative(kernel(q, v), np.array(expected, dtype=float)) < 1e-13
    assert relative(kernel(q[0], v[0]), np.array(expected[0], dtype=float)) < 1e-13
    turning = np.linalg.norm(robot.link_velocities(q, v)[:, -1, :3], axis=-1)  # the same in other axes
    assert np.allclose(np.linalg.norm(np.array(expected, dtype=float)[:, :3], axis=-1), turning, rtol=1e-12)
