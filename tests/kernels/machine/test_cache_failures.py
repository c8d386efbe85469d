"""Every operation on files may fail, once and at any point: the cache forgets something, and answers stay right."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
from tests.failing_files import ERRORS, Counter, Error, descriptors, system

import catena
from catena.kernels.machine import fingerprint, safedir
from catena.kernels.machine.cache import SUFFIX, Cache, key_of
from catena.kernels.machine.safedir import TEMPORARY

KEY, OTHER = key_of("a", "kernel"), key_of("another")
CODE = bytes(range(256)) * 20

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX files")


@contextmanager
def failing(number: int, error: Error) -> Iterator[Counter]:
    """Operations on files of the cache fail once, at the one with this number."""
    counter = Counter(number, error)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(safedir, "os", system(counter))
        patch.setattr(safedir, "open", counter.of(open), raising=False)
        patch.setattr(Path, "mkdir", counter.of(Path.mkdir))
        yield counter


@pytest.fixture
def cache(cache_directory: Path) -> Cache:
    return Cache(cache_directory, limit=3 * len(CODE))


def damage(cache: Cache) -> None:
    assert cache.directory is not None
    (cache.directory / (KEY + SUFFIX)).write_bytes(CODE)


OPERATIONS: dict[str, tuple[Callable[[Cache], object], Callable[[Cache], object]]] = {
    "known": (lambda cache: None, lambda cache: cache.load(KEY)),
    "not known": (lambda cache: cache.clear(), lambda cache: cache.load(KEY)),
    "damaged": (damage, lambda cache: cache.load(KEY)),
    "new": (lambda cache: cache.clear(), lambda cache: cache.store(KEY, CODE)),
    "again": (lambda cache: None, lambda cache: cache.store(KEY, CODE)),
    "too much": (lambda cache: cache.store(OTHER, CODE), lambda cache: cache.store(KEY, 2 * CODE)),
}


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_may_fail(cache: Cache, operation: str, error: str) -> None:
    prepare, act = OPERATIONS[operation]
    cache.store(KEY, CODE)
    before, number = descriptors(), 0
    while True:
        prepare(cache)
        with failing(number, ERRORS[error]) as counter:
            found = act(cache)
        if counter.left >= 0:
            break
        assert found in (None, CODE, True, False)
        assert descriptors() == before
        assert cache.load(KEY) in (None, CODE, 2 * CODE)
        assert cache.store(KEY, CODE)
        assert cache.load(KEY) == CODE
        number += 1
    assert number > 3  # there was something that could fail
    assert cache.directory is not None
    left = [name for name in os.listdir(cache.directory) if name.startswith(TEMPORARY)]
    assert not left


@pytest.fixture
def few_objects() -> Iterator[None]:
    """The collector looks only at what the test makes, not at all that other tests have left."""
    gc.freeze()
    yield
    gc.unfreeze()


def answer() -> np.ndarray:
    """Computed by code that comes from the disk, or is made now, since the last robot's is gone with it."""
    gc.collect()
    return catena.planar_chain([1.0, 2.0], 1.0).potential_energy([[0.3, 0.4], [0.5, 0.6]])


@pytest.mark.usefixtures("few_objects")
@pytest.mark.parametrize("error", ["ENOSPC", "memory"])
@pytest.mark.parametrize("known", [False, True])
def test_robots_answer_whatever_fails(cache_directory: Path, known: bool, error: str) -> None:
    expected, number = answer(), 0
    while True:
        if not known:
            Cache(cache_directory).clear()
        with failing(number, ERRORS[error]) as counter:
            np.testing.assert_array_equal(answer(), expected)
        if counter.left >= 0:
            break
        np.testing.assert_array_equal(answer(), expected)
        number += 1
    assert number > 5


@pytest.mark.usefixtures("few_objects")
def test_sources_that_cannot_be_looked_at_keep_code_off_the_disk(cache_directory: Path) -> None:
    expected = answer()
    for number in (0, 3, 50):
        Cache(cache_directory).clear()
        counter = Counter(number, ERRORS["EACCES"])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(fingerprint, "os", system(counter))
            np.testing.assert_array_equal(answer(), expected)
        assert counter.left < 0
        assert Cache(cache_directory).info().files == 0
    np.testing.assert_array_equal(answer(), expected)
    assert Cache(cache_directory).info().files > 0
