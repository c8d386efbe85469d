"""`catena.render` and `run.render`: pictures and films without a display, a GPU or a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.drawing.arrows import Asked, arrows_of
from catena.drawing.camera import VIEW, Camera
from catena.drawing.marks import Marks, marked, side_by_side
from catena.drawing.painter import Painter
from catena.drawing.scene import Drawable, Places, Scene, scene_of
from catena.errors import CatenaError, ModelWarning, ShapeError, UnsupportedError, warn, writing
from catena.later import optional

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

SIZE = (640, 480)
NOTHING = Marks()
STILL, FILMS = (".png", ".jpg", ".jpeg", ".webp"), (".gif", ".mp4", ".html")
MOST_SAMPLES = 64
"""Samples that are drawn side by side at most."""


def render(
    robot: Drawable,
    q: npt.ArrayLike | None = None,
    path: str | os.PathLike[str] | None = None,
    *,
    size: tuple[int, int] = SIZE,
    view: tuple[float, float] = VIEW,
    frames: Any = False,
    center_of_mass: bool = False,
    forces: Asked = None,
) -> Any:
    """Draw a robot or a system as a picture, without a display, a GPU or a browser.

        catena.render(robot, q, "arm.png")

    Links are drawn with the shapes and meshes of the model's file, others as bars between their joints and boxes with
    their inertias. Needs Pillow, the extra `catena-dynamics[view]`.

    Args:
        robot: a Robot or a System.
        q: configurations, (..., nq); several are drawn side by side. The neutral one if left out.
        path: a file to write, PNG, JPEG or WebP by its ending.
        size: width and height in pixels.
        view: from where to look, in degrees: round the vertical from x towards y, and above the ground.
        frames: links and frames whose axes are drawn (x red, y green, z blue); True for all links.
        center_of_mass: whether to mark the centre of mass.
        forces: drawn as arrows, the largest one longest: a mapping from links and frames to forces (..., 3), or
            wrenches (..., 6), moment first, in their axes; or "bearings", what joints carry at rest.

    Returns:
        The picture, a `PIL.Image.Image`. Cost: about 0.1 s.
    """
    images = optional("PIL.Image", "view", "pictures need Pillow")
    if path is not None and Path(path).suffix.lower() not in STILL:
        raise UnsupportedError(f"render: {os.fspath(path)!r}: expected a file that ends in {', '.join(STILL)}")
    states = configurations(robot, q)
    marks = Marks(frames, center_of_mass, arrows_of(robot, forces, batched(robot, q)))
    stage = Stage(robot, states[:, None], size, view, marks)
    picture = images.fromarray(stage.frame(0))
    if path is not None:
        with writing(path):
            picture.save(path)
    return picture


def batched(robot: Any, q: npt.ArrayLike | None) -> Array:
    """Configurations as they are given, (..., nq); the neutral one for None."""
    given = np.asarray(robot.neutral() if q is None else q, float)
    if given.ndim < 1 or given.shape[-1] != robot.nq:
        raise ShapeError(f"q must have shape (..., {robot.nq}), got {given.shape}")
    return given


def configurations(robot: Any, q: npt.ArrayLike | None) -> Array:
    """Configurations as rows, (samples, nq); the neutral one for None."""
    given = batched(robot, q)
    rows = given.reshape(prod(given.shape[:-1]), robot.nq)
    if not 1 <= len(rows) <= MOST_SAMPLES:
        raise ShapeError(f"q: from 1 to {MOST_SAMPLES} samples can be drawn side by side, got {len(rows)}; choose some")
    return rows


class Stage:
    """A robot, or several samples of it, from one camera that sees it at all times.

    Args:
        robot: a Robot or a System.
        q: configurations, (samples, rows, nq).
        size: width and height in pixels.
        view: azimuth and elevation in degrees.
        marks: what is drawn besides the links.
    """

    def __init__(
        self,
        robot: Drawable,
        q: Array,
        size: Sequence[int],
        view: tuple[float, float],
        marks: Marks = NOTHING,
    ) -> None:
        width, height = _size(size)
        self.scene, self.places = staged(robot, q, marks)
        lower, upper = self.scene.extent(self.places)
        camera = Camera.on(self.scene.balls(self.places), self.scene.up, view, width / height)
        floor = float(np.minimum(lower * self.scene.up, upper * self.scene.up).sum())
        self._painter = Painter(self.scene, len(q), camera, floor, (width, height))

    def frame(self, row: int) -> Array:
        """The picture of all samples at one row, (height, width, 3) of 8 bits."""
        return self._painter.picture(self.places.at(row))


def staged(robot: Drawable, q: Array, marks: Marks) -> tuple[Scene, Places]:
    """The scene of a robot and where everything is at q, (samples, rows, nq), samples side by side."""
    plain = scene_of(robot.tree)
    if plain.notes:
        more = f" (and {len(plain.notes) - 1} more like this)" if len(plain.notes) > 1 else ""
        warn(plain.notes[0] + more, ModelWarning)
    if marks:
        lower, upper = plain.extent(plain.places(robot, q))
        plain = marked(plain, robot.tree, marks, float(np.linalg.norm(upper - lower)))
    places = plain.places(robot, q, None if marks.arrows is None else marks.arrows.force)
    return plain, side_by_side(plain, places, len(q))


def _size(size: Any) -> tuple[int, int]:
    if np.shape(size) != (2,) or not all(16 <= x <= 8192 and int(x) == x for x in size):
        raise ShapeError(f"size: expected a width and a height of 16 to 8192 pixels, got {size!r}")
    return int(size[0]), int(size[1])


def film(
    run: Run,
    path: str | os.PathLike[str],
    *,
    size: tuple[int, int] = SIZE,
    view: tuple[float, float] = VIEW,
    frames: Any = False,
    center_of_mass: bool = False,
    forces: Asked = None,
    rate: float = 25.0,
    speed: float = 1.0,
) -> None:
    """Draw a run as a film, or its last state as a picture; see `run.render`."""
    kind = Path(path).suffix.lower()
    if kind not in (*STILL, *FILMS):
        raise UnsupportedError(
            f"render: {os.fspath(path)!r}: expected a file that ends in {', '.join((*STILL, *FILMS))}"
        )
    marks = Marks(frames, center_of_mass, arrows_of(run.robot, forces, run.q, run))
    if kind == ".html":
        from catena.drawing.page import write_page

        write_page(run.robot, path, run=run, marks=marks, rate=rate, speed=speed)
        return
    images = optional("PIL.Image", "view", "pictures need Pillow")
    shown, marks = frames_of(run, marks, times_of(run, rate, speed) if kind in FILMS else run.t[-1:])
    q = samples_of(run.robot, shown.q)
    stage = Stage(run.robot, q, size, view, marks)
    pictures = (stage.frame(row) for row in range(q.shape[1]))
    if kind == ".mp4":
        _mp4(pictures, path, _size(size), rate)
    elif kind == ".gif":
        _gif(images, pictures, path, rate)
    else:
        with writing(path):
            images.fromarray(next(pictures)).save(path)


def times_of(run: Run, rate: float, speed: float) -> Array:
    """The times of the pictures of a film, (rows,)."""
    if not (0 < rate <= 120 and 0 < speed < np.inf):
        raise ShapeError(f"render: expected a rate of up to 120 pictures a second and a speed, got {rate!r}, {speed!r}")
    count = max(int((run.t[-1] - run.t[0]) / speed * rate), 1)
    times = np.clip(run.t[0] + np.arange(count + 1) * (speed / rate), run.t[0], run.t[-1])
    return np.unique(times)


def frames_of(run: Run, marks: Marks, t: Array) -> tuple[Run, Marks]:
    """A run and its arrows at other times."""
    arrows = marks.arrows and marks.arrows.resampled(run.t, t)
    return run.resampled(t), marks._replace(arrows=arrows)


def samples_of(robot: Any, q: Array) -> Array:
    """(samples, rows, nq); refused where they are too many to draw."""
    rows = q.reshape(prod(q.shape[:-2]), *q.shape[-2:])
    configurations(robot, rows[:, 0])
    return rows


def _gif(images: Any, pictures: Iterator[Array], path: Any, rate: float) -> None:
    """All pictures with the colours of the first, so that nothing flickers."""
    first = images.fromarray(next(pictures)).quantize(256, images.Quantize.FASTOCTREE)  # keeps small patches
    rest = [images.fromarray(picture).quantize(palette=first, dither=images.Dither.NONE) for picture in pictures]
    pause = round(1000 / rate)
    with writing(path):
        first.save(path, save_all=True, append_images=rest, duration=pause, loop=0, optimize=True)


def _mp4(pictures: Iterator[Array], path: Any, size: tuple[int, int], rate: float) -> None:
    """A film by ffmpeg, which reads the pictures as they are made."""
    program = shutil.which("ffmpeg")
    if program is None:
        raise UnsupportedError(
            f"render: {os.fspath(path)!r}: films in MP4 need the program ffmpeg, which is not on the PATH; "
            "install it (Debian: apt install ffmpeg), or write a .gif"
        )
    even = "crop=trunc(iw/2)*2:trunc(ih/2)*2"  # what players expect
    form = ["-f", "rawvideo", "-pix_fmt", "rgb24", "-s", f"{size[0]}x{size[1]}", "-r", str(rate), "-i", "-"]
    output = ["-vf", even, "-pix_fmt", "yuv420p", os.path.abspath(os.fspath(path))]
    command = [program, "-y", "-loglevel", "error", *form, *output]
    with writing(path), subprocess.Popen(command, stdin=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdin is not None
        try:
            for picture in pictures:
                process.stdin.write(picture.tobytes())
        except BrokenPipeError:
            pass
        said = process.communicate()[1].decode(errors="replace").strip()
    if process.returncode:
        raise CatenaError(
            f"render: {os.fspath(path)!r}: ffmpeg failed: {said.splitlines()[-1] if said else 'no reason'}"
        )
