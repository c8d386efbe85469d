"""Wheel and sdist are built, and the wheel works in an environment of its own; README leads to a robot seen moving."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

import catena
from catena import robots

ROOT = Path(__file__).parent.parent
PARTS = ("src", "docs", "examples", "benchmarks", "tests", "pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md")
IGNORED = shutil.ignore_patterns("__pycache__", "_build", ".*")


def copied(target: Path) -> Path:
    """The repository without what building it leaves behind."""
    target.mkdir()
    for name in (*PARTS, "CITATION.cff", "CONTRIBUTING.md", "Makefile"):
        place = ROOT / name
        if place.is_dir():
            shutil.copytree(place, target / name, ignore=IGNORED)
        else:
            shutil.copy(place, target / name)
    return target


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheel and the sdist."""
    pytest.importorskip("hatchling")
    place = tmp_path_factory.mktemp("build")
    source = copied(place / "source")
    program = "import sys; from hatchling import build; build.build_wheel(sys.argv[1]); build.build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", program, str(place)], cwd=source, check=True, capture_output=True)
    return place


def test_the_wheel_holds_the_package_and_its_models(built: Path) -> None:
    (wheel,) = built.glob("catena_dynamics-*.whl")
    with zipfile.ZipFile(wheel) as file:
        names = set(file.namelist())
    assert {f"catena/robots/{robots.path(name).name}" for name in robots.names()} <= names
    assert "catena/py.typed" in names
    assert not [name for name in names if name.startswith(("tests", "docs", "benchmarks"))]


def test_the_sdist_holds_what_the_tests_need(built: Path) -> None:
    (sdist,) = built.glob("catena_dynamics-*.tar.gz")
    with tarfile.open(sdist) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    assert {"README.md", "CHANGELOG.md", "CITATION.cff", "LICENSE", "tests/conftest.py", "docs/index.md"} <= names


def test_the_wheel_works_in_an_environment_of_its_own(built: Path, tmp_path: Path) -> None:
    """Its dependencies are those of this environment; the package itself must come from the wheel."""
    (wheel,) = built.glob("*.whl")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(tmp_path / "venv")], check=True)
    bin_folder = "Scripts" if os.name == "nt" else "bin"
    python = tmp_path / "venv" / bin_folder / "python"
    ask = [python, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    site = subprocess.run(ask, check=True, capture_output=True, text=True).stdout.strip()
    install = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", site, str(wheel)]
    subprocess.run([sys.executable, *install], check=True, capture_output=True)
    Path(site, "dependencies.pth").write_text("\n".join(path for path in sys.path if "site-packages" in path))
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    program = "import catena, sys; from catena.cli import main; print(catena.__file__); main(['info', 'two_link_arm'])"
    said = subprocess.run([python, "-c", program], check=True, capture_output=True, text=True, env=environment).stdout
    assert said.startswith(site)
    assert "two_link_arm: 2 joints" in said


@pytest.mark.long
def test_readme_leads_from_a_clone_to_a_robot_seen_moving(tmp_path: Path) -> None:
    """Its block for the shell is run as it is, in a new environment, on a file of one's own. Needs a network."""
    clone = copied(tmp_path / "clone")
    text = (clone / "README.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```sh\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    own = robots.path("two_link_arm").read_text().replace('name="two_link_arm"', 'name="mine"')
    (clone / "arm.urdf").write_text(own)
    subprocess.run([sys.executable, "-m", "venv", str(clone / ".venv")], check=True)
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}
    commands = [line.split("  #")[0].strip() for line in block.splitlines()]
    assert [words.split()[0] for words in commands] == [".", "pip", "catena", "catena", "catena", "catena"]
    subprocess.run("\n".join(["set -e", *commands]), shell=True, cwd=clone, env=environment, check=True, timeout=1200)
    assert (clone / "swing.html").stat().st_size > 100_000
    assert (clone / "arm.png").read_bytes()[:4] == b"\x89PNG"


def test_the_distribution_and_the_extras_go_by_the_same_name() -> None:
    from catena.later import DISTRIBUTION

    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r'^name = "(.+)"', text, re.MULTILINE).group(1) == DISTRIBUTION  # type: ignore[union-attr]
    assert not re.findall(r"\bcatena\[", text)
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(r"^## (\S+)", changes, re.MULTILINE).group(1) == catena.__version__  # type: ignore[union-attr]


def test_models_are_found_in_a_zip(tmp_path: Path) -> None:
    package = Path(catena.__file__).parent
    with zipfile.ZipFile(tmp_path / "catena.zip", "w") as archive:
        for file in package.rglob("*"):
            if file.suffix in (".py", ".urdf", ".xml"):
                archive.write(file, Path("catena") / file.relative_to(package))
    code = (
        "import catena; assert '.zip' in catena.__file__; print(*catena.robots.names());"
        "print(catena.load('two_link_arm').nv, catena.robots.path('quadruped').is_file())"
    )
    run = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(tmp_path / "catena.zip")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert run.stdout.splitlines() == [" ".join(catena.robots.names()), "2 True"], run.stderr


def test_models_that_were_not_bundled_are_not_called_misspelt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catena.robots, "_files", list)
    for ask in (catena.load, catena.robots.path):
        with pytest.raises(catena.CatenaError, match="left out when this program was bundled"):
            ask("two_link_arm")
