"""Faults and oddities anywhere in a document of many links and joints."""

from __future__ import annotations

import gc
import pickle
import re

import numpy as np
import pytest

import catena
from catena.errors import LoadError

LINK = """<link name="l{i}"><inertial><origin xyz="0 {x} 0" rpy="0 {x} 0"/><mass value="{m}"/>
  <inertia ixx="{m}" ixy="0" ixz="0" iyy="{m}" iyz="0" izz="{m}"/></inertial>
  <visual><origin xyz="{x} 0 0"/><geometry><cylinder radius="{x}" length="1"/></geometry><material name="red"/></visual>
</link>
"""
JOINT = """<joint name="j{i}" type="{type}"><origin xyz="{x} 0 0"/><parent link="l{p}"/><child link="l{i}"/>
  <axis xyz="0 0 1"/><limit lower="-{x}" upper="{x}" effort="1" velocity="{m}"/></joint>
"""
TYPES = ("revolute", "prismatic", "continuous", "fixed")


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


def test_spelling_does_not_matter() -> None:
    """However attributes are ordered and commented; colours may be defined last."""
    text = document()
    robot, spelled = catena.load(text), catena.load(in_any_order(text))
    assert robot == spelled
    assert dict(robot.tree.meshes) == dict(spelled.tree.meshes)
    assert all(shape.color == (1.0, 0.0, 0.0, 1.0) for shape in robot.tree.meshes["l5"])


def test_a_material_without_a_name_lends_its_colour_to_no_other() -> None:
    text = document(2).replace('<material name="red"/>', '<material><color rgba="0 1 0 1"/></material>', 1)
    robot = catena.load(text.replace('<material name="red"/>', "<material/>"))
    assert [robot.tree.meshes[name][0].color for name in ("l0", "l1")] == [(0.0, 1.0, 0.0, 1.0), None]


def test_the_first_fault_of_a_document_is_named() -> None:
    text = document().replace('name="l40"', 'name=""').replace('name="l50"', 'nam="l50"')
    with pytest.raises(LoadError, match="'name'") as error:
        catena.load(text)
    assert f"line {1 + text[: text.index('<link name=' + chr(34) * 2)].count(chr(10))}:" in str(error.value)


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
def test_what_is_not_about_the_mechanism_is_passed_over(odd: str) -> None:
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


def test_robots_with_shapes_can_be_pickled() -> None:
    robot = catena.load(document())
    again = pickle.loads(pickle.dumps(robot))
    assert again == robot
    assert dict(again.tree.meshes) == dict(robot.tree.meshes)


def test_the_collector_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(catena.load.__globals__, "LONG", 0)
    with pytest.raises(LoadError):
        catena.load(document() + "<")
    assert gc.isenabled()
