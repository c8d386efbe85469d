"""Dependencies between the parts of the package point one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import catena

ROOT = Path(catena.__file__).parent
OF_THE_PACKAGE = {"__version__", "__file__"}  # what a part may ask of the package itself

# Each module or subpackage may import those in lines above its own, and itself.
LAYERS = [
    {"errors", "trace", "version"},
    {"scalars"},
    {"spatial", "expressions"},
    {"kinds", "model", "robots"},
    {"sweeps"},
    {"rolled"},
    {"algorithms"},
    {"functions"},
    {"kernels"},
    {"asking", "wrenches", "planar_point_masses"},
    {"counting", "dynamics", "kinematics", "mass_matrix", "operators"},
    {"robot"},
    {"load", "builder", "builders", "system", "simulate", "view"},
    {"__init__"},
    {"cli"},
]
SAME = {"engine": "kernels"}  # engine.py is the door to kernels/
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


def part_of(path: Path) -> str:
    name = path.relative_to(ROOT).parts[0].removesuffix(".py")
    return SAME.get(name, name)


def for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements below `node` but those under `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if not for_types_only(child):
            yield child
            yield from statements(child)


def imported(source: str) -> Iterator[str]:
    """The parts of catena that a module imports, wherever in it."""
    tree = ast.parse(source)
    for node in statements(tree):
        if isinstance(node, ast.Import):
            modules = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            modules = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            modules = []
        for first, *rest in (module.split(".") for module in modules):
            if first == "catena" and rest and rest[0] not in OF_THE_PACKAGE:
                part = SAME.get(rest[0], rest[0])
                yield part if part in LEVEL else "__init__"
    used = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "catena"
    }
    if used - {"__version__"}:
        yield "__init__"


def test_every_part_has_a_layer() -> None:
    assert {part_of(path) for path in ROOT.rglob("*.py")} <= set(LEVEL)


def test_imports_point_down() -> None:
    wrong = {
        f"{path.relative_to(ROOT)} imports {part}"
        for path in ROOT.rglob("*.py")
        for part in imported(path.read_text(encoding="utf-8"))
        if part != part_of(path) and LEVEL[part] >= LEVEL[part_of(path)]
    }
    assert not wrong


def test_the_check_sees_all_kinds_of_imports() -> None:
    inside = "def f():\n    from catena.robot import Robot\n"
    assert list(imported(f"import catena.model.tree\nfrom catena import errors, Robot\n{inside}")) == [
        "model",
        "errors",
        "__init__",
        "robot",
    ]
    assert list(imported("import catena\ncatena.load")) == ["__init__"]
    assert not list(
        imported("import catena, numpy\ncatena.__version__\nif TYPE_CHECKING:\n    from catena import robot")
    )
