"""A log-log plot as an SVG file, without a plotting package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

Series = Sequence[tuple[float, float]]

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 480, 80, 190, 40, 60
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#555555")


def plot(
    file: Path, title: str, x_label: str, y_label: str, curves: Mapping[str, Series], marks: Mapping[str, float] = {}
) -> None:
    """Write the curves, each a list of (x, y) above zero; `marks` are vertical lines with a text each."""
    points = [point for curve in curves.values() for point in curve]
    x0, x1 = _decades([x for x, _ in points])
    y0, y1 = _decades([y for _, y in points])

    def at(x: float, y: float) -> tuple[float, float]:
        across = (math.log10(x) - x0) / (x1 - x0) * (WIDTH - LEFT - RIGHT)
        up = (math.log10(y) - y0) / (y1 - y0) * (HEIGHT - TOP - BOTTOM)
        return LEFT + across, HEIGHT - BOTTOM - up

    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" font-family="sans-serif">']
    parts.append(f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>')
    parts.append(_text(LEFT, 24, title, 16))
    parts.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 14, x_label, 13, "middle"))
    parts.append(
        f'<text transform="translate(20 {HEIGHT / 2}) rotate(-90)" font-size="13" text-anchor="middle">{y_label}</text>'
    )
    for power in range(x0, x1 + 1):
        x, bottom = at(10.0**power, 10.0**y0)
        parts.append(_line(x, bottom, x, TOP, "#dddddd"))
        parts.append(_text(x, bottom + 18, _power(power), 12, "middle"))
    for power in range(y0, y1 + 1):
        left, y = at(10.0**x0, 10.0**power)
        parts.append(_line(left, y, WIDTH - RIGHT, y, "#dddddd"))
        parts.append(_text(left - 8, y + 4, _power(power), 12, "end"))
    for text, where in marks.items():
        x, bottom = at(where, 10.0**y0)
        parts.append(_line(x, bottom, x, TOP, "#555555", "4 3"))
        parts.append(_text(x + 4, TOP + 12, text, 11))
    for number, (name, curve) in enumerate(curves.items()):
        colour, last = COLOURS[number % len(COLOURS)], at(*curve[-1])
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(*point) for point in curve))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.5" fill="{colour}"/>' for x, y in (at(*p) for p in curve)]
        parts.append(_text(min(last[0] + 8, WIDTH - RIGHT + 8), last[1] + 4, name, 12, colour=colour))
    file.write_text("\n".join([*parts, "</svg>"]) + "\n", encoding="utf-8")


def _decades(values: Sequence[float]) -> tuple[int, int]:
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)


def _power(power: int) -> str:
    return f'10<tspan dy="-5" font-size="9">{power}</tspan>'


def _text(x: float, y: float, text: str, size: int, anchor: str = "start", colour: str = "black") -> str:
    where = f'x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"'
    return f'<text {where} font-size="{size}" fill="{colour}">{text}</text>'


def _line(x0: float, y0: float, x1: float, y1: float, colour: str, dashes: str = "") -> str:
    style = f' stroke-dasharray="{dashes}"' if dashes else ""
    return f'<line x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}" stroke="{colour}"{style}/>'
