"""Names by pattern behave like the tuple they stand for."""

from __future__ import annotations

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.model.names import Names, freeze_names


def test_like_a_tuple() -> None:
    names, plain = Names("link{}", 4, start=9), ("link9", "link10", "link11", "link12")
    assert tuple(names) == plain
    assert names == plain
    assert hash(names) == hash(plain)
    assert (names[0], names[-1], names[1:3]) == ("link9", "link12", plain[1:3])
    assert names.index("link11") == 2
    assert "link12" in names
    assert pickle.loads(pickle.dumps(names)) == names


@pytest.mark.parametrize("other", ["link8", "link13", "link09", "link", "link-9", "link9 ", "xlink9", "link９", 9])
def test_others_are_not_among_them(other: object) -> None:
    assert other not in Names("link{}", 4, start=9)


def test_unknown_index() -> None:
    with pytest.raises(ValueError, match="link3"):
        Names("link{}", 3).index("link3")
    with pytest.raises(IndexError):
        Names("link{}", 3)[3]


@pytest.mark.parametrize("pattern", ["a1{}", "a{}b2"])
def test_a_list_of_names_has_one_pattern(pattern: str) -> None:
    with pytest.raises(ValueError, match="number"):
        Names(pattern, 3)


@given(st.lists(st.text("ab{}12²", max_size=4), max_size=4))
def test_freezing_keeps_the_names(names: list[str]) -> None:
    assert tuple(freeze_names(names)) == tuple(names)


@given(st.text("ab{}1²", max_size=3), st.text("ab²", max_size=2), st.integers(1, 5), st.integers(0, 10**17))
def test_freezing_finds_every_pattern(prefix: str, suffix: str, count: int, start: int) -> None:
    if "{}" in f"{prefix}|{suffix}" or prefix.endswith("1"):
        return
    names = Names("{}", count, start) if not prefix + suffix else Names(f"{prefix}{{}}{suffix}", count, start)
    found = freeze_names(list(names))
    assert isinstance(found, Names)
    assert repr(found) == repr(names)
