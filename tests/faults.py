"""Whether any fault that was found has come back: runs the tests that the table in docs/reliability.md names for each.

`python -m tests.faults` prints one line for each fault, and ends with status 1 if a test of one fails or is not there;
`python -m tests.faults meshes runs` those whose words or tests have one of these in them.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

TESTS = Path(__file__).parent
PAGE = TESTS.parent / "docs" / "reliability.md"
HEADING = "## Faults that were found"
_NAMED = re.compile(r"`([\w/]+\.py(?:::\w+)*)`")


class Fault(NamedTuple):
    """A row of the table: what was wrong, and the tests that fail if it is again."""

    words: str
    tests: tuple[str, ...]


def faults() -> list[Fault]:
    """All rows of the table."""
    table = PAGE.read_text(encoding="utf-8").partition(HEADING)[2].partition("\n## ")[0]
    rows = [line.strip().strip("|").rpartition(" | ") for line in table.splitlines() if line.startswith("| ")]
    return [Fault(words.strip(), tuple(_NAMED.findall(tests))) for words, _, tests in rows if _NAMED.search(tests)]


class Outcomes:
    """What became of tests, by their names: a plugin of pytest."""

    def __init__(self) -> None:
        self.found: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        name = report.nodeid.partition("[")[0]
        if report.failed:
            self.found[name] = "failed"
        elif report.when == "call" or report.skipped:
            self.found.setdefault(name, report.outcome)

    def of(self, test: str) -> str:
        """Of all cases of a test, or all tests in a file: failed, else passed if one has, else skipped or missing."""
        name = f"tests/{test}"
        mine = {now for each, now in self.found.items() if each == name or each.startswith(f"{name}::")}
        return next((now for now in ("failed", "passed", "skipped") if now in mine), "missing")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__)
    parser.add_argument("words", nargs="*", help="only faults with one of these words in them or in their tests")
    given = parser.parse_args().words
    chosen = [fault for fault in faults() if not given or any(word in f"{fault}" for word in given)]
    outcomes = Outcomes()
    named = dict.fromkeys(str(TESTS / test) for fault in chosen for test in fault.tests)
    if named:
        options = ("-q", "--no-header", "--no-summary", f"--rootdir={TESTS.parent}", "-p", "no:cacheprovider")
        pytest.main([*options, *named], plugins=[outcomes])
    bad = 0
    for fault in chosen:
        found = [outcomes.of(test) for test in fault.tests]
        worst = next((now for now in ("failed", "missing", "skipped") if now in found), "passed")
        bad += worst in ("failed", "missing")
        print(f"{worst:8}{fault.words}")
    print(f"{len(chosen)} faults, {bad} of them back")
    sys.exit(bool(bad))


if __name__ == "__main__":
    main()
