"""MJCF: MuJoCo's own compiler reads it, so defaults, classes, includes and units are right by definition.

MuJoCo's bodies become links of the same names, hanging on the world, which is the base. What differs from MuJoCo:

- q is MuJoCo's qpos with quaternions as x, y, z, w instead of w, x, y, z. A hinge or slide at its `ref` is where the
  file draws it. A free joint's velocity is (ω, v) in its own frame; MuJoCo's qvel has v first, in the world's axes.
- A body with several joints becomes several links, "body:joint", all massless but the last.
- A joint that does not pass through its body's origin moves a link "body:joint" whose frame lies on the joint; the body
  is fixed to it, so its name stays good wherever a link or frame is asked for.
- Tendons, equality constraints, contacts and fluids are not part of a robot; warnings say so. Springs of joints are,
  apart from those of free joints, and so are actuators that drive a hinge or a slide without activations of their own.
"""

from __future__ import annotations

import math
import os
import threading
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from types import MappingProxyType
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError, ModelError, UnsupportedError
from catena.later import install
from catena.model.parts import JointPart, LinkPart
from catena.model.readers.attributes import LARGEST
from catena.model.readers.mjcf_actuators import actuators
from catena.model.readers.mjcf_equality import equalities
from catena.model.readers.mjcf_shapes import rotation_of, shapes_of
from catena.model.readers.mjcf_source import Source, mjcf_source
from catena.model.readers.xml import Document

Array = npt.NDArray[np.float64]

FREE, BALL, SLIDE, HINGE = range(4)  # mjtJoint
_LEFT_OUT = {
    "neq": "equality constraints",
    "ntendon": "tendons",
    "nflex": "deformable bodies",
    "nplugin": "plugins",
}


_lock = threading.RLock()  # MuJoCo has one place for the function that hears its warnings
if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


def compile_mjcf(source: Source) -> tuple[Any, list[str]]:
    """MuJoCo's MjModel of the source, and what its compiler warned about. Raises LoadError with MuJoCo's reason."""
    document = source.document
    try:
        import mujoco
    except ImportError:
        raise UnsupportedError(f"{document.source}: reading MJCF takes MuJoCo: {install('mjcf')}") from None
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            model, said = thread.submit(_compiled, mujoco, source).result()
    except (ValueError, RuntimeError, MemoryError, mujoco.FatalError, mujoco.UnexpectedError) as error:
        raise document.error(f"MuJoCo cannot compile it: {source.explained(str(error))}") from None
    return model, list(dict.fromkeys(map(source.explained, said)))


def _compiled(mujoco: Any, source: Source) -> tuple[Any, list[str]]:
    """The model and MuJoCo's warnings, which it would otherwise print, and write to a file where the process stands.

    To be run in a thread of its own. When MuJoCo throws what it does not catch itself, as it does for some faults, the
    thread's way to warnings ends in a circle: the next warning in that thread would never return.
    """
    said: list[str] = []
    with _lock, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        before = mujoco.get_mju_user_warning()
        mujoco.set_mju_user_warning(said.append)
        try:
            # some files are asked for while the text is parsed, the others when it is compiled
            model = mujoco.MjSpec.from_string(source.text, source.assets, source.assets).compile()
        finally:
            mujoco.set_mju_user_warning(before)
    given = [str(warning.message) for warning in caught]
    return model, [heard for heard in said if not any(whole.startswith(heard) for whole in given)] + given


class MjcfParts:
    """The parts of one compiled MJCF model: `name`, `links`, `joints`, `gravity`, `warnings` about what is left out.

    With `floating`, a lone root body without joints gets a free one, as if the file had a <freejoint/>;
    `has_free_base` says whether the root moves freely, by the file's word or by this. `actuators` are those that drive
    joints, by name. With `closed`, `equalities` are its constraints. `paths` are those of mesh files by the names
    MuJoCo has for them. Numbers that are not finite, or too large to reckon with, are a ModelError.
    """

    def __init__(
        self,
        model: Any,
        *,
        floating: bool = False,
        closed: bool = False,
        paths: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.model, self._paths = model, paths
        roots = [body for body in range(1, model.nbody) if model.body_parentid[body] == 0]
        self.has_free_base = bool(np.any(model.jnt_type == FREE))
        self._freed = -1
        if floating and not self.has_free_base and len(roots) == 1 and model.body_jntnum[roots[0]] == 0:
            self.has_free_base, self._freed = True, roots[0]
        self._used: set[str] = set()
        self._bodies = ["world"] + [self._name(model.body(i).name, f"body{i}") for i in range(1, model.nbody)]
        self._joints = [self._name(model.joint(i).name, f"joint{i}", "joint ") for i in range(model.njnt)]
        self.name = model.names[: model.names.index(b"\0")].decode(errors="replace") or "robot"
        _check_numbers(model, self._bodies, self._joints)
        self.gravity = _gravity(model)
        self.equalities, unheld = equalities(model, self._bodies, self._joints) if closed else ([], [])
        self.actuators, others = actuators(model, self._joints)
        self.warnings = _left_out(model, {"nu", *(["neq"] if closed else [])}, others) + unheld
        self.links: list[LinkPart] = [LinkPart("world", meshes=shapes_of(model, 0, paths))]
        self.joints: list[JointPart] = []
        for body in range(1, model.nbody):
            self._body(body)

    def _name(self, name: str, fallback: str, kind: str = "link ") -> str:
        """`name`, or `fallback` for what has none, not used before for a part of this kind."""
        candidate = name or fallback
        while kind + candidate in self._used:
            candidate += "_"
        self._used.add(kind + candidate)
        return candidate

    def _body(self, body: int) -> None:
        """One body: a link for each of its joints, and one more, fixed, if the last joint misses the body's origin."""
        model, name = self.model, self._bodies[body]
        parent = self._bodies[model.body_parentid[body]]
        rotation, position = rotation_of(model.body_quat[body]), model.body_pos[body].copy()
        first, count = int(model.body_jntadr[body]), int(model.body_jntnum[body])
        for joint in range(first, first + count):
            joint_type = int(model.jnt_type[joint])
            anchor = model.jnt_pos[joint] if joint_type in (HINGE, BALL) else np.zeros(3)
            last = joint == first + count - 1
            link = name if last and not anchor.any() else self._name(f"{name}:{self._joints[joint]}", "")
            self.joints.append(self._joint(joint, parent, link, rotation, position + rotation @ anchor))
            if link != name:
                self.links.append(LinkPart(link))
            parent, rotation, position = link, np.eye(3), -anchor
        if body == self._freed:
            self.joints.append(JointPart(self._name("root_joint", "", "joint "), "free", parent, name))
        elif parent != name:
            joint_name = self._name(f"{name}:fixed", "", "joint ")
            self.joints.append(JointPart(joint_name, "fixed", parent, name, rotation, position))
        turn = rotation_of(model.body_iquat[body])
        inertia = turn @ np.diag(model.body_inertia[body]) @ turn.T
        meshes = shapes_of(model, body, self._paths)
        mass, com = float(model.body_mass[body]), model.body_ipos[body].copy()
        self.links.append(LinkPart(name, mass, com, (inertia + inertia.T) / 2.0, meshes))

    def _joint(self, joint: int, parent: str, child: str, rotation: Array, position: Array) -> JointPart:
        """One joint whose child's frame lies at `rotation`, `position` in the parent's when the joint is at its ref."""
        model, joint_type = self.model, int(self.model.jnt_type[joint])
        name, axis = self._joints[joint], model.jnt_axis[joint].copy()
        dofs = slice(model.jnt_dofadr[joint], model.jnt_dofadr[joint] + (6, 3, 1, 1)[joint_type])
        common: dict[str, Any] = {
            "damping": _per_dof(joint_type, model.dof_damping[dofs]),
            "friction": _per_dof(joint_type, model.dof_frictionloss[dofs]),
            "armature": _per_dof(joint_type, model.dof_armature[dofs]),
        }
        if model.jnt_stiffness[joint] and joint_type != FREE:
            common["stiffness"] = float(model.jnt_stiffness[joint])
            common["rest"] = 0.0 if joint_type == BALL else float(model.qpos_spring[model.jnt_qposadr[joint]])
        if joint_type == FREE:  # its q is the pose in the world, whatever the file's pos and quat
            return JointPart(name, "free", parent, child, **common)
        if joint_type == BALL:
            return JointPart(name, "spherical", parent, child, rotation, position, **common)
        ref = float(model.qpos0[model.jnt_qposadr[joint]])
        if model.jnt_limited[joint]:
            common["lower"], common["upper"] = map(float, model.jnt_range[joint])
        if model.jnt_actfrclimited[joint]:
            common["effort_limit"] = float(np.abs(model.jnt_actfrcrange[joint]).max())
        if joint_type == SLIDE:
            position = position - rotation @ axis * ref
            return JointPart(name, "prismatic", parent, child, rotation, position, axis, **common)
        if ref:
            rotation = rotation @ _turn_about(axis, -ref)
        type_name = "revolute" if model.jnt_limited[joint] else "continuous"
        return JointPart(name, type_name, parent, child, rotation, position, axis, **common)


def _check_numbers(model: Any, bodies: Sequence[str], joints: Sequence[str]) -> None:
    """Every number that becomes part of a robot is finite and below LARGEST, every quaternion is of length one."""
    dof_joints = [joints[i] for i in model.dof_jntid]
    for what, names, prefix, fields in (
        ("link", bodies, "body_", ("pos", "quat", "ipos", "iquat", "mass", "inertia")),
        ("joint", joints, "jnt_", ("pos", "axis", "actfrcrange", "stiffness")),
        ("joint", dof_joints, "dof_", ("damping", "frictionloss", "armature")),
        ("joint", joints, "", ("ref", "springref")),
        ("link", [bodies[i] for i in model.geom_bodyid], "geom_", ("pos", "quat")),
    ):
        for field in fields:
            positions = {"ref": model.qpos0, "springref": model.qpos_spring}
            values = positions[field][model.jnt_qposadr] if field in positions else getattr(model, prefix + field)
            rows = np.array(values, dtype=float).reshape(len(names), -1 if len(names) else 1)
            good = (np.abs(rows) <= LARGEST).all(axis=1)
            expected = f"finite numbers no larger than {LARGEST:g}"
            if good.all() and field.endswith("quat"):
                good = np.abs(np.sum(rows * rows, axis=1) - 1.0) < 1e-6
                expected = "an orientation that is not zero"
            if not good.all():
                i = int(np.argmin(good))
                joint_type = "body" if what == "link" else "joint"
                message = f"{joint_type} {names[i]!r}: expected {expected} in {prefix}{field}, found {rows[i].tolist()}"
                raise ModelError(f"{message}; correct it", **{what: names[i]})


def _per_dof(joint_type: int, values: Array) -> float | list[float]:
    """One value per degree of freedom, in Catena's order: a free joint's angular ones come first."""
    numbers: list[float] = values.tolist()
    return numbers[3:] + numbers[:3] if joint_type == FREE else numbers if joint_type == BALL else numbers[0]


def _gravity(model: Any) -> tuple[float, ...]:
    """The model's gravity, unless its flags switch it off."""
    from mujoco import mjtDisableBit

    off = int(model.opt.disableflags) & int(mjtDisableBit.mjDSBL_GRAVITY)
    return (0.0, 0.0, 0.0) if off else tuple(map(float, model.opt.gravity))


def _left_out(model: Any, known: set[str], actuators: int) -> list[str]:
    """What the model has beyond a tree of rigid bodies and what is `known`, and so many actuators, as warnings."""
    counts = {what: getattr(model, key, 0) for key, what in _LEFT_OUT.items() if key not in known}
    found = [f"{count} {what}" for what, count in counts.items() if count]
    if actuators:
        found.append(f"{actuators} actuators that drive no hinge or slide by a gear alone")
    springs = int(np.count_nonzero(model.jnt_stiffness[model.jnt_type == FREE]))
    if springs:
        found.append(f"{springs} springs of free joints")
    if model.opt.density or model.opt.viscosity:
        found.append("a surrounding fluid")
    if np.any(model.body_gravcomp):
        found.append("gravity compensation")
    balls = int(np.count_nonzero((model.jnt_type == BALL) & (model.jnt_limited != 0)))
    if balls:
        found.append(f"limits of {balls} ball joints")
    return [f"left out, not part of a robot: {', '.join(found)}"] if found else []


def _turn_about(axis: Array, angle: float) -> Array:
    """The rotation by `angle` about `axis`, a unit vector."""
    half = math.sin(angle / 2.0) * axis
    return rotation_of([math.cos(angle / 2.0), *half])


def read_mjcf(
    document: Document, *, floating: bool = False, closed: bool = False, roots: tuple[str, ...] = ()
) -> MjcfParts:
    """The parts of an MJCF document; see MjcfParts. `roots` are folders where its files may lie besides its own."""
    source = mjcf_source(document, roots)
    model, said = compile_mjcf(source)
    try:
        parts = MjcfParts(model, floating=floating, closed=closed, paths=source.paths)
    except ModelError as error:
        tag, name = ("body", error.link) if error.link else ("joint", error.joint)
        raise LoadError(str(source.error(str(error), tag, name)), link=error.link, joint=error.joint) from None
    parts.warnings[:0] = said
    if not parts.joints:
        parts.warnings.append("the model has no <body>: nothing in it can move")
    return parts
