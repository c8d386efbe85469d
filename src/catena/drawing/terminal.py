"""Pictures in a terminal: two pixels for each character."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt
from rich.color import Color
from rich.style import Style
from rich.text import Text

Array = npt.NDArray[Any]

SHADES = "  .:-=+*#%@"
HALF = "▀"
"""The upper half of a character; its background is the lower half."""


def in_characters(picture: Array) -> Text:
    """A picture (rows, columns, 3) of 8 bits as coloured text, a character for two rows."""
    text = Text(no_wrap=True, overflow="crop")
    for upper, lower in zip(picture[::2], picture[1::2], strict=False):
        for above, below in zip(upper.tolist(), lower.tolist(), strict=True):
            text.append(HALF, Style(color=Color.from_rgb(*above), bgcolor=Color.from_rgb(*below)))
        text.append("\n")
    return text


def in_shades(picture: Array) -> Text:
    """A picture as text without colours: what is darker is denser."""
    light = picture.mean(axis=2)
    rows = (light[::2][: len(light) // 2] + light[1::2]) / 2
    level = ((250.0 - rows) / 250.0 * 1.4 * len(SHADES)).astype(int).clip(0, len(SHADES) - 1)
    return Text("\n".join("".join(SHADES[k] for k in row) for row in level.tolist()), no_wrap=True, overflow="crop")
