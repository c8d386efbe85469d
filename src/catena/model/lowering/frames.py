"""Internal frames chosen link by link, by counting.

The frame of a link on a joint that turns about or slides along z may itself be turned about and slid along that axis. A
turn can take away the first turn of a child's placement, a slide the shift along z, as Denavit and Hartenberg do; but
what helps one child may hurt another, or the link's own placement. So each link tries what its neighbours offer and
keeps the cheapest.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.joints import JOINT_TYPES
from catena.model.lowering.placement import factored
from catena.model.tree import Tree

Array = npt.NDArray[Any]

TURN, SHIFT, OFFSET = 76, 39, 5
"""Operations that forward dynamics spends on a turn of a plane, on a shift along an axis and on an angle's offset."""

_ROUNDS = 3


def chosen(tree: Tree, R: Array, p: Array) -> tuple[Array, Array]:
    """How far to turn (rad) and slide (m) each link's frame about its z axis; R, p are the aligned placements."""
    n = tree.n
    screw = np.array([t.screw for t in JOINT_TYPES])[tree.joint_type]
    absorbs = np.array([t.screw and t.angles[0] for t in JOINT_TYPES])[tree.joint_type]
    children: list[list[int]] = [[] for _ in range(n)]
    for i, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(i)
    turn, slide = np.zeros(n), np.zeros(n)

    def placed(i: int, turns: Array, slides: Array) -> tuple[Array, Array]:
        """Placement of link i's frame moved by the given turns and slides, on its parent's frame moved as decided."""
        parent = int(tree.parent[i])
        above = (turn[parent], slide[parent]) if parent >= 0 else (0.0, 0.0)
        return _between(R[i], p[i], above, (turns, slides))

    def cost(i: int, turns: Array, slides: Array) -> Array:
        total = _cost(*placed(i, turns, slides), bool(absorbs[i]))
        for child in children[i]:
            below = _between(R[child], p[child], (turns, slides), (turn[child], slide[child]))
            total = total + _cost(*below, bool(absorbs[child]))
        return total

    for _ in range(_ROUNDS):
        before = turn.copy(), slide.copy()
        for i in np.flatnonzero(screw).tolist():
            turns, slides = [0.0, turn[i]], [0.0, slide[i]]
            own = factored(*placed(i, np.float64(0.0), np.float64(0.0)))
            slides.append(-float(own["r"]))
            turns.append(-float(own["phi"]))
            for child in children[i]:
                seen = factored(*_between(R[child], p[child], (0.0, 0.0), (turn[child], slide[child])))
                turns += [float(np.arctan2(seen["st"], seen["ct"])), float(np.arctan2(seen["b"], seen["a"]))]
                slides += [float(seen["d"]), float(seen["d"] + seen["ca"] * seen["r"])]
            grid = np.array(sorted(set(turns), key=abs)), np.array(sorted(set(slides), key=abs))
            candidates = [x.ravel() for x in np.meshgrid(*grid, indexing="ij")]
            best = int(np.argmin(cost(i, *candidates)))
            turn[i], slide[i] = candidates[0][best], candidates[1][best]
        if np.array_equal(before[0], turn) and np.array_equal(before[1], slide):
            break
    return turn, slide


def _between(R: Array, p: Array, above: tuple[Any, Any], below: tuple[Any, Any]) -> tuple[Array, Array]:
    """screw_z(above)⁻¹ · (R, p) · screw_z(below), for arrays of screws on either side."""
    up, down = _z(-np.asarray(above[0])), _z(np.asarray(below[0]))
    origin = (
        p + np.asarray(below[1])[..., None] * R[..., :, 2] - np.asarray(above[1])[..., None] * np.array([0, 0, 1.0])
    )
    return up @ R @ down, np.einsum("...ij,...j->...i", up, origin)


def _z(angle: Array) -> Array:
    c, s = np.cos(angle), np.sin(angle)
    zero, one = np.zeros_like(c), np.ones_like(c)
    return np.stack([c, -s, zero, s, c, zero, zero, zero, one], axis=-1).reshape(*c.shape, 3, 3)


def _cost(R: Array, p: Array, absorbs: bool) -> Array:
    f = factored(R, p)
    turns = (f["ct"] * f["st"] != 0) * TURN + (f["ca"] * f["sa"] != 0) * TURN
    end = (f["cp"] * f["sp"] != 0) * (OFFSET if absorbs else TURN)
    shifts = sum((f[name] != 0) * SHIFT for name in ("a", "b", "d", "r"))
    total: Array = turns + end + shifts
    return total
