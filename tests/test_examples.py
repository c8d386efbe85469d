"""The examples run, and say something."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest
from tests.snippets import missing_extra

import catena

EXAMPLES = Path(__file__).parent.parent / "examples"
NAMES = sorted(path.relative_to(EXAMPLES).with_suffix("").as_posix() for path in EXAMPLES.rglob("*.py"))
SMALLER: dict[str, dict[str, Any]] = {
    "batch_of_states": {"BATCH": 1000},
    "sampling_control": {"SAMPLES": 64, "STEPS": 5},
    "identify": {"SAMPLES": 150, "SEARCH": 10},
    "four_bar": {"SECONDS": 0.1},
    "high_precision": {"LENGTHS": (10, 30)},
    "mass_matrix": {"N": 500},
    "million_links": {"LENGTHS": (100, 1000)},
    "papers/lee_chirikjian_2005": {"LENGTHS": (10, 20)},
}
"""Sizes that keep the tests quick, by example and name."""


def load(name: str) -> Any:
    """The example as a module, its sizes made small."""
    spec = importlib.util.spec_from_file_location(f"example_{name.replace('/', '_')}", EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except ImportError as error:
        if missing_extra(error) is None:
            raise
        pytest.skip(f"{error.name} is not installed")
    for constant, value in SMALLER.get(name, {}).items():
        assert hasattr(module, constant), f"{name} has no {constant}"
        setattr(module, constant, value)
    return module


@pytest.mark.parametrize("name", NAMES)
def test_example_runs(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    module = load(name)
    try:
        module.main()
    except catena.UnsupportedError as error:
        if missing_extra(error) is None:
            raise
        pytest.skip(str(error))
    finally:
        catena.set_threads(None)
    said = capsys.readouterr().out
    assert len(said.splitlines()) > 2
    assert "nan" not in said.lower().split()


def test_every_example_asks_one_question_in_a_screen() -> None:
    assert len(NAMES) > 10
    for name in NAMES:
        lines = (EXAMPLES / f"{name}.py").read_text(encoding="utf-8").splitlines()
        assert len(lines) < (90 if name.startswith("papers/") else 60), name
        assert "?" in lines[0], f"{name}: the first line asks the question"
