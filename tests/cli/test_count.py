"""`catena count`: what it prints, and how it fails."""

from __future__ import annotations

import json

from tests.commands import run

import catena
from catena import robots
from catena.functions.count import count


def test_counts_of_a_file() -> None:
    path = robots.path("seven_dof_arm")
    shown = run("count", path)
    assert shown.exit_code == 0
    robot = catena.load(path)
    for name in ("forward_dynamics", "inverse_dynamics"):
        assert name in shown.output
        assert f"{count(robot, name).total:,}" in shown.output


def test_json_of_chosen_functions() -> None:
    path = robots.path("two_link_arm")
    shown = run("count", "-", "--function", "forward_dynamics/udu", "--json", stdin=path.read_text())
    found = json.loads(shown.output)["functions"]
    assert list(found) == ["forward_dynamics/udu"]
    plain = count(catena.load(path), "forward_dynamics/udu")
    assert found["forward_dynamics/udu"]["multiplications"] == plain.multiplications


def test_table() -> None:
    shown = run("count", "--table")
    assert shown.exit_code == 0
    for expected in ("201 n − 335", "193 n − 361", "forward_dynamics/udu", "n³", "from n =", "lighter towards the tip"):
        assert expected in shown.output
    formulas = json.loads(run("count", "--table", "--json").output)
    assert formulas[0]["multiplications"] == ["-335", "201"]


def test_refusals() -> None:
    assert run("count").exit_code == 2
    assert run("count", robots.path("two_link_arm"), "--table").exit_code == 2
    unknown = run("count", robots.path("two_link_arm"), "--function", "inverse")
    assert unknown.exit_code == 2
    assert "did you mean" in unknown.output
