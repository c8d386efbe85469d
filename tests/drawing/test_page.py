"""Pages of viser, without a browser: what is served, and the file of a page; see test_browser.py for the rest."""

from __future__ import annotations

import re
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import catena
from catena import robots
from catena.drawing.controls import MOST_SLIDERS, JointSliders, _range
from catena.drawing.page import Page
from catena.drawing.served import _quaternions
from catena.drawing.windows import ASPECTS

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
    return np.concatenate([each.handle.batched_positions for each in page._drawn.handles])  # type: ignore[attr-defined]


def test_a_page_that_waits_says_where_it_is(
    arm: catena.Robot, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    page = catena.view(arm, port=18_137)
    monkeypatch.setattr("catena.drawing.page.time", SimpleNamespace(sleep=interrupt))
    page.wait()
    assert capsys.readouterr().out == f"'two_link_arm' is at {page.url} (Ctrl-C ends it)\n"


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


def test_the_file_of_a_page_has_cameras_for_windows_of_any_shape(arm: catena.Robot, tmp_path: Path) -> None:
    """From the narrowest to the widest; the narrower the window, the farther away."""
    catena.simulate(arm, np.zeros((4, 2)), np.zeros((4, 2)), 0.1, 1e-2).render(tmp_path / "run.html")
    head = (tmp_path / "run.html").read_text(encoding="utf-8").partition("</head>")[0]
    found = re.findall(r'\[([\d.]+), "([^"]+)", "([^"]+)"\]', head)
    assert [float(aspect) for aspect, _, _ in found] == sorted(ASPECTS)
    eye, target = (np.array([[float(x) for x in row[k].split(",")] for row in found]) for k in (1, 2))
    away = np.linalg.norm(eye - target, axis=1)
    assert np.ptp(target, axis=0).max() < 1e-6
    assert (np.diff(away) <= 0).all()
    assert away[0] > 1.5 * away[-1]


def test_refusals(arm: catena.Robot) -> None:
    with pytest.raises(catena.ShapeError, match="port"):
        catena.view(arm, port=0)


def test_sliders_have_the_limits_of_joints() -> None:
    assert _range(-1.0, 2.0, 0.0) == (-1.0, 2.0)
    assert _range(-np.inf, np.inf, 4.0) == (-3.15, 4.0)
    lower, upper = _range(0.5, 0.5, 0.5)
    assert lower < upper


def move(sliders: JointSliders, number: int, value: float) -> None:
    """As a person does in a browser."""
    slider = sliders.sliders[number]
    slider.value = value
    sliders._moved(SimpleNamespace(client_id=1, target=slider))


def test_loops_of_a_system_are_closed_when_a_slider_moves() -> None:
    bar = catena.System.load("gripper")
    q = bar.close(bar.neutral())
    with Page(bar, q, port=18_080) as page:
        sliders = page._sliders
        assert sliders is not None
        move(sliders, 0, sliders.sliders[0].value + 0.05)
        assert page._q[0, 0] == q[0] + 0.05
        assert np.abs(bar.closure_residual(page._q)).max() < 1e-6
        others = [joint.q_slice.start for joint in bar.joints]
        assert np.allclose([slider.value for slider in sliders.sliders], page._q[0, others])


def test_sliders_of_very_many_joints_take_turns() -> None:
    chain = catena.rod_chain(100)
    with Page(chain, port=18_080) as page:
        sliders = page._sliders
        assert sliders is not None
        assert len(sliders.sliders) == MOST_SLIDERS
        assert list(sliders._choice.options)[-1] == "97 to 100"
        move(sliders, 3, 0.25)
        sliders._choice.value = "97 to 100"
        assert [slider.visible for slider in sliders.sliders].count(True) == 4
        assert sliders.sliders[0].label == chain.joints[96].name
        move(sliders, 1, -0.5)
        assert np.flatnonzero(page._q[0]).tolist() == [3, 97]
        sliders._choice.value = "1 to 24"
        assert sliders.sliders[3].value == 0.25
        sliders._back(None)
        assert not page._q.any()
        assert sliders.sliders[3].value == 0.0


def test_quaternions() -> None:
    from scipy.spatial.transform import Rotation

    turns = Rotation.random(5, random_state=0)
    found = _quaternions(np.concatenate([turns.as_matrix(), np.full((1, 3, 3), np.nan)]))
    again = Rotation.from_quat(found[:5][:, [1, 2, 3, 0]])
    assert np.allclose((again.inv() * turns).magnitude(), 0.0, atol=1e-6)
    assert found[5].tolist() == [1, 0, 0, 0]
