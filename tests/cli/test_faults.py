"""Every command under every fault: files that are wrong, options that are none, extras that are missing, no reader."""

from __future__ import annotations

import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import Result
from tests.commands import run

import catena
from catena import robots
from catena.simulation.run import Run

FILES = {
    "junk": b"\x00\x01junk",
    "cut": b"<robot name='a'><link",
    "empty": b"",
    "no_links": b"<robot name='a'/>",
    "bad.toml": b"x = [",
    "empty.toml": b"",
    "empty.npz": b"",
    "junk.npz": b"PK\x03\x04junk",
}
MODELS = ("junk", "cut", "empty", "no_links", "bad.toml", "empty.toml", "missing", "missing.toml", ".", "")
DATA = ("junk", "empty", "empty.npz", "junk.npz", "missing.npz", ".", "")
COMMANDS: dict[str, tuple[str, ...]] = {
    "info": ("info", "FILE"),
    "check": ("check", "FILE"),
    "simulate": ("simulate", "FILE"),
    "view": ("view", "FILE", "--png", "out.png"),
    "count": ("count", "FILE"),
    "identify": ("identify", "FILE", "measured.npz"),
    "identify data": ("identify", "two_link_arm", "FILE"),
    "bench": ("bench", "FILE"),
    "completion": ("completion", "FILE"),
    "cache": ("cache", "FILE"),
    "demo": ("demo", "--quick", "--html", "FILE/demo.html"),
}
TOML = """name = "pair"
[robots.left]
model = "two_link_arm"
[robots.right]
model = "two_link_arm"
position = [1.0, 0.0, 0.0]
"""


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        (tmp_path / name).write_bytes(content)
    (tmp_path / "pair.toml").write_text(TOML)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(shown: Result) -> str:
    """What was said; it must be on stderr alone, in plain words, with exit code 2."""
    assert (shown.exit_code, shown.stdout) == (2, ""), (shown.exit_code, shown.output)
    assert "Traceback" not in shown.stderr
    assert "unsafe" not in shown.stderr
    return shown.stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_bad_files(name: str) -> None:
    words = COMMANDS[name]
    for file in {"identify data": DATA, "demo": ("missing", "junk")}.get(name, MODELS):
        said = refused(run(*(word.replace("FILE", file) for word in words)))
        if name not in ("completion", "cache"):  # whose usage click shows
            assert said.startswith("catena: "), (file, said)
            assert said.count("\n") == 1
            assert not file.strip(".") or Path(file).stem in said
    assert not Path("out.png").exists()


@pytest.mark.parametrize("name", [*COMMANDS, "bare"])
def test_options_that_are_none(name: str) -> None:
    if name == "bench":
        pytest.skip("hands on what it does not know to the benchmark")
    file = {"cache": "info"}.get(name, "two_link_arm")
    words = [word.replace("FILE", file) for word in COMMANDS.get(name, ())]
    assert "No such option" in refused(run(*words, "--colour"))


@pytest.mark.parametrize("name", ["info", "check", "simulate", "view", "count", "identify", "identify data"])
def test_arguments_that_are_missing(name: str) -> None:
    assert "Usage: catena" in refused(run(name.split()[0]))


@pytest.mark.parametrize("wrong", ["seven_dof_am", "quadrupet"])
def test_names_that_are_nearly_right(wrong: str) -> None:
    assert "did you mean" in refused(run("info", wrong))


@pytest.mark.parametrize("name", ["count", "identify"])
def test_what_takes_one_robot_says_so_of_a_system(name: str) -> None:
    assert "expected one robot" in refused(run(name, "pair.toml", *(["x.npz"] if name == "identify" else [])))


def test_systems_in_toml_and_on_standard_input() -> None:
    told = json.loads(run("info", "pair.toml", "--json").stdout)
    assert (told["name"], told["nv"], told["constraints"]) == ("pair", 4, [])
    assert json.loads(run("info", "-", "--json", stdin=TOML).stdout) == told
    arm = robots.path("two_link_arm").read_text()
    assert json.loads(run("info", "-", "--json", stdin=arm).stdout)["nv"] == 2
    assert run("view", "-", "--png", "a.png", "--size", 40, 30, stdin=TOML).exit_code == 0


class TestLoops:
    """MJCF that closes loops is a system to every command that can take one."""

    @pytest.fixture(autouse=True)
    def _mujoco(self) -> None:
        pytest.importorskip("mujoco")

    def test_info(self) -> None:
        assert "hold 3 directions" in run("info", "four_bar").stdout
        told = json.loads(run("info", "four_bar", "--json").stdout)
        assert [c["name"] for c in told["constraints"]] == ["pin"]
        assert told["warnings"] == []

    def test_check(self) -> None:
        found = json.loads(run("check", "four_bar", "--samples", "3", "--json").stdout)
        assert (found["ok"], found["held"], found["left"]) == (True, 3, 1)
        assert max(found["agreement"].values()) < 1e-9
        assert "leave 1 degree of freedom" in run("check", "four_bar", "--samples", "1").stdout

    def test_simulations_stay_closed(self) -> None:
        shown = run("simulate", "four_bar", "--duration", "0.1", "--v", "1", "--out", "run.npz")
        assert shown.exit_code == 0, shown.output
        moved = catena.load_run("run.npz")
        assert moved.constraint_drift().max() < 1e-9
        assert np.abs(moved.v[0]).max() > 1e-3
        shown = run("simulate", "four_bar", "--duration", "0.1", "--q", "0", "--out", "run.npz")  # is closed first
        assert shown.exit_code == 0, shown.output
        assert catena.load_run("run.npz").constraint_drift().max() < 1e-9


def test_mimic_joints_are_said_once() -> None:
    shown = run("check", "gripper", "--samples", "2")
    assert shown.exit_code == 0
    assert shown.stdout.count("mimic joints") == 1
    assert "Not tried" in shown.stdout


@pytest.mark.parametrize(
    "words", [("info", "quadruped"), ("check", "two_link_arm"), ("count", "two_link_arm"), ("bench",)]
)
@pytest.mark.parametrize("columns", ["40", "80"])
def test_narrow_terminals_lose_nothing(words: tuple[str, ...], columns: str) -> None:
    shown = run(*words, COLUMNS=columns, NO_COLOR="1", TERM="xterm")
    assert shown.exit_code == 0
    assert "\x1b" not in shown.stdout
    assert "…" not in shown.stdout
    if columns == "80" and words[0] != "info":
        assert max(map(len, shown.stdout.splitlines())) <= 80
    seen = shown.stdout.replace("\n", " ")
    known = {"info": ["front_left_hip", "max. effort"], "check": ["two_sweep"], "count": ["fused total"]}
    assert all(word in seen for word in known.get(words[0], []))


class TestInterrupted:
    """Ctrl-C while a file is written leaves nothing half-written, and keeps what was there before."""

    @pytest.mark.parametrize("was_there", [False, True])
    def test_runs(self, was_there: bool, monkeypatch: pytest.MonkeyPatch) -> None:
        if was_there:
            Path("run.npz").write_bytes(b"before")
        self.interrupted("numpy.savez", monkeypatch)
        shown = run("simulate", "two_link_arm", "--duration", "0.01", "--out", "run.npz")
        assert (shown.exit_code, shown.stderr) == (1, "catena: interrupted\n")
        assert sorted(p.name for p in Path().glob("*run*")) == (["run.npz"] if was_there else [])
        assert not was_there or Path("run.npz").read_bytes() == b"before"

    def test_identified_parameters(self, monkeypatch: pytest.MonkeyPatch) -> None:
        arm = catena.load("two_link_arm")
        q, v, a = np.random.default_rng(0).standard_normal((3, 50, 2))
        np.savez("data.npz", q=q, v=v, a=a, tau=arm.inverse_dynamics(q, v, a))
        self.interrupted("numpy.savez", monkeypatch)
        assert run("identify", "two_link_arm", "data.npz", "--out", "found.npz").exit_code == 1
        assert not Path("found.npz").exists()

    def test_pictures(self, monkeypatch: pytest.MonkeyPatch) -> None:
        images = pytest.importorskip("PIL.Image")
        self.interrupted(f"{images.__name__}.Image.save", monkeypatch)
        for words in (("view", "two_link_arm", "--png", "a.png"), ("view", "two_link_arm", "--gif", "a.gif")):
            assert run(*words, "--size", 40, 30).exit_code == 1
        assert not [*Path().glob("a.*")]

    def interrupted(self, target: str, monkeypatch: pytest.MonkeyPatch) -> None:
        def save(*given: Any, **_: Any) -> None:
            file = next(x for x in given if isinstance(x, str | os.PathLike) or hasattr(x, "write"))
            if hasattr(file, "write"):
                file.write(b"half")
            else:
                Path(file).write_bytes(b"half")
            raise KeyboardInterrupt

        monkeypatch.setattr(target, save)


@pytest.mark.skipif(os.name == "nt", reason="files of POSIX")
class TestPlacesToWrite:
    def test_devices_and_links_stay_what_they_are(self) -> None:
        moved = run_of_an_arm()
        moved.save("/dev/null")
        assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
        Path("link.npz").symlink_to("real.npz")
        moved.save("link.npz")
        assert Path("link.npz").is_symlink()
        assert np.array_equal(catena.load_run("real.npz").q, moved.q)

    def test_new_files_have_the_permissions_that_others_have(self) -> None:
        run_of_an_arm().save("run.npz")
        Path("other").write_text("")
        assert stat.S_IMODE(os.stat("run.npz").st_mode) == stat.S_IMODE(os.stat("other").st_mode)


def run_of_an_arm() -> Run:
    return catena.simulate(catena.load("two_link_arm"), [0.1, 0.2], [0.0, 0.0], 0.003, 1e-3)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("check", "two_link_arm", "--seed", "-1"), "--seed"),
        (("simulate", "two_link_arm", "--seed", "-1"), "--seed"),
        (("simulate", "two_link_arm", "--control", "pd", "--kp", "nan"), "--kp: expected 1 or 2 finite numbers"),
        (("simulate", "two_link_arm", "--control", "pd", "--kp", "-1"), "--kp: expected numbers of at least 0"),
        (("simulate", "two_link_arm", "--control", "hold", "--kd", "inf"), "--kd: expected 1 or 2 finite numbers"),
        (("simulate", "two_link_arm", "--duration", "1e7", "--dt", "1e-6"), "not enough memory"),
        (("view", "two_link_arm", "--gif", "a.gif", "--speed", "1e-308"), "at most 1,000,000 pictures"),
        (("view", "two_link_arm", "--gif", "a.gif", "--speed", "1e-6"), "at most 1,000,000 pictures"),
    ],
)
def test_numbers_out_of_range(words: tuple[str, ...], told: str) -> None:
    assert told in refused(run(*words))


def test_any_number_of_lines() -> None:
    assert run("info", "two_link_arm", "--lines", 10**30).stdout == run("info", "two_link_arm").stdout


def process(*words: str, shell: str = '"$@"', **environment: str) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, whose standard output is buffered, started by a line of bash."""
    surroundings = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"} | environment
    line = ["bash", "--norc", "-c", shell, "bash", sys.executable, "-m", "catena", *words]
    return subprocess.run(line, capture_output=True, text=True, env=surroundings, encoding="utf-8", errors="replace")


@pytest.mark.skipif(not Path("/dev/full").exists() or shutil.which("bash") is None, reason="files of Linux")
class TestSurroundings:
    @pytest.mark.parametrize("words", [("info", "two_link_arm"), ("count", "--table")])
    def test_streams_of_few_characters(self, words: tuple[str, ...]) -> None:
        done = process(*words, PYTHONIOENCODING="ascii")
        assert (done.returncode, done.stderr) == (0, "")
        assert "\\" in done.stdout

    @pytest.mark.parametrize("words", [("--help",), ("--version",), ("info", "two_link_arm"), ("cache", "info")])
    def test_output_that_is_full(self, words: tuple[str, ...]) -> None:
        done = process(*words, shell='"$@" > /dev/full')
        assert (done.returncode, done.stderr) == (2, "catena: cannot go on: [Errno 28] No space left on device\n")
        assert process("info", "missing", shell='"$@" 2> /dev/full').returncode == 2

    def test_streams_that_are_closed(self) -> None:
        done = process("simulate", "two_link_arm", "--duration", "0.01", shell='"$@" 2>&-')
        assert (done.returncode, "0.01 s in 10 steps" in done.stdout) == (0, True)
        done = process("info", "-", shell='"$@" <&-')
        assert (done.returncode, done.stderr) == (2, "catena: standard input: is closed; expected URDF or MJCF\n")

    def test_a_folder_that_is_gone(self) -> None:
        gone = 'mkdir gone; cd gone; rmdir ../gone; "$@"'
        done = process("simulate", "two_link_arm", "--duration", "0.01", "--out", "run.npz", shell=gone)
        assert done.returncode == 2
        assert "catena: 'run.npz' cannot be written: the current folder is gone" in done.stderr

    def test_warnings_that_are_errors(self) -> None:
        words = ("simulate", "two_link_arm", "--duration", "0.01", "--control", "hold", "--kd", "1000")
        done = process(*words, PYTHONWARNINGS="error::UserWarning")
        assert (done.returncode, done.stderr.count("\n"), done.stderr[:8]) == (2, 1, "catena: "), done.stderr

    def test_names_that_are_no_text(self) -> None:
        shell = """"$@" --png $'a\\xff\\x1b.png'"""
        done = process("view", "two_link_arm", "--size", "40", "30", shell=shell, PYTHONIOENCODING="utf-8")
        assert (done.returncode, done.stdout) == (
            0,
            "written    a\N{REPLACEMENT CHARACTER}\N{REPLACEMENT CHARACTER}.png\n",
        )

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
    def test_signals_leave_nothing_half_written(self, number: int) -> None:
        words = ["simulate", "two_link_arm", "--duration", "20", "--out", "run.npz", "--gif", "run.gif"]

        def heard() -> None:  # a shell that runs tests in the background has its children ignore interrupts
            signal.signal(signal.SIGINT, signal.SIG_DFL)

        command = [sys.executable, "-m", "catena", *words]
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=heard) as started:
            while not Path("run.npz").exists() and started.poll() is None:
                time.sleep(0.01)
            time.sleep(0.2)
            started.send_signal(number)
            told = started.communicate()[1]
        assert (started.returncode, told) == (1, "catena: interrupted\n")
        assert [p.name for p in Path().glob("*run*")] == ["run.npz"]


@pytest.mark.skipif(not Path("/dev/full").exists() or shutil.which("bash") is None, reason="files of Linux")
def test_nobody_reads_or_nothing_fits_and_bash_completes() -> None:
    """In processes, as these are about: one line at most, no traceback; bash finds models, and files."""
    Path("catena").write_text(f'#!/bin/sh\nexec {sys.executable} -m catena "$@"\n')
    Path("catena").chmod(0o755)
    program = """
PATH=.:$PATH
catena count two_link_arm | true; echo "${PIPESTATUS[0]}"
catena cache info > /dev/full; echo "$?"
eval "$(catena completion bash)"
compopt() { echo "$2"; }
complete_it() { COMP_WORDS=("$@"); COMP_CWORD=2; COMPREPLY=(); _catena_completion catena; echo "${COMPREPLY[*]}"; }
complete_it catena info se
"""
    done = subprocess.run(["bash", "--norc", "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["1", "2", "default", "seven_dof_arm"], done.stdout + done.stderr
    assert done.stderr.splitlines() == ["catena: cannot go on: [Errno 28] No space left on device"]


@pytest.mark.filterwarnings("always::catena.ModelWarning")
def test_a_mesh_that_is_not_found_is_told_once(tmp_path: Path) -> None:
    """Also where several files are drawn, and with what to do."""
    pytest.importorskip("viser")
    pytest.importorskip("PIL.Image")
    mesh = '<visual><geometry><mesh filename="package://other/a.stl"/></geometry></visual>'
    (tmp_path / "a.urdf").write_text(f'<robot name="a"><link name="b">{mesh}</link></robot>')
    found = run("view", tmp_path / "a.urdf", "--png", tmp_path / "a.png", "--html", tmp_path / "a.html")
    assert found.exit_code == 0
    assert found.stderr.count("is drawn without") == 1
    assert "--packages" in found.stderr


def test_what_is_nearly_right_is_guessed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands, models that come along, and files beside; where nothing is near, what there is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "arm.urdf").write_text("<robot/>")
    for words, told in (
        (("simulat", "two_link_arm"), "Did you mean 'simulate'?"),
        (("info", "tow_link_arm"), "no such file; did you mean 'two_link_arm'?"),
        (("info", "arm.udrf"), "no such file; did you mean 'arm.urdf'?"),
        (("info", "none/arm.urdf"), "no such file, nor a folder 'none'"),
        (("info", "xyz"), "nor a model that comes along: crane, "),
    ):
        found = run(*words)
        assert found.exit_code == 2
        assert told in found.stderr


def test_endings_of_films_are_known_before_anything_is_computed(tmp_path: Path) -> None:
    for command in ("simulate", "view"):
        found = run(command, tmp_path / "not there.urdf", "--gif", tmp_path / "film.txt")
        assert found.exit_code == 2
        assert "film.txt': expected a file that ends in .png, " in found.stderr
