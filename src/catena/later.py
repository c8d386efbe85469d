"""What is imported when it is first asked for, to keep the import of the package quick."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from importlib import import_module
from typing import Any

from catena.errors import CatenaError, UnsupportedError

DISTRIBUTION = "catena-dynamics"
"""What `pip install` knows the package by."""


@contextmanager
def reading_files(question: str) -> Iterator[None]:
    """What is done inside may import modules; a CatenaError if that fails for want of files or descriptors."""
    try:
        yield
    except OSError as error:
        raise CatenaError(
            f"{question}: could not be prepared, as files of the package could not be read: {error}; ask again when "
            "they can (close files if too many are open)"
        ) from error


def optional(package: str, extra: str, what: str) -> Any:
    """The package of that name; UnsupportedError with the command that installs it if it is missing.

    Args:
        package: the name of the package, or of a module in it.
        extra: the extra of this distribution that brings it.
        what: what needs it, and what it is called, such as "plots need Matplotlib".
    """
    with reading_files(package):
        try:
            return import_module(package)
        except ImportError as error:
            raise UnsupportedError(f"{what}: {install(extra)}") from error


def install(extra: str) -> str:
    """The command that installs an extra."""
    return f"pip install '{DISTRIBUTION}[{extra}]'"


def imported_later(package: str, homes: Mapping[str, str]) -> Callable[[str], Any]:
    """A module's ``__getattr__`` (PEP 562) that finds each name in its home, a module inside `package`.

    A home of "" says that the name is that of a module itself. What was found stays in the package.
    """

    def find(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        home = homes[name]
        with reading_files(f"{package}.{name}"):
            found = getattr(import_module(f"{package}.{home}"), name) if home else import_module(f"{package}.{name}")
        setattr(sys.modules[package], name, found)
        return found

    return find
