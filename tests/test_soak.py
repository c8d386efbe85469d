"""A few seconds of the soak test (tests/soak.py), in a process of its own, with memory that is spoilt when freed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(signal, "setitimer") or not hasattr(os, "fork"), reason="needs timers and forks")
def test_everything_at_once_for_a_few_seconds():
    ended = subprocess.run(
        [sys.executable, "-m", "tests.soak", "--minutes", "0.1", "--small"],
        capture_output=True,
        text=True,
        timeout=900,
        check=False,
        cwd=Path(__file__).parents[1],
        env={**os.environ, "PYTHONMALLOC": "malloc", "MALLOC_PERTURB_": "2"},
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert "nothing went wrong" in ended.stdout
