"""`import catena` stays light."""

from __future__ import annotations

import subprocess
import sys


def test_import_loads_nothing_heavy() -> None:
    heavy = ["scipy", "sympy", "mpmath", "matplotlib", "rich", "click", "llvmlite", "mujoco", "viser"]
    code = f"import sys, catena; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
