"""The page of promises names tests that are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reliability.md"
NAMED = sorted(set(re.findall(r"`([\w/]+\.py)(?:::(\w+))?`", PAGE.read_text(encoding="utf-8"))))


@pytest.mark.parametrize(("file", "function"), NAMED)
def test_named_tests_exist(file: str, function: str) -> None:
    text = (TESTS / file).read_text(encoding="utf-8")
    assert f"def {function or 'test_'}" in text


def test_named_commands_exist() -> None:
    modules = re.findall(r"python -m (tests[\w.]+)", PAGE.read_text(encoding="utf-8"))
    assert len(modules) == 10
    assert all((TESTS.parent / (module.replace(".", "/") + ".py")).exists() for module in modules)
