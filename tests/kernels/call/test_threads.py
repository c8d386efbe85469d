"""The helper threads: everybody works, errors arrive, nobody is waited for in vain, forks start afresh."""

from __future__ import annotations

import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

import catena
from catena.errors import CatenaError
from catena.kernels.call.threads import Team, current_team, get_threads, run_shared, set_threads


def is_caller():
    return threading.get_ident() == threading.main_thread().ident


def test_setting():
    assert get_threads() >= 1
    set_threads(3)
    assert get_threads() == 3
    set_threads(None)
    assert get_threads() <= (os.cpu_count() or 1)


@pytest.mark.parametrize("count", [0, -1, 1.5, True, "2"])
def test_wrong_setting(count):
    with pytest.raises(CatenaError, match="positive integer"):
        set_threads(count)


def test_all_work_and_all_is_done():
    pieces, done, names = itertools.count(), [], set()
    gate = threading.Barrier(3)

    def work():
        names.add(threading.get_ident())
        gate.wait(timeout=30)
        while (piece := next(pieces)) < 1000:
            done.append(piece)

    run_shared(work, 3)
    assert sorted(done) == list(range(1000))
    assert len(names) == 3


def test_the_caller_does_not_wait_for_helpers_that_are_busy_elsewhere():
    release = threading.Event()
    inside = threading.Barrier(3)

    def occupy():
        inside.wait(timeout=30)
        release.wait(timeout=30)

    occupier = threading.Thread(target=run_shared, args=(occupy, 2))
    occupier.start()
    inside.wait(timeout=30)
    ran = []
    run_shared(lambda: ran.append(1), 2)
    assert ran == [1]
    release.set()
    occupier.join()


def test_begun_helpers_are_waited_for():
    began, finished = threading.Event(), []

    def work():
        if is_caller():
            assert began.wait(timeout=30)
        else:
            began.set()
            time.sleep(0.05)
            finished.append(1)

    run_shared(work, 2)
    assert finished == [1]


def test_with_a_way_to_tell_helpers_are_not_waited_for():
    began, release, told = threading.Event(), threading.Event(), []

    def work():
        if is_caller():
            assert began.wait(timeout=30)
        else:
            began.set()
            release.wait(timeout=30)

    assert current_team().run(work, 2, lambda: told.append(1))
    assert told == [1]
    release.set()


@pytest.mark.parametrize("guilty", ["caller", "helper"])
def test_errors_arrive(guilty):
    both = threading.Barrier(2)

    def work():
        both.wait(timeout=30)
        if is_caller() == (guilty == "caller"):
            raise ZeroDivisionError("here")

    with pytest.raises(ZeroDivisionError, match="here"):
        run_shared(work, 2)


FORKED = """
import os, threading
from catena.kernels.call.threads import run_shared
def both():
    gate = threading.Barrier(2)
    run_shared(lambda: gate.wait(timeout=30), 2)
both()
child = os.fork()
both()
if not child:
    os._exit(17)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 17
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_has_helpers_of_its_own():
    command = [sys.executable, "-W", "ignore", "-c", FORKED]
    result = subprocess.run(command, capture_output=True, timeout=600, check=False)
    assert result.returncode == 0, result.stderr.decode()


def helpers():
    """How many helper threads there are; other tests may have left threads of other kinds."""
    return sum(_outermost(frame).f_code is Team._help.__code__ for frame in sys._current_frames().values())


def _outermost(frame):
    while frame.f_back is not None:
        frame = frame.f_back
    return frame


def work_together(count):
    gate = threading.Barrier(count)
    run_shared(lambda: gate.wait(timeout=30), count)


def wait_for(count):
    deadline = time.monotonic() + 30
    while helpers() != count and time.monotonic() < deadline:
        time.sleep(0.005)
    return helpers() == count


def test_helpers_end_when_fewer_are_asked_for():
    set_threads(5)
    work_together(5)
    set_threads(3)
    assert wait_for(2)
    set_threads(3)
    set_threads(1)
    assert wait_for(0)
    work_together(3)
    assert helpers() == 2


def test_helpers_end_when_memory_is_released():
    work_together(3)
    catena.release_memory()
    assert wait_for(0)
    work_together(3)


def test_a_busy_helper_finishes_what_it_does_before_it_ends():
    began, release, finished = threading.Event(), threading.Event(), []

    def work():
        if is_caller():
            assert began.wait(timeout=30)
            set_threads(1)
            release.set()
        else:
            began.set()
            release.wait(timeout=30)
            finished.append(1)

    run_shared(work, 2)
    assert finished == [1]
    assert wait_for(0)


def test_without_threads_from_the_system_the_caller_works_alone(monkeypatch):
    set_threads(1)
    assert wait_for(0)

    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr("catena.kernels.call.threads.start_new_thread", refuse)
    ran = []
    run_shared(lambda: ran.append(1), 4)
    assert ran == [1]
    monkeypatch.undo()
    work_together(3)
