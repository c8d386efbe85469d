"""Robots of URDF files in MuJoCo, for tests and benchmarks: bare dynamics, the same as here."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any


def bare(path: Path, floating: bool, dt: float, integrator: str = "RK4") -> Any:
    """MuJoCo's model of a URDF without shapes, limits and losses, to be integrated in steps of dt (s)."""
    import mujoco

    root = ET.parse(path).getroot()
    for link in root.iter("link"):
        for element in [*link.findall("visual"), *link.findall("collision")]:
            link.remove(element)
    for element in root.findall("mujoco"):
        root.remove(element)
    words = {"fusestatic": "false", "balanceinertia": "false", "discardvisual": "true"}
    ET.SubElement(ET.SubElement(root, "mujoco"), "compiler", words)
    spec = mujoco.MjSpec.from_string(ET.tostring(root).decode())
    spec.option.timestep = dt
    spec.option.integrator = getattr(mujoco.mjtIntegrator, f"mjINT_{integrator.upper()}")
    if floating:
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    model.jnt_limited[:], model.dof_frictionloss[:], model.dof_damping[:] = 0, 0, 0
    return model
