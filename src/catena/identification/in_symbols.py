"""Base parameters in symbols, for small arms: exact combinations with letters for lengths.

The regressor is run on a mechanism in letters. Its columns are then vectors with one entry for each row and each
product of coordinates, sines and cosines, over the field of fractions in the letters; eliminating among them, from the
base to the tips, leaves the independent columns and what the others are made of.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.algorithms.regressor import regressor
from catena.arguments.scalars import a_robot
from catena.errors import ModelError, UnsupportedError
from catena.model.joints import JOINT_TYPES
from catena.symbols.functions import Lettered, in_letters
from catena.symbols.mechanism import Parameter
from catena.symbols.ring import Value

if TYPE_CHECKING:
    from catena.robot import Robot

_MOST = 4  # links, of which the elimination takes seconds
_INSTEAD = "base_parameters gives numbers for any robot"


@dataclass(frozen=True)
class SymbolicBaseParameters:
    """The combinations of inertial parameters that torques depend on, as SymPy expressions.

    Attributes:
        expressions: the combinations, r of them, in symbols such as "upper_arm.Izz" and letters for lengths.
        matrix: (r, 10 links), a SymPy matrix: from the ten numbers of all links to the combinations.
        letters: what each letter means, and the robot's number for it, by name.
    """

    expressions: tuple[Any, ...]
    matrix: Any
    letters: dict[str, Parameter]


def symbolic_base_parameters(robot: Robot) -> SymbolicBaseParameters:
    """Find the base parameters of a small arm in symbols.

        for x in catena.identification.symbolic_base_parameters(arm).expressions:
            print(x)

    Every length of the robot that is not zero becomes a letter, and gravity; so the combinations hold for all robots
    with the same right angles and zeros. Joints have one coordinate each, and axes are parallel or at right angles.
    Needs SymPy, the extra `catena-dynamics[symbolic]`. Made for arms of up to four links.

    Raises:
        UnsupportedError: for other joints or angles, or more links; `base_parameters` gives numbers for any robot.
    """
    _check_size(robot)
    arm = in_letters(robot.tree)
    _check_shape(robot, arm)
    matrix = _eliminated(arm)
    from sympy import Matrix, Symbol

    names = robot.parameters().names[: 10 * robot.tree.n]
    expressions = tuple(matrix * Matrix([Symbol(name) for name in names]))
    used = {str(symbol) for symbol in matrix.free_symbols}
    letters = {name: letter for name, letter in arm.letters.names.parameters.items() if name in used}
    return SymbolicBaseParameters(expressions, matrix, letters)


def _check_size(robot: Robot) -> None:
    if not a_robot("symbolic_base_parameters", robot).nv:
        raise ModelError(f"robot {robot.name!r} has no joints, so there are no torques that parameters could change")
    if robot.tree.n > _MOST:
        raise UnsupportedError(
            f"symbolic base parameters are for arms of up to {_MOST} links, not {robot.tree.n}; {_INSTEAD}"
        )


def _check_shape(robot: Robot, arm: Lettered) -> None:
    for i, code in enumerate(robot.tree.joint_type.tolist()):
        joint, Q = robot.tree.joint_names[i], robot.tree.joint_rotation[i]
        if JOINT_TYPES[code].nq != 1:
            raise UnsupportedError(f"joint {joint!r} has several coordinates; expected joints with one; {_INSTEAD}")
        if not np.isin(Q, (-1.0, 0.0, 1.0)).all():
            raise UnsupportedError(f"joint {joint!r} has an oblique axis; expected x, y or z of its link; {_INSTEAD}")
    if arm.letters.names.angles:
        oblique = arm.letters.names.parameters[arm.letters.names.angles[0]].meaning
        raise UnsupportedError(f"oblique {oblique}; expected axes that are parallel or at right angles; {_INSTEAD}")


def _eliminated(arm: Lettered) -> Any:
    """The regressor's columns in reduced echelon form, over fractions in the letters: from parameters to base ones."""
    from sympy import QQ
    from sympy.polys.matrices import DomainMatrix

    for link, Q in zip(arm.links, arm.letters.tree.joint_rotation, strict=True):
        frame = {f"F{x}{y}": int(Q[j, i]) for i, x in enumerate("xyz") for j, y in enumerate("xyz")}
        link.constants = {**link.constants, **frame, **dict.fromkeys(("Fx", "Fy", "Fz"), 0)}
    Y = regressor(arm.links, arm.fields["q"], arm.fields["qdot"], arm.fields["qddot"])
    known = [i for i, g in enumerate(arm.ring.generators) if str(g) in arm.letters.names.parameters]
    symbols = [arm.ring.generators[i] for i in known]
    field = QQ.frac_field(*symbols) if symbols else QQ
    letters = [field.from_sympy(symbol) for symbol in symbols]
    rows: dict[Any, dict[int, Any]] = {}
    for i, row in enumerate(Y):
        for column, x in enumerate(row):
            for powers, coefficient in _terms(x, arm):
                state = (i, tuple(0 if place in known else power for place, power in enumerate(powers)))
                value = field.convert(coefficient)
                for place, letter in zip(known, letters, strict=True):
                    value = value * letter ** powers[place]
                entries = rows.setdefault(state, {})
                entries[column] = entries.get(column, field.zero) + value
    width = len(Y[0])
    entries = {i: {j: x for j, x in row.items() if x} for i, row in enumerate(rows.values())}
    sparse = DomainMatrix({i: row for i, row in entries.items() if row}, (len(rows), width), field)
    reduced, pivots = sparse.rref()
    return reduced.to_Matrix()[: len(pivots), :]


def _terms(x: Any, arm: Lettered) -> list[tuple[tuple[int, ...], Any]]:
    """Powers of all generators, and the number before them, for each term of a scalar."""
    if isinstance(x, Value):
        return list(x.terms())
    return [((0,) * len(arm.ring.generators), arm.ring.number(x))] if x else []
