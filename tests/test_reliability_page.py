"""The page of promises names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from tests.faults import HEADING, Outcomes, faults

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reliability.md"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "function"), NAMED)
def test_named_tests_exist(file: str, function: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    assert f"def {function or 'test_'}" in text


def test_named_commands_exist() -> None:
    modules = re.findall(r"python -m (tests[\w.]+)", PAGE.read_text(encoding="utf-8"))
    assert len(modules) >= 9
    assert all((TESTS.parent / (module.replace(".", "/") + ".py")).exists() for module in modules)


def test_every_fault_has_a_test_that_can_be_run() -> None:
    """`python -m tests.faults` misses no row of the table."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    assert len(faults()) == table.count("\n| ") - 2  # the heads of its columns, and the line below
    assert all(fault.tests for fault in faults())


def test_a_fault_is_back_if_one_case_of_one_test_fails() -> None:
    outcomes = Outcomes()
    outcomes.found = {
        "tests/a.py::test_x": "passed",
        "tests/a.py::test_y": "failed",
        "tests/b.py::T::test_z": "skipped",
    }
    expected = {"a.py::test_x": "passed", "a.py": "failed", "b.py::T": "skipped", "a.py::test_": "missing"}
    assert {test: outcomes.of(test) for test in expected} == expected
