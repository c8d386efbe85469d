"""The map of the source in docs/architecture.md shows the source as it is."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
from tests.test_layers import LAYERS, PARTS, ROOT

REPOSITORY = Path(__file__).parent.parent
PAGE = (REPOSITORY / "docs" / "architecture.md").read_text(encoding="utf-8")
BUILD = ROOT / "kernels" / "build.py"


def section(title: str, page: str = PAGE) -> str:
    """The text below a heading, up to the next one of its level."""
    found = re.search(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
    assert found, title
    return found.group(1)


def rows(text: str) -> list[list[str]]:
    """The cells of the tables in a text, without their heads."""
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line[:1] == "|"]
    return [row for row, following in zip(found, [*found[1:], [""]], strict=True) if "---" not in row[0] + following[0]]


def words(cell: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", cell))


def listed() -> list[str]:
    """The files and folders that the page describes, relative to the package; folders end with a slash."""
    found, folder = [], ""
    for line in section("Every folder and file").splitlines():
        if heading := re.fullmatch(r"### `([\w/]+/)`", line):
            folder = heading.group(1).removeprefix("catena/")
            found.append(folder)
        elif row := re.match(r"\| `([\w.]+)` \| \S", line):
            found.append(folder + row.group(1))
    return found


def says_only_what_it_is(path: Path) -> bool:
    """Whether a folder's `__init__.py` holds a docstring and nothing else."""
    return path.name == "__init__.py" and len(ast.parse(path.read_text(encoding="utf-8")).body) == 1


def in_the_tree() -> set[str]:
    paths = [path for path in ROOT.rglob("*") if "__pycache__" not in path.parts and path.name[0] != "."]
    files = {path.relative_to(ROOT).as_posix() for path in paths if path.is_file() and not says_only_what_it_is(path)}
    folders = {f"{path.parent.relative_to(ROOT).as_posix()}/" for path in ROOT.rglob("*.py")}
    return files | {"" if folder == "./" else folder for folder in folders}


def test_every_file_and_folder_is_on_the_page_once() -> None:
    found = listed()
    assert len(found) > 100
    assert in_the_tree() - set(found) == set(), "in the tree, not on the page"
    assert set(found) - in_the_tree() == set(), "on the page, not in the tree"
    assert len(found) == len(set(found))


def test_paths_on_the_page_lead_to_files() -> None:
    drawing = "\n".join(re.findall(r"^```text\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL))
    outside = PAGE.replace(section("Every folder and file"), "")
    paths = set(re.findall(r"`([\w./-]+(?:\.py|\.md|/))`", outside)) | set(re.findall(r"\S+/\S+\.py", drawing))
    assert len(paths) > 40
    assert not {path for path in paths if not any((root / path).exists() for root in (ROOT, REPOSITORY))}


def test_the_table_of_imports_is_the_one_that_is_enforced() -> None:
    there = [{part for part in layer if part == "..." or "." in part or part in PARTS} for layer in LAYERS]
    table = rows(section("What may import what"))
    assert [words(cells[1]) for cells in table] == there
    assert [cells[0] for cells in table] == [str(i + 1) for i in range(len(there))]


def test_parts_behind_the_dots_are_named() -> None:
    named = {part.partition(".")[0] for layer in LAYERS for part in layer}
    rest = {part for part in PARTS - named if part[:2] != "__"}
    assert rest <= words(section("What may import what").partition("\n|")[0])


def test_the_passes_are_those_of_the_compiler() -> None:
    docstring = ast.get_docstring(ast.parse(BUILD.read_text(encoding="utf-8"))) or ""
    passes = re.findall(r"^    (\w+)  ", docstring, re.MULTILINE)
    assert passes[0] == "pass"
    assert [cells[0] for cells in rows(section("The passes, in order"))] == passes[1:]
    drawn = re.search(r"lower → .*?load", PAGE, re.DOTALL)
    assert drawn
    assert re.findall(r"\w+", drawn.group()) == passes[1:]


def test_who_decides_names_what_exists() -> None:
    """Names after a file, as in `functions/store.py`: `chosen_shape`, are in that file."""
    table = rows(section("Who decides"))
    assert len(table) >= 10
    for _, cell in table:
        assert re.search(r"`[\w/]+\.py`", cell), cell
        for path, names in re.findall(r"`([\w/]+\.py)`: ((?:`\w+`(?:, )?)+)", cell):
            source = (ROOT / path).read_text(encoding="utf-8")
            assert not {name for name in words(names) if not re.search(rf"\b{name}\b", source)}, cell


class TestTheReader:
    """The code that reads the page notices what it should."""

    def test_tables_lose_their_heads(self) -> None:
        assert rows("| a | b |\n| --- | --- |\n| `x` | y |\n") == [["`x`", "y"]]

    def test_a_missing_section_is_an_error(self) -> None:
        with pytest.raises(AssertionError, match="elsewhere"):
            section("elsewhere")
