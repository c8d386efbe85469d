"""What the fuzzers of files share: damage, a judge of what becomes of a file, and a run that survives crashes.

Of models, meshes, systems and runs every damaged file must load or be refused with a LoadError, within SECONDS of the
processor's time. A run goes by chunks, each in a process of its own with bounded memory, so that a crash or a hang is
caught, reported with the file that caused it, and passed over.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import multiprocessing
import signal
import sys
import time
import traceback
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Sequence
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from typing import Any

import numpy as np

import catena

Random = np.random.Generator
Case = Callable[[int, int], Any]  # seed, number -> a damaged file: bytes or a path
Judge = Callable[[Any, int], str]  # that file, number -> one of OUTCOMES

SECONDS = 5.0
WAITING = 300.0  # seconds on the clock, for what waits without working, on a machine that has other things to do
CHUNK = 5_000
PART = 20_000  # files between two reports
MEMORY = 8 * 2**30
MISBEHAVED = "misbehaved"
OUTCOMES = ["loaded", "LoadError", "UnsupportedError", MISBEHAVED]
"""Of these only the first two are fine, whatever the file."""
NUMBERS = [
    "0",
    "-1",
    "1e308",
    "-1e308",
    "1e-320",
    "nan",
    "inf",
    "1e400",
    "",
    " ",
    "1,5",
    "0x1",
    "1_0",
    "${x}",
    "9" * 400,
]
VECTORS = ["0 0 0", "1 2", "1 2 3 4", "1e200 0 0", "1e308 1e308 1e308", "1e-200 0 0", "nan 0 0", "a b c", "0 0 -0"]
WORDS = ["", " ", "base", "world", "x" * 10_000, "é\u202e", "a/b:c", "revolute", "fixed", "floating", "planar", "screw"]


def damage_bytes(data: bytes, rng: Random) -> bytes:
    """A few bytes flipped, cut, doubled, moved or replaced by noise."""
    result = bytearray(data)
    for _ in range(int(rng.integers(1, 6))):
        at, length = int(rng.integers(len(result) + 1)), int(rng.geometric(0.05))
        piece = result[at : at + length]
        what = rng.integers(6)
        if what == 0 and at < len(result):
            result[at] ^= 1 << int(rng.integers(8))
        elif what == 1:
            del result[at : at + length]
        elif what == 2:
            result[at:at] = rng.bytes(length)
        elif what == 3:
            result[at:at] = piece * int(rng.integers(1, 5))
        elif what == 4:
            del result[at : at + length]
            there = int(rng.integers(len(result) + 1))
            result[there:there] = piece
        elif what == 5 and rng.random() < 0.2:
            del result[at:]
    return bytes(result)


def damage_elements(data: bytes, rng: Random, tags: Sequence[str], values: Sequence[str], encodings: float) -> bytes:
    """The same XML with elements dropped, doubled, renamed, moved, and attributes dropped or given odd values.

    `tags` are names for elements, `values` for attributes; `encodings` is the share of files not in UTF-8.
    """
    root = ET.fromstring(data)
    for _ in range(int(rng.geometric(0.5))):
        everything = list(root.iter())
        element, other = (everything[int(i)] for i in rng.integers(len(everything), size=2))
        child = element[int(rng.integers(len(element)))] if len(element) else None
        what = rng.integers(7)
        if what == 0 and child is not None:
            element.remove(child)
        elif what == 1 and child is not None:
            element.append(child)
        elif what == 2:
            element.tag = str(rng.choice(list(tags)))
        elif what == 3 and child is not None and child is not other and other not in list(child.iter()):
            element.remove(child)
            other.append(child)
        elif what == 4 and element.attrib:
            del element.attrib[str(rng.choice(list(element.attrib)))]
        elif element.attrib:
            mine = [*values, *other.attrib.values()]
            name = str(rng.choice(list(element.attrib if rng.random() < 0.8 or not other.attrib else other.attrib)))
            element.set(name, mine[int(rng.integers(len(mine)))])
    share = [1.0 - encodings, encodings / 2, encodings / 2]
    return ET.tostring(root, encoding=str(rng.choice(["utf-8", "utf-16", "latin-1"], p=share)))


def outcome(source: Any, base: str) -> str:
    """What becomes of a file: "loaded" or the name of the CatenaError. Any other exception, or warning, escapes."""

    def use() -> None:
        tree = catena.load(source, base).tree  # type: ignore[arg-type]
        for values in (tree.mass, tree.com, tree.inertia, tree.placement_rotation):
            assert np.isfinite(values).all()

    return judged(use)


def base_of(number: int) -> str:
    """Two files fixed, two floating, and so on."""
    return ("fixed", "floating")[number // 2 % 2]


def as_model(source: Any, number: int) -> str:
    """The judge of what catena.load takes."""
    return outcome(source, base_of(number))


def judged(use: Callable[[], Any]) -> str:
    """What becomes of using a file, as `outcome` says it: warnings about models are fine, nothing else is."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", catena.ModelWarning)
        try:
            use()
        except catena.CatenaError as error:
            return type(error).__name__
    return "loaded"


def _chunk(
    case: Case, judge: Judge, seed: int, start: int, stop: int, at: Synchronized[int], counts: Any, slowest: Any
) -> None:
    """Loads the files of one chunk in this process; `at` says which one is at hand, `counts` is by OUTCOMES."""
    import resource

    faulthandler.enable()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    for number in range(start, stop):
        at.value = number
        source = case(seed, number)
        begun = time.process_time()
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process
        try:
            found = judge(source, number)
        except Exception:
            traceback.print_exc()
            found = MISBEHAVED
            keep(case, seed, number)
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        counts[OUTCOMES.index(found)] += 1
        slowest.value = max(slowest.value, time.process_time() - begun)


def keep(case: Case, seed: int, number: int) -> Path:
    """Writes a damaged file where one can look at it."""
    source = case(seed, number)
    path = Path(f"misbehaves-{seed}-{number}" + (".xml" if isinstance(source, bytes) else Path(source).suffix))
    path.write_bytes(source if isinstance(source, bytes) else Path(source).read_bytes())
    return path


def run(
    case: Case, count: int, seed: int, first: int = 0, judge: Judge = as_model
) -> tuple[collections.Counter[str], float]:
    """Outcomes of `count` files from number `first` on, and the seconds that the slowest took.

    Crashes and hangs are outcomes too.
    """
    context = multiprocessing.get_context("spawn")
    outcomes: collections.Counter[str] = collections.Counter()
    counts, slowest, start = context.Array("q", len(OUTCOMES)), context.Value("d", 0.0), first
    while start < first + count:
        at, stop = context.Value("q", start), min(start + CHUNK, first + count)
        process = context.Process(target=_chunk, args=(case, judge, seed, start, stop, at, counts, slowest))
        process.start()
        hung = _watch(process, at)
        if process.exitcode == 0:
            start = stop
        else:
            what = "hung" if hung or process.exitcode == -signal.SIGPROF else f"crashed ({process.exitcode})"
            print(f"{keep(case, seed, at.value)}: {what}", file=sys.stderr)
            outcomes[what] += 1
            start = at.value + 1
    outcomes.update(dict(zip(OUTCOMES, counts, strict=True)))
    return +outcomes, slowest.value


def _watch(process: Any, at: Synchronized[int]) -> bool:
    """Waits for the process; kills it, and says so, when one file waits too long."""
    number, since = at.value, time.monotonic()
    while process.is_alive():
        process.join(0.1)
        if at.value != number:
            number, since = at.value, time.monotonic()
        elif time.monotonic() - since > WAITING:
            process.kill()
            process.join()
            return True
    return False


def main(case: Case, about: str | None, judge: Judge = as_model) -> None:
    """The command: damages and loads files, keeps those that misbehave, fails if there are any."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first file, to go on with an earlier run")
    arguments = parser.parse_args()
    outcomes: collections.Counter[str] = collections.Counter()
    slowest = 0.0
    for done in range(0, arguments.count, PART):
        part = min(PART, arguments.count - done)
        found, seconds = run(case, part, arguments.seed, arguments.first + done, judge)
        outcomes, slowest = outcomes + found, max(slowest, seconds)
        print(f"{done + part:,} files: {dict(outcomes)}; the slowest took {slowest:.3f} s", flush=True)
    if set(outcomes) - {"loaded", "LoadError"} or slowest > SECONDS:
        sys.exit(1)
