"""What the bodies of an MJCF model are drawn with: meshes by their files, and MuJoCo's simple shapes."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from catena.model.readers.attributes import LARGEST
from catena.model.readers.meshes import MeshReference
from catena.model.shapes import BOX, CAPSULE, CYLINDER, ELLIPSOID, Color, Primitive

Array = npt.NDArray[np.float64]

SPHERE, MESH = 2, 7  # mjtGeom
KINDS = {SPHERE: ELLIPSOID, 3: CAPSULE, 4: ELLIPSOID, 5: CYLINDER, 6: BOX}
PLAIN = (0.5, 0.5, 0.5, 1.0)
"""The colour that MuJoCo gives to what has none."""


def shapes_of(model: Any, body: int, paths: Mapping[str, str]) -> tuple[MeshReference | Primitive, ...]:
    """The body's shapes; planes, height fields and what is not finite are left out.

    `paths` are those of mesh files by the names MuJoCo has for them. Each mesh has the pose that the file gave it
    (MuJoCo moves meshes to their principal axes).
    """
    found: list[MeshReference | Primitive] = []
    first, count = int(model.body_geomadr[body]), int(model.body_geomnum[body])
    for geom in range(first, first + count):
        kind, mesh = int(model.geom_type[geom]), int(model.geom_dataid[geom])
        role = "visual" if model.geom_group[geom] <= 2 else "collision"
        if kind in KINDS and 0 < model.geom_size[geom].max() <= LARGEST:
            size = _extent(kind, model.geom_size[geom].tolist())
            place = _rows(rotation_of(model.geom_quat[geom])), tuple(model.geom_pos[geom].tolist())
            found.append(Primitive(KINDS[kind], size, role, *place, _color(model, geom)))
        elif kind == MESH and mesh >= 0 and model.mesh_pathadr[mesh] >= 0:
            found.append(_mesh(model, geom, mesh, role, paths))
    return tuple(found)


def _mesh(model: Any, geom: int, mesh: int, role: str, paths: Mapping[str, str]) -> MeshReference:
    start = int(model.mesh_pathadr[mesh])
    path = model.paths[start : model.paths.index(b"\0", start)].decode(errors="replace")
    path = paths.get(path, path)
    rotation = rotation_of(model.geom_quat[geom]) @ rotation_of(model.mesh_quat[mesh]).T
    position = model.geom_pos[geom] - rotation @ model.mesh_pos[mesh]
    scale: Any = tuple(model.mesh_scale[mesh].tolist())
    at: Any = tuple(position.tolist())
    folder = os.path.dirname(path) or None
    return MeshReference(path, role, _rows(rotation), at, scale, folder, color=_color(model, geom))


def _extent(kind: int, size: list[float]) -> tuple[float, float, float]:
    """MuJoCo's radii and half lengths as whole extents along x, y and z."""
    x, y, z = size
    if kind == SPHERE:
        return 2 * x, 2 * x, 2 * x
    if KINDS[kind] in (CAPSULE, CYLINDER):
        return 2 * x, 2 * x, 2 * y
    return 2 * x, 2 * y, 2 * z


def _color(model: Any, geom: int) -> Color | None:
    material = int(model.geom_matid[geom])
    given = model.mat_rgba[material] if material >= 0 else model.geom_rgba[geom]
    color: Any = tuple(float(np.clip(x, 0.0, 1.0)) for x in given)
    return None if np.allclose(color, PLAIN) or not np.isfinite(color).all() else color


def _rows(rotation: Array) -> Any:
    return tuple(tuple(row) for row in rotation.tolist())


def rotation_of(quaternion: npt.ArrayLike) -> Array:
    """The rotation matrix of MuJoCo's quaternion (w, x, y, z)."""
    w, x, y, z = np.asarray(quaternion, dtype=float).tolist()
    norm = math.sqrt(w * w + x * x + y * y + z * z)
    w, x, y, z = w / norm, x / norm, y / norm, z / norm
    return np.array(
        [
            [w * w + x * x - y * y - z * z, 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)],
            [2.0 * (x * y + w * z), w * w - x * x + y * y - z * z, 2.0 * (y * z - w * x)],
            [2.0 * (x * z - w * y), 2.0 * (y * z + w * x), w * w - x * x - y * y + z * z],
        ]
    )
