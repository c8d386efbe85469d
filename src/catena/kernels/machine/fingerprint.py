"""A digest of the part of Catena that decides what machine code looks like.

It stands for the sources that this process runs, not for those that happen to lie on disk when the first kernel is
made: an update may have come in between, before or after any module was imported. So the files are looked at when the
package is imported, before anything else of it, and once anything about them has changed since then, nobody can tell
what runs here: what is compiled from then on does not go into the disk cache.

The digest is computed in every process that uses a kernel, so it is written for speed: about a millisecond.
"""

from __future__ import annotations

import functools
import io
import os
from collections.abc import Iterator
from hashlib import blake2b

import catena
from catena.version import __version__

IRRELEVANT = frozenset({"__pycache__", "cli", "drawing", "plots", "robots"})
"""Directories that code generation doesn't depend on."""

State = tuple[tuple[str, int, int, int], ...]
"""Of each source file its name relative to the package, its date in ns, its size and its number in the file system."""


def package_fingerprint() -> str | None:
    """Changes whenever the version or a source file that code generation may depend on changes.

    None if the sources had changed when it was first asked for, or cannot be read.
    """
    try:
        return _digest()
    except OSError:
        return None


def sources_are_as_imported() -> bool:
    """Whether no source file has been touched since the package was imported."""
    return bool(_imported) and _state() == _imported


@functools.cache
def _digest() -> str | None:
    """Of contents rather than dates, because installers may give every file the same date."""
    root = os.path.dirname(catena.__file__)
    digest = blake2b(__version__.encode(), digest_size=20)
    for name, *_ in _imported:
        with io.FileIO(root + name) as file:
            content = file.readall()
        digest.update(f"{name} {len(content)}\0".encode())
        digest.update(content)
    return digest.hexdigest() if sources_are_as_imported() else None


def _state() -> State:
    """The source files as they are now; nothing if they cannot be looked at."""
    try:
        return tuple(sorted(_sources(os.path.dirname(catena.__file__), "")))
    except OSError:
        return ()


def _sources(root: str, directory: str) -> Iterator[tuple[str, int, int, int]]:
    with os.scandir(root + directory) as entries:
        for entry in entries:
            name = entry.name
            if name.endswith(".py"):
                status = os.stat(entry.path)
                yield f"{directory}/{name}", status.st_mtime_ns, status.st_size, status.st_ino
            elif "." not in name and name not in IRRELEVANT:
                yield from _sources(root, f"{directory}/{name}")


_imported = _state()
