"""The part of Robot that answers with the mass matrix, and with operational-space inertia at links and frames."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.functions import engine
from catena.functions.asking import ask, check_held
from catena.kernels.call.fastcall import fast_call
from catena.mass_matrix.matrix import MassMatrix
from catena.questions.jacobians import Jacobians, Links

Array = npt.NDArray[Any]


class OperationalInertia(NamedTuple):
    """Λ and its inverse Ω = J M⁻¹ Jᵀ, each (..., 6 m, 6 m) for m frames, angular rows first in each block of six.

    Λ is in kg m², kg m and kg, Ω in the reciprocals of these, in the axes that `frame` says.
    """

    inertia: Array
    inverse: Array


class Operational(Jacobians):
    """The mass matrix, and inertia as it is felt at links or frames, one or several with the blocks between them.

    `link`, `point` and `frame` are as for Jacobians.
    """

    def mass_matrix(
        self,
        q: npt.ArrayLike,
        method: str = "innovations",
        *,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> MassMatrix:
        """M(q) as an operator: `M @ x`, `M.solve(b)`, `M.logdet()`, `M.factors()`, ... in O(n); see MassMatrix.

        `method` is "innovations", "udu", "fixman" or "dense": the same object with the same answers.
        """
        return MassMatrix(self, q, method, dtype, shape)  # type: ignore[arg-type]

    def inverse_mass_matrix(
        self,
        q: npt.ArrayLike,
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """M(q)⁻¹ as an array, (..., nv, nv), SI units: `mass_matrix(q).inv()` in one call. O(n²)."""
        check_held(self._robot)
        if "inverse_mass_matrix" not in self.__dict__ and dtype is np.float64 and shape is None:
            kernel = engine.kernel(self._robot, INVERSE_MASS_MATRIX)
            self.__dict__["inverse_mass_matrix"] = fast_call(kernel, self.inverse_mass_matrix)
        return cast(Array, ask(self._robot, INVERSE_MASS_MATRIX, q, out=out, dtype=dtype, shape=shape))

    @cached_property
    def _q_shape(self) -> tuple[int]:
        return (self._robot.nq,)

    @cached_property
    def _quick_questions(self) -> dict[str, Callable[[Array], Any]]:
        """What mass matrices of this robot have been asked, ready to be called with q."""
        return {}

    def operational_inertia(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: Any = None,
        frame: str = "link",
        *,
        out: tuple[Array, Array] | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> OperationalInertia:
        """Λ = (J M⁻¹ Jᵀ)⁻¹ and Ω = J M⁻¹ Jᵀ: a wrench f on the link accelerates it by Ω f. O(n).

        Where J loses rank, Λ does not exist: its entries are then huge, infinite or NaN; Ω always exists.

        Raises:
            SingularError: if too few joints move the link for Λ ever to exist; `operational_mobility` gives Ω.
        """
        found = self._of_frames("operational_inertia", link, point, frame, (q,), out, dtype, shape)
        return OperationalInertia(*found)

    def operational_mobility(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """Ω = J M⁻¹ Jᵀ alone, (..., 6 m, 6 m), which exists whatever the rank of J. O(n)."""
        return cast(Array, self._of_frames("operational_mobility", link, point, frame, (q,), out, dtype, shape))

    def dynamically_consistent_inverse(
        self,
        q: npt.ArrayLike,
        link: Links,
        point: Any = None,
        frame: str = "link",
        *,
        out: Array | None = None,
        dtype: npt.DTypeLike = np.float64,
        shape: str | None = None,
    ) -> Array:
        """J̄ = M⁻¹ Jᵀ Λ, (..., nv, 6 m): J J̄ = 1, and joint torques (1 − Jᵀ J̄ᵀ) τ do not accelerate the link. O(n).

        Raises:
            SingularError: if too few joints move the link for Λ ever to exist.
        """
        question = "dynamically_consistent_inverse"
        return cast(Array, self._of_frames(question, link, point, frame, (q,), out, dtype, shape))
