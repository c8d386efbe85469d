"""Fixtures that all tests share."""

from __future__ import annotations

import gc
import os
import sysconfig
from collections.abc import Iterator
from pathlib import Path

import pytest

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # threads of several processes that wait for each other take long

import numpy as np  # reads the number of threads when it is imported

SEED = 20240229


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, so that no process is left with it at the end."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_collection_finish() -> None:
    """What was imported stays: the collector need not look at it again and again."""
    gc.freeze()


@pytest.fixture
def rng() -> np.random.Generator:
    """Randomness that is the same in every run."""
    return np.random.default_rng(SEED)


@pytest.fixture(scope="session")
def example_urdfs() -> list[Path]:
    """The URDF files of the package example-robot-data."""
    robots = Path(sysconfig.get_path("purelib"), "cmeel.prefix", "share", "example-robot-data", "robots")
    files = sorted(robots.rglob("*.urdf"))
    if not files:
        pytest.skip("the package example-robot-data is not installed")
    return files


@pytest.fixture(autouse=True)
def _own_joint_types() -> Iterator[None]:
    """Joint types that a test or a page adds go when it ends."""
    from catena.model.joints import BY_NAME, JOINT_TYPES

    count, names = len(JOINT_TYPES), dict(BY_NAME)
    yield
    if len(JOINT_TYPES) > count:
        del JOINT_TYPES[count:]
        BY_NAME.clear()
        BY_NAME.update(names)
