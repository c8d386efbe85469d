"""A digest of the part of Catena that decides what machine code looks like."""

from __future__ import annotations

import functools
from hashlib import blake2b
from pathlib import Path

import catena

IRRELEVANT = frozenset({"cli", "robots", "simulate", "view"})
"""Subpackages that come after code generation."""


@functools.cache
def package_fingerprint() -> str:
    """Changes whenever the version or a source file that code generation may depend on changes.

    Contents are read rather than dates, because installers may give every file the same date.
    """
    digest = blake2b(catena.__version__.encode(), digest_size=20)
    root = Path(catena.__file__).parent
    for path in sorted(root.glob("**/*.py")):
        name = path.relative_to(root)
        if name.parts[0] not in IRRELEVANT:
            digest.update(f"\0{name.as_posix()}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()
