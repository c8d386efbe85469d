"""How a MassMatrix does what it is asked to: one class for each formulation, all with the same actions.

A method belongs to one batch of configurations. It factors once, when that is first needed, and applies the factors as
often as it likes. Vectors lie along the last dimension and broadcast against the configurations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import determinant, innovations, udu
from catena.algorithms.diagonals import DIAGONAL, INVERSE_DIAGONAL
from catena.algorithms.energy import QUADRATIC_FORM
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.errors import SingularError, UnsupportedError
from catena.fixman import method as fixman_method
from catena.functions.asking import ask, delivered
from catena.functions.catalogue import MASS_MATRIX, MASS_MATRIX_TIMES
from catena.functions.function import Function
from catena.functions.recipes import Ask, columns
from catena.spatial import Dofs, SmallSymmetric, small
from catena.sweeps import Field, Links

if TYPE_CHECKING:
    from catena.robot import Robot

Array = npt.NDArray[Any]


def joint_by_joint(links: Links, action: Callable[[SmallSymmetric, Dofs], Dofs], D: Field, x: Field) -> Field:
    """What `action` makes of each joint's block of D and of x there."""
    (y,) = links.fields("y")
    for k in links.base_to_tip():
        y[k] = action(D[k], x[k])
    return y


def _divided(D: SmallSymmetric, x: Dofs) -> Dofs:
    return D.inv @ x


def _udu_solve(links: Links, q: Field, psi: Field, m: Field, x: Field) -> Field:
    """U⁻ᵀ D⁻¹ U⁻¹ x, Saha (1995), (24)."""
    return udu.Ut_solve(links, q, psi, joint_by_joint(links, _divided, m, udu.U_solve(links, q, psi, x)))


def _udu_root(links: Links, q: Field, psi: Field, m: Field, x: Field) -> Field:
    """U D^½ x."""
    return udu.U_times(links, q, psi, joint_by_joint(links, small.root, m, x))


def _udu_inverse_root(links: Links, q: Field, psi: Field, m: Field, x: Field) -> Field:
    """U⁻ᵀ D^−½ x."""
    return udu.Ut_solve(links, q, psi, joint_by_joint(links, small.inverse_root, m, x))


def _blocks(name: str, action: Callable[[SmallSymmetric, Dofs], Dofs]) -> Function:
    def algorithm(links: Links, D: Field, x: Field) -> Field:
        return joint_by_joint(links, action, D, x)

    return Function(f"blocks/{name}", algorithm, {"D": "small", "x": "v"}, {"y": "v"})


BLOCKS_TIMES, BLOCKS_SOLVE = _blocks("times", small.times), _blocks("solve", _divided)
_FACTORED = {"q": "q", "G": "axes", "D": "small", "x": "v"}


@dataclass(frozen=True)
class Factorization:
    """M = U D Uᵀ with U unit upper triangular: gains and blocks D from `factor`, and what is done with them."""

    factor: Function
    solve: Function
    root: Function
    inverse_root: Function
    times: Function
    transpose_times: Function
    divide: Function
    transpose_divide: Function


def _of_one(function: Function) -> Function:
    """A solve that keeps one copy of factors on long chains where all right-hand sides are of one configuration."""
    loops = replace(function, name=f"{function.name}/loops")
    shared = replace(function, name=f"{function.name}/shared", shared=tuple(function.inputs)[:-1])

    def rolled(ask: Ask, *arrays: Array) -> Any:
        q, *_, b = arrays
        return ask(shared if q.ndim == 1 < b.ndim else loops, *arrays)

    return replace(function, rolled=rolled)


INNOVATIONS = Factorization(
    innovations.FACTOR,
    _of_one(innovations.SOLVE),
    innovations.ROOT,
    innovations.INVERSE_ROOT,
    innovations.COLOUR,
    innovations.COLOUR_TRANSPOSED,
    innovations.WHITEN,
    innovations.WHITEN_TRANSPOSED,
)
UDU = Factorization(
    udu.FACTORS,
    _of_one(Function("udu/solve_factored", _udu_solve, _FACTORED, {"y": "v"})),
    Function("udu/root", _udu_root, _FACTORED, {"y": "v"}),
    Function("udu/inverse_root", _udu_inverse_root, _FACTORED, {"y": "v"}),
    udu.U_TIMES,
    udu.UT_TIMES,
    udu.U_SOLVE,
    udu.UT_SOLVE,
)


class Method:
    """The actions of M at the configurations q by sweeps, from gains and blocks that are computed once."""

    factorization = INNOVATIONS
    checks = True
    """Whether the actions check the arrays they are given, as kernels do."""

    def __init__(self, robot: Robot, q: Array, dtype: np.dtype[Any], shape: str | None) -> None:
        self.robot, self.q, self.dtype, self.shape = robot, q, dtype, shape
        self._dtype: Any = np.float64 if dtype == np.float64 else dtype

    def ask(self, function: Function, *arrays: Any, out: Any = None) -> Any:
        """Evaluate a function for the robot with this dtype and kernel shape."""
        return ask(self.robot, function, *arrays, out=out, dtype=self._dtype, shape=self.shape)

    @cached_property
    def factors(self) -> tuple[Array, Array]:
        """Gains and the blocks of D."""
        gains, blocks = self.ask(self.factorization.factor, self.q)
        return gains, blocks

    def times(self, x: npt.ArrayLike, out: Array | None = None) -> Array:
        """M x, by Newton and Euler: no factors needed."""
        result: Array = self.ask(MASS_MATRIX_TIMES, self.q, x, out=out)
        return result

    def solve(self, b: npt.ArrayLike, out: Array | None = None) -> Array:
        """M⁻¹ b."""
        result: Array = self.ask(self.factorization.solve, self.q, *self.factors, b, out=out)
        return result

    def root(self, z: npt.ArrayLike, out: Array | None = None) -> Array:
        """A z with A Aᵀ = M."""
        result: Array = self.ask(self.factorization.root, self.q, *self.factors, z, out=out)
        return result

    def inverse_root(self, z: npt.ArrayLike, out: Array | None = None) -> Array:
        """A z with A Aᵀ = M⁻¹."""
        result: Array = self.ask(self.factorization.inverse_root, self.q, *self.factors, z, out=out)
        return result

    def logdet(self, out: Array | None = None) -> Any:
        """log det M."""
        return self.ask(determinant.LOG_DETERMINANT, self.q, out=out)

    def logdet_gradient(self, out: Array | None = None) -> Array:
        """The derivatives of log det M."""
        result: Array = self.ask(determinant.GRADIENT, self.q, out=out)
        return result

    def quadratic_form(self, v: npt.ArrayLike, out: Array | None = None) -> Any:
        """vᵀ M v, twice the kinetic energy."""
        return self.ask(QUADRATIC_FORM, self.q, v, out=out)

    def diagonal(self, out: Array | None = None) -> Array:
        """The diagonal of M."""
        result: Array = self.ask(DIAGONAL, self.q, out=out)
        return result

    def inverse_diagonal(self, out: Array | None = None) -> Array:
        """The diagonal of M⁻¹."""
        result: Array = self.ask(INVERSE_DIAGONAL, self.q, out=out)
        return result

    def dense(self, out: Array | None = None) -> Array:
        """M, (..., nv, nv)."""
        result: Array = self.ask(MASS_MATRIX, self.q, out=out)
        return result

    def inverse(self, out: Array | None = None) -> Array:
        """M⁻¹, (..., nv, nv)."""
        result: Array = self.ask(INVERSE_MASS_MATRIX, self.q, out=out)
        return result

    def upper(self, which: str, x: npt.ArrayLike, out: Array | None = None) -> Array:
        """What U does: `which` names an action of the factorization."""
        result: Array = self.ask(getattr(self.factorization, which), self.q, self.factors[0], x, out=out)
        return result

    def upper_dense(self, which: str) -> Array:
        """The matrix that does what `which` names, (..., nv, nv)."""
        function = getattr(self.factorization, which)
        return columns(self.ask, function, self.robot.nv, self.q, self.factors[0])

    def blocks(self, which: str, x: npt.ArrayLike, out: Array | None = None) -> Array:
        """What D does: "times" or "solve"."""
        result: Array = self.ask(BLOCKS_TIMES if which == "times" else BLOCKS_SOLVE, self.factors[1], x, out=out)
        return result

    def blocks_dense(self) -> Array:
        """D, (..., nv, nv)."""
        return columns(self.ask, BLOCKS_TIMES, self.robot.nv, self.factors[1])


class UduMethod(Method):
    """Saha's UDUᵀ."""

    factorization = UDU


class FixmanMethod(Method):
    """Fixman's partition for what it has: M⁻¹ b and log det M. It keeps no factors, so each call pays for them again.

    Square roots and factors, which it does not have, are those of the innovations.
    """

    checks = False

    def solve(self, b: npt.ArrayLike, out: Array | None = None) -> Array:
        """M⁻¹ b."""
        return fixman_method.solve(self.robot, self.q, b, out=out, dtype=self._dtype, shape=self.shape)

    def logdet(self, out: Array | None = None) -> Any:
        """log det M by Fixman's theorem."""
        return fixman_method.log_determinant(self.robot, self.q, out=out, dtype=self._dtype, shape=self.shape)


class DenseMethod(Method):
    """The matrix itself and its Cholesky factor, by NumPy: O(n²) memory and O(n³) time, for comparison and small n."""

    checks = False

    @cached_property
    def matrix(self) -> Array:
        """M, (..., nv, nv)."""
        return self.dense()

    @cached_property
    def cholesky(self) -> tuple[Array, Array]:
        """The upper triangular A with A Aᵀ = M, and its inverse."""
        try:
            lower = np.linalg.cholesky(self.matrix[..., ::-1, ::-1])
        except np.linalg.LinAlgError as error:
            raise SingularError(f"the mass matrix is not positive definite to working accuracy: {error}") from error
        return lower[..., ::-1, ::-1], np.linalg.inv(lower)[..., ::-1, ::-1]

    def times(self, x: npt.ArrayLike, out: Array | None = None) -> Array:
        """M x."""
        return delivered(_product(self.matrix, x), out)

    def solve(self, b: npt.ArrayLike, out: Array | None = None) -> Array:
        """M⁻¹ b."""
        _, inverse = self.cholesky
        return delivered(_product(np.swapaxes(inverse, -1, -2), _product(inverse, b)), out)

    def root(self, z: npt.ArrayLike, out: Array | None = None) -> Array:
        """A z with A Aᵀ = M, A upper triangular."""
        return delivered(_product(self.cholesky[0], z), out)

    def inverse_root(self, z: npt.ArrayLike, out: Array | None = None) -> Array:
        """A⁻ᵀ z."""
        return delivered(_product(np.swapaxes(self.cholesky[1], -1, -2), z), out)

    def inverse(self, out: Array | None = None) -> Array:
        """M⁻¹."""
        factor = self.cholesky[1]
        return delivered(np.swapaxes(factor, -1, -2) @ factor, out)

    def logdet(self, out: Array | None = None) -> Any:
        """log det M."""
        diagonal = np.diagonal(self.cholesky[0], axis1=-2, axis2=-1)
        return delivered(2 * np.log(diagonal).sum(axis=-1), out)


def _product(matrix: Array, x: npt.ArrayLike) -> Array:
    result: Array = np.einsum("...ij,...j->...i", matrix, np.asarray(x, dtype=matrix.dtype))
    return result


METHODS: dict[str, type[Method]] = {
    "innovations": Method,
    "udu": UduMethod,
    "fixman": FixmanMethod,
    "dense": DenseMethod,
}
"""The formulations by name."""


def method_class(name: str) -> type[Method]:
    """The formulation of that name."""
    if name not in METHODS:
        raise UnsupportedError(f"no mass matrix method {name!r}; expected one of {', '.join(map(repr, METHODS))}")
    return METHODS[name]
