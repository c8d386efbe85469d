"""Memory of results is used again when nobody can see it any more, and never before."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import catena
from catena.kernels.call import results
from catena.kernels.call.results import new_result

F8 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Blocks of a few kilobytes, of which few are kept."""
    spare = results._Spare(10_000)
    monkeypatch.setattr(results, "LARGE", 1000)
    monkeypatch.setattr(results, "KEPT", 10_000)
    monkeypatch.setattr(results, "_spare", spare)
    monkeypatch.setattr(results._Lent.__del__, "__defaults__", (spare, results._Block))


def where(array):
    return array.ctypes.data


def test_memory_is_used_again():
    first = new_result((20, 10), F8)
    first[...] = 1
    at = where(first)
    del first
    second = new_result((10, 20), F8)
    assert where(second) == at
    assert type(second) is np.ndarray
    assert second.shape == (10, 20)
    assert second.dtype == F8
    assert second.flags.c_contiguous
    assert second.flags.aligned
    assert second.flags.writeable


def test_results_can_be_streamed_to():
    for count in (200, 333, 1000):
        assert where(new_result((count,), F8)) % results.LINE == results.OFFSET


@pytest.mark.parametrize(
    "view", [lambda a: a[3:5].T, lambda a: a.reshape(-1)[::2], memoryview], ids=["transposed", "steps", "memoryview"]
)
def test_what_is_held_is_left_alone(view):
    first = new_result((20, 10), F8)
    held, at = view(first), where(first)
    del first
    gc.collect()
    second = new_result((20, 10), F8)
    assert not np.shares_memory(np.asarray(held), second)
    del held
    assert where(new_result((20, 10), F8)) == at


def test_about_the_same_size_shares_memory_and_others_do_not():
    at = where(new_result((20, 10), F8))
    assert where(new_result((201,), F8)) == at
    assert where(other := new_result((20, 15), F8)) != at
    assert other.size == 300


def test_blocks_are_large_enough_and_little_too_large():
    for size in np.random.default_rng(0).integers(1, 2**28, 1000).tolist():
        assert size <= results._rounded(size) <= 1.125 * size + 1


def test_no_more_is_kept_than_agreed():
    held = [new_result((500,), F8) for _ in range(5)]
    del held[:]
    assert results._spare.bytes() == 2 * results._rounded(4000)
    del held
    new_result((1100,), F8)  # as large as two of those: it stays, they go
    assert results._spare.bytes() == results._rounded(8800)


def test_memory_can_be_released():
    new_result((500,), F8)
    assert results._spare.bytes()
    catena.release_memory()
    assert not results._spare.bytes()
    new_result((500,), F8)


@pytest.mark.parametrize("shape", [(100,), (2000,)], ids=["small", "huge"])
def test_other_arrays_are_ordinary(shape):
    assert new_result(shape, F8).base is None


def fill(rng, times):
    """Take and drop results of several sizes; True if none was of the wrong size or changed by somebody else."""
    held = []
    for i in range(times):
        made = new_result((int(rng.integers(130, 800)),), F8)
        made.fill(i)
        held.append((made, i))
        if len(held) > 3:
            array, value = held.pop(int(rng.integers(4)))
            if not (array == value).all() or array.base.base.size < array.nbytes:
                return False
    return True


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="needs timers")
def test_a_signal_handler_may_take_and_drop_results_at_any_moment():
    rng, seen = np.random.default_rng(1), []
    before = signal.signal(signal.SIGALRM, lambda *_: seen.append(fill(rng, 3)))
    signal.setitimer(signal.ITIMER_REAL, 2e-4, 2e-4)
    try:
        while len(seen) < 200:
            assert fill(np.random.default_rng(2), 50)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert all(seen)


def test_a_tracer_may_take_and_drop_results_at_any_line():
    rng, seen = np.random.default_rng(3), []

    def trace(frame, event, argument):
        if frame.f_code.co_filename == results.__file__:
            sys.settrace(None)
            seen.append(fill(rng, 2))
            sys.settrace(trace)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        assert fill(np.random.default_rng(4), 100)
    finally:
        sys.settrace(before)
    assert len(seen) > 100
    assert all(seen)


def test_the_collector_may_drop_results_at_any_moment():
    before = gc.get_threshold()
    gc.set_threshold(1, 1, 1)
    try:
        for i in range(300):
            cycle = [new_result((200 + i % 50,), F8)]
            cycle.append(cycle)
            assert fill(np.random.default_rng(i), 2)
    finally:
        gc.set_threshold(*before)


def test_threads_do_not_get_the_same_memory():
    seen = []
    team = [threading.Thread(target=lambda i=i: seen.append(fill(np.random.default_rng(i), 500))) for i in range(4)]
    for thread in team:
        thread.start()
    for thread in team:
        thread.join()
    assert seen == [True] * 4


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_takes_results_too():
    stop = threading.Event()

    def busy():
        while not stop.is_set():
            fill(np.random.default_rng(5), 20)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(10):
            child = os.fork()
            if not child:
                os._exit(17 if fill(np.random.default_rng(6), 20) else 1)
            assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
    finally:
        stop.set()
        thread.join()


AT_EXIT = """
import numpy as np
from catena.kernels.call.results import new_result
class Holder: pass
kept = new_result((2**18,), np.dtype(np.float64))
holder = Holder()
holder.itself, holder.result = holder, new_result((2**18,), np.dtype(np.float64))
"""


def test_results_that_are_alive_at_exit_end_quietly():
    ended = subprocess.run([sys.executable, "-c", AT_EXIT], capture_output=True, text=True, timeout=600, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
