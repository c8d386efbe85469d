"""Catena: the dynamics of rigid-body trees in O(n)."""

__version__ = "0.1.0.dev0"
