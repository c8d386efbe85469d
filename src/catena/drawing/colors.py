"""The colours of pictures, pages and plots."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.tree import Tree

Array = npt.NDArray[Any]

PALETTE = ("#3b6ea5", "#e08e45", "#5a9e6f", "#b5566b", "#7d6bb0", "#c9a83d", "#4fa3ab", "#8a6d5b")
"""Colours of links, and of lines in plots."""
DARK, METAL = "#33383f", "#9aa3ad"
FEW = 40
"""Links from which on colours run from base to tip instead of changing from link to link, where none has a shape."""


def rgb(written: str) -> Array:
    """Red, green and blue, 0 to 1, of "#rrggbb"."""
    return np.array([int(written[i : i + 2], 16) / 255 for i in (1, 3, 5)])


def between(first: str, last: str, count: int) -> Array:
    """Colours from one to another, (count, 3)."""
    share = np.linspace(0.0, 1.0, count)[:, None]
    return np.asarray((1 - share) * rgb(first) + share * rgb(last))


def of_links(tree: Tree) -> Array:
    """A colour for the base, then for each link, (n + 1, 3)."""
    if tree.n > FEW and not tree.meshes:
        links = between(PALETTE[0], PALETTE[1], tree.n)
    else:
        links = np.array([rgb(PALETTE[i % len(PALETTE)]) for i in range(tree.n)]).reshape(-1, 3)
    return np.concatenate([[rgb(METAL)], links])
