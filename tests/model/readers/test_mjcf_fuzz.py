"""Damaged MJCF: a robot or a CatenaError, nothing else, and no crash or hang of MuJoCo's compiler."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.model.readers import fuzz, fuzz_mjcf

import catena

pytest.importorskip("mujoco")


@pytest.mark.parametrize("number", range(len(fuzz_mjcf.SEEDS)))
def test_sound_files_load(number: int) -> None:
    file = fuzz_mjcf.folder() / f"sound{number}.xml"
    file.write_text(fuzz_mjcf.SEEDS[number])
    assert catena.load(file).nv > 0


def test_damaged_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a process of their own, which works in an empty folder and leaves nothing there."""
    monkeypatch.chdir(tmp_path)
    outcomes, _ = fuzz.run(fuzz_mjcf.case, 400, seed=0)
    assert set(outcomes) == {"loaded", "LoadError"}
    assert sum(outcomes.values()) == 400
    assert not list(tmp_path.iterdir())
