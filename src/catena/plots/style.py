"""One style for all figures: fonts, colours, grid; and how figures are kept."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from io import BytesIO
from typing import Any

from catena.drawing.colors import PALETTE
from catena.errors import writing
from catena.later import optional

NAMES = 12
"""Lines up to which a legend names each."""

SETTINGS: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "grid.color": "#e3e6ea",
    "lines.linewidth": 1.4,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "savefig.dpi": 120,
}


@contextmanager
def figure(rows: int, columns: int, width: float, height: float, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A new figure and its axes (rows, columns), in the style of all; size in inches."""
    matplotlib = optional("matplotlib", "plot", "plots need Matplotlib")
    figures = optional("matplotlib.figure", "plot", "plots need Matplotlib")
    cycler = optional("cycler", "plot", "plots need Matplotlib")
    with matplotlib.rc_context({**SETTINGS, "axes.prop_cycle": cycler.cycler(color=PALETTE)}):
        made = figures.Figure(figsize=(width, height), layout="constrained")
        made._repr_png_ = partial(_png, made)  # Jupyter shows figures of pyplot by itself, and no others
        yield made, made.subplots(rows, columns, squeeze=False, **options)


def _png(made: Any) -> bytes:
    """The figure as a PNG picture."""
    picture = BytesIO()
    made.savefig(picture, format="png", dpi=SETTINGS["savefig.dpi"])
    return picture.getvalue()


def kept(made: Any, path: str | os.PathLike[str] | None) -> Any:
    """The figure, written to a file if a path is given: PNG, SVG or PDF by its ending."""
    if path is not None:
        with writing(path):
            made.savefig(path)
    return made
