"""`catena.view` and `run.view`: a robot on a page in the browser, by viser; and that page as one file."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, of_systems
from catena.arguments.words import truth
from catena.drawing.arrows import Asked, arrows_of
from catena.drawing.controls import JointSliders, Player
from catena.drawing.guarded import quietly, serving
from catena.drawing.marks import Marks
from catena.drawing.scene import Drawable
from catena.drawing.served import Drawn
from catena.drawing.stage import NOTHING, Staged, batched, configurations, frames_of, samples_of, times_of
from catena.drawing.windows import fitted
from catena.errors import CatenaError, writing

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

PORT = 8080
RATE = 30.0
"""Pictures a second."""


@of_systems("forest")
def view(
    robot: Drawable,
    q: npt.ArrayLike | None = None,
    *,
    run: Run | None = None,
    port: int = PORT,
    frames: Any = False,
    center_of_mass: bool = False,
    forces: Asked = None,
) -> Page:
    """Show a robot or a system as a page in the browser: turn it, move its joints, play a run.

        page = catena.view(robot, q)
        page.wait()  # says where it is, until Ctrl-C

    The page is served from this process to this machine only, as long as it runs, and only to those who know its
    address, which ends in a random word: other pages that are open in the browser do not. In notebooks it shows below
    the cell. Needs viser, the extra `catena-dynamics[view]`.

    Args:
        robot: a Robot or a System.
        q: configurations, (..., nq); several stand side by side. The neutral one if left out.
        run: a run to play; see `run.view`.
        port: where the page is, if that is free; else the next one that is.
        frames: links and frames whose axes are drawn; True for all links.
        center_of_mass: whether to mark the centre of mass.
        forces: drawn as arrows, as `catena.render` has them; of a run, as `run.render` has them.

    Returns:
        The page: `url`, `show(q)`, `html(path)`, `wait()` and `stop()`.
    """
    a_robot("view", robot, closed=True)
    states = batched(robot, q) if run is None else run.q
    marks = Marks(frames, truth("center_of_mass", center_of_mass), arrows_of(robot, forces, states, run))
    return Page(robot, q, run, port, marks)


class Page:
    """A page in the browser, served by this process; see `catena.view`. It ends with `stop`, or as a context manager.

    Args:
        robot: a Robot or a System.
        q: configurations to show, (..., nq).
        run: a run to play.
        port: where the page is, if that is free.
        marks: what is drawn besides the links.
    """

    def __init__(
        self,
        robot: Any,
        q: npt.ArrayLike | None = None,
        run: Run | None = None,
        port: int = PORT,
        marks: Marks = NOTHING,
    ) -> None:
        self.robot, self._run, self._marks = robot, run, marks
        self._q = configurations(robot, run.q[..., 0, :] if run is not None else q)
        if run is None:
            staged = Staged(robot, self._q[:, None], marks)
        else:
            some = run.t[:: max(len(run.t) // 200, 1)]  # enough to see how far it goes
            shown, seen = frames_of(run, marks, some)
            staged = Staged(robot, samples_of(robot, shown.q), seen)
        self._server, self._url = serving(robot.name, port)
        self._lock = threading.Lock()
        self._drawn = Drawn(self._server, staged)
        self._drawn.fit_to_windows()
        self._offsets = staged.offsets
        self._server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self._server.gui.main_panel.dock_right()  # beside the scene, not over it
        self._player: Player | None = None
        self._sliders: JointSliders | None = None
        self.show(self._q)
        if run is None:
            self._sliders = JointSliders(self._server, robot, self._q, self.show)
        else:
            self._player = Player(self._server, run.t, self._show_at)

    @property
    def url(self) -> str:
        """The address of the page; who does not know it all, the word at its end too, gets no answer."""
        return self._url

    def show(self, q: npt.ArrayLike) -> None:
        """Show other configurations, as many as before, (..., nq). Forces stay as they were, in the axes of links."""
        self._show(q, None if self._marks.arrows is None else self._marks.arrows.acting[:, 0])

    def _show_at(self, t: float) -> None:
        """Show the run at a time."""
        assert self._run is not None
        shown, marks = frames_of(self._run, self._marks, np.array([t]))
        self._show(shown.q[..., 0, :], None if marks.arrows is None else marks.arrows.acting[:, 0])

    def _show(self, q: npt.ArrayLike, acting: Array | None) -> None:
        rows = configurations(self.robot, q)
        if len(rows) != len(self._offsets):
            raise CatenaError(f"show: this page has {len(self._offsets)} samples, got {len(rows)}; open another page")
        with self._lock:
            self._q = rows
            self._drawn.move(self._drawn.scene.places(self.robot, rows, acting).moved(self._offsets))

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file that needs no server and no network; a run plays in it, joints have no sliders."""
        write_page(self.robot, path, self._q, run=self._run, marks=self._marks)

    def wait(self) -> None:
        """Say where the page is, serve it until Ctrl-C, then stop it."""
        print(f"{self.robot.name!r} is at {self.url} (Ctrl-C ends it)", flush=True)
        try:
            while True:
                time.sleep(0.2)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End the page; the browser keeps what it shows."""
        if self._player is not None:
            self._player.stop()
        with quietly():
            self._server.stop()

    def __enter__(self) -> Page:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def __repr__(self) -> str:
        return f"<Page of {self.robot.name!r} at {self.url}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page itself."""
        return f'<iframe src="{self.url}" width="100%" height="480" style="border:0"></iframe>'


def write_page(
    robot: Any,
    path: str | os.PathLike[str],
    q: npt.ArrayLike | None = None,
    *,
    run: Run | None = None,
    marks: Marks = NOTHING,
    rate: float = RATE,
    speed: float = 1.0,
) -> None:
    """Write a page to one file that plays the run, if one is given, without a server or a network."""
    if run is None:
        states = configurations(robot, q)[:, None]
    else:
        shown, marks = frames_of(run, marks, times_of(run, rate, speed))
        states = samples_of(robot, shown.q)
    staged = Staged(robot, states, marks)
    server, _ = serving(robot.name, PORT)
    try:
        serializer = server.get_scene_serializer()
        drawn = Drawn(server, staged)
        for row in range(states.shape[1]):
            drawn.move(staged.at(row))
            if run is not None:
                serializer.insert_sleep(1 / rate)
        text = fitted(serializer.as_html(), drawn.seeing)
    finally:
        with quietly():
            server.stop()
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")
