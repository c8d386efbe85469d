"""Memory of large results is used again when nobody can see it any more, and never before."""

from __future__ import annotations

import gc
import os
import signal
import threading
import time

import numpy as np
import pytest

from catena.kernels.call import results
from catena.kernels.call.results import new_result

F8 = np.dtype(np.float64)


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(results, "LARGE", 1000)
    monkeypatch.setattr(results, "KEPT", 10_000)
    monkeypatch.setattr(results, "_spare", results._Spare())


def where(array):
    return array.ctypes.data


def test_memory_is_used_again():
    first = new_result((20, 10), F8)
    first[...] = 1
    at = where(first)
    del first
    second = new_result((10, 20), F8)
    assert where(second) == at
    assert second.shape == (10, 20)
    assert second.dtype == F8
    assert second.flags.c_contiguous
    assert second.flags.writeable


def test_what_is_held_is_left_alone():
    first = new_result((20, 10), F8)
    view = first[3:5].T
    at = where(first)
    del first
    gc.collect()
    second = new_result((20, 10), F8)
    assert not np.shares_memory(view, second)
    del view
    assert where(new_result((20, 10), F8)) == at


def test_other_sizes_get_other_memory():
    at = where(new_result((20, 10), F8))
    assert where(other := new_result((20, 11), F8)) != at
    assert other.size == 220


def test_no_more_is_kept_than_agreed():
    held = [new_result((500,), F8) for _ in range(5)]
    del held[:]
    assert sum(block.nbytes for block in results._spare._blocks) == 2 * (4000 + results.LINE)


@pytest.mark.parametrize("shape", [(100,), (2000,)], ids=["small", "huge"])
def test_other_arrays_are_ordinary(shape):
    assert new_result(shape, F8).base is None


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_is_not_locked_out():
    holds, release = threading.Event(), threading.Event()

    def hold():
        with results._spare._lock:
            holds.set()
            release.wait(30)

    holder = threading.Thread(target=hold)
    holder.start()
    assert holds.wait(30)
    child = os.fork()
    if not child:
        new_result((20, 10), F8)
        os._exit(17)
    release.set()
    holder.join()
    deadline = time.monotonic() + 30
    while not (ended := os.waitpid(child, os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    assert os.waitstatus_to_exitcode(ended[1]) == 17
