"""Fixman's partition where links have no inverse of their own inertia: points and thin rods among ordinary links."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from tests.algorithms.test_fixman import TYPES, relative, run, state, with_rotors

import catena
from catena.algorithms import fixman, fixman_determinant
from catena.algorithms.newton_euler import INTERLINK_FORCES
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, MASS_MATRIX
from catena.model.singular import without_inverse


def thinned(robot: catena.Robot, links: list[int], rng: np.random.Generator) -> catena.Robot:
    """The robot with some of its links made points, and others rods without thickness in any direction."""
    inertia = robot.tree.inertia.copy()
    for i in links:
        along = rng.standard_normal(3)
        along /= np.linalg.norm(along)
        inertia[i] = rng.choice([0.0, 0.1]) * (np.eye(3) - np.outer(along, along))
    return catena.Robot(dataclasses.replace(robot.tree, inertia=inertia))


def thin_tree(seed: int, base: str, rng: np.random.Generator, **more) -> catena.Robot:
    """A random tree in which every other link that carries others is thin, the root among them for odd seeds."""
    robot = catena.random_tree(seed, 12, base=base, **more)
    carrying = np.unique(robot.tree.parent[robot.tree.parent > 0])
    chosen = [*carrying[::2].tolist(), *([0] if seed % 2 else [])]
    robot = thinned(robot, chosen, rng)
    assert sorted(without_inverse(robot.tree)) == sorted(chosen)
    return with_rotors(robot, rng) if seed % 3 == 0 else robot


def check(robot: catena.Robot, rng: np.random.Generator) -> None:
    """Accelerations, bearing loads, M⁻¹ b and log det M against independent ways to them."""
    values = state(robot, rng)
    (M,) = run(robot, MASS_MATRIX, values)
    assert np.linalg.cond(M) < 1e10
    (expected,) = run(robot, FORWARD_DYNAMICS["fd4"], values)
    acceleration, wrench = run(robot, fixman.REACTIONS, values)
    assert relative(acceleration, expected) < 1e-11
    (carried,) = run(robot, INTERLINK_FORCES, {**values, "a": acceleration})
    assert relative(wrench, carried) < 1e-10
    (x,) = run(robot, fixman.SOLVE, {"q": values["q"], "b": values["tau"]})
    assert relative(x, np.linalg.solve(M, values["tau"])) < 1e-10
    (log_determinant,) = run(robot, fixman_determinant.LOG_DETERMINANT, values)
    assert log_determinant == pytest.approx(np.linalg.slogdet(M)[1], abs=1e-11)


def check_kernels(robot: catena.Robot, shape: str, rng: np.random.Generator) -> None:
    """Machine code gives what the algorithm gives on floats."""
    values = state(robot, rng)
    acceleration, wrench = run(robot, fixman.REACTIONS, values)
    kernel = engine.kernel(robot, fixman.REACTIONS, present=("f_ext",), kernel=shape)
    found = kernel(*[values[name] for name in ("q", "v", "tau", "f_ext")])
    assert relative(found[0], acceleration) < 1e-11
    assert relative(found[1], wrench) < 1e-10
    log_determinant = robot.mass_matrix(values["q"], "fixman", kernel=shape).logdet()
    assert log_determinant == pytest.approx(float(robot.mass_matrix(values["q"]).logdet()), abs=1e-11)


@pytest.mark.parametrize("base", ["fixed", "floating"])
@pytest.mark.parametrize("seed", range(6))
def test_trees_of_all_joint_types(seed, base, rng) -> None:
    check(thin_tree(seed, base, rng), rng)


@pytest.mark.parametrize("shape", ["unrolled", "rolled"])
def test_kernels_on_a_tree(shape, rng) -> None:
    robot = catena.random_tree(3, 7, ("revolute", "prismatic"), base="floating")
    check_kernels(thinned(robot, [0, int(robot.tree.parent[-1])], rng), shape, rng)


@pytest.mark.parametrize("joint_type", TYPES)
def test_each_joint_type(joint_type, rng) -> None:
    check(thin_tree(5, "fixed", rng, joint_types=joint_type), rng)


@pytest.mark.parametrize("pattern", ["01", "10", "001", "110"])
def test_chains_in_loops(pattern, rng) -> None:
    robot = catena.rod_chain(12, radius=0.1)
    check_kernels(thinned(robot, [i for i in range(11) if pattern[i % len(pattern)] == "1"], rng), "rolled", rng)


def test_thin_rods_alone(rng) -> None:
    """No joint is cut: what is left is the articulated recursion."""
    robot = catena.rod_chain(6, axes="zy")
    assert len(without_inverse(robot.tree)) == 6
    q, v, tau = state(robot, rng)["q"], *rng.standard_normal((2, 6))
    assert relative(robot.forward_dynamics(q, v, tau, method="fixman"), robot.forward_dynamics(q, v, tau)) < 1e-12


def test_a_needle_keeps_its_digits(rng) -> None:
    """A link whose thickness is lost beside its length is not cut loose, so its inverse costs no digits."""
    needle = catena.rod_chain(5, axes="zy", radius=1e-6)
    assert len(without_inverse(needle.tree)) == 5
    q, tau = needle.random_configuration(rng), rng.standard_normal(5)
    assert relative(needle.mass_matrix(q, "fixman").solve(tau), needle.mass_matrix(q).solve(tau)) < 1e-9


def test_a_link_without_mass_is_named() -> None:
    hollow = catena.rod_chain(3, mass=[1.0, 0.0, 1.0], radius=0.1)
    with pytest.raises(catena.SingularError, match="link2") as caught:
        hollow.mass_matrix(np.zeros(3), "fixman").solve(np.zeros(3))
    assert caught.value.link == "link2"
