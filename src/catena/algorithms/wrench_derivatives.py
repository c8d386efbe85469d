"""Derivatives of inverse and forward dynamics by wrenches on the links: −Jᵀ and M⁻¹ Jᵀ of all links' frames."""

from __future__ import annotations

from typing import Any

from catena.algorithms.frames import Place
from catena.algorithms.innovations import FACTOR
from catena.algorithms.inverse_matrix import Whitener
from catena.algorithms.kinematics import WRENCH_TORQUES
from catena.algorithms.operational_space import RESPONSE
from catena.functions.function import Function
from catena.functions.recipes import link_by_link
from catena.spatial import Transform
from catena.sweeps import Field


def inverse_dynamics_wrench_derivative(links: Any, q: Field) -> Any:
    """−Jᵀ: nv rows of six numbers for each link, in its own frame. For unrolled kernels only."""
    columns = [place.columns(links, q) for place in _places(links)]
    return [[[-x for x in of_link[i].components] for of_link in columns] for i in range(links.nv)]


def forward_dynamics_wrench_derivative(links: Any, q: Field) -> Any:
    """M⁻¹ Jᵀ: nv rows of six numbers for each link. For unrolled kernels only."""
    whitener = Whitener(links, q)
    return whitener.products(whitener.torques(), whitener.wrenches(q, _places(links), ()))


def _places(links: Any) -> list[Place]:
    return [Place(k.index, Transform.of(), "link") for k in links]


INVERSE_DYNAMICS_WRENCH_DERIVATIVE = Function(
    "inverse_dynamics_wrench_derivative",
    inverse_dynamics_wrench_derivative,
    {"q": "q"},
    {"df": "dense:nv,n,6"},
    recipe=lambda ask, q: -link_by_link(ask, WRENCH_TORQUES, ask.tree.n, q),
)
FORWARD_DYNAMICS_WRENCH_DERIVATIVE = Function(
    "forward_dynamics_wrench_derivative",
    forward_dynamics_wrench_derivative,
    {"q": "q"},
    {"df": "dense:nv,n,6"},
    recipe=lambda ask, q: link_by_link(ask, RESPONSE, ask.tree.n, q, *ask(FACTOR, q)),
)
