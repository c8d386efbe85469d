"""Parameters: the numbers of one robot, or of many with the same joints, in one record and in one vector."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.errors import ModelError, ShapeError, UnsupportedError, kind_of
from catena.functions.function import PARAMETERS, kind
from catena.model.tree import Tree
from catena.parameters import inertial as bodies

Array = npt.NDArray[Any]

LINEAR = ("armature", "damping", "friction")
"""What torques are linear in, beside inertial parameters, and the regressor has columns for."""

OF_JOINTS = (*LINEAR, "stiffness", "rest")
"""What joints have one of for each degree of freedom."""


@dataclass(frozen=True, eq=False)
class Parameters:
    """Inertial parameters, armature, damping, friction, springs and gravity of a robot, or of a batch of robots.

        P = robot.parameters()
        heavier = P.replace(inertial=1.1 * P.inertial)
        robot.forward_dynamics(q, v, tau, parameters=heavier)

    `vector` holds all of them, (..., 10 links + 5 nv + 3), in this order: `inertial` (..., links, 10), then `armature`,
    `damping`, `friction`, `stiffness` and `rest`, (..., nv) each, then `gravity` (..., 3); these are views of it. The
    ten numbers of a link
    are m, m c (3), Ixx, Ixy, Iyy, Ixz, Iyz, Izz about the origin of its frame, in kg, kg m and kg m². All arrays are
    read-only; `replace` makes another record. Records are checked when they are made: a body that no spread of mass
    has, or a joint that gains energy, is refused by name. A plain array given as `parameters=` is taken as it is.
    """

    tree: Tree
    vector: Array

    def __post_init__(self) -> None:
        if not isinstance(self.tree, Tree):
            raise UnsupportedError(
                f"Parameters: expected a Tree first, got {kind_of(self.tree)}; see robot.parameters()"
            )

    @classmethod
    def of(cls, tree: Tree) -> Parameters:
        """The parameters of a model, as they are."""
        ten = bodies.ten(np.array(tree.mass), np.array(tree.com), np.array(tree.inertia))
        pieces = {"inertial": ten, **{name: getattr(tree, name) for name in (*OF_JOINTS, "gravity")}}
        return cls(tree, _frozen(np.concatenate([np.ravel(pieces[name]) for name in PARAMETERS])))

    @classmethod
    def made(cls, tree: Tree, vector: npt.ArrayLike, check: bool = True) -> Parameters:
        """A record of a vector (..., 10 links + 5 nv + 3), checked unless told otherwise; the array is copied."""
        array, size = _floats("parameters", vector), _size(tree)
        if array.shape[-1:] != (size,):
            raise ShapeError(
                f"parameters must have shape (..., {size}) for {tree.n} links and {tree.nv} degrees of freedom, got "
                f"{array.shape}"
            )
        record = cls(tree, _frozen(array))
        if check:
            record.check()
        return record

    @property
    def shape(self) -> tuple[int, ...]:
        """The leading dimensions: () for one set."""
        return self.vector.shape[:-1]

    @property
    def inertial(self) -> Array:
        """The ten numbers of each link, (..., links, 10)."""
        return self._piece("inertial")

    @property
    def armature(self) -> Array:
        """Rotor inertias, (..., nv), kg m² or kg."""
        return self._piece("armature")

    @property
    def damping(self) -> Array:
        """Viscous damping, (..., nv), N m s/rad or N s/m."""
        return self._piece("damping")

    @property
    def friction(self) -> Array:
        """Dry friction, (..., nv), N m or N."""
        return self._piece("friction")

    @property
    def stiffness(self) -> Array:
        """Stiffness of the joints' springs, (..., nv), N m/rad or N/m."""
        return self._piece("stiffness")

    @property
    def rest(self) -> Array:
        """Where the springs are slack, (..., nv), rad or m from zero."""
        return self._piece("rest")

    @property
    def gravity(self) -> Array:
        """The acceleration of gravity in the base's frame, (..., 3), m/s²."""
        return self._piece("gravity")

    @property
    def names(self) -> tuple[str, ...]:
        """What each number of `vector` is called: "upper_arm.m", "upper_arm.mx", "elbow.damping", "gravity.z"."""
        tree = self.tree
        links = [f"{link}.{name}" for link in tree.link_names for name in bodies.NAMES]
        speeds = [(joint, int(count)) for joint, count in zip(tree.joint_names, np.diff(tree.v_start), strict=True)]
        joints = [
            f"{joint}.{name}" + (f".{i}" if count > 1 else "")
            for name in OF_JOINTS
            for joint, count in speeds
            for i in range(count)
        ]
        return (*links, *joints, *[f"gravity.{axis}" for axis in "xyz"])

    def replace(
        self,
        *,
        inertial: npt.ArrayLike | None = None,
        armature: npt.ArrayLike | None = None,
        damping: npt.ArrayLike | None = None,
        friction: npt.ArrayLike | None = None,
        stiffness: npt.ArrayLike | None = None,
        rest: npt.ArrayLike | None = None,
        gravity: npt.ArrayLike | None = None,
        check: bool = True,
    ) -> Parameters:
        """The same with some parts replaced; leading dimensions broadcast, so a part may make it a batch.

        `check=False` accepts what no real robot has. Raises ModelError with the link or joint and the reason, and
        ShapeError for a part of the wrong shape.
        """
        given = {
            "inertial": inertial,
            "armature": armature,
            "damping": damping,
            "friction": friction,
            "stiffness": stiffness,
            "rest": rest,
            "gravity": gravity,
        }
        parts: dict[str, Array] = {}
        for name, value in given.items():
            shape = self._shape(name)
            part = self._piece(name) if value is None else _floats(name, value)
            if part.shape[part.ndim - len(shape) :] != shape or part.ndim < len(shape):
                expected = ", ".join(["...", *map(str, shape)])
                raise ShapeError(f"parameters: {name} must have shape ({expected}), got {part.shape}")
            parts[name] = part.reshape(*part.shape[: part.ndim - len(shape)], math.prod(shape))
        try:
            leading = np.broadcast_shapes(*[part.shape[:-1] for part in parts.values()])
        except ValueError:
            shown = ", ".join(f"{name} {part.shape[:-1]}" for name, part in parts.items())
            raise ShapeError(f"parameters: leading dimensions do not broadcast together: {shown}") from None
        wide = [np.broadcast_to(parts[name], (*leading, parts[name].shape[-1])) for name in PARAMETERS]
        return Parameters.made(self.tree, np.concatenate(wide, axis=-1), check)

    def check(self) -> None:
        """Refuse what no robot can have, by link or joint and reason, with a ModelError.

        Links that keep the numbers of the model are left alone: a model that was loaded may have oddities of its own.
        """
        own = Parameters.of(self.tree).inertial
        wrong = bodies.impossible(self.inertial) & (self.inertial != own).any(axis=-1)
        for index in np.argwhere(wrong)[:1].tolist():
            *sample, link = index
            name, reason = self.tree.link_names[link], bodies.fault(self.inertial[tuple(index)])
            raise ModelError(f"link {name!r}{_of(sample)}: {reason}; {_OR_NOT}", link=name)
        for name in OF_JOINTS:
            self._check_joints(name)
        if not np.isfinite(self.gravity).all():
            raise ModelError(f"gravity: expected finite numbers, found {self.gravity[~np.isfinite(self.gravity)][0]}")

    def _check_joints(self, name: str) -> None:
        values, expected = self._piece(name), "a finite number" if name == "rest" else "zero or more"
        for index in np.argwhere(~(((values >= 0) | (name == "rest")) & np.isfinite(values)))[:1].tolist():
            *sample, dof = index
            joint = self.tree.joint_names[self.tree.joint_of(dof)]
            raise ModelError(
                f"joint {joint!r}{_of(sample)}: expected {name} of {expected}, found {values[tuple(index)]:g}; "
                f"{_OR_NOT}",
                joint=joint,
            )

    def log_cholesky(self) -> Array:
        """Log-Cholesky numbers of each link, (..., links, 10): any ten numbers are those of a possible body.

        (α, d1, d2, d3, s12, s23, s13, t1, t2, t3) of Rucker & Wensing (2022), for optimisation without constraints;
        `with_log_cholesky` leads back. Raises ModelError for links whose mass lies in a plane, on a line or in a point.
        """
        with np.errstate(invalid="ignore"):
            flat = np.linalg.eigvalsh(bodies.pseudo_inertia(self.inertial))[..., 0] <= 0
        if flat.any():
            link = self.tree.link_names[int(np.argwhere(flat)[0][-1])]
            raise ModelError(
                f"link {link!r} has no log-Cholesky numbers: expected mass in all three directions of space, found "
                "that it lies in a plane, on a line or in a point; give it a little inertia",
                link=link,
            )
        return bodies.log_cholesky(self.inertial)

    def with_log_cholesky(self, theta: npt.ArrayLike) -> Parameters:
        """The same with the bodies that log-Cholesky numbers (..., links, 10) describe, always possible ones."""
        array = _floats("log-Cholesky numbers", theta)
        if array.shape[-2:] != (self.tree.n, 10):
            raise ShapeError(f"log-Cholesky numbers must have shape (..., {self.tree.n}, 10), got {array.shape}")
        return self.replace(inertial=bodies.from_log_cholesky(array), check=False)

    def __getitem__(self, sample: Any) -> Parameters:
        """One set of a batch, or some of them."""
        if not self.shape:
            raise UnsupportedError("these are the parameters of one robot, not of a batch; see inertial, damping, ...")
        index = sample if isinstance(sample, tuple) else (sample,)
        if len(index) > len(self.shape):
            raise UnsupportedError(f"parameters of shape {self.shape} have no sample {sample!r}")
        return Parameters(self.tree, _frozen(self.vector[index]))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        """The vector."""
        return np.array(self.vector, dtype) if copy else np.asarray(self.vector, dtype)

    def __repr__(self) -> str:
        batch = f", a batch of {self.shape}" if self.shape else ""
        return f"<Parameters of {self.tree.name!r}, {self.vector.shape[-1]} numbers{batch}>"

    def _shape(self, name: str) -> tuple[int, ...]:
        return kind(PARAMETERS[name]).full_shape(self.tree.n, self.tree.nq, self.tree.nv)

    def _piece(self, name: str) -> Array:
        start = 0
        for piece in PARAMETERS:
            shape = self._shape(piece)
            stop = start + math.prod(shape)
            if piece == name:
                return self.vector[..., start:stop].reshape(*self.shape, *shape)
            start = stop
        raise KeyError(name)


_OR_NOT = "correct it, or turn the check off with check=False"


def record_of(tree: Tree, value: Any, check: bool) -> Parameters:
    """Parameters as callers give them, a record or a vector, of one robot; checked unless told otherwise."""
    if isinstance(value, Mapping):
        raise ShapeError("parameters must be a record or a vector, not a mapping; see robot.parameters().replace(...)")
    record = Parameters.made(tree, value.vector if isinstance(value, Parameters) else value, check)
    if record.shape:
        raise ShapeError(f"a robot has one set of parameters, not a batch of shape {record.shape}; choose one of them")
    return record


def _size(tree: Tree) -> int:
    return kind("parameters").full_shape(tree.n, tree.nq, tree.nv)[0]


def _floats(name: str, value: Any) -> Array:
    try:
        array = np.array(value, dtype=np.float64)
    except MemoryError:
        raise
    except Exception as error:  # whatever the conversion of somebody's object raises
        raise ShapeError(f"{name} must hold real numbers in rows of one size, got {kind_of(value)}") from error
    return array


def _frozen(array: Array) -> Array:
    array = np.ascontiguousarray(array)
    array.flags.writeable = False
    return array


def _of(sample: list[int]) -> str:
    return f" of sample {sample[0] if len(sample) == 1 else tuple(sample)}" if sample else ""
