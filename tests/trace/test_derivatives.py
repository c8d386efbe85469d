"""Derivatives of traced graphs: forward and reverse agree with each other and with finite differences."""

from __future__ import annotations

import numpy as np
import pytest

from catena.fixman.internal_coordinates import angle, bend, distance, torsion
from catena.scalars import arctan2, log, sincos, sqrt
from catena.spatial import Vec3
from catena.trace.derivatives import gradient, jacobian, tangents
from catena.trace.fuse import fuse
from catena.trace.graph import Graph, live
from catena.trace.interpret import values


def functions(x):
    s, c = sincos(x[0] * x[1] - x[2])
    return [
        s / (2 + c),
        sqrt(1 + x[1] * x[1]) * log(3 + x[2]),
        -(x[0] - x[1]) * arctan2(x[1], 2 + x[0]),
        x[3] * 0.5 + 1,
    ]


@pytest.fixture
def traced():
    graph = Graph()
    leaves = [graph.input("x", i) for i in range(4)]
    return leaves, functions(leaves)


def differences(outputs, x, h=1e-6):
    ahead, behind = (values(outputs, {"x": x + step * np.eye(len(x))}) for step in (h, -h))
    return ((ahead - behind) / (2 * h)).T


def test_jacobian_against_differences(traced, rng) -> None:
    leaves, outputs = traced
    x = rng.uniform(0.2, 1.5, 4)
    entries = jacobian(outputs, leaves)
    dense = np.zeros((4, 4))
    for (i, j), value in zip(entries, values(list(entries.values()), {"x": x}), strict=True):
        dense[i, j] = value
    assert dense == pytest.approx(differences(outputs, x), abs=1e-8)
    assert (3, 3) in entries
    assert (0, 3) not in entries


def test_forward_agrees_with_reverse(traced, rng) -> None:
    leaves, outputs = traced
    x, direction = rng.uniform(0.2, 1.5, (2, 4))
    along = values(tangents(outputs, dict(zip(leaves, direction.tolist(), strict=True))), {"x": x})
    entries = jacobian(outputs, leaves)
    total = np.zeros(4)
    for (i, j), value in zip(entries, values(list(entries.values()), {"x": x}), strict=True):
        total[i] += value * direction[j]
    assert along == pytest.approx(total, rel=1e-13)


def test_fused_graphs_have_derivatives_too(traced, rng) -> None:
    _, outputs = traced
    fused = fuse(outputs)
    assert any(node.op == "fma" for node in live(fused))
    x = rng.uniform(0.2, 1.5, 4)
    leaves = sorted({node for node in live(fused) if node.op == "input"}, key=lambda node: node.args[1])
    slopes = gradient(fused[0])
    found = [values([slopes.get(leaf, 0.0)], {"x": x})[0] for leaf in leaves]
    assert found == pytest.approx(differences(fused, x)[0], abs=1e-8)


def test_second_derivatives(traced, rng) -> None:
    leaves, outputs = traced
    x = rng.uniform(0.2, 1.5, 4)
    slopes = [gradient(outputs[0]).get(leaf, 0.0) for leaf in leaves]
    entries = jacobian(slopes, leaves)
    H = np.zeros((4, 4))
    for (i, j), value in zip(entries, values(list(entries.values()), {"x": x}), strict=True):
        H[i, j] = value
    assert pytest.approx(H.T, abs=1e-12) == H
    assert pytest.approx(differences(slopes, x), abs=1e-7) == H


@pytest.mark.parametrize(("function", "points"), [(distance, 2), (angle, 3), (torsion, 4), (bend, 4)])
def test_internal_coordinates(function, points, rng) -> None:
    graph = Graph()
    leaves = [graph.input("x", i) for i in range(3 * points)]
    output = function(*[Vec3(*leaves[3 * i : 3 * i + 3]) for i in range(points)])
    x = rng.normal(size=3 * points)
    numbers = function(*[Vec3(*x[3 * i : 3 * i + 3].tolist()) for i in range(points)])
    assert values([output], {"x": x})[0] == pytest.approx(numbers, rel=1e-14)
    slopes = gradient(output)
    found = values([slopes[leaf] for leaf in leaves], {"x": x})
    assert found == pytest.approx(differences([output], x)[0], abs=1e-7)
