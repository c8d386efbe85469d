"""Files that commands are given: "-" is standard input."""

from __future__ import annotations

import sys

from catena.model.readers.files import MAX_BYTES
from catena.model.readers.xml import Document, open_document


def read_document(file: str) -> Document:
    """The document in a file, or on standard input."""
    if file != "-":
        return open_document(file)
    return open_document(sys.stdin.buffer.read(MAX_BYTES + 1), name="standard input")
