"""The regressor of inverse dynamics: τ = Y(q, v, v̇) π, linear in the inertial parameters π of the links.

The wrench that a link needs to move as it does is linear in its ten numbers: one wrench for each of them, with a body
that has this number one and the others zero. What joint j feels of link k is the wrench along the axes of j, carried
out to k. So Y is filled in one sweep base to tip, in which each link keeps the axes of all joints before it.

Source: C. G. Atkeson, C. H. An, J. M. Hollerbach, "Estimation of inertial parameters of manipulator loads and links",
Int. J. Robot. Res. 5 (1986).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from catena.algorithms.forward_dynamics import FD3
from catena.algorithms.innovations import FACTOR, SOLVE
from catena.algorithms.joint_losses import AT_JOINTS, AtJoints, with_acting, with_joint_losses
from catena.algorithms.newton_euler import inverse_dynamics
from catena.algorithms.parameters import with_parameters
from catena.algorithms.springs import SPRINGS_BY_REST, SPRINGS_BY_STIFFNESS
from catena.functions.function import Function, kind, on_any_scalars
from catena.functions.recipes import Ask, columns
from catena.scalars import Scalar, sign
from catena.spatial import Dofs, Force, Motion, RigidInertia, Sym3, Vec3
from catena.sweeps import Field

Rows = list[list[Scalar]]


def regressor(links: Any, q: Field, v: Field, vdot: Field) -> Rows:
    """Y, nv rows and ten columns for each link, in Pinocchio's order. For unrolled kernels only. O(n d) for depth d."""
    V, alpha, S = links.fields("V alpha S")
    V[links.base], alpha[links.base], S[links.base] = Motion.zero(), -links.gravity, {}
    Y: Rows = [[0] * (10 * len(links)) for _ in range(links.nv)]
    for k in links.base_to_tip():
        phi, H = k.joint(q[k])
        V[k] = phi.T @ V[k.parent] + H.T @ v[k]
        alpha[k] = phi.T @ alpha[k.parent] + H.T @ vdot[k] + k.bias_acceleration(V[k], H, q[k], v[k])
        S[k] = {j: phi.T @ axis for j, axis in S[k.parent].items()} | dict(enumerate(H.columns, k.v_start))
        wrenches = unit_wrenches(k.frame.T @ V[k], k.frame.T @ alpha[k])
        for j, axis in S[k].items():
            seen = k.frame.T @ axis
            Y[j][10 * k.index : 10 * k.index + 10] = [seen.dot(f) for f in wrenches]
    return Y


def unit_wrenches(V: Motion, alpha: Motion) -> list[Force]:
    """M α + V × M V for ten bodies, each with one of the ten numbers one and the others zero."""
    return [M @ alpha + V.cross(M @ V) for M in UNITS]


def _unit(i: int) -> RigidInertia:
    m, x, y, z, xx, xy, yy, xz, yz, zz = (int(i == j) for j in range(10))
    return RigidInertia(m, Vec3(x, y, z), Sym3(xx, xy, xz, yy, yz, zz))


UNITS = [_unit(i) for i in range(10)]
"""Bodies with one of the ten numbers one and the others zero."""


def regressor_with_joints(links: Any, q: Field, v: Field, vdot: Field) -> Rows:
    """Y with three more columns for each degree of freedom: armature, damping and friction, all of each together."""
    Y, nv = regressor(links, q, v, vdot), links.nv
    joints: Rows = [[0] * (3 * nv) for _ in range(nv)]
    for k in links.base_to_tip():
        H, dofs = k.joint(q[k])[1], range(len(v[k]))
        for i in dofs:
            alone = Dofs([int(i == j) for j in dofs])
            rotor = alone * vdot[k] + k.rotor_bias(H, v[k], alone)
            for j, x in enumerate(rotor):
                joints[k.v_start + j][k.v_start + i] = x
            row = joints[k.v_start + i]
            row[nv + k.v_start + i], row[2 * nv + k.v_start + i] = v[k][i], sign(v[k][i])
    return [inertial + others for inertial, others in zip(Y, joints, strict=True)]


def accelerations_by_parameters(ask: Ask, acting: AtJoints, *state: Any) -> Any:
    """The derivatives of accelerations by parameters, −M⁻¹ Y: M v̇ + … = τ holds whatever the parameters are."""
    q, v, *_ = state
    wide = torques_by_parameters(ask, acting, q, v, ask(with_acting(FD3, *acting), *state))
    factored = [np.expand_dims(x, -1 - rank) for x, rank in zip((q, *ask(FACTOR, q)), (1, 2, 2), strict=True)]
    return -np.swapaxes(ask(SOLVE, *factored, wide), -1, -2)


def torques_by_parameters(ask: Ask, acting: AtJoints, q: Any, v: Any, a: Any) -> Any:
    """The regressor Y, transposed, with rows for joints if there are losses, for stiffness and rest if springs."""
    Y = ask(REGRESSOR_WITH_JOINTS if acting.losses else REGRESSOR, q, v, a)
    if acting.springs:
        more = (columns(ask, by, a.shape[-1], q) for by in (SPRINGS_BY_STIFFNESS, SPRINGS_BY_REST))
        Y = np.concatenate([Y, *[np.broadcast_to(x, (*a.shape, a.shape[-1])) for x in more]], axis=-1)
    return np.swapaxes(Y, -1, -2)


_STATE = {"q": "q", "v": "v", "a": "v"}
_INVERSE_DYNAMICS = Function("inverse_dynamics/plain", inverse_dynamics, _STATE, {"tau": "tau"})
_PLAIN, _LOSING = (with_parameters(f) for f in (_INVERSE_DYNAMICS, with_joint_losses(_INVERSE_DYNAMICS)))
_PIECE = 2**24  # so many numbers of unit vectors at a time


def _by_columns(function: Function, joints: bool) -> Any:
    """The recipe for long chains: inverse dynamics of robots with one parameter one and the others zero."""

    def recipe(ask: Ask, *state: Any) -> Any:
        tree, gravity = ask.tree, ask.gravity[..., None, :]
        size = kind("parameters").full_shape(tree.n, tree.nq, tree.nv)[0]
        count = 10 * tree.n + (3 * tree.nv if joints else 0)
        state = tuple(x[..., None, :] for x in state)
        step, columns = max(1, _PIECE // (size * max(1, gravity[..., 0].size))), []
        for start in range(0, count, step):
            ones = np.arange(min(step, count - start))
            units = np.zeros((*gravity.shape[:-2], len(ones), size), ask.dtype)
            units[..., ones, start + ones] = 1
            units[..., -3:] = gravity
            columns.append(ask(function, *state, units))
        return np.swapaxes(np.concatenate(columns, axis=-2), -1, -2)

    return recipe


REGRESSOR = Function(
    "regressor", regressor, _STATE, {"Y": "dense:nv,10n"}, regroup=False, recipe=_by_columns(_PLAIN, False)
)
REGRESSOR_WITH_JOINTS = Function(
    "regressor/joints",
    regressor_with_joints,
    _STATE,
    {"Y": "dense:nv,10n+3nv"},
    regroup=False,
    recipe=_by_columns(_LOSING, True),
)


def columns_of(acting: AtJoints) -> str:
    """The kind of derivatives of accelerations by parameters."""
    return "dense:nv,10n" + ("+3nv" if acting.losses else "") + ("+2nv" if acting.springs else "")


def _accelerations_by_parameters(acting: AtJoints) -> Function:
    return Function(
        f"forward_dynamics_parameter_derivatives{acting.suffix}",
        on_any_scalars,
        FD3.inputs,
        {"derivatives": columns_of(acting)},
        optional=FD3.optional,
        recipe=lambda ask, *state: accelerations_by_parameters(ask, acting, *state),
        steepness=10,
    )


ACCELERATIONS_BY_PARAMETERS = {acting: _accelerations_by_parameters(acting) for acting in AT_JOINTS}
"""By what acts at joints, whose parameters have columns as well."""
