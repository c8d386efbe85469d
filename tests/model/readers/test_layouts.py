"""Long documents are read many elements at a time, with the results of reading them one by one."""

from __future__ import annotations

import gc
import pickle
import re
import warnings
from typing import Any

import numpy as np
import pytest
from tests.model.readers import fuzz_urdf

import catena
from catena.errors import LoadError
from catena.model.readers import layouts
from catena.model.readers.layouts import groups
from catena.model.readers.xml import Document, elements

LINK = """<link name="l{i}"><inertial><origin xyz="0 {x} 0" rpy="0 {x} 0"/><mass value="{m}"/>
  <inertia ixx="{m}" ixy="0" ixz="0" iyy="{m}" iyz="0" izz="{m}"/></inertial>
  <visual><origin xyz="{x} 0 0"/><geometry><cylinder radius="{x}" length="1"/></geometry><material name="red"/></visual>
</link>
"""
JOINT = """<joint name="j{i}" type="{type}"><origin xyz="{x} 0 0"/><parent link="l{p}"/><child link="l{i}"/>
  <axis xyz="0 0 1"/><limit lower="-{x}" upper="{x}" effort="1" velocity="{m}"/></joint>
"""
TYPES = ("revolute", "prismatic", "continuous", "fixed")


@pytest.fixture(autouse=True)
def short_stretches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a short document has many."""
    monkeypatch.setattr(layouts, "STRETCH", 4000)
    monkeypatch.setattr(layouts, "SHORT", 4000)


def document(n: int = 60) -> str:
    """A tree of links with all kinds of joints; the colour is defined last."""
    random = np.random.default_rng(1)
    parts = []
    for i in range(n):
        x, m = random.uniform(0.1, 1.0, 2).round(3)
        parts.append(LINK.format(i=i, x=x, m=m))
        if i:
            parts.append(JOINT.format(i=i, p=random.integers(i), x=x, m=m, type=TYPES[i % 4]))
    return "<robot name='r'>" + "".join(parts) + '<material name="red"><color rgba="1 0 0 1"/></material></robot>'


def for_the_parser(text: str) -> str:
    """The same with a processing instruction in front of every element: what is not plain is not read in stretches."""
    return re.sub("<(?=link|joint)", "<?number one?><", text)


def in_any_order(text: str) -> str:
    """The same with attributes in any order, blanks and comments here and there, and text that means nothing."""
    random = np.random.default_rng(2)

    def shuffled(tag: re.Match[str]) -> str:
        attributes = re.findall(r'[a-z]+="[^"]*"', tag[2])
        blanks = random.choice([" ", "\n\t", "  "], len(attributes))
        return (
            tag[1] + "".join(a + str(b) for a, b in zip(blanks, random.permutation(attributes), strict=True)) + tag[3]
        )

    def noted(tag: re.Match[str]) -> str:
        notes = ["", "", '<!-- a "note" > <link> -->', "<!-- é - -->\n", " text "]
        return str(random.choice(notes)) + tag[0]

    text = re.sub(r"(<(?!robot)[a-z]+)((?:\s+[a-z]+=\"[^\"]*\")+)(\s*/?>)", shuffled, text)
    return re.sub("<(?=link|joint|mass|axis|/link)", noted, text)


def largest(text: str) -> int:
    return max(len(group.parts) for group in groups(Document(text.encode(), "text")))


@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_many_at_a_time_give_what_one_by_one_gives(base: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """In stretches of a long document, and of what the parser gives."""
    text, parsed = document(), for_the_parser(document())
    assert largest(text) > 5
    assert largest(parsed) > 5
    several = [catena.load(text, base=base), catena.load(parsed, base=base)]
    monkeypatch.setattr(layouts, "SOME", 1)
    assert largest(parsed) == 1
    plain = catena.load(parsed, base=base)
    for robot in several:
        assert robot == plain
        assert robot.warnings == plain.warnings
        assert dict(robot.tree.meshes) == dict(plain.tree.meshes)
        assert all(shape.color == (1.0, 0.0, 0.0, 1.0) for shape in robot.tree.meshes["l5"])


def test_spelling_does_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    """However attributes are ordered and commented, elements are read together if their tags are the same."""
    text = document()
    spelled = in_any_order(text)
    monkeypatch.setattr(layouts, "STRETCH", 10**6)
    assert largest(spelled) == largest(text) > 10
    for stretch in (3000, 10**6):
        monkeypatch.setattr(layouts, "STRETCH", stretch)
        robot = catena.load(spelled)
        assert robot == catena.load(text)
        assert dict(robot.tree.meshes) == dict(catena.load(text).tree.meshes)


@pytest.mark.parametrize("number", range(120))
def test_damaged_files_become_what_the_parser_makes_of_them(number: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """In stretches, a file loads if and only if it does so element by element, with the same result."""
    found = []
    for short in (600, 2**18):
        monkeypatch.setattr(layouts, "SHORT", short)
        monkeypatch.setattr(layouts, "STRETCH", 2 * short)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", catena.ModelWarning)
                robot = catena.load(fuzz_urdf.case(3, number))
            found.append((robot.tree.digest(), sorted(robot.warnings)))
        except LoadError:
            found.append(None)
    assert found[0] == found[1]


def test_every_element_comes_once_and_in_its_place() -> None:
    text = document()
    whole = Document(text.encode(), "text")
    names = {part: name for group in groups(whole) for part, name in zip(group.parts, _names(group), strict=True)}
    assert [names[part] for part in range(len(names))] == [each.get("name") for each in list(elements(whole))[1:]]


def _names(group: layouts.Group) -> list[str]:
    names: list[str] = list(group.element.attrib["name"])
    return names


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name="l40"', 'name=""', "non-empty"),
        ('<child link="l40"/>', '<child link="l40">', "not well-formed"),
        ('<child link="l40"/>', '<child link="l&lt;40"/>', "does not exist"),
        ('<child link="l40"/>', '<child link="l<40"/>', "not well-formed"),
        ('<child link="l40"/>', '<child link="l40" link="l40"/>', "not well-formed"),
        ('<child link="l40"/>', '<child link="l\x0140"/>', "not well-formed"),
        ('name="j40" type="revolute"', 'name="j40" type="revolving"', "unknown"),
        ('name="l40"><inertial>', 'name="l40"><inertial><mass value="nan"/></inertial><inertial>', "appears twice"),
        ("</robot>", "</robots>", "not well-formed"),
        ("</robot>", "", "not well-formed"),
        ('<link name="l40">', '</robot><robot name="r"><link name="l40">', "not well-formed"),
    ],
)
def test_faults_far_into_a_document_have_their_lines(old: str, new: str, message: str) -> None:
    text = document().replace('name="j40" type="fixed"', 'name="j40" type="revolute"')
    broken = text.replace(old, new)
    assert broken != text
    with pytest.raises(LoadError, match=message) as error:
        catena.load(broken)
    line = re.search(r"line (\d+)", str(error.value))
    if line is not None:
        assert abs(int(line[1]) - 1 - text[: text.index(old)].count("\n")) <= 2


@pytest.mark.parametrize(
    "odd", ['<!-- "l" -->', "<?x y?>", "<gazebo/>", '5" pipe', "<a b='\"'/>", "<![CDATA[<]]>", "é"]
)
def test_what_is_not_plain_is_left_to_the_parser(odd: str) -> None:
    text = document()
    place = text.index('<link name="l30"')
    assert catena.load(text[:place] + odd + text[place:]) == catena.load(text)


def test_shapes_that_cannot_be_drawn_are_passed_over() -> None:
    text = document()
    broken = re.sub(r'(name="l33".*?)radius="[^"]*"', r'\1radius="0"', text, count=1, flags=re.DOTALL)
    with pytest.warns(catena.ModelWarning, match="cannot be drawn, passed over: 'l33'$"):
        robot = catena.load(broken)
    assert "l33" not in robot.tree.meshes
    assert len(robot.tree.meshes["l32"]) == 1


def test_robots_with_late_shapes_can_be_pickled() -> None:
    robot = catena.load(document())
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert dict(again.tree.meshes) == dict(robot.tree.meshes)


def test_the_collector_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catena.load.__globals__, "LONG", 0)
    with pytest.raises(LoadError):
        catena.load(document() + "<")
    assert gc.isenabled()
