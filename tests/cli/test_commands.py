"""Every command: success, a bad file, a missing extra, Ctrl-C, --json, help with an example."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest
from tests.commands import run

import catena
from catena import later, robots
from catena.cli import Commands, bench, main
from catena.cli._files import numbers

COMMANDS = Commands().list_commands(click.Context(main))
OF_A_MODEL = ("info", "check", "simulate", "view", "count")


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Path:
    robot = catena.load("two_link_arm")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 200)
    v, a = rng.standard_normal((2, 200, 2))
    path = tmp_path_factory.mktemp("data") / "measured.npz"
    np.savez(path, q=q, v=v, a=a, tau=robot.inverse_dynamics(q, v, a) + 1e-3 * rng.standard_normal((200, 2)))
    return path


def test_the_package_runs_as_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", "catena", "info", "-h"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: catena info")


def test_all_commands_are_there() -> None:
    expected = {"bench", "cache", "check", "completion", "count", "demo", "identify", "info", "simulate", "view"}
    assert set(COMMANDS) == expected


@pytest.mark.parametrize("name", COMMANDS)
def test_help_has_an_example_and_80_columns(name: str) -> None:
    shown = run(name, "--help")
    assert shown.exit_code == 0
    assert "Example" in shown.output
    assert max(map(len, shown.output.splitlines())) <= 80


@pytest.mark.parametrize("name", OF_A_MODEL)
def test_a_bad_file_is_one_line_and_exit_code_2(name: str, tmp_path: Path) -> None:
    file = tmp_path / "bad.urdf"
    file.write_text("<robot/>")
    for given in (str(file), "no_such_robot", str(tmp_path)):
        shown = run(name, given)
        assert (shown.exit_code, shown.stdout) == (2, ""), shown.output
        assert shown.stderr.startswith("catena: ")
        assert shown.stderr.count("\n") == 1


@pytest.mark.parametrize("name", OF_A_MODEL)
def test_a_missing_extra_names_the_command_that_installs_it(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mujoco", None)
    shown = run(name, "crane")
    assert shown.exit_code == 2
    assert "pip install 'catena-dynamics[mjcf]'" in shown.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        ("view", "two_link_arm"),
        ("view", "two_link_arm", "--png", "{}/a.png"),
        ("simulate", "two_link_arm", "--gif", "{}/a.gif"),
    ],
)
def test_without_viser_or_pillow_the_remedy_is_said(
    arguments: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(later, "import_module", missing)
    shown = run(*(word.format(tmp_path) for word in arguments))
    assert shown.exit_code == 2, shown.output
    assert "pip install 'catena-dynamics[view]'" in shown.stderr


@pytest.mark.parametrize(
    ("arguments", "target"),
    [
        (("info", "two_link_arm"), "catena.cli.info.read_model"),
        (("count", "two_link_arm"), "catena.cli.count.read_robot"),
        (("check", "two_link_arm"), "catena.cli.check.examined"),
        (("simulate", "two_link_arm"), "catena.cli.simulate.simulate"),
        (("view", "two_link_arm"), "catena.cli.view.view"),
        (("identify", "two_link_arm", "{measured}"), "catena.cli.identify.identify"),
        (("bench", "chains"), "catena.cli.bench.subprocess.call"),
        (("cache", "info"), "catena.kernels.machine.cache.Cache.info"),
        (("demo",), "catena.cli.demo.moving"),
    ],
)
def test_ctrl_c_is_one_line_and_exit_code_1(
    arguments: tuple[str, ...], target: str, measured: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: Any, **__: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(target, interrupted)
    shown = run(*(word.format(measured=measured) for word in arguments))
    assert shown.exit_code == 1
    assert shown.stderr == "catena: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_from_outside_ends_a_simulation(tmp_path: Path) -> None:
    """With what there is so far: the run is written before the command ends."""
    out = tmp_path / "run.npz"
    program = "from catena.cli import main; print('ready', flush=True); main(prog_name='catena')"
    words = ["simulate", "two_link_arm", "--duration", "1e6", "--every", "1000000", "--out", str(out)]
    command = [sys.executable, "-c", program, *words]

    def heard() -> None:  # who starts tests in the background may have had interrupts ignored
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, "preexec_fn": heard}
    with subprocess.Popen(command, **pipes) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        time.sleep(3.0)
        process.send_signal(signal.SIGINT)
        complained = process.communicate(timeout=600)[1]
    assert process.returncode == 1, complained
    assert "catena: interrupted" in complained


class TestCheck:
    def test_a_sound_robot(self) -> None:
        shown = run("check", "two_link_arm")
        assert shown.exit_code == 0
        assert "No faults found" in shown.output
        assert "udu" in shown.output

    def test_json(self) -> None:
        found = json.loads(run("check", "quadruped", "--base", "floating", "--samples", "3", "--json").stdout)
        assert found["ok"]
        assert max(x for x in found["agreement"].values()) < 1e-9
        robot = catena.load("quadruped", base="floating")
        assert found["nv"] == robot.nv
        assert 1 <= found["condition"] < 1e6

    def test_an_impossible_link_is_exit_code_1(self, tmp_path: Path) -> None:
        file = tmp_path / "odd.urdf"
        text = robots.path("two_link_arm").read_text()
        start = text.rindex("ixx=")
        odd = 'ixx="9" ixy="0" ixz="0" iyy="1" iyz="0" izz="1"'
        file.write_text(text[:start] + odd + text[text.index("/>", start) :])
        shown = run("check", file)
        assert shown.exit_code == 1, shown.output
        assert "impossible link" in shown.output

    def test_methods_that_differ_are_exit_code_1(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from catena.cli import check

        monkeypatch.setattr(check, "_agreement", lambda *_: {"forward dynamics, udu": 1e-3})
        shown = run("check", "two_link_arm")
        assert shown.exit_code == 1
        assert "DIFFERS" in shown.output


class TestSimulate:
    def test_to_a_file_and_back(self, tmp_path: Path) -> None:
        out = tmp_path / "run.npz"
        shown = run("simulate", "two_link_arm", "--q", "0.5,0", "--duration", "0.1", "--out", out)
        assert shown.exit_code == 0
        assert str(out) in shown.output
        found = catena.load_run(out)
        arm = catena.load("two_link_arm")
        expected = catena.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.1, dt=1e-3, integrator="midpoint")
        assert np.array_equal(found.q, expected.q)

    def test_a_run_that_diverged_is_a_failure(self) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)  # of NumPy
            shown = run("simulate", "two_link_arm", "--v", "1e200", "--duration", "0.05")
        assert (shown.exit_code, shown.stderr) == (1, "")
        assert "diverged" in shown.stdout

    def test_pd_comes_to_the_target(self, tmp_path: Path) -> None:
        out = tmp_path / "run.npz"
        told = run("simulate", "seven_dof_arm", "--control", "hold", "--target", "0.5", "--out", out, "--json")
        found = json.loads(told.stdout)
        assert (found["diverged"], found["files"]) == (False, [str(out)])
        assert np.allclose(catena.load_run(out).q[-1], 0.5, atol=1e-3)

    @pytest.mark.parametrize(
        ("option", "value", "why"),
        [
            ("--q", "1,2,3", "expected 1 or 2"),
            ("--q", "one", "expected numbers"),
            ("--dt", "0", "dt must be"),
            ("--integrator", "eulr", "semi_implicit"),
            ("--out", "nowhere/run.npz", "make it first"),
        ],
    )
    def test_refusals(self, option: str, value: str, why: str) -> None:
        shown = run("simulate", "two_link_arm", option, value)
        assert (shown.exit_code, shown.stdout) == (2, "")
        assert why in shown.stderr


def test_names_cannot_steer_the_terminal(tmp_path: Path) -> None:
    text = robots.path("two_link_arm").read_text().replace('name="two_link_arm"', 'name="odd&#133;[2Jname"')
    for words in (("simulate", "-", "--duration", "0.01"), ("check", "-", "--samples", "1")):
        shown = run(*words, stdin=text)
        assert shown.exit_code == 0, shown.output
        assert "\x85" not in shown.output
        assert "name: " in shown.output


class TestIdentify:
    def test_report_and_json(self, measured: Path, tmp_path: Path) -> None:
        out = tmp_path / "found.npz"
        shown = run("identify", "two_link_arm", measured, "--out", out)
        assert shown.exit_code == 0, shown.output
        assert "base parameters are determined" in shown.output
        told = json.loads(run("identify", "two_link_arm", measured, "--json").stdout)
        assert told["residuals_after"] <= told["residuals_before"] * 1.01
        with np.load(out) as found:
            assert found["parameters"].shape == catena.load("two_link_arm").parameters().vector.shape

    def test_bad_data(self, tmp_path: Path) -> None:
        np.savez(tmp_path / "half.npz", q=np.zeros((3, 2)))
        (tmp_path / "junk.npz").write_bytes(b"junk")
        for name, why in (("half.npz", "no v, a, tau"), ("junk.npz", "file of NumPy"), ("none.npz", "no such file")):
            shown = run("identify", "two_link_arm", tmp_path / name)
            assert shown.exit_code == 2
            assert why in shown.stderr


class TestBench:
    def test_a_list(self) -> None:
        told = json.loads(run("bench", "--json").stdout)
        assert "bench" in told
        assert "timing" not in told
        assert "closed_chains" in run("bench").output

    def test_refusals(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        assert "did you mean" in run("bench", "chain").stderr
        monkeypatch.setattr(bench.catena, "__file__", str(tmp_path / "a" / "b" / "c.py"))
        shown = run("bench")
        assert shown.exit_code == 2
        assert "clone" in shown.stderr


def test_cache_as_json() -> None:
    assert json.loads(run("cache", "info", "--json").stdout)["limit"] > 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion(shell: str, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = run("completion", shell)
    assert shown.exit_code == 0
    assert "_CATENA_COMPLETE" in shown.output


def test_models_are_completed() -> None:
    from click.shell_completion import ShellComplete

    found = ShellComplete(main, {}, "catena", "_CATENA_COMPLETE").get_completions(["info"], "seven")
    assert "seven_dof_arm" in [item.value for item in found]


@pytest.mark.parametrize("name", robots.names())
def test_models_that_come_along_are_known_by_name(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if robots.path(name).suffix == ".xml":
        pytest.importorskip("mujoco")
    monkeypatch.chdir(tmp_path)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", catena.ModelWarning)
        assert catena.load(name) == catena.load(robots.path(name))


def test_a_file_of_that_name_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "quadruped").write_text(robots.path("two_link_arm").read_text())
    assert catena.load("quadruped").nv == 2
    assert catena.System.load("gripper") == catena.System.load(robots.path("gripper"))


def test_numbers() -> None:
    assert numbers(None, "x", 3) is None
    assert numbers("1, 2 3", "x", 3).tolist() == [1, 2, 3]  # type: ignore[union-attr]
    assert numbers("0.5", "x", 3).tolist() == [0.5] * 3  # type: ignore[union-attr]
    for bad in ("1,2", "nan", "a"):
        with pytest.raises(catena.ShapeError, match="x"):
            numbers(bad, "x", 3)


class TestDemo:
    def test_something_moves_and_is_seen(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        from catena.cli import _speeds, demo

        monkeypatch.setattr(demo, "SECONDS", 0.2)
        monkeypatch.setattr(_speeds, "BATCH", 100)
        monkeypatch.setattr(_speeds, "LENGTHS", (100,))
        monkeypatch.setattr(_speeds, "SECONDS", 0.0)
        page = tmp_path / "demo.html"
        shown = run("demo", "--html", page)
        assert shown.exit_code == 0, shown.output
        assert "@" in shown.output
        assert "one state" in shown.output
        assert page.is_file() or "pip install 'catena-dynamics[view]'" in shown.output

    def test_without_viser_the_rest_is_shown(self, monkeypatch: pytest.MonkeyPatch) -> None:
        from catena.cli import demo

        def missing(name: str) -> None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

        monkeypatch.setattr(demo, "SECONDS", 0.1)
        monkeypatch.setattr(later, "import_module", missing)
        shown = run("demo", "--quick")
        assert shown.exit_code == 0, shown.output
        assert "pip install 'catena-dynamics[view]'" in shown.output
