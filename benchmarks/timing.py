"""Timing that survives a noisy machine: candidates take turns in one process."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

TURN = 0.02
"""Seconds that a turn takes at least."""


def in_turns(
    candidates: Mapping[str, Callable[[], object]], seconds: float = 1.0, repeats: int = 1, least: int = 5
) -> dict[str, list[float]]:
    """Seconds for one call of each candidate, turn by turn, which all take in rotation.

    A turn is `repeats` calls, or as many more as fill :data:`TURN`, so that a quick candidate does not find every cache
    filled by a slow one each time. There are `least` turns or more, until `seconds` for each candidate have passed.
    """
    counts = {}
    for name, run in candidates.items():
        run()
        begin = time.perf_counter()
        run()
        counts[name] = max(repeats, int(TURN / max(time.perf_counter() - begin, 1e-9)))
    times: dict[str, list[float]] = {name: [] for name in candidates}
    start, turns = time.perf_counter(), 0
    while turns < least or time.perf_counter() - start < seconds * len(candidates):
        for name, run in candidates.items():
            begin = time.perf_counter()
            for _ in range(counts[name]):
                run()
            times[name].append((time.perf_counter() - begin) / counts[name])
        turns += 1
    return times


def best(candidates: Mapping[str, Callable[[], object]], seconds: float = 1.0, repeats: int = 1) -> dict[str, float]:
    """Seconds for one call of each candidate: the best of its turns."""
    return {name: min(times) for name, times in in_turns(candidates, seconds, repeats).items()}


def table(title: str, head: list[str], rows: list[list[object]]) -> None:
    """Print rows under a head, as Markdown."""
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(x if isinstance(x, str) else f"{x:.3g}" for x in row) + " |", flush=True)
