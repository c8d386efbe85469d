"""The fenced blocks of a Markdown page, and how to run them as a reader would, one after the other."""

from __future__ import annotations

import importlib.util
import io
import re
import shlex
import warnings
from contextlib import redirect_stdout
from dataclasses import dataclass
from doctest import ELLIPSIS, NORMALIZE_WHITESPACE, OutputChecker
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from catena.cli import main
from catena.errors import UnsupportedError

EXTRAS = (
    "sympy",
    "mpmath",
    "mujoco",
    "matplotlib",
    "viser",
    "PIL",
    "pinocchio",
    "dask",
    "jax",
    "torch",
    "casadi",
    "gymnasium",
)
SHELL = ("console", "sh", "bash", "shell")
CELL = "{code-cell}"
"""What starts a cell of a notebook that is written in Markdown."""
_BLOCK = re.compile(
    r"^(?P<fence>```+)(?P<language>\w+|\{code-cell\})[^\n]*\n(?P<text>.*?)^(?P=fence)\s*$", re.MULTILINE | re.DOTALL
)
_COMMAND = re.compile(r"^(?:\$ )?(catena(?: .*)?)$")
_SHOWN_WARNING = re.compile(r"#\s*(\w*Warning)\b")


@dataclass(frozen=True)
class Snippet:
    """A fenced block: its language, its text, the line it starts at, and what the page says it prints (or None)."""

    language: str
    text: str
    line: int
    output: str | None = None

    @property
    def commands(self) -> list[tuple[str, str]]:
        """The calls of `catena` in a block for the shell, each with the output shown below it ("" if none)."""
        found: list[tuple[str, str]] = []
        for row in self.text.splitlines():
            match = _COMMAND.match(row.split("  #")[0].rstrip())
            if match:
                found.append((match.group(1), ""))
            elif found and self.language == "console" and not row.startswith("$ "):
                command, output = found[-1]
                found[-1] = command, f"{output}{row}\n"
        return found

    @property
    def runs(self) -> bool:
        return self.language == "python" or (self.language in SHELL and bool(self.commands))


def snippets(page: str) -> list[Snippet]:
    """The blocks of a page that run. A block of text right after Python is what that prints."""
    blocks = list(_BLOCK.finditer(page))
    found = []
    for i, block in enumerate(blocks):
        output = None
        if i + 1 < len(blocks) and blocks[i + 1]["language"] == "text":
            between = page[block.end() : blocks[i + 1].start()]
            output = blocks[i + 1]["text"] if not between.strip() else None
        line = page.count("\n", 0, block.start()) + 2
        language = "python" if block["language"] == CELL else block["language"]
        snippet = Snippet(language, block["text"], line, output)
        if snippet.runs:
            found.append(snippet)
    return found


class Page:
    """Runs the blocks of one page in one namespace."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.names: dict[str, Any] = {"__name__": "__main__"}

    def run(self, snippet: Snippet) -> None:
        if snippet.language != "python":
            for command, output in snippet.commands:
                self._command(command, output)
            return
        shown = set(_SHOWN_WARNING.findall(snippet.text))
        printed = io.StringIO()
        with warnings.catch_warnings(record=True) as caught, redirect_stdout(printed):
            warnings.simplefilter("always")
            self._python(snippet)
        seen = {warning.category.__name__: str(warning.message) for warning in caught}
        assert set(seen) == shown, f"{self.path.name}:{snippet.line} warns {seen}, shown are {shown or 'none'}"
        if snippet.output is not None:
            check_output(snippet.output, printed.getvalue())

    def _python(self, snippet: Snippet) -> None:
        code = compile("\n" * (snippet.line - 1) + snippet.text, str(self.path), "exec")
        try:
            exec(code, self.names)
        except (ImportError, UnsupportedError) as error:
            missing = missing_extra(error)
            if missing is None:
                raise
            pytest.skip(f"{missing} is not installed")

    def _command(self, command: str, output: str) -> None:
        words = shlex.split(command)
        assert not {"|", ">", "&&"} & set(words), f"{command}: pages show plain commands only"
        result = CliRunner().invoke(main, words[1:], prog_name="catena")
        assert result.exit_code == 0, f"{command}: {result.output}"
        assert result.output.strip(), f"{command} says nothing"
        if output.strip():
            check_output(output, result.output)


def missing_extra(error: BaseException | None) -> str | None:
    """The optional package whose absence caused the error, if that is what happened."""
    while error is not None:
        name = (getattr(error, "name", None) or "").partition(".")[0]
        if isinstance(error, ImportError) and name in EXTRAS and importlib.util.find_spec(name) is None:
            return name
        error = error.__cause__ or error.__context__
    return None


def check_output(expected: str, found: str) -> None:
    """Compare as doctest does: runs of blanks are alike, "..." stands for anything."""
    flags = ELLIPSIS | NORMALIZE_WHITESPACE
    assert OutputChecker().check_output(expected, found, flags), f"the page shows\n{expected}\nbut it prints\n{found}"
