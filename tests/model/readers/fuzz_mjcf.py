"""Damaged MJCF files: every one must load or be refused with a CatenaError, and quickly, whatever MuJoCo makes of it.

`python -m tests.model.readers.fuzz_mjcf --count 10000` makes that many and reports the slowest; test_mjcf_fuzz.py runs
a few hundred. Half are given as text, half as files in a folder with things to include and to mistake for a mesh.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from tests.model.readers import fuzz
from tests.model.readers.fuzz import NUMBERS, VECTORS, WORDS

from catena import robots

BOX = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 2) for z in (0, 3)) + "".join(
    f"f {a} {b} {c}\nf {a} {c} {d}\n"
    for a, b, c, d in [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
)
GEOM = '<geom size="0.1" mass="1"/>'
SEEDS = (
    f"""<mujoco model="joints"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81" density="1"/>
    <default><joint damping="0.1" armature="0.01"/><default class="fast"><joint damping="0"/></default></default>
    <worldbody><body name="a" pos="0 0 1" quat="1 0 0 0"><joint name="j1" axis="0 1 0" range="-1 1" ref="0.2"/>{GEOM}
      <body name="b" euler="0.1 0.2 0.3"><joint name="j2" type="slide" class="fast" pos="0 0 0.1" stiffness="2"/>
        <inertial pos="0 0 0.1" mass="2" diaginertia="0.1 0.2 0.2"/><site name="s" pos="0 0 0.2"/>
        <body name="c" axisangle="0 0 1 0.3"><joint name="j3" type="ball" pos="0 0 0.1" frictionloss="0.1"/>{GEOM}
      </body></body></body>
      <body name="d" pos="2 0 0"><freejoint name="f"/><geom type="capsule" size="0.1" fromto="0 0 0 0 0 1"/></body>
    </worldbody>
    <actuator><motor joint="j1" gear="2"/><position joint="j2" kp="3"/><muscle joint="j1"/></actuator>
    <tendon><fixed name="t"><joint joint="j1" coef="1"/><joint joint="j2" coef="-1"/></fixed></tendon>
    <equality><joint joint1="j1" joint2="j2"/><connect body1="c" body2="d" anchor="0 0 0"/></equality>
    <sensor><jointpos joint="j1"/><framepos objtype="site" objname="s"/><user dim="2"/></sensor>
    <contact><exclude body1="a" body2="b"/></contact><keyframe><key name="k" qpos="0"/></keyframe></mujoco>""",
    f"""<mujoco model="many"><size memory="1M" nuser_body="2"/><compiler fusestatic="false" discardvisual="true"/>
    <worldbody><frame pos="1 0 0"><replicate count="3" offset="0 1 0" euler="0 0 30"><body name="r">
      <joint name="rj" axis="1 0 0"/>{GEOM}<replicate count="2" sep="x" offset="0 0 1"><site name="m"/></replicate>
    </body></replicate></frame>
    <body name="g">{GEOM}<flexcomp name="x" type="grid" dim="2" count="3 3 1" spacing="0.1 0.1 0.1" mass="1">
      <edge equality="true"/><contact selfcollide="none"/></flexcomp></body>
    <body name="h" mocap="true" pos="0 0 3">{GEOM}</body></worldbody></mujoco>""",
    """<mujoco model="files"><compiler meshdir="meshes" assetdir="." strippath="false"/><include file="arm.xml"/>
    <asset><mesh name="box" file="box.obj" scale="1 1 2"/><mesh name="ball" builtin="sphere" params="1"/>
      <mesh name="tetra" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/><hfield name="t" nrow="3" ncol="4" size="1 1 1 1"/>
      <texture name="c" type="2d" builtin="checker" width="8" height="8"/><material name="w" texture="c"/>
      <model name="part" file="part.xml"/></asset>
    <worldbody><geom type="hfield" hfield="t"/><body name="m"><joint/><geom type="mesh" mesh="box" material="w"/>
      <geom type="mesh" mesh="tetra" pos="1 0 0"/><geom type="mesh" mesh="ball" quat="0 1 0 0"/>
      <attach model="part" body="p" prefix="q_"/></body></worldbody></mujoco>""",
)
PART = f'<mujoco><worldbody><body name="p"><joint name="pj"/>{GEOM}</body></worldbody></mujoco>'
ARM = f"""<mujocoinclude><worldbody><body name="arm"><joint name="aj" type="slide"/>{GEOM}</body></worldbody>
<include file="more/leaf.xml"/></mujocoinclude>"""
LEAF = f'<mujocoinclude><worldbody><body name="leaf"><joint/>{GEOM}</body></worldbody></mujocoinclude>'
TAGS = [
    "mujoco",
    "worldbody",
    "body",
    "joint",
    "freejoint",
    "geom",
    "site",
    "inertial",
    "frame",
    "replicate",
    "include",
    "attach",
    "asset",
    "mesh",
    "hfield",
    "model",
    "compiler",
    "option",
    "default",
    "composite",
    "flexcomp",
    "tendon",
    "actuator",
    "equality",
    "sensor",
    "camera",
    "light",
    "plugin",
    "x",
]
COUNTS = ["2", "100", "9999", "100000000", "4294967296", "-2147483648", "3 3 3", "100 100 100", "2000000000 2 1"]
FILES = [
    "box.obj",
    "pipe.xml",
    "pipe.obj",
    "/etc/passwd",
    "../x.stl",
    "/dev/zero",
    "arm.xml",
    "damaged.xml",
    "more",
    ".",
]
TYPES = [
    "hinge",
    "slide",
    "ball",
    "free",
    "mesh",
    "hfield",
    "box",
    "plane",
    "sdf",
    "true",
    "none",
    "grid",
    "disc",
    "mesh",
]


@cache
def folder() -> Path:
    """A folder with what the models include, and with traps; removed when the process ends."""
    import atexit

    place = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, place, ignore_errors=True)
    (place / "meshes").mkdir()
    (place / "more").mkdir()
    for name, text in {
        "arm.xml": ARM,
        "more/leaf.xml": LEAF,
        "part.xml": PART,
        "meshes/box.obj": BOX,
        "box.obj": BOX,
    }.items():
        (place / name).write_text(text)
    if hasattr(os, "mkfifo"):
        for name in ("pipe.xml", "pipe.obj", "meshes/pipe.obj"):
            os.mkfifo(place / name)
    return place


@cache
def seeds() -> list[bytes]:
    """Sound files to damage."""
    ours = [robots.path(name).read_bytes() for name in robots.names() if robots.path(name).suffix == ".xml"]
    return ours + [text.encode() for text in SEEDS]


def case(seed: int, number: int) -> bytes | Path:
    """One damaged file: in its bytes if its number is a multiple of four, else in its elements."""
    rng = np.random.default_rng([seed, number])
    sound = seeds()[int(rng.integers(len(seeds())))]
    if number % 4 == 0:
        data = fuzz.damage_bytes(sound, rng)
    else:
        values = NUMBERS + VECTORS + WORDS + COUNTS + FILES + TYPES
        data = fuzz.damage_elements(sound, rng, TAGS, values, encodings=0.02)
    if rng.random() < 0.5:
        return data
    file = folder() / "damaged.xml"
    file.write_bytes(data)
    return file


if __name__ == "__main__":
    from tests.model.readers.fuzz_mjcf import case as importable  # what another process can find by name

    fuzz.main(importable, __doc__)
