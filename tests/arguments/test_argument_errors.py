"""What is wrong with an argument is said with the names that users know: the question they asked, and the argument."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots
from catena.errors import CatenaError, ShapeError

ARM = catena.load(robots.path("seven_dof_arm"))
N = ARM.nv
Q, V = np.zeros((3, N)), np.ones((3, N))
NO_OUT = {"joint_losses", "integrate", "difference", "normalize", "natural_orthogonal_complement", "operators"}

QUESTIONS: dict[str, dict[str, Any]] = {
    "forward_dynamics": {"q": Q, "v": V, "tau": V, "f_ext": np.zeros((3, 7, 6))},
    "inverse_dynamics": {"q": Q, "v": V, "a": V, "f_ext": np.zeros((3, 7, 6))},
    "forward_dynamics_jvp": {"q": Q, "v": V, "tau": V, "dq": V, "dv": V, "dtau": V},
    "forward_dynamics_vjp": {"q": Q, "v": V, "tau": V, "weight": V, "f_ext": np.zeros((3, 7, 6))},
    "inverse_dynamics_jvp": {"q": Q, "v": V, "a": V, "dq": V, "dv": V, "da": V, "f_ext": np.zeros((3, 7, 6))},
    "inverse_dynamics_vjp": {"q": Q, "v": V, "a": V, "weight": V},
    "integrate_jvp": {"q": Q, "dv": V, "dq": V, "ddv": V},
    "integrate_vjp": {"q": Q, "dv": V, "weight": V},
    "bias": {"q": Q, "v": V, "f_ext": np.zeros((3, 7, 6))},
    "placements": {"q": Q},
    "link_velocities": {"q": Q, "v": V},
    "link_accelerations": {"q": Q, "v": V, "a": V},
    "placement": {"q": Q, "link": "tool", "point": np.zeros(3)},
    "jacobian": {"q": Q, "link": "tool", "point": np.zeros(3)},
    "jacobian_times": {"q": Q, "link": "tool", "x": V, "point": np.zeros(3)},
    "jacobian_transpose_times": {"q": Q, "link": "tool", "f": np.zeros((3, 6)), "point": np.zeros(3)},
    "jacobian_dot_times": {"q": Q, "link": "tool", "v": V, "point": np.zeros(3)},
    "inverse_mass_matrix": {"q": Q},
    "operational_inertia": {"q": Q, "link": "tool", "point": np.zeros(3)},
    "operational_mobility": {"q": Q, "link": "tool", "point": np.zeros(3)},
    "dynamically_consistent_inverse": {"q": Q, "link": "tool", "point": np.zeros(3)},
    "kinetic_energy": {"q": Q, "v": V},
    "potential_energy": {"q": Q},
    "gravity_torque": {"q": Q},
    "coriolis_matrix": {"q": Q, "v": V},
    "coriolis_times": {"q": Q, "v": V, "x": V},
    "joint_losses": {"v": V},
    "center_of_mass": {"q": Q},
    "center_of_mass_velocity": {"q": Q, "v": V},
    "center_of_mass_jacobian": {"q": Q},
    "momentum": {"q": Q, "v": V},
    "centroidal_momentum_matrix": {"q": Q},
    "interlink_forces": {"q": Q, "v": V, "a": V, "f_ext": np.zeros((3, 7, 6))},
    "reactions": {"q": Q, "v": V, "tau": V, "f_ext": np.zeros((3, 7, 6))},
    "spatial_dynamics": {"q": Q, "v": V, "a": V, "f_ext": np.zeros((3, 7, 6))},
    "forward_link_dynamics": {"q": Q, "v": V, "tau": V, "f_ext": np.zeros((3, 7, 6))},
    "link_mobilities": {"q": Q},
    "integrate": {"q": Q, "dv": V},
    "difference": {"q0": Q, "q1": Q},
    "normalize": {"q": Q},
    "natural_orthogonal_complement": {"q": Q},
    "operators": {"q": Q[0]},
}
SHAPES = ["unrolled", "rolled"]


def test_every_question_is_in_the_table() -> None:
    others = {"neutral", "random_configuration", "with_gravity", "subtree", "locked", "attach", "mass_matrix"}
    others |= {"link", "joint", "frame", "link_index", "joint_index"}
    public = {n for n in dir(catena.Robot) if not n.startswith("_") and callable(getattr(catena.Robot, n))}
    assert public - others == set(QUESTIONS)


def said(question: str, arguments: dict[str, Any], **options: Any) -> str:
    with pytest.raises(CatenaError) as caught:
        getattr(ARM, question)(**arguments, **options)
    return str(caught.value)


def options_for(question: str, shape: str) -> dict[str, Any]:
    return {} if question in NO_OUT else {"kernel": shape}


WRONG = {
    "too long": lambda good: np.zeros((*good.shape[:-1], good.shape[-1] + 1)),
    "a number": lambda good: 1.0,
    "a string": lambda good: "zero",
    "strings": lambda good: ["zero"] * good.shape[-1],
    "nothing": lambda good: None,
    "complex": lambda good: good.astype(complex),
    "uneven": lambda good: [[1.0], [2.0, 3.0]],
    "objects": lambda good: np.full(good.shape, None),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("question", QUESTIONS)
def test_wrong_arrays_are_named(question: str, wrong: str, shape: str) -> None:
    good = QUESTIONS[question]
    for name, value in good.items():
        if name == "link" or (wrong == "nothing" and name in ("f_ext", "point")):
            continue
        message = said(question, {**good, name: WRONG[wrong](value)}, **options_for(question, shape))
        expected = rf"{question}: {name} must (have shape \(\.\.\., .*\)|hold real numbers), got"
        assert re.match(expected, message), message


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", [q for q, a in QUESTIONS.items() if len(a) > 1])
def test_batches_that_do_not_fit_are_named(question: str, shape: str) -> None:
    good = QUESTIONS[question]
    for name in [n for n in good if n not in ("q", "q0", "link")]:
        wrong = {**good, name: np.zeros((2, *good[name].shape[-2 if name == "f_ext" else -1 :]))}
        message = said(question, wrong, **options_for(question, shape))
        assert message.startswith(f"{question}: the leading dimensions of "), message
        assert "do not broadcast together" in message
        assert f"{name} {wrong[name].shape}" in message


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", [q for q in QUESTIONS if q not in NO_OUT])
def test_wrong_out_is_named(question: str, shape: str) -> None:
    good, options = QUESTIONS[question], options_for(question, shape)
    result = getattr(ARM, question)(**good, **options)
    several = isinstance(result, tuple)
    first = np.asarray(result[0] if several else result)
    frozen = np.empty_like(first)
    frozen.flags.writeable = False
    for out, problem in (
        (np.empty((7, *first.shape)), "must have shape"),
        (first.tolist(), "must be a NumPy array, not list"),
        (first.astype(np.float32), "must have dtype float64, got float32"),
        (frozen, "is read-only"),
    ):
        given = (out, *[np.empty_like(r) for r in result[1:]]) if several else out
        message = said(question, good, out=given, **options)
        assert re.match(rf"{question}: out.* {problem}", message), message
    if several:
        assert said(question, good, out=(first,), **options).startswith(f"{question}: out must be a tuple")
        assert said(question, good, out=first, **options).startswith(f"{question}: out must be a tuple")


@pytest.mark.parametrize("question", [q for q in QUESTIONS if q not in NO_OUT])
def test_wrong_dtype_and_shape_are_named(question: str) -> None:
    good = QUESTIONS[question]
    for dtype in (np.float16, complex, "int32", "nonsense"):
        assert re.match(rf"{question}: dtype must be float64 or float32, got ", said(question, good, dtype=dtype))
    assert said(question, good, kernel="round").startswith("kernel must be 'unrolled', 'rolled' or None")


MATRIX = {"times": "x", "solve": "b", "sqrt_times": "z", "inv_sqrt_times": "z", "quadratic_form": "v"}
WITHOUT = ["logdet", "logdet_gradient", "diagonal", "inv_diagonal", "dense", "inv"]


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("method", ["innovations", "udu", "fixman", "dense"])
def test_mass_matrices_name_what_is_wrong(method: str, shape: str) -> None:
    M = ARM.mass_matrix(Q, method, kernel=shape)
    for question, name in MATRIX.items():
        for make in WRONG.values():
            with pytest.raises(ShapeError, match=rf"^MassMatrix.{question}: {name} must (have shape|hold real)"):
                getattr(M, question)(make(V))
        with pytest.raises(ShapeError, match=rf"^MassMatrix.{question}: the leading dimensions of .*{name} \(2, 7\)"):
            getattr(M, question)(np.ones((2, 7)))
        with pytest.raises(ShapeError, match=rf"^MassMatrix.{question}: out.* must have shape"):
            getattr(M, question)(V, out=np.empty(4))
        with pytest.raises(ShapeError, match=rf"^MassMatrix.{question}: out.* must be a NumPy array"):
            getattr(M, question)(V, out=[])
    for question in WITHOUT:
        with pytest.raises(ShapeError, match=rf"^MassMatrix.{question}: out.* must have shape"):
            getattr(M, question)(out=np.empty(4))
    for make in WRONG.values():
        with pytest.raises(ShapeError, match=r"^MassMatrix @ x: x must"):
            M @ make(V)
        with pytest.raises(ShapeError, match=r"^mass_matrix: q must (have shape|hold real)"):
            ARM.mass_matrix(make(Q), method, kernel=shape)
    if method != "dense":
        U, D = M.factors()
        for factor in (U, U.T, D):
            with pytest.raises(ShapeError, match=r"@ x: x must have shape"):
                factor @ np.ones(4)
            with pytest.raises(ShapeError, match=r"solve: b must have shape"):
                factor.solve(np.ones(4))
