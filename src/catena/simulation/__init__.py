"""Motions in time: rollouts, runs, controllers, and simulations with events."""

from catena.later import imported_later

__getattr__ = imported_later(__name__, {"controllers": ""})
