"""Symbolic dynamics: the same algorithms on letters instead of numbers. Needs SymPy, the extra `symbolic`."""

from __future__ import annotations

from catena.symbols.functions import WHAT, symbolic
from catena.symbols.result import Symbolic

__all__ = ["WHAT", "Symbolic", "symbolic"]
