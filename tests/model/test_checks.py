"""Every bad model is refused with an error that names the culprit, and says what was expected and found."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from catena.errors import ModelError, SingularError
from catena.model.assemble import assemble
from catena.model.parts import JointPart, LinkPart
from catena.model.tree import Tree

GOOD = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": 0.1 * np.eye(3)}
NAN, INF = float("nan"), float("inf")


def arm(link: dict[str, Any] | None = None, joint: dict[str, Any] | None = None, **options: Any) -> Tree:
    """root - upper - lower, with the numbers of `lower` and of the joint `elbow` as given."""
    links = [LinkPart("root", **GOOD), LinkPart("upper", **GOOD), LinkPart("lower", **{**GOOD, **(link or {})})]
    elbow: dict[str, Any] = {"name": "elbow", "type": "revolute", "parent": "upper", "child": "lower", **(joint or {})}
    return assemble(links, [JointPart("shoulder", "revolute", "root", "upper"), JointPart(**elbow)], **options)


def test_the_arm_itself_is_good() -> None:
    assert arm().n == 2
    assert arm().warnings == ()


@pytest.mark.parametrize(
    ("numbers", "expected", "found"),
    [
        ({"mass": -1.0}, "zero or more", "-1.0"),
        ({"mass": None}, "finite mass", "None"),
        ({"mass": NAN}, "finite mass", "nan"),
        ({"mass": INF}, "finite mass", "inf"),
        ({"mass": "heavy"}, "finite mass", "heavy"),
        ({"mass": (1.0, 2.0)}, "finite mass", "2.0"),
        ({"com": (0, NAN, 0)}, "3 finite numbers", "nan"),
        ({"com": (0, 0)}, "3 finite numbers", "0, 0"),
        ({"inertia": np.full((3, 3), NAN)}, "3x3 finite numbers", "nan"),
        ({"inertia": (1, 1, 1)}, "3x3", "1, 1, 1"),
        ({"inertia": None}, "3x3", "None"),
        ({"inertia": [[1, 0.5, 0], [0, 1, 0], [0, 0, 1]]}, "symmetric", "0.5"),
        ({"inertia": np.diag([1.0, 1.0, -0.1])}, "positive semidefinite", "-0.1"),
        ({"inertia": [[1, 2, 0], [2, 1, 0], [0, 0, 1]]}, "positive semidefinite", "-1."),
        ({"name": ""}, "non-empty", "''"),
    ],
)
def test_bad_links(numbers: dict[str, Any], expected: str, found: str) -> None:
    if "name" in numbers:
        with pytest.raises(ModelError, match=expected):
            assemble([LinkPart(**{**GOOD, **numbers})], [])
        return
    with pytest.raises(ModelError) as caught:
        arm(numbers)
    assert caught.value.link == "lower"
    for part in ("'lower'", expected, found):
        assert part in str(caught.value)


@pytest.mark.parametrize(
    ("numbers", "expected", "found"),
    [
        ({"type": "ball"}, "revolute", "ball"),
        ({"type": None}, "revolute", "None"),
        ({"parent": "uper"}, "did you mean 'upper'", "uper"),
        ({"parent": None}, "does not exist", "None"),
        ({"child": "hand"}, "does not exist", "hand"),
        ({"axis": (0, 0, 0)}, "not zero", "0."),
        ({"axis": (0, NAN, 0)}, "finite", "nan"),
        ({"axis": "up"}, "3 finite numbers", "up"),
        ({"type": "universal", "axis": (0, 0, 1), "axis2": (0, 1, 1)}, "perpendicular", "(0, 1, 1)"),
        ({"type": "universal", "axis": (0, 0, 1), "axis2": (0, 0, 0)}, "not zero", "0."),
        ({"type": "helical", "pitch": NAN}, "finite pitch", "nan"),
        ({"position": (0, INF, 0)}, "3 finite numbers", "inf"),
        ({"rotation": np.zeros((3, 3))}, "orthonormal", "0."),
        ({"rotation": np.diag([1.0, 1.0, -1.0])}, "right-handed", "-1."),
        ({"rotation": 1e200 * np.eye(3)}, "orthonormal", "e+200"),
        ({"rotation": (0, 0, 0, 1)}, "3x3", "0, 0, 0, 1"),
        ({"lower": 2.0, "upper": 1.0}, "not above", "2.0"),
        ({"lower": NAN}, "lower", "nan"),
        ({"upper": (1.0, 2.0)}, "one number or 1", "2.0"),
        ({"damping": -1.0}, "zero or more", "-1.0"),
        ({"friction": INF}, "zero or more", "inf"),
        ({"armature": "big"}, "numbers", "big"),
        ({"velocity_limit": -1.0}, "zero or more", "-1.0"),
        ({"effort_limit": NAN}, "one number", "nan"),
        ({"name": "shoulder"}, "unique", "shoulder"),
    ],
)
def test_bad_joints(numbers: dict[str, Any], expected: str, found: str) -> None:
    with pytest.raises(ModelError) as caught:
        arm(joint=numbers)
    assert caught.value.joint == numbers.get("name", "elbow")
    for part in (f"'{caught.value.joint}'", expected, found):
        assert part in str(caught.value)


def parts(*names: str) -> list[LinkPart]:
    return [LinkPart(name, **GOOD) for name in names]


def hinges(*pairs: str) -> list[JointPart]:
    return [JointPart(pair, "revolute", pair[0], pair[1]) for pair in pairs]


@pytest.mark.parametrize(
    ("links", "joints", "expected", "culprit"),
    [
        (parts("a", "b", "a"), hinges("ab"), "unique", "a"),
        (parts("a", "b", "c"), hinges("ab"), "found 2 links that no joint carries", "c"),
        (parts("a", "b"), hinges("ab", "ba"), "found none", "a"),
        (parts("a", "b", "c"), hinges("ab", "ac", "bc"), "closes a loop", "c"),
        (parts("a", "b", "c"), hinges("bc", "cb"), "not connected to the root 'a'", "b"),
        (parts("a", "b"), hinges("bb"), "not connected", "b"),
        ([], [], "at least one link", None),
    ],
)
def test_bad_trees(links: list[LinkPart], joints: list[JointPart], expected: str, culprit: str | None) -> None:
    with pytest.raises(ModelError, match=expected) as caught:
        assemble(links, joints)
    assert caught.value.link == culprit


@pytest.mark.parametrize("gravity", [(0, 0), "down", (0, NAN, 0), None])
def test_bad_gravity(gravity: Any) -> None:
    with pytest.raises(ModelError, match="gravity"):
        arm(gravity=gravity)


POINT = np.zeros((3, 3))
LOOSE = [
    ("revolute", 0.0, (0, 0, 0), POINT),  # nothing at all
    ("revolute", 1.0, (0.3, 0, 0), POINT),  # a point mass on the axis, x
    ("revolute", 1.0, (0.3, 0, 0), np.diag([0.0, 0.1, 0.1])),  # a thin rod along the axis
    ("prismatic", 0.0, (0, 0, 0), np.eye(3)),  # inertia, but no mass to push
    ("spherical", 1.0, (0.1, 0.2, 0.3), POINT),  # free to spin about the line to the mass
    ("universal", 1.0, (0, 0.3, 0), POINT),  # on the second axis, y
    ("cylindrical", 1.0, (0.3, 0, 0), POINT),
    ("planar", 1.0, (0, 0, 0), POINT),
    ("free", 1.0, (0.1, 0.2, 0.3), POINT),
]


@pytest.mark.parametrize(("joint_type", "mass", "com", "inertia"), LOOSE)
def test_loose_leaves(joint_type: str, mass: float, com: tuple[float, ...], inertia: np.ndarray) -> None:
    link = {"mass": mass, "com": com, "inertia": inertia}
    with pytest.raises(SingularError, match=r"'lower'.*'elbow'") as caught:
        arm(link, {"type": joint_type})
    assert (caught.value.link, caught.value.joint) == ("lower", "elbow")
    (warning,) = arm(link, {"type": joint_type}, strict=False).warnings
    assert "'lower'" in warning
    assert "singular" in warning
    assert arm(link, {"type": joint_type, "armature": 0.01}).n == 2


HELD = [
    ("revolute", 1.0, (0, 0.3, 0), POINT),
    ("revolute", 0.0, (0, 0, 0), 1e-9 * np.eye(3)),
    ("prismatic", 1e-9, (0, 0, 0), POINT),
    ("helical", 1.0, (0.3, 0, 0), POINT),  # a screw lifts the mass it turns
    ("cylindrical", 1.0, (0, 0.3, 0), POINT),
    ("spherical", 1.0, (0, 0, 0), np.eye(3)),
]


@pytest.mark.parametrize(("joint_type", "mass", "com", "inertia"), HELD)
def test_held_leaves(joint_type: str, mass: float, com: tuple[float, ...], inertia: np.ndarray) -> None:
    assert arm({"mass": mass, "com": com, "inertia": inertia}, {"type": joint_type, "pitch": 0.1}).warnings == ()


def test_massless_links_that_carry_others_are_fine() -> None:
    links = [LinkPart("a"), LinkPart("b"), LinkPart("c", **GOOD)]
    assert assemble(links, hinges("ab", "bc")).n == 2


def test_inertias_of_no_real_body_are_warnings() -> None:
    (warning,) = arm({"inertia": np.diag([1.0, 1.0, 3.0])}).warnings
    assert "'lower'" in warning
    assert arm({"inertia": np.diag([1.0, 1.0, 2.0])}).warnings == ()


def test_indefinite_inertias_of_real_files() -> None:
    """Not strict: a warning if the link is sound about its own origin, or as part of what it is fixed to."""
    slanted = 0.1 * np.array([[1.0, 0, 1.2], [0, 1, 0], [1.2, 0, 1]])
    outlying = {"mass": 1.0, "com": (0, 1.0, 0.0), "inertia": slanted}
    with pytest.raises(ModelError, match="semidefinite"):
        arm(outlying)
    (warning,) = arm(outlying, strict=False).warnings
    assert "'lower'" in warning
    with pytest.raises(ModelError, match=r"'lower'.*semidefinite"):
        arm({**outlying, "com": (0, 0, 0)}, strict=False)
    (warning,) = arm({**outlying, "com": (0, 0, 0), "inertia": 0.1 * slanted}, {"type": "fixed"}, strict=False).warnings
    assert "'lower'" in warning
    with pytest.raises(ModelError, match=r"'lower'.*semidefinite"):
        arm({"inertia": np.diag([-1e-3, 1, 1])}, {"type": "fixed"}, strict=False)


def test_rounding_is_forgiven() -> None:
    tiny = np.diag([-5e-20, 1e-20, 0.0])
    assert arm({"inertia": tiny, "com": (0, 0.1, 0)}).warnings == ()
    nearly = 0.1 * np.eye(3) + 1e-12 * np.array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
    np.testing.assert_array_equal(arm({"inertia": nearly}).inertia[1], arm({"inertia": nearly}).inertia[1].T)


def test_an_error_among_many_is_found_quickly_and_named() -> None:
    links = [LinkPart(f"l{i}", **GOOD) for i in range(2001)]
    links[1234] = LinkPart("culprit", **{**GOOD, "com": (0, NAN, 0)})
    joints = [JointPart(f"j{i}", "revolute", links[i].name, links[i + 1].name) for i in range(2000)]
    with pytest.raises(ModelError) as caught:
        assemble(links, joints)
    assert caught.value.link == "culprit"


@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
@pytest.mark.parametrize("base", ["fixed", "floating"])
def test_every_example_robot_loads(example_urdfs: list[Any], base: Any) -> None:
    """Faults of real files are warnings; the one file without links is refused."""
    from catena.load import load

    empty = [file for file in example_urdfs if file.name == "ur3.urdf"]
    for file in empty:
        with pytest.raises(ModelError):
            load(file, base)
    robots = {file.stem: load(file, base) for file in example_urdfs if file not in empty}
    assert len(robots) > 50
    assert any("'l_gripper'" in warning and "singular" in warning for warning in robots["romeo_laas_small"].warnings)
    assert any("semidefinite" in warning for warning in robots["tiago"].warnings)
