"""Pages of viser, without a browser: what is served, and the file of a page; see test_browser.py for the rest."""

from __future__ import annotations

import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots
from catena.drawing.controls import _range, joint_sliders
from catena.drawing.page import Page, _quaternions

pytest.importorskip("viser")


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load(robots.path("two_link_arm"))


@pytest.fixture(scope="module")
def run(arm: catena.Robot) -> catena.Run:
    return catena.simulate(arm, [0.5, 0.0], [0.0, 0.0], duration=0.3, dt=1e-3)


@pytest.fixture
def page(arm: catena.Robot) -> Iterator[Page]:
    with catena.view(arm, [0.1, 0.2], port=18_080) as found:
        yield found


def test_a_page_is_served_to_this_machine_only(page: Page, capsys: pytest.CaptureFixture[str]) -> None:
    assert page.url.startswith("http://127.0.0.1:")
    with urllib.request.urlopen(page.url) as answer:
        assert b"<html" in answer.read()
    assert page._server.get_host() == "127.0.0.1"
    assert page.url in repr(page)
    assert page.url in page._repr_html_()
    assert capsys.readouterr().out == ""


def positions(page: Page) -> Any:
    return np.concatenate([handle.batched_positions for handle in page._drawn.handles])


def test_show_moves_what_is_drawn(page: Page) -> None:
    before = positions(page)
    page.show([1.0, -1.0])
    assert np.abs(positions(page) - before).max() > 0.05
    with pytest.raises(catena.CatenaError, match="1 samples"):
        page.show(np.zeros((2, 2)))
    with pytest.raises(catena.ShapeError):
        page.show([1.0])


def test_diverged_samples_are_out_of_sight(page: Page) -> None:
    page.show([np.nan, 0.0])
    assert np.isfinite(positions(page)).all()


def test_a_run_plays_and_samples_stand_apart(arm: catena.Robot) -> None:
    q = arm.random_configuration(0, shape=3)
    run = arm.rollout(q, np.zeros((3, 2)), None, 1e-3, steps=300)
    with run.view(port=18_080, center_of_mass=True, frames=True) as page:
        assert len(np.unique(np.round(page._offsets, 6), axis=0)) == 3
        before = positions(page)
        end = time.perf_counter() + 5.0
        while np.abs(positions(page) - before).max() < 1e-3 and time.perf_counter() < end:
            time.sleep(0.05)
        assert np.abs(positions(page) - before).max() > 1e-3


def test_the_file_of_a_page(arm: catena.Robot, run: catena.Run, page: Page, tmp_path: Path) -> None:
    page.html(tmp_path / "still.html")
    run.render(tmp_path / "run.html")
    still, moving = ((tmp_path / name).stat().st_size for name in ("still.html", "run.html"))
    assert 100_000 < still < moving < 5_000_000
    with pytest.raises(catena.CatenaError, match="cannot be written"):
        run.render(tmp_path / "none" / "run.html")


def test_refusals(arm: catena.Robot) -> None:
    with pytest.raises(catena.ShapeError, match="port"):
        catena.view(arm, port=0)


def test_sliders_have_the_limits_of_joints() -> None:
    assert _range(-1.0, 2.0, 0.0) == (-1.0, 2.0)
    assert _range(-np.inf, np.inf, 4.0) == (-np.pi, 4.0)
    lower, upper = _range(0.5, 0.5, 0.5)
    assert lower < upper


class FakeSlider:
    def __init__(self, value: float) -> None:
        self.value, self.called = value, None

    def on_update(self, call: Any) -> None:
        self.called = call


def test_loops_of_a_system_are_closed_when_a_slider_moves() -> None:
    bar = catena.System.load("gripper")
    q = bar.close(bar.neutral())
    with Page(bar, q, port=18_080) as page:
        shown: list[Any] = []
        sliders: dict[str, FakeSlider] = {}

        class Gui:
            def add_folder(self, _: str) -> Any:
                from contextlib import nullcontext

                return nullcontext()

            def add_slider(self, name: str, low: float, high: float, step: float, at: float) -> FakeSlider:
                return sliders.setdefault(name, FakeSlider(at))

            def add_button(self, _: str) -> Any:
                return type("Button", (), {"on_click": lambda self, call: None})()

        server = type("Server", (), {"gui": Gui()})()
        joint_sliders(server, bar, page._q, lambda state: shown.append(np.array(state)))
        first = next(iter(sliders.values()))
        first.value += 0.05
        first.called(None)  # type: ignore[misc]
        assert shown[-1][0, 0] != q[0]
        assert np.abs(bar.closure_residual(shown[-1])).max() < 1e-6


def test_quaternions() -> None:
    from scipy.spatial.transform import Rotation

    turns = Rotation.random(5, random_state=0)
    found = _quaternions(np.concatenate([turns.as_matrix(), np.full((1, 3, 3), np.nan)]))
    again = Rotation.from_quat(found[:5][:, [1, 2, 3, 0]])
    assert np.allclose((again.inv() * turns).magnitude(), 0.0, atol=1e-6)
    assert found[5].tolist() == [1, 0, 0, 0]
