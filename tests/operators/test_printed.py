"""What operators print is true: formulas are read again and evaluated on dense matrices."""

from __future__ import annotations

import re

import numpy as np
import pytest
from tests.closed_systems import looped
from tests.mechanisms import relative

import catena
from catena.operators import Operator

TOKEN = re.compile(r"\s*(⁻¹|ᵀ|[-+()]|\d+(?:\.\d+)?(?:e[-+]\d+)?|(?:(?!ᵀ)\w)+\u0303?)")
NAMES = ["S", "H", "M", "Δ_φ", "Δ_ψ", "φ", "ψ", "Φ", "Ψ", "φ̃", "ψ̃", "P", "D", "G", "L", "B", "E", "J", "𝓜"]


def read(formula: str) -> list[str]:
    tokens = TOKEN.findall(formula)
    assert "".join(tokens) == formula.replace(" ", ""), formula
    return tokens


class Evaluator:
    """Sums of products of factors, as they are read on paper: ᵀ and ⁻¹ first, then products, then sums."""

    def __init__(self, formula: str, known: dict[str, np.ndarray]) -> None:
        self.tokens, self.known = read(formula), known

    def value(self) -> np.ndarray:
        found = self.sum()
        assert not self.tokens
        return found

    def sum(self) -> np.ndarray:
        signs = {"+": 1.0, "-": -1.0}
        sign = signs[self.tokens.pop(0)] if self.tokens[0] in signs else 1.0
        total = sign * self.product()
        while self.tokens and self.tokens[0] in signs:
            sign = signs[self.tokens.pop(0)]
            total = self.added(total, sign * self.product())
        return total

    def product(self) -> np.ndarray:
        total = self.factor()
        while self.tokens and self.tokens[0] not in "+-)":
            right = self.factor()
            total = total * right if 0 in (np.ndim(total), np.ndim(right)) else total @ right
        return total

    def factor(self) -> np.ndarray:
        token = self.tokens.pop(0)
        if token == "(":
            found = self.sum()
            assert self.tokens.pop(0) == ")"
        elif token == "I":
            found = np.float64(1.0)  # numbers stand for multiples of I, of whatever size
        else:
            found = np.float64(token) if token[0].isdigit() else self.known[token]
        while self.tokens and self.tokens[0] in ("ᵀ", "⁻¹"):
            inverse = np.linalg.inv if found.ndim else np.reciprocal
            found = found.T if self.tokens.pop(0) == "ᵀ" else inverse(found)
        return found

    @staticmethod
    def added(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        matrix = x if np.ndim(x) else y
        return sum(part if np.ndim(part) or not np.ndim(matrix) else part * np.eye(len(matrix)) for part in (x, y))


def random_expression(o: catena.operators.Operators, rng: np.random.Generator, depth: int) -> Operator:
    """A map of the links' space to itself, from all that there is to combine."""
    if depth == 0:
        leaves = [o.I, o.M, o.P, o.phi, o.psi, o.Phi, o.phi_tilde, o.S, o.delta_phi, o.H.T @ o.D @ o.H, o.phi.inv]
        return leaves[rng.integers(len(leaves))]
    a, b = (random_expression(o, rng, depth - 1) for _ in range(2))
    c = float(rng.choice([-1, 2, -0.5, 1 / 3]))
    made = [lambda: a @ b, lambda: a + b, lambda: a - b, lambda: c * a, lambda: a.T, lambda: -a, lambda: a / 3]
    made += [lambda: a @ (c * b), lambda: (3 * o.I + a.T @ a).inv, lambda: o.phi.T.inv @ a, lambda: a - (c * b)]
    return made[rng.integers(len(made))]()


def known(o: catena.operators.Operators) -> dict[str, np.ndarray]:
    parts = [o.S, o.H, o.M, o.delta_phi, o.delta_psi, o.phi, o.psi, o.Phi, o.Psi, o.phi_tilde, o.psi_tilde, o.P, o.D]
    parts += [o.G, o.L, o.B, o.E, o.J, o.mass]
    return {name: part.dense() for name, part in zip(NAMES, parts, strict=True)}


def test_random_formulas_are_what_is_computed() -> None:
    rng = np.random.default_rng(3)
    robot = catena.random_tree(1, 3, ["revolute", "spherical", "prismatic"], 0.5)
    o = robot.operators(robot.random_configuration(rng))
    table, seen = known(o), set()
    for _ in range(300):
        operator = random_expression(o, rng, int(rng.integers(1, 4)))
        if operator.domain.name == "any":
            continue
        found = Evaluator(str(operator), table).value()
        found = found if np.ndim(found) else found * np.eye(len(operator.dense()))
        assert relative(found, operator.dense()) < 1e-9, str(operator)
        seen.add(str(operator))
    assert len(seen) > 200


def test_formulas_of_inverses_and_of_factors_are_true() -> None:
    robot = catena.random_tree(1, 3, ["revolute", "spherical"], 0.5)
    o = robot.operators(robot.random_configuration(np.random.default_rng(0)))
    table = known(o)
    printed = {
        "(I - S Δ_φ)ᵀ": o.phi.T.inv,
        "I - S Δ_φ": o.phi.inv,
        "(I - S Δ_φ) M": o.phi.inv @ o.M,
        "(I - S Δ_ψ)⁻¹ᵀ": o.psi.inv.inv.T,
        "M (-P)": o.M @ -o.P,
        "(M + P) (φ - I)": (o.M + o.P) @ (o.phi - o.I),
        "M - 2 P": o.M - 2 * o.P,
        "M - (-2 P)": o.M - (-2 * o.P),
        "0.3333333333333333 D⁻¹": (3 * o.D).inv,
        "-(M + P)": -(o.M + o.P),
    }
    for text, operator in printed.items():
        assert str(operator) == text
        assert relative(Evaluator(text, table).value(), operator.dense()) < 1e-12, text


def test_formulas_of_closed_systems_are_true() -> None:
    system, q = looped(1, 6, ["Distance"])
    o = system.operators(q)
    table = known(o) | {"Q": o.Q.dense(), "K": o.K.dense(), "C": o.C.dense(), "U": np.linalg.inv(o.U_inverse.dense())}
    for operator in (o.J.expression, o.C.expression, o.Omega.expression, o.U_inverse, o.U_inverse.T @ o.D.inv @ o.C):
        assert relative(Evaluator(str(operator), table).value(), operator.dense()) < 1e-10, str(operator)


def test_a_false_formula_is_noticed() -> None:
    """The evaluator tells what was printed once from what is computed."""
    robot = catena.random_tree(1, 3, ["revolute"], 0.0)
    o = robot.operators(robot.neutral())
    for false, operator in (("I - S Δ_φᵀ", o.phi.T.inv), ("I - S Δ_φ M", o.phi.inv @ o.M), ("M -P", o.M @ -o.P)):
        assert relative(Evaluator(false, known(o)).value(), operator.dense()) > 1e-3


@pytest.mark.parametrize("zero", [lambda o: 0 * o.M, lambda o: o.I - o.I])
def test_nothing_times_an_operator_has_no_inverse(zero) -> None:
    robot = catena.load("two_link_arm")
    with pytest.raises(catena.SingularError, match="no inverse"):
        _ = zero(robot.operators(robot.neutral())).inv
