"""MJCF made fit for MuJoCo's compiler, which runs in this process, cannot be interrupted, and opens what it is told to.

Our own reader comes first. It puts included files where they are included, opens every file that the model names itself
(see files.py) and hands MuJoCo one text without any path in it, and the files' content under names made up here. What
MuJoCo would take too long to build, or run out of memory on, is refused before it starts (see mjcf_caps.py). Textures,
skins, keyframes, custom data, sizes of buffers and ranges of muscles have no part in a robot and are left out.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import NamedTuple
from xml.etree.ElementTree import Element
from xml.sax.saxutils import quoteattr

from catena.errors import LoadError
from catena.model.readers import mjcf_caps as caps
from catena.model.readers.files import Places, Refused, read_regular
from catena.model.readers.xml import Document, FieldError, lines, shorten, text, whole

LEFT_OUT = {"texture", "skin", "layer", "keyframe", "custom", "size", "lengthrange"}
WITH_FILES = {"mesh", "hfield", "flexcomp", "model"}
FOLDERS = ("meshdir", "texturedir", "assetdir", "strippath")
NO_RANGES = '<compiler><lengthrange mode="none"/></compiler>'  # MuJoCo would simulate every muscle to find its range


class Place(NamedTuple):
    """An element's document, and the folders in which the files it names are looked for."""

    document: Document
    places: Places
    root: Element
    lines: dict[int, int]  # by the identity of the element

    @classmethod
    def of(cls, document: Document, places: Places) -> Place:
        """The place of all elements of a document."""
        root = _root(document)
        return cls(document, places, root, dict(zip(map(id, root.iter()), lines(document), strict=True)))

    def line(self, element: Element) -> int:
        """The line on which the element starts."""
        return self.lines[id(element)]

    def refuse(self, element: Element, why: object) -> LoadError:
        """A LoadError at the element."""
        return self.document.error(f"<{shorten(element.tag)}> {why}", self.line(element))


class Node(NamedTuple):
    """An element of the model without its includes, in the order of the text, and how deep it lies."""

    depth: int
    element: Element
    place: Place


@dataclass
class Source:
    """What MuJoCo's compiler is given, and the way back from its words to the files.

    `assets` holds the content of files by made-up names, `paths` their paths; line i of any text is `lines[i - 1]`.
    """

    document: Document
    roots: tuple[str, ...] = ()
    text: str = ""
    assets: dict[str, bytes] = field(default_factory=dict)
    paths: dict[str, str] = field(default_factory=dict)
    lines: list[tuple[Document, int]] = field(default_factory=list)
    named: dict[tuple[str, str], tuple[Document, int]] = field(default_factory=dict)
    weighed: caps.Weight = field(default_factory=caps.Weight)

    def explained(self, message: str) -> str:
        """MuJoCo's message on one line, its lines of our text turned into lines of the files."""
        return re.sub(r"line (\d+)", self._written, " ".join(message.split()))

    def _written(self, found: re.Match[str]) -> str:
        number = int(found[1])
        if not 1 <= number <= len(self.lines):
            return "a line unknown"
        document, line = self.lines[number - 1]
        return f"line {line}" if document is self.document else f"{document.source}, line {line}"

    def error(self, message: str, tag: str, name: str | None) -> LoadError:
        """A LoadError at the element of that name, where the file has one."""
        document, line = self.named.get((tag, name or ""), (self.document, None))
        return document.error(message, line)

    def opened(self, path: str) -> Document:
        """A document that the model includes or attaches."""
        label = f"{path} (part of {self.document.source})"
        return Document(self.read(path, caps.MAX_TEXT), label, Path(path), "utf-8")

    def read(self, path: str, most: int) -> bytes:
        """The content of a file, counted towards all that is read for this model."""
        try:
            data = read_regular(path, most)
        except FileNotFoundError:
            raise Refused("no such file") from None
        self.weighed.bytes_read(len(data))
        return data


def mjcf_source(document: Document, roots: tuple[str, ...] = ()) -> Source:
    """The model of a document with everything it names, checked. Raises LoadError with file and line."""
    source = Source(replace(document, encoding="utf-8"), roots)
    source.text = _text(source, source.document, ())
    return source


def _text(source: Source, document: Document, above: tuple[str, ...]) -> str:
    """The model in `document` as one text, one element a line, after as many empty lines as `source` has already."""
    folder = None if document.path is None else os.path.dirname(os.fspath(document.path)) or "."
    nodes = _without_includes(source, Place.of(document, Places(folder, source.roots)))
    if nodes[0].element.tag != "mujoco":
        raise nodes[0].place.refuse(nodes[0].element, "cannot be attached; expected <mujoco> (MJCF)")
    return _Writer(source, nodes, above).text()


def _without_includes(source: Source, place: Place) -> list[Node]:
    """The document's elements in the order of the text, with those of included files in place of the includes."""
    nodes: list[Node] = []
    included = {_real(place.document)}
    waiting = [Node(0, place.root, place)]
    while waiting:
        depth, element, where = waiting.pop()
        if element.tag.lower() == "include" and nodes:
            where = _included(source, element, where, place.places)
            if _real(where.document) in included:
                raise where.document.error("is included twice; MuJoCo allows it once, and never in itself")
            included.add(_real(where.document))
            children = list(where.root)
        else:
            nodes.append(Node(depth, element, where))
            children = list(element)
            depth += 1
        try:
            source.weighed.written(depth)
        except Refused as error:
            raise where.refuse(element, error) from None
        waiting.extend(Node(depth, child, where) for child in reversed(children))
    return nodes


def _root(document: Document) -> Element:
    try:
        document.data.decode("utf-8")
    except UnicodeDecodeError:
        raise document.error("MJCF must be UTF-8; save it as that") from None
    return whole(document, deepest=caps.MAX_DEPTH, longest_tag=caps.MAX_TAG_BYTES)


def _real(document: Document) -> str:
    return "" if document.path is None else os.path.realpath(document.path)


def _included(source: Source, element: Element, where: Place, main: Places) -> Place:
    """The place of the elements of the file that an <include> names."""
    if len(element):
        raise where.refuse(element, "cannot have children")
    try:
        name = text(element, "file")
        nested = where.places.folder
        beside = () if nested is None or main.folder is None else (os.path.relpath(nested, main.folder),)
        path = main.find(name, "", *beside)
        document = source.opened(path)
    except (FieldError, Refused) as error:
        raise where.refuse(element, _about(element, error)) from None
    place = Place.of(document, Places(os.path.dirname(path) or ".", source.roots))
    if not len(place.root):
        raise document.error("holds no elements to include")
    return place


class _Writer:
    """The text of one model, written element by element."""

    def __init__(self, source: Source, nodes: list[Node], above: tuple[str, ...]) -> None:
        self.source, self.nodes = source, nodes
        self.above = (*above, _real(nodes[0].place.document))
        self.heaviest = 0  # of the models that may be attached
        self.main = nodes[0].place.places
        compilers = [node.element.attrib for node in nodes if node.element.tag == "compiler"]
        settings = {key: value for found in compilers for key, value in found.items() if key in FOLDERS}
        self.folder = settings.get("meshdir") or settings.get("assetdir", "")
        self.strip = settings.get("strippath") == "true"

    def text(self) -> str:
        """One element a line, so that MuJoCo's line numbers lead back to the files."""
        nodes, written = self.nodes, self.source.lines
        children = {i: self._attached(nodes[i]) for i, node in enumerate(nodes) if node.element.tag == "model"}
        out = ["\n" * len(written)]
        ends: list[str] = []
        copies = [1]
        skipped = caps.MAX_DEPTH + 1
        for i, (depth, element, place) in enumerate(nodes):
            if depth > skipped:
                continue
            skipped = depth if element.tag in LEFT_OUT else caps.MAX_DEPTH + 1
            while len(ends) > depth:
                out.append(f"</{ends.pop()}>")
            if skipped == depth:
                continue
            del copies[depth + 1 :]
            attributes = self._guarded(element, place, copies, children.get(i), ends)
            out.append(f"{'' if i == 0 else chr(10)}<{element.tag} {attributes}>{NO_RANGES if i == 0 else ''}")
            written.append((place.document, place.line(element)))
            self.source.named.setdefault((element.tag, element.get("name", "")), written[-1])
            ends.append(element.tag)
        return "".join(out) + "".join(f"</{tag}>" for tag in reversed(ends)) + "\n"

    def _guarded(self, element: Element, place: Place, copies: list[int], child: str | None, inside: list[str]) -> str:
        """The element's attributes, after its weight was found to be bearable; `copies` goes down to its children.

        `inside` holds the tags of the elements around it.
        """
        try:
            _check_plugin(element, inside)
            attributes = self._attributes(element, place, child)
            size = self._file_size(element, attributes)
            copies.append(copies[-1] * caps.copies_of(element, size))
            self.source.weighed.copied(copies[-1] - 1)
            if element.tag == "attach":
                self.source.weighed.attached(copies[-1] * self.heaviest)
            elif element.tag != "replicate":  # what is in a composite belongs to all of it
                copies[-1] = copies[-2]
        except (FieldError, Refused) as error:
            raise place.refuse(element, _about(element, error)) from None
        return " ".join(f"{key}={quoteattr(value)}" for key, value in attributes.items())

    def _attributes(self, element: Element, place: Place, child: str | None) -> dict[str, str]:
        attributes = dict(element.attrib)
        if element.tag == "compiler":
            for key in FOLDERS:
                attributes.pop(key, None)
        elif element.tag in ("material", "light"):
            attributes.pop("texture", None)
        elif child is not None:
            attributes.pop("content_type", None)
            attributes["file"] = child
        elif element.tag in WITH_FILES and attributes.get("file"):
            if element.tag != "flexcomp":  # MuJoCo names these by their file
                attributes.setdefault("name", os.path.splitext(os.path.basename(_slashes(attributes["file"])))[0])
            attributes["file"] = self._opened(element, place)
        return attributes

    def _opened(self, element: Element, place: Place) -> str:
        """The made-up name of the file that the element names; its content is among the assets then."""
        name = _slashes(element.get("file", ""))
        name = os.path.basename(name) if self.strip else name
        others = ("",) if element.tag == "flexcomp" else ()
        path = self._found(place, name, self.folder, *others)
        data = self.source.read(path, caps.MAX_ASSET)
        if element.tag == "hfield":
            caps.check_elevation(data)
        return self._kept(data, os.path.splitext(path)[1].lower(), path)

    def _kept(self, data: bytes, ending: str, path: str) -> str:
        """Named by path and content, since MuJoCo remembers what it has read before by name."""
        digest = hashlib.blake2b(data, digest_size=16, key=hashlib.blake2b(os.fsencode(path)).digest())
        name = digest.hexdigest() + (ending if ending[1:].isalnum() else "")
        self.source.assets[name] = data
        self.source.paths[name] = path
        return name

    def _file_size(self, element: Element, attributes: dict[str, str]) -> int:
        return len(self.source.assets.get(attributes.get("file", ""), b"")) if element.tag == "flexcomp" else 0

    def _attached(self, node: Node) -> str:
        """The made-up name of the model that a <model> names, itself checked and rewritten like this one."""
        source, before = self.source, self.source.weighed.total
        try:
            name = text(node.element, "file")
            path = self._found(node.place, name)
            if os.path.realpath(path) in self.above:
                raise Refused("attaches itself")
            document = source.opened(path)
        except (FieldError, Refused) as error:
            raise node.place.refuse(node.element, _about(node.element, error)) from None
        rewritten = _text(source, document, self.above)
        self.heaviest = max(self.heaviest, source.weighed.total - before)
        return self._kept(rewritten.encode(), ".xml", path)

    def _found(self, place: Place, name: str, *folders: str) -> str:
        """The path of a file that the model names, in the model's folders or else beside the included file."""
        try:
            return self.main.find(name, *folders, climb=True)
        except Refused:
            if place.places == self.main:
                raise
            return place.places.find(name, climb=True)


def _check_plugin(element: Element, inside: list[str]) -> None:
    """Plugins that crash MuJoCo's compiler: without a name in a flexcomp, or two in a replicate outside its bodies."""
    if element.tag != "plugin":
        return
    around = next((tag for tag in reversed(inside) if tag != "frame"), "")
    if around == "replicate":
        raise Refused("of a <replicate> belongs to no body, and can crash MuJoCo; put it into the body that it is for")
    if around == "flexcomp" and not (element.get("plugin") or element.get("instance")):
        raise Refused("of a <flexcomp> names no plugin, and would crash MuJoCo; give it plugin= or instance=")


def _about(element: Element, error: Exception) -> str:
    """What is wrong with the element, with the file it names where that is at fault."""
    if isinstance(error, FieldError):
        return str(error).removeprefix(f"<{element.tag}> ")
    return f"{shorten(element.get('file', ''))!r}: {error}" if element.get("file") else str(error)


def _slashes(name: str) -> str:
    return name.replace("\\", "/")
