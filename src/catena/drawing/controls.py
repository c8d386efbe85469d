"""The controls of a page: sliders for joints, buttons to play a run."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ClosureError

Array = npt.NDArray[Any]

MOST_SLIDERS = 24
"""Joints that have a slider at a time; of more, one chooses which."""
TICK = 1 / 30
"""Seconds between two pictures of a run."""
HALF_TURN = 3.15
"""In rad, and a little more."""
SPEEDS = ("0.1", "0.25", "0.5", "1", "2", "5")


class JointSliders:
    """Sliders for the joints with one coordinate, within their limits; they move all samples.

    Of a system, the loops are closed again after each move; where that is not possible the picture stays as it was.

    Args:
        server: of viser.
        robot: a Robot or a System.
        q: configurations to start from, (samples, nq).
        show: shows others.
    """

    def __init__(self, server: Any, robot: Any, q: Array, show: Callable[[Array], None]) -> None:
        self._robot, self._start, self._show = robot, q, show
        self._state, self._first = np.array(q), 0
        self._joints = [joint for joint in robot.joints if joint.q_slice.stop == joint.q_slice.start + 1]
        self.sliders: list[Any] = []
        if not self._joints:
            return
        with server.gui.add_folder("joints"):
            if len(self._joints) > MOST_SLIDERS:
                self._choice = server.gui.add_dropdown("which", self._chunks())
                self._choice.on_update(lambda _: self._turn_to(int(self._choice.value.split()[0]) - 1))
            for joint in self._joints[:MOST_SLIDERS]:
                lower, upper, step, at = self._span(joint)
                self.sliders.append(server.gui.add_slider(joint.name, lower, upper, step, at))
                self.sliders[-1].on_update(self._moved)
            server.gui.add_button("back to the start").on_click(self._back)

    def _chunks(self) -> list[str]:
        """Which joints can be chosen together, in words that begin with the number of the first."""
        count = len(self._joints)
        return [f"{k + 1} to {min(k + MOST_SLIDERS, count)}" for k in range(0, count, MOST_SLIDERS)]

    def _span(self, joint: Any) -> tuple[float, float, float, float]:
        """From where to where the slider of a joint goes, by how much, and where it is."""
        at = float(self._state[0, joint.q_slice.start])
        lower, upper = _range(joint.lower, joint.upper, at)
        return lower, upper, (upper - lower) / 400, float(np.clip(at, lower, upper))

    @property
    def _shown(self) -> Iterator[tuple[Any, Any]]:
        """Joints that have a slider now, and these."""
        return zip(self._joints[self._first :], self.sliders, strict=False)

    def _turn_to(self, first: int) -> None:
        """Other joints get the sliders."""
        self._first = first
        self._settle()

    def _settle(self) -> None:
        """Let the sliders say what is shown; those without a joint are hidden."""
        for slider in self.sliders:
            slider.visible = False
        for joint, slider in self._shown:
            lower, upper, step, at = self._span(joint)
            slider.label, slider.min, slider.max, slider.step, slider.value = joint.name, lower, upper, step, at
            slider.visible = True

    def _moved(self, event: Any) -> None:
        """A slider was moved: by a person, if there is a client; the others follow where loops make them."""
        if event.client_id is None:
            return
        wanted = self._state.copy()
        moved = next(joint for joint, slider in self._shown if slider is event.target)
        wanted[:, moved.q_slice] = event.target.value
        closed = _closed(self._robot, wanted, moved)
        if closed is None:
            return
        for joint, slider in self._shown:
            if slider is not event.target and closed[0, joint.q_slice.start] != self._state[0, joint.q_slice.start]:
                slider.value = float(closed[0, joint.q_slice.start])
        self._state[:] = closed
        self._show(self._state)

    def _back(self, _: Any) -> None:
        """To the start."""
        self._state[:] = self._start
        self._settle()
        self._show(self._state)


def _closed(robot: Any, q: Array, moved: Any) -> Array | None:
    """q with the loops of a system closed by all joints but the one that was moved, or None; q itself of a robot."""
    if not getattr(robot, "constraints", ()):
        return q
    try:
        return np.asarray(robot.close(q, fixed=[moved.name]))
    except ClosureError:
        return None


def _range(lower: float, upper: float, at: float) -> tuple[float, float]:
    """From where to where a slider goes: the joint's limits, or half a turn (some metres) to both sides."""
    first = lower if np.isfinite(lower) else min(-HALF_TURN, at)
    last = upper if np.isfinite(upper) else max(HALF_TURN, at)
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
