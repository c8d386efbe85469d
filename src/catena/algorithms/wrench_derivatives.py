"""Derivatives of inverse and forward dynamics by wrenches on the links: −Jᵀ and M⁻¹ Jᵀ of all links' frames."""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.algorithms.frames import Place
from catena.algorithms.innovations import FACTOR
from catena.algorithms.inverse_matrix import Whitener
from catena.algorithms.kinematics import WRENCH_TORQUES
from catena.algorithms.operational_space import RESPONSE
from catena.functions.function import Function
from catena.functions.recipes import Ask
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


def _link_by_link(ask: Ask, function: Function, *arrays: Any) -> Any:
    """What unit wrenches on one link after the other give, (..., nv, links, 6), so that memory stays O(n²)."""
    found = []
    for link in range(ask.tree.n):
        f = np.zeros((6, ask.tree.n, 6))
        f[:, link, :] = np.eye(6)
        answer = ask(function, *arrays, f)
        found.append(np.swapaxes(answer[0] if isinstance(answer, tuple) else answer, -1, -2))
    return np.stack(found, axis=-2)


def _rolled_inverse(ask: Ask, q: Any) -> Any:
    return -_link_by_link(ask, WRENCH_TORQUES, q[..., None, :])


def _rolled_forward(ask: Ask, q: Any) -> Any:
    factors = [x[..., None, :, :] for x in ask(FACTOR, q)]
    return _link_by_link(ask, RESPONSE, q[..., None, :], *factors)


INVERSE_DYNAMICS_WRENCH_DERIVATIVE = Function(
    "inverse_dynamics_wrench_derivative",
    inverse_dynamics_wrench_derivative,
    {"q": "q"},
    {"df": "dense:nv,n,6"},
    recipe=_rolled_inverse,
)
FORWARD_DYNAMICS_WRENCH_DERIVATIVE = Function(
    "forward_dynamics_wrench_derivative",
    forward_dynamics_wrench_derivative,
    {"q": "q"},
    {"df": "dense:nv,n,6"},
    recipe=_rolled_forward,
)
