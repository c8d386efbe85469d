"""Graphs as numbered values: signs are folded into operations, calls split a program into stages."""

from __future__ import annotations

import pytest
from tests.kernels.targets import leaves

from catena.kernels.codegen.program import read
from catena.trace.fuse import fuse
from catena.trace.graph import Graph


@pytest.mark.parametrize(
    ("expression", "ops"),
    [
        (lambda g, x, y, z: x - y, ["sub"]),
        (lambda g, x, y, z: -x - y, ["add", "sub"]),
        (lambda g, x, y, z: z - x * y, ["fnmadd"]),
        (lambda g, x, y, z: x * y - z, ["fmsub"]),
        (lambda g, x, y, z: -(x * y) - z, ["fmadd", "sub"]),
        (lambda g, x, y, z: z - 2.0 * x, ["fnmadd"]),
        (lambda g, x, y, z: (-x) * y * z, ["mul", "mul", "sub"]),
        (lambda g, x, y, z: g.sqrt(-x), ["sub", "sqrt"]),
    ],
)
def test_signs_cost_nothing_but_in_front_of_results(expression, ops):
    g = Graph()
    program = read(fuse([expression(g, *leaves(g, "x", 3))]))
    assert sorted(op for op in program.ops if op) == sorted(ops)


def test_numbers_of_either_sign_share_a_place():
    g = Graph()
    x, y, z = leaves(g, "x", 3)
    program = read([x + 2.5, y - 2.5, 2.5 * z, -2.5 * x])
    assert [leaf.which for leaf in program.leaves.values() if leaf.source == "number"].count(2.5) == 1


def test_stages_compute_what_calls_need_and_no_more():
    g = Graph()
    x, y = leaves(g, "x", 2)
    angle = x + 0.5
    inner = g.sin(angle)
    argument = inner * y
    program = read([g.log(argument) + x * y, g.cos(angle)])
    assert [(call.function, call.stage) for call in program.calls] == [("sincos", 0), ("log", 1)]
    assert [[program.ops[v] for v in stage] for stage in program.stages()] == [["add"], ["mul"], ["mul", "add"]]
    results = [(leaf.which, leaf.part) for leaf in program.leaves.values() if leaf.source == "call"]
    assert sorted(results) == [(0, 0), (0, 1), (1, 0)]
