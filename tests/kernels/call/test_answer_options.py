"""The emitted call with keywords and options: told apart, known again, the same errors as Python."""

from __future__ import annotations

import numpy as np
import pytest
from tests.kernels.call.answering import arguments, assert_same
from tests.kernels.handmade import Machine

from catena.kernels.call import layout
from catena.kernels.call.books import MOST

pytestmark = pytest.mark.skipif(layout.python_api() is None, reason="the general path serves on this Python")


def test_keywords(kernel, machine, asked):
    a, x, b = given = arguments(kernel.dtype, (), (), ())
    expected = kernel(*given)
    ask = machine.multiply_add
    for results in (ask(a, x, b=b), ask(b=b, a=a, x=x), ask(a, b=b, x=x), ask(a, x, b, "plainly", links=None)):
        assert_same(results, expected)
    assert not asked
    assert_same(ask(**{"a": a, "x": x, "".join(["", "b"]): b}), expected)


def test_wrong_calls_are_errors_of_python(machine, kernel):
    a, x, b = arguments(kernel.dtype, (), (), ())
    ask = machine.multiply_add
    for call, message in (
        (lambda: ask(), "missing 3 required"),
        (lambda: ask(a, x), "missing 1 required"),
        (lambda: ask(a, x, b, "how", 1), "positional arguments"),
        (lambda: ask(a, x, b, nonsense=1), "unexpected keyword"),
        (lambda: ask(a, x, b, a=a), "multiple values"),
        (lambda: Machine.multiply_add(), "missing"),
        (lambda: Machine.multiply_add(5, a, x, b), "asked of"),
    ):
        with pytest.raises(TypeError, match=message):
            call()


def equal_but_not_the_same(word):
    return "".join([word[:1], word[1:]])


OPTIONS = {
    "word": ("straight", equal_but_not_the_same("straight")),
    "number": (10**6, int("1000000")),
    "list": (["a", "b"], [equal_but_not_the_same("a"), "b"]),
    "tuple": (("a", 2), (equal_but_not_the_same("a"), 2)),
    "type": (np.float32, np.float32),
    "nothing": (None, None),
}


@pytest.mark.parametrize("option", OPTIONS)
def test_options_are_known_again(kernel, machine, asked, option):
    given = arguments(kernel.dtype, (), (), ())
    first, again = OPTIONS[option]
    machine.multiply_add(*given, first)
    before = len(asked)
    for value in (first, again):
        assert_same(machine.multiply_add(*given, value), kernel(*given))
        assert_same(machine.multiply_add(*given, how=value), kernel(*given))
    assert len(asked) == before
    assert machine.chosen[-1]["how"] == first


def test_options_that_differ_are_told_apart(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    values = [0, False, 0.0, "0", "", (), [], ["0"], ("0",), None, 1, True, "a", "ab", ["a"], ["a", "b"]]
    for value in values:
        machine.multiply_add(*given, value)
    assert [(type(c["how"]), c["how"]) for c in machine.chosen[1:]] == [(type(v), v) for v in values]


def test_a_list_that_changes_afterwards(kernel, machine):
    given, names = arguments(kernel.dtype, (), (), ()), ["a"]
    machine.multiply_add(*given, names)
    names.append("b")
    machine.multiply_add(*given, names)
    assert [c["how"] for c in machine.chosen[1:]] == [["a"], ["a", "b"]]


def test_options_that_cannot_be_compared(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    odd = [np.ones(3)]
    for _ in range(2):
        assert_same(machine.multiply_add(*given, odd), kernel(*given))
    machine.multiply_add(*given, [1])
    assert_same(machine.multiply_add(*given, [np.ones(2)]), kernel(*given))


def test_more_options_than_a_book_holds(kernel, machine):
    given = arguments(kernel.dtype, (), (), ())
    for i in range(MOST + 20):
        assert_same(machine.multiply_add(*given, f"name {i}"), kernel(*given))
    for i in (0, 5, MOST - 1, MOST + 10):
        assert_same(machine.multiply_add(*given, f"name {i}"), kernel(*given))
