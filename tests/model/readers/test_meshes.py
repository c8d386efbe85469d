"""Mesh references: found where they may be, refused everywhere else."""

from __future__ import annotations

from pathlib import Path

import pytest

import catena
from catena import LoadError
from catena.model.readers.meshes import MeshReference

URDF = """<robot name="r"><link name="a"><visual><origin xyz="1 2 3"/><geometry><mesh filename="{}" scale="1 2 3"/>
</geometry></visual><collision><geometry><mesh filename="meshes/c.stl"/></geometry></collision></link></robot>"""


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """A package `arm` with a model and a mesh, and a secret beside it."""
    root = tmp_path / "share" / "arm"
    for folder in ("urdf/meshes", "meshes"):
        (root / folder).mkdir(parents=True)
    (root / "package.xml").touch()
    (root / "meshes" / "link one.stl").touch()
    (root / "urdf" / "meshes" / "near.stl").touch()
    (tmp_path / "share" / "secret.stl").touch()
    return root


def reference(package: Path, uri: str, *roots: Path) -> MeshReference:
    return MeshReference(uri, directory=str(package / "urdf"), roots=tuple(map(str, roots)))


def test_references_are_kept_as_written() -> None:
    visual, collision = catena.load(URDF.format("package://nowhere/x.stl")).tree.meshes["a"]
    assert (visual.uri, visual.role, visual.position, visual.scale) == (
        "package://nowhere/x.stl",
        "visual",
        (1.0, 2.0, 3.0),
        (1.0, 2.0, 3.0),
    )
    assert (collision.uri, collision.role, collision.directory) == ("meshes/c.stl", "collision", None)


def test_load_passes_roots_on(package: Path) -> None:
    file = package / "urdf" / "arm.urdf"
    file.write_text(URDF.format("package://arm/meshes/link%20one.stl"))
    (package / "package.xml").unlink()
    with pytest.raises(LoadError, match="package_roots"):
        catena.load(file).tree.meshes["a"][0].resolve()
    for roots in ([package.parent], [package], package.parent, str(package.parent)):
        found = catena.load(file, package_roots=roots).tree.meshes["a"][0].resolve()
        assert found == (package / "meshes" / "link one.stl").resolve()


@pytest.mark.parametrize("uri", ["package://arm/meshes/link one.stl", "package://arm/meshes/link%20one.stl"])
def test_the_models_own_package_is_allowed(package: Path, uri: str) -> None:
    assert reference(package, uri).resolve() == (package / "meshes" / "link one.stl").resolve()


def test_paths_beside_the_model(package: Path) -> None:
    near = (package / "urdf" / "meshes" / "near.stl").resolve()
    assert reference(package, "meshes/near.stl").resolve() == near
    assert reference(package, "meshes\\near.stl").resolve() == near
    assert reference(package, f"file://{near}").resolve() == near
    assert reference(package, str(near)).resolve() == near


@pytest.mark.parametrize(
    "uri",
    [
        "package://arm/../secret.stl",
        "package://arm/meshes/../../secret.stl",
        "package://../secret.stl",
        "package://arm/%2e%2e/secret.stl",
        "package://arm\\..\\secret.stl",
        "../meshes/link one.stl",
        "file://../secret.stl",
    ],
)
def test_never_upwards(package: Path, uri: str) -> None:
    with pytest.raises(LoadError, match=r'paths through "\.\."'):
        reference(package, uri, package.parent).resolve()


def test_nothing_outside(package: Path) -> None:
    secret = package.parent / "secret.stl"
    for uri in (f"file://{secret}", str(secret), "package://arm//" + str(secret)):
        with pytest.raises(LoadError, match=r"leads out|not found"):
            reference(package, uri).resolve()
    assert reference(package, str(secret), package.parent).resolve() == secret.resolve()


def test_symbolic_links_are_followed_before_the_check(package: Path) -> None:
    trap = package / "meshes" / "trap.stl"
    trap.symlink_to(package.parent / "secret.stl")
    with pytest.raises(LoadError, match="leads out"):
        reference(package, "package://arm/meshes/trap.stl").resolve()
    loop = package / "meshes" / "loop.stl"
    loop.symlink_to(loop)
    with pytest.raises(LoadError, match="not found"):
        reference(package, "package://arm/meshes/loop.stl").resolve()


def test_a_directory_that_only_looks_like_the_package(package: Path) -> None:
    with pytest.raises(LoadError, match="not found"):
        reference(package, "package://share/secret.stl").resolve()


@pytest.mark.parametrize(
    "uri",
    ["http://host/x.stl", "package://", "package://arm", "meshes", "none.stl", "a\0b", "x" * 5000, "model://arm/x"],
)
def test_odd_references(package: Path, uri: str) -> None:
    with pytest.raises(LoadError, match=r"^mesh "):
        reference(package, uri, package.parent).resolve()


def test_text_has_no_directory() -> None:
    with pytest.raises(LoadError, match="text without a place"):
        MeshReference("x.stl").resolve()


def test_what_is_missing_is_said(package: Path) -> None:
    """Which folder to allow: the newcomer has the package elsewhere, or without its package.xml."""
    with pytest.raises(LoadError, match=r"lies in no package 'other'; allow the folder that holds 'other': --packages"):
        reference(package, "package://other/x.stl").resolve()
    with pytest.raises(LoadError, match=r"not found in .*arm; allow the folder that holds 'arm'"):
        reference(package, "package://arm/x.stl").resolve()
    with pytest.raises(LoadError, match=r"not found in .*urdf; allow the folder it lies in"):
        reference(package, "x.stl").resolve()


def test_a_package_reached_by_a_link(package: Path, tmp_path: Path) -> None:
    """A folder of models that is linked from elsewhere still lies in its package."""
    (tmp_path / "models").symlink_to(package / "urdf")
    linked = MeshReference("package://arm/meshes/link one.stl", directory=str(tmp_path / "models"))
    assert linked.resolve() == (package / "meshes" / "link one.stl").resolve()
