"""Measure this project and every installed peer side by side, in one run, and write what was seen.

    make bench
    python benchmarks/bench.py [--out FILE] [--kind KIND] [--only TEXT] [--seconds 2.0] [--compare OLD.json]

Answers are compared before anything is timed. Contestants take turns, and ratios are taken turn by turn, in several
passes, each in a process of its own: where arrays and code happen to lie in memory matters by some per cent, and stays
as it is while a process lives. A report gives the median with the range that eight of ten turns lie in. Everything runs
on one core, and the time is that of the process, without what other programs take. `--compare` says which rows got
slower since an earlier report. `python benchmarks/report.py` makes the page and the plots of a report.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

from case import CATENA, Disagreement, measured, summed_up
from cases import KINDS
from hardware import limits

import catena

HERE = Path(__file__).parent
REPORT = HERE / "results" / "report.json"
PEERS = ("pin", "mujoco", "casadi", "drake", "jax", "frax", "numpy")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=REPORT, help="where the report is written (%(default)s)")
    parser.add_argument("--only", default="", metavar="TEXT", help="rows whose name has this text")
    parser.add_argument("--kind", choices=KINDS, help="only this kind of rows")
    parser.add_argument("--seconds", type=float, default=2.0, help="for each contestant of a row (%(default)s)")
    parser.add_argument("--passes", type=int, default=4, help="that these seconds are shared by (%(default)s)")
    parser.add_argument("--turns", type=Path, metavar="FILE", help="one pass, and no more: write its turns")
    parser.add_argument("--compare", type=Path, metavar="OLD.json", help="say what got slower since this report")
    options = parser.parse_args()
    if options.turns:
        rows = list(measure(options.kind, options.only, options.seconds))
        options.turns.write_text(json.dumps(rows), encoding="utf-8")
        return 0
    old = json.loads(options.compare.read_text(encoding="utf-8")) if options.compare else None
    begin, rows = time.perf_counter(), [summed_up(list(row)) for row in zip(*passes(options), strict=True)]
    one_core()
    report = {"made": about(), "seconds": round(time.perf_counter() - begin), "limits": limits(), "rows": rows}
    options.out.parent.mkdir(exist_ok=True)
    options.out.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")
    print("\n".join(["", *map(line, rows)]))
    print(f"\n{len(rows)} rows in {report['seconds']} s, written to {options.out}")
    return compared(old, report) if old else 0


def passes(options: argparse.Namespace) -> Iterator[list[dict[str, Any]]]:
    """The rows of each pass, with their turns."""
    words = [sys.executable, *(f"-W{x}" for x in sys.warnoptions), __file__, "--only", options.only]
    words += ["--seconds", str(options.seconds / options.passes), *(["--kind", options.kind] if options.kind else [])]
    with tempfile.TemporaryDirectory() as folder:
        for number in range(options.passes):
            print(f"pass {number + 1} of {options.passes}", flush=True)
            turns = Path(folder) / "turns.json"
            if code := subprocess.run([*words, "--turns", str(turns)], check=False).returncode:
                sys.exit(code)
            yield json.loads(turns.read_text(encoding="utf-8"))


def one_core() -> None:
    """Stay on one core, with one thread, whatever the engine."""
    catena.set_threads(1)
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})


def measure(kind: str | None, only: str, seconds: float) -> Iterator[dict[str, Any]]:
    """One pass over the rows, printed as they come."""
    one_core()
    warnings.simplefilter("ignore", catena.errors.ModelWarning)
    for cases in [KINDS[kind]] if kind else KINDS.values():
        for case in cases():
            if only in case.name:
                try:
                    row = measured(case, seconds)
                except Disagreement as reason:
                    sys.exit(f"not timed: {reason}")
                print(line(summed_up([row])), flush=True)
                yield row


def line(row: dict[str, Any]) -> str:
    """A row for people."""
    peers = (f"{name} {x['ratio']:.1f}x ({x['low']:.1f} to {x['high']:.1f})" for name, x in row["peers"].items())
    return f"{row['group'] + ': ' + row['question'] + ', ' + row['robot']:64} {row['ns']:10.1f} ns  " + "; ".join(peers)


def compared(old: dict[str, Any], new: dict[str, Any]) -> int:
    """Say which rows are slower than before, beside the same peer: the whole range of ratios lies below."""
    before, slower, overlapping, seen = {key(row): row for row in old["rows"]}, [], 0, 0
    for row in new["rows"]:
        for name, now in row["peers"].items():
            then = before.get(key(row), {"peers": {}})["peers"].get(name)
            if then is None:
                continue
            seen += 1
            overlapping += now["low"] <= then["high"] and then["low"] <= now["high"]
            if now["high"] < then["low"]:
                slower.append(
                    f"{row['question']}, {row['robot']}: {then['ratio']:.1f}x, now {now['ratio']:.1f}x of {name}"
                )
    print(f"\n{overlapping} of {seen} rows overlap with the earlier report; slower: {len(slower)}")
    print("\n".join(slower))
    return 1 if slower else 0


def key(row: dict[str, Any]) -> tuple[str, str, str]:
    """What tells a row from others."""
    return row["group"], row["question"], row["robot"]


def about() -> dict[str, Any]:
    """The machine, the versions and the commit."""
    installed = {package.name.lower(): package.version for package in metadata.distributions()}
    found = {CATENA: catena.__version__, **{name: installed[name] for name in PEERS if name in installed}}
    commit = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True)
    return {
        "date": datetime.date.today().isoformat(),
        "processor": processor(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        "versions": found,
        "commit": commit.stdout.strip(),
    }


def processor() -> str:
    """The name that the system has for it."""
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or platform.machine()
    return next((x.partition(":")[2].strip() for x in lines if x.startswith("model name")), platform.machine())


if __name__ == "__main__":
    sys.exit(main())
