"""Files that a model may make us open: regular ones, of a bounded size, in places that the caller chose.

A model file is not trusted to name any file it likes. What it names is looked for near it (or in `package_roots`), is
opened here and nowhere else, and is handed on as bytes.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from catena.errors import LoadError

MAX_BYTES = 256 * 2**20

_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


class Refused(ValueError):
    """A file that is not opened, and why; the caller knows who asked for it."""


def open_regular(path: str | os.PathLike[str]) -> IO[bytes]:
    """A regular file, opened for reading. Raises Refused for anything else, or OSError.

    The file is opened without waiting and asked what it is afterwards, so that a FIFO or a device cannot hang us,
    whatever takes the file's place in between.
    """
    file = open(path, "rb", opener=lambda name, _: os.open(name, _FLAGS))  # noqa: SIM115
    try:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise Refused("is not a regular file; read it yourself and pass its content")
    except (OSError, Refused):
        file.close()
        raise
    return file


def read_regular(path: str | os.PathLike[str], most: int = MAX_BYTES) -> bytes:
    """The content of a regular file of up to `most` bytes. Raises Refused, or FileNotFoundError."""
    try:
        with open_regular(path) as file:
            size = os.fstat(file.fileno()).st_size
            if size > most:
                raise Refused(too_large(size, most))
            return file.read(most + 1)
    except (FileNotFoundError, Refused):
        raise
    except IsADirectoryError:
        raise Refused("is a directory; give the file in it") from None
    except (OSError, ValueError, TypeError) as error:
        raise Refused(f"cannot be read: {getattr(error, 'strerror', None) or error}") from None


def too_large(size: int, most: int = MAX_BYTES) -> str:
    """That `size` bytes are more than are read."""
    return f"holds {size / 2**20:,.0f} MiB; at most {most // 2**20} MiB are read"


def folders(package_roots: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> tuple[str, ...]:
    """The folders that a caller allows, as absolute paths; one may be given by itself."""
    given = (package_roots,) if isinstance(package_roots, str | os.PathLike) else package_roots
    try:
        return tuple(os.path.abspath(os.fsdecode(root)) for root in given)
    except TypeError as error:
        raise LoadError(f"package_roots: expected one folder or a list of them; {error}") from None


@dataclass(frozen=True)
class Places:
    """Where a model's files may lie: in its own `folder` (None for text) and in the `roots` that the caller allows."""

    folder: str | None
    roots: tuple[str, ...] = ()

    def find(self, name: str, *subfolders: str, climb: bool = False) -> str:
        """The path, without "..", of the file `name`, looked for in the `subfolders` of every place in turn.

        Symbolic links are followed before the check. With `climb`, ".." may lead out of the model's folder to what
        lies beside or above it, but not up to the root of the file system nor to the user's home folder. Raises
        Refused.
        """
        name = name.replace("\\", "/")
        places = [place for place in (self.folder, *self.roots) if place is not None]
        if not places:
            raise Refused("a model given as text opens no files; load it from its path, or pass package_roots=[...]")
        outside = ""
        for place in places:
            for subfolder in subfolders or ("",):
                path = os.path.join(place, subfolder.replace("\\", "/"), name)
                path = os.path.abspath(path) if "\0" not in path else path  # it is opened later, perhaps elsewhere
                if "\0" in path or not os.path.lexists(path):
                    continue
                if self._allowed(path, climb):
                    return path
                outside = path
        if not outside:
            raise Refused(f"no such file in {', '.join(dict.fromkeys(map(str, places)))}")
        raise Refused(
            f"lies out of bounds, at {outside}; move it beside the model, or pass package_roots=[...] to catena.load"
        )

    def _allowed(self, path: str, climb: bool) -> bool:
        if any(_inside(path, root) for root in self.roots):
            return True
        if self.folder is None:
            return False
        top = os.path.abspath(self.folder)
        while climb and not _below(os.path.abspath(path), top) and os.path.dirname(top) != top:
            top = os.path.dirname(top)
        return _inside(path, top) and (top == os.path.abspath(self.folder) or not _is_common(top))


def _inside(path: str, folder: str) -> bool:
    """Whether the file really lies below the folder, symbolic links followed."""
    try:
        return _below(os.path.realpath(path, strict=True), os.path.realpath(folder, strict=True))
    except (OSError, ValueError):
        return False


def _below(path: str, folder: str) -> bool:
    return Path(path).is_relative_to(folder)


def _is_common(folder: str) -> bool:
    """Whether the folder is the root, the user's home, or holds it: there lies more than one model's files."""
    return os.path.dirname(folder) == folder or _below(os.path.realpath(os.path.expanduser("~")), folder)
