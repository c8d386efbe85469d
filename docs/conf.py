"""How the documentation is built: `make docs`."""

from __future__ import annotations

import re

from catena import __version__

project = "Catena"
author = "The Catena developers"
release = __version__
extensions = ["sphinx.ext.autodoc", "myst_parser"]
html_theme = "furo"
html_title = "Catena"
exclude_patterns = ["_build"]
default_role = "code"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

autodoc_typehints = "none"
autodoc_member_order = "bysource"
autodoc_preserve_defaults = True
add_module_names = False


def as_plain_text(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in backticks: keep reStructuredText from reading more into them."""
    found: list[str] = []
    for line in lines:
        if not line.startswith("    "):
            found.append(escaped(line))
            continue
        if found and not found[-1]:  # an indented block after an empty line is code
            found += ["::", ""]
        found.append(line)
    lines[:] = found


def escaped(line: str) -> str:
    parts = re.split(r"(:\w+:`[^`]*`|``[^`]*``|`[^`]*`)", line)
    return "".join(part if i % 2 else re.sub(r"([*|\\]|_\b)", r"\\\1", part) for i, part in enumerate(parts))


def setup(app) -> None:
    app.connect("autodoc-process-docstring", as_plain_text)
