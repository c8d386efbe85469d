"""Damaged meshes, STL, OBJ and Collada in turn: each is drawn or refused with a LoadError, quickly, in little memory.

`python -m tests.drawing.fuzz_meshes --count 300000` makes that many; test_mesh_files.py runs a few hundred.
"""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from tests.model.readers import fuzz
from tests.model.readers.fuzz import NUMBERS, WORDS

import catena
from catena.drawing import mesh_files
from catena.drawing.surfaces import box

VALUES = [*NUMBERS[:-1], *WORDS, "1e20", "100000000000000000000", "1000000000", "-3", "#a", "#n", "#v", "VERTEX", "2"]
TAGS = ["node", "instance_node", "instance_geometry", "triangles", "polylist", "p", "vcount", "input", "source", "mesh"]

LINK = """<robot name="a"><link name="a"><visual><geometry><mesh filename="FILE"/></geometry></visual></link>
<link name="b"/><joint name="j" type="revolute"><parent link="a"/><child link="b"/><limit effort="1" velocity="1"/>
</joint></robot>"""
TEXT_STL = b"""solid a
facet normal 0 0 1\nouter loop\nvertex 0 0 0\nvertex 1 0 0\nvertex 0 1e0 0\nendloop\nendfacet
endsolid a
"""
OBJ = b"""mtllib a.mtl
v 0 0 0\nv 1 0 0\nv 1 1 0.5\nv 0 1 0
usemtl red\nf 1/1 2/2 3/3\nusemtl blue\nf -4 -2 -1\nf 1 2 3 4
"""
DAE = b"""<COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="meter" meter="0.5"/><up_axis>Z_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique><phong><diffuse><color>1 0 0 1</color></diffuse></phong>
</technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="s"><float_array count="12">0 0 0 1 0 0 1 1 0 0 1 1</float_array>
<technique_common><accessor source="#s" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>
<triangles material="x" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<input semantic="NORMAL" source="#s" offset="1"/><p>0 0 1 0 2 0</p></triangles>
<polylist material="y" count="1"><input semantic="VERTEX" source="#v" offset="0"/>
<vcount>4</vcount><p>0 1 2 3</p></polylist>
</mesh></geometry></library_geometries>
<library_nodes><node id="n"><instance_geometry url="#g"/></node></library_nodes>
<library_visual_scenes><visual_scene id="a"><node><translate>1 0 0</translate><rotate>0 0 1 90</rotate>
<scale>1 2 1</scale>
<instance_geometry url="#g"><bind_material><technique_common><instance_material symbol="x" target="#m"/>
</technique_common></bind_material></instance_geometry><instance_node url="#n"/>
<node><matrix>1 0 0 0 0 1 0 0 0 0 1 0 0 0 0 1</matrix><instance_node url="#n"/></node></node></visual_scene>
</library_visual_scenes><scene><instance_visual_scene url="#a"/></scene></COLLADA>"""


def binary_stl() -> bytes:
    corners = box().vertices[box().faces]
    rows = np.zeros(len(corners), [("normal", "<f4", 3), ("corners", "<f4", 9), ("extra", "<u2")])
    rows["corners"] = corners.reshape(-1, 9)
    return bytes(80) + len(corners).to_bytes(4, "little") + rows.tobytes()


@cache
def folder() -> Path:
    """Of this process, with a file of materials for all."""
    found = Path(tempfile.mkdtemp(prefix="catena-fuzz-"))
    (found / "a.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl blue\nKd 0 0 1\n")
    return found


def case(seed: int, number: int) -> Path:
    """One damaged file, by its number of one kind or another, and damaged in one way or another."""
    rng = np.random.default_rng([seed, number])
    kind, sound = [(".dae", DAE), (".stl", [TEXT_STL, binary_stl()][number // 3 % 2]), (".obj", OBJ)][number % 3]
    if number // 6 % 2 == 0:
        data = fuzz.damage_bytes(sound, rng)
    elif kind == ".dae":
        data = fuzz.damage_elements(_damaged_texts(sound, rng), rng, TAGS, VALUES, encodings=0.05)
    else:
        data = _damaged_words(sound, rng)
    path = folder() / f"mesh{kind}"
    path.write_bytes(data)
    return path


def _damaged_words(data: bytes, rng: fuzz.Random) -> bytes:
    """Some words replaced by odd ones."""
    words = data.split(b" ")
    for _ in range(int(rng.geometric(0.4))):
        words[int(rng.integers(len(words)))] = str(rng.choice(VALUES)).encode()
    return b" ".join(words)


def _damaged_texts(data: bytes, rng: fuzz.Random) -> bytes:
    """What stands between tags with some words replaced."""
    import xml.etree.ElementTree as ET

    root = ET.fromstring(data)
    written = [element for element in root.iter() if element.text and element.text.strip()]
    element = written[int(rng.integers(len(written)))]
    element.text = _damaged_words((element.text or "").encode(), rng).decode(errors="replace")
    return ET.tostring(root)


def judge(source: Path, number: int) -> str:
    """What becomes of it."""

    def use() -> None:
        for surface in mesh_files._read.__wrapped__(str(source), 0):
            assert np.isfinite(surface.normals).all()
            assert surface.welded[1].max() < len(surface.vertices)

        if number % 40 < 3:
            text = LINK.replace("FILE", source.name)
            catena.render(catena.load(text, package_roots=[source.parent]), size=(16, 16))

    return fuzz.judged(use)


if __name__ == "__main__":
    from tests.drawing import fuzz_meshes  # what another process can find by name

    fuzz.main(fuzz_meshes.case, __doc__, fuzz_meshes.judge)
