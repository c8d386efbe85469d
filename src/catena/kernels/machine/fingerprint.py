"""A digest of the part of Catena that decides what machine code looks like.

It is computed in every process that uses a kernel, so it is written for speed: about a millisecond.
"""

from __future__ import annotations

import functools
import io
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
    for name in sorted(_sources(root, "")):
        with io.FileIO(root + name) as file:
            content = file.readall()
        digest.update(f"{name} {len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest()


def _sources(root: str, directory: str) -> Iterator[str]:
    """Names of the source files, relative to the root."""
    for name in os.listdir(root + directory):
        if name.endswith(".py"):
            yield f"{directory}/{name}"
        elif "." not in name and name not in IRRELEVANT:
            yield from _sources(root, f"{directory}/{name}")
