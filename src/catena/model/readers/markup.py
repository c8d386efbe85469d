"""What stands between two values of attributes in XML: the end of one tag, others, the beginning of the next.

Such a text begins inside a tag, behind a value, and ends with the name of the next attribute. Its spelling (blanks,
comments, text between tags) is left out here, so that what is left are the tags alone.
"""

from __future__ import annotations

import re
from typing import NamedTuple

COMMENT = b"<!>"
"""Stands for any comment."""

_TOKEN = re.compile(
    rb"""(?P<blank>[ \t\r\n]+)
    | (?P<attribute>[A-Za-z_:][-A-Za-z0-9_.:]*[ \t\r\n]*=[ \t\r\n]*\Z)
    | (?P<end>/?>)
    | (?P<comment><!>)
    | (?P<close></[A-Za-z_:][-A-Za-z0-9_.:]*[ \t\r\n]*>)
    | (?P<open><[A-Za-z_:][-A-Za-z0-9_.:]*)
    | (?P<text>[^<>&"'\x00-\x08\x0b\x0c\x0e-\x1f]+?(?=<|\Z))""",
    re.VERBOSE,
)


class Markup(NamedTuple):
    """A text between two values."""

    tags: bytes
    """All that opens and closes elements."""

    closing: bytes
    """Of these, those up to the highest place that is reached ..."""

    opening: bytes
    """... and those behind it."""

    deeper: int
    """By how many elements it leads deeper."""

    highest: int
    """How far up it goes on its way: by minus so many elements."""

    cut: int
    """Where in the text that was: the end of the last tag to get there, or 0."""

    attribute: bytes
    """The attribute at its end."""

    begins: bool
    """Whether that is the first of its tag."""

    forbidden: int
    """How many of its bytes a value must not have."""

    @classmethod
    def of(cls, text: bytes) -> Markup | None:
        """What a text says; None if it is not plain, or not XML."""
        tags, place, in_tag = list[bytes](), 0, True
        depth = highest = cut = before = 0
        kind, attribute = "", b""
        while place < len(text):
            token, last = _TOKEN.match(text, place), kind
            kind = str(token and token.lastgroup)
            if token is None or not _fits(kind, last, in_tag):
                return None
            place = token.end()
            if kind == "attribute":
                attribute = token[0].rstrip(b"= \t\r\n")
            elif kind in ("end", "close", "open"):
                in_tag = kind == "open"
                depth += {"open": 1, "close": -1, "end": 1 - len(token[0])}[kind]
                tags.append(b"".join(token[0].split()))
                if depth <= highest and kind != "open" and token[0] != b">":
                    highest, cut, before = depth, place, len(tags)
        return cls(
            b"".join(tags),
            b"".join(tags[:before]),
            b"".join(tags[before:]).removeprefix(b">"),
            depth,
            highest,
            cut,
            attribute,
            in_tag and len(tags) > 0,
            sum(byte < 32 or byte in FORBIDDEN for byte in text),
        )


FORBIDDEN = b"<&"
"""With control characters, what values must not have."""


def _fits(kind: str, last: str, in_tag: bool) -> bool:
    """Whether a token may stand where it does, inside a tag or outside, behind another."""
    if kind == "blank":
        return True
    if kind == "attribute":
        return in_tag and last == "blank"
    return (kind == "end") == in_tag
