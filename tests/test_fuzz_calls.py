"""A few hundred odd calls; `python -m tests.fuzz_calls` makes as many as one likes."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from tests import odd_methods
from tests.fuzz_calls import faults

import catena


@pytest.mark.skipif(os.name != "posix", reason="waits for pipes")
def test_odd_calls_get_right_answers_or_errors_of_ours():
    assert list(faults(20240229, 0, 250)) == []


def test_odd_calls_of_what_is_no_question():
    calls = [odd_methods.Call(20240229, number) for number in range(150)]
    assert [f"{call}: {wrong}" for call in calls if (wrong := odd_methods.fault(call))] == []


def test_numbers_that_overflow_in_a_fit_are_said():
    arm = odd_methods.robots()[0]
    q, v, a = np.random.default_rng(0).standard_normal((3, 40, 2))
    with pytest.raises(catena.CatenaError, match="identify"):
        catena.identify(arm, q, v, 1e200 * a, 1e300 * a)


MAPPINGS = """
import numpy as np, catena
robot, zero = catena.rod_chain(3, 1.0, 1.0), np.zeros(3)
for kernel in ("rolled", None, "unrolled"):
    robot.coriolis_times(zero, zero, zero, kernel=kernel)
for given in ({}, {1: 2}, {"a": 1, "b": 2}, {i: i for i in range(100)}):
    for option in ("kernel", "dtype"):
        for _ in range(3):
            try:
                robot.coriolis_times(zero, zero, zero, **{option: given})
            except catena.CatenaError:
                pass
print("ok")"""


def test_a_mapping_where_a_word_was_known_is_not_read_as_a_tuple():
    found = subprocess.run([sys.executable, "-c", MAPPINGS], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout) == (0, "ok\n")
