"""MassMatrix: the mass matrix of a robot as a structured linear operator. Never n x n unless asked."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.determinant import LOG_DETERMINANT
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.arguments.arrays import Port, as_array
from catena.errors import ShapeError, UnsupportedError
from catena.functions.asking import check_held, quick
from catena.functions.engine import check_shape, checked_dtype
from catena.mass_matrix.factors import BlockDiagonal, Factors, Upper
from catena.mass_matrix.methods import METHODS, DenseMethod, Method, method_class
from catena.mass_matrix.vectors import answer, product, product_from_the_left

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from catena.robot import Robot

Array = npt.NDArray[Any]
_FLOAT64 = np.dtype(np.float64)


class MassMatrix:
    """M(q) of one configuration or of a batch: multiply, solve, factor, take determinants, each in O(n).

    Made by `robot.mass_matrix(q)`. Vectors lie along the last dimension, as everywhere in Catena, and broadcast against
    the batch of configurations: with q (nq,) and X (100, nv), `M.times(X)` and `M.solve(X)` take the 100 rows one by
    one; with q (8192, nq) and x (8192, nv) they pair them up. `M @ x` pairs up vectors, too; but where x has more
    dimensions than q it is the matrix product of NumPy, x being (..., nv, k). What must be factored is factored once,
    when first needed.

    M is in kg m², kg m and kg where joints slide. Rotor inertias (armature) are part of M, of its inverse, determinant
    and factors, whatever the method.
    """

    __slots__ = ("_kernel_shape", "_kind", "_made", "_quick", "method", "q", "robot")
    __array_ufunc__ = None

    def __init__(
        self,
        robot: Robot,
        q: npt.ArrayLike,
        method: str = "innovations",
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> None:
        if type(q) is np.ndarray and q.dtype is _FLOAT64 and dtype is np.float64:
            array, usual = q.copy(), shape is None and (method == "innovations" or method == "udu")
        else:
            given = as_array(q, Port("q", (robot.nq,)), "mass_matrix")
            array, usual = np.array(given, checked_dtype("mass_matrix", dtype)), False
            check_shape(shape)
        if array.shape[-1:] != robot._q_shape:
            raise ShapeError(f"mass_matrix: q must have shape (..., {robot.nq}), got {array.shape}")
        self.robot, self.method, self._kernel_shape = robot, method, shape
        self.q: Array = array
        self._kind = METHODS[method] if usual else method_class(method)
        self._made: Method | None = None
        self._quick = robot._quick_questions if usual else None

    @property
    def _method(self) -> Method:
        if self._made is None:
            self._made = self._kind(self.robot, self.q, self.q.dtype, self._kernel_shape)
        return self._made

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `dense()`: (..., nv, nv)."""
        return (*self.q.shape[:-1], self.robot.nv, self.robot.nv)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What it computes in."""
        dtype: np.dtype[Any] = self.q.dtype
        return dtype

    @property
    def ndim(self) -> int:
        """Number of dimensions of `dense()`."""
        return len(self.shape)

    @property
    def T(self) -> MassMatrix:
        """The matrix itself, which is symmetric."""
        return self

    def __matmul__(self, x: npt.ArrayLike) -> Array:
        """M x for a vector (nv,), a matrix (..., nv, k) as in NumPy, or vectors (..., nv) that go with those of q."""
        return product(self._method, "MassMatrix @ x", self._method.times, x)

    def __rmatmul__(self, x: npt.ArrayLike) -> Array:
        """x M, likewise: for a vector (nv,), a matrix (..., k, nv), or vectors (..., nv) that go with those of q."""
        return product_from_the_left(self._method, "x @ MassMatrix", self._method.times, x)

    def times(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """M x for vectors x, (..., nv). O(n)."""
        return cast(Array, answer(self._method, "MassMatrix.times", self._method.times, out, "x", x))

    def solve(self, b: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """M⁻¹ b for vectors b, (..., nv). O(n), and less from the second call on.

        Where `numpy.linalg.solve` has right-hand sides in columns, transpose: M⁻¹ Jᵀ is `M.solve(J).T`.
        """
        check_held(self.robot)
        return cast(Array, answer(self._method, "MassMatrix.solve", self._method.solve, out, "b", b))

    def logdet(self, *, out: Array | None = None) -> Any:
        """log det M, (...,). O(n)."""
        if out is None and self._quick is not None:
            found = self._quick.get("logdet")
            if found is not None:
                return found(self.q)
        check_held(self.robot)
        if self._quick is not None:
            self._quick["logdet"] = quick(self.robot, LOG_DETERMINANT)
        return answer(self._method, "MassMatrix.logdet", self._method.logdet, out, result="number")

    def logdet_gradient(self, *, out: Array | None = None) -> Array:
        """The derivatives of log det M along each joint velocity, (..., nv). O(n)."""
        check_held(self.robot)
        return cast(Array, answer(self._method, "MassMatrix.logdet_gradient", self._method.logdet_gradient, out))

    def sqrt_matvec(self, z: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """A z, where A Aᵀ = M: with z white noise of variance kT, momenta of the canonical ensemble. O(n)."""
        check_held(self.robot)
        return cast(Array, answer(self._method, "MassMatrix.sqrt_matvec", self._method.root, out, "z", z))

    def inv_sqrt_matvec(self, z: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """A z, where A Aᵀ = M⁻¹: with z white noise of variance kT, velocities of the canonical ensemble. O(n)."""
        check_held(self.robot)
        return cast(Array, answer(self._method, "MassMatrix.inv_sqrt_matvec", self._method.inverse_root, out, "z", z))

    def quadratic_form(self, v: npt.ArrayLike, *, out: Array | None = None) -> Any:
        """vᵀ M v, (...,): twice the kinetic energy. O(n)."""
        method = self._method
        return answer(method, "MassMatrix.quadratic_form", method.quadratic_form, out, "v", v, result="number")

    def diagonal(self, *, out: Array | None = None) -> Array:
        """The diagonal of M, (..., nv). O(n)."""
        return cast(Array, answer(self._method, "MassMatrix.diagonal", self._method.diagonal, out))

    def inv_diagonal(self, *, out: Array | None = None) -> Array:
        """The diagonal of M⁻¹, (..., nv). O(n)."""
        check_held(self.robot)
        return cast(Array, answer(self._method, "MassMatrix.inv_diagonal", self._method.inverse_diagonal, out))

    def factors(self) -> Factors:
        """U and D with M = U D Uᵀ: U unit upper triangular, D block diagonal with a block for each joint. O(n)."""
        check_held(self.robot)
        if self._kind is DenseMethod:
            raise UnsupportedError("method='dense' keeps a Cholesky factor; use 'innovations' or 'udu' for U and D")
        return Factors(Upper(self._method), BlockDiagonal(self._method))

    def dense(self, *, out: Array | None = None) -> Array:
        """M as an array, (..., nv, nv). O(n²) time and memory."""
        return cast(Array, answer(self._method, "MassMatrix.dense", self._method.dense, out, result="matrix"))

    def inv(self, *, out: Array | None = None) -> Array:
        """M⁻¹ as an array, (..., nv, nv). O(n²) time and memory; `solve` needs neither."""
        if out is None and self._quick is not None:
            found = self._quick.get("inv")
            if found is not None:
                return cast(Array, found(self.q))
        check_held(self.robot)
        if self._quick is not None:
            self._quick["inv"] = quick(self.robot, INVERSE_MASS_MATRIX)
        return cast(Array, answer(self._method, "MassMatrix.inv", self._method.inverse, out, result="matrix"))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """M as an array, (..., nv, nv). O(n²) time and memory."""
        if copy is False:
            raise ValueError("a MassMatrix holds no array that could be shared; leave copy out")
        matrix = self.dense()
        return matrix if dtype is None else matrix.astype(dtype, copy=False)

    def as_linear_operator(self, inverse: bool = False) -> LinearOperator:
        """M, or M⁻¹, as a SciPy LinearOperator, for iterative solvers and eigenvalues; of one configuration only.

        SciPy's vectors are columns: `operator @ X` takes X (nv, m).
        """
        from scipy.sparse.linalg import LinearOperator

        if self.ndim != 2:
            raise UnsupportedError(f"a LinearOperator is of one configuration, not of a batch {self.shape[:-2]}")
        action = self.solve if inverse else self.times

        def columns(X: Array) -> Array:
            return np.transpose(action(X.T))

        def vector(x: Array) -> Array:
            return action(x.reshape(-1))

        return LinearOperator(
            self.shape, matvec=vector, rmatvec=vector, matmat=columns, rmatmat=columns, dtype=self.dtype
        )

    def condition_estimate(self, steps: int = 30) -> Any:
        """The condition number λmax/λmin of M, (...,), by Lanczos on M and on M⁻¹. O(n) for each of the steps.

        Exact up to rounding when nv <= steps; otherwise a lower bound, mostly within a few percent.
        """
        check_held(self.robot)
        count = min(steps, self.robot.nv)
        rng = np.random.default_rng(0)
        start = rng.standard_normal((*self.shape[:-2], self.robot.nv)).astype(self.dtype)
        found = _largest(self._method.times, start, count) * _largest(self._method.solve, start, count)
        return found.astype(self.dtype)

    def __repr__(self) -> str:
        batch = f" x {self.shape[:-2]}" if self.ndim > 2 else ""
        return f"<MassMatrix of {self.robot.name!r}, {self.robot.nv} x {self.robot.nv}{batch}, {self.method}>"


def _largest(action: Callable[[Array], Array], start: Array, steps: int) -> Any:
    """The largest eigenvalue of a symmetric positive definite action: Lanczos with full reorthogonalization."""
    x = start / np.linalg.norm(start, axis=-1, keepdims=True)
    basis, T = [x], np.zeros((*start.shape[:-1], steps, steps))
    for j in range(steps):
        y = action(basis[j])
        T[..., j, j] = np.sum(basis[j] * y, axis=-1)
        for _ in range(2):
            for b in basis:
                y = y - np.sum(b * y, axis=-1, keepdims=True) * b
        if j + 1 < steps:
            length = np.linalg.norm(y, axis=-1)
            T[..., j, j + 1] = T[..., j + 1, j] = length
            basis.append(y / np.where(length > 0, length, 1)[..., None])
    return np.linalg.eigvalsh(T)[..., -1]
