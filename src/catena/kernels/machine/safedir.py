"""A directory of files that nobody but its owner can have written."""

from __future__ import annotations

import os
import stat
import time
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, Literal, NamedTuple

from catena.errors import CatenaError

TEMPORARY = ".writing-"
ABANDONED_SECONDS = 3600.0
"""A temporary file this old belongs to a process that died while writing it."""


LARGEST = 2**27
"""No file that is worth reading has more bytes."""


class UnsafeDirectoryError(CatenaError):
    """A directory, or a file in it, that somebody else owns or can write."""


class Entry(NamedTuple):
    """A file: its name, its size in bytes and when it was last used, in seconds since the epoch."""

    name: str
    size: int
    used: float


class SafeDirectory:
    """An open directory that belongs to this user and that no other user can write.

    Where the system allows it the directory is checked and used through one descriptor, so that it cannot be
    exchanged for another one between the check and the use, and links inside it are not followed.
    Every method may raise OSError; opening may raise UnsafeDirectoryError.
    """

    def __init__(self, path: Path, *, create: bool) -> None:
        if create:
            path.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path = path
        self._fd: int | None = None
        if os.open in os.supports_dir_fd:
            self._fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
            try:
                _refuse_strangers(os.fstat(self._fd), f"the directory {path}")
            except BaseException:
                os.close(self._fd)
                raise

    def __enter__(self) -> SafeDirectory:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._fd is not None:
            os.close(self._fd)

    def read(self, name: str) -> bytes:
        """The content of a file, which counts as used now; nothing of a larger one than is ever written.

        It never waits, as opening a pipe would.
        """
        with self._opened(name, "rb", os.O_RDONLY | _NO_WAIT) as file:
            status = os.fstat(file.fileno())
            if not stat.S_ISREG(status.st_mode):
                raise UnsafeDirectoryError(f"{self._path / name} is not a regular file")
            _refuse_strangers(status, f"the file {self._path / name}")
            content = file.read(status.st_size) if status.st_size <= LARGEST else b""
        self._mark_used(name)
        return content

    def write(self, name: str, content: bytes) -> None:
        """Write a file in one step: readers see the old file or the new one, never a part."""
        temporary = f"{TEMPORARY}{os.getpid()}-{os.urandom(8).hex()}"
        try:
            with self._opened(temporary, "wb", os.O_WRONLY | os.O_CREAT | os.O_EXCL) as file:
                file.write(content)
            os.replace(self._at(temporary), self._at(name), src_dir_fd=self._fd, dst_dir_fd=self._fd)
        except BaseException:
            self.remove(temporary)
            raise

    def remove(self, name: str) -> bool:
        """Remove a file; False if another process was faster."""
        try:
            os.unlink(self._at(name), dir_fd=self._fd)
        except FileNotFoundError:
            return False
        return True

    def entries(self, suffix: str) -> list[Entry]:
        """The files with this suffix and the temporary files that were abandoned."""
        found = []
        with os.scandir(self._path if self._fd is None else self._fd) as items:
            for item in items:
                temporary = item.name.startswith(TEMPORARY)
                if not (temporary or item.name.endswith(suffix)) or not item.is_file(follow_symlinks=False):
                    continue
                try:
                    status = item.stat(follow_symlinks=False)
                except FileNotFoundError:
                    continue
                if not temporary or time.time() - status.st_mtime > ABANDONED_SECONDS:
                    found.append(Entry(item.name, status.st_size, 0.0 if temporary else status.st_mtime))
        return found

    def _mark_used(self, name: str) -> None:
        """Date a file now. A read-only directory keeps its dates, and nothing is evicted from it either."""
        try:
            os.utime(self._at(name), dir_fd=self._fd)
        except OSError:
            return

    def _opened(self, name: str, mode: Literal["rb", "wb"], flags: int) -> BinaryIO:
        """An open file, in this directory, whose descriptor is closed whatever fails."""

        def opener(path: str, _: int) -> int:
            return os.open(path, flags | _BINARY | _NO_FOLLOW, 0o600, dir_fd=self._fd)

        return open(self._at(name), mode, opener=opener)

    def _at(self, name: str) -> str:
        return name if self._fd is not None else str(self._path / name)


_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)
_NO_WAIT = getattr(os, "O_NONBLOCK", 0)


def _refuse_strangers(status: os.stat_result, what: str) -> None:
    if not hasattr(os, "geteuid"):  # Windows, where a user's own folders are closed to others
        return
    if status.st_uid != os.geteuid():
        raise UnsafeDirectoryError(f"{what} belongs to another user (uid {status.st_uid})")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise UnsafeDirectoryError(f"{what} can be written by other users (mode {stat.S_IMODE(status.st_mode):04o})")
