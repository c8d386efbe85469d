"""Commands that pages cite start: scripts and modules say how they are used, and make knows what it should do."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parent.parent
PAGES = [*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md")]
CITED = re.compile(
    r"(?:[$`] ?|^)(?:\w+=\S+ )*(python (?:(?:benchmarks|examples)/\w+\.py|-m tests[\w.]*)|make [\w-]+(?=`|\s*(?:#|$)))",
    re.MULTILINE,
)
"""Behind a prompt, a quote or at the start of a line."""


def cited(what: str) -> list[str]:
    found = {name for page in PAGES for name in CITED.findall(page.read_text(encoding="utf-8"))}
    return sorted(name for name in found if name.startswith(what))


@pytest.mark.parametrize("command", cited("python"))
def test_python_commands_start(command: str) -> None:
    words = [sys.executable, *command.split()[1:], "--help"]
    paths = os.pathsep.join([str(TOP / "src"), str(TOP), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(words, cwd=TOP, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True)
    assert (done.returncode, done.stdout[:6].lower()) == (0, "usage:"), done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make")
def test_make_knows_its_targets() -> None:
    assert {"make docs", "make test"} <= set(cited("make"))
    for command in cited("make"):
        done = subprocess.run([*command.split(), "--dry-run"], cwd=TOP, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
