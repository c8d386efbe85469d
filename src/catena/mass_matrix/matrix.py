"""MassMatrix: the mass matrix of a robot as a structured linear operator. Never n x n unless asked."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, as_array, batch_shape, is_chunked
from catena.arguments.scalars import of_systems
from catena.errors import ShapeError, UnsupportedError
from catena.functions.function import Function, kind
from catena.functions.question import Answering, Rule, question
from catena.mass_matrix.arithmetic import NotAnArray
from catena.mass_matrix.factors import BlockDiagonal, Factors, Upper
from catena.mass_matrix.formulation import OWN
from catena.mass_matrix.lanczos import largest_eigenvalue
from catena.mass_matrix.prepared import Prepared, prepared
from catena.mass_matrix.vectors import hint, product, product_from_the_left
from catena.model.singular import check_invertible

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from catena.robot import Robot

Array = npt.NDArray[Any]


def _action(name: str, inverse: bool = True) -> Rule:
    """The rule that takes a function from the formulation; what needs an inverse refuses, by name, a singular M."""

    def rule(matrix: MassMatrix, given: tuple[str, ...]) -> Function:
        if inverse and matrix._own[3] is None:
            check_invertible(matrix.robot.tree)
        found: Function = getattr(matrix._compiled.formulation, name)
        return found

    return rule


def _paired(q: Array, parameters: Any, common: Prepared) -> tuple[Array, Array]:
    """Configurations and parameters with the same leading dimensions."""
    tree = common.tree
    q_port = Port("q", common.q_shape)
    port = Port("parameters", kind("parameters").full_shape(tree.n, tree.nq, tree.nv))
    row = np.array(as_array(parameters, port, "mass_matrix"), common.dtype)
    batch = batch_shape([q, row], [q_port, port], "mass_matrix")
    wide = [np.array(np.broadcast_to(x, (*batch, *p.shape))) for x, p in ((q, q_port), (row, port))]
    return wide[0], wide[1]


def _matrix_of(robot: Robot, q: Array, parameters: Any = None, **options: Any) -> MassMatrix:
    """The mass matrix of a chunk of configurations."""
    return MassMatrix(robot, q, parameters=parameters, **options)


@of_systems("forest")
class MassMatrix(Answering, NotAnArray):
    """M(q) of one configuration or of a batch: multiply, solve, factor, take determinants, each in O(n).

    Made by `robot.mass_matrix(q)`. Vectors lie along the last dimension, as everywhere in Catena, and broadcast against
    the batch of configurations: with q (nq,) and X (100, nv), `M.times(X)` and `M.solve(X)` take the 100 rows one by
    one; with q (8192, nq) and x (8192, nv) they pair them up. `M @ x` pairs up vectors, too; but where x has more
    dimensions than q it is the matrix product of NumPy, x being (..., nv, k). What must be factored is factored once,
    when first needed. `out` is an array for the result.

    M is in kg m², kg m and kg where joints slide. Rotor inertias (armature) are part of M, of its inverse, determinant
    and factors, whatever the method.
    """

    __slots__ = ("robot",)
    __array_ufunc__ = None
    _own_names: ClassVar = OWN
    _compiled: Prepared

    def __init__(
        self,
        robot: Robot,
        q: npt.ArrayLike,
        method: str = "innovations",
        dtype: npt.DTypeLike = np.float64,
        kernel: str | None = None,
        parameters: Any = None,
    ) -> None:
        adopts = parameters is not None
        try:
            common = robot._compiled.parts[method, dtype, kernel, adopts]
        except Exception:  # not known yet, or whatever an object's own hash raises
            common = prepared(robot, method, dtype, kernel, adopts)
        array: Any
        if type(q) is np.ndarray and q.dtype is common.dtype:
            array = q.copy()
        elif is_chunked(q):
            array = q
        else:
            array = np.array(as_array(q, Port("q", common.q_shape), "mass_matrix"), common.dtype)
        if array.shape[-1:] != common.q_shape:
            raise ShapeError(f"mass_matrix: q must have shape (..., {robot.nq}), got {array.shape}")
        row = None
        if adopts and is_chunked(q):
            row = parameters
        elif adopts:
            array, row = _paired(array, parameters, common)
        if common.single is not None and array.ndim == 1:
            common = common.single
        self.robot, self._compiled, self._own = robot, common, (array, None, None, row)

    def __reduce__(self) -> tuple[Any, ...]:
        """What is pickled: what made the matrix; factors are computed again."""
        q, _, _, parameters = self._own
        common = self._compiled
        return MassMatrix, (self.robot, q, common.method, common.dtype, common.kernel_shape, parameters)

    @property
    def q(self) -> Array:
        """The configurations, (..., nq)."""
        q: Any = self._own[0]
        found: Array = q
        return found

    @property
    def method(self) -> str:
        """The name of the formulation."""
        return self._compiled.method

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of `dense()`: (..., nv, nv)."""
        return (*self.q.shape[:-1], self.robot.nv, self.robot.nv)

    @property
    def dtype(self) -> np.dtype[Any]:
        """What it computes in."""
        return self._compiled.dtype

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
        return product("MassMatrix @ x", self.robot.nv, self.q.ndim, self.times, x)

    def __rmatmul__(self, x: npt.ArrayLike) -> Array:
        """x M, likewise: for a vector (nv,), a matrix (..., k, nv), or vectors (..., nv) that go with those of q."""
        return product_from_the_left("x @ MassMatrix", self.robot.nv, self.q.ndim, self.times, x)

    @question(_action("times", inverse=False), closed="forest")
    def times(self, x: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The product M x for vectors x, (..., nv): (..., nv). O(n)."""

    @question(_action("solve"), inverts="M")
    def solve(self, b: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The solution M⁻¹ b for vectors b, (..., nv): (..., nv). O(n), and less from the second call on.

        Where `numpy.linalg.solve` has right-hand sides in columns, transpose: M⁻¹ Jᵀ is `M.solve(J).T`.
        """

    @question(_action("logdet"), inverts="M")
    def logdet(self, *, out: Array | None = None) -> Any:
        """The logarithm of the determinant, log det M, (...,). O(n)."""

    @question(_action("logdet_gradient"), inverts="M")
    def logdet_gradient(self, *, out: Array | None = None) -> Array:
        """The derivatives of log det M along each joint velocity, (..., nv). O(n)."""

    @question(_action("sqrt_times"), inverts="M")
    def sqrt_times(self, z: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The product A z with a square root A of M, A Aᵀ = M, for vectors z, (..., nv). O(n).

        With z white noise of variance kT it is a momentum of the canonical ensemble.
        """

    @question(_action("inv_sqrt_times"), inverts="M")
    def inv_sqrt_times(self, z: npt.ArrayLike, *, out: Array | None = None) -> Array:
        """The product A z with a square root A of M⁻¹, A Aᵀ = M⁻¹, for vectors z, (..., nv). O(n).

        With z white noise of variance kT it is a velocity of the canonical ensemble.
        """

    @question(_action("quadratic_form", inverse=False), closed="forest")
    def quadratic_form(self, v: npt.ArrayLike, *, out: Array | None = None) -> Any:
        """The number vᵀ M v, (...,), twice the kinetic energy at velocities v, (..., nv). O(n)."""

    @question(_action("diagonal", inverse=False), closed="forest")
    def diagonal(self, *, out: Array | None = None) -> Array:
        """The diagonal of M, (..., nv). O(n)."""

    @question(_action("inv_diagonal"), inverts="M")
    def inv_diagonal(self, *, out: Array | None = None) -> Array:
        """The diagonal of M⁻¹, (..., nv). O(n)."""

    @question(_action("dense", inverse=False), closed="forest")
    def dense(self, *, out: Array | None = None) -> Array:
        """M as an array, (..., nv, nv). O(n²) time and memory."""

    @question(_action("inv"), inverts="M")
    def inv(self, *, out: Array | None = None) -> Array:
        """M⁻¹ as an array, (..., nv, nv). O(n²) time and memory; `solve` needs neither."""

    @question(_action("factor"), inverts="the mass matrix")
    def _factor(self) -> tuple[Array, Array]:
        """The two arrays that the formulation keeps."""

    def factors(self) -> Factors:
        """The factors U and D with M = U D Uᵀ, as operators. O(n).

        U is unit upper triangular, D block diagonal with a block for each joint.
        """
        if self._compiled.formulation.U_times is None:
            raise UnsupportedError(
                f"method={self.method!r} keeps a Cholesky factor; use 'innovations' or 'udu' for U and D, with mimic "
                "joints independent"
            )
        if self._own[1] is None:
            self._make_own()
        return Factors(Upper(self, "U"), BlockDiagonal(self, "D"))

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
        action: Callable[..., Array] = self.solve if inverse else self.times

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
        count = min(steps, self.robot.nv)
        start = np.random.default_rng(0).standard_normal((*self.shape[:-2], self.robot.nv)).astype(self.dtype)
        found = largest_eigenvalue(self.times, start, count) * largest_eigenvalue(self.solve, start, count)
        return found.astype(self.dtype)

    def __repr__(self) -> str:
        batch = f" x {self.shape[:-2]}" if self.ndim > 2 else ""
        return f"<MassMatrix of {self.robot.name!r}, {self.robot.nv} x {self.robot.nv}{batch}, {self.method}>"

    def _anew(self) -> tuple[Any, Callable[..., MassMatrix], list[tuple[Any, Port]]]:
        made = partial(_matrix_of, method=self.method, dtype=self.dtype, kernel=self._kernel_shape)
        tree, row = self.robot.tree, self._own[3]
        ports = Port("q", (tree.nq,)), Port("parameters", kind("parameters").full_shape(tree.n, tree.nq, tree.nv))
        return self.robot, made, [*zip((self.q, row)[: 1 if row is None else 2], ports, strict=False)]

    @property
    def _closed(self) -> bool:
        return self.robot._closed

    @property
    def _dtype(self) -> Any:
        return self._compiled.dtype

    @property
    def _kernel_shape(self) -> str | None:
        return self._compiled.kernel_shape

    def _make_own(self) -> None:
        self._own = (self._own[0], *self._factor(), self._own[3])

    def _called(self, name: str) -> str:
        return "mass_matrix" if name.startswith("_") else f"MassMatrix.{name}"

    def _hint(self, question: str, value: Any) -> str:
        return hint(question, self.robot.nv, value)
