"""Threads that share the work on a batch.

Helpers are threads that sleep until there is a job; machine code listens for the next one before they fall asleep. A
caller posts its job, works on it itself and, when nothing is left to take, waits for the pieces that helpers took: one
that wakes too late finds the job closed.
"""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable
from queue import SimpleQueue

from catena.errors import CatenaError

_chosen: int | None = None


def set_threads(count: int | None) -> None:
    """Set how many threads may share the work of one call, for the whole process.

    `count` is a number from 1 on; None, which holds at the start, means one for each processor that this process may
    run on. Small batches run on the caller's thread alone, whatever the number. Results do not depend on it, bit by
    bit. Helper threads that are too many now end when they have nothing to do.
    """
    global _chosen
    if count is not None and (isinstance(count, bool) or not isinstance(count, int) or count < 1):
        raise CatenaError(f"the number of threads must be a positive integer or None, not {count!r}")
    _chosen = count
    _team.shrink(get_threads() - 1)


def get_threads() -> int:
    """The number of threads that may share the work of one call; see `set_threads`."""
    if _chosen is not None:
        return _chosen
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def run_shared(work: Callable[[], None], threads: int, finish: Callable[[], None] | None = None) -> None:
    """Run ``work`` in this thread and in up to ``threads - 1`` others at once; return when all is done.

    ``work`` takes pieces of a common task until none is left, so it doesn't matter how many threads come. If it raises
    in a helper, the first such error is raised here, after everybody has stopped. ``finish``, if given, waits until all
    pieces are done, which is sooner than when the helpers have stopped; then only errors before a piece is taken may
    happen, and those of helpers do not matter.
    """
    if threads <= 1:
        work()
        return
    job = _Job(work)
    try:
        _team.post(job, threads - 1)
        work()
        if finish is not None:
            finish()
            job.closed = True
            return
    finally:
        if not job.closed:
            job.close()
    if job.error is not None:
        raise job.error


def end_helpers() -> None:
    """Have all helper threads end as soon as they have nothing to do; calls that need some start others."""
    _team.shrink(0)


def bell_address() -> int:
    """The counter that the helpers listen to; it is to grow when a caller begins to work, having let go of the GIL."""
    return ctypes.addressof(_team.bell)


class _Job:
    """Work that others may join until it is closed."""

    def __init__(self, work: Callable[[], None]) -> None:
        self.error: BaseException | None = None
        self._work = work
        self._lock = threading.Lock()
        self._running = 0
        self.closed = False
        self._idle = threading.Lock()

    def join_in(self) -> None:
        """Work along, unless the job is over."""
        with self._lock:
            if self.closed:
                return
            if not self._running:
                self._idle.acquire()
            self._running += 1
        try:
            self._work()
        except BaseException as error:
            self.error = self.error or error
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._idle.release()

    def close(self) -> None:
        """Let nobody else begin and wait for those who have."""
        with self._lock:
            self.closed = True
        with self._idle:
            pass


class _Team:
    """The helper threads of this process, started when first needed.

    There is no lock, which a signal handler could wait for in vain: jobs and places are taken and given in one step.
    Callers that come at the same time may start more helpers than one of them needs.
    """

    def __init__(self) -> None:
        self.bell = ctypes.c_int64()
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()  # None tells one helper to end
        self._places: list[None] = []  # one for each helper that has not been told to end

    def post(self, job: _Job, helpers: int) -> None:
        """Offer a job to so many helpers, or to as many as there can be."""
        while len(self._places) < helpers:
            self._places.append(None)
            try:
                threading.Thread(target=self._help, args=(self._jobs,), name="catena", daemon=True).start()
            except RuntimeError:  # the system gives no more threads
                self._leave()
                break
        for _ in range(min(helpers, len(self._places))):
            self._jobs.put(job)

    def shrink(self, helpers: int) -> None:
        """Keep no more helpers than this; the others end when they have done what was asked of them before."""
        while len(self._places) > helpers and self._leave():
            self._jobs.put(None)

    def _leave(self) -> bool:
        """Give up a place, unless somebody else was quicker to give up the last one."""
        try:
            self._places.pop()
        except IndexError:
            return False
        return True

    @staticmethod
    def _help(jobs: SimpleQueue[_Job | None]) -> None:
        while _joined_next(jobs):
            pass


def _joined_next(jobs: SimpleQueue[_Job | None]) -> bool:
    """Wait for the next job and work on it; nothing of it is held while the next one is waited for."""
    job = jobs.get()
    if job is None:
        return False
    job.join_in()
    return True


_team = _Team()


def _forget_helpers() -> None:
    """A forked child has none of its parent's threads."""
    global _team
    _team = _Team()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_helpers)
