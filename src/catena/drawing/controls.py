"""The controls of a page: sliders for joints, buttons to play a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ClosureError

Array = npt.NDArray[Any]

MOST_SLIDERS = 60
"""Joints that get a slider at most."""
TICK = 1 / 30
"""Seconds between two pictures of a run."""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


def joint_sliders(server: Any, robot: Any, q: Array, show: Callable[[Array], None]) -> None:
    """Sliders for the joints with one coordinate, within their limits; they move all samples.

    Of a system, the loops are closed again after each move; where that is not possible the picture stays as it was.
    """
    joints = [joint for joint in robot.joints[:MOST_SLIDERS] if joint.q_slice.stop == joint.q_slice.start + 1]
    if not joints:
        return
    state = np.array(q)
    sliders: dict[int, Any] = {}

    def moved(_: Any) -> None:
        wanted = state.copy()
        for number, slider in sliders.items():
            wanted[:, number] = slider.value
        closed = _closed(robot, wanted)
        if closed is not None:
            state[:] = closed
            show(state)

    with server.gui.add_folder("joints"):
        for joint in joints:
            number = joint.q_slice.start
            lower, upper = _range(joint.lower, joint.upper, q[0, number])
            slider = server.gui.add_slider(
                joint.name, lower, upper, (upper - lower) / 400, float(np.clip(q[0, number], lower, upper))
            )
            slider.on_update(moved)
            sliders[number] = slider
        start = server.gui.add_button("back to the start")

    def back(_: Any) -> None:
        for number, slider in sliders.items():
            slider.value = float(q[0, number])
        state[:] = q
        show(state)

    start.on_click(back)


def _closed(robot: Any, q: Array) -> Array | None:
    """q with the loops of a system closed, or None; q itself of a robot."""
    if not getattr(robot, "constraints", ()):
        return q
    try:
        return np.asarray(robot.close(q))
    except ClosureError:
        return None


def _range(lower: float, upper: float, at: float) -> tuple[float, float]:
    """From where to where a slider goes: the joint's limits, or half a turn (half a metre) to both sides."""
    first = lower if np.isfinite(lower) else min(-np.pi, at)
    last = upper if np.isfinite(upper) else max(np.pi, at)
    return (float(first), float(last)) if last > first else (float(first) - 1e-3, float(last) + 1e-3)


class Player:
    """Plays a run on a page: play and pause, speed, and a slider for the time."""

    def __init__(self, server: Any, t: Array, show_at: Callable[[float], None]) -> None:
        self._first, self._last = first, last = float(t[0]), float(t[-1])
        self._show_at = show_at
        with server.gui.add_folder("run"):
            self._play = server.gui.add_button("pause")
            self._speed = server.gui.add_dropdown("speed", SPEEDS, initial_value="1")
            step = max((last - first) / 1000, 1e-9)
            self._time = server.gui.add_slider("time, s", first, max(last, first + step), step, first)
        self._playing, self._ended, self._at, self._told = True, threading.Event(), first, first
        self._play.on_click(lambda _: self._toggle())
        self._time.on_update(lambda _: self._scrubbed())
        self._thread = threading.Thread(target=self._loop, name="catena.view", daemon=True)
        self._thread.start()

    def _toggle(self) -> None:
        self._playing = not self._playing
        self._play.label = "pause" if self._playing else "play"

    def _scrubbed(self) -> None:
        """The slider was moved, by a person or by us."""
        if abs(self._time.value - self._told) > 1e-9:
            self._at = self._told = float(self._time.value)
            self._show_at(self._at)

    def _loop(self) -> None:
        first, last = self._first, self._last
        before = time.perf_counter()
        while not self._ended.wait(TICK):
            now = time.perf_counter()
            passed, before = now - before, now
            if not self._playing or last <= first:
                continue
            self._at += passed * float(self._speed.value)
            if self._at > last:
                self._at = first
            self._show_at(self._at)
            self._told = self._at
            self._time.value = self._at

    def stop(self) -> None:
        """End playing."""
        self._ended.set()
        self._thread.join(timeout=2.0)
