"""The XML reader against what strangers may send: bombs, depth, size, encodings, garbage."""

from __future__ import annotations

import os
from pathlib import Path
from xml.etree.ElementTree import Element

import pytest
from tests.failing_files import ERRORS, Counter, descriptors, system

import catena
from catena.errors import LoadError
from catena.model.readers import attributes, files, xml
from catena.model.readers.xml import Document, FieldError, elements, line_of, open_document, root_tag

BOMB = """<?xml version="1.0"?><!DOCTYPE lolz [<!ENTITY a "lol"><!ENTITY b "&a;&a;&a;&a;&a;&a;&a;&a;">
<!ENTITY c "&b;&b;&b;&b;&b;&b;&b;&b;"><!ENTITY d "&c;&c;&c;&c;&c;&c;&c;&c;">]><robot name="&d;"/>"""
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="r">&x;</robot>'
DTD = '<!DOCTYPE robot SYSTEM "http://localhost:1/x.dtd"><robot name="r"/>'


def read(source: str | bytes | os.PathLike[str]) -> list[Element]:
    return list(elements(open_document(source)))


def test_root_then_complete_children_with_lines() -> None:
    document = open_document('<robot name="r">\n<a x="1">text<b/>\n<b/></a>\n<c/></robot>')
    root, first, second = elements(document)
    assert (root.tag, root.attrib, len(root)) == ("robot", {"name": "r"}, 0)
    assert (first.tag, [(child.tag, child.text) for child in first]) == ("a", [("b", None), ("b", None)])
    assert second.tag == "c"
    places = [(-1, 0), (0, 0), (0, 1), (0, 2), (1, 0)]
    assert [line_of(document, part, place) for part, place in places] == [1, 2, 2, 3, 4]


@pytest.mark.parametrize("size", [xml._FIRST, xml._CHUNK, 2 * xml._CHUNK])
@pytest.mark.parametrize("more", [-1, 0, 1])
def test_documents_may_end_where_a_chunk_does(size: int, more: int) -> None:
    assert [element.tag for element in read("<a><b/></a>".ljust(size + more))] == ["a", "b"]


def test_streaming_gives_what_a_whole_read_gives() -> None:
    """Over many chunks, whatever their borders cut."""
    parts = "".join(f'<p i="{i}">{"<q><r/></q>" * (i % 7)}</p>' for i in range(5_000))
    streamed = read(f"<a>{parts}</a>")[1:]
    assert [part.get("i") for part in streamed] == [str(i) for i in range(5_000)]
    assert [len(list(part.iter())) for part in streamed] == [1 + 2 * (i % 7) for i in range(5_000)]


@pytest.mark.parametrize("text", [BOMB, EXTERNAL, DTD], ids=["bomb", "external entity", "external DTD"])
def test_document_types_are_refused(text: str) -> None:
    with pytest.raises(LoadError, match="DOCTYPE"):
        read(text)


@pytest.mark.parametrize("text", ["<robot name='&undefined;'/>", "<robot>&undefined;</robot>"])
def test_undefined_entities_are_refused(text: str) -> None:
    with pytest.raises(LoadError, match="undefined entity"):
        read(text)


def test_predefined_entities_and_character_references_are_read() -> None:
    assert read('<robot name="&lt;&amp;&#xe9;&gt;"/>')[0].attrib["name"] == "<&é>"


def test_deep_nesting_is_refused() -> None:
    deepest = "<a>" * xml.MAX_DEPTH + "</a>" * xml.MAX_DEPTH
    assert read(deepest)[0].tag == "a"
    with pytest.raises(LoadError, match="nested more than"):
        read("<a>" * 1_000_000)


def test_too_many_elements_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "MAX_ELEMENTS", 1000)
    with pytest.raises(LoadError, match="more than 1,000 elements"):
        read("<a>" + "<b/>" * 1000 + "</a>")


def test_one_bloated_part_is_refused() -> None:
    with pytest.raises(LoadError, match="one <b> holds more than"):
        read("<a><b>" + "<c/>" * (xml.MAX_ELEMENTS_IN_PART + 1) + "</b></a>")


@pytest.mark.parametrize("filler", ['<b c="{}"/>', "<!--{}-->", "<?p {}?>"])
def test_endless_tags_are_refused(filler: str) -> None:
    with pytest.raises(LoadError, match="single tag or comment"):
        read("<a>" + filler.format(">" * (40 * xml.MAX_TAG_BYTES)) + "</a>")


def test_long_text_between_tags_is_harmless() -> None:
    assert read("<a>" + "x" * (3 * xml.MAX_TAG_BYTES) + "<b/></a>")[1].tag == "b"


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", "UTF-8"),
        ("utf-8-sig", "utf-8"),
        ("utf-16", "UTF-16"),
        ("utf-16-le", "UTF-16"),
        ("latin-1", "ISO-8859-1"),
        ("cp1252", "windows-1252"),
    ],
)
def test_encodings(encoding: str, declared: str) -> None:
    text = f'<?xml version="1.0" encoding="{declared}"?><robot name="Arm für Köln"/>'
    assert read(text.encode(encoding))[0].attrib["name"] == "Arm für Köln"


def test_text_knows_its_encoding_whatever_it_declares() -> None:
    assert read('\ufeff \n<?xml version="1.0" encoding="utf-16"?><robot name="é"/>')[0].attrib["name"] == "é"


@pytest.mark.parametrize("declared", ["shift_jis", "utf-7", "idna", "zlib", "rot13", "unicode_escape", "nonsense"])
def test_odd_encodings_are_refused(declared: str) -> None:
    with pytest.raises(LoadError, match=r"encoding .* is not supported"):
        read(f'<?xml version="1.0" encoding="{declared}"?><robot/>'.encode())


@pytest.mark.parametrize(
    "data",
    [
        b'<?xml version="1.0"?><robot name="\xff\xfe"/>',
        '<robot name="é"/>'.encode("latin-1"),
        "<robot/>".encode("utf-32"),
        bytes(range(256)),
        b"<robot",
        b"<robot></link>",
        b"<robot/><robot/>",
        b"<robot/>trailing",
        b"solid stl file",
        b"\x7fELF\x02\x01\x01",
        b"<robot name='a' name='b'/>",
    ],
)
def test_garbage_is_refused_with_a_place(data: bytes) -> None:
    with pytest.raises(LoadError, match=r"XML text, line \d+"):
        read(data)


@pytest.mark.parametrize("data", [b"", b" \n\t ", "", "   "])
def test_nothing_is_refused(data: str | bytes) -> None:
    with pytest.raises(LoadError, match="empty"):
        read(data)


def test_lone_surrogates_are_refused() -> None:
    with pytest.raises(LoadError, match="not Unicode"):
        read("<robot name='\udc80'/>")


@pytest.mark.parametrize("thing", [None, 3, ["<robot/>"], object()])
def test_other_types_are_refused(thing: object) -> None:
    with pytest.raises(LoadError, match="expected a path, XML text or bytes"):
        read(thing)  # type: ignore[arg-type]


def test_paths(tmp_path: Path) -> None:
    file = tmp_path / "r.urdf"
    file.write_text("<robot/>")
    for source in (file, str(file)):
        document = open_document(source)
        assert (document.path, document.source, root_tag(document)) == (file, str(file), "robot")


def test_empty_file(tmp_path: Path) -> None:
    file = tmp_path / "empty.urdf"
    file.touch()
    with pytest.raises(LoadError, match=r"empty\.urdf: is empty"):
        open_document(file)


def test_missing_directory_and_unreadable(tmp_path: Path) -> None:
    with pytest.raises(LoadError, match="no such file"):
        open_document(tmp_path / "none.urdf")
    with pytest.raises(LoadError, match="is a directory"):
        open_document(tmp_path)
    with pytest.raises(LoadError, match="cannot be read"):
        open_document("a\0b")
    with pytest.raises(LoadError, match="cannot be read"):
        open_document("x" * 100_000)
    (tmp_path / "plain").touch()
    with pytest.raises(LoadError, match="cannot be read"):
        open_document(tmp_path / "plain" / "inside")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_pipes_and_devices_do_not_hang(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for place in (pipe, Path("/dev/zero")):
        with pytest.raises(LoadError, match="not a regular file"):
            open_document(place)


def test_gigabyte_files_are_refused_without_reading(tmp_path: Path) -> None:
    file = tmp_path / "huge.urdf"
    with file.open("wb") as stream:
        stream.truncate(3 * 2**30)
    with pytest.raises(LoadError, match=r"huge\.urdf: holds 3,072 MiB"):
        open_document(file)


def test_large_texts_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xml, "MAX_BYTES", 2**20)
    with pytest.raises(LoadError, match="at most 1 MiB"):
        open_document(b"<a>" + b" " * 2**20)


def number(text: str) -> float:
    return attributes.number(Element("mass", value=text), "value", None)


@pytest.mark.parametrize(
    ("text", "value"), [("1.", 1.0), ("1e-3", 1e-3), ("+.5", 0.5), (" -2E+2\t", -200.0), ("007", 7.0), ("-0", 0.0)]
)
def test_numbers(text: str, value: float) -> None:
    assert number(text) == value


@pytest.mark.parametrize(
    "text",
    ["", " ", "nan", "NaN", "inf", "-inf", "infinity", "1e400", "1_000", "0x10", "1,5", "1d0", "1 2", "١", "½", "${m}"],
)
def test_numbers_that_are_none(text: str) -> None:
    with pytest.raises(FieldError, match="expected one finite number"):
        number(text)


@pytest.mark.parametrize("text", ["", "1", "1 2", "1 2 3 4", "1 2 nan", "1,2,3", "a b c"])
def test_vectors_that_are_none(text: str) -> None:
    with pytest.raises(FieldError, match="expected 3 finite numbers"):
        attributes.vector(Element("origin", xyz=text), "xyz", (0.0, 0.0, 0.0))


def test_two_children_where_one_is_meant() -> None:
    element = read("<a><b>\n<c/><c/></b></a>")[1]
    with pytest.raises(FieldError, match="appears twice"):
        xml.children(element, "c")
    assert xml.children(element, "d")["c"] is element[1]


def test_root_is_found_even_when_the_rest_is_broken() -> None:
    assert root_tag(Document(b"<mujoco><!-- a -- b --></mujoco>", "text")) == "mujoco"


def test_faults_far_into_a_file_have_their_line() -> None:
    links = "".join(f'<link name="l{i}"/>\n' for i in range(3_000))
    with pytest.raises(LoadError, match=r"line 3001: elements are nested more than"):
        read("<robot>" + links + "<a>" * 200 + "</a>" * 200 + "</robot>")
    with pytest.raises(LoadError, match=r"line 3002: is not well-formed"):
        read("<robot>" + links + "<a>\n</b></robot>")


@pytest.mark.skipif(os.name != "posix", reason="counts descriptors")
@pytest.mark.parametrize("error", [name for name in ERRORS if name != "memory"])
def test_every_operation_on_a_file_may_fail(tmp_path: Path, error: str) -> None:
    file = tmp_path / "robot.urdf"
    file.write_text('<robot name="r"><link name="a"/></robot>')
    before, most = descriptors(), 1000

    def load(counter: Counter) -> catena.Robot:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(files, "os", system(counter))
            patch.setattr(files, "open", counter.of(open), raising=False)
            return catena.load(file)

    harmless = Counter(most, ERRORS[error])
    assert load(harmless).name == "r"
    assert harmless.left < most - 3
    for number in range(most - harmless.left):
        with pytest.raises(LoadError, match=r"robot\.urdf"):
            load(Counter(number, ERRORS[error]))
        assert descriptors() == before
