"""Fixtures for tests of the emitted call."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.call.answering import arguments, ports
from tests.kernels.handmade import Machine

from catena.functions.question import Declared
from catena.kernels.call.kernel import Kernel


@pytest.fixture(params=[np.float64, np.float32])
def kernel(multiply_add, request):
    made = multiply_add(dtype=request.param)
    return Kernel("multiply_add", made.module, *ports(), dtype=request.param)


@pytest.fixture
def machine(kernel):
    """An object whose question has been asked once, so that the emitted call knows it."""
    made = Machine(kernel)
    made.multiply_add(*arguments(kernel.dtype, (), (), ()))
    return made


@pytest.fixture
def asked(monkeypatch):
    """The calls that reach Python."""
    seen, pattern = [], Declared._pattern
    monkeypatch.setattr(Declared, "_pattern", lambda self, *args: (seen.append(self.name), pattern(self, *args))[1])
    return seen
