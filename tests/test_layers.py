"""Dependencies between the parts of the package point one way."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import catena

ROOT = Path(catena.__file__).parent
OF_THE_PACKAGE = {"__version__", "__file__"}  # what a part may ask of the package itself

# Each part may import those in lines above its own, and itself. A part is a module or a folder of the package, or one
# inside a folder that is named here, as "functions.catalogue" is. The dots are the parts that answer a robot's
# questions, which are not listed: they may also import each other, as long as that goes one way.
LAYERS = [
    {"errors", "trace", "version"},
    {"later", "scalars"},
    {"spatial"},
    {"functions.function", "model", "robots"},
    {"functions.following", "sweeps"},
    {"trace.recorder", "functions.linkwise", "functions.recipes", "arguments.arrays", "arguments.links"},
    {"functions.derived", "functions.on_scalars"},
    {"algorithms"},
    {"functions.catalogue"},
    {"kernels"},
    {"arguments"},
    {"functions"},
    {"..."},
    {"robot"},
    {"load", "build", "polymers"},
    {"system_file"},
    {"system"},
    {"poses", "run_file"},
    {"__init__"},
    {"cli"},
    {"__main__"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
PARTS = {path.name.removesuffix(".py") for path in ROOT.iterdir() if path.suffix in ("", ".py")}


def level(part: str) -> int:
    return LEVEL.get(part, LEVEL["..."])


def part_named(words: list[str]) -> str:
    """The part that a module belongs to, from the words of its name after "catena"."""
    inner = ".".join(words[:2])
    return inner if inner in LEVEL else words[0]


def part_of(path: Path) -> str:
    return part_named([word.removesuffix(".py") for word in path.relative_to(ROOT).parts])


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
                yield part_named(rest) if rest[0] in PARTS else "__init__"
    used = {
        node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "catena"
    }
    if used - OF_THE_PACKAGE:
        yield "__init__"


def imports() -> dict[str, set[str]]:
    """What each part imports of the others."""
    found: dict[str, set[str]] = {}
    for path in ROOT.rglob("*.py"):
        own = part_of(path)
        found.setdefault(own, set()).update(set(imported(path.read_text(encoding="utf-8"))) - {own})
    return found


def test_imports_point_down() -> None:
    wrong = [
        f"{part} imports {other}"
        for part, others in imports().items()
        for other in others
        if level(other) >= level(part) and not level(other) == level(part) == LEVEL["..."]
    ]
    assert not wrong


def test_imports_never_go_round() -> None:
    assert len(list(TopologicalSorter(imports()).static_order())) > 5


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
