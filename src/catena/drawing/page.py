"""`catena.view` and `run.view`: a robot on a page in the browser, by viser; and that page as one file."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich import get_console

from catena.drawing.arrows import Asked, arrows_of
from catena.drawing.camera import OPENING, VIEW, Camera
from catena.drawing.controls import Player, joint_sliders
from catena.drawing.marks import Marks
from catena.drawing.pictures import NOTHING, batched, configurations, frames_of, samples_of, staged, times_of
from catena.drawing.scene import Drawable, Places, Scene
from catena.errors import CatenaError, ShapeError, writing
from catena.later import optional
from catena.model.axes import axis_frame

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

HOST = "127.0.0.1"
"""Pages are for this machine only."""
PORT = 8080
DEEPER = 1.7
"""The power that colours are taken to: the page has more light than pictures have."""
RATE = 30.0
"""Pictures a second."""


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
        print(page.url)
        page.wait()  # until Ctrl-C

    The page is served from this process to this machine only, as long as it runs. In notebooks it shows below the cell.
    Needs viser, the extra `catena-dynamics[view]`.

    Args:
        robot: a Robot or a System.
        q: configurations, (..., nq); several stand side by side. The neutral one if left out.
        run: a run to play; see `run.view`.
        port: where the page is, if that is free; else the next one that is.
        frames: links and frames whose axes are drawn; True for all links.
        center_of_mass: whether to mark the centre of mass.
        forces: drawn as arrows, as `catena.render` has them; of a run, one for each of its states, (..., rows, 3).

    Returns:
        The page: `url`, `show(q)`, `html(path)`, `wait()` and `stop()`.
    """
    states = batched(robot, q) if run is None else run.q
    return Page(robot, q, run, port, Marks(frames, center_of_mass, arrows_of(robot, forces, states, run)))


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
            scene, places = staged(robot, self._q[:, None], marks)
        else:
            some = run.t[:: max(len(run.t) // 200, 1)]  # enough to see how far it goes
            shown, seen = frames_of(run, marks, some)
            scene, places = staged(robot, samples_of(robot, shown.q), seen)
        self._server = serving(robot.name, port)
        self._lock = threading.Lock()
        self._drawn = Drawn(self._server, scene, places)
        self._offsets = places.position[:, 0, 0]
        self._server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
        self._player: Player | None = None
        self.show(self._q)
        if run is None:
            joint_sliders(self._server, robot, self._q, self.show)
        else:
            self._player = Player(self._server, run.t, self._show_at)

    @property
    def url(self) -> str:
        """The address of the page."""
        return f"http://{HOST}:{self._server.get_port()}"

    def show(self, q: npt.ArrayLike) -> None:
        """Show other configurations, as many as before, (..., nq). Forces stay as they were, in the axes of links."""
        self._show(q, None if self._marks.arrows is None else self._marks.arrows.force[:, 0])

    def _show_at(self, t: float) -> None:
        """Show the run at a time."""
        assert self._run is not None
        shown, marks = frames_of(self._run, self._marks, np.array([t]))
        self._show(shown.q[..., 0, :], None if marks.arrows is None else marks.arrows.force[:, 0])

    def _show(self, q: npt.ArrayLike, force: Array | None) -> None:
        rows = configurations(self.robot, q)
        if len(rows) != len(self._offsets):
            raise CatenaError(f"show: this page has {len(self._offsets)} samples, got {len(rows)}; open another page")
        with self._lock:
            self._q = rows
            self._drawn.move(self._drawn.scene.places(self.robot, rows, force).moved(self._offsets))

    def html(self, path: str | os.PathLike[str]) -> None:
        """Write the page to one file that needs no server and no network; a run plays in it, joints have no sliders."""
        write_page(self.robot, path, self._q, run=self._run, marks=self._marks)

    def wait(self) -> None:
        """Serve the page until Ctrl-C, then stop it."""
        try:
            while True:
                time.sleep(0.2)
        except KeyboardInterrupt:
            self.stop()

    def stop(self) -> None:
        """End the page; the browser keeps what it shows."""
        if self._player is not None:
            self._player.stop()
        with _quietly():
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


def serving(name: str, port: int) -> Any:
    """A server of viser for this machine only, that prints nothing."""
    viser = optional("viser", "view", "pages in the browser need viser")
    if not isinstance(port, int) or not 0 < port < 65536:
        raise ShapeError(f"view: port must be a number from 1 to 65535, got {port!r}")
    try:
        with _quietly():
            return viser.ViserServer(host=HOST, port=port, label=name, verbose=False)
    except OSError as error:
        raise CatenaError(f"view: no page can be served at port {port}: {error}; give another port=…") from None


@contextmanager
def _quietly() -> Iterator[None]:
    """What viser prints by rich's own console stays unsaid."""
    console = get_console()
    before, console.quiet = console.quiet, True
    try:
        yield
    finally:
        console.quiet = before


class Drawn:
    """A scene on a server of viser: one set of instances for each group."""

    def __init__(self, server: Any, scene: Scene, places: Places) -> None:
        self.server, self.scene = server, scene
        self._floor(places)
        samples = len(places.position)
        self.handles = []
        for number, group in enumerate(scene.groups):
            count = len(group.link) * samples
            self.handles.append(
                server.scene.add_batched_meshes_simple(
                    f"/links/{number}",
                    group.surface.vertices,
                    group.surface.faces.astype(np.uint32),
                    batched_wxyzs=np.tile(np.array([1, 0, 0, 0], np.float32), (count, 1)),
                    batched_positions=np.zeros((count, 3), np.float32),
                    batched_scales=np.tile(group.scale, (samples, 1)).astype(np.float32),
                    batched_colors=np.tile(np.round(255 * group.color**DEEPER), (samples, 1)).astype(np.uint8),
                    side="front" if group.surface.closed else "double",
                    lod="off",
                )
            )

    def _floor(self, places: Places) -> None:
        """A floor below all that is drawn, and a camera that sees all of it."""
        up, server = self.scene.up, self.server
        lower, upper = self.scene.extent(places)
        server.scene.set_up_direction(tuple(map(float, up)))
        camera = Camera.on(self.scene.balls(places), up, VIEW, 1.3)
        server.initial_camera.position = tuple(map(float, camera.eye))
        server.initial_camera.look_at = tuple(map(float, camera.target))
        server.initial_camera.up = tuple(map(float, up))
        server.initial_camera.fov = OPENING
        size = float(np.linalg.norm(upper - lower))
        floor = (lower + upper) / 2
        floor = floor + up * (float(np.minimum(lower * up, upper * up).sum()) - float(floor @ up))
        cell = 10.0 ** np.floor(np.log10(size))
        server.scene.add_grid(
            "/floor",
            width=4 * size,
            height=4 * size,
            cell_size=cell / 2,
            section_size=cell,
            position=tuple(map(float, floor)),
            wxyz=_quaternions(axis_frame(up)[None])[0],
            shadow_opacity=0.25,
        )

    def move(self, places: Places) -> None:
        """Put everything where it is: `places` (samples, ...). All in one message to the browser."""
        with self.server.atomic():
            for handle, (_, turn, shift, scale) in zip(self.handles, self.scene.placed(places), strict=True):
                stretched = scale.reshape(-1, 3).astype(np.float32)
                if not np.array_equal(stretched, handle.batched_scales):
                    handle.batched_scales = stretched
                good = np.nan_to_num(shift, nan=1e6, posinf=1e6, neginf=-1e6)  # diverged samples are out of sight
                handle.batched_positions = good.reshape(-1, 3).astype(np.float32)
                handle.batched_wxyzs = _quaternions(turn.reshape(-1, 3, 3))


def _quaternions(rotation: Array) -> Array:
    """Quaternions w, x, y, z of rotations, (k, 4); of what is not finite, no rotation."""
    from scipy.spatial.transform import Rotation

    good: Array = np.asarray(np.isfinite(rotation).all(axis=(1, 2)))
    xyzw = Rotation.from_matrix(np.where(good[:, None, None], rotation, np.eye(3))).as_quat()
    return np.asarray(xyzw[:, [3, 0, 1, 2]], np.float32)


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
    scene, places = staged(robot, states, marks)
    server = serving(robot.name, PORT)
    try:
        serializer = server.get_scene_serializer()
        drawn = Drawn(server, scene, places)
        for row in range(states.shape[1]):
            drawn.move(places.at(row))
            if run is not None:
                serializer.insert_sleep(1 / rate)
        text = serializer.as_html()
    finally:
        with _quietly():
            server.stop()
    with writing(path):
        Path(path).write_text(text, encoding="utf-8")
