"""XML from strangers: documents are opened with caps, and read as a stream of elements on the standard library's expat.

Document types are refused, so entities cannot be declared: no bombs, no external files. Bytes, elements, depth and the
length of a single tag are capped. Nothing here knows what a robot is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from catena.errors import LoadError, kind_of
from catena.model.readers.files import MAX_BYTES, Refused, read_regular, too_large

MAX_ELEMENTS = 4_000_000
MAX_ELEMENTS_IN_PART = 100_000
MAX_DEPTH = 100
MAX_TAG_BYTES = 2**20
_CHUNK = 2**13  # small, so that elements die young: in the cache, and before the garbage collector walks them
_FIRST = 2**10  # the first of them: often only the root is asked for
_ENCODINGS = re.compile(r"utf-?8|utf-?16([bl]e)?|us-ascii|ascii|latin-?1|(iso-8859|windows-125|koi8)[-\w]{0,3}", re.I)


@dataclass(frozen=True)
class Document:
    """The bytes of a document, what to call it in messages, where it lies (None for text), its encoding if known."""

    data: bytes
    source: str
    path: Path | None = None
    encoding: str | None = None

    def error(self, message: str, line: int | None = None) -> LoadError:
        """A LoadError that names the document, and the line where there is one."""
        where = self.source if line is None else f"{self.source}, line {line}"
        return LoadError(f"{where}: {message}")


class FieldError(ValueError):
    """An element that does not hold what it should; its reader knows which link or joint it belongs to."""

    def __init__(self, element: Element, message: str) -> None:
        super().__init__(f"<{shorten(element.tag)}> {message}")
        self.element = element


def children(element: Element, *once: str) -> dict[str, Element]:
    """The element's children by name; two of a name that may appear `once` are a FieldError."""
    found = {child.tag: child for child in element}
    if len(found) < len(element):
        seen = set()
        for child in element:
            if child.tag in once and child.tag in seen:
                raise FieldError(child, "appears twice; keep one")
            seen.add(child.tag)
    return found


def text(element: Element, name: str) -> str:
    """Attribute `name`, which must be there and not be empty."""
    value = element.get(name, "").strip()
    if not value:
        raise FieldError(element, f"needs a non-empty attribute {name!r}")
    return value


def shorten(text: str, length: int = 60) -> str:
    """`text`, cut to `length` characters for a message."""
    return text if len(text) <= length else text[:length] + "…"


def open_document(source: str | bytes | os.PathLike[str], *, name: str | None = None) -> Document:
    """The document that `source` is (bytes, or a string that starts with "<") or names (any other string, a path).

    `name` is what messages call it; by default the path, or "XML text". Raises LoadError for what is missing,
    unreadable, empty, not a regular file, or larger than MAX_BYTES (asked of the file system before reading).
    """
    if isinstance(source, bytes | bytearray | memoryview):
        document = Document(bytes(source), name or "XML text")
    elif isinstance(source, str) and source.lstrip("\ufeff \t\r\n").startswith("<"):
        document = _from_text(source.lstrip("\ufeff \t\r\n"), name or "XML text")
    elif isinstance(source, str | os.PathLike):
        document = _from_file(source, name)
    else:
        raise LoadError(f"expected a path, XML text or bytes, not {kind_of(source)}")
    if len(document.data) > MAX_BYTES:
        raise document.error(too_large(len(document.data), MAX_BYTES))
    if not document.data or document.data.isspace():
        raise document.error("is empty; expected URDF or MJCF")
    return document


def _from_text(text: str, name: str) -> Document:
    try:
        return Document(text.encode(), name, encoding="utf-8")
    except UnicodeEncodeError as error:
        raise LoadError(f"{name}: holds a character that is not Unicode text, at position {error.start}") from None


def _from_file(source: str | os.PathLike[str], name: str | None) -> Document:
    label = name or shorten(str(source), 200)
    if not str(source).strip():
        raise LoadError("expected a path or XML text, got an empty string")
    try:
        path = Path(source)
        return Document(read_regular(path), label, path)
    except FileNotFoundError:
        text = " (XML text would start with '<')" if "<" in str(source) else ""
        raise LoadError(f"{label}: no such file{text}") from None
    except (Refused, TypeError) as error:
        raise LoadError(f"{label}: {error}") from None


def root_tag(document: Document) -> str:
    """The name of the document's root element; nothing after it is looked at."""
    for element in elements(document):
        return element.tag
    raise document.error("holds no element")


def whole(document: Document, *, deepest: int, longest_tag: int) -> Element:
    """The root element with everything in it; see `elements`."""
    stream = elements(document, deepest=deepest, longest_tag=longest_tag)
    root = next(stream)
    root.extend(list(stream))
    return root


def elements(document: Document, *, deepest: int = MAX_DEPTH, longest_tag: int = MAX_TAG_BYTES) -> Iterator[Element]:
    """The root element (without children), then each of its children when it is complete.

    Memory is bounded by the largest child. Text between tags is not kept. `deepest` caps the depth, `longest_tag` the
    bytes of one tag. Raises LoadError, with the line, for anything that is not well-formed XML, has a document type, or
    exceeds the caps.
    """
    reader = _Reader(document, deepest, longest_tag)
    view = memoryview(document.data)
    for start, end in pairwise(sorted({0, min(_FIRST, len(view)), *range(_CHUNK, len(view), _CHUNK), len(view)})):
        failure = reader.feed(bytes(view[start:end]), end)
        yield from reader.started()
        yield from reader.completed()
        if failure is not None:
            raise failure


def lines(document: Document) -> list[int]:
    """The line on which each element starts, in the order of the text. Costs as much as reading the document again."""
    found: list[int] = []
    parser = expat.ParserCreate(document.encoding)
    parser.StartElementHandler = lambda *_: found.append(parser.CurrentLineNumber)
    with suppress(expat.ExpatError, LookupError, ValueError):  # a fault further down has been, or will be, reported
        parser.Parse(document.data, True)
    return found


def line_of(document: Document, part: int, place: int = 0) -> int:
    """The line of an element: `place` in the order of the text within child `part` of the root, or -1 for the root."""
    if part < 0:
        return lines(document)[0]
    before = 1 + sum(len(list(element.iter())) for element in islice(elements(document), 1, 1 + part))
    return lines(document)[before + place]


class _Reader:
    """A parser that builds elements without a line of Python for each, and gives away what is complete."""

    def __init__(self, document: Document, deepest: int, longest_tag: int) -> None:
        self.document = document
        self.deepest, self.longest_tag = deepest, longest_tag
        self.parser = parser = expat.ParserCreate(document.encoding)
        builder = TreeBuilder()
        self.top: Element = builder.start("", {})  # holds the root, as soon as that has started
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.StartElementHandler = builder.start
        parser.EndElementHandler = builder.end
        self.count = 0  # elements given away
        self.age = 0  # chunks since a part was complete
        self.ended = False

    def feed(self, data: bytes, consumed: int) -> LoadError | None:
        """Parses `data`, which ends at byte `consumed` of the document; returns what is wrong with it."""
        failure = self.parse(data, last=False)
        if failure is None and consumed == len(self.document.data):
            failure = self.parse(b"", last=True)
            self.ended = failure is None
        if failure is None and consumed - self.parser.CurrentByteIndex > self.longest_tag + _CHUNK:
            failure = self.error(f"a single tag or comment is longer than {self.longest_tag // 2**20} MiB")
        return failure

    def started(self) -> list[Element]:
        """The root, without children, when it has just started; nothing else is looked at yet."""
        if self.count or not len(self.top):
            return []
        self.count = 1
        return [Element(self.top[0].tag, self.top[0].attrib)]

    def completed(self) -> list[Element]:
        """The root's children but the one that may be incomplete; they are then forgotten."""
        if not len(self.top):
            return []
        root = self.top[0]
        parts = root[:] if self.ended else root[:-1]
        del root[: len(parts)]
        for part in parts:
            self.count += self.checked(part)
        self.age = 0 if parts else self.age + 1
        if len(root) and self.age & (self.age - 1) == 0:  # now and then, so that it costs little
            self.checked(root[0])
        return parts

    def checked(self, part: Element) -> int:
        """How many elements a part of the root holds. Raises LoadError if they are too many, or too deep."""
        size = len(list(part.iter()))
        if size > MAX_ELEMENTS_IN_PART:
            message = f"one <{shorten(part.tag)}> holds more than {MAX_ELEMENTS_IN_PART:,} elements"
            raise self.document.error(message, lines(self.document)[self.count + MAX_ELEMENTS_IN_PART])
        if self.count + size > MAX_ELEMENTS:
            raise self.document.error(f"holds more than {MAX_ELEMENTS:,} elements", lines(self.document)[MAX_ELEMENTS])
        if size >= self.deepest - 1 and (place := _place_below(part, self.deepest - 1)) is not None:
            line = lines(self.document)[self.count + place]
            raise self.document.error(f"elements are nested more than {self.deepest} deep", line)
        return size

    def parse(self, data: bytes, last: bool) -> LoadError | None:
        """Parses `data`; returns what is wrong with it."""
        try:
            self.parser.Parse(data, last)
        except LoadError as error:
            return error
        except expat.ExpatError as error:
            reason = f"{expat.ErrorString(error.code)}, column {error.offset + 1}"
            return self.document.error(f"is not well-formed XML: {reason}", error.lineno)
        except (LookupError, ValueError) as error:
            return self.error(f"cannot be decoded: {error}")
        return None

    def error(self, message: str) -> LoadError:
        """A LoadError at the parser's place."""
        return self.document.error(message, self.parser.CurrentLineNumber)

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and not _ENCODINGS.fullmatch(encoding):
            raise self.error(f"encoding {shorten(encoding)!r} is not supported; save the file as UTF-8")

    def doctype(self, *_: object) -> None:
        raise self.error("document types and entities are refused; remove the <!DOCTYPE ...>")


def _place_below(part: Element, depth: int) -> int | None:
    """The place, in the order of the text, of the first element of `part` that lies deeper than `depth`, if any does.

    `part` itself lies at depth 1.
    """
    waiting, place = [(1, part)], -1
    while waiting:
        level, element = waiting.pop()
        place += 1
        if level > depth:
            return place
        waiting.extend((level + 1, inside) for inside in reversed(element))
    return None
