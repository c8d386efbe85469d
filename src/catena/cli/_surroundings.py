"""What commands run in: streams that may be closed, full or of few characters, and signals that end them."""

from __future__ import annotations

import io
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))
"""Signals that are taken as Ctrl-C is: by themselves they would leave files half-written."""
CAN_FAIL = ("strict", "surrogateescape")
"""Ways to handle characters that a stream cannot show, by which printing may fail."""


def show_every_character() -> None:
    """Let standard output show characters that its encoding lacks by their codes, as stderr does; no error."""
    if isinstance(sys.stdout, io.TextIOWrapper) and sys.stdout.errors in CAN_FAIL:
        sys.stdout.reconfigure(errors="backslashreplace")


def drop_what_is_left() -> None:
    """Give up what the streams still hold: Python would try to write it once more when it ends, and complain."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(AttributeError, OSError, ValueError):  # closed, or of no file
            _drop(stream)


def _drop(stream: Any) -> None:
    try:
        stream.flush()
    except OSError:
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


@contextmanager
def ended_as_by_ctrl_c() -> Iterator[None]:
    """Signals that ask the process to end raise KeyboardInterrupt here, unless somebody else handles them."""
    before: dict[Any, Any] = {}
    if threading.current_thread() is threading.main_thread():
        ours = [number for number in ENDING if signal.getsignal(number) is signal.SIG_DFL]
        before = {number: signal.signal(number, signal.default_int_handler) for number in ours}
    try:
        yield
    finally:
        for number, handler in before.items():
            with suppress(ValueError):
                signal.signal(number, handler)
