"""Systems in TOML: what a file says, what is refused and with which words, and which files it may open."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from tests.model.readers import fuzz_systems

import catena
from catena import robots

if sys.version_info < (3, 11):
    pytest.importorskip("tomli")

TWO = """
name = "two arms"
gravity = [0, 0, -1.62]

[robots.left]
model = "seven_dof_arm"
position = [-0.5, 0, 0]

[robots.right]
file = "models/arm.urdf"
position = [0.5, 0, 0]
rotation = [0, 0, 3.141592653589793]

[objects.box]
mass = 3.0
inertia = [0.03, 0.04, 0.05]

[[constraints]]
kind = "Weld"
first = "left/tool"
second = "box"
second_position = [-0.2, 0, 0]
second_rotation = [0, 1.5707963267948966, 0]

[[constraints]]
kind = "Hinge"
name = "right hand"
first = "right/tool"
second = "box"
axis = "x"

[[constraints]]
kind = "Coupling"
offset = 0.25

[constraints.joints]
"left/elbow_pitch" = 1.0
"right/elbow_pitch" = [-2.0, 0.1]
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    (tmp_path / "models").mkdir()
    shutil.copy(robots.path("seven_dof_arm"), tmp_path / "models" / "arm.urdf")
    path = tmp_path / "two.toml"
    path.write_text(TWO)
    return path


def test_it_is_the_system_made_in_code(file: Path) -> None:
    arm = catena.load(robots.path("seven_dof_arm"))
    box = catena.Builder("box").link("body", mass=3.0, inertia=(0.03, 0.04, 0.05)).build(base="floating")
    made = catena.System(
        {"left": arm, "right": arm},
        [box],
        [
            catena.Weld("left/tool", "box", second_position=(-0.2, 0, 0), second_rotation=(0, 1.5707963267948966, 0)),
            catena.Hinge("right/tool", "box", axis="x", name="right hand"),
            catena.Coupling({"left/elbow_pitch": 1.0, "right/elbow_pitch": [-2.0, 0.1]}, 0.25),
        ],
        placements={"left": (-0.5, 0, 0), "right": ((0.5, 0, 0), (0, 0, 3.141592653589793))},
        gravity=(0, 0, -1.62),
        name="two arms",
    )
    loaded = catena.System.load(file)
    assert loaded == made
    assert loaded.constraint_names[1] == "right hand"
    assert catena.System.load(str(file)) == made
    text = TWO.replace('file = "models/arm.urdf"', 'model = "seven_dof_arm"')
    assert catena.System.load(text) == made
    assert catena.System.load(text.replace("\n", "\r\n").encode()) == made
    assert catena.System.load(TWO, package_roots=[file.parent]) == made


def test_mimic_joints_are_coupled_or_not() -> None:
    text = '[robots.hand]\nmodel = "gripper"\n'
    assert catena.System.load(text).constraint_names == ("mimic hand/right_slide",)
    free = catena.System.load(f'mimic = "independent"\n{text}')
    assert (free.nv, free.constraints) == (2, ())


def test_every_kind_of_constraint() -> None:
    head = '[robots.a]\nmodel = "two_link_arm"\n[objects.b]\nmass = 1.0\ninertia = [1, 1, 1]\n'
    more = {"Distance": "distance = 0.5", "Universal": 'axis = "z"\naxis2 = [1, 0, 0]'}
    for kind in ("Weld", "Ball", "PointWithFriction", "Hinge", "Slider", "Universal", "Distance", "SoftFinger"):
        text = f'{head}[[constraints]]\nkind = "{kind}"\nfirst = "a/forearm"\nsecond = "b"\n{more.get(kind, "")}'
        (held,) = catena.System.load(text).constraints
        assert type(held) is getattr(catena, kind)
    text = f'{head}[[constraints]]\nkind = "FixedToWorld"\nframe = "b"\nposition = [1, 2, 3]'
    (held,) = catena.System.load(text).constraints
    np.testing.assert_array_equal(held.sides[0].position, (1, 2, 3))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('name = "two arms"', 'nmae = "two arms"', r"two\.toml: there is no key named 'nmae'; did you mean 'name'"),
        ('name = "two arms"', "name = 3", r"name: expected a string, found 3"),
        ("gravity = [0, 0, -1.62]", "gravity = [0, 0]", r"two\.toml: gravity: expected 3 finite numbers"),
        ('model = "seven_dof_arm"', 'modle = "x"', r"line 5: \[robots\.left\]: expected one of the keys file, model"),
        ('model = "seven_dof_arm"', 'model = "eight_dof_arm"', r"\[robots\.left\]: there is no model named"),
        ('model = "seven_dof_arm"', 'model = "seven_dof_arm"\nbase = "lose"', r"line 5: \[robots\.left\]: base"),
        ("position = [0.5, 0, 0]", "positon = [0.5, 0, 0]", r"line 9: \[robots\.right\]: .*'positon'.*'position'"),
        ("rotation = [0, 0, 3.141592653589793]", "rotation = [0, 9]", r"two\.toml: .*placement of right"),
        ("mass = 3.0", "mass = -3.0", r"\[objects\.box\]: .*mass"),
        ("mass = 3.0", 'mass = 3.0\nfile = "x"', r"line 14: \[objects\.box\]: expected one of .*, found file and mass"),
        ('kind = "Weld"', 'kind = "Wled"', r"line 18: \[constraints\[1\]\]: kind: .*'Wled'; did you mean 'Weld'"),
        ('kind = "Weld"', "", r"\[constraints\[1\]\]: kind"),
        ('kind = "Hinge"', 'kind = "Distance"', r"line 25: \[constraints\[2\]\]: .*'axis'"),
        ('axis = "x"', 'axis = "w"', r"line 25: \[constraints\[2\]\]: axis: expected a letter"),
        ('second = "box"\naxis', "second = 3\naxis", r"line 25: \[constraints\[2\]\]: second: expected a string"),
        ('second = "box"\naxis', "axis", r"line 25: \[constraints\[2\]\]: Hinge needs the key 'second'"),
        ('first = "left/tool"', 'first = "left/tol"', r"two\.toml: constraint .*'left/tol'.*'left/tool'"),
        ("offset = 0.25", "offset = nan", r"line 32: \[constraints\[3\]\]: the offset"),
        ("[objects.box]", "[objects.box", r"two\.toml: is not TOML: .*line 14"),
        ("[objects.box]", f"[objects.{'1' * 5000}]\nx = {'1' * 5000}\n[objects.box]", "is not TOML: .*4300 digits"),
        (
            '"left/elbow_pitch" = 1.0',
            '"left/elbow_pitch" = 0.0',
            r"\[constraints\[3\]\]: the ratio of 'left/elbow_pitch'",
        ),
    ],
)
def test_faults_name_the_table_and_the_key(file: Path, old: str, new: str, message: str) -> None:
    assert old in TWO
    file.write_text(TWO.replace(old, new, 1))
    with pytest.raises(catena.LoadError, match=message):
        catena.System.load(file)


@pytest.mark.parametrize(
    "text",
    [
        "robots = 3\n",
        "robots.left = 3\n",
        "constraints = 3\n[robots.a]\nmodel = 'crane'\n",
        "constraints = [3]\n[robots.a]\nmodel = 'two_link_arm'\n",
        "# nothing\n\n",
        "mimic = 'what'\n[robots.a]\nmodel = 'two_link_arm'\n",
        "[robots.a]\nmodel = 'two_link_arm'\nposition = [[1, 2], [3]]\n",
        "[robots.a]\nmodel = 'two_link_arm'\nposition = 3\n",
        "[robots.a]\nmodel = 'two_link_arm'\nrotation = [inf, 0, 0]\n",
        "[robots.a]\nmodel = 'crane'\n[[constraints]]\nkind = 'Coupling'\njoints = {'a/elbow' = [[1, 2], [3]]}\n",
        "a = " + "[" * 5000 + "]" * 5000 + "\n",
        "[objects.b]\nmodel = 'two_link_arm'\nposition = [0, 0, 0]\n",
    ],
)
def test_odd_text_is_refused(text: str) -> None:
    with pytest.raises(catena.LoadError):
        catena.System.load(text)


@pytest.mark.parametrize("name", ["../secret.urdf", "/etc/hostname", "models/link.urdf", "models", "models/none.urdf"])
def test_files_stay_in_the_folder(file: Path, name: str, tmp_path_factory: pytest.TempPathFactory) -> None:
    outside = tmp_path_factory.mktemp("outside") / "arm.urdf"
    shutil.copy(robots.path("seven_dof_arm"), outside)
    shutil.copy(outside, file.parent.parent / "secret.urdf")
    (file.parent / "models" / "link.urdf").symlink_to(outside)
    file.write_text(TWO.replace("models/arm.urdf", name))
    with pytest.raises(catena.LoadError, match=r"two\.toml: \[robots\.right\]"):
        catena.System.load(file)
    with pytest.raises(catena.LoadError, match="a model given as text opens no files"):
        catena.System.load(TWO)


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(catena.LoadError, match="no such file"):
        catena.System.load(tmp_path / "none.toml")
    (tmp_path / "folder.toml").mkdir()
    with pytest.raises(catena.LoadError, match="is a directory"):
        catena.System.load(tmp_path / "folder.toml")


@pytest.mark.parametrize("numbers", ["position = [1e308, 1e308, 0]", "position = [1e200, 0, 0]"])
def test_places_beyond_all_numbers_do_not_warn(numbers: str) -> None:
    """They are refused by name, or load; no overflow on the way."""
    text = f'[robots.a]\nmodel = "two_link_arm"\n{numbers}\n'
    assert fuzz_systems.judge(text.encode(), 0) in ("loaded", "LoadError")


def test_moments_of_which_no_sum_can_be_held_are_refused() -> None:
    with pytest.raises(catena.LoadError, match="numbers can hold the inertia"):
        catena.System.load(b"[objects.a]\nmass = 1\ninertia = [1e308, 1e308, 0]\n")


def test_damaged_files() -> None:
    """A system or a LoadError; see fuzz_systems.py for more."""
    outcomes = [fuzz_systems.judge(fuzz_systems.case(0, number), number) for number in range(150)]
    assert set(outcomes) == {"loaded", "LoadError"}
