"""Triangles from STL, OBJ and Collada, and files that are no good."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path

import numpy as np
import pytest
from tests.drawing import fuzz_meshes

import catena
from catena.drawing.mesh_files import read_mesh

CORNERS = np.array([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 4]], float)
FACES = [(0, 2, 1), (0, 1, 3), (0, 3, 2), (1, 2, 3)]
TEXT_STL = "solid t\n" + "".join(
    "facet normal 0 0 0\nouter loop\n"
    + "".join(f"vertex {x:g} {y:g} {z:g}\n" for x, y, z in CORNERS[list(face)])
    + "endloop\nendfacet\n"
    for face in FACES
)
OBJ = "\n".join([*(f"v {x} {y} {z}" for x, y, z in CORNERS), *(f"f {a + 1}//1 {b + 1} {c + 1}" for a, b, c in FACES)])
COLLADA = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit meter="0.5"/><up_axis>Z_UP</up_axis></asset>
<library_geometries><geometry id="g"><mesh><source id="s"><float_array id="a" count="12">{points}</float_array>
<technique_common><accessor source="#a" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#s"/></vertices>{faces}</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="w"><node><translate>0 0 2</translate><scale>2 2 2</scale>
<instance_geometry url="#g"/></node></visual_scene></library_visual_scenes>
<scene><instance_visual_scene url="#w"/></scene></COLLADA>"""
LISTED = " ".join(f"{a} {b} {c}" for a, b, c in FACES)
TRIANGLES = f'<triangles count="4"><input semantic="VERTEX" source="#v" offset="0"/><p>{LISTED}</p></triangles>'
POLYGONS = (
    '<polylist count="4"><input semantic="VERTEX" source="#v" offset="0"/>'
    f"<vcount>3 3 3 3</vcount><p>{LISTED}</p></polylist>"
)


def collada(faces: str = TRIANGLES, **changes: str) -> str:
    return COLLADA.format(points=" ".join(map(str, CORNERS.ravel())), faces=faces, **changes)


def binary_stl() -> bytes:
    rows = [struct.pack("<12fH", 0, 0, 0, *CORNERS[list(face)].ravel(), 0) for face in FACES]
    return b"solid as some exporters write".ljust(80) + struct.pack("<I", len(rows)) + b"".join(rows)


def volume(path: Path) -> float:
    """What the triangles enclose."""
    (found,) = read_mesh(path)
    a, b, c = np.moveaxis(found.vertices[found.faces].astype(float), 1, 0)
    return float(np.sum(np.cross(a, b) * c) / 6)


@pytest.mark.parametrize(("name", "content"), [("a.stl", TEXT_STL), ("b.STL", binary_stl()), ("c.obj", OBJ)])
def test_a_tetrahedron(tmp_path: Path, name: str, content: str | bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    assert volume(path) == pytest.approx(4.0)


@pytest.mark.parametrize("faces", [TRIANGLES, POLYGONS])
def test_collada_has_units_and_nodes(tmp_path: Path, faces: str) -> None:
    path = tmp_path / "t.dae"
    path.write_text(collada(faces))
    assert volume(path) == pytest.approx(4.0)  # twice as large, in half metres
    assert read_mesh(path)[0].vertices[:, 2].min() == pytest.approx(1.0)


@pytest.mark.parametrize("up", ["<up_axis>X_UP</up_axis>", "<up_axis>Y_UP</up_axis>", ""])
def test_collada_keeps_its_axes(tmp_path: Path, up: str) -> None:
    """Whatever it says is up: those who write models look at them in tools that do not obey it."""
    path, turned = tmp_path / "t.dae", tmp_path / "turned.dae"
    path.write_text(collada())
    turned.write_text(collada().replace("<up_axis>Z_UP</up_axis>", up))
    assert np.array_equal(read_mesh(turned)[0].vertices, read_mesh(path)[0].vertices)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.stl", b"", "expected an STL file"),
        ("a.stl", binary_stl()[:-3], "holds no triangles"),
        ("a.stl", b"solid\nvertex a b c", "could not convert"),
        ("a.obj", b"v 0 0 0\nf 1 2 3", "not there"),
        ("a.obj", b"v 0 0 nan\nv 0 0 0\nv 1 0 0\nf 1 2 3", "not finite"),
        ("a.obj", b"", "no triangles"),
        ("a.dae", b"<COLLADA>", "well-formed"),
        ("a.dae", b"<!DOCTYPE x [<!ENTITY e SYSTEM 'file:///etc/passwd'>]><COLLADA/>", "document type"),
        ("a.dae", b"<COLLADA/>", "no triangles"),
        ("a.glb", b"x", "convert it to STL"),
    ],
)
def test_what_is_no_mesh_is_said_by_name(tmp_path: Path, name: str, content: bytes, why: str) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(catena.LoadError, match=why) as caught:
        read_mesh(path)
    assert name in str(caught.value)


def test_nodes_that_hold_each_other_end(tmp_path: Path) -> None:
    loop = '<node id="n"><instance_node url="#n"/></node>'
    path = tmp_path / "a.dae"
    path.write_text(collada().replace('<visual_scene id="w">', f'<visual_scene id="w">{loop}'))
    with pytest.raises(catena.LoadError, match="deep"):
        read_mesh(path)


def test_a_file_that_changed_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "a.obj"
    path.write_text(OBJ)
    assert len(read_mesh(path)[0].faces) == 4
    path.write_text(OBJ.rpartition("\n")[0])
    os.utime(path, ns=(1, 1))
    assert len(read_mesh(path)[0].faces) == 3


def test_colours_of_meshes(tmp_path: Path) -> None:
    """Of Collada by the symbols of its materials, of OBJ by a file beside it; a texture is no colour."""
    phong = "<technique><phong><diffuse>{1}</diffuse></phong></technique>"
    effect = f"<effect id='e{{0}}'><profile_COMMON>{phong}</profile_COMMON></effect>"
    colors = ["<color>1 0 0.5 1</color>", "<texture texture='t'/>"]
    library = "".join(effect.format(*x) for x in enumerate(colors))
    library += "".join(f"<material id='m{i}'><instance_effect url='#e{i}'/></material>" for i in range(2))
    bind = "<bind_material><instance_material symbol='s' target='#m{}'/></bind_material>"
    plain = collada().replace("<triangles", "<triangles material='s'")
    for number, expected in enumerate([(1.0, 0.0, 0.5), None]):
        text = re.sub(r"(<instance_geometry[^>]*)/>", rf"\1>{bind.format(number)}</instance_geometry>", plain)
        path = tmp_path / f"{number}.dae"
        path.write_text(text.replace("</COLLADA>", f"{library}</COLLADA>"))
        assert {part.color for part in read_mesh(path)} == {expected}

    (tmp_path / "m.mtl").write_text("newmtl red\nKd 1 0 0\nnewmtl wood\nKd 1 1 1\nmap_Kd wood.png\n")
    vertices, *faces = OBJ.partition("f ")[0], *[line for line in OBJ.splitlines() if line.startswith("f ")]
    for library, expected in (("m.mtl", {(1.0, 0.0, 0.0), None}), ("../m.mtl", {None}), ("none.mtl", {None})):
        path = tmp_path / "a.obj"
        path.write_text("\n".join([f"mtllib {library}", vertices, "usemtl red", *faces[:1], "usemtl wood", *faces[1:]]))
        os.utime(path, ns=(len(library), len(library)))
        assert {part.color for part in read_mesh(path)} == expected


def doublings(count: int) -> str:
    """Each node stands for two of the next: 2**count of the last."""
    nodes = [f'<node id="n{k}">' + 2 * f'<instance_node url="#n{k + 1}"/>' + "</node>" for k in range(count)]
    scene = (
        f'<node><instance_node url="#n0"/></node></visual_scene></library_visual_scenes><library_nodes>{"".join(nodes)}'
    )
    last = f'<node id="n{count}"/></library_nodes>'
    return collada(TRIANGLES).replace("</visual_scene></library_visual_scenes>", scene + last)


@pytest.mark.parametrize(
    ("name", "content", "why"),
    [
        ("a.dae", collada(TRIANGLES.replace("VERTEX", "NORMAL")), "without an input of the semantic VERTEX"),
        ("a.dae", collada().replace("POSITION", "COLOR"), "without an input of the semantic POSITION"),
        ("a.dae", collada(TRIANGLES.replace("<p>0", "<p>100000000000000000000")), "<p> that are too large"),
        ("a.dae", collada(TRIANGLES.replace("<p>0", "<p>-1")), "vertices that are not there"),
        ("a.dae", collada(TRIANGLES).replace("1.0", '1.0" encoding="x-odd', 1), "cannot be decoded"),
        ("a.dae", collada(TRIANGLES).replace('url="#g"', 'url="#h"'), "'h', which is not there"),
        ("a.dae", collada(POLYGONS.replace("3 3 3 3", "1000000000")), "polygons of more corners than it has"),
        ("a.dae", collada(POLYGONS.replace("3 3 3 3", "-3 3 3 3")), "polygons of more corners than it has"),
        ("a.dae", doublings(24), "instances counted each time"),
        ("a.obj", OBJ.replace("f 1//1", "f 100000000000000000000//1"), "too large"),
        ("a.obj", OBJ.replace("v 2.0 0.0 0.0", "v 2.0 0.0"), "less than three numbers"),
        ("a.obj", "".join(f"mtllib {k}.mtl\n" for k in range(200)) + OBJ, "files of materials"),
        ("a.stl", TEXT_STL.partition("endloop")[0].rpartition(" ")[0], "cut off in the middle of a vertex"),
        ("a.stl", TEXT_STL.replace("vertex 2", "vertex 1e20"), "m away"),
    ],
)
def test_odd_contents_are_refused_by_name_and_at_once(tmp_path: Path, name: str, content: str, why: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(catena.LoadError, match=rf"mesh .*{re.escape(name)}.*{re.escape(why)}"):
        read_mesh(tmp_path / name)


def test_polygons_of_few_corners_are_no_triangles(tmp_path: Path) -> None:
    listed = POLYGONS.replace("3 3 3 3", "2 4 1 3 2")
    (tmp_path / "a.dae").write_text(collada(listed))
    (found,) = read_mesh(tmp_path / "a.dae")
    assert len(found.faces) == 3


def test_long_texts_are_read_in_pieces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As a whole they give what pieces give."""
    for name, content in (("a.dae", collada(TRIANGLES)), ("a.stl", TEXT_STL)):
        (tmp_path / name).write_text(content)
        (whole,) = read_mesh(tmp_path / name)
        monkeypatch.setattr("catena.drawing.collada.PIECE", 5)
        (tmp_path / f"b{name}").write_text(content)
        (pieces,) = read_mesh(tmp_path / f"b{name}")
        monkeypatch.undo()
        assert np.array_equal(whole.vertices[whole.faces], pieces.vertices[pieces.faces])


def test_damaged_files() -> None:
    """A mesh or a LoadError; see fuzz_meshes.py for more."""
    outcomes = [fuzz_meshes.judge(fuzz_meshes.case(0, number), number) for number in range(300)]
    assert set(outcomes) == {"loaded", "LoadError"}
