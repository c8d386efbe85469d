"""Derivatives of recorded sweeps that read, overwrite and add in every order: rolled against unrolled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative

import catena
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.forward_dynamics_products import forward_dynamics_jvp, forward_dynamics_vjp
from catena.functions.derived import jvp, vjp
from catena.functions.engine import kernel
from catena.functions.function import Function
from catena.functions.linkwise import lowered_for
from catena.scalars import sincos, sqrt, where
from catena.spatial import Dofs
from catena.trace.recorder import classify, recorded

MECHANISMS = {
    "chain": catena.random_tree(1, 5, ["revolute"], 0.0),
    "chain of two kinds": catena.random_tree(1, 5, ["revolute", "prismatic"], 0.0),
    "tree of two kinds": catena.random_tree(2, 6, ["revolute", "prismatic"], 0.8),
}
Algorithm = Callable[[Any, Any, Any], Any]


def same_field_again_and_again(links: Any, q: Any, v: Any) -> Any:
    """Each sweep reads what the one before left in a field, and overwrites it."""
    x, y = links.fields("x y")
    x[links.base] = 0.5
    for k in links.base_to_tip():
        s, c = sincos(q[k][0])
        x[k] = x[k.parent] * s + c * v[k][0]
    for k in links.tip_to_base():
        x[k] = x[k] * x[k] * q[k][0]
    for k in links.base_to_tip():
        x[k] = sqrt(1 + x[k] * x[k]) * v[k][0]
        y[k] = Dofs([x[k]])
    return y


def parent_on_the_way_back(links: Any, q: Any, v: Any) -> Any:
    """A sweep to the base reads what the parent will overwrite in the same sweep, and one to the tips what it has."""
    x, y, z = links.fields("x y z")
    x[links.base], y[links.base] = 2.0, 1.0
    for k in links.base_to_tip():
        x[k] = q[k][0] * v[k][0]
        y[k] = q[k][0]
    for k in links.tip_to_base():
        y[k] = x[k.parent] * x[k] + y[k.parent] * y[k]
    for k in links.base_to_tip():
        z[k] = Dofs([y[k.parent] * y[k] * x[k.parent]])
    return z


def sums_of_sums(links: Any, q: Any, v: Any) -> Any:
    """Sums are read on the way, changed, and summed up again; the base's is used with a root."""
    x, y, total = links.fields("x y total")
    x[links.base] = y[links.base] = 0.0
    for k in links.base_to_tip():
        x[k] = q[k][0] * q[k][0]
        y[k] = v[k][0]
    for k in links.tip_to_base():
        x[k.parent] += x[k] * v[k][0]
        y[k.parent] += x[k] * y[k]
    for k in links.tip_to_base():
        x[k.parent] += y[k] / (2 + x[k] * x[k])
    total[links.base] = x[links.base] * sqrt(1 + y[links.base] * y[links.base])
    return total


def some_kinds_only(links: Any, q: Any, v: Any) -> Any:
    """One kind of link stores what another leaves alone, and choices depend on the state."""
    x, y = links.fields("x y")
    x[links.base] = 1.0
    for k in links.base_to_tip():
        x[k] = x[k.parent] * (q[k][0] if k.joint_type.name == "revolute" else 2.0)
    for k in links.tip_to_base():
        x[k.parent] += where(v[k][0] < 0, x[k] * v[k][0], 0.0) if k.joint_type.name == "revolute" else 0.0 * x[k]
    for k in links.base_to_tip():
        y[k] = Dofs([x[k] * x[k]])
    return y


def loops_side_by_side(links: Any, q: Any, v: Any) -> Any:
    """Sweeps in the same direction follow each other, some of which can be one and some cannot."""
    x, y, z, out = links.fields("x y z out")
    x[links.base], y[links.base], z[links.base] = 0.7, 1.0, 0.3
    for k in links.base_to_tip():
        x[k] = q[k][0] * x[k.parent]
    for k in links.base_to_tip():
        y[k] = x[k.parent] * x[k] + y[k.parent]
    for k in links.base_to_tip():
        x[k] = y[k] * v[k][0]  # the children's y needs the x from before
    for k in links.tip_to_base():
        z[k] = x[k] * x[k.parent]
    for k in links.tip_to_base():
        y[k] = z[k.parent] * z[k]  # the parent's z is not there in the same turn
    for k in links.tip_to_base():
        out[k] = Dofs([y[k] * y[k.parent] + q[k][0] * z[k]])
    return out


def nothing_of_the_state(links: Any, q: Any, v: Any) -> Any:
    """The result does not depend on the inputs at all."""
    (y,) = links.fields("y")
    for k in links.base_to_tip():
        y[k] = Dofs([k.M.m])
    return y


ALGORITHMS: list[tuple[Algorithm, str]] = [
    (same_field_again_and_again, "v"),
    (parent_on_the_way_back, "v"),
    (sums_of_sums, "robot"),
    (some_kinds_only, "v"),
    (loops_side_by_side, "v"),
    (nothing_of_the_state, "v"),
]


@pytest.mark.parametrize("mechanism", MECHANISMS)
@pytest.mark.parametrize(("algorithm", "output"), ALGORITHMS, ids=[a.__name__ for a, _ in ALGORITHMS])
def test_loops_and_graphs_have_the_same_derivatives(algorithm: Algorithm, output: str, mechanism: str) -> None:
    robot, rng = MECHANISMS[mechanism], np.random.default_rng(0)
    function = Function(algorithm.__name__, algorithm, {"q": "q", "v": "v"}, {"y": output})
    q, v, dq, dv, w = rng.uniform(0.2, 1.5, (5, robot.nv)) * rng.choice([-1, 1], (5, robot.nv))
    weight = w if output == "v" else w[0]
    along = [kernel(robot, jvp(function, ("q", "v")), kernel=s)(q, v, dq, dv) for s in ("unrolled", "rolled")]
    back = [kernel(robot, vjp(function, ("q", "v")), kernel=s)(q, v, weight) for s in ("unrolled", "rolled")]
    h, of = 1e-6, kernel(robot, function)
    differences = (of(q + h * dq, v + h * dv) - of(q - h * dq, v - h * dv)) / (2 * h)
    assert relative(along[0], differences) < 1e-7 or not np.any(differences)
    assert relative(along[1], along[0]) < 1e-13
    forward = float(np.sum(weight * along[0]))
    for gradients in back:
        assert gradients[0] @ dq + gradients[1] @ dv == pytest.approx(forward, rel=1e-12)
    for x, y in zip(*back, strict=True):
        assert relative(y, x) < 1e-12


def started_by_an_input(links: Any, q: Any, v: Any, g: Any) -> Any:
    """The base starts with numbers of the whole robot, which sweeps carry on, read on both ways, and add to."""
    x, y, z, s, out, total = links.fields("x y z s out total")
    x[links.base], y[links.base], s[links.base] = g[0] * g[1], sqrt(1 + g[1] * g[1]), g[0]
    for k in links.base_to_tip():
        x[k] = x[k.parent] * q[k][0] + v[k][0]
        y[k] = q[k][0] * g[1]
    for k in links.tip_to_base():
        z[k] = y[k.parent] * x[k]
        s[k] = z[k]
    for k in links.tip_to_base():
        s[k.parent] += s[k] * v[k][0]
    for k in links.base_to_tip():
        out[k] = Dofs([z[k] * x[k.parent] + y[k.parent]])
    total[links.base] = s[links.base] * s[links.base]
    return out, total


@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_the_base_may_start_with_an_input(mechanism: str) -> None:
    robot, rng, by = MECHANISMS[mechanism], np.random.default_rng(1), ("q", "v", "g")
    kinds = {"q": "q", "v": "v", "g": "robot:2"}
    function = Function("started_by_an_input", started_by_an_input, kinds, {"y": "v", "t": "robot"})
    q, v, dq, dv, w = rng.uniform(0.2, 1.5, (5, robot.nv))
    (g, dg), weight = rng.uniform(0.5, 1.5, (2, 2)), 0.7
    h, of = 1e-6, kernel(robot, function)
    ahead, behind = (of(q + x * dq, v + x * dv, g + x * dg) for x in (h, -h))
    along, back = [], []
    for shape in ("unrolled", "rolled"):
        along.append(kernel(robot, jvp(function, by), kernel=shape)(q, v, g, dq, dv, dg))
        back.append(kernel(robot, vjp(function, by), kernel=shape)(q, v, g, w, weight))
    for x, y, a, b in zip(*along, ahead, behind, strict=True):
        assert relative(x, (a - b) / (2 * h)) < 1e-6
        assert relative(y, x) < 1e-12
    forward = float(w @ along[0][0] + weight * along[0][1])
    for by_q, by_v, by_g in back:
        assert by_q @ dq + by_v @ dv + by_g @ dg == pytest.approx(forward, rel=1e-12)
    for x, y in zip(*back, strict=True):
        assert relative(y, x) < 1e-12


FUNCTIONS = {
    "fd3": FD3,
    "jvp": jvp(FD3, ("q",)),
    "vjp": vjp(FD3, ("q",)),
    "jvp of products": forward_dynamics_jvp(("q", "v", "tau")),
    "vjp of products": forward_dynamics_vjp(("q", "v", "tau")),
}


def test_how_many_sweeps_derivatives_take() -> None:
    """A few more than the function itself, with the same memory for each link whatever their number."""
    loops, sizes = {}, {}
    for n in (10, 1000):
        tree = catena.rod_chain(n).tree
        for name, f in FUNCTIONS.items():
            lowered = lowered_for(tree, f)
            recording = recorded(lowered, classify(lowered)[0], f, f.given(()))
            loops[name, n], sizes[name, n] = [loop.direction for loop in recording.loops], recording.size
    assert loops["jvp", 10] == loops["fd3", 10] == [1, -1, 1]
    assert loops["vjp", 10] == loops["vjp of products", 10] == [1, -1, 1, -1, 1, -1]
    assert loops["jvp of products", 10] == [1, -1, 1, -1, 1]
    for name in FUNCTIONS:
        assert (loops[name, 10], sizes[name, 10]) == (loops[name, 1000], sizes[name, 1000])
