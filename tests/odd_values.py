"""Values that callers may give by mistake, by malice, or quite rightly in odd clothes."""

from __future__ import annotations

import array
import inspect
from typing import Any, NoReturn

import numpy as np

EMPTY = inspect.Parameter.empty

OPTIONS: dict[str, list[Any]] = {
    "method": ["innovations", "fd1", "fd3", "two_sweep", "udu", "dense", "fixman", "aba", ""],
    "frame": ["link", "world", "mixed", "LOCAL"],
    "kernel": ["unrolled", "rolled", None, "round"],
    "dtype": [np.float64, np.float32, "f4", "float64", np.dtype(np.float32), float, int, "complex"],
    "joint_losses": [True, False, 1, 0],
}
"""Options that are right, and some that are wrong."""


class Raising:
    """An object on which everything fails."""

    def _fail(self, *args: Any, **kwargs: Any) -> NoReturn:
        raise RuntimeError("evil")

    __array__ = __len__ = __getitem__ = __iter__ = __eq__ = __hash__ = __repr__ = __str__ = __bool__ = __float__ = _fail  # type: ignore[assignment]
    __index__ = __contains__ = __lt__ = _fail


class RaisingWord(str):
    """A string that cannot be compared."""

    def __eq__(self, other: object) -> bool:
        raise RuntimeError("evil")

    def __hash__(self) -> int:
        raise RuntimeError("evil")


class Lying:
    """Not an array, though it gives one that is not what it says."""

    def __init__(self, x: Any) -> None:
        self.x, self.shape, self.dtype, self.ndim = x, (99,), "nonsense", -1

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.x


class Wrapped:
    """An array in a box."""

    def __init__(self, x: np.ndarray) -> None:
        self.x = x

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray:
        return self.x if dtype is None else self.x.astype(dtype)


class Subclass(np.ndarray):
    """An array of another class, which lies about its shape."""

    @property
    def shape(self) -> Any:  # type: ignore[override]
        """Not the shape."""
        return (7, 7, 7)


class Quiet(np.ndarray):
    """An array of another class."""


def _strided(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    wide = np.full([2 * n + 1 for n in x.shape], 7.5, x.dtype)
    part = wide[(..., *[slice(1, None, 2) if n else slice(0, 0) for n in x.shape])]
    part[...] = x
    return part


def _backwards(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    turn = (..., *[slice(None, None, -1)] * x.ndim)
    return x[turn].copy()[turn]


def _unaligned(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    memory = np.zeros(x.nbytes + 1, np.uint8)
    moved = memory[1 : x.nbytes + 1].view(x.dtype).reshape(x.shape) if x.nbytes else x
    moved[...] = x
    return moved


def _frozen(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy.flags.writeable = False
    return copy


def _repeated(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    return np.broadcast_to(x[:1], x.shape) if x.ndim > 1 and len(x) else np.broadcast_to(x, (1, *x.shape))


def _special(rng: np.random.Generator, x: np.ndarray) -> np.ndarray:
    copy = x.copy()
    copy[rng.random(x.shape) < 0.3] = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1e300, 5e-324][rng.integers(7)]
    return copy


_CLOTHES: list[Any] = [
    lambda rng, x: x.tolist() if x.size else x,
    lambda rng, x: tuple(x.tolist()) if x.ndim and x.size else x,
    lambda rng, x: list(x) if x.ndim and x.size else x,
    lambda rng, x: np.array(x, order="F"),
    _strided,
    _backwards,
    _unaligned,
    _frozen,
    _repeated,
    _special,
    lambda rng, x: x.astype(x.dtype.newbyteorder()),
    lambda rng, x: x.astype(np.float32),
    lambda rng, x: x.astype(np.float16),
    lambda rng, x: x.astype(np.longdouble),
    lambda rng, x: (4 * x).astype(np.int64),
    lambda rng, x: (4 * x).astype(np.int8),
    lambda rng, x: x > 0,
    lambda rng, x: Wrapped(x),
    lambda rng, x: x.view(Quiet),
    lambda rng, x: np.ma.masked_array(x, x > 0.5),
    lambda rng, x: x[None],
    lambda rng, x: x.reshape((1,) * int(rng.integers(0, 20)) + x.shape),
    lambda rng, x: memoryview(np.array(x, order="C")) if x.size else x,
    lambda rng, x: array.array("d", x.ravel().tolist()) if x.ndim == 1 else x,
]


def dressed(rng: np.random.Generator, x: np.ndarray) -> Any:
    """An array in other clothes: still an array-like of real numbers that suits the question."""
    return _CLOTHES[rng.integers(len(_CLOTHES))](rng, x)


def _shape(x: Any) -> tuple[int, ...]:
    return np.shape(x) if isinstance(x, np.ndarray) else (3,)


_STRANGE: list[Any] = [
    lambda rng, x: None,
    lambda rng, x: "nonsense",
    lambda rng, x: b"bytes",
    lambda rng, x: 3,
    lambda rng, x: 10**400,
    lambda rng, x: 2.5,
    lambda rng, x: 1j,
    lambda rng, x: float("nan"),
    lambda rng, x: [],
    lambda rng, x: {},
    lambda rng, x: {"nonsense": [1.0] * 6},
    lambda rng, x: {0: "nonsense"},
    lambda rng, x: {Raising: [1.0] * 6},
    lambda rng, x: {1, 2},
    lambda rng, x: iter([1.0, 2.0]),
    lambda rng, x: (i for i in "ab"),
    lambda rng, x: object(),
    lambda rng, x: Raising(),
    lambda rng, x: RaisingWord("udu"),
    lambda rng, x: [Raising()],
    lambda rng, x: Lying(x),
    lambda rng, x: Lying("nonsense"),
    lambda rng, x: lambda: x,
    lambda rng, x: np.ndarray,
    lambda rng, x: np.zeros(_shape(x), dtype=object),
    lambda rng, x: np.zeros(_shape(x)).astype(str),
    lambda rng, x: np.zeros(3, "M8[s]"),
    lambda rng, x: np.zeros(3, [("a", "f8")]),
    lambda rng, x: np.zeros((1,) * int(rng.integers(1, 33))),
    lambda rng, x: np.zeros((1,) * int(rng.integers(26, 31)) + _shape(x)),
    lambda rng, x: np.zeros((int(rng.integers(0, 9)), int(rng.integers(0, 9)))),
    lambda rng, x: np.broadcast_to(np.zeros(()), (2**20, 2**20, 11)),
    lambda rng, x: np.zeros((0, *_shape(x))),
    lambda rng, x: [[1.0], [2.0, 3.0]],
    lambda rng, x: [[[[[[[[[[[[[]]]]]]]]]]]]],
    lambda rng, x: np.ones(_shape(x)) + 1j,
    lambda rng, x: np.float64(3),
    lambda rng, x: np.str_("link"),
    lambda rng, x: ["l1", 5, None],
    lambda rng, x: -1,
    lambda rng, x: 2**70,
    lambda rng, x: True,
    lambda rng, x: np.zeros(_shape(x)).view(Subclass),
]


def anything(rng: np.random.Generator, x: Any) -> Any:
    """Something else in its place."""
    return _STRANGE[rng.integers(len(_STRANGE))](rng, x)


def out(rng: np.random.Generator, x: np.ndarray, arguments: list[np.ndarray]) -> Any:
    """An array for a result like x: right, in odd clothes, over an argument, or wrong."""
    way = rng.random()
    good = np.full(x.shape, 7.5, x.dtype)
    if way < 0.3:
        return good
    if way < 0.5 and arguments:
        chosen = arguments[rng.integers(len(arguments))]
        if chosen.flags.c_contiguous and chosen.flags.writeable and chosen.size >= x.size and chosen.dtype == x.dtype:
            start = int(rng.integers(chosen.size - x.size + 1))
            return np.asarray(chosen).reshape(-1)[start : start + x.size].reshape(x.shape)
        return good
    if way < 0.8:
        return [_strided, _backwards, _unaligned, _frozen][rng.integers(4)](rng, good)
    if way < 0.9:
        return [good[None], good.astype(np.float16), good.astype(good.dtype.newbyteorder()), good.tolist()][
            rng.integers(4)
        ]
    return anything(rng, good)


def content(x: Any) -> Any:
    """What an argument holds, to see whether it changes."""
    if isinstance(x, dict):
        return tuple(content(value) for value in x.values())
    if isinstance(x, np.ndarray) and x.size < 10**6 and x.dtype.kind in "fiub":
        return np.array(x, copy=True, subok=False).tobytes()
    return None


def plain(x: Any, content: Any = None) -> Any:
    """The same numbers as a plain contiguous array of doubles; what is no array-like stays."""
    if isinstance(x, dict):
        return {key: plain(value) for key, value in x.items()}
    if isinstance(x, np.ndarray | Wrapped | Lying | memoryview | array.array) or (
        isinstance(x, list | tuple) and not any(isinstance(y, str) for y in x)
    ):
        found = np.asarray(x)
        if content is not None and isinstance(x, np.ndarray):  # as it was before `out` went over it
            found = np.frombuffer(content, x.dtype).reshape(np.asarray(x).shape)
        return np.array(found, dtype=np.float64, order="C") if found.dtype.kind in "fiub" else x
    return x


def shown(x: Any) -> str:
    """An argument as a report can show it."""
    if isinstance(x, np.ndarray):
        kind = type(x).__name__
        return f"{kind}({np.ndarray.shape.__get__(x)}, {x.dtype}, {x.strides}, at {x.__array_interface__['data'][0]:x})"
    if isinstance(x, dict | tuple | list):
        items = [f"{k!r}: {shown(v)}" for k, v in x.items()] if isinstance(x, dict) else [shown(v) for v in x]
        return f"{type(x).__name__}[{', '.join(items)[:200]}]"
    try:
        return repr(x)[:80]
    except Exception:
        return f"a {type(x).__name__}"
