"""catena view, and simulate where it draws: pictures, films, pages, of models and of runs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from tests.commands import run

import catena
from catena import robots


class TestView:
    def test_pictures_films_and_runs(self, tmp_path: Path) -> None:
        images = pytest.importorskip("PIL.Image")
        out, png, gif = tmp_path / "run.npz", tmp_path / "a.png", tmp_path / "a.gif"
        run("simulate", "two_link_arm", "--duration", "0.2", "--out", out)
        for model in ("two_link_arm", str(out)):
            shown = run("view", model, "--png", png, "--gif", gif, "--size", 64, 48, "--com", "--frames", "--forces")
            assert shown.exit_code == 0, shown.output
            with images.open(png) as picture, images.open(gif) as film:
                assert picture.size == film.size == (64, 48)
                assert film.n_frames > 1

    def test_forces_of_the_ground(self, tmp_path: Path) -> None:
        images = pytest.importorskip("PIL.Image")
        out, plain, forces = tmp_path / "run.npz", tmp_path / "a.png", tmp_path / "b.png"
        fall = ("simulate", "quadruped", "--base", "floating", "--ground", "--contacts", "--duration", "0.3")
        shown = run(*fall, "--every", "10", "--out", out)
        assert shown.exit_code == 0, shown.output
        assert "semi_implicit" in shown.output
        for words, png in (((), plain), (("--contacts",), forces)):
            shown = run("view", out, *words, "--png", png, "--size", 64, 48)
            assert shown.exit_code == 0, shown.output
        with images.open(plain) as a, images.open(forces) as b:
            assert np.abs(np.asarray(a, int) - np.asarray(b, int)).max() > 20
        refused = run("view", "quadruped", "--contacts", "--png", plain)
        assert refused.exit_code == 2
        assert "for runs" in refused.stderr

    def test_feet_that_stand(self, tmp_path: Path) -> None:
        """A robot whose shapes do not say what touches: on feet that are named, held by its joints, not by its base."""
        out, stand = tmp_path / "run.npz", [0.0] * 6 + [1.0] + [0.0, 0.5, -1.0] * 4
        feet = "front_left_foot,front_right_foot,rear_left_foot, rear_right_foot"
        words = ("--base", "floating", "--feet", feet, "--control", "pd", "--kp", 80, "--kd", 2)
        target = ",".join(map(str, stand))
        shown = run("simulate", "quadruped", *words, "--target", target, "--duration", 0.5, "--every", 10, "--out", out)
        assert shown.exit_code == 0, shown.output
        assert "control    compiled" in shown.output
        made = catena.load_run(out)
        assert np.allclose(made.q[0, 7:], stand[7:])
        assert np.array_equal(made.tau[:, :6], np.zeros_like(made.tau[:, :6]))
        assert 0.1 < made.q[-1, 2] < made.q[0, 2]
        wrong = run("simulate", "quadruped", "--base", "floating", "--feet", "front_left_fot")
        assert wrong.exit_code == 2
        assert "front_left_foot" in wrong.stderr
        (tmp_path / "still.urdf").write_text('<robot name="still"><link name="a"/></robot>')
        still = run("simulate", tmp_path / "still.urdf", "--ground")
        assert still.exit_code == 2
        assert "points that touch, found none" in still.stderr

    def test_joints_stop_at_their_limits(self, tmp_path: Path) -> None:
        beyond = {}
        for words in ((), ("--limits", "--losses")):
            out = tmp_path / "run.npz"
            shown = run("simulate", "seven_dof_arm", *words, "--every", 10, "--out", out)
            assert shown.exit_code == 0, shown.output
            made = catena.load_run(out)
            beyond[words] = np.maximum(made.robot.lower - made.q, made.q - made.robot.upper).max()
        assert beyond[()] > 1.0
        assert beyond["--limits", "--losses"] < 0.2

    @pytest.mark.filterwarnings("default::catena.ModelWarning")
    def test_meshes_that_are_missing_are_one_line(self, tmp_path: Path) -> None:
        pytest.importorskip("PIL.Image")
        mesh = '<visual><geometry><mesh filename="package://elsewhere/a.stl"/></geometry></visual>'
        file = tmp_path / "arm.urdf"
        file.write_text(robots.path("two_link_arm").read_text().replace("</inertial>", f"</inertial>{mesh}"))
        shown = run("view", file, "--png", tmp_path / "a.png", "--size", 64, 48)
        assert shown.exit_code == 0, shown.output
        (line,) = shown.stderr.splitlines()
        assert line.startswith("catena: ")
        assert "--packages FOLDER" in line
        assert "2 more" in line

    def test_a_page(self, tmp_path: Path) -> None:
        pytest.importorskip("viser")
        html = tmp_path / "a.html"
        assert run("view", "two_link_arm", "--html", html).exit_code == 0
        assert b"<html" in html.read_bytes()

    @pytest.mark.parametrize("words", [(), ("--q", "0")])
    def test_closed_mechanisms(self, words: tuple[str, ...], tmp_path: Path) -> None:
        pytest.importorskip("PIL.Image")
        pytest.importorskip("mujoco")
        shown = run("view", "four_bar", "--png", tmp_path / "a.png", "--size", 64, 48, *words)
        assert shown.exit_code == 0, shown.output
        assert not shown.stderr
        assert (tmp_path / "a.png").is_file()

    def test_a_damaged_run(self, tmp_path: Path) -> None:
        (tmp_path / "run.npz").write_bytes(b"PK")
        assert run("view", tmp_path / "run.npz").exit_code == 2
