"""Machine code on disk, so that a kernel is compiled once and not once per process.

A damaged object makes LLVM abort the process or compute nonsense, so every file carries a checksum that is verified
before anybody sees its content. Whoever can write the directory can run code as its user, so a directory that others
can write is refused. Nothing that goes wrong here is an error for the user: the kernel is compiled again.
"""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from catena.errors import CacheWarning, warn
from catena.kernels.machine.safedir import SafeDirectory, UnsafeDirectoryError

MAGIC = b"catena machine code 1\n"
CHECKSUM_BYTES = 32
SUFFIX = ".kernel"
DEFAULT_LIMIT = 256 * 2**20
LOOKS = 16
"""The sizes of all files are summed up about so often while as much is stored as the limit allows."""

_warned: set[Path | str] = set()


@dataclass(frozen=True)
class CacheInfo:
    """What is in the cache: the directory (None if there is none), files, bytes, the limit in bytes, any problem."""

    directory: Path | None
    files: int
    bytes: int
    limit: int
    problem: str | None = None


@dataclass(frozen=True)
class Cache:
    """Kernels in a directory, about ``limit`` bytes of them at most; the least recently used go first.

    Without a directory, or with one that cannot be used, it remembers nothing. ``problem`` says why there is none
    although one was asked for.
    """

    directory: Path | None
    limit: int = DEFAULT_LIMIT
    problem: str | None = None

    @staticmethod
    def default() -> Cache:
        """The user's cache: ``$CATENA_CACHE_DIR`` (empty: no cache) or where the system keeps caches.

        ``$CATENA_CACHE_LIMIT_MB`` changes its size.
        """
        megabytes = os.environ.get("CATENA_CACHE_LIMIT_MB", "")
        limit = int(megabytes) * 2**20 if megabytes.isdecimal() and len(megabytes) < 10 else DEFAULT_LIMIT
        try:
            return Cache(_default_directory(), limit)
        except (RuntimeError, OSError) as error:  # no such user, or no working directory any more
            chosen = os.environ.get("CATENA_CACHE_DIR")
            return Cache(None, limit, f"there can be no directory CATENA_CACHE_DIR={chosen}: {error}")

    def load(self, key: str) -> bytes | None:
        """The object stored under a key, or None. Damaged files are removed."""
        try:
            with self._open(create=False) as directory:
                content = directory.read(key + SUFFIX)
                if (code := _unpack(key, content)) is not None:
                    return code
                _log(f"removing the damaged file {key}{SUFFIX}")
                directory.remove(key + SUFFIX)
        except FileNotFoundError:
            pass
        except UnsafeDirectoryError as error:
            self._warn(error)
        except (OSError, MemoryError) as error:
            _log(f"cannot read: {error}")
        return None

    def store(self, key: str, code: bytes) -> bool:
        """Keep an object; False if it could not be kept (disk full, read-only, not safe)."""
        try:
            with self._open(create=True) as directory:
                directory.write(key + SUFFIX, _pack(key, code))
                if self._is_due(key, code):
                    self._evict(directory)
        except UnsafeDirectoryError as error:
            self._warn(error)
        except (OSError, MemoryError) as error:
            _log(f"cannot write: {error}")
        else:
            return True
        return False

    def info(self) -> CacheInfo:
        """What the cache holds."""
        files, size, problem = 0, 0, None if self.directory else "switched off: CATENA_CACHE_DIR is empty"
        try:
            with self._open(create=False) as directory:
                entries = directory.entries(SUFFIX)
                files, size = len(entries), sum(e.size for e in entries)
        except FileNotFoundError:
            pass
        except (UnsafeDirectoryError, OSError) as error:
            problem = str(error)
        return CacheInfo(self.directory, files, size, self.limit, problem)

    def clear(self) -> int:
        """Remove every kernel and return how many there were. Raises OSError if they cannot be removed."""
        try:
            with self._open(create=False) as directory:
                return sum(directory.remove(e.name) for e in directory.entries(SUFFIX))
        except FileNotFoundError:
            return 0

    def _open(self, *, create: bool) -> SafeDirectory:
        if self.problem is not None:
            raise UnsafeDirectoryError(self.problem)
        if self.directory is None:
            raise FileNotFoundError("there is no cache")
        return SafeDirectory(self.directory, create=create)

    def _is_due(self, key: str, code: bytes) -> bool:
        """Whether to look through the directory now: large objects often, small ones seldom, by chance of their keys.

        Looking at every file each time would make storing slower the more there are.
        """
        return int(key[:8], 16) * self.limit < LOOKS * len(code) * 2**32

    def _evict(self, directory: SafeDirectory) -> None:
        """Bring the directory well below its limit once it is above."""
        entries = directory.entries(SUFFIX)
        size = sum(e.size for e in entries)
        if size <= self.limit:
            return
        for entry in sorted(entries, key=lambda e: e.used):
            if size <= 0.8 * self.limit:
                break
            directory.remove(entry.name)
            size -= entry.size

    def _warn(self, error: UnsafeDirectoryError) -> None:
        place = self.directory or str(error)
        if place not in _warned:
            _warned.add(place)
            hint = "choose another with CATENA_CACHE_DIR"
            hint = f"make it yours alone (chmod 700) or {hint}" if self.directory else hint
            warn(f"not caching machine code: {error}; {hint}", CacheWarning)


def key_of(*parts: str) -> str:
    """A name for a kernel that depends on every part and on where one part ends and the next begins."""
    digest = blake2b(MAGIC, digest_size=24)
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def _pack(key: str, code: bytes) -> bytes:
    return MAGIC + _checksum(key, code) + code


def _unpack(key: str, content: bytes) -> bytes | None:
    start = len(MAGIC) + CHECKSUM_BYTES
    code = content[start:]
    return code if content[:start] == MAGIC + _checksum(key, code) else None


def _checksum(key: str, code: bytes) -> bytes:
    return blake2b(code, digest_size=CHECKSUM_BYTES, key=bytes.fromhex(key)).digest()


def _log(message: str) -> None:
    """Note what only somebody who looks for it wants to know, and who has imported logging for that.

    Importing it here would take longer than loading a kernel, and could fail.
    """
    if "logging" in sys.modules:
        sys.modules["logging"].getLogger("catena.cache").info(message)


def _default_directory() -> Path | None:
    chosen = os.environ.get("CATENA_CACHE_DIR")
    if chosen is not None:
        return Path(chosen).expanduser().absolute() if chosen else None
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA", "~/AppData/Local")
    elif sys.platform == "darwin":
        base = "~/Library/Caches"
    else:
        base = os.environ.get("XDG_CACHE_HOME", "")
        base = base if os.path.isabs(base) else "~/.cache"
    directory = Path(os.path.expanduser(base)) / "catena"
    return directory if directory.is_absolute() else None
