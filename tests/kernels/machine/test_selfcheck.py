"""Code that does not do what its graph says is found out before anybody relies on it."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import catena
from catena import robots
from catena.functions.catalogue import INVERSE_DYNAMICS
from catena.functions.linkwise import lowered_for, trace
from catena.kernels import build
from catena.kernels.build import unrolled_ir
from catena.kernels.machine.compile import object_code
from catena.kernels.machine.selfcheck import agrees
from catena.kernels.machine.target import host
from catena.questions.closed_stepping import closed_stepping
from catena.scalars import sincos

ARM = catena.load(robots.path("two_link_arm")).tree


def traced_arm():
    return trace(lowered_for(ARM, INVERSE_DYNAMICS), INVERSE_DYNAMICS)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_right_code_agrees(dtype):
    traced = traced_arm()
    code = object_code(unrolled_ir(*traced, dtype=dtype, target=host()))
    assert agrees(code, traced, np.dtype(dtype))


def test_wrong_code_is_replaced(monkeypatch):
    traced = traced_arm()
    sizes, outputs = traced
    wrong = {name: [x if i else 1.001 * x for i, x in enumerate(values)] for name, values in outputs.items()}
    bad = object_code(unrolled_ir(sizes, wrong, dtype=np.float64, target=host()))
    assert not agrees(bad, traced, np.dtype(float))
    made = []

    def misbehaving(sizes, outputs, *, target, **options):
        made.append(target.assembly)
        return unrolled_ir(sizes, wrong if target.assembly else outputs, target=target, **options)

    monkeypatch.setattr(build, "unrolled_ir", misbehaving)
    code = build._unrolled_code(ARM, INVERSE_DYNAMICS, (), np.dtype(float), host())
    if host().assembles:
        assert made == [True, False]
    assert agrees(code, traced, np.dtype(float))


def test_results_that_are_not_finite_are_compared_without_a_word():
    """NumPy would warn of ∞ - ∞, in the name of the user's call."""
    sizes, outputs = traced_arm()
    large = {name: [1e200 * x for x in values] for name, values in outputs.items()}
    traced = sizes, {name: [x * x for x in values] for name, values in large.items()}
    code = object_code(unrolled_ir(*traced, dtype=np.float64, target=host()))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert agrees(code, traced, np.dtype(float))


def overdetermined():
    """Three bars in a plane, pinned at more places than they can reach."""
    builder = catena.Builder("bars")
    for i, parent in enumerate(("base", "link0", "link1")):
        builder.link(f"link{i}", mass=1.0 + i, com=(0.5, 0.1, 0), inertia=(0.1, 0.2, 0.3))
        builder.revolute(f"joint{i}", parent, f"link{i}", "z", position=(float(i), 0, 0))
    pins = [
        catena.Ball("world", "bars/link1", position=(2.2, 0.1, 0), second_position=(1.2, 0, 0), name="middle"),
        catena.Ball("world", "bars/link2", position=(2.2, 0.1, 0), second_position=(1.2, 0, 0), name="near the end"),
        catena.Ball("world", "bars/link2", position=(2.2, 0.0, 0), second_position=(1.5, 0, 0), name="end"),
    ]
    return catena.System([builder.build()], constraints=pins)


def test_wrong_code_is_found_out_where_many_samples_hang_on_the_last_digits():
    """Steps of redundant loops that are open do: these samples do not count, and all others must agree."""
    system = overdetermined()
    function = closed_stepping(system, "semi_implicit", False, True, True)
    sizes, outputs = trace(lowered_for(system.tree, function), function)
    for factor in (1.0, 1.0 + 1e-5):
        made = {name: [factor * values[0], *values[1:]] for name, values in outputs.items()}
        code = object_code(unrolled_ir(sizes, made, dtype=np.float64, target=host()))
        assert agrees(code, (sizes, outputs), np.dtype(float), function.positive) == (factor == 1.0)


def test_code_is_not_relied_on_if_all_samples_hang_on_the_last_digits():
    sizes, outputs = traced_arm()
    traced = sizes, {name: [sincos(1e15 * x)[0] for x in values] for name, values in outputs.items()}
    other = {name: [sincos(1.1e15 * x)[0] for x in values] for name, values in outputs.items()}
    code = object_code(unrolled_ir(sizes, other, dtype=np.float64, target=host()))
    assert not agrees(code, traced, np.dtype(float))
