"""Couplings of joints that contradict each other."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from catena.errors import ModelError
from catena.model.constraints import AnyConstraint, Coupling

_ZERO = 1e-10
"""Combinations of ratios below this, relative to the ratios, count as zero."""


def check_couplings(constraints: Sequence[AnyConstraint]) -> None:
    """ModelError that names them if some linear couplings cannot all be met: a = b and a = b + 1."""
    linear = [c for c in constraints if isinstance(c, Coupling) and all(len(x) == 1 for x in c.terms.values())]
    for group in _groups(linear):
        joints = sorted({joint for c in group for joint in c.terms})
        A = np.array([[c.terms.get(joint, (0.0,))[0] for joint in joints] for c in group])
        size = np.linalg.norm(A, axis=1)
        b = np.array([c.offset for c in group]) / size
        U, s, _ = np.linalg.svd(A / size[:, None])
        null = U[:, int((s > _ZERO).sum()) :]  # sums of couplings in which no joint is left
        wrong = null @ (null.T @ b)
        if np.abs(wrong).max(initial=0.0) > _ZERO * max(1.0, np.abs(b).max(initial=0.0)):
            names = ", ".join(repr(c.name) for c, x in zip(group, wrong, strict=True) if abs(x) > _ZERO)
            raise ModelError(
                f"the couplings {names} contradict each other: no positions of their joints meet all of them; "
                "leave one out, or change its offset"
            )


def _groups(couplings: Sequence[Coupling]) -> list[list[Coupling]]:
    """Couplings that have joints in common, together."""
    groups: list[tuple[set[str], list[Coupling]]] = []
    for coupling in couplings:
        joints, together = set(coupling.terms), [coupling]
        apart = []
        for group in groups:
            if group[0] & joints:
                joints, together = joints | group[0], group[1] + together
            else:
                apart.append(group)
        groups = [*apart, (joints, together)]
    return [together for _, together in groups if len(together) > 1]
