"""What is wrong with an argument is said with the names that users know: the question they asked, and the argument."""

from __future__ import annotations

import inspect
import re
from typing import Any

import numpy as np
import pytest
from tests import asking

import catena
from catena import robots
from catena.errors import CatenaError, ShapeError
from catena.functions.question import Declared

ARM = catena.load(robots.path("seven_dof_arm"))
N = ARM.nv
Q, V = np.zeros((3, N)), np.ones((3, N))
GIVEN = {"f_ext", "point"}
"""Optional arrays that are given as well."""


def _arguments(declared: Declared) -> dict[str, Any]:
    """Arguments for a batch of three: zeros for configurations, ones for the rest."""
    needed = dict(zip(declared.names, declared.defaults, strict=True))
    names = [n for n in asking.arrays(declared) if n in GIVEN or needed[n] is inspect.Parameter.empty]
    given: dict[str, Any] = {
        n: np.full((3, *asking.shape(ARM, n)), float(n not in asking.CONFIGURATIONS)) for n in names
    }
    if "link" in declared.names:
        given["link"] = "tool"
    return {n: given[n] for n in declared.names if n in given}


QUESTIONS = {name: _arguments(declared) for name, declared in asking.ROBOT.items()}
SHAPES = ["unrolled", "rolled"]


def test_every_question_is_in_the_table() -> None:
    others = {"neutral", "random_configuration", "with_gravity", "subtree", "locked", "attach", "mass_matrix"}
    others |= {"link", "joint", "frame", "link_index", "joint_index", "inverse_kinematics"}
    others |= {"natural_orthogonal_complement", "operators", "parameters", "with_parameters", "with_joints", "rollout"}
    others |= {"to_pinocchio", "from_pinocchio", "to_mujoco", "from_mujoco"}
    public = {n for n in dir(catena.Robot) if not n.startswith("_") and callable(getattr(catena.Robot, n))}
    assert public - others == set(QUESTIONS)


def said(question: str, arguments: dict[str, Any], **options: Any) -> str:
    with pytest.raises(CatenaError) as caught:
        getattr(ARM, question)(**arguments, **options)
    return str(caught.value)


WRONG = {
    "too long": lambda good: np.ones((*good.shape[:-1], good.shape[-1] + 1)),
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
        if name == "dt" and wrong in ("too long", "a number"):  # one number a sample: any shape fits
            continue
        message = said(question, {**good, name: WRONG[wrong](value)}, kernel=shape)
        expected = rf"{question}: {name} must (have shape \(\.\.\.(, .*)?\)|hold real numbers), got"
        assert re.match(expected, message), message


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", [q for q, a in QUESTIONS.items() if len(a) > 1])
def test_batches_that_do_not_fit_are_named(question: str, shape: str) -> None:
    good = QUESTIONS[question]
    for name in [n for n in good if n not in ("q", "q0", "link")]:
        wrong = {**good, name: np.ones((2, *good[name].shape[1:]))}
        message = said(question, wrong, kernel=shape)
        assert message.startswith(f"{question}: the leading dimensions of "), message
        assert "do not broadcast together" in message
        assert f"{name} {wrong[name].shape}" in message


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS)
@pytest.mark.filterwarnings("ignore::catena.SingularWarning")
def test_wrong_out_is_named(question: str, shape: str) -> None:
    good, options = QUESTIONS[question], {"kernel": shape}
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


@pytest.mark.parametrize("question", QUESTIONS)
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


NO_NUMBERS = ["x", b"x", {}, object(), [1.0, [2.0]], 1j, [None]]


@pytest.mark.parametrize("wrong", NO_NUMBERS)
def test_what_is_no_array_of_numbers_is_named(wrong: Any) -> None:
    chain, q = catena.planar_chain(np.ones(3), 1.0), np.zeros(3)
    polymer = catena.point_mass_chain(np.ones(5), 1.0, 2.0)
    blocks = catena.fixman.planar_blocks(q, 1.0, 1.0)
    asked = {
        "q": [
            lambda: catena.fixman.solve_with_error(chain, wrong, q),
            lambda: catena.fixman.solve_with_error(polymer, wrong, np.zeros(polymer.nv)),
            lambda: catena.fixman.solve_in_pieces(chain, wrong, q),
            lambda: catena.fixman_potential(chain, wrong),
        ],
        "b": [
            lambda: catena.fixman.solve_with_error(chain, q, wrong),
            lambda: catena.fixman.solve_in_pieces(chain, q, wrong),
            lambda: blocks.solve(wrong),
        ],
        "kT": [lambda: catena.fixman_potential(chain, q, wrong)],
        "theta": [lambda: catena.fixman.planar_blocks(wrong, 1.0, 1.0)],
        "lengths": [lambda: catena.fixman.planar_blocks(q, wrong, 1.0)],
        "masses": [lambda: catena.fixman.planar_blocks(q, 1.0, wrong)],
        "applied": [lambda: chain.operators(q).H @ wrong],
        "w": [lambda: chain.natural_orthogonal_complement(q).torques(wrong)],
        "v": [lambda: chain.natural_orthogonal_complement(q).twists(wrong)],
        "rotation": [
            lambda: catena.rotations.rotation_derivatives(lambda R: R.xx, wrong),
            lambda: catena.rotations.motion_jacobian(np.eye(3), wrong),
        ],
        "jacobian": [lambda: catena.rotations.along_axes(q, wrong)],
    }
    for name, questions in asked.items():
        for ask in questions:
            with pytest.raises(ShapeError, match=rf"\b{name}\b"):
                ask()


@pytest.mark.parametrize(
    ("pieces", "message"),
    [
        *[(wrong, "pieces must be a whole number of at least 1") for wrong in (0, -1, 2.5, "x", [])],
        (10**9, "pieces: expected 1 to 15 for 30 links"),
    ],
)
def test_pieces_that_cannot_be_are_named(pieces: Any, message: str) -> None:
    with pytest.raises(ShapeError, match=message):
        catena.fixman.solve_in_pieces(catena.rod_chain(30, radius=0.1), np.zeros(30), np.ones(30), pieces)


def test_temperatures_that_do_not_fit_are_named() -> None:
    with pytest.raises(ShapeError, match=r"fixman_potential: .*kT"):
        catena.fixman_potential(ARM, Q, np.ones(2))


@pytest.mark.parametrize("wrong", [3, None, ["bias"], np.array(["bias"]), {}, b"bias", object()])
def test_what_is_no_name_or_mapping_is_an_error_of_ours(wrong: Any) -> None:
    asked = [
        lambda: catena.count(ARM, wrong),
        lambda: catena.evaluate(ARM, wrong, Q[0]),
        lambda: catena.symbolic(ARM, wrong),
        lambda: ARM.locked(wrong) if wrong != {} else ARM.locked({"nowhere": 0.0}),
        lambda: ARM.bias(Q, V, kernel=wrong) if wrong is not None else ARM.bias(Q, V, kernel=""),
    ]
    for ask in asked:
        with pytest.raises(CatenaError):
            ask()
