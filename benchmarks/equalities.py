"""Every MJCF model with equality constraints below some folders, as a System, against MuJoCo's M, bias and Jacobian.

    python benchmarks/equalities.py .venv/lib/python3.11/site-packages/robosuite

Meant for packages that the tests do not install: unpack their wheels, no dependencies are needed. The dense equations
are those of tests/peers/test_mujoco_equality.py. Files that are parts of others, MuJoCo does not compile.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from pathlib import Path

import mujoco
import numpy as np
from timing import table

import catena

sys.path.insert(0, str(Path(__file__).parents[1]))
from tests.peers.test_mujoco_equality import Twin, compiled, errors


def result(file: Path, root: Path) -> str:
    """What became of a file, in words, or the largest relative error."""
    try:
        model = compiled(file)
    except (ValueError, mujoco.FatalError) as error:
        return f"not compiled by MuJoCo: {str(error).splitlines()[0][:60]}"
    if not model.neq:
        return "no equalities once compiled"
    try:
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            twin = Twin(file, (root,))
        left_out = "; ".join(str(w.message).partition(": ")[2] for w in said if "left out" in str(w.message))
        if not twin.system.constraints:
            return f"loaded, nothing held; {left_out}"
        off = max(errors(twin, np.random.default_rng(0)))
        return f"{len(twin.system.constraints)} constraints, {off:.1e}{'; ' if left_out else ''}{left_out}"
    except (catena.CatenaError, IndexError) as error:
        return f"{type(error).__name__}: {str(error)[:300]}"


def main() -> None:
    """Print a table of all files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", type=Path)
    rows = []
    for root in parser.parse_args().folders:
        for file in sorted(root.rglob("*.xml")):
            text = file.read_text(encoding="utf-8", errors="replace")
            if "<equality" in text or "<include" in text:
                rows.append([str(file.relative_to(root)), result(file, root)])
                print(*rows[-1], sep="  ", flush=True)
    table("Closed mechanisms", ["file", "result"], rows)


if __name__ == "__main__":
    main()
