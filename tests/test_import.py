"""`import catena` stays light."""

from __future__ import annotations

import subprocess
import sys

import pytest

import catena


def test_import_loads_nothing_heavy() -> None:
    heavy = ["scipy", "sympy", "mpmath", "matplotlib", "rich", "click", "llvmlite", "mujoco", "viser"]
    code = f"import sys, catena; print([name for name in {heavy} if name in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@pytest.mark.parametrize("room", ["fixman", "operators"])
def test_rooms_name_what_is_in_them(room: str) -> None:
    """In a fresh process, in which no module of the room can stand in for a function of the same name."""
    code = f"""
import catena, types
found = [getattr(catena.{room}, name) for name in dir(catena.{room})]
assert found and not any(isinstance(one, types.ModuleType) for one in found), found
from catena.{room} import *
try:
    catena.{room}.nothing
except AttributeError as error:
    print(error)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == f"module 'catena.{room}' has no attribute 'nothing'"


def test_what_moved_into_a_room_is_not_at_the_top() -> None:
    assert not {"Family", "partition", "planar_blocks", "solve_in_pieces"} & set(dir(catena))
    assert not hasattr(catena, "partition")
