"""What MJCF may make us do, and may not: files, sizes, numbers, MuJoCo's log. What can hang has its own process."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import catena
from catena import LoadError
from catena.model.readers import mjcf_caps

mujoco = pytest.importorskip("mujoco")

GEOM = '<geom size="0.1" mass="1"/>'
BODY = f'<body name="b"><joint name="j"/>{GEOM}</body>'
PIPES = pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
BOX = "".join(f"v {x} {y} {z}\n" for x in (0, 1) for y in (0, 2) for z in (0, 3)) + "".join(
    f"f {a} {b} {c}\nf {a} {c} {d}\n"
    for a, b, c, d in [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (2, 6, 8, 4)]
)
LOAD = """import sys, catena
try:
    print("loaded", catena.load(sys.argv[1]).nv)
except catena.CatenaError as error:
    print(type(error).__name__, error)
"""


def model(world: str, outside: str = "") -> str:
    return f'<mujoco model="m">{outside}<worldbody>{world}</worldbody></mujoco>'


def mesh(file: str, compiler: str = "") -> str:
    asset = f'<compiler {compiler}/><asset><mesh name="m" file="{file}"/></asset>'
    return model('<body name="b"><joint/><geom type="mesh" mesh="m"/></body>', asset)


def loaded_apart(source: str | Path, folder: Path) -> str:
    """What loading says, in another process that works in `folder` and has a few seconds."""
    command = [sys.executable, "-W", "ignore", "-c", LOAD, str(source)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600, cwd=folder, check=True)
    return done.stdout.strip()


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model(BODY.replace('name="b"', 'name="b" quat="1e-300 0 0 0"')), r"line 1: body 'b': .*orientation"),
        (model(BODY.replace('name="j"', 'name="j" ref="inf"')), r"line 1: joint 'j': .*finite numbers .* in ref"),
        (
            model(BODY.replace('name="j"', 'name="j" type="ball" pos="1e308 1e308 1e308"')),
            r"line 1: joint 'j': .*no larger than 1e\+60",
        ),
        (model("\n" + BODY.replace('name="b"', 'name="b" pos="nan 0 0"')), r"line 2: body 'b': .*body_pos"),
        (model(BODY.replace('name="j"', 'name="j" armature="1e200"')), r"joint 'j': .*dof_armature"),
    ],
)
def test_numbers_that_are_no_numbers(text: str, message: str) -> None:
    with pytest.raises(LoadError, match=message) as caught:
        catena.load(text)
    assert (caught.value.link, caught.value.joint) in [("b", None), (None, "j")]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (model(f'<replicate count="100000000">{BODY}</replicate>'), "<replicate> count='100000000'"),
        (model('<replicate count="100">' * 4 + BODY + "</replicate>" * 4), "<replicate> makes .* copies"),
        (
            model("", '<asset><hfield name="h" nrow="100000" ncol="100000" size="1 1 1 1"/></asset>'),
            "<hfield> .* cells",
        ),
        (
            model('<body name="p"><flexcomp name="f" type="grid" count="1000 1000 1000" spacing="1 1 1"/></body>'),
            "<flexcomp> makes .* copies",
        ),
        (
            model('<body name="p"><composite type="cable" prefix="c" count="100000000 1 1"/></body>'),
            "<composite> count",
        ),
        (model("", '<asset><mesh name="m" builtin="supersphere" params="100000 1 1"/></asset>'), "<mesh> params"),
        ("<mujoco><sensor><user dim='2000000000'/></sensor></mujoco>", "<user> dim='2000000000'"),
        (model('<camera resolution="1000000 1000000"/>'), "<camera> .* pixels"),
        (model(BODY * 20_000), "elements; use URDF"),
        (model("<body>" * 600 + "</body>" * 600), "nested more than 500 deep"),
    ],
)
def test_what_would_take_too_long_is_refused(text: str, message: str, tmp_path: Path) -> None:
    said = loaded_apart(write(tmp_path / "m.xml", text), tmp_path)
    assert said.startswith("LoadError")
    with pytest.raises(LoadError, match=f"line 1: .*{message}"):
        catena.load(text)


@pytest.mark.parametrize(
    "outside",
    [
        '<size nuserdata="2000000000" nuser_body="2000000000" memory="100000G" nkey="2000000000"/>',
        '<custom><numeric name="a" size="2000000000"/></custom>',
        '<asset><texture name="t" type="2d" builtin="flat" width="1000000" height="1000000"/></asset>',
        '<asset><texture name="t" type="2d" file="/dev/zero"/><material name="w" texture="t"/></asset>',
        '<compiler><lengthrange mode="all" timestep="1e-9" inttotal="1e9"/></compiler>'
        '<actuator><motor joint="j"/></actuator>',
    ],
    ids=["sizes", "custom", "texture", "texture file", "ranges of muscles"],
)
def test_what_is_no_part_of_a_robot_is_not_built(outside: str, tmp_path: Path) -> None:
    assert loaded_apart(write(tmp_path / "m.xml", model(BODY, outside)), tmp_path) == "loaded 1"


@PIPES
def test_pipes_do_not_hang(tmp_path: Path) -> None:
    for name in ("pipe.xml", "pipe.obj"):
        os.mkfifo(tmp_path / name)
    included = write(tmp_path / "a.xml", model('<include file="pipe.xml"/>'))
    assert "line 1: <include> 'pipe.xml': is not a regular file" in loaded_apart(included, tmp_path)
    named = write(tmp_path / "b.xml", mesh("pipe.obj"))
    assert "line 1: <mesh> 'pipe.obj': is not a regular file" in loaded_apart(named, tmp_path)
    attached = write(tmp_path / "c.xml", '<mujoco><asset><model name="p" file="pipe.xml"/></asset></mujoco>')
    assert "line 1: <model> 'pipe.xml': is not a regular file" in loaded_apart(attached, tmp_path)


def test_text_opens_nothing(tmp_path: Path) -> None:
    secret = write(tmp_path / "part.xml", f"<mujocoinclude>{BODY}</mujocoinclude>")
    box = write(tmp_path / "box.obj", BOX)
    for text in (model(f'<include file="{secret}"/>'), mesh(str(box)), mesh("box.obj", f'meshdir="{tmp_path}"')):
        with pytest.raises(LoadError, match=r"line 1: .*a model given as text opens no files"):
            catena.load(text)
    assert catena.load(model('<include file="part.xml"/>'), package_roots=[tmp_path]).nv == 1
    assert catena.load(mesh("box.obj"), package_roots=[tmp_path]).nv == 1


def test_includes_stay_in_the_folder(tmp_path: Path) -> None:
    part = write(tmp_path / "outside.xml", f"<mujocoinclude>{BODY}</mujocoinclude>")
    home = tmp_path / "home"
    inner = write(home / "sub" / "inner.xml", '<mujocoinclude><include file="leaf.xml"/></mujocoinclude>')
    write(home / "sub" / "leaf.xml", f"<mujocoinclude>{BODY}</mujocoinclude>")
    (home / "link.xml").symlink_to(part)
    for name in (str(part), "../outside.xml", "sub/../../outside.xml", "link.xml"):
        main = write(home / "main.xml", model(f'<include file="{name}"/>'))
        with pytest.raises(LoadError, match=r"main.xml, line 1: <include> .*out of bounds.*package_roots"):
            catena.load(main)
        if not name.startswith("link"):
            assert catena.load(main, package_roots=[tmp_path]).nv == 1
    main = write(home / "main.xml", model('<include file="sub/inner.xml"/>'))
    assert catena.load(main).nv == 1  # relative to the file that includes it
    write(inner, '<mujocoinclude><include file="inner.xml"/></mujocoinclude>')
    with pytest.raises(LoadError, match=r"inner.xml .part of .*main.xml.: is included twice"):
        catena.load(main)
    with pytest.raises(LoadError, match=r"main.xml .*: is included twice"):
        catena.load(write(home / "main.xml", model('<include file="main.xml"/>')))


def test_meshes_may_lie_beside_the_folder_but_not_anywhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    write(tmp_path / "user" / "robots" / "meshes" / "box.obj", BOX)
    far = write(tmp_path / "user" / "box.obj", BOX)
    main = tmp_path / "user" / "robots" / "arm" / "main.xml"
    beside = catena.load(write(main, mesh("box.obj", 'meshdir="../meshes"')))
    assert beside.tree.meshes["b"][0].uri == str(tmp_path / "user" / "robots" / "meshes" / "box.obj")
    assert catena.load(write(main, mesh("../meshes/box.obj"))) == beside
    for name in ("../../box.obj", str(far)):
        write(main, mesh(name))
        with pytest.raises(LoadError, match=r"main.xml, line 1: <mesh> .*out of bounds"):
            catena.load(main)
        assert catena.load(main, package_roots=[far.parent]).nv == 1
    (main.parent / "box.obj").symlink_to(far)
    with pytest.raises(LoadError, match=r"<mesh> 'box.obj': lies out of bounds"):
        catena.load(write(main, mesh("box.obj")))


def test_equal_meshes_keep_their_own_names(tmp_path: Path) -> None:
    asset = '<asset><mesh name="l" file="left.obj"/><mesh name="r" file="right.obj"/></asset>'
    for name in ("left.obj", "right.obj"):
        write(tmp_path / name, BOX)
    world = '<body name="b"><joint/><geom type="mesh" mesh="l"/><geom type="mesh" mesh="r"/></body>'
    loaded = catena.load(write(tmp_path / "m.xml", model(world, asset)))
    assert [Path(found.uri).name for found in loaded.tree.meshes["b"]] == ["left.obj", "right.obj"]


def test_flexible_bodies_from_files(tmp_path: Path) -> None:
    write(tmp_path / "box.obj", BOX)
    flex = '<body name="p"><flexcomp name="f" type="mesh" dim="2" file="box.obj" mass="1"/></body>'
    assert catena.load(write(tmp_path / "m.xml", model(flex))).nv == 24
    write(tmp_path / "box.obj", BOX + "#" * 600_000)
    with pytest.raises(LoadError, match=r"<flexcomp> 'box.obj': makes .* copies"):
        catena.load(tmp_path / "m.xml")


def test_files_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with (tmp_path / "huge.obj").open("wb") as stream:
        stream.truncate(3 * 2**30)
    with pytest.raises(LoadError, match=r"<mesh> 'huge.obj': holds 3,072 MiB; at most 64 MiB"):
        catena.load(write(tmp_path / "m.xml", mesh("huge.obj")))
    write(tmp_path / "box.obj", BOX)
    monkeypatch.setattr(mjcf_caps, "MAX_FILES", 100)
    with pytest.raises(LoadError, match=r"<mesh> 'box.obj': with the files before it"):
        catena.load(write(tmp_path / "m.xml", mesh("box.obj")))


@pytest.mark.parametrize("head", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\1\0\0\0\1\0\0", (65536).to_bytes(4, "little") * 2])
def test_height_fields_in_files_are_bounded(head: bytes, tmp_path: Path) -> None:
    (tmp_path / "h.bin").write_bytes(head + bytes(100))
    asset = '<asset><hfield name="h" file="h.bin" size="1 1 1 1"/></asset>'
    with pytest.raises(LoadError, match=r"<hfield> 'h.bin': holds 65536 x 65536 cells"):
        catena.load(write(tmp_path / "m.xml", model("", asset)))


def test_attached_models_are_confined_as_well(tmp_path: Path) -> None:
    asset = '<asset><model name="k" file="../part/child.xml"/></asset>'
    main = write(tmp_path / "main" / "main.xml", model('<attach model="k" body="b" prefix="p_"/>', asset))
    child = write(tmp_path / "part" / "child.xml", mesh("box.obj", 'meshdir="meshes"'))
    box = write(tmp_path / "part" / "meshes" / "box.obj", BOX)
    loaded = catena.load(main)
    assert [link.name for link in loaded.links] == ["p_b"]
    assert loaded.tree.meshes["p_b"][0].uri == str(box)
    write(child, model('\n<include file="/etc/passwd"/>'))
    with pytest.raises(LoadError, match=r"child.xml .part of .*main.xml., line 2: <include> .*out of bounds"):
        catena.load(main)
    write(child, model(f'<replicate count="9999">{BODY}</replicate>'))
    with pytest.raises(LoadError, match=r"child.xml .part of .*main.xml., line 1: .*copies"):
        catena.load(main)
    write(child, '<mujoco><asset><model name="k" file="../main/main.xml"/></asset></mujoco>')
    with pytest.raises(LoadError, match="attaches itself"):
        catena.load(main)
    write(child, '<robot name="r"><link name="a"/></robot>')
    with pytest.raises(LoadError, match=r"child.xml .part of .*main.xml., line 1: <robot> cannot be attached"):
        catena.load(main)


def test_mujocos_words_lead_to_file_and_line(tmp_path: Path) -> None:
    write(tmp_path / "part.xml", '<mujocoinclude>\n\n<body name="x"><joint type="odd"/></body></mujocoinclude>')
    main = write(tmp_path / "main.xml", model('\n<include file="part.xml"/>'))
    with pytest.raises(LoadError, match=r"main.xml: MuJoCo cannot compile it: .*'odd'.*part.xml .*, line 3"):
        catena.load(main)
    with pytest.raises(LoadError, match=r"MuJoCo cannot compile it: .*bdy.*, line 3"):
        catena.load(model("\n\n<bdy/>"))


def test_no_log_is_left_behind(tmp_path: Path) -> None:
    """MuJoCo warns of what the file says; it would write that to a file where the process stands."""
    text = model(BODY, '<option timestep="nan"/>')
    assert loaded_apart(write(tmp_path / "m.xml", text), tmp_path).startswith("loaded")
    assert [file.name for file in tmp_path.iterdir()] == ["m.xml"]
    assert any("NaN" in warning for warning in catena.load(text).warnings)


def test_a_fault_inside_mujoco_spoils_nothing_else(tmp_path: Path) -> None:
    """An anchor without numbers makes MuJoCo throw what it does not catch; the next warning must come through."""
    two = BODY + BODY.replace('"b"', '"c"').replace('"j"', '"k"')
    equality = '<equality><connect body1="b" body2="c" anchor=" "/></equality>'
    bad = f"<mujoco><worldbody>{two}</worldbody>{equality}</mujoco>"
    before = f"import catena\ntry:\n    catena.load({bad!r})\nexcept catena.LoadError:\n    pass\n"
    for outside in ("", '<option timestep="nan"/>'):
        command = [sys.executable, "-W", "ignore", "-c", before + LOAD, model(BODY, outside)]
        done = subprocess.run(command, capture_output=True, timeout=600, check=True)
        assert done.stdout.strip() == b"loaded 1"


@pytest.mark.parametrize("inside", ["<plugin/><plugin/>", "<frame><plugin/></frame><plugin/>", "<plugin/>"])
def test_plugins_of_a_replicate_do_not_crash_mujoco(inside: str, tmp_path: Path) -> None:
    text = model(f'{BODY}\n<replicate count="3">{inside}</replicate>')
    assert loaded_apart(write(tmp_path / "m.xml", text), tmp_path).startswith("LoadError")
    with pytest.raises(LoadError, match="line 2: <plugin> of a <replicate> belongs to no body"):
        catena.load(text)


def test_a_plugin_without_a_name_does_not_crash_mujoco(tmp_path: Path) -> None:
    text = model(f'{BODY}\n<flexcomp name="x" type="grid" count="3 3 1" mass="1" dim="2"><plugin/></flexcomp>')
    assert loaded_apart(write(tmp_path / "m.xml", text), tmp_path).startswith("LoadError")
    with pytest.raises(LoadError, match="line 2: <plugin> of a <flexcomp> names no plugin"):
        catena.load(text)


def test_deep_models_are_within_the_threads_stack() -> None:
    deep = "".join(f'<body name="b{i}"><joint name="j{i}"/>{GEOM}' for i in range(450)) + "</body>" * 450
    assert catena.load(model(deep)).nv == 450


def test_the_users_own_handler_of_warnings_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    mujoco.set_mju_user_warning(heard.append)
    try:
        catena.load(model(BODY, '<option timestep="nan"/>'))
        assert mujoco.get_mju_user_warning() is not None
        assert not heard
    finally:
        mujoco.set_mju_user_warning(None)
