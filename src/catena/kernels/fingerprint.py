"""A digest of the part of Catena that decides what machine code looks like."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator
from hashlib import blake2b

import catena

IRRELEVANT = frozenset({"__pycache__", "cli", "robots", "simulate", "view"})
"""Directories that code generation doesn't depend on."""


@functools.cache
def package_fingerprint() -> str:
    """Changes whenever the version or a source file that code generation may depend on changes.

    Contents are read rather than dates, because installers may give every file the same date.
    """
    digest = blake2b(catena.__version__.encode(), digest_size=20)
    root = os.path.dirname(catena.__file__)
    for path in sorted(_sources(root)):
        with open(path, "rb") as file:
            content = file.read()
        digest.update(f"{os.path.relpath(path, root)} {len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(directory: str) -> Iterator[str]:
    with os.scandir(directory) as items:
        for item in items:
            if item.name.endswith(".py"):
                yield item.path
            elif item.is_dir() and item.name not in IRRELEVANT:
                yield from _sources(item.path)
