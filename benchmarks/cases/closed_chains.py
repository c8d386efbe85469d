"""Two arms that hold one box, beside Pinocchio's constrained dynamics."""

from __future__ import annotations

from collections.abc import Iterator

from case import Case, Contestant

from cases.batches import BATCH, GROUP


def cases() -> Iterator[Case]:
    """8192 states of two xArm7 with rigid grasps."""
    from closed_chains import LOOP, TwoArms

    two = TwoArms(BATCH)
    ours, theirs = Contestant(two.ours, BATCH, two.our_answer), Contestant(two.theirs, LOOP, two.their_answer)
    yield Case(GROUP, "forward dynamics, closed", "2 xArm7, box", ours, {"Pinocchio": theirs}, 1e-7)
