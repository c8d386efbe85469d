"""Lowering long chains: links that are alike are lowered once, and nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import catena
from catena.model.lowering import lowered
from catena.model.tree import Tree

N = 1_000


def chains(rng: np.random.Generator) -> dict[str, Tree]:
    few, many = rng.uniform(0.1, 1.0, 5)[np.arange(N) % 5], rng.uniform(0.1, 1.0, N)
    rods = catena.rod_chain(N, 0.1, 0.1).tree
    turned = np.array(rods.inertia)
    turned[::7, 0, 1] = turned[::7, 1, 0] = -0.0  # equal, but other bits
    return {
        "rods": rods,
        "few": catena.planar_chain(few, few).tree,
        "all different": catena.planar_chain(many, many).tree,
        "signs of zero": replace(rods, inertia=turned),
        "tree": catena.random_tree(3, N).tree,
    }


@pytest.mark.parametrize("name", ["rods", "few", "all different", "signs of zero", "tree"])
def test_same_bits_as_link_by_link(name: str, rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    tree = chains(rng)[name]
    quick = lowered.lower(tree).constants
    monkeypatch.setattr(lowered, "distinct", lambda tree, frames, rows: (rows, slice(None)))
    direct = lowered.lower(tree).constants
    for column, numbers in direct.items():
        assert np.ascontiguousarray(quick[column]).tobytes() == np.ascontiguousarray(numbers).tobytes(), column


def test_repeated_links_are_found(rng: np.random.Generator) -> None:
    tree = chains(rng)["few"]
    representatives, which = lowered.distinct(tree, lowered.Frames.aligned(tree), slice(0, N))
    assert isinstance(representatives, np.ndarray)
    assert len(representatives) == 6  # the first link hangs on the base
    np.testing.assert_array_equal(tree.mass[representatives][which], tree.mass)


def test_equal_hashes_are_not_trusted(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lowered, "_MIXER", np.uint64(0))  # now all hashes are equal
    tree = chains(rng)["few"]
    assert lowered.distinct(tree, lowered.Frames.aligned(tree), slice(0, N)) == (slice(0, N), slice(None))
