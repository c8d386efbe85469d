"""Symbolic recursions: short, quick, any question, any joint, and code that runs and agrees with the kernels."""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative, state, with_rotors
from tests.symbols.test_symbolic import planar_arm

import catena
from catena.symbols import symbolic

sympy = pytest.importorskip("sympy")


def puma() -> catena.Robot:
    """Six joints with the axes and offsets of a PUMA 560, and bodies without symmetry."""
    rng, quarter = np.random.default_rng(0), np.pi / 2
    build, parent = catena.Builder("puma"), "base"
    places = [(0, 0, 0), (0, 0, 0), (0.4318, 0, 0.15), (0.02, 0.43, 0), (0, 0, 0), (0, 0, 0)]
    for i, (place, turn) in enumerate(zip(places, (0, -1, 0, -1, 1, -1), strict=True)):
        com, inertia = rng.uniform(-0.1, 0.1, 3), np.diag(rng.uniform(0.1, 0.15, 3)) + 0.01
        build.link(f"link{i}", mass=1 + 0.3 * i, com=com, inertia=inertia)
        build.revolute(f"joint{i}", parent, f"link{i}", position=place, rotation=(turn * quarter, 0, 0))
        parent = f"link{i}"
    return build.build()


ROBOTS: dict[str, Callable[[], catena.Robot]] = {
    "puma": puma,
    "20 planar links": lambda: planar_arm(20),
    "all joints": lambda: with_rotors(catena.random_tree(3, 4, ["universal", "spherical", "helical", "planar"], 0.9)),
    "floating": lambda: catena.random_tree(5, 3, ["revolute"], 0.5, base="floating"),
}


@pytest.fixture(params=ROBOTS, scope="module")
def robot(request: pytest.FixtureRequest) -> catena.Robot:
    return ROBOTS[request.param]()


def run(source: str, name: str, *arrays: Any) -> Any:
    names: dict[str, Any] = {}
    exec(source, names)
    return names[name](*arrays)


def test_lines_are_short_and_python_agrees(robot: catena.Robot) -> None:
    q, v, tau = state(robot)
    factors = symbolic(robot, "udu", form="recursion")
    U, D = map(np.array, run(factors.code("python"), "udu", q))
    M = robot.mass_matrix(q).dense()
    assert relative(U @ D @ U.T, M) < 1e-13
    forward = symbolic(robot, "forward_dynamics", form="recursion")
    found = np.ravel(run(forward.code("python"), "forward_dynamics", q, v, tau))
    assert relative(found, robot.forward_dynamics(q, v, tau, method="udu")) < 1e-12
    for result in (factors, forward):
        assert max(len(f"{name} = {x}") for name, x in result.definitions.items()) < 300
        for text in (str(result), result.code("python"), result.code("c")):
            assert max(map(len, text.splitlines())) < 300
        assert _is_in_order(result)


def _is_in_order(result: Any) -> bool:
    """Whether every definition uses coordinates, parameters and what came before it."""
    known = {sympy.Symbol(name) for name in result.parameters}
    known |= {symbol for group in ("q", "qdot", "tau") for symbol in result.coordinates[group]}
    for symbol, meaning in result.definitions.items():
        if not meaning.free_symbols <= known:
            return False
        known.add(symbol)
    return True


def test_size_grows_linearly() -> None:
    counts = [len(symbolic(planar_arm(n), "forward_dynamics", form="recursion").definitions) for n in (5, 10, 15)]
    assert counts[2] - counts[1] == counts[1] - counts[0]


def test_the_papers_letters() -> None:
    found = symbolic(puma(), "forward_dynamics")
    names = {str(symbol) for symbol in found.definitions}
    assert {"mhat_6", "Mhat_5_Jxx", "tauhat_1", "tautilde_2", "etatilde_3_wx", "S_2", "C_2"} <= names
    assert any(name.startswith("psihat_5_") for name in names)
    assert found.definitions[sympy.Symbol("C_2")] == sympy.cos(sympy.Symbol("q_2"))
    assert list(found.matrix)[1:] == list(sympy.symbols("qddot_2:7"))  # the first is τ̃_1
    shown = found._repr_latex_()
    assert shown.startswith(r"$$\begin{aligned}")
    assert shown.endswith(r"\end{aligned}$$")
    assert r"\hat{m}_{6}" in found.code("latex")


def test_expanded_is_the_closed_form() -> None:
    short, closed = (symbolic(planar_arm(2), "udu", form=form).expanded for form in ("recursion", "closed"))
    for name in ("U", "D"):
        assert sympy.simplify(short[name] - closed[name]).is_zero_matrix


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("named", [False, True])
def test_c_agrees(named: bool, tmp_path: Path) -> None:
    robot = puma()
    q, v, tau = state(robot)
    found = symbolic(robot, "forward_dynamics")
    (tmp_path / "code.c").write_text(found.code("c", parameters="named" if named else "numbers"))
    command = "gcc -O1 -Wall -Werror -shared -fPIC -o code.so code.c -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    function = ctypes.CDLL(str(tmp_path / "code.so")).forward_dynamics
    result, parameters = np.empty(robot.nv), np.array([p.value for p in found.parameters.values()])
    arrays = [q, v, tau, *[parameters] * named, result]
    function(*[array.ctypes.data_as(ctypes.c_void_p) for array in arrays])
    assert relative(result, robot.forward_dynamics(q, v, tau)) < 1e-13


def test_named_parameters_in_python() -> None:
    robot = puma()
    q, v, tau = state(robot)
    found = symbolic(robot, "forward_dynamics")
    values = {name: p.value for name, p in found.parameters.items()}
    source = found.code("python", parameters="named")
    numbers = np.ravel(run(source, "forward_dynamics", q, v, tau, values))
    assert relative(numbers, robot.forward_dynamics(q, v, tau)) < 1e-13
    heavy = run(source, "forward_dynamics", q, v, tau, {**values, "m_6": 9.0})
    assert not np.allclose(np.ravel(heavy), robot.forward_dynamics(q, v, tau))


QUESTIONS: dict[str, Callable[[catena.Robot, Any, Any], Any]] = {
    "kinetic_energy": lambda r, q, v: r.kinetic_energy(q, v),
    "potential_energy": lambda r, q, v: r.potential_energy(q),
    "gravity_torque": lambda r, q, v: r.gravity_torque(q),
    "coriolis_matrix": lambda r, q, v: r.coriolis_matrix(q, v),
    "inverse_mass_matrix": lambda r, q, v: r.inverse_mass_matrix(q),
    "center_of_mass": lambda r, q, v: r.center_of_mass(q),
    "mass_matrix": lambda r, q, v: r.mass_matrix(q).dense(),
    "bias": lambda r, q, v: r.bias(q, v),
    "jacobian": lambda r, q, v: r.jacobian(q, r.links[-1].name),
    "jacobian_dot_times": lambda r, q, v: r.jacobian_dot_times(q, r.links[-1].name, v),
    "operational_mobility": lambda r, q, v: r.operational_mobility(q, r.links[-1].name),
}


@pytest.mark.parametrize("what", QUESTIONS)
@pytest.mark.parametrize("name", ["puma", "all joints"])
def test_any_question_of_any_joint(name: str, what: str) -> None:
    robot = ROBOTS[name]()
    q, v, _ = state(robot)
    link = robot.links[-1].name if "jacobian" in what or "operational" in what else None
    found = symbolic(robot, what, link=link)
    expected = np.asarray(QUESTIONS[what](robot, q, v))
    value = found.function("q", "qdot")(q, v)
    assert relative(value.reshape(expected.shape), expected) < 1e-11
    assert max((len(f"{name} = {x}") for name, x in found.definitions.items()), default=0) < 300


METHODS: dict[str, dict[str, Any]] = {
    "placements": {},
    "link_velocities": {"frame": "world"},
    "momentum": {"about": "base"},
    "coriolis_times": {},
    "jacobian_transpose_times": {"link": "link5", "frame": "mixed"},
    "operational_dynamics": {"link": "link5"},
    "forward_dynamics_vjp": {},
    "reactions": {},
    "difference": {},
    "regressor": {},
}


@pytest.mark.parametrize("what", METHODS)
def test_methods_by_their_names_with_their_options(what: str) -> None:
    """What the method gives for the same arrays, in its own order; x and others go by their own names."""
    robot, rng, options = puma(), np.random.default_rng(2), METHODS[what]
    found = symbolic(robot, what, **options)
    arrays = {group: rng.standard_normal(len(symbols)) for group, symbols in found.coordinates.items()}
    value = run(found.code("python"), what, *arrays.values())
    given = {{"qdot": "v", "qddot": "a"}.get(group, group): x for group, x in arrays.items()}
    expected = getattr(robot, what)(**given, **options)
    for x, y in zip(*[[z] if len(found.matrices) == 1 else z for z in (value, expected)], strict=True):
        assert relative(np.reshape(x, np.shape(y)), np.asarray(y)) < 1e-12
    letters = {str(symbol) for symbols in found.coordinates.values() for symbol in symbols}
    assert not letters & set(found.parameters)


@pytest.mark.skipif(shutil.which("gcc") is None, reason="needs gcc")
@pytest.mark.parametrize("what", ["forward_dynamics", "udu"])
def test_casadi_loads_c(what: str, tmp_path: Path) -> None:
    """As an external function of CasADi's, or at least through the same entries."""
    robot = planar_arm(3)
    q, v, tau = state(robot)
    found = symbolic(robot, what)
    (tmp_path / "code.c").write_text(found.code("c", interface="casadi"))
    command = "gcc -O1 -Wall -Wextra -Werror -shared -fPIC -o code.so code.c -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    inputs = [q] if what == "udu" else [q, v, tau]
    expected = [np.array(x, dtype=float) for x in run(found.code("python"), what, *inputs)] if what == "udu" else None
    expected = expected or [robot.forward_dynamics(q, v, tau)[:, None]]
    library = ctypes.CDLL(str(tmp_path / "code.so"))
    assert [getattr(library, f"{what}_n_{side}")() for side in ("in", "out")] == [len(inputs), len(expected)]
    results = [np.empty(x.shape, order="F") for x in expected]
    pointers = [(ctypes.c_void_p * len(arrays))(*[a.ctypes.data for a in arrays]) for arrays in (inputs, results)]
    assert getattr(library, what)(*pointers, None, None, 0) == 0
    for result, number in zip(results, expected, strict=True):
        assert relative(result, number) < 1e-13


def test_casadi_itself(tmp_path: Path) -> None:
    casadi = pytest.importorskip("casadi")
    if shutil.which("gcc") is None:
        pytest.skip("needs gcc")
    robot = planar_arm(3)
    q, v, tau = state(robot)
    (tmp_path / "code.c").write_text(symbolic(robot, "forward_dynamics").code("c", interface="casadi"))
    command = "gcc -O1 -shared -fPIC -o code.so code.c -lm"
    subprocess.run(command.split(), cwd=tmp_path, check=True)
    function = casadi.external("forward_dynamics", str(tmp_path / "code.so"), {"enable_fd": True})
    assert function.name_in() == ["q", "qdot", "tau"]
    assert relative(np.ravel(function(q, v, tau).full()), robot.forward_dynamics(q, v, tau)) < 1e-13
    x = casadi.MX.sym("x", 3)
    slope = casadi.Function("slope", [x], [casadi.jacobian(function(q, v, x), x)])(tau)
    assert np.allclose(slope.full(), robot.mass_matrix(q).inv(), rtol=1e-5)


def test_interfaces_that_there_are_not() -> None:
    found = symbolic(planar_arm(1), "forward_dynamics")
    for language, interface in (("python", "casadi"), ("c", "matlab")):
        with pytest.raises(catena.UnsupportedError, match="interface"):
            found.code(language, interface=interface)
