"""What `make bench` measures, a file for each kind of question."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from case import Case

from cases import batches, chains, closed_chains, derivatives, rollouts, single_calls

KINDS: dict[str, Callable[[], Iterator[Case]]] = {
    "batches": batches.cases,
    "derivatives": derivatives.cases,
    "single calls": single_calls.cases,
    "rollouts": rollouts.cases,
    "closed chains": closed_chains.cases,
    "long chains": chains.cases,
}
