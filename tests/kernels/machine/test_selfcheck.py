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
