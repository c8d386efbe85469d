"""A scene on a server of viser: what browsers are told to draw, and where.

A few things of one shape are instances, of which only places are sent. Very many are one mesh, of which all corners
are: browsers that draw without a GPU take as long for an instance as for a hundred triangles.
"""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from catena.drawing.camera import OPENING, VIEW, Camera
from catena.drawing.scene import Group, Places
from catena.drawing.stage import Staged
from catena.drawing.triangles import corners
from catena.model.axes import axis_frame

Array = npt.NDArray[Any]

DEEPER = 1.7
"""The power that colours are taken to: the page has more light than pictures have."""
MANY = 500
"""Things of one shape from which on they are one mesh."""
SHADOWED = 100
"""Things up to which they cast shadows, which take as long as all else."""
THROUGH = 0.6
"""The opacity of links where marks are drawn that may be inside them."""
SHADES = 12
"""Colours are told apart by so many steps of red, green and blue in what is one mesh."""
ASPECT = 1.0
"""Width over height of windows that are not known."""
PANEL = 324
"""The width of the controls beside the scene, in pixels."""
NARROW, LEFT = 640, 0.62
"""The width of windows up to which controls lie over the lower part of the scene, and the share that these leave."""


class Drawn:
    """What is drawn on a server: handles for each group of a scene, a floor, and a camera that sees all of it."""

    def __init__(self, server: Any, staged: Staged) -> None:
        self.server, self.scene, self._staged = server, staged.scene, staged
        samples = len(staged.offsets)
        shadows = sum(len(group.link) for group in self.scene.groups) * samples <= SHADOWED
        self._floor(shadows)
        self._look(server.initial_camera, self.seeing(ASPECT))
        server.initial_camera.fov, server.initial_camera.up = OPENING, tuple(map(float, self.scene.up))
        marked = any(group.mark for group in self.scene.groups)
        self.handles: list[_Handle] = []
        for number, group in enumerate(self.scene.groups):
            kind = _Instances if len(group.link) * samples <= MANY else _OneMesh
            self.handles.append(kind(server, f"/links/{number}", group, samples, shadows, marked))

    def fit_to_windows(self) -> None:
        """Let every browser that comes see all of the scene beside the controls, whatever the shape of its window."""
        self.server.on_client_connect(lambda client: self._fit(client.camera))

    def _fit(self, camera: Any) -> None:
        width, height = camera.image_width, max(camera.image_height, 1)
        if width > NARROW:
            self._look(camera, self.seeing((width - PANEL) / height))
        else:
            self._look(camera, self.seeing(width / (LEFT * height)).in_upper(LEFT))

    def seeing(self, aspect: float) -> Camera:
        """A camera that sees all in a window of such a shape."""
        return Camera.on(self.scene.balls(self._staged.some), self.scene.up, VIEW, aspect)

    def _look(self, camera: Any, chosen: Camera) -> None:
        """Put a camera of viser there."""
        distance = float(np.linalg.norm(chosen.eye - chosen.target))
        camera.position, camera.look_at = (tuple(map(float, x)) for x in (chosen.eye, chosen.target))
        camera.near, camera.far = 1e-3 * distance, 100 * distance

    def _floor(self, shadows: bool) -> None:
        """A floor below all that is drawn."""
        up, server = self.scene.up, self.server
        lower, upper = self.scene.extent(self._staged.some)
        server.scene.set_up_direction(tuple(map(float, up)))
        if not shadows:
            server.scene.configure_default_lights(cast_shadow=False)
        size = float(np.linalg.norm(upper - lower))
        floor = (lower + upper) / 2
        floor = floor + up * (self._staged.floor - float(floor @ up))
        cell = 10.0 ** np.floor(np.log10(size))
        server.scene.add_grid(
            "/floor",
            width=4 * size,
            height=4 * size,
            cell_size=cell / 2,
            section_size=cell,
            position=tuple(map(float, floor)),
            wxyz=_quaternions(axis_frame(up)[None])[0],
            shadow_opacity=0.25 if shadows else 0.0,
        )

    def move(self, places: Places) -> None:
        """Put everything where it is: `places` (samples, ...). All in one message to the browser."""
        with self.server.atomic():
            for handle, (_, turn, shift, scale) in zip(self.handles, self.scene.placed(places), strict=True):
                good = np.nan_to_num(shift, nan=1e6, posinf=1e6, neginf=-1e6)  # diverged samples are out of sight
                handle.move(turn, good, scale)


class _Handle(Protocol):
    """What moves on a page."""

    def move(self, turn: Array, shift: Array, scale: Array) -> None:
        """Put it where it is: rotations (samples, k, 3, 3), positions and scales (samples, k, 3)."""


class _Instances:
    """A group as instances of one surface."""

    def __init__(self, server: Any, name: str, group: Group, samples: int, shadows: bool, through: bool) -> None:
        count = len(group.link) * samples
        self.handle = server.scene.add_batched_meshes_simple(
            name,
            group.surface.vertices,
            group.surface.faces.astype(np.uint32),
            batched_wxyzs=np.tile(np.array([1, 0, 0, 0], np.float32), (count, 1)),
            batched_positions=np.zeros((count, 3), np.float32),
            batched_scales=np.tile(group.scale, (samples, 1)).astype(np.float32),
            batched_colors=np.tile(_bytes(group.color), (samples, 1)),
            side="front" if group.surface.closed else "double",
            lod="off",
            opacity=None if group.mark or not through else THROUGH,
            cast_shadow=shadows,
            receive_shadow=shadows,
        )

    def move(self, turn: Array, shift: Array, scale: Array) -> None:
        """Send places, and scales if they are new."""
        stretched = scale.reshape(-1, 3).astype(np.float32)
        if not np.array_equal(stretched, self.handle.batched_scales):
            self.handle.batched_scales = stretched
        self.handle.batched_positions = shift.reshape(-1, 3).astype(np.float32)
        self.handle.batched_wxyzs = _quaternions(turn.reshape(-1, 3, 3))


class _OneMesh:
    """A group as one mesh for each colour, of all its corners."""

    def __init__(self, server: Any, name: str, group: Group, samples: int, shadows: bool, through: bool) -> None:
        self._group = group
        points, faces = group.surface.welded
        _, shade = np.unique(np.round(SHADES * group.color), axis=0, return_inverse=True)
        self._rows = [np.flatnonzero(shade.reshape(-1) == k) for k in range(int(shade.max()) + 1)]
        self.handles = []
        for number, rows in enumerate(self._rows):
            count = samples * len(rows)
            first = len(points) * np.arange(count)
            self.handles.append(
                server.scene.add_mesh_simple(
                    f"{name}/{number}",
                    np.zeros((count * len(points), 3), np.float32),
                    (faces + first[:, None, None]).reshape(-1, 3).astype(np.uint32),
                    color=tuple(map(int, _bytes(group.color[rows].mean(axis=0)))),
                    side="front" if group.surface.closed else "double",
                    opacity=None if group.mark or not through else THROUGH,
                    cast_shadow=shadows,
                    receive_shadow=shadows,
                )
            )

    def move(self, turn: Array, shift: Array, scale: Array) -> None:
        """Send all corners."""
        for handle, rows in zip(self.handles, self._rows, strict=True):
            handle.vertices = corners(self._group, turn[:, rows], shift[:, rows], scale[:, rows]).reshape(-1, 3)


def _bytes(color: Array) -> Array:
    """Colours of a page, 0 to 255."""
    return np.round(255 * color**DEEPER).astype(np.uint8)


def _quaternions(rotation: Array) -> Array:
    """Quaternions w, x, y, z of rotations, (k, 4); of what is not finite, no rotation."""
    from scipy.spatial.transform import Rotation

    good: Array = np.asarray(np.isfinite(rotation).all(axis=(1, 2)))
    xyzw = Rotation.from_matrix(np.where(good[:, None, None], rotation, np.eye(3))).as_quat()
    return np.asarray(xyzw[:, [3, 0, 1, 2]], np.float32)
