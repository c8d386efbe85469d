from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.kernels.handmade import multiply_add_ir

from catena.arguments.arrays import Port
from catena.kernels.call import threads
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import Module, load, object_code


@pytest.fixture(autouse=True)
def cache_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache of its own for every test."""
    directory = tmp_path / "cache"
    monkeypatch.setenv("CATENA_CACHE_DIR", str(directory))
    return directory


@pytest.fixture(autouse=True)
def _default_threads() -> Iterator[None]:
    yield
    threads.set_threads(None)


@pytest.fixture(scope="session")
def multiply_add() -> Callable[..., Kernel]:
    """Makes the kernel y = a x + b, total = sum(y); see handmade.py."""
    modules: dict[tuple[object, ...], Module] = {}

    def make(n: int = 5, dtype: type = np.float64, links: int = 0, **options: object) -> Kernel:
        real = {np.float64: "double", np.float32: "float"}[dtype]
        key = (n, real, *sorted(options.items()))
        if key not in modules:
            modules[key] = load(object_code(multiply_add_ir(n, real, **options)))
        inputs = [Port("a", ()), Port("x", (n,)), Port("b", (n,))]
        return Kernel(
            "multiply_add", modules[key], inputs, [Port("y", (n,)), Port("total", ())], dtype=dtype, links=links
        )

    return make
