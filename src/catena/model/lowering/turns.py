"""Frames along a chain turned about their joints' axes, so that placements need no first turn.

A placement is Rz(θ) · shift(a, b, d) · Rx(α) · screw_z(φ, r). The frame of the link that carries it may itself be
turned by θ about its own z axis: that turn joins φ, which joints about z absorb, and inertias turn with the frame. As
Denavit and Hartenberg do, but without slides: these would cost digits where axes are nearly parallel.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES, AnyScrew
from catena.model.lowering.placement import snapped
from catena.model.singular import THIN
from catena.model.tree import Tree

if TYPE_CHECKING:
    from catena.model.lowering.lowered import Lowered

Array = npt.NDArray[Any]


def turned(chain: Lowered, tree: Tree) -> Lowered:
    """The same chain with its frames turned, that of its base too: its `turn` tells how far that one.

    The last link keeps its frame, and so does one whose joint knows its frame's x and y. Points, thin rods and links
    without a mass are turned by right angles only, so that what is zero stays zero.
    """
    screw = np.isin(chain.joint_type, [AnyScrew.code, *[t.code for t in JOINT_TYPES if t.screw]])
    columns = dict(chain.constants)
    c, s = (np.append(columns[name][1:], last) for name, last in (("ct", 1.0), ("st", 0.0)))
    still = ~screw | ((c * s != 0.0) & _thin(tree))
    c[still], s[still] = 1.0, 0.0
    first = float(columns["ct"][0]), float(columns["st"][0])
    kept = np.flatnonzero(still[:-1]) + 1
    for name, x in (("ct", 1.0), ("st", 0.0)):
        own = np.full(chain.n, x)
        own[kept] = columns[name][kept]
        columns[name] = own
    columns.update(_ends(columns, c, s), **_vectors(columns, c, s), **_inertia(columns, c, s))
    return replace(chain, constants={name: _plain(x) for name, x in columns.items()}, turn=first)


def _thin(tree: Tree) -> Array:
    """Which links have no mass, or hardly any inertia about an axis through the centre of mass."""
    xx, xy, xz, _, yy, yz, _, _, zz = tree.inertia.reshape(tree.n, 9).T
    minors = yy * zz - yz * yz, xz * yz - xy * zz, xy * yz - xz * yy
    pairs = minors[0] + (xx * zz - xz * xz) + (xx * yy - xy * xy)
    most = xx + yy + zz + tree.mass * np.einsum("ni,ni->n", tree.com, tree.com)
    thin: Array = (tree.mass <= 0) | (xx * minors[0] + xy * minors[1] + xz * minors[2] <= THIN * most * pairs)
    return thin


def _plain(x: Array) -> Array:
    """A column that takes no memory where all its numbers are the same."""
    return np.broadcast_to(x[0], x.shape) if x.strides == (0,) or (x == x[0]).all() else x


def _ends(columns: Mapping[str, Array], c: Array, s: Array) -> dict[str, Array]:
    """The turn at the end of a placement, joined by that of the link's frame."""
    cp, sp = columns["cp"], columns["sp"]
    cp, sp = snapped(cp * c - sp * s), snapped(sp * c + cp * s)
    return {"cp": cp, "sp": sp, "phi": np.arctan2(sp, cp)}


def _vectors(columns: Mapping[str, Array], c: Array, s: Array) -> dict[str, Array]:
    """The first moment, and the user's frame, in the turned frame."""
    seen = {}
    for x, y in [("hx", "hy"), ("Fx", "Fy"), *[(f"Fx{i}", f"Fy{i}") for i in "xyz"]]:
        seen[x], seen[y] = c * columns[x] + s * columns[y], c * columns[y] - s * columns[x]
    return seen


def _inertia(columns: Mapping[str, Array], c: Array, s: Array) -> dict[str, Array]:
    """The moments of inertia in the turned frame."""
    xx, xy, xz, yy, yz = (columns[f"I{ij}"] for ij in ("xx", "xy", "xz", "yy", "yz"))
    across = s * (yy - xx) + c * (xy + xy)
    return {
        "Ixx": xx + s * across,
        "Ixy": c * across - xy,
        "Iyy": yy - s * across,
        "Ixz": c * xz + s * yz,
        "Iyz": c * yz - s * xz,
    }
