"""Robots in which joints mimic others, and how their coordinates are made wider: what tests of them have in common."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from tests import asking

import catena
from catena.model.joints import JOINT_TYPES
from catena.model.mimic import eliminated
from catena.model.parts import Mimic


class Pair(NamedTuple):
    """A robot whose mimic joints are eliminated, the same with independent ones, and q_full = G q + offset."""

    robot: catena.Robot
    full: catena.Robot
    G: np.ndarray
    offset: np.ndarray
    Gq: np.ndarray

    def wide(self, q: np.ndarray) -> np.ndarray:
        """Configurations of the robot with independent joints."""
        return q @ self.Gq.T + self.offset


def pair(full: catena.Robot) -> Pair:
    """A robot with independent joints, and what follows from the rules in its tree, worked out joint by joint."""
    tree, robot = full.tree, catena.Robot(eliminated(full.tree))
    rules = {name: rule for name, rule in tree.mimic.items() if rule.master in set(tree.joint_names)}
    own = [name for name in tree.joint_names if name not in rules]
    G, Gq = np.zeros((full.nv, robot.nv)), np.zeros((full.nq, robot.nq))
    offset, at, at_q = np.zeros(full.nq), 0, 0
    places = {}
    for name in own:
        joint = full.joint(name)
        nv, nq = joint.v_slice.stop - joint.v_slice.start, joint.q_slice.stop - joint.q_slice.start
        G[joint.v_slice, at : at + nv], Gq[joint.q_slice, at_q : at_q + nq] = np.eye(nv), np.eye(nq)
        places[name] = at, at_q
        at, at_q = at + nv, at_q + nq
    for name in rules:
        ratio, shift, master = 1.0, 0.0, name
        while master in rules:
            rule = rules[master]
            ratio, shift, master = ratio * rule.multiplier, shift + ratio * rule.offset, rule.master
        joint = full.joint(name)
        G[joint.v_slice, places[master][0]], Gq[joint.q_slice, places[master][1]] = ratio, ratio
        offset[joint.q_slice] = shift
    return Pair(robot, full, G, offset, Gq)


def questions(robot: catena.Robot, rng: np.random.Generator) -> Iterator[asking.Asked]:
    """All questions of a robot, and of its mass matrices by the methods that serve mimic joints."""
    for name, declared in asking.ROBOT.items():
        if not name.startswith("_"):
            yield asking.Asked(name, getattr(robot, name), asking.needed(robot, declared, rng, ()))
    for method in ("innovations", "dense"):
        M = robot.mass_matrix(robot.random_configuration(rng), method=method)
        for name, declared in asking.MASS_MATRIX.items():
            if not name.startswith("_"):
                yield asking.Asked(f"{method} {name}", getattr(M, name), asking.needed(robot, declared, rng, ()))


def random_pair(seed: int, n: int, base: str = "fixed", **options: object) -> Pair:
    """A random tree with random rules between its joints of one degree of freedom, chains of rules among them."""
    rng = np.random.default_rng(seed)
    tree = catena.random_tree(seed, n, base=base, **options).tree
    ones = [tree.joint_names[i] for i in range(tree.n) if JOINT_TYPES[tree.joint_type[i]].nv == 1]
    rng.shuffle(ones)
    rules = {}
    for i in range(1, min(len(ones), max(2, (len(ones) + 1) // 2))):
        master, ratio = ones[int(rng.integers(0, i))], float(rng.choice([1.0, -1.0, 0.5, -2.0, 0.0]))
        rules[ones[i]] = Mimic(master, ratio, float(rng.choice([0.0, 0.3])))
    return pair(catena.Robot(replace(tree, mimic=rules)))


HAND = """<robot name="hand"><link name="palm"/>
  <link name="wrist"><inertial><mass value="2"/><origin xyz="0.1 0 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <link name="a"><inertial><mass value="1"/><origin xyz="0.1 0.02 0"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <link name="b"><inertial><mass value="0.5"/><origin xyz="0.1 0 0"/><inertia ixx="1" iyy="2" izz="1" ixy="0" ixz="0"
    iyz="0"/></inertial></link>
  <link name="c"/>
  <joint name="turn" type="revolute"><parent link="palm"/><child link="wrist"/><axis xyz="0 1 0"/>
    <limit lower="-1" upper="1" effort="1" velocity="2"/></joint>
  <joint name="one" type="revolute"><parent link="wrist"/><child link="a"/><axis xyz="0 0 1"/>
    <origin xyz="0.1 0 0"/><limit lower="-1" upper="2" effort="1" velocity="2"/><dynamics damping="0.1"
    friction="0.2"/></joint>
  <joint name="two" type="revolute"><parent link="a"/><child link="b"/><axis xyz="0 0 1"/><origin xyz="0.2 0 0"/>
    <limit lower="-3" upper="3" effort="1" velocity="1"/><dynamics damping="0.3" friction="0.4"/>
    <mimic joint="one" multiplier="-2" offset="0.5"/></joint>
  <joint name="three" type="prismatic"><parent link="wrist"/><child link="c"/><axis xyz="1 0 0"/>
    <limit lower="-9" upper="9" effort="1" velocity="1"/><mimic joint="two" multiplier="0.5"/></joint></robot>"""
"""A wrist with two fingers: a joint in a chain mimics the one before it, a massless slider mimics that one."""
