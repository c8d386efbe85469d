"""The part of Robot that answers how heavy its links are to push: operational-space inertia."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from typing import Any, NamedTuple, cast

import numpy as np
import numpy.typing as npt

from catena.algorithms import operational_space
from catena.algorithms.innovations import FACTOR
from catena.algorithms.inverse_matrix import INVERSE_MASS_MATRIX
from catena.algorithms.kinematics import FRAMES, Place, UnrolledPlace
from catena.algorithms.operational_space import RESPONSE
from catena.arguments.links import LinkLike, link_names
from catena.errors import ShapeError, SingularError
from catena.functions import engine
from catena.functions.asking import ask, checked, components, delivered, is_rolled, one_of, stacked
from catena.functions.function import Function
from catena.kernels.call.fastcall import fast_call
from catena.mass_matrix.matrix import MassMatrix
from catena.model.singular import check_leaves
from catena.questions.jacobians import Jacobians, place_of
from catena.spatial import Motion

Array = npt.NDArray[Any]
Links = LinkLike | Sequence[LinkLike]


class OperationalInertia(NamedTuple):
    """Λ and its inverse Ω = J M⁻¹ Jᵀ, each (..., 6 m, 6 m) for m frames, angular rows first in each block of six.

    Λ is in kg m², kg m and kg, Ω in the reciprocals of these, in the axes that `frame` says.
    """

    inertia: Array
    inverse: Array


class Operational(Jacobians):
    """The mass matrix, and inertia as it is felt at links or frames, one or several with the blocks between them.

    `point` is one point, or one for each frame, in the frames' own axes; `frame` is as for Jacobians.
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
        if "inverse_mass_matrix" not in self.__dict__ and dtype is np.float64 and not is_rolled(self._robot, shape):
            check_leaves(self._robot.tree)
            kernel = engine.kernel(self._robot, INVERSE_MASS_MATRIX)
            self.__dict__["inverse_mass_matrix"] = fast_call(kernel, self.inverse_mass_matrix)
        (q,), _, (out,) = checked(self._robot, INVERSE_MASS_MATRIX, q, out=out, dtype=dtype)
        return self.mass_matrix(q, dtype=dtype, shape=shape).inv(out=out)

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
        asked = self._frames(link, point, frame, invertible=True)
        if not is_rolled(self._robot, shape):
            return OperationalInertia(*asked.ask(self._robot, "operational_inertia", q, out, dtype))
        (_, Omega), outs = self._responses("operational_inertia", q, asked, out, dtype)
        return OperationalInertia(delivered(np.linalg.inv(Omega), outs[0]), delivered(Omega, outs[1]))

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
        asked = self._frames(link, point, frame)
        if not is_rolled(self._robot, shape):
            return cast(Array, asked.ask(self._robot, "operational_mobility", q, out, dtype))
        (_, Omega), outs = self._responses("operational_mobility", q, asked, out, dtype)
        return delivered(Omega, *outs)

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
        asked = self._frames(link, point, frame, invertible=True)
        if not is_rolled(self._robot, shape):
            return cast(Array, asked.ask(self._robot, "dynamically_consistent_inverse", q, out, dtype))
        (weighted, Omega), outs = self._responses("dynamically_consistent_inverse", q, asked, out, dtype)
        return delivered(np.swapaxes(np.linalg.solve(Omega, np.swapaxes(weighted, -1, -2)), -1, -2), *outs)

    def _frames(self, link: Links, point: Any, frame: str, invertible: bool = False) -> _Frames:
        """What is asked about, checked when it is asked for the first time."""
        names = link_names(self._robot.tree, link)
        several = isinstance(link, Iterable) and not isinstance(link, str)
        points = () if point is None else tuple(point) if several else (point,)
        if points and len(points) != len(names):
            raise ShapeError(f"point must hold one point for each of the {len(names)} links, not {len(points)}")
        asked = _Frames(names, points, frame)
        checked = self._robot.__dict__.setdefault("_checked_frames", set())
        if (names, frame, invertible) not in checked:
            one_of("frame", frame, FRAMES)
            check_leaves(self._robot.tree)
            asked.check(self._robot, invertible)
            checked.add((names, frame, invertible))
        return asked

    def _responses(
        self, question: str, q: npt.ArrayLike, asked: _Frames, out: Any, dtype: npt.DTypeLike
    ) -> tuple[tuple[Array, Array], list[Array | None]]:
        """M⁻¹ Jᵀ and Ω from what unit wrenches on the frames do, by rolled kernels; and the arrays for the results."""
        robot, places, nv = self._robot, asked.places(self._robot), self._robot.nv
        function = asked.function(robot, question)
        (q, *at), batch, outs = checked(robot, function, q, *asked.points, out=out, dtype=dtype)
        wide = q[..., None, :]
        factors = [f[..., None, :, :] for f in ask(robot, FACTOR, q, dtype=dtype, shape="rolled")]
        points: list[Any] = [components(np.asarray(p, dtype=float)[..., None, :]) for p in at] or [None] * len(places)
        size = 6 * len(places)
        weighted, Omega = np.empty((*batch, nv, size), dtype), np.empty((*batch, size, size), dtype)
        for t, place in enumerate(places):
            f = np.zeros((*batch, 6, robot.tree.n, 6), dtype)
            f[..., place.link, :] = self._in_link(wide, place, np.eye(6), points[t], dtype, "rolled")
            vdot, alpha = ask(robot, RESPONSE, wide, *factors, f, dtype=dtype, shape="rolled")
            weighted[..., 6 * t : 6 * t + 6] = np.swapaxes(vdot, -1, -2)
            for s, other in enumerate(places):
                moved = Motion.of(components(alpha[..., other.link, :]))
                seen = other.velocity_of(self._carrier(wide, other, dtype, "rolled"), moved, points[s])
                block = np.broadcast_to(stacked(seen.components), (*batch, 6, 6))
                Omega[..., 6 * s : 6 * s + 6, 6 * t : 6 * t + 6] = np.swapaxes(block, -1, -2)
        return (weighted, Omega), outs


class _Frames(NamedTuple):
    """The frames a question is about, with the points of them that are meant (or none)."""

    names: tuple[str, ...]
    points: tuple[Any, ...]
    frame: str

    def places(self, robot: Any, kind: Callable[..., Place] = Place) -> list[Any]:
        return [place_of(robot, name, self.frame, kind) for name in self.names]

    def check(self, robot: Any, invertible: bool) -> None:
        """Refuse the base, and where Λ is wanted, frames that fewer joints move than they have directions."""
        moving: set[int] = set()
        for name in self.names:
            k = robot.frame(name).link
            if k < 0:
                raise SingularError(f"{name!r} belongs to the base, which does not move", link=name)
            while k >= 0:
                moving.update(range(robot.tree.v_start[k], robot.tree.v_start[k + 1]))
                k = int(robot.tree.parent[k])
        if invertible and len(moving) < 6 * len(self.names):
            who = self.names[0] if len(self.names) == 1 else self.names
            raise SingularError(
                f"{who!r} can move in {6 * len(self.names)} directions, but only {len(moving)} degrees of freedom lie "
                "between it and the base, so it has no operational inertia; operational_mobility gives J M⁻¹ Jᵀ",
                link=self.names[0],
            )

    def ask(self, robot: Any, question: str, q: npt.ArrayLike, out: Any, dtype: npt.DTypeLike) -> Any:
        """Have an unrolled kernel answer a question about these frames."""
        return ask(robot, self.function(robot, question), q, *self.points, out=out, dtype=dtype)

    def function(self, robot: Any, question: str) -> Function:
        """The function that answers one of :data:`_QUESTIONS` about these frames, for unrolled kernels."""
        known = robot.__dict__.setdefault("_of_frames", {})
        key = (question, self.names, self.frame, bool(self.points))
        function: Function | None = known.get(key)
        if function is None:
            algorithm, outputs = _QUESTIONS[question]
            name = f"{question}/{self.frame}{'+points' if self.points else ''}/{','.join(self.names)}"
            places = self.places(robot, UnrolledPlace)
            function = known[key] = operational_space.of_frames(algorithm, name, places, bool(self.points), outputs)
        return function


_QUESTIONS: dict[str, tuple[Callable[..., Any], dict[str, str]]] = {
    "operational_inertia": (operational_space.operational_inertia, {"inertia": "m,m", "inverse": "m,m"}),
    "operational_mobility": (operational_space.mobility, {"inverse": "m,m"}),
    "dynamically_consistent_inverse": (operational_space.consistent_inverse, {"inverse": "nv,m"}),
}
"""What can be asked about frames in unrolled kernels: the algorithm, and the shapes of its results."""
