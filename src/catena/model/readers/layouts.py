"""Long XML documents, read many elements at a time: those that differ only in the values of their attributes.

What programs write repeats itself: of 100,000 links, most look the same but for the numbers in quotes. So a stretch of
text is split at its quotes. A text between two values is looked at once, however often it comes, and the layout of an
element is the sequence of such texts. Of each layout one example goes through the parser of xml.py and its checks.
Others are then as well-formed as the example, if their values are: without "<" and "&", of printable characters. Where
a document is not as plain as that, the rest of it is left to the parser.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Iterator, Sequence
from itertools import islice, pairwise
from typing import Any, NamedTuple
from xml.etree.ElementTree import Element
from xml.parsers import expat

import numpy as np
import numpy.typing as npt

from catena.errors import LoadError
from catena.model.readers.xml import MAX_ELEMENTS, Document, elements

Array = npt.NDArray[Any]

STRETCH = 2**18  # bytes that are read at a time; documents no longer than that are left to the parser
SOME = 200  # elements of the parser that are looked at together
ALL = -1
_UTF8 = re.compile(rb"(\xef\xbb\xbf)?\s*<(?!\?xml[^>]*encoding=(?![\"'](utf-?8|us-ascii|ascii)[\"']))", re.I)
_TOKENS = re.compile("</[^<>]*>|/>|<")
_BLANKS = " \t\r\n"
_MOST = 2000  # texts between values, and layouts: with more, nothing is gained


class Group(NamedTuple):
    """Children of the root that have one layout.

    `element` is made like each of them, with a list in place of every attribute's value: the values of all of them.
    `parts` are their numbers among the root's children, in order.
    """

    element: Element
    parts: Sequence[int]

    def some(self, which: Sequence[int]) -> Group:
        """A group of some of them, by their numbers in this one."""
        chosen = _with_columns(self.element, lambda values: [values[i] for i in which])
        return Group(chosen, [self.parts[i] for i in which])


def groups(document: Document) -> Iterator[Group]:
    """The root's children, several at a time where they have one layout. Raises LoadError as `elements` does."""
    done = 0
    if len(document.data) > STRETCH and _UTF8.match(document.data):
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


def _with_columns(element: Element, column: Callable[[Any], list[str]]) -> Element:
    """A copy of an element with columns made of the values of its attributes."""
    values: dict[str, Any] = {name: column(value) for name, value in element.attrib.items()}
    copy = Element(element.tag, values)
    copy.extend([_with_columns(child, column) for child in element])
    return copy


class _Irregular(Exception):
    """The document is not plain enough to go on."""


class _Markup(NamedTuple):
    """A text between two values: by how much it leads deeper, how far up it goes on its way, and where it did so."""

    deeper: int
    highest: int
    cut: int

    @classmethod
    def of(cls, text: str) -> _Markup:
        """What the tags in the text do, of which the first and the last may be cut off by the values."""
        depth = highest = cut = 0
        for token in _TOKENS.finditer(text):
            depth += 1 if token[0] == "<" else -1
            if depth <= highest:
                highest, cut = depth, token.end()
        return cls(depth, highest, cut)


class _Layout:
    """The layout of some children of the root: an element like theirs, with the numbers of columns as values."""

    def __init__(self, source: str, texts: Sequence[str]) -> None:
        written = "".join(f'{text}"{i}"' for i, text in enumerate(texts[:-1])) + texts[-1]
        try:
            _, self.element, *more = elements(Document(f"<r>{written}</r>".encode(), source, encoding="utf-8"))
        except (LoadError, ValueError):
            raise _Irregular from None
        inside = list(self.element.iter())
        self.size, self.values = len(inside), len(texts) - 1
        if more or [place for each in inside for place in each.attrib.values()] != list(map(str, range(self.values))):
            raise _Irregular

    def filled(self, columns: list[list[str]]) -> Element:
        """An element with these values."""
        return _with_columns(self.element, lambda place: columns[int(place)])


class _Stretches:
    """A plain document, stretch by stretch."""

    def __init__(self, document: Document) -> None:
        self.document = document
        self.numbers: dict[str, int] = {}  # of texts between values
        self.markup: list[_Markup] = []  # by number
        self.layouts: dict[bytes, _Layout] = {}  # by the numbers of their texts
        self.parts = self.elements = 0  # that were given away

    def groups(self) -> Generator[Group, None, int]:
        """What is plain from the start on; returns how many children of the root that was, or ALL."""
        try:
            tag, start = self._beginning()
            data, rest = memoryview(self.document.data), ""
            while start < len(data):
                end = min(start + STRETCH, len(data))
                if end < len(data):
                    end = self.document.data.rfind(b">", start, end) + 1 or end
                text = rest + str(data[start:end], "utf-8")
                if end == len(data):
                    text = _without_end(text, tag)
                rest = yield from self._stretch(text)
                start = end
            return self.parts if rest.strip(_BLANKS) else ALL
        except (_Irregular, UnicodeDecodeError):
            return self.parts

    def _beginning(self) -> tuple[str, int]:
        """The root's name, and the first byte of its first child."""
        tags: list[tuple[str, int]] = []
        parser = expat.ParserCreate(self.document.encoding)
        parser.StartElementHandler = lambda tag, _: tags.append((tag, parser.CurrentByteIndex))
        try:
            parser.Parse(self.document.data[:STRETCH], False)
        except expat.ExpatError:
            raise _Irregular from None
        if len(tags) < 2:
            raise _Irregular
        return tags[0][0], tags[1][1]

    def _stretch(self, text: str) -> Generator[Group, None, str]:
        """The groups of a stretch that starts between two children of the root; returns what is left of it."""
        pieces = text.split('"')
        texts, values = pieces[::2], pieces[1::2]
        numbers = self._numbered(texts)
        ends = self._ends(numbers)
        if ends[:1] != [0] or self.markup[numbers[0]].cut:
            raise _Irregular
        last = ends[-1]
        if last == 0 and len(text) > STRETCH // 2:
            raise _Irregular
        plain = "".join(values[:last])
        if "<" in plain or "&" in plain or not plain.isprintable():
            raise _Irregular
        alike: dict[bytes, list[int]] = {}
        for i, (start, end) in enumerate(pairwise(ends)):
            alike.setdefault(numbers[start : end + 1].tobytes(), []).append(i)
        found = [(self._layout(key, texts, ends[which[0]], ends[which[0] + 1]), which) for key, which in alike.items()]
        self.elements += sum(layout.size * len(which) for layout, which in found)
        if self.elements >= MAX_ELEMENTS:
            raise _Irregular
        table = np.array(values, dtype=object)
        for layout, which in found:
            columns = table[np.array(ends)[which] + np.arange(layout.values)[:, None]].tolist()
            yield Group(layout.filled(columns), [self.parts + i for i in which])
        self.parts += len(ends) - 1
        pieces[2 * last] = texts[last][self.markup[numbers[last]].cut :]
        return '"'.join(pieces[2 * last :])

    def _numbered(self, texts: list[str]) -> Array:
        """The number of each text."""
        for text in set(texts) - self.numbers.keys():
            self.numbers[text] = len(self.markup)
            self.markup.append(_Markup.of(text))
        if len(self.markup) > _MOST:
            raise _Irregular
        return np.array(list(map(self.numbers.__getitem__, texts)), dtype=np.int32)

    def _ends(self, numbers: Array) -> list[int]:
        """The texts in which a child of the root ends and the next one begins; the first, in which one begins."""
        deeper, highest, _ = np.array(self.markup).T
        before = np.cumsum(deeper[numbers]) - deeper[numbers]
        ends: list[int] = np.flatnonzero(before + highest[numbers] == 0).tolist()
        return ends

    def _layout(self, key: bytes, texts: list[str], start: int, end: int) -> _Layout:
        """The layout of the child of the root that begins in text `start` and ends in text `end`."""
        if key not in self.layouts:
            if len(self.layouts) == _MOST:
                raise _Irregular
            before, after = (self.markup[self.numbers[texts[i]]].cut for i in (start, end))
            own = [texts[start][before:], *texts[start + 1 : end], texts[end][:after]]
            self.layouts[key] = _Layout(self.document.source, own)
        return self.layouts[key]


def _without_end(text: str, tag: str) -> str:
    """The end of a document without the end of its root."""
    start = text.rfind("</")
    if start < 0 or not re.fullmatch(rf"</{re.escape(tag)}[{_BLANKS}]*>[{_BLANKS}]*", text[start:]):
        raise _Irregular
    return text[:start]
