"""How the documentation is built: `make docs`."""

from __future__ import annotations

import re
import sys

from docutils import nodes
from latex2mathml.converter import convert

from catena import __version__

project = "Catena"
author = "The Catena developers"
project_copyright = author
release = __version__
extensions = ["sphinx.ext.autodoc", "sphinx.ext.viewcode", "myst_nb"]
html_math_renderer = "mathml"
html_theme = "furo"
html_title = "Catena"
html_static_path = ["static"]
html_css_files = ["wide.css"]
exclude_patterns = ["_build", "jupyter_execute"]  # what a build before this one left
default_role = "code"

myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3

nb_execution_mode = "force"
nb_execution_in_temp = True
nb_execution_raise_on_error = True
nb_execution_timeout = 120

autodoc_mock_imports = ["gymnasium"]
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_typehints_format = "short"
autodoc_type_aliases = {"Array": "Array"}
python_use_unqualified_type_names = True
suppress_warnings = ["ref.python"]  # types of one name in several modules, such as Solution: links lead to one
autodoc_member_order = "bysource"
add_module_names = False

SECTIONS = {"Args:": "param", "Attributes:": "ivar", "Raises:": "raises", "Returns:": "returns", "Example:": "Example"}
"""The sections of docstrings, and the names of the fields that they become."""


def as_plain_text(_app, _what, _name, _object, _options, lines: list[str]) -> None:
    """Docstrings are plain text with `code` in backticks: keep reStructuredText from reading more into them."""
    found: list[str] = []
    section = ""
    for line in lines:
        indented = line.startswith("    ")
        section = line if line in SECTIONS else section if indented or not line else ""
        if section:
            found.append(as_field(section, line))
            continue
        if indented and found and not found[-1]:  # an indented block after an empty line is code
            found += ["::", ""]
        found.append(line if indented else escaped(line))
    lines[:] = found


def as_field(section: str, line: str) -> str:
    """A line of a section as part of a field list; entries of arguments and errors are fields of their own."""
    name = SECTIONS[section]
    if section in ("Returns:", "Example:"):
        return f":{name}:" if line == section else escaped(line)
    entry = re.fullmatch(r"    (\w+(?:, \w+)*): (.*)", line)
    if entry:
        return f":{name} {entry[1]}: {escaped(entry[2])}"
    return "" if line == section else escaped(line[4:])


def escaped(line: str) -> str:
    parts = re.split(r"(:\w+:`[^`]*`|``[^`]*``|`[^`]*`|(?<!\S)\*[a-z][a-z ]*\*)", line)
    return "".join(part if i % 2 else re.sub(r"([*|\\]|_\b)", r"\\\1", part) for i, part in enumerate(parts))


def where_written(_app, module: str, name: str) -> str | None:
    """The module with the source of a name: that of the function inside where one was wrapped, else as Sphinx finds."""
    inside = getattr(getattr(sys.modules.get(module), name, None), "__wrapped__", None)
    return getattr(inside, "__module__", None)


def inline_formula(self, node: nodes.math) -> None:
    """A formula as MathML, which browsers typeset by themselves, without a script and a network."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def displayed_formula(self, node: nodes.math_block) -> None:
    latex = node.astext().replace("{aligned}", "{align*}")  # the one of the two that the converter knows
    self.body.append(f'<div class="formula">{convert(latex, display="block")}</div>')
    raise nodes.SkipNode


def plain_defaults(_app, _kind, _name, _what, _options, signature: str | None, returned: str | None):
    """Classes among defaults by their names."""
    return None if signature is None else (re.sub(r"<class '([\w.]+)'>", r"\1", signature), returned)


def setup(app) -> None:
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", as_plain_text)
    app.connect("autodoc-process-signature", plain_defaults)
    app.connect("viewcode-follow-imported", where_written)
