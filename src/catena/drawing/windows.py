"""The camera of a page in a file, chosen when it is opened: only then is the shape of the window known."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from catena.drawing.camera import Camera

Array = npt.NDArray[Any]

ASPECTS = (0.4, 0.5, 0.65, 0.8, 1.0, 1.25, 1.6, 2.0)
"""Width over height of windows for which there is a camera; one is taken that fits into the window."""
BAR = 40
"""The height of the controls below the scene, in pixels."""

_SCRIPT = """<script>try {
  const asked = new URLSearchParams(location.search), shape = innerWidth / (innerHeight - BAR);
  const [, position, lookAt] = CAMERAS.findLast((camera, i) => i == 0 || camera[0] <= shape);
  if (!asked.has("initialCameraPosition")) {
    asked.set("initialCameraPosition", position);
    asked.set("initialCameraLookAt", lookAt);
    history.replaceState(null, "", "?" + asked);
  }
} catch (error) { /* where the address is not the page's own, it opens with the camera of the server */ }
</script>"""


def fitted(html: str, seeing: Callable[[float], Camera]) -> str:
    """The text of a page of viser whose camera sees all of the scene in windows of any shape.

    Args:
        html: the page.
        seeing: gives the camera for a width over a height.
    """
    seen = [(aspect, seeing(aspect)) for aspect in ASPECTS]
    cameras = [(aspect, _written(camera.eye), _written(camera.target)) for aspect, camera in seen]
    script = _SCRIPT.replace("CAMERAS", json.dumps(cameras)).replace("BAR", str(BAR))
    head, end, rest = html.partition("</head>")
    return f"{head}{script}{end}{rest}"


def _written(point: Array) -> str:
    return ",".join(f"{x:.9g}" for x in point)
