"""Everything that the documentation shows runs as it is written."""

from __future__ import annotations

import re
import shutil
import sys
from inspect import ismodule
from pathlib import Path
from pkgutil import resolve_name

import pytest
from tests.snippets import EXTRAS, Page, Snippet, missing_extra, snippets

import catena
from catena import robots

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")])
OWN = {"README.md": "arm.urdf"}
"""What pages call a file of the reader's own; others start in an empty folder."""


def name_of(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


RUNNABLE = {name_of(path): found for path in PAGES if (found := snippets(path.read_text(encoding="utf-8")))}


@pytest.fixture
def workspace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder: pages are followed to the letter."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "120")
    return tmp_path


@pytest.mark.parametrize("page", RUNNABLE)
@pytest.mark.filterwarnings("default")
def test_snippets_run(page: str, workspace: Path) -> None:
    if page in OWN:
        shutil.copy(robots.path("seven_dof_arm"), workspace / OWN[page])
    try:
        reader = Page(ROOT / page)
        for snippet in RUNNABLE[page]:
            reader.run(snippet)
    finally:
        catena.set_threads(None)


def test_each_line_of_the_table_of_questions_runs(workspace: Path) -> None:
    page = (ROOT / "docs" / "what-it-can-do.md").read_text(encoding="utf-8")
    reader = Page(ROOT / "docs" / "what-it-can-do.md")
    for snippet in snippets(page):
        reader.run(snippet)
    rows = re.findall(r"^\| (?!what)[^|]+\| `([^`|]+)` \|$", page, re.MULTILINE)
    assert len(rows) > 15
    for row in rows:
        reader.run(Snippet("python", f"found = {row}\n", 1))
        assert reader.names["found"] is not None, row


def test_pages_that_teach_have_snippets() -> None:
    teaching = {
        name_of(path) for path in PAGES if path.parent.name in ("howto", "notebooks", "theory") and path.stem != "index"
    }
    assert teaching
    assert {"README.md", "docs/quickstart.md", *teaching} - set(RUNNABLE) == set()


def test_links_between_pages_lead_somewhere() -> None:
    links = [
        (path, target)
        for path in PAGES
        for target in re.findall(r"\]\(([^)\s]+)\)", path.read_text(encoding="utf-8"))
        if not re.match(r"[a-z]+:|#", target)
    ]
    assert len(links) > 20
    broken = [f"{name_of(path)}: {to}" for path, to in links if not (path.parent / to.partition("#")[0]).exists()]
    assert not broken


def test_the_reference_is_complete() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "docs" / "reference").glob("*.md"))
    documented = set(re.findall(r"^\.\. auto(?:module|class|function):: ([\w.]+)", text, re.MULTILINE))
    parts = {f"{part.__module__}.{part.__qualname__}" for part in catena.Robot.__mro__[1:-1]}
    assert parts
    assert parts - documented == set()
    in_modules = {name for module in documented for name in vars(sys.modules.get(module, catena.errors))}
    public = {name for name in catena.__all__ if not name.startswith("_") and not ismodule(getattr(catena, name))}
    assert {name for name in public if f"catena.{name}" not in documented} - in_modules == set()
    rooms = (catena.fixman, catena.operators)
    assert {f"{room.__name__}.{name}" for room in rooms for name in room.__all__} - documented == set()


def test_references_name_what_exists() -> None:
    """Of the form :func:`~catena.x.y` in docstrings and {func}`catena.x.y` on pages."""
    sources = [*PAGES, *(ROOT / "src").rglob("*.py")]
    named = {
        name: path
        for path in sources
        for name in re.findall(r"[:{]\w+[:}]`~?(catena\.[\w.]+)`", path.read_text(encoding="utf-8"))
    }
    assert len(named) > 10
    assert not {name: name_of(path) for name, path in named.items() if not exists(name)}


def exists(name: str) -> bool:
    try:
        return resolve_name(name) is not None
    except (AttributeError, ImportError):
        return False


class TestTheReader:
    """The code that runs the snippets notices what it should."""

    def run(self, page: str) -> None:
        reader = Page(Path("page.md"))
        found = snippets(page)
        assert found
        for snippet in found:
            reader.run(snippet)

    def test_blocks_share_a_namespace(self) -> None:
        self.run("```python\nx = 1\n```\ntext\n```python\nassert x == 1\n```\n")

    def test_cells_of_notebooks_run(self) -> None:
        self.run("```python\nx = 1\n```\n\n```{code-cell} ipython3\nassert x == 1\n```\n")
        with pytest.raises(AssertionError):
            self.run("```{code-cell} ipython3\nassert 1 == 2\n```\n")

    def test_an_error_is_an_error(self) -> None:
        with pytest.raises(AssertionError):
            self.run("```python\nassert 1 == 2\n```\n")

    def test_output_is_compared(self) -> None:
        self.run("```python\nprint(1.25, 'a')\n```\n\n```text\n1.2... a\n```\n")
        with pytest.raises(AssertionError, match="but it prints"):
            self.run("```python\nprint(1)\n```\n\n```text\n2\n```\n")

    def test_warnings_must_be_shown(self) -> None:
        warn = "import warnings\nwarnings.warn('odd', RuntimeWarning)"
        self.run(f"```python\n{warn}  # RuntimeWarning: odd\n```\n")
        with pytest.raises(AssertionError, match="odd"):
            self.run(f"```python\n{warn}\n```\n")

    def test_commands_run(self, workspace: Path) -> None:
        self.run("```console\n$ catena info seven_dof_arm\nseven_dof_arm: 7 joints...\n```\n")
        with pytest.raises(AssertionError):
            self.run("```sh\ncatena info nothing.urdf\n```\n")

    def test_only_a_missing_extra_excuses(self) -> None:
        absent = ModuleNotFoundError("no", name="numpy")
        assert missing_extra(absent) is None
        with pytest.raises(ModuleNotFoundError):
            self.run("```python\nimport a_package_that_is_nowhere\n```\n")
        assert "a_package_that_is_nowhere" not in EXTRAS

    def test_lines_are_those_of_the_page(self) -> None:
        assert snippets("a\n\n```python\nx\n```\n") == [Snippet("python", "x\n", 4)]
