"""Systems: how they are made, what they refuse, and what they are asked as robots are."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from tests.closed_systems import arm, around, box
from tests.mechanisms import relative

import catena


def test_a_system_is_one_forest() -> None:
    system = around(2, ["Weld"])
    assert (system.tree.n, system.nv, system.nq) == (13, 18, 19)
    assert system.frame("box").link == system.frame("box/body").link == 12
    assert system.frame("world").link == system.frame("arm0/base").link == -1
    assert system.frame("arm1/tool").link == 11
    assert system.constraint_names == ("Weld arm0/tool - box", "Weld arm1/tool - box")


def test_kinematics_and_energies_are_those_of_the_forest(rng: np.random.Generator) -> None:
    system = around(2, ["Ball"])
    q, v = system.random_configuration(rng, (3,)), rng.standard_normal((3, system.nv))
    forest = system.forest
    assert np.array_equal(system.kinetic_energy(q, v), forest.kinetic_energy(q, v))
    assert np.array_equal(system.placement(q, "box").position, forest.placement(q, "box").position)
    assert np.array_equal(system.jacobian(q, "arm1/tool"), forest.jacobian(q, "arm1/tool"))
    assert np.array_equal(system.mass_matrix(q) @ v, forest.mass_matrix(q) @ v)
    alone = arm().placement(q[:, 6:12], "tool")
    angle = np.array([[-1.0, 0, 0], [0, -1.0, 0], [0, 0, 1.0]])
    assert relative(system.placement(q, "arm1/tool").position, alone.position @ angle + [-0.6, 0, -0.3]) < 1e-12


def test_systems_are_values() -> None:
    system = around(2, ["Hinge"])
    same = system.with_constraints(system.constraints)
    assert system == same
    assert hash(system) == hash(same)
    assert system != around(2, ["Ball"])
    assert pickle.loads(pickle.dumps(system)) == system
    assert system.with_constraints([]).constraints == ()
    with pytest.raises(AttributeError, match="cannot be changed"):
        system.name = "other"  # type: ignore[misc]


def test_without_constraints_it_moves_as_the_forest(rng: np.random.Generator) -> None:
    system = around(2, ["Ball"]).with_constraints([])
    q, v, tau = system.random_configuration(rng), *rng.standard_normal((2, system.nv))
    for kernel in ("unrolled", "rolled"):
        a, forces = system.forward_dynamics(q, v, tau, kernel=kernel)
        assert relative(a, system.forest.forward_dynamics(q, v, tau)) < 1e-12
        assert forces.shape == (0, 6)
    assert np.array_equal(system.close(q), q)
    assert system.redundancy(q).freedom == system.nv


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_batches_of_any_shape(rng: np.random.Generator, dtype: type) -> None:
    system = around(2, ["Weld"])
    q, v, tau = system.random_configuration(rng, (2, 3)), rng.standard_normal((3, system.nv)), np.zeros(system.nv)
    a, forces = system.forward_dynamics(q, v, tau, dtype=dtype)
    assert a.shape == (2, 3, system.nv)
    assert forces.shape == (2, 3, 2, 6)
    assert a.dtype == dtype
    assert relative(a[1, 2], system.forward_dynamics(q[1, 2], v[2], tau).a) < (1e-12 if dtype is np.float64 else 1e-2)
    none = system.forward_dynamics(q[:0], v, tau)
    assert none.a.shape == (0, 3, system.nv)
    assert none.forces.shape == (0, 3, 2, 6)
    out = np.empty_like(a), np.empty_like(forces)
    system.forward_dynamics(q, v, tau, dtype=dtype, out=out)
    assert np.array_equal(out[0], a)
    assert np.array_equal(out[1], forces)


def test_mimic_joints_follow(rng: np.random.Generator) -> None:
    urdf = """<robot name="hand"><link name="palm"/>
      <link name="a"><inertial><mass value="1"/><origin xyz="0.1 0 0"/>
        <inertia ixx=".01" iyy=".02" izz=".03" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <link name="b"><inertial><mass value="2"/><origin xyz="0 0.1 0"/>
        <inertia ixx=".01" iyy=".02" izz=".03" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="one" type="continuous"><parent link="palm"/><child link="a"/><axis xyz="1 0 0"/></joint>
      <joint name="two" type="continuous"><parent link="palm"/><child link="b"/><axis xyz="0 1 0"/>
        <mimic joint="one" multiplier="-1.5" offset="0.2"/></joint></robot>"""
    hand = catena.load(urdf, mimic="independent")
    system = catena.System([hand])
    assert catena.System([catena.load(urdf)]) == system
    with pytest.raises(catena.UnsupportedError, match="'two' mimics 'one'"):
        catena.System([catena.load(urdf)], mimic="independent")
    assert system.constraint_names == ("mimic hand/two",)
    q = system.close([0.3, 0.0], fixed=["hand/one"])
    assert q[1] == pytest.approx(-1.5 * 0.3 + 0.2, abs=1e-12)
    v, tau = np.array([0.7, -1.05]), rng.standard_normal(2)
    G = np.array([[1.0], [-1.5]])
    M = hand.mass_matrix(q).dense()
    expected = G @ np.linalg.solve(G.T @ M @ G, G.T @ (tau - hand.bias(q, v)))
    assert relative(system.forward_dynamics(q, v, tau).a, expected) < 1e-12
    assert catena.System([hand], mimic="independent").constraints == ()


BAD = {
    "no such frame": (lambda: [catena.Weld("arm/tol", "box")], catena.UnknownNameError, "'arm/tool'"),
    "one body": (lambda: [catena.Weld("arm/link5", "arm/tool")], catena.ModelError, "both frames are fixed to"),
    "no such joint": (lambda: [catena.Coupling({"arm/join1": 1.0})], catena.UnknownNameError, "arm/joint1"),
    "a free joint": (lambda: [catena.Coupling({"box/root_joint": 1})], catena.ModelError, "6 degrees of freedom"),
    "not a constraint": (lambda: ["weld"], catena.ModelError, "found a str"),
    "couplings that contradict each other": (
        lambda: [
            catena.Coupling({"arm/joint0": 1.0, "arm/joint1": -1.0}, name="a"),
            catena.Coupling({"arm/joint1": 2.0, "arm/joint2": -2.0}, name="b"),
            catena.Coupling({"arm/joint2": 1.0, "arm/joint0": -1.0}, 0.5, name="c"),
            catena.Coupling({"arm/joint2": 1.0, "arm/joint5": -1.0}, 0.5, name="d"),
        ],
        catena.ModelError,
        "'a', 'b', 'c' contradict",
    ),
    "twice": (lambda: [catena.Ball("arm/tool", "box")] * 2, catena.ModelError, "several constraints are named"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_constraints_are_named(case: str) -> None:
    held, error, message = BAD[case]
    with pytest.raises(error, match=message):
        catena.System([arm()], [box()], held())


def test_bad_systems_are_refused() -> None:
    with pytest.raises(catena.ModelError, match="several are named 'arm'"):
        catena.System([arm(), arm()])
    with pytest.raises(catena.ModelError, match="base='floating'"):
        catena.System([], [arm()])
    with pytest.raises(catena.ModelError, match="at least one robot"):
        catena.System([])
    with pytest.raises(catena.ModelError, match=r"give \[arm\]"):
        catena.System(arm())  # type: ignore[arg-type]
    with pytest.raises(catena.UnknownNameError, match="lefft"):
        catena.System({"left": arm()}, placements={"lefft": (0, 0, 0)})
    with pytest.raises(catena.ModelError, match="different gravity"):
        catena.System({"left": arm(), "right": arm().with_gravity((0, 0, 0))})
    with pytest.raises(catena.UnsupportedError, match="mimic"):
        catena.System([arm()], mimic="coupeld")
