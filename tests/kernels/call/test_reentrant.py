"""Python that runs in the middle of a call, in conversions, handlers, finalizers and threads, disturbs nothing."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import warnings

import numpy as np
import pytest
from tests.kernels.handmade import Machine

from catena.arguments.arrays import Port
from catena.kernels.call import books, results, scratch
from catena.kernels.call.books import Made
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.words import Book, Given

N = 5


@pytest.fixture
def machine(multiply_add):
    kernel = multiply_add(N)
    made = Machine(kernel)
    made.multiply_add(1.0, np.ones(N), np.ones(N))
    return made


class Acts:
    """A number that does something when it is converted."""

    def __init__(self, action):
        self.action = action

    def __array__(self, dtype=None, copy=None):
        self.action()
        return np.array(2.0)

    def __float__(self):
        return 2.0


def as_integers(x):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        x.dtype = np.int64


def test_an_argument_that_changes_while_another_is_converted_is_looked_at_again(machine):
    x = np.arange(N) + 0.5
    once = iter([as_integers])
    action = Acts(lambda: next(once, lambda _: None)(x))
    y, _ = machine.multiply_add(np.array(1.0), x, [action] * N)
    np.testing.assert_array_equal(y, x + 2.0)
    assert x.dtype == np.int64


def test_an_argument_that_loses_its_memory_while_another_is_converted_is_looked_at_again(machine):
    x = np.arange(float(N))
    action = Acts(lambda: (x.resize(N, refcheck=False), as_integers(x)) if x.dtype == float else None)
    y, _ = machine.multiply_add(np.array(1.0), x, [action] * N)
    np.testing.assert_array_equal(y, x + 2.0)


MAPPING = """
import numpy as np
import catena
robot = catena.random_tree(1, 12)
q, v, tau = robot.neutral(), np.zeros(robot.nv), np.zeros(robot.nv)
names = [link.name for link in robot.links]
class Grows:
    def __array__(self, dtype=None, copy=None):
        for name in names[1:8]:
            mapping.setdefault(name, [1.0] * 6)
        return np.array(1.0)
    def __float__(self):
        return 1.0
mapping = {names[0]: [1.0] * 6}
robot.forward_dynamics(q, v, tau, f_ext=mapping)
expected = robot.forward_dynamics(q, v, tau, f_ext={name: [1.0] * 6 for name in names[:8]})
for _ in range(20):
    mapping = {names[0]: [Grows(), 1.0, 1.0, 1.0, 1.0, 1.0]}
    try:
        answer = robot.forward_dynamics(q, v, tau, f_ext=mapping)
        assert np.allclose(answer, expected)
    except (catena.errors.CatenaError, RuntimeError):
        pass
"""


@pytest.mark.parametrize("allocator", ["", "malloc"])
def test_wrenches_that_change_while_they_are_converted(allocator):
    environment = {**os.environ, "PYTHONMALLOC": allocator, "MALLOC_PERTURB_": "85"}
    command = [sys.executable, "-X", "faulthandler", "-c", MAPPING]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False, env=environment)
    assert ended.returncode == 0, ended.stderr


def read(table: dict[str, int], kept: list[Made]) -> list[int]:
    """The numbers of the procedures in a book, as the emitted call would find them."""
    words = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int64 * 1).from_address(table["book"]))
    entries = int(words[Book.ENTRIES])
    size = Book.SIZE + 3 * entries
    whole = np.ctypeslib.as_array((np.ctypeslib.ctypes.c_int64 * size).from_address(table["book"]))
    by_address = {made.address: i for i, made in enumerate(kept)}
    rows = whole[Book.SIZE :].reshape(-1, 3)
    assert all(by_address[row[0]] * 10 == row[1] and row[2] == Given.ARRAY for row in rows.tolist())
    return sorted(by_address[row[0]] for row in rows.tolist())


def added(book, table, kept, number):
    kept.append(Made(np.zeros(1, dtype=np.int64), ()))
    book.add([number, Given.ARRAY], kept[-1], -1, lambda address: table.update(book=address))


@pytest.fixture
def plain_keys(monkeypatch):
    """Keys are written as the numbers they are."""
    monkeypatch.setattr(books, "id", int, raising=False)


def test_books_that_are_added_to_at_any_line_lose_nothing(plain_keys):
    book, table, kept, stop = books.BookOfAnswers(2), {}, [], 60

    def trace(frame, event, argument):
        if frame.f_code.co_filename == books.__file__ and len(kept) < stop:
            sys.settrace(None)
            added(book, table, kept, 10 * len(kept))
            read(table, kept)
            sys.settrace(trace)
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        added(book, table, kept, 0)
    finally:
        sys.settrace(before)
    assert read(table, kept) == list(range(stop))


def test_threads_that_ask_for_the_first_time_at_once_all_get_their_answers(multiply_add):
    for _ in range(20):
        machine, wrong = Machine(multiply_add(N)), []
        gate = threading.Barrier(4)

        def ask(i, machine=machine, wrong=wrong, gate=gate):
            gate.wait(timeout=30)
            for k in range(30):
                y, _ = machine.multiply_add(1.0, np.full(N, i), np.full(N, float(k)), f"way {i} {k}")
                if not (y == i + k).all():
                    wrong.append((i, k))

        team = [threading.Thread(target=ask, args=(i,)) for i in range(4)]
        for thread in team:
            thread.start()
        for thread in team:
            thread.join()
        assert not wrong
        machine.chosen.clear()
        for i in range(4):
            machine.multiply_add(1.0, np.ones(N), np.ones(N), f"way {i} 7")
        assert not machine.chosen


def test_views_and_copies_of_an_owner_do_not_give_its_memory_away():
    result = results.new_result((2**17,), np.dtype(np.float64))
    owner = result.base
    before = results._spare.bytes()
    for other in (owner[1:], owner + 1, owner.copy(), owner.view(), owner[:3].reshape(3, 1)):
        assert other.size
    del other
    assert results._spare.bytes() == before
    result.fill(7)
    again = results.new_result((2**17,), np.dtype(np.float64))
    again.fill(8)
    assert (result == 7).all()


def test_scratch_may_be_borrowed_while_large_blocks_are_released(monkeypatch):
    monkeypatch.setattr(scratch, "_spare", {})
    monkeypatch.setattr(scratch, "LARGE", 2**16)

    def trace(frame, event, argument):
        if frame.f_code.co_filename == scratch.__file__ and frame.f_code.co_name == "release_large":
            sys.settrace(None)
            scratch.give_back(scratch.borrow(2**16 + len(scratch._spare) + 1))
            sys.settrace(trace)
        return trace

    for size in (2**16, 2**17, 2**18):
        scratch.give_back(scratch.borrow(size))
    before = sys.gettrace()
    sys.settrace(trace)
    try:
        scratch.release_large()
    finally:
        sys.settrace(before)


def test_more_questions_than_there_is_room_for_are_answered_by_python(monkeypatch, multiply_add):
    from tests.kernels import handmade

    monkeypatch.setattr("catena.kernels.call.emitted.QUESTIONS", 0)

    class Late(handmade.Machine):
        @handmade.question(handmade._square)
        def square(self, x, name, *, out=None):
            """The square of a number."""

    kernel = Kernel("k", multiply_add(N).module, [Port("a", ()), Port("x", (N,)), Port("b", (N,))], [Port("y", (N,))])
    assert type(Late.square) is not type(Late.multiply_add)
    assert Late(kernel).multiply_add is not None
