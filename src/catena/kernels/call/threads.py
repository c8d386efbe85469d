"""Threads that share the work on a batch.

Helpers are threads that sleep until there is a job; machine code listens for the next one before they fall asleep. A
caller posts its job, works on it itself and, when nothing is left to take, waits for the pieces that helpers took: one
that wakes too late finds the job closed.

A process may fork at any moment, also in a signal handler in the middle of a call. In the child the call goes on
without the helpers, and computes again alone.
"""

from __future__ import annotations

import ctypes
import os
import threading
from _thread import start_new_thread
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from queue import Empty, SimpleQueue

from catena.errors import CatenaError, shown
from catena.kernels.call.processors import processors

LOST = -(2**62)
"""What a bell says in a forked child. Those who ring it add little."""

LOOK_AGAIN = 0.05
"""Seconds after which one who waits for helpers looks whether this is a forked child."""

_chosen: int | None = None
_here = threading.local()


def set_threads(count: int | None) -> None:
    """Set how many threads may share the work of one call, for the whole process.

    `count` is a number from 1 on; None, which holds at the start, means one for each processor that this process may
    run on, and no more than the quota of its container grants. Small batches run on the caller's thread alone, whatever
    the number. Results do not depend on it, bit by bit. Helper threads that are too many now end when they have nothing
    to do.
    """
    global _chosen
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise CatenaError(f"the number of threads must be a positive integer or None, not {shown(count)}")
    _chosen = count
    _team.shrink(get_threads() - 1)


@contextmanager
def on_one_thread() -> Iterator[None]:
    """Inside, calls of this thread are computed by it alone."""
    before, _here.alone = getattr(_here, "alone", False), True
    try:
        yield
    finally:
        _here.alone = before


def get_threads() -> int:
    """The number of threads that may share the work of one call; see `set_threads`."""
    if getattr(_here, "alone", False):
        return 1
    if _chosen is not None:
        return _chosen
    return processors()


def run_shared(work: Callable[[], None], threads: int) -> bool:
    """Run ``work`` in this thread and in up to ``threads - 1`` others at once: see :meth:`Team.run`."""
    return _team.run(work, threads)


def current_team() -> Team:
    """The helpers of this process."""
    return _team


def end_helpers() -> None:
    """Have all helper threads end as soon as they have nothing to do; calls that need some start others."""
    _team.shrink(0)


class Team:
    """The helper threads of a process, started when first needed.

    There is no lock, which a signal handler or a forked child could wait for in vain: jobs and places are taken and
    given in one step. Callers that come at the same time may start more helpers than one of them needs. A child has
    none of its parent's threads and gets a team of its own; nobody in it ever works for the parent's.
    """

    def __init__(self) -> None:
        self._bell = ctypes.c_int64()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()  # None tells one helper to end
        self._places: list[None] = []  # one for each helper that has not been told to end

    @property
    def bell_address(self) -> int:
        """The counter that helpers listen to, and that grows when a caller begins to work, having let go of the GIL.

        It is below zero in a forked child.
        """
        return ctypes.addressof(self._bell)

    def run(self, work: Callable[[], None], threads: int, finish: Callable[[], None] | None = None) -> bool:
        """Run ``work`` in this thread and in up to ``threads - 1`` others at once; return when all is done.

        ``work`` takes pieces of a common task until none is left, so it doesn't matter how many threads come. If it
        raises in a helper, the first such error is raised here, after everybody has stopped. ``finish``, if given,
        waits until all pieces are done, which is sooner than when the helpers have stopped; then only errors before a
        piece is taken may happen, and those of helpers do not matter.

        The result is False in a child that was forked meanwhile, where pieces that helpers had taken are not done.
        """
        if threads <= 1:
            work()
            return True
        job = _Job(work)
        try:
            self._post(job, threads - 1)
            work()
            if finish is not None:
                finish()
                job.closed = True
        finally:
            if not job.closed:
                job.close(self)
        if finish is None and job.error is not None and self.present:
            raise job.error
        return self.present

    @property
    def present(self) -> bool:
        """Whether this is the team of this process, not of the one that it was forked from."""
        return self is _team

    def shrink(self, helpers: int) -> None:
        """Keep no more helpers than this; the others end when they have done what was asked of them before."""
        while len(self._places) > helpers and self._leave():
            self._jobs.put(None)

    def lost(self) -> None:
        """Let nobody wait for helpers that a forked child doesn't have."""
        self._bell.value = LOST

    def _post(self, job: _Job, helpers: int) -> None:
        """Offer a job to so many helpers, or to as many as there can be."""
        while len(self._places) < helpers:
            self._places.append(None)
            try:
                start_new_thread(self._help, ())  # a Thread would wait for its start, a forked child for ever
            except (RuntimeError, MemoryError):  # the system gives no more threads
                self._leave()
                break
        for _ in range(min(helpers, len(self._places))):
            self._jobs.put(job)

    def _leave(self) -> bool:
        """Give up a place, unless somebody else was quicker to give up the last one."""
        try:
            self._places.pop()
        except IndexError:
            return False
        return True

    def _help(self) -> None:
        while self.present and self._joined_next():
            pass

    def _joined_next(self) -> bool:
        """Wait for the next job and work on it; nothing of it is held while the next one is waited for."""
        job = self._jobs.get()
        if job is None or not self.present:
            return False
        job.join_in()
        return True


class _Job:
    """Work that others may join until it is closed."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self.closed = False
        self._work = work
        self._inside: list[None] = []  # one for each helper at work
        self._left: SimpleQueue[None] = SimpleQueue()

    def join_in(self) -> None:
        """Work along, unless the job is over."""
        self._inside.append(None)  # first: who closes the job looks here afterwards
        try:
            if not self.closed:
                self._work()
        except BaseException as error:
            self.error = self.error or error
        finally:
            self._inside.pop()
            self._left.put(None)

    def close(self, team: Team) -> None:
        """Let nobody else begin and wait for those who have, but not for those that a fork has left behind."""
        self.closed = True
        while self._inside and team.present:
            with suppress(Empty):
                self._left.get(timeout=LOOK_AGAIN)


_team = Team()


def _forget_helpers() -> None:
    """A forked child has none of its parent's threads."""
    global _team
    _team.lost()
    _team = Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)
