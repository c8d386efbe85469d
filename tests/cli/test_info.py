"""`catena info`: what it prints, and how it fails."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.commands import run

import catena
from catena import robots


def test_commands_are_found() -> None:
    shown = run("--help")
    assert shown.exit_code == 0
    assert "info" in shown.output


def test_tree_joints_and_masses() -> None:
    shown = run("info", robots.path("quadruped"), "--base", "floating")
    assert shown.exit_code == 0
    for expected in ("nq = 19, nv = 18", "13.84 kg", "root_joint", "front_left_knee", "[-2.7, -0.1]", "max. effort"):
        assert expected in shown.output
    assert "rear_right_foot" in shown.output


def test_mimic_joints_have_no_place_in_q() -> None:
    shown = run("info", robots.path("gripper"))
    assert shown.exit_code == 0
    assert "nv = 1" in shown.output
    assert "mimics left_slide" in shown.output
    described = json.loads(run("info", "--json", robots.path("gripper")).output)
    assert described["mimic"] == {"right_slide": {"master": "left_slide", "multiplier": 1.0, "offset": 0.0}}
    assert described["joints"][1]["name"] == "right_slide"


def test_warnings_are_shown() -> None:
    text = robots.path("two_link_arm").read_text().replace("<limit", "<nolimit")
    shown = run("info", "-", stdin=text)
    assert shown.exit_code == 0
    assert shown.output.count("revolute joints without a <limit>") == 1
    assert "warning: revolute joints without a <limit>" in shown.output


def test_lines() -> None:
    shown = run("info", robots.path("seven_dof_arm"), "--lines", "2")
    assert "more" in shown.output
    assert "wrist_roll" not in shown.output


def test_json_holds_everything() -> None:
    shown = run("info", "--json", robots.path("seven_dof_arm"))
    told = json.loads(shown.output)
    robot = catena.load(robots.path("seven_dof_arm"))
    assert (told["nq"], told["total_mass"], told["warnings"]) == (robot.nq, robot.total_mass, [])
    assert [joint["name"] for joint in told["joints"]] == [joint.name for joint in robot.joints]
    assert told["joints"][0]["upper"] == 2.97
    assert told["joints"][6]["upper"] is None
    assert [link["mass"] for link in told["links"]] == robot.tree.mass.tolist()
    assert told["frames"]["tool"]["link"] == "flange"


def test_json_of_joints_with_several_coordinates() -> None:
    told = json.loads(run("info", "--json", "--base", "floating", robots.path("quadruped")).output)
    assert told["joints"][0]["lower"] == [None] * 7
    assert told["joints"][0]["axis"] is None


@pytest.mark.parametrize("as_json", [[], ["--json"]])
@pytest.mark.parametrize(
    "content", ["", "junk", "<robot name='r'/>", "<robot><link name='a'/><link name='b'/></robot>"]
)
def test_bad_input_is_one_line_and_exit_code_2(tmp_path: Path, content: str, as_json: list[str]) -> None:
    file = tmp_path / "bad.urdf"
    file.write_text(content)
    shown = run("info", file, *as_json)
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert shown.stderr.startswith(f"catena: {file}")
    assert shown.stderr.count("\n") == 1


def test_missing_files_and_directories(tmp_path: Path) -> None:
    for place in (tmp_path / "none.urdf", tmp_path):
        shown = run("info", place)
        assert shown.exit_code == 2
        assert shown.stderr.count("\n") == 1


def test_usage_errors_exit_with_2() -> None:
    assert run("info").exit_code == 2
    assert run("nonsense").exit_code == 2
    assert run("info", "x", "--base", "flying").exit_code == 2


def test_names_cannot_steer_the_terminal() -> None:
    text = robots.path("two_link_arm").read_text().replace("elbow", "el[red]bow&#x9b;31m")
    shown = run("info", "-", stdin=text)
    assert shown.exit_code == 0
    assert "el[red]bow\N{REPLACEMENT CHARACTER}31m" in shown.output
    assert "\x9b" not in shown.output
    shown = run("info", "-", stdin=text.replace('type="revolute"', 'type="&#x9b;31m&#10;"'))
    assert (shown.exit_code, shown.stderr.count("\n"), "\x9b" in shown.stderr) == (2, 1, False)
