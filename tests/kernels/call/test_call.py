"""The general path: every kind of array that NumPy knows, against the same formula in NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from catena.arguments.arrays import Port
from catena.errors import ShapeError, UnsupportedError
from catena.kernels.call import batch as batches
from catena.kernels.call import job, scratch, share_ir
from catena.kernels.call.kernel import Kernel
from catena.kernels.call.rows import tiles
from catena.kernels.call.share_ir import MAX_ARRAYS
from catena.kernels.call.threads import set_threads

RNG = np.random.default_rng(20240501)
N = 5


def reference(a, x, b):
    """The same operations in the same order."""
    a, x, b = (np.asarray(value, dtype=float) for value in (a, x, b))
    y = a[..., None] * x + b
    total = np.zeros(y.shape[:-1])
    for k in range(N):
        total = total + y[..., k]
    return y, total


def check(kernel, a, x, b, **options):
    y, total = kernel(a, x, b, **options)
    expected = reference(a, x, b)
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(total, expected[1])
    assert y.dtype == kernel.dtype
    return y, total


def normal(*shape):
    return RNG.normal(size=shape)


LAYOUTS = {
    "one sample": (1.5, normal(N), normal(N)),
    "lists of integers": (2, [1, 2, 3, 4, 5], [0, 1, 0, 1, 0]),
    "batch": (normal(7), normal(7, N), normal(7, N)),
    "one for all": (normal(7), normal(7, N), normal(N)),
    "broadcast": (normal(4, 1), normal(3, N), normal(4, 3, N)),
    "partial broadcast": (normal(4, 3), normal(4, 1, N), normal(1, 3, N)),
    "three leading": (normal(2, 3, 4), normal(2, 3, 4, N), normal(N)),
    "steps": (normal(20)[::2], normal(30, N)[::3], normal(10, 2 * N)[:, :N]),
    "backwards": (normal(7)[::-1], normal(7, N)[::-1], normal(7, N)[:, ::-1]),
    "transposed": (normal(4, 3).T, normal(N, 3, 4).transpose(1, 2, 0), normal(4, 3, N).transpose(1, 0, 2)),
    "fortran": (normal(6), np.asfortranarray(normal(6, N)), normal(6, N)),
    "float32": (normal(6), normal(6, N).astype(np.float32), normal(6, N)),
    "big-endian": (normal(6).astype(">f8"), normal(6, N).astype(">f4"), normal(N)),
    "integers": (np.arange(6), np.arange(6 * N, dtype=np.uint8).reshape(6, N), np.arange(N, dtype=np.int64)),
    "booleans": (np.array([True, False]), normal(2, N) > 0, normal(N)),
    "halves": (normal(6).astype(np.float16), normal(6, N).astype(np.longdouble), normal(N)),
    "stride zero": (np.broadcast_to(1.25, (6,)), np.broadcast_to(normal(N), (6, N)), normal(6, N)),
    "unaligned": (
        1.0,
        np.frombuffer(bytes(1) + normal(6 * N).tobytes(), np.uint8)[1:].view(float).reshape(6, N),
        normal(N),
    ),
    "many": (normal(3000), normal(3000, N), normal(N)),
    "many to copy": (normal(3000).astype(np.float32), normal(N, 3000).T, normal(N)),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("tile_bytes", [0, 1000, batches.TILE_BYTES])
def test_layouts(multiply_add, layout, tile_bytes, monkeypatch):
    monkeypatch.setattr(batches, "TILE_BYTES", tile_bytes)
    arguments = LAYOUTS[layout]
    kept = [np.array(a) for a in arguments]
    check(multiply_add(), *arguments)
    for before, after in zip(kept, arguments, strict=True):
        np.testing.assert_array_equal(before, after)


def test_read_only_arguments(multiply_add):
    x = normal(4, N)
    x.flags.writeable = False
    check(multiply_add(), 2.0, x, x)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (0, 3)])
def test_no_samples(multiply_add, shape):
    y, total = multiply_add()(normal(*shape), normal(*shape, N), normal(N))
    assert y.shape == (*shape, N)
    assert total.shape == shape


def test_scalar_results_are_scalars(multiply_add):
    y, total = multiply_add()(1.0, np.ones(N), np.ones(N))
    assert isinstance(total, np.float64)
    assert total == 2 * N
    assert y.shape == (N,)


def test_float32(multiply_add):
    kernel = multiply_add(dtype=np.float32)
    x, b = normal(6, N), normal(N).astype(np.float32)
    y, total = kernel(2, x, b)
    assert y.dtype == total.dtype == np.float32
    np.testing.assert_array_equal(y, np.float32(2) * x.astype(np.float32) + b)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((1.0, np.ones(4), np.ones(N)), ["x", "(..., 5)", "(4,)"]),
        ((1.0, 3.0, np.ones(N)), ["x", "(..., 5)", "()"]),
        ((1.0, np.ones((N, 4)), np.ones(N)), ["x", "(..., 5)", "(5, 4)"]),
        ((1.0, np.ones(N) * 1j, np.ones(N)), ["x", "complex128"]),
        ((1.0, np.ones(N), None), ["b", "real numbers", "None"]),
        ((1.0, np.array(["1"] * N), np.ones(N)), ["x", "<U1"]),
        ((1.0, [[1.0], [2.0, 3.0]], np.ones(N)), ["x", "(..., 5)", "[[1.0], [2.0, 3.0]], whose rows differ in size"]),
        ((1.0, np.zeros(N, "datetime64[s]"), np.ones(N)), ["x", "datetime64"]),
        ((np.ones(3), np.ones((4, N)), np.ones(N)), ["a (3,)", "x (4, 5)", "broadcast"]),
    ],
)
def test_wrong_arguments(multiply_add, arguments, words):
    with pytest.raises(ShapeError) as caught:
        multiply_add()(*arguments)
    assert all(word in str(caught.value) for word in ["multiply_add", *words])


def test_wrong_number_of_arguments(multiply_add):
    with pytest.raises(TypeError, match=r"3 arrays \(a, x, b\), not 1"):
        multiply_add()(1.0)


def test_out(multiply_add):
    kernel, x = multiply_add(), normal(4, 3, N)
    y, total = np.full((4, 3, N), np.nan), np.full((4, 3), np.nan)
    results = check(kernel, 1.5, x, normal(N), out=(y, total))
    assert results[0] is y
    assert results[1] is total
    assert check(kernel, 1.5, x, normal(N), out=(None, total))[1] is total


def test_out_with_gaps(multiply_add):
    kernel, x = multiply_add(), normal(4, 3, N)
    memory = np.full((8, 6, 2 * N), 7.0)
    y = memory[::2, ::2, ::2]
    assert check(kernel, 1.5, x, normal(N), out=(y, None))[0] is y
    assert np.count_nonzero(memory == 7.0) == memory.size - y.size


def test_out_scalar(multiply_add):
    total = np.array(0.0)
    results = multiply_add()(1.0, np.ones(N), np.ones(N), out=(None, total))
    assert results[1] is total
    assert total == 2 * N


@pytest.mark.parametrize("shift", [-1, 0, 1])
def test_out_over_an_argument(multiply_add, shift):
    memory = normal(101, N)
    x, y = memory[1:100], memory[1 + shift : 100 + shift]
    expected = reference(1.5, x.copy(), np.ones(N))
    results = multiply_add()(1.5, x, np.ones(N), out=(y, None))
    np.testing.assert_array_equal(y, expected[0])
    np.testing.assert_array_equal(results[1], expected[1])


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        (np.empty((4, N - 1)), ShapeError, ["(4, 5)", "(4, 4)"]),
        (np.empty((1, 4, N)), ShapeError, ["(4, 5)", "(1, 4, 5)"]),
        (np.empty((4, N), np.float32), ShapeError, ["float64", "float32"]),
        (np.empty((4, N), ">f8"), ShapeError, ["float64", ">f8"]),
        (np.broadcast_to(np.empty(N), (4, N)), ShapeError, ["read-only"]),
        ([[0.0] * N] * 4, ShapeError, ["list"]),
    ],
)
def test_wrong_out(multiply_add, y, error, words):
    with pytest.raises(error) as caught:
        multiply_add()(1.0, np.ones((4, N)), np.ones(N), out=(y, None))
    assert all(word in str(caught.value) for word in ["multiply_add", "y", *words])


def test_wrong_number_of_outs(multiply_add):
    with pytest.raises(ShapeError, match=r"out must be a tuple of arrays \(y, total\), got an ndarray"):
        multiply_add()(1.0, np.ones(N), np.ones(N), out=np.empty(N))
    with pytest.raises(ShapeError, match=r"out must be a tuple of arrays \(y, total\), got 1"):
        multiply_add()(1.0, np.ones(N), np.ones(N), out=(np.empty(N),))


@pytest.mark.parametrize("threads", [1, 2, 3, 8])
@pytest.mark.parametrize("copied", [False, True])
def test_any_number_of_threads(multiply_add, threads, copied):
    kernel = multiply_add(operations=10**6)
    x = normal(1237, N)
    x = x.astype(np.float32) if copied else x
    set_threads(threads)
    check(kernel, normal(1237), x, normal(N))


def test_nan_and_infinity_stay_in_their_sample(multiply_add):
    kernel, x = multiply_add(operations=10**6), normal(300, N)
    clean = kernel(1.5, x, np.ones(N))
    x[17, 3], x[200, 0] = np.nan, np.inf
    dirty = kernel(1.5, x, np.ones(N))
    others = np.delete(np.arange(300), [17, 200])
    for before, after in zip(clean, dirty, strict=True):
        np.testing.assert_array_equal(before[others], after[others])
    assert np.isnan(dirty[1][17])
    assert np.isinf(dirty[1][200])


def test_sample_by_sample_when_memory_is_short(multiply_add, monkeypatch):
    monkeypatch.setattr(job, "SCRATCH_BUDGET", 10**6)
    kernel = multiply_add(operations=10**6, scratch=(0, 20_000, 0, 4_000), links=100)
    assert (kernel.batch_scratch, kernel.single_scratch) == (2_000_000, 400_000)
    set_threads(8)
    assert job.plan_for(kernel, 50) == job.Plan(threads=2, one_by_one=True)
    x = normal(50, 2, N)
    check(kernel, normal(50, 2)[:, ::-1], x, normal(N))
    check(kernel, 1.0, x[:, 0], x[:, 1].astype(np.float32))


def test_plan(multiply_add):
    set_threads(4)
    assert job.plan_for(multiply_add(operations=1), 100) == job.Plan(1, one_by_one=False)
    assert job.plan_for(multiply_add(operations=10**6), 1) == job.Plan(1, one_by_one=True)
    lanes = multiply_add().lanes
    assert job.plan_for(multiply_add(operations=3000 * lanes), 129) == job.Plan(3, one_by_one=False)
    assert job.plan_for(multiply_add(operations=10**6), lanes + 1) == job.Plan(2, one_by_one=False)
    assert job.plan_for(multiply_add(operations=10**6), 10**6) == job.Plan(4, one_by_one=False)


def test_large_scratch_is_released(multiply_add, monkeypatch):
    monkeypatch.setattr(scratch, "LARGE", 2**16)
    kernel = multiply_add(scratch=(0, 1000, 0, 1000), links=100)
    check(kernel, 1.0, normal(N), normal(N))
    assert any(size >= 100_000 and blocks for size, blocks in scratch._spare.items())
    del kernel
    assert not any(size >= 100_000 for size in scratch._spare)


def test_too_many_arrays(multiply_add):
    ports = [Port(str(i), ()) for i in range(MAX_ARRAYS + 1)]
    with pytest.raises(UnsupportedError, match=f"at most {MAX_ARRAYS}"):
        Kernel("wide", multiply_add().module, ports, ports[:1])


@pytest.mark.parametrize("batch", [(), (1,), (10,), (3, 4), (2, 3, 4), (1, 100, 1), (5, 1, 7)])
@pytest.mark.parametrize("rows", [1, 3, 4, 1000])
def test_tiles_cover_the_batch_in_order(batch, rows):
    numbers = np.arange(np.prod(batch, dtype=int)).reshape(batch)
    pieces = list(tiles(batch, rows))
    np.testing.assert_array_equal(np.concatenate([numbers[t.box].ravel() for t in pieces]), numbers.ravel())
    assert [t.first for t in pieces] == [int(numbers[t.box].ravel()[0]) for t in pieces]
    assert all(t.samples == numbers[t.box].size <= rows for t in pieces)


@pytest.mark.parametrize("one_by_one", [False, True])
@pytest.mark.parametrize("leftover", [-(2**40), 2**40])
def test_a_job_starts_with_nothing_done(multiply_add, one_by_one, leftover):
    """Whatever its memory held before, all samples are done when the call returns."""
    kernel, samples = multiply_add(), 20_000
    a, x, b = normal(samples), normal(samples, N), normal(samples, N)
    for _ in range(20):
        y, total = np.full((samples, N), np.nan), np.full(samples, np.nan)
        words = job.Words(*[leftover] * share_ir.JOB_WORDS)
        for start, values in (
            (share_ir.ROWS, [array.ctypes.data for array in (a, x, b)]),
            (share_ir.STRIDES, [1, N, N]),
            (share_ir.RESULTS, [y.ctypes.data, total.ctypes.data]),
        ):
            words[start : start + len(values)] = values
        job.run_job(kernel, job.Plan(3, one_by_one), words, samples, (a, x, b, y, total))
        assert np.isfinite(y).all()
        assert np.isfinite(total).all()
