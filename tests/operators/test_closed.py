"""The operators of closed systems: Part II of Rodriguez & Kreutz beside the engine."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse as sparse
from tests import closed_soak
from tests.closed_systems import around, looped, state
from tests.mechanisms import relative

import catena
from catena.operators.elementary import Matrix

LOOPED = ["Slider", "Universal", "Distance"]


def test_part_two_reads_as_it_computes(rng: np.random.Generator) -> None:
    system = around(3, ["Weld", "SoftFinger", "PointWithFriction"])
    q, v, tau = state(system, rng)
    o = system.operators(q, v=v)
    J, bias, M = system.constraint_jacobian(q), system.constraint_bias(q, v), system.mass_matrix(q)
    assert relative(o.J.dense(), J) < 1e-12
    assert relative(o.Omega.dense(), J @ np.linalg.solve(M.dense(), J.T)) < 1e-12
    assert relative(o.C.dense(), (o.U_inverse @ o.J.T).dense()) < 1e-12  # (I − HΨL) H φ = H ψ
    free = o.filter(tau).acceleration
    lam = o.Omega.inv @ -(bias + o.J @ free)
    a = free + o.U_inverse.T @ o.D.inv @ (o.C @ lam)
    expected = system.forward_dynamics(q, v, tau)
    assert relative(a, expected.a) < 1e-12
    found = o.contact(tau)
    assert relative(found.acceleration, expected.a) < 1e-12
    assert relative(system._compiled.kernel(system.closures.forces)(q, found.lam), expected.forces) < 1e-11
    assert str(o.Omega.expression) == "Cᵀ D⁻¹ C"


def test_loops_couplings_and_batches(rng: np.random.Generator) -> None:
    system, q = looped(1, 10, LOOPED)
    assert isinstance(system.constraints[-1], catena.Coupling)
    q = np.stack([q, q])
    v = system.project_velocity(q, rng.standard_normal((2, system.nv)))
    tau = rng.standard_normal((2, system.nv))
    o = system.operators(q, v=v)
    assert relative(o.J.dense(), system.constraint_jacobian(q)) < 1e-12
    assert relative(o.contact(tau).acceleration, system.forward_dynamics(q, v, tau).a) < 1e-11


def test_redundant_constraints_have_no_inverse(rng: np.random.Generator) -> None:
    once = around(2, ["Ball"])
    first = once.constraints[0].sides
    again = catena.Ball(first[0].frame, "box", second_position=first[1].position, name="again")
    system = once.with_constraints([*once.constraints, again])
    q, v, tau = state(once, rng)
    with pytest.raises(catena.SingularError, match="no inverse"):
        system.operators(q, v=v).contact(tau)


def test_an_inverse_of_what_has_none_is_always_an_error(rng: np.random.Generator) -> None:
    """Five joints cannot give a tip six rates: of these Ω, pivots are anything that rounding leaves."""
    arm = catena.random_tree(1, 5, ["revolute"], 0.0)
    tip = f"{arm.name}/{arm.links[-1].name}"
    system = catena.System([arm], constraints=[catena.FixedToWorld(tip)])
    for q in rng.uniform(-2, 2, (30, 5)):
        with pytest.raises(catena.SingularError, match="no inverse"):
            _ = system.operators(q).Omega.inv @ rng.standard_normal(6)
    held = catena.System([arm], constraints=[catena.Ball(tip, "world")])
    for q in rng.uniform(-2, 2, (20, 5)):
        o, r = held.operators(q), rng.standard_normal(3)
        assert relative(o.Omega.inv @ r, np.linalg.solve(o.Omega.dense(), r)) < 1e-9


def test_entries_that_rounding_left_of_zero_are_none() -> None:
    """Two rods along one line in a planar chain: Ω had an inverse of 1e35."""
    case = closed_soak.random_case(1, 219)
    with pytest.raises(catena.SingularError, match="no inverse"):
        _ = case.system.operators(case.q).Omega.inv @ np.ones(3)


def test_equations_without_a_place_for_a_pivot_are_refused_quietly(capfd: pytest.CaptureFixture[str]) -> None:
    """Two rods along one line and a weld: SuperLU wrote past its arrays, which BLAS complained of, and crashed."""
    case = closed_soak.random_case(1, 3)
    o = case.system.operators(case.q)
    for _ in range(5):
        with pytest.raises(catena.SingularError, match="no inverse"):
            _ = case.system.operators(case.q).Omega.inv @ np.ones(8)
    hollow = Matrix(
        "X", o._joints, o._joints, lambda: sparse.coo_matrix([[0, 1, 0, 0], [0, 1, 0, 0], *np.eye(4)[[0, 3]]])
    )
    with pytest.raises(catena.SingularError, match="no inverse"):
        _ = hollow.inv @ np.ones(4)
    assert "On entry" not in "".join(capfd.readouterr())


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda o: pickle.loads(pickle.dumps(o))], ids=["copied", "pickled"])
def test_operators_in_use_can_be_copied_and_pickled(copied) -> None:
    """They keep factors of SciPy's, which cannot be."""
    arm = catena.load("two_link_arm")
    q = np.array([0.3, 0.4])
    for asked, x in ((arm, np.ones(12)), (catena.System([arm]), np.ones(12))):
        o = asked.operators(q)
        expected = o.phi @ x
        assert np.array_equal(copied(o).phi @ x, expected)


MASSLESS_HAND = """<robot name="arm"><link name="base"/><link name="hand"/><link name="a"><inertial><mass value="1"/>
<inertia ixx="0.1" iyy="0.1" izz="0.1" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="j1" type="continuous"><parent link="base"/><child link="a"/></joint>
<joint name="j2" type="continuous"><parent link="a"/><child link="hand"/></joint></robot>"""


def test_joints_that_nothing_resists_are_named() -> None:
    with pytest.warns(catena.ModelWarning):
        arm = catena.load(MASSLESS_HAND)
    operators = arm.operators(np.zeros((3, 2)))
    with pytest.raises(catena.SingularError, match="'j2' of link 'hand'") as caught:
        operators.D.inv @ np.ones((3, 2))
    assert (caught.value.link, caught.value.joint) == ("hand", "j2")
