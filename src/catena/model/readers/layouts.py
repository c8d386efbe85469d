"""Long XML documents, read many elements at a time: those that differ only in the values of their attributes.

What programs write repeats itself: of 100,000 links, most look the same but for the numbers in quotes. So a stretch of
text is split at its quotes. A text between two values is looked at once, however often it comes (markup.py), and the
layout of an element is the sequence of its tags, with the attributes of each in a fixed order. Of each layout one
example goes through the parser of xml.py and its checks. Others are then as well-formed as the example, if their values
are: without "<" and "&", of printable characters. Where a document is not as plain as that, the rest of it is left to
the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError
from catena.model.readers.markup import COMMENT, Markup
from catena.model.readers.spans import WIDEST, Column, Kinds, TooMany, Values, some_of
from catena.model.readers.xml import MAX_ELEMENTS, Document, elements

Array = npt.NDArray[Any]

SHORT = 2**18  # bytes; documents no longer than that are left to the parser
STRETCH = 2**21  # bytes that are read at a time
SOME = 200  # elements of the parser that are looked at together
ALL = -1
_UTF8 = re.compile(rb"(\xef\xbb\xbf)?\s*<(?!\?xml[^>]*encoding=(?![\"'](utf-?8|us-ascii|ascii)[\"']))", re.I)
_COMMENTS = re.compile(rb"<!--[^-\x00-\x08\x0b\x0c\x0e-\x1f]*(?:-[^-\x00-\x08\x0b\x0c\x0e-\x1f]+)*-->")
_BLANKS = b" \t\r\n"
_MARGIN, _PADDING = b" " * 8, b" " * (WIDEST + 8)  # around a stretch, so that a little more than a span may be read
_KEPT = 2**25 - 2**16
"""Bytes that, once given back, make the allocator of Linux keep blocks up to that size for the next stretch, where it
would return them to the system and have their pages cleared again: a quarter of a second for 100,000 links."""
_MOST = 2000  # texts between values, and layouts: with more, nothing is gained


class Group(NamedTuple):
    """Children of the root that have one layout.

    `element` is made like each of them, with a column in place of every attribute's value: the values of all of them.
    `parts` are their numbers among the root's children, in order.
    """

    element: Element
    parts: Sequence[int]

    def some(self, which: Sequence[int]) -> Group:
        """A group of some of them, by their numbers in this one."""
        chosen = _with_columns(self.element, lambda values: some_of(values, which))
        return Group(chosen, [self.parts[i] for i in which])

    def alone(self) -> Group:
        """The same without the text of the document around the values."""
        if not any(isinstance(values, Column) for values in self.element.attrib.values()):
            return self
        return Group(_with_columns(self.element, Column.alone), self.parts)


def groups(document: Document) -> Iterator[Group]:
    """The root's children, several at a time where they have one layout. Raises LoadError as `elements` does."""
    done = 0
    if len(document.data) > SHORT and _UTF8.match(document.data):
        np.empty(_KEPT, dtype=np.uint8)
        done = yield from _Stretches(document).groups()
    if done != ALL:
        numbered = enumerate(islice(elements(document), 1 + done, None), done)
        while some := list(islice(numbered, SOME)):
            yield from _alike(some)


def _alike(numbered: list[tuple[int, Element]]) -> Iterator[Group]:
    """Groups of numbered children of the root. The first of each becomes the element of its group, without a copy."""
    alike: dict[Any, list[tuple[int, Element]]] = {}
    for part, element in numbered:
        key = tuple([(inside.tag, len(inside), *inside.attrib) for inside in element.iter()])
        alike.setdefault(key, []).append((part, element))
    for group in alike.values():
        parts, single = zip(*group, strict=True)
        for insides in zip(*(element.iter() for element in single), strict=True):
            values: dict[str, Any] = insides[0].attrib
            for name in values:
                values[name] = [inside.attrib[name] for inside in insides]
        yield Group(single[0], parts)


def _with_columns(element: Element, column: Callable[[Any], Sequence[str]]) -> Element:
    """A copy of an element with columns made of the values of its attributes."""
    values: dict[str, Any] = {name: column(value) for name, value in element.attrib.items()}
    copy = Element(element.tag, values)
    copy.extend([_with_columns(child, column) for child in element])
    return copy


class _Irregular(Exception):
    """The document is not plain enough to go on."""


class _Layout:
    """The layout of some children of the root: an element like theirs, with the numbers of columns as values."""

    def __init__(self, source: str, written: bytes, values: int) -> None:
        """`written` is an example, with the numbers of columns as values."""
        try:
            _, self.element, *more = elements(Document(b"<r>%b</r>" % written, source, encoding="utf-8"))
        except (LoadError, ValueError):
            raise _Irregular from None
        inside = list(self.element.iter())
        self.size, self.values = len(inside), values
        if more or [place for each in inside for place in each.attrib.values()] != list(map(str, range(values))):
            raise _Irregular

    def filled(self, columns: list[Column]) -> Element:
        """An element with these values."""
        return _with_columns(self.element, lambda place: columns[int(place)])


class _Stretches:
    """A plain document, stretch by stretch."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.kinds = Kinds(longest=1024, most=_MOST)  # of texts between values
        self.markup: list[list[int]] = []  # what they say, in numbers
        self.cuts: list[int] = []
        self.words: dict[bytes, int] = {}  # numbers of tags and attributes
        self.codes = Kinds(longest=8 * _MOST, most=_MOST)  # of children of the root
        self.layouts: list[_Layout] = []
        self.parts = self.elements = 0  # that were given away

    def groups(self) -> Generator[Group, None, int]:
        """What is plain from the start on; returns how many children of the root that was, or ALL."""
        data, rest = self.document.data, b""
        try:
            tag, start = self._beginning()
            while start < len(data):
                end = min(start + STRETCH, len(data))
                if end < len(data):
                    end = data.rfind(b">", start, end) + 1 or end
                text, unfinished = _without_comments(data[start:end])
                if end == len(data):
                    text = _without_end(text, tag)
                if unfinished and (end == len(data) or not text):
                    raise _Irregular
                rest = yield from self._stretch(rest + text)
                start = end - unfinished
            return self.parts if rest.strip(_BLANKS) else ALL
        except (_Irregular, TooMany, UnicodeDecodeError):
            return self.parts

    def _beginning(self) -> tuple[bytes, int]:
        """The root's name, and the first byte of its first child."""
        tags: list[tuple[str, int]] = []
        parser = expat.ParserCreate(self.document.encoding)
        parser.StartElementHandler = lambda tag, _: tags.append((tag, parser.CurrentByteIndex))
        try:
            parser.Parse(self.document.data[:SHORT], False)
        except expat.ExpatError:
            raise _Irregular from None
        if len(tags) < 2:
            raise _Irregular
        return tags[0][0].encode(), tags[1][1]

    def _stretch(self, content: bytes) -> Generator[Group, None, bytes]:
        """The groups of a stretch that starts between two children of the root; returns what is left of it."""
        text = b"%b>%b%b" % (_MARGIN, content, _PADDING)
        data = np.frombuffer(text, dtype=np.uint8)
        start, end, values = _split(data, len(text) - len(_PADDING))
        kinds = self.kinds.numbered(text, start, end, self._read)
        tags, closing, opening, attributes, deeper, highest, begins, forbidden = (
            column[kinds] for column in np.array(self.markup).T
        )
        ends = np.flatnonzero(np.cumsum(deeper) - deeper + highest == 0)
        if ends[:1].tolist() != [0] or self.cuts[kinds[0]]:
            raise _Irregular
        last = int(ends[-1])
        if np.diff(start[ends]).max(initial=0) > SHORT or (last == 0 and len(content) > SHORT):
            raise _Irregular
        seen = data[len(_MARGIN) : start[last]]
        if np.count_nonzero((seen < 32) | (seen == 60) | (seen == 38)) != forbidden[:last].sum():
            raise _Irregular
        order = _ordered(np.cumsum(begins[:last]), attributes[:last])
        tags[ends] = opening[ends]
        codes = tags[:last] | attributes[:last][order] << 16
        codes[ends[:-1]] |= closing[ends[1:]] << 32
        numbers = self.codes.numbered(_MARGIN + codes.tobytes(), 8 + 8 * ends[:-1], 8 + 8 * ends[1:], self._add)
        yield from self._found(numbers, ends[:-1], Column(Values(text, *values), np.arange(last)[order]))
        return text[start[last] + self.cuts[kinds[last]] : len(text) - len(_PADDING)]

    def _found(self, layouts: Array, first: Array, values: Column) -> Iterator[Group]:
        """The groups of children of the root, by the numbers of their layouts, and of their first values."""
        self.elements += int(np.array([layout.size for layout in self.layouts])[layouts].sum())
        if self.elements >= MAX_ELEMENTS:
            raise _Irregular
        by_layout = np.argsort(layouts, kind="stable")
        for which in np.split(by_layout, np.flatnonzero(np.diff(layouts[by_layout])) + 1 if len(layouts) else []):
            if len(which):
                layout = self.layouts[layouts[which[0]]]
                columns = [values.some(first[which] + i) for i in range(layout.values)]
                yield Group(layout.filled(columns), (self.parts + which).tolist())
        self.parts += len(layouts)

    def _read(self, text: bytes) -> None:
        """Keeps what a text between values says."""
        markup = Markup.of(text)
        if markup is None:
            raise _Irregular
        named = markup.tags, markup.closing, markup.opening, markup.attribute
        words = [self.words.setdefault(word, len(self.words)) for word in named]
        self.markup.append([*words, markup.deeper, markup.highest, markup.begins, markup.forbidden])
        self.cuts.append(markup.cut)

    def _add(self, span: bytes) -> None:
        """Keeps the layout of a child of the root."""
        words, codes = list(self.words), np.frombuffer(span, dtype=np.int64).tolist()
        tags = [b'%b %b="%d"' % (words[code & 0xFFFF], words[code >> 16 & 0xFFFF], i) for i, code in enumerate(codes)]
        written = b"".join(tags) + words[codes[0] >> 32]
        self.layouts.append(_Layout(self.document.source, written, len(codes)))


def _split(data: Array, size: int) -> tuple[Array, Array, Array]:
    """Where texts between values start and end, and where values do, (2, n), in the first `size` bytes."""
    quotes = np.flatnonzero(data[:size] == 34)
    start = np.concatenate([[len(_MARGIN)], quotes[1::2] + 1])
    end = np.append(quotes[::2], size)[: len(start)]
    values = np.array([quotes[: 2 * len(start) - 2 : 2] + 1, quotes[1::2]])
    return start, end, values


def _ordered(tags: Array, attributes: Array) -> Array | slice:
    """The order in which the attributes of each tag come by number; tags are numbered."""
    key = tags * 0x10000 + attributes
    return slice(None) if (np.diff(key) >= 0).all() else np.argsort(key, kind="stable")


def _without_comments(data: bytes) -> tuple[bytes, int]:
    """A text with all comments alike, and the number of bytes at its end that are a comment which goes on."""
    if not data.isascii() and not "".join(re.findall("[^\0-\x7f]+", data.decode())).isprintable():
        raise _Irregular
    if b"!" not in data and b"?" not in data:
        return data, 0
    begun = data.rfind(b"<!--")
    complete = data[:begun] if begun > data.rfind(b"-->") else data
    text, comments = _COMMENTS.subn(COMMENT, complete)
    if b"<?" in text or text.count(b"<!") > comments or COMMENT in complete:
        raise _Irregular
    return text, len(data) - len(complete)


def _without_end(text: bytes, tag: bytes) -> bytes:
    """The end of a document without the end of its root."""
    start = text.rfind(b"</")
    if start < 0 or not re.fullmatch(rb"</%b\s*>(\s|<!>)*" % re.escape(tag), text[start:]):
        raise _Irregular
    return text[:start]
