"""XML from strangers: documents are opened with caps, and read as a stream of elements on the standard library's expat.

Document types are refused, so entities cannot be declared: no bombs, no external files. Bytes, elements, depth and the
length of a single tag are capped. Nothing here knows what a robot is.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from math import isfinite
from pathlib import Path
from sys import float_info
from xml.parsers import expat

from catena.errors import LoadError
from catena.model.readers.files import MAX_BYTES, Refused, read_regular, too_large

MAX_ELEMENTS = 4_000_000
MAX_ELEMENTS_IN_PART = 100_000
MAX_DEPTH = 100
MAX_TAG_BYTES = 2**20
LARGEST = 1e60  # of coordinates, masses, moments: products of a few of them stay finite
FINITE = float_info.max

Vector = tuple[float, float, float]

_CHUNK = 2**13  # small, so that elements die young: in the cache, and before the garbage collector walks them
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

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


class Element:
    """An element with its attributes, its children and the line it starts on. Text between tags is not kept."""

    __slots__ = ("attributes", "children", "line", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], line: int) -> None:
        self.tag = tag
        self.attributes = attributes
        self.line = line
        self.children: list[Element] = []

    def fault(self, message: str) -> FieldError:
        """A FieldError at this element."""
        return FieldError(f"<{self.tag}> {message}", self.line)

    def child(self, tag: str) -> Element | None:
        """The only child called `tag`, or None; two of them are a FieldError."""
        return self.only(tag)[0]

    def only(self, *tags: str) -> list[Element | None]:
        """The only child of each of these names, or None; two of them are a FieldError."""
        found = {child.tag: child for child in self.children}
        if len(found) < len(self.children):
            self._refuse_twins(tags)
        return [found.get(tag) for tag in tags]

    def _refuse_twins(self, tags: tuple[str, ...]) -> None:
        first: dict[str, Element] = {}
        for child in self.children:
            if child.tag in tags and first.setdefault(child.tag, child) is not child:
                raise child.fault(f"appears twice, first on line {first[child.tag].line}; keep one")

    def text(self, name: str) -> str:
        """Attribute `name`, which must be there and not be empty."""
        value = self.attributes.get(name, "").strip()
        if not value:
            raise self.fault(f"needs a non-empty attribute {name!r}")
        return value

    def number(self, name: str, default: float | None = None, largest: float = FINITE) -> float:
        """Attribute `name` as one finite number; `default` when it is absent, None meaning that it may not be."""
        text = self.attributes.get(name)
        if text is None:
            if default is None:
                raise self.fault(f"needs a number {name!r}")
            return default
        try:
            value = float(text)
        except ValueError:
            raise self._unread(name, text, 1, largest) from None
        if -largest <= value <= largest and text.isascii() and "_" not in text:
            return value
        raise self._unread(name, text, 1, largest)

    def vector(self, name: str, default: Vector) -> Vector:
        """Attribute `name` as three finite numbers up to LARGEST; `default` when it is absent."""
        text = self.attributes.get(name)
        if text is None:
            return default
        numbers = _three_numbers(text) if len(text) < 100 else _three_numbers.__wrapped__(text)  # keep no long texts
        if numbers is None:
            raise self._unread(name, text, 3, LARGEST)
        return numbers

    def _unread(self, name: str, text: str, count: int, largest: float) -> FieldError:
        """Why `text` is not `count` finite decimal numbers, written the same in every locale, up to `largest`."""
        try:
            numbers = list(map(float, text.split()))
        except ValueError:
            numbers = []
        if len(numbers) == count and all(map(isfinite, numbers)) and text.isascii() and "_" not in text:
            return self.fault(f"{name}={shorten(text)!r}: expected numbers no larger than {largest:g}")
        expected = "one finite number" if count == 1 else f"{count} finite numbers"
        hint = "; expand the file with xacro first" if "${" in text else ""
        return self.fault(f"{name}={shorten(text)!r}: expected {expected}{hint}")


@lru_cache(maxsize=1024)
def _three_numbers(text: str) -> Vector | None:
    """Three finite decimal numbers up to LARGEST, or None. Remembered: a long chain repeats a few vectors."""
    try:
        x, y, z = map(float, text.split())
    except ValueError:
        return None
    small = -LARGEST <= x <= LARGEST and -LARGEST <= y <= LARGEST and -LARGEST <= z <= LARGEST
    return (x, y, z) if small and text.isascii() and "_" not in text else None


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
        raise LoadError(f"expected a path, XML text or bytes, not a {type(source).__name__}")
    if len(document.data) > MAX_BYTES:
        raise document.error(too_large(len(document.data), MAX_BYTES))
    if not document.data.strip():
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
        raise LoadError(f"{label}: no such file (XML text would start with '<')") from None
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
    root.children.extend(stream)
    return root


def elements(document: Document, *, deepest: int = MAX_DEPTH, longest_tag: int = MAX_TAG_BYTES) -> Iterator[Element]:
    """The root element (without children), then each of its children when it is complete.

    Memory is bounded by the largest child. `deepest` caps the depth, `longest_tag` the bytes of one tag. Raises
    LoadError, with the line, for anything that is not well-formed XML, has a document type, or exceeds the caps.
    """
    reader = _Reader(document, deepest, longest_tag)
    view = memoryview(document.data)
    for start in range(0, len(view), _CHUNK):
        end = min(start + _CHUNK, len(view))
        yield from reader.feed(bytes(view[start:end]), end)
    yield from reader.feed(b"", len(view), last=True)


class _Reader:
    """A parser that lists what starts (an Element) and ends (a name), and the stack of elements open so far."""

    def __init__(self, document: Document, deepest: int, longest_tag: int) -> None:
        self.document = document
        self.deepest, self.longest_tag = deepest, longest_tag
        self.events: list[Element | str] = []
        self.parser = parser = expat.ParserCreate(document.encoding)
        parser.XmlDeclHandler = self.declaration
        parser.StartDoctypeDeclHandler = self.doctype
        parser.StartElementHandler = self.start
        parser.EndElementHandler = self.events.append
        self.open: list[Element] = []
        self.count = 0
        self.most = MAX_ELEMENTS  # elements, until the part being read must end

    def feed(self, data: bytes, consumed: int, last: bool = False) -> Iterator[Element]:
        """Parses `data`, which ends at byte `consumed` of the document; yields what it completed before any error."""
        failure = self.parse(data, last)
        if failure is None and consumed - self.parser.CurrentByteIndex > self.longest_tag + _CHUNK:
            failure = self.error(f"a single tag or comment is longer than {self.longest_tag // 2**20} MiB")
        yield from self.completed()
        if failure is not None:
            raise failure

    def completed(self) -> Iterator[Element]:
        """The root when it starts and its children when they end, according to the events; these are then forgotten."""
        stack = self.open
        for event in self.events:
            if isinstance(event, str):
                element = stack.pop()
                if len(stack) == 1:
                    yield element
                continue
            self.count += 1
            depth = len(stack)
            if depth > 1:
                stack[-1].children.append(event)
            elif depth == 1:
                self.most = min(MAX_ELEMENTS, self.count + MAX_ELEMENTS_IN_PART)
            else:
                yield event
            if self.count > self.most or depth >= self.deepest:
                raise self.document.error(self.too_much(depth), event.line)
            stack.append(event)
        self.events.clear()

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

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.events.append(Element(tag, attributes, self.parser.CurrentLineNumber))

    def too_much(self, depth: int) -> str:
        """Which cap is exceeded by an element at this depth."""
        if depth >= self.deepest:
            return f"elements are nested more than {self.deepest} deep"
        if self.count > MAX_ELEMENTS:
            return f"holds more than {MAX_ELEMENTS:,} elements"
        return f"one <{shorten(self.open[1].tag)}> holds more than {MAX_ELEMENTS_IN_PART:,} elements"
