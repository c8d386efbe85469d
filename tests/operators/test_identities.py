"""Every numbered identity, lemma, fact and theorem of Rodriguez & Kreutz (1988), Part I, dense and applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
import scipy.sparse as sparse
from tests.mechanisms import ALL, WITHOUT_ROTORS

from catena.operators import Operator, Operators, verify
from catena.operators.elementary import Matrix

Identity = Callable[[Operators], Sequence[Operator]]


def whitening(o: Operators) -> Operator:
    return o.I - o.H @ o.Psi @ o.L


def colouring(o: Operators) -> Operator:
    return o.I + o.H @ o.Phi @ o.L


IDENTITIES: dict[str, Identity] = {
    "A.1 (a.6)": lambda o: (o.Phi, o.phi @ o.S),
    "A.1 (a.7)": lambda o: (o.Psi, o.psi @ o.S),
    "A.1 (a.8)": lambda o: (o.Psi @ o.delta_psi, o.psi_tilde, o.psi - o.I),
    "A.1 (a.9)": lambda o: (o.Phi @ o.delta_phi, o.phi_tilde, o.phi - o.I),
    "A.1 (a.10)": lambda o: (o.psi.inv, o.I - o.S @ o.delta_psi),
    "A.1 (a.11)": lambda o: (o.phi.inv, o.I - o.S @ o.delta_phi),
    "A.1 (a.12)": lambda o: (o.L, o.delta_phi @ o.G),
    "A.1 (a.13)": lambda o: (o.phi_tilde @ o.G, o.Phi @ o.L),
    "A.2 (a.14)": lambda o: (o.phi, o.psi @ (o.I + o.S @ o.L @ o.H @ o.phi)),
    "A.2 (a.15)": lambda o: (o.psi, (o.I - o.Psi @ o.L @ o.H) @ o.phi),
    "A.2 (a.16)": lambda o: (o.Phi, o.Psi @ (o.I + o.L @ o.H @ o.Phi)),
    "A.2 (a.17)": lambda o: (o.Psi, (o.I - o.Psi @ o.L @ o.H) @ o.Phi),
    "A.2 (a.18)": lambda o: (o.phi - o.psi, o.Psi @ o.L @ o.H @ o.phi, o.psi @ o.S @ o.L @ o.H @ o.phi),
    "A.3 (a.22)": lambda o: (o.phi, (o.I + o.Phi @ o.L @ o.H) @ o.psi),
    "A.3 (a.23)": lambda o: (o.psi, o.phi @ (o.I - o.S @ o.L @ o.H @ o.psi)),
    "A.3 (a.24)": lambda o: (o.Phi, (o.I + o.Phi @ o.L @ o.H) @ o.Psi),
    "A.3 (a.25)": lambda o: (o.Psi, o.Phi @ (o.I - o.L @ o.H @ o.Psi)),
    "A.3 (a.26)": lambda o: (o.Phi @ o.L @ o.H @ o.psi, o.Psi @ o.L @ o.H @ o.phi),
    "A.3 (a.27)": lambda o: (o.Phi @ o.L @ o.H @ o.Psi, o.Psi @ o.L @ o.H @ o.Phi),
    "A.3 (a.28)": lambda o: (o.phi - o.psi, o.Phi @ o.L @ o.H @ o.psi, o.phi @ o.S @ o.L @ o.H @ o.psi),
    "A.4 (a.32)": lambda o: (o.H @ o.phi, colouring(o) @ o.H @ o.psi),
    "A.4 (a.33)": lambda o: (o.H @ o.Phi, colouring(o) @ o.H @ o.Psi),
    "A.4 (a.34)": lambda o: (o.H @ o.Psi, o.H @ o.Phi @ (o.I - o.L @ o.H @ o.Psi)),
    "A.4 (a.35)": lambda o: (o.H @ o.psi, whitening(o) @ o.H @ o.phi),
    "A.4 (a.36)": lambda o: (o.H @ o.Psi, whitening(o) @ o.H @ o.Phi),
    "A.4 (a.37)": lambda o: (o.H @ o.Phi, o.H @ o.Psi @ (o.I + o.L @ o.H @ o.Phi)),
    "A.4 (a.38)": lambda o: (o.H @ o.Phi @ o.L @ o.H @ o.Psi, o.H @ o.Psi @ o.L @ o.H @ o.Phi),
    "A.4 (a.39)": lambda o: (o.Phi @ o.L, o.Psi @ o.L @ colouring(o)),
    "A.4 (a.40)": lambda o: (o.Psi @ o.L, (o.I - o.Psi @ o.L @ o.H) @ o.Phi @ o.L),
    "A.4 (a.41)": lambda o: (o.Psi @ o.L, o.Phi @ o.L @ whitening(o)),
    "A.4 (a.42)": lambda o: (o.Phi @ o.L, (o.I + o.Phi @ o.L @ o.H) @ o.Psi @ o.L),
    "A.4 (a.43)": lambda o: (o.Psi @ o.L @ o.H @ o.Phi @ o.L, o.Phi @ o.L @ o.H @ o.Psi @ o.L),
    "A.5 (a.46)": lambda o: (o.psi @ o.M @ o.phi.T, o.P + o.psi_tilde @ o.P + o.P @ o.phi_tilde.T),
    "A.6 (a.48)": lambda o: (
        o.phi @ o.M @ o.phi.T,
        o.P + o.phi_tilde @ o.P + o.P @ o.phi_tilde.T + o.phi_tilde @ o.P @ o.H.T @ o.D.inv @ o.H @ o.P @ o.phi_tilde.T,
    ),
    "A.7 (a.50)": lambda o: (
        whitening(o).T @ o.D.inv @ o.H @ o.psi @ o.M @ o.phi.T,
        whitening(o).T @ o.D.inv @ o.H @ o.psi_tilde @ o.P + o.L.T @ o.Psi.T @ (o.I - o.G @ o.H).T + o.G.T,
    ),
    "A.7 (a.51)": lambda o: (
        whitening(o).T @ o.D.inv @ o.H @ o.P @ (o.I + o.phi_tilde.T),
        o.L.T @ o.Psi.T @ (o.I - o.G @ o.H).T + o.G.T,
    ),
    "(a.2)": lambda o: (o.G, o.P @ o.H.T @ o.D.inv),
    "(3.13)": lambda o: (o.J, o.B.T @ o.phi.T @ o.H.T),
    "Fact 4.1": lambda o: (o.mass, colouring(o) @ o.D @ colouring(o).T),
    "Fact 4.2": lambda o: (colouring(o) @ whitening(o), o.I + 0 * o.D, whitening(o) @ colouring(o)),
    "Fact 4.2, by elimination": lambda o: (colouring(o).inv, whitening(o)),
    "Theorem 4.1": lambda o: (whitening(o).T @ o.D.inv @ whitening(o) @ o.mass, o.I + 0 * o.D),
    "Theorem 4.1, by elimination": lambda o: (whitening(o).T @ o.D.inv @ whitening(o), o.mass.inv),
    "Identity 5.1": lambda o: (whitening(o) @ o.H @ o.phi, o.H @ o.psi),
}

WITHOUT: dict[str, Identity] = {
    "(a.1)": lambda o: (o.D, o.H @ o.P @ o.H.T),
    "A.5 (a.47)": lambda o: (o.psi @ o.M @ o.psi.T, o.P + o.psi_tilde @ o.P + o.P @ o.psi_tilde.T),
    "(3.20)": lambda o: (o.mass, o.H @ o.phi @ o.M @ o.phi.T @ o.H.T),
}
"""What holds only where no rotor adds to D."""


@pytest.mark.parametrize("number", IDENTITIES)
@pytest.mark.parametrize("name", ALL)
def test_identity(name: str, number: str) -> None:
    check = verify(IDENTITIES[number], ALL[name](), samples=2)
    assert check.dense is not None
    assert check, str(check)


@pytest.mark.parametrize("number", WITHOUT)
@pytest.mark.parametrize("name", WITHOUT_ROTORS)
def test_identity_without_rotors(name: str, number: str) -> None:
    check = verify(WITHOUT[number], WITHOUT_ROTORS[name](), samples=2)
    assert check, str(check)


def memoryless(o: Operators, blocks: np.ndarray) -> Operator:
    return Matrix("r", o.M.range, o.M.domain, lambda: sparse.block_diag(blocks))


def recursion(o: Operators, left: np.ndarray, right: np.ndarray) -> Operator:
    """r of (a.44): r(k+1) = ψ(k+1,k) r(k) φᵀ(k+1,k) + M(k+1), summed over the children on a tree."""
    r = o.geometry.M.copy()
    for k in reversed(range(o.tree.n)):
        if o.tree.parent[k] >= 0:
            r[o.tree.parent[k]] += left[k] @ r[k] @ right[k].T
    return memoryless(o, r)


@pytest.mark.parametrize("name", ALL)
def test_lemma_a1_and_its_corollary(name: str) -> None:
    def lemma(o: Operators) -> Sequence[Operator]:
        r = recursion(o, o.geometry.psi, o.geometry.phi)
        return o.psi @ o.M @ o.phi.T, r + o.psi_tilde @ r + r @ o.phi_tilde.T  # (a.45)

    def corollary(o: Operators) -> Sequence[Operator]:
        r = recursion(o, o.geometry.phi, o.geometry.phi)
        return o.phi @ o.M @ o.phi.T, r + o.phi_tilde @ r + r @ o.phi_tilde.T

    robot = ALL[name]()
    for identity in (lemma, corollary):
        check = verify(identity, robot, samples=2)
        assert check, str(check)


def test_a_wrong_identity_is_found_out() -> None:
    check = verify(lambda o: (o.phi, o.psi), ALL["sliding chain"]())
    assert not check
    assert check.error > 0.1
    assert "DOES NOT HOLD" in str(check)
    slightly = verify(lambda o: (o.phi, (1 + 1e-9) * o.phi), ALL["sliding chain"]())
    assert not slightly
    assert slightly.error == pytest.approx(1e-9, rel=1e-3)
