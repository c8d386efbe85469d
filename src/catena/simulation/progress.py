"""A bar that shows how far a long simulation has come."""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

PATIENCE = 2.0
"""Seconds that a simulation must be expected to take in all for a bar to be shown."""


class Bar:
    """Shown when `wanted`, or if that is None, on a terminal when it takes long."""

    def __init__(self, duration: float, wanted: bool | None) -> None:
        self._duration, self._began = duration, time.perf_counter()
        self._bar: Any = None
        self._wanted = sys.stderr is not None and sys.stderr.isatty() if wanted is None else wanted
        self._patience = PATIENCE if wanted is None else 0.0
        self._task: Any = None

    def at(self, t: float) -> None:
        """The simulation has come to the time t."""
        if not self._wanted or t <= 0:
            return
        if self._bar is None:
            if (time.perf_counter() - self._began) * self._duration / t < self._patience:
                return
            self._open()
        self._bar.update(self._task, completed=t)

    def _open(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        columns = TextColumn("{task.completed:.3g} of {task.total:g} s"), BarColumn(), TimeRemainingColumn()
        self._bar = Progress(*columns, console=Console(stderr=True), transient=True)
        self._bar.start()
        self._task = self._bar.add_task("", total=self._duration)

    def __enter__(self) -> Bar:
        return self

    def __exit__(self, kind: type | None, error: BaseException | None, trace: TracebackType | None) -> None:
        if self._bar is not None:
            self._bar.stop()
