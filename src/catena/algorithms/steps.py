"""The steps at one joint that most algorithms here are made of: Rodriguez & Kreutz (1988), sections 4 and 5.

A sweep to the base frees the joints and filters, a sweep to the tips smooths:

    D, G, P_plus = free_joint(P, H, armature)     what the parent feels of the inertia beyond the joint
    eps, z_plus = filtered(z, tau, H, G)          what it feels of the forces beyond the joint
    vdot, lam = smoothed(lam_in, nu, H, G)        how the joint moves, and how the link does

``tau, z_plus = coloured(z, eps, H, G)`` and ``nu, lam = unsmoothed(lam_in, vdot, H, G)`` take the last two back. All is
in the frame of the link that the joint carries: φ brings P_plus and z_plus to its parent, φᵀ brings lam_in from there.
Saha (1995) has the same steps with other letters: P is M̂, H is pᵀ, D is m̂, G is ψ̂, z is η̃ and lam is μ̃.
"""

from __future__ import annotations

from typing import Protocol, TypeVar

from catena.spatial import ArticulatedInertia, Axes, Columns, Dofs, Force, Motion, SmallSymmetric

State = TypeVar("State", Force, Motion)


class Step(Protocol[State]):
    """What a joint makes of its own numbers and of what passes it: a force going in, or a motion going out."""

    def __call__(self, state: State, x: Dofs, H: Axes, G: Columns, /) -> tuple[Dofs, State]:
        """The joint's numbers afterwards, and what goes on."""


def free_joint(P: ArticulatedInertia, H: Axes, armature: Dofs) -> tuple[SmallSymmetric, Columns, ArticulatedInertia]:
    """Let the joint go: the inertia D along its axes, the Kalman gain G = P Hᵀ D⁻¹, and P⁺ = P − G D Gᵀ.

    P is the articulated inertia of the link, H the axes of its joint, one row for each of its nv degrees of freedom,
    and `armature` the inertia of its rotors, nv numbers, which adds to D alone. D is nv x nv, G 6 x nv. P⁺ is symmetric
    by construction, so that rounding cannot make it drift.
    """
    U = P @ H.T
    D = (H @ U).plus_diagonal(armature)  # (4.6)
    G = U @ D.inv  # (5.12)
    return D, G, P - U @ G.T  # (4.5), see errata


def filtered(z: Force, tau: Dofs, H: Axes, G: Columns) -> tuple[Dofs, Force]:
    """The innovation ε = τ − H z of a joint with torques tau, and z⁺ = z + G ε, the force that the parent feels.

    z is the bias force of the link: what must act on it so that it does not accelerate, while the joints beyond it are
    driven by their own torques.
    """
    eps = tau - H @ z  # (4.20), see errata
    return eps, z + G @ eps  # ψ z + L τ, before φ


def coloured(z: Force, eps: Dofs, H: Axes, G: Columns) -> tuple[Dofs, Force]:
    """The torques τ = H z + ε that leave an innovation eps, and z⁺ as in :func:`filtered`, whose inverse this is."""
    return H @ z + eps, z + G @ eps  # (4.13)


def smoothed(lam_in: Motion, nu: Dofs, H: Axes, G: Columns) -> tuple[Dofs, Motion]:
    """The joint's acceleration ν − Gᵀ λ_in, and that of its link, where λ_in is the parent's, carried to the link.

    nu is D⁻¹ ε, the acceleration that the joint would have on a parent that does not accelerate.
    """
    vdot = nu - G.T @ lam_in  # (4.22)
    return vdot, lam_in + H.T @ vdot


def unsmoothed(lam_in: Motion, vdot: Dofs, H: Axes, G: Columns) -> tuple[Dofs, Motion]:
    """ν from the joint's acceleration, and the link's as in :func:`smoothed`, whose inverse this is."""
    return vdot + G.T @ lam_in, lam_in + H.T @ vdot
