"""`catena.render` and `run.render`: pictures and films without a display, a GPU or a browser."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from catena.arguments.scalars import a_robot, of_systems, pair
from catena.arguments.words import truth
from catena.drawing.arrows import Asked, arrows_of
from catena.drawing.camera import VIEW, Camera
from catena.drawing.marks import Marks
from catena.drawing.painter import Painter
from catena.drawing.scene import Drawable
from catena.drawing.stage import NOTHING, Staged, batched, configurations, frames_of, samples_of, times_of
from catena.errors import CatenaError, ShapeError, UnsupportedError, check_place, writing
from catena.errors import shown as told
from catena.later import optional

if TYPE_CHECKING:
    from catena.simulation.run import Run

Array = npt.NDArray[Any]

SIZE = (640, 480)
STILL, FILMS = (".png", ".jpg", ".jpeg", ".webp"), (".gif", ".mp4", ".html")


@of_systems("forest")
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
            wrenches (..., 6), moment first, in their axes; or "bearings", what joints carry at rest (of a System, its
            constraints, held by the least torques).

    Returns:
        The picture, a `PIL.Image.Image`. Cost: about 0.1 s.
    """
    images = optional("PIL.Image", "view", "pictures need Pillow")
    if path is not None:
        ending(path, STILL)
    a_robot("render", robot, closed=True)
    states = configurations(robot, q)
    marks = Marks(frames, truth("center_of_mass", center_of_mass), arrows_of(robot, forces, batched(robot, q)))
    stage = Stage(robot, states[:, None], size, view, marks)
    picture = images.fromarray(stage.frame(0))
    if path is not None:
        with writing(path):
            picture.save(path)
    return picture


def ending(path: str | os.PathLike[str], known: Sequence[str] = (*STILL, *FILMS)) -> str:
    """How the name of a file to write ends, one of those known; places where none can be written are refused."""
    check_place(path)
    if (kind := Path(path).suffix.lower()) not in known:
        raise UnsupportedError(f"render: {os.fspath(path)!r}: expected a file that ends in {', '.join(known)}")
    return kind


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
        self.staged, self.rows = Staged(robot, q, marks), q.shape[1]
        scene = self.staged.scene
        camera = Camera.on(scene.balls(self.staged.some), scene.up, view, width / height)
        self._painter = Painter(scene, len(q), camera, self.staged.floor, (width, height))

    def frame(self, row: int) -> Array:
        """The picture of all samples at one row, (height, width, 3) of 8 bits."""
        return self._painter.picture(self.staged.at(row))


def _size(size: Any) -> tuple[int, int]:
    width, height = pair(size) or (0.0, 0.0)
    if not all(16 <= x <= 8192 and int(x) == x for x in (width, height)):
        raise ShapeError(f"size: expected a width and a height of 16 to 8192 pixels, got {told(size)}")
    return int(width), int(height)


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
    kind = ending(path)
    marks = Marks(frames, truth("center_of_mass", center_of_mass), arrows_of(run.robot, forces, run.q, run))
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
        known = np.concatenate([stage.frame(row) for row in sorted({0, stage.rows // 2, stage.rows - 1})])
        _gif(images, known, pictures, path, rate)
    else:
        with writing(path):
            images.fromarray(next(pictures)).save(path)


def _gif(images: Any, known: Array, pictures: Iterator[Array], path: Any, rate: float) -> None:
    """All pictures with the same colours, those of one that is `known` before, so that nothing flickers."""
    palette = images.fromarray(known).quantize(256, images.Quantize.FASTOCTREE)  # keeps small patches
    first, *rest = [images.fromarray(x).quantize(palette=palette, dither=images.Dither.NONE) for x in pictures]
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
