"""The Python snippets of every page of the documentation run, one after the other in one namespace."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"
SNIPPET = re.compile(r"^```python\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGES = [page for page in sorted(DOCS.rglob("*.md")) if SNIPPET.search(page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_snippets_run(page: Path) -> None:
    text, names = page.read_text(encoding="utf-8"), dict[str, Any]()
    for snippet in SNIPPET.finditer(text):
        line = text[: snippet.start(1)].count("\n")
        exec(compile("\n" * line + snippet.group(1), str(page), "exec"), names)


def test_pages_were_found() -> None:
    assert PAGES
