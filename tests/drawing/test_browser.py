"""Pages in a real browser: they load, the arm moves, sliders move joints, runs play, the file works offline.

Run with CATENA_SCREENSHOTS=FOLDER to keep what was seen.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from tests.drawing.chromium import PROGRAM, Chromium

import catena

pytest.importorskip("viser")
pytest.importorskip("PIL.Image")
pytest.importorskip("websockets")
pytestmark = pytest.mark.skipif(PROGRAM is None, reason="Chromium is not installed (Debian: apt install chromium)")

START = [0.3, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]


@pytest.fixture(scope="module")
def arm() -> catena.Robot:
    return catena.load("seven_dof_arm")


@pytest.fixture(scope="module")
def run(arm: catena.Robot) -> catena.Run:
    return catena.simulate(arm, START, np.zeros(7), duration=2.0, dt=1e-3)


@pytest.fixture(scope="module")
def browser() -> Iterator[Chromium]:
    made = Chromium()
    yield made
    made.close()


def seen(browser: Chromium, name: str) -> None:
    folder = os.environ.get("CATENA_SCREENSHOTS")
    if folder:
        browser.run("document.querySelectorAll('[class*=Notification-root]').forEach(box => box.remove())")
        Path(folder, name).write_bytes(browser.screenshot())


def colourful(picture: np.ndarray) -> int:
    """Pixels with a colour: those of links, not of the floor or the sky."""
    return int((picture.max(axis=2) - picture.min(axis=2) > 40).sum())


def until_drawn(browser: Chromium) -> np.ndarray:
    end = time.perf_counter() + 40
    while colourful(picture := browser.picture()) < 500:
        assert time.perf_counter() < end, "nothing was drawn"
        time.sleep(0.3)
    return picture


def until_changed(browser: Chromium, before: np.ndarray) -> None:
    end = time.perf_counter() + 20
    while (np.abs(browser.picture() - before).max(axis=2) > 60).sum() < 200:
        assert time.perf_counter() < end, "the picture stayed as it was"
        time.sleep(0.2)


def test_the_page_loads_and_the_arm_and_its_joints_move(arm: catena.Robot, browser: Chromium) -> None:
    with catena.view(arm, START, port=18_090) as page:
        browser.open(page.url)
        before = until_drawn(browser)
        time.sleep(1.0)
        before = browser.picture()
        seen(browser, "page.png")
        page.show(arm.neutral())
        until_changed(browser, before)

        page.show(START)
        browser.until("document.querySelectorAll('[role=slider]').length >= 7")
        time.sleep(1.0)
        before, q = browser.picture(), page._q.copy()
        browser.run("document.querySelectorAll('[role=slider]')[1].focus()")
        browser.key("ArrowRight", 40)
        until_changed(browser, before)
        assert page._q[0, 1] > q[0, 1] + 0.05
        assert np.array_equal(np.delete(page._q, 1, axis=1), np.delete(q, 1, axis=1))


def test_a_run_plays_and_pauses(run: catena.Run, browser: Chromium) -> None:
    with run.view(port=18_090) as page:
        browser.open(page.url)
        before = until_drawn(browser)
        until_changed(browser, before)
        browser.until("[...document.querySelectorAll('button')].some(b => b.innerText == 'pause')")
        seen(browser, "run.png")
        browser.run("[...document.querySelectorAll('button')].find(b => b.innerText == 'pause').click()")
        browser.until("[...document.querySelectorAll('button')].some(b => b.innerText == 'play')")
        time.sleep(0.5)
        at = page._q.copy()
        time.sleep(0.5)
        assert np.array_equal(page._q, at)


def test_the_file_of_a_page_plays_without_a_network(run: catena.Run, tmp_path: Path) -> None:
    run.render(tmp_path / "run.html")
    alone = Chromium()
    try:
        alone.offline()
        alone.open((tmp_path / "run.html").as_uri())
        before = until_drawn(alone)
        until_changed(alone, before)
        seen(alone, "offline.png")
    finally:
        alone.close()
