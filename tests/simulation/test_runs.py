"""Runs: energies, resampling, and files that are whole or refused."""

from __future__ import annotations

import io
import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.simulation import fuzz_runs

import catena
from catena.drawing.pictures import Stage
from catena.drawing.stage import samples_of
from catena.simulation import files


@pytest.fixture(scope="module")
def run() -> catena.Run:
    robot = catena.load(catena.robots.path("quadruped"), base="floating")
    rng = np.random.default_rng(0)
    q, v = robot.random_configuration(rng, (2, 2)), rng.uniform(-1, 1, (2, 2, robot.nv))
    return robot.rollout(q, v, rng.uniform(-1, 1, (6, robot.nv)), 1e-3, cost=lambda t, q, v: (v * v).sum(-1), every=2)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("", "it is a folder; give the name of a file in it"),
        ("nowhere/run.png", "the folder '.*nowhere' does not exist; make it first"),
        ("run\0.png", "null byte"),
        ("x" * 300 + ".png", "too long"),
    ],
)
def test_files_that_cannot_be_written_are_named(run: catena.Run, tmp_path: Path, name: str, why: str) -> None:
    path = os.path.join(tmp_path, name)

    def simulate() -> None:
        catena.simulate(catena.rod_chain(1), [0.0], [0.0], duration=1e-3, dt=1e-3, checkpoint=path)

    for write in (lambda: run.save(path), lambda: run.plot(path), simulate):
        with pytest.raises(catena.CatenaError, match=f"cannot be written: .*{why}") as error:
            write()
        assert repr(path) in str(error.value)
    assert not list(tmp_path.iterdir())


def test_a_file_that_is_written_has_a_path(run: catena.Run) -> None:
    with pytest.raises(catena.CatenaError, match="expected the path of a file to write, got an int"):
        run.save(3)  # type: ignore[arg-type]


def test_a_run_comes_back_from_its_file(run: catena.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    run.save(path)  # over what is there
    again = catena.load_run(path)
    assert again.robot == run.robot
    for name in ("t", "q", "v", "tau", "cost", "diverged_step", "diverged_joint"):
        assert np.array_equal(getattr(again, name), getattr(run, name)), name
    assert (again.dt, again.integrator, again.how) == (run.dt, run.integrator, run.how)
    assert [file.name for file in tmp_path.iterdir()] == ["run.npz"]
    more = again.robot.rollout(again.q[..., -1, :], again.v[..., -1, :], None, again.dt, steps=2)
    same = run.robot.rollout(run.q[..., -1, :], run.v[..., -1, :], None, run.dt, steps=2)
    assert np.array_equal(more.q, same.q)


def test_one_sample_and_events_come_back(tmp_path: Path) -> None:
    robot = catena.rod_chain(2)
    run = catena.simulate(robot, [0.1, 0.2], [0.0, 1.0], 0.05, 1e-3, events={"e": lambda t, q, v: t - 0.02})
    run.save(tmp_path / "run.npz")
    again = catena.load_run(tmp_path / "run.npz")
    assert again.events == run.events
    assert again.diverged.shape == ()
    assert again.robot.tree.joint_names == robot.tree.joint_names


def test_files_that_are_cut_off_or_changed_are_refused(run: catena.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    whole = path.read_bytes()
    for cut in (0, 10, len(whole) // 2, len(whole) - 5):
        path.write_bytes(whole[:cut])
        with pytest.raises(catena.LoadError, match="cut off"):
            catena.load_run(path)
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    path.write_bytes(flipped)
    with pytest.raises(catena.LoadError, match=r"run\.npz"):
        catena.load_run(path)
    with pytest.raises(catena.LoadError, match="no such file"):
        catena.load_run(tmp_path / "none.npz")
    with pytest.raises(catena.LoadError, match="the path of a run, got None"):
        catena.load_run(None)  # type: ignore[arg-type]


@pytest.mark.parametrize(("name", "value"), [("dt", None), ("dt", "x"), ("dt", [])])
def test_words_of_a_run_that_are_of_other_kinds_are_refused(
    run: catena.Run, tmp_path: Path, name: str, value: object
) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    with np.load(path) as found:
        arrays = dict(found)
    notes = json.loads(arrays["notes"].tobytes())
    notes["run"][name] = value
    np.savez(path, **{**arrays, "notes": np.frombuffer(json.dumps(notes).encode(), np.uint8)})
    with pytest.raises(catena.LoadError, match="parts are missing or wrong"):
        catena.load_run(path)
    for odd in ("run.diverged_step", "run.tau"):
        np.savez(path, **{**arrays, odd: arrays[odd].astype(str)})
        with pytest.raises(catena.LoadError, match=f"{odd} holds no real numbers"):
            catena.load_run(path)


def test_what_zip_files_and_arrays_claim_is_not_believed(run: catena.Run, tmp_path: Path) -> None:
    """Compression methods and versions that do not exist, secrets, and more numbers than any memory holds."""
    path = tmp_path / "run.npz"
    run.save(path)
    whole = path.read_bytes()
    directory = whole.rindex(b"PK\x01\x02")
    for place in (6, 8, 10):  # of the version, the flags and the method
        path.write_bytes(whole[: directory + place] + b"\xff\x01" + whole[directory + place + 2 :])
        with pytest.raises(catena.LoadError, match="cut off or something else"):
            catena.load_run(path)
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (10**13,)})
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("notes.npy", header.getvalue())
    with pytest.raises(catena.LoadError, match="cut off or something else"):
        catena.load_run(path)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_pipe_in_place_of_a_run_does_not_hang(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "run.npz")
    with pytest.raises(catena.LoadError, match="not a regular file"):
        catena.load_run(tmp_path / "run.npz")


def test_files_of_other_versions_or_without_parts_are_refused(run: catena.Run, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    run.save(path)
    with np.load(path) as file:
        arrays = {name: file[name] for name in file.files}
    notes = json.loads(arrays["notes"].tobytes())

    def written(**changes: object) -> None:
        text = json.dumps({**notes, **changes}).encode()
        np.savez(path, **{**arrays, "notes": np.frombuffer(text, np.uint8)})

    written(format=files.FORMAT + 1)
    with pytest.raises(catena.LoadError, match="format 1, found 2"):
        catena.load_run(path)
    written(robot={})
    with pytest.raises(catena.LoadError, match="missing"):
        catena.load_run(path)
    wrong = {**arrays, "robot.parent": arrays["robot.parent"] + 1}
    np.savez(path, **wrong)
    with pytest.raises(catena.LoadError, match="damaged"):
        catena.load_run(path)
    np.savez(path, **{**arrays, "run.q": arrays["run.q"][..., :-1]})
    with pytest.raises(catena.LoadError, match="not those of its robot"):
        catena.load_run(path)
    np.savez(path, **{**arrays, "run.v": np.array([object()])}, allow_pickle=True)
    with pytest.raises(catena.LoadError, match="cut off or something else"):
        catena.load_run(path)


def test_resampling(run: catena.Run) -> None:
    same = run.resampled(run.t)
    assert np.array_equal(same.q, run.q)
    assert np.array_equal(same.v, run.v)
    between = run.resampled([0.001, 0.0045])
    assert between.q.shape == (2, 2, 2, run.robot.nq)
    half = run.robot.integrate(run.q[..., 0, :], 0.5 * run.robot.difference(run.q[..., 0, :], run.q[..., 1, :]))
    assert np.allclose(between.q[..., 0, :], half, rtol=0, atol=1e-14)
    for wrong in ([], [0.1, 0.0], [-1.0, 0.0], [0.0, 1.0], [[0.0]], [np.nan]):
        with pytest.raises(catena.ShapeError, match="resampled"):
            run.resampled(wrong)


def test_springs_keep_energy() -> None:
    rod = catena.cable(1.0, 3, 1.0, 1.0)
    v = np.random.default_rng(0).uniform(-1, 1, rod.nv)
    run = catena.simulate(rod, rod.neutral(), v, 0.2, 0.01, integrator="adaptive", tolerance=1e-10)
    assert np.ptp(run.energy()) < 1e-7 * np.ptp(run.energy(springs=False))


def test_energy_and_momentum(run: catena.Run) -> None:
    assert run.energy().shape == (2, 2, 4)
    assert run.momentum().shape == (2, 2, 4, 6)
    assert run.energy()[0, 1, 2] == pytest.approx(
        run.robot.kinetic_energy(run.q[0, 1, 2], run.v[0, 1, 2]) + run.robot.potential_energy(run.q[0, 1, 2])
    )


def rewritten(run: catena.Run, path: Path, change: Callable[[dict[str, Any], dict[str, Any]], None]) -> None:
    """The file of a run, its arrays and notes changed."""
    run.save(path)
    with np.load(path) as found:
        arrays = dict(found)
    notes = json.loads(arrays["notes"].tobytes())
    change(arrays, notes)
    np.savez(path, **{**arrays, "notes": np.frombuffer(json.dumps(notes).encode(), np.uint8)})


@pytest.mark.parametrize(
    "t", [np.zeros((4, 1)), np.full(4, np.nan), np.array([0.0, 2.0, 1.0, 3.0]), np.zeros(0), np.array(0.0)], ids=str
)
def test_odd_times_are_refused(run: catena.Run, tmp_path: Path, t: Any) -> None:
    def change(arrays: dict[str, Any], notes: dict[str, Any]) -> None:
        arrays["run.t"] = t

    rewritten(run, tmp_path / "run.npz", change)
    with pytest.raises(catena.LoadError, match=r"run\.npz: expected a whole run"):
        catena.load_run(tmp_path / "run.npz")


@pytest.mark.parametrize("frame", [[float("inf"), np.eye(3).tolist(), [0, 0, 0]], [0, [[1]], [0, 0, 0]], [99, 1, 2], 3])
def test_odd_frames_are_refused(run: catena.Run, tmp_path: Path, frame: Any) -> None:
    rewritten(run, tmp_path / "run.npz", lambda _, notes: notes["robot"]["frames"].update(odd=frame))
    with pytest.raises(catena.LoadError, match=r"run\.npz"):
        catena.load_run(tmp_path / "run.npz")


def test_files_that_unpack_to_more_than_they_hold_are_refused(run: catena.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "run.npz")
    with np.load(tmp_path / "run.npz") as found:
        np.savez_compressed(tmp_path / "bomb.npz", **dict(found), more=np.zeros(10**7))
    assert (tmp_path / "bomb.npz").stat().st_size < 10**6
    with pytest.raises(catena.LoadError, match="claim to be 80,"):
        catena.load_run(tmp_path / "bomb.npz")


def test_meshes_of_a_run_are_looked_for_where_the_caller_allows(tmp_path: Path) -> None:
    """Beside the file and in package_roots, not where the file says."""
    (tmp_path / "secret").mkdir()
    (tmp_path / "runs").mkdir()
    secret = tmp_path / "secret" / "a.stl"
    secret.write_text("solid a\n" + 3 * "vertex 0 0 0\n")
    mesh = f'<visual><geometry><mesh filename="{secret}"/></geometry></visual>'
    model = tmp_path / "secret" / "arm.urdf"
    model.write_text(catena.robots.path("two_link_arm").read_text().replace("</inertial>", f"</inertial>{mesh}", 1))
    robot = catena.load(model)
    made = robot.rollout([0.0, 0.0], [0.0, 0.0], None, 1e-3, steps=2)

    def change(_: Any, notes: dict[str, Any]) -> None:
        for some in notes["robot"]["meshes"].values():
            for each in some:
                each.update({"directory": "/", "roots": ["/", str(secret.parent)]} if "uri" in each else {})

    rewritten(made, tmp_path / "runs" / "run.npz", change)
    rewritten(made, tmp_path / "run.npz", lambda _, notes: None)

    def found(path: Path, **options: Any) -> Path:
        meshes = [x for some in catena.load_run(path, **options).robot.tree.meshes.values() for x in some]
        place: Path = next(x for x in meshes if hasattr(x, "uri")).resolve()  # type: ignore[union-attr]
        return place

    with pytest.raises(catena.LoadError, match=r"leads out of .*runs; allow the folder"):
        found(tmp_path / "runs" / "run.npz")
    assert found(tmp_path / "runs" / "run.npz", package_roots=[secret.parent]) == secret.resolve()
    assert found(tmp_path / "run.npz") == secret.resolve()
    assert catena.load_run(tmp_path / "run.npz").robot == robot
    more = catena.load(model, package_roots=[tmp_path / "runs"])
    more.rollout([0.0, 0.0], [0.0, 0.0], None, 1e-3, steps=2).save(tmp_path / "more.npz")
    assert catena.load_run(tmp_path / "more.npz", package_roots=[tmp_path / "runs"]).robot == more
    elsewhere = catena.load_run(tmp_path / "runs" / "run.npz", package_roots=[secret.parent]).robot
    assert elsewhere != robot
    assert np.array_equal(
        elsewhere.forward_dynamics([0.3, 0.2], [1, 2], [0, 0]), robot.forward_dynamics([0.3, 0.2], [1, 2], [0, 0])
    )


ODD_WORDS: list[Callable[[dict[str, Any]], Any]] = [
    lambda robot: robot["joint_names"].__setitem__(0, ["a"]),
    lambda robot: robot.update(joint_names=["a"]),
    lambda robot: robot.update(joint_names=5),
    lambda robot: robot["mimic"].update(right_slide=[{"x": 1}, 1.0, 0.0]),
    lambda robot: robot["mimic"].update(right_slide=["left_slide", "x", 0.0]),
    lambda robot: robot["mimic"].update(right_slide=["left_slide", 10**400, 0.0]),
    lambda robot: robot.update(base_mass=10**400),
    lambda robot: robot["actuators"].update(m={"joint": {"x": 1}}),
    lambda robot: robot["actuators"].update(m={"joint": "left_slide", "gear": "x"}),
    lambda robot: robot["actuators"].update(m={"joint": "left_slide", "force_range": [1.0, -1.0]}),
    lambda robot: robot["actuators"].update(m={"joint": "left_slide", "force_range": [-1.0, 10**400]}),
    lambda robot: robot["actuators"].update(m={"joint": "left_slide", "force_range": [-1.0, "x"]}),
    lambda robot: robot["meshes"].update(palm=[{"kind": "box", "size": [[1], [2, 3]]}]),
    lambda robot: robot["meshes"].update(palm=[{"kind": "box", "size": ["1", "2", "3"]}]),
    lambda robot: robot["meshes"].update(palm=[{"kind": "torus", "size": [1, 1, 1]}]),
    lambda robot: robot["meshes"].update(palm=[{"uri": 5}]),
]


@pytest.mark.parametrize("change", range(len(ODD_WORDS)))
def test_odd_words_of_robots_are_refused(tmp_path: Path, change: int) -> None:
    """Also where the joint mimics another, so that names are looked up before all else."""
    robot, path, none = catena.load("gripper"), tmp_path / "run.npz", np.array(-1)
    made = catena.Run(robot, np.arange(2.0), np.zeros((2, robot.nq)), np.zeros((2, robot.nv)), none, none)
    made.save(path)
    assert catena.load_run(path).robot == robot
    rewritten(made, path, lambda _, notes: ODD_WORDS[change](notes["robot"]))
    with pytest.raises(catena.LoadError, match=r"run\.npz"):
        catena.load_run(path)


def test_shapes_and_gravity_too_large_to_look_at_are_no_trouble(tmp_path: Path) -> None:
    robot, path, none = catena.load("gripper"), tmp_path / "run.npz", np.array(-1)
    made = catena.Run(robot, np.arange(2.0), np.zeros((2, robot.nq)), np.zeros((2, robot.nv)), none, none)
    huge = [{"kind": "box", "size": [1e308, 1e308, 1.0]}]
    for change in (
        lambda arrays, notes: notes["robot"]["meshes"].update(palm=huge),
        lambda arrays, notes: arrays.update({"robot.gravity": np.array([0.0, 1e308, -9.81])}),
    ):
        rewritten(made, path, change)
        found = catena.load_run(path)
        with np.errstate(all="ignore"):
            assert Stage(found.robot, samples_of(found.robot, found.q[-1:]), (16, 16), (0, 0)).frame(0) is not None


def test_damaged_files() -> None:
    """A run or a LoadError; see fuzz_runs.py for more."""
    outcomes = [fuzz_runs.judge(fuzz_runs.case(0, number), number) for number in range(90)]
    assert set(outcomes) == {"loaded", "LoadError"}
