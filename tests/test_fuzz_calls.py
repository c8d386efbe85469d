"""A few hundred odd calls; `python -m tests.fuzz_calls` makes as many as one likes."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from tests.fuzz_calls import faults


@pytest.mark.skipif(os.name != "posix", reason="waits for pipes")
def test_odd_calls_get_right_answers_or_errors_of_ours():
    assert list(faults(20240229, 0, 250)) == []


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
