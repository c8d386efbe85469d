"""A sample of random closed systems beside 50 digits; `python -m tests.closed_soak` runs as many as one likes."""

from __future__ import annotations

import numpy as np
import pytest
from tests import closed_soak


@pytest.mark.parametrize("number", [3, 9, 16])  # two planar ones on a turntable, and one of any joints
def test_answers_are_right_or_refused(number: int) -> None:
    case = closed_soak.random_case(1, number)
    assert closed_soak.faults(case, np.random.default_rng(number), ["unrolled"]).wrong == []


@pytest.mark.long
def test_many_answers_are_right_or_refused() -> None:
    assert closed_soak.run(1, range(500)).wrong == []
