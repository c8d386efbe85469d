"""Polymers: point masses on rigid bonds, their Cartesian and internal coordinates, and a sampler of their shapes.

`Polymer` is made from bonds, masses, angles and torsions, and holds the robot of the same atoms. Its method `sample`
draws shapes by hybrid Monte Carlo, as rigid bonds visit them or, with Fixman's potential, as stiff ones would.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from catena.later import imported_later

if TYPE_CHECKING:
    from catena.polymers.polymer import Polymer
    from catena.polymers.samples import Samples

__all__ = ["Polymer", "Samples"]

__getattr__ = imported_later(__name__, {"Polymer": "polymer", "Samples": "samples"})


def __dir__() -> list[str]:
    return sorted(__all__)
