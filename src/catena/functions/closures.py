"""Functions of closed chains: those of :mod:`catena.algorithms.closed_chains` for the constraints of one system.

They are answered in float64 whatever is asked for: rows that depend on each other must be told from rounding. Where
constraints are redundant, or nearly so, the contact system of the compiled function has no good solution. Such
samples are told by how independent its rows are, and answered again from B = D^−½ U⁻¹ Jᵀ by singular values: with the
accelerations, which are unique, and forces of least norm.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from itertools import accumulate
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.algorithms import closed_chains
from catena.algorithms.closed_steps import closed_step
from catena.algorithms.closure_tolerances import DEPENDENT_MOTIONS, INDEPENDENT
from catena.algorithms.closures import Closed, Coupled, Held
from catena.algorithms.contact_system import Closure
from catena.algorithms.contact_system import times as times_known
from catena.algorithms.force_elements import ForceElement
from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, INVERSE_ROOT, SOLVE
from catena.algorithms.parameters import for_samples
from catena.functions.closed_step_recipe import StepRecipe
from catena.functions.closure_recipes import ClosureRecipes, Pair, Terms
from catena.functions.closure_slopes import ClosureSlopes
from catena.functions.frames import place_of, transform_of
from catena.functions.function import Function, by_recipe
from catena.functions.least_norm import LeastNorm
from catena.functions.recipes import Ask, times
from catena.functions.sparse_recipe import SparseContact
from catena.model.constraints import AnyConstraint, Coupling
from catena.model.merge import compose
from catena.model.tree import Frame
from catena.scalars import where
from catena.spatial import Dofs

Array = npt.NDArray[Any]


class Closures:
    """The functions of a system with these constraints; `frame` finds a frame by its name, `joint` a joint's number.

    `sparse` solves contact systems of many constraints.
    """

    def __init__(
        self,
        constraints: Sequence[AnyConstraint],
        frame: Callable[[str], Frame],
        joint: Callable[[str], int],
        sparse: SparseContact | None = None,
    ) -> None:
        self.constraints = tuple(constraints)
        self.described = [_described(c, frame, joint) for c in constraints]
        self.closures = [_closure(each) for each in self.described]
        self._recipes = ClosureRecipes(self.described, sparse)
        self.rows = sum(c.holds for c in constraints)
        text = "\n".join(c.content() for c in constraints)
        self.digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()
        k, m = f"robot:{self.rows}", f"dense:{len(self.constraints)},6"
        self.residual = self._function("residual", {"q": "q"}, {"residual": f"dense:{self.rows}"})
        self.jacobian = self._function("jacobian", {"q": "q"}, {"J": f"dense:{self.rows},nv"})
        self.rates = self._function("rates", {"q": "q", "v": "v"}, {"rates": f"dense:{self.rows}"})
        self.bias = self._function("bias", {"q": "q", "v": "v"}, {"bias": f"dense:{self.rows}"})
        self.directions = self._function("directions", {"q": "q"}, {"Q": f"dense:{self.rows},12"})
        self.forces = self._function("forces", {"q": "q", "lam": k}, {"forces": m})
        self.exerted = f"robot:{len(self.constraints)},6"
        """The kind of what constraints exert, as an input."""
        forces = {"q": "q", "forces": self.exerted}
        self.pushes = self._function("pushes", forces, {"f": "force"})
        self.torques_of_forces = self._function("torques_of_forces", forces, {"tau": "tau"})
        exerted = partial(closed_chains.torques, closures=self.closures)
        self.torques = Function(
            f"torques/closed/{self.digest}", exerted, {"q": "q", "lam": k}, {"tau": "tau"}, loops=False
        )
        self.white_jacobian = self._function("white_jacobian", {"q": "q"}, {"B": f"dense:nv,{self.rows}"})
        self.more = {"f_ext": "force", "gains": "robot:2", "driven": f"robot:3,{self.rows}"}
        """What forward dynamics may be given besides states and torques."""
        self._moved: dict[tuple[str, ...], Function] = {}
        pushed, answer = {"q": "q", "x": "tau", "wanted": k}, {"a": "v", "forces": m}
        self._answer, self._fast_answer = answer, {**answer, "independence": "dense:1"}
        self._fast_response = self._function("response", pushed, self._fast_answer)
        self.response = self._composed("response", self._fast_response, self._responses)
        self.slopes = ClosureSlopes(self)

    def forward_dynamics(self, given: Sequence[str]) -> Function:
        """Forward dynamics of calls that give some of "f_ext", "gains" and "driven", or none."""
        more = tuple(name for name in self.more if name in given)
        if more not in self._moved:
            inputs = {"q": "q", "v": "v", "tau": "tau", **{name: self.more[name] for name in more}}
            name = "/".join(["forward_dynamics", *more])
            algorithm, recipe = partial(self._traced, more), partial(self._by_loops, more)
            fast = self._function(name, inputs, self._fast_answer, algorithm, recipe)
            self._moved[more] = self._composed(name, fast, partial(self._dynamics, fast, more))
        return self._moved[more]

    def step(
        self,
        integrator: str,
        forces: Sequence[ForceElement],
        projected: bool,
        given: Sequence[str],
        in_space: bool = False,
        telling: bool = False,
    ) -> Function:
        """One step in time; see :func:`catena.algorithms.closed_steps.closed_step`."""
        more = {name: kind for name, kind in self.more.items() if name in given and name != "f_ext"}
        recipe = StepRecipe(self, integrator, tuple(forces), (*more,), projected)
        how = projected, recipe, in_space, telling
        return closed_step(integrator, self.digest, self.closures, forces, more, *how)

    def _traced(self, more: Sequence[str], links: Any, q: Any, v: Any, tau: Any, *others: Any) -> Any:
        given = dict(zip(more, others, strict=True))
        return closed_chains.forward_dynamics(links, q, v, tau, closures=self.closures, **given)

    def _by_loops(self, more: Sequence[str], ask: Ask, *arrays: Array) -> Any:
        given = dict(zip(more, arrays[3:], strict=True))
        return self._recipes.forward_dynamics(ask, *arrays[:3], **given)

    def _function(
        self,
        name: str,
        inputs: dict[str, str],
        outputs: dict[str, str],
        algorithm: Callable[..., Any] | None = None,
        recipe: Callable[..., Any] | None = None,
    ) -> Function:
        if algorithm is None:
            algorithm = partial(getattr(closed_chains, name), closures=self.closures)
        recipe = recipe or getattr(self._recipes, name)
        return Function(f"{name}/closed/{self.digest}", algorithm, inputs, outputs, recipe=recipe)

    def _composed(self, name: str, fast: Function, recipe: Callable[..., Any]) -> Function:
        """What is right for all samples, and by machine code alone where constraints are independent."""

        def sure(links: Any, *given: Any) -> Any:
            a, forces, (independence,) = fast.algorithm(links, *given)
            scale = 1.0 / where(independence > INDEPENDENT, 1.0, 0.0)  # infinite, so that processors tell
            for k in links.base_to_tip():
                a[k] = Dofs([scale * x for x in a[k]])
            (held,) = links.fields("held")
            held[links.base] = [times_known(scale, x) for row in forces for x in row]
            return a, held

        known = f"{name}/closed chains/{self.digest}"
        numbers = {"a": "v", "forces": self.exerted}  # of which weighted sums have gradients
        quick = Function(f"{known}/fast", sure, fast.inputs, numbers, loops=False)
        return Function(known, by_recipe, fast.inputs, self._answer, recipe=recipe, double=True, fast=quick)

    def _dynamics(self, fast: Function, more: Sequence[str], ask: Ask, *arrays: Array) -> tuple[Array, Array]:
        """Accelerations and forces by the compiled function; samples with redundant constraints by singular values."""
        a, forces, independence = ask(fast, *arrays)
        poor = ~(independence[..., 0] > INDEPENDENT)
        if poor.any():
            ranks = [1 if name == "gains" else 2 for name in more]
            q, v, tau, *others = _only(poor, arrays, [1, 1, 1, *ranks])
            ask, given = for_samples(ask, poor), dict(zip(more, others, strict=True))
            push = [given.pop("f_ext")] if "f_ext" in given else []
            free = ask(FD3, q, v, tau, *push)
            wanted = self._recipes.wanted(ask, q, v, **given) - times(ask(self.jacobian, q), free)
            a, forces = self._again(ask, q, free, wanted, poor, a, forces)
        return a, forces

    def _responses(self, ask: Ask, q: Array, x: Array, wanted: Array) -> tuple[Array, Array]:
        """The same for given generalised forces and rates."""
        y, forces, independence = ask(self._fast_response, q, x, wanted)
        poor = ~(independence[..., 0] > INDEPENDENT)
        if poor.any():
            q, x, wanted = _only(poor, (q, x, wanted), (1, 1, 1))
            ask = for_samples(ask, poor)
            free = ask(SOLVE, q, *ask(FACTOR, q), x)
            y, forces = self._again(ask, q, free, wanted - times(ask(self.jacobian, q), free), poor, y, forces)
        return y, forces

    def _again(
        self, ask: Ask, q: Array, free: Array, short: Array, poor: Array, a: Array, forces: Array
    ) -> tuple[Array, Array]:
        """Put what is least in the sense of Gauss where `poor`: free + M⁻¹Jᵀλ with J M⁻¹Jᵀ λ = short."""
        white = LeastNorm(ask(self.white_jacobian, q), DEPENDENT_MOTIONS)
        moved = white.solve_transposed(short)
        a, forces = np.array(a), np.array(forces)
        a[poor] = free + ask(INVERSE_ROOT, q, *ask(FACTOR, q), moved)
        forces[poor] = ask(self.forces, q, white.solve(moved))
        return a, forces


def starts_of(constraints: Sequence[AnyConstraint]) -> list[int]:
    """The number of the first row of each constraint."""
    return [0, *accumulate(c.holds for c in constraints)][:-1]


def _only(poor: Array, arrays: Sequence[Array], ranks: Sequence[int]) -> list[Array]:
    """The samples where `poor` holds, of arrays whose leading dimensions, before the last `rank`, broadcast to it."""
    shapes = [poor.shape + x.shape[x.ndim - rank :] for x, rank in zip(arrays, ranks, strict=True)]
    return [np.broadcast_to(x, shape)[poor] for x, shape in zip(arrays, shapes, strict=True)]


def _described(constraint: AnyConstraint, frame: Callable[[str], Frame], joint: Callable[[str], int]) -> Pair | Terms:
    """A constraint with the numbers of links in place of names."""
    if isinstance(constraint, Coupling):
        return {joint(name): coefficients for name, coefficients in constraint.terms.items()}, constraint.offset
    frames = []
    for side in constraint.sides:
        at = frame(side.frame)
        frames.append(Frame(at.link, *compose((at.rotation, at.position), side[1:])))
    return constraint, (frames[0], frames[1])


def _closure(described: Pair | Terms) -> Closure:
    """A constraint as the algorithms take it."""
    if isinstance(described[0], dict):
        return partial(Coupled, *described)
    constraint, frames = described
    held = transform_of(*constraint.sides[1][1:])
    places = [place_of(frame, "link") for frame in frames]
    return lambda links, q: Closed(constraint, [Held(place, links, q) for place in places], held)
