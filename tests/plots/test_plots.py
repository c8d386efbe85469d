"""Figures show what they should: the numbers of the lines, labels with units, files by their endings."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest

import catena
from catena import later

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def run() -> catena.Run:
    robot = catena.load("two_link_arm")
    control = catena.controllers.gravity_compensation()
    return catena.simulate(robot, [0.5, 0.1], [0.1, 0.0], duration=0.2, dt=1e-3, control=control)


def lines(axis: object) -> list[np.ndarray]:
    return [line.get_ydata() for line in axis.get_lines()]  # type: ignore[attr-defined]


def test_a_run_with_torques_and_energy(run: catena.Run, tmp_path: Path) -> None:
    figure = run.plot(tmp_path / "run.png")
    q, v, tau, energy = figure.axes
    assert np.array_equal(np.transpose(lines(q)), run.q)
    assert np.array_equal(np.transpose(lines(v)), run.v)
    assert np.array_equal(np.transpose(lines(tau)), run.tau)
    assert np.array_equal(lines(energy)[0], run.energy() - run.energy()[0])
    labels = [axis.get_ylabel() for axis in figure.axes]
    assert labels == ["q (rad)", "v (rad/s)", "τ (N m)", "E − E(0) (J)"]
    assert [text.get_text() for text in q.get_legend().get_texts()] == [joint.name for joint in run.robot.joints]
    assert (tmp_path / "run.png").read_bytes()[:4] == b"\x89PNG"


@pytest.mark.filterwarnings("ignore::catena.DivergenceWarning")
def test_states_of_a_run_that_diverges_are_drawn_as_far_as_they_are_sensible() -> None:
    robot = catena.load("two_link_arm")
    run = robot.rollout([0.5, 0.1], [0.1, 0.0], np.full((40, 2), 1e4), 0.05)
    assert run.diverged
    figure = run.plot()
    drawn = np.array(lines(figure.axes[1]))
    assert np.nanmax(np.abs(drawn)) < 1e5
    assert np.isnan(drawn[:, -1]).all()
    assert "diverged" in figure.axes[0].get_title(loc="left")


def test_samples_and_long_chains() -> None:
    chain = catena.rod_chain(60)
    rng = np.random.default_rng(0)
    many = chain.rollout(chain.random_configuration(rng, (2, 3)), np.zeros(60), None, 1e-4, steps=3)
    figure = many.plot(sample=(1, 2))
    assert len(lines(figure.axes[0])) == 40
    assert np.array_equal(lines(figure.axes[0])[-1], many.q[1, 2, :, -1])
    assert len(figure.axes) == 3  # no torques
    for wrong in (5, (0,), (0, 0, 0)):
        with pytest.raises(catena.ShapeError, match="sample"):
            many.plot(sample=wrong)


def test_units_of_sliding_and_free_joints() -> None:
    dog = catena.load("quadruped", base="floating")
    run = dog.rollout(dog.neutral(), np.zeros(dog.nv), None, 1e-3, steps=2)
    assert run.plot().axes[0].get_ylabel() == "q (rad, m)"


def test_sparsity(tmp_path: Path) -> None:
    dog = catena.load("quadruped", base="floating")
    figure = catena.plots.sparsity(dog, path=tmp_path / "m.svg")
    assert [axis.get_title() for axis in figure.axes] == ["M", "M⁻¹", "U", "D", "H"]
    q = dog.random_configuration(0)
    M = dog.mass_matrix(q).dense()
    shown = figure.axes[0].get_images()[0].get_array()
    assert np.array_equal(np.ma.getmaskarray(shown), np.abs(M) <= 1e-14 * np.abs(M).max())
    rotors = catena.load("two_link_arm").with_joints(armature=0.1)
    assert len(catena.plots.sparsity(rotors).axes) == 4  # Fixman's partition does not take rotors
    with pytest.raises(catena.UnsupportedError, match="500"):
        catena.plots.sparsity(catena.rod_chain(501))


def test_scaling() -> None:
    figure = catena.plots.scaling({"line": ([10, 100, 1000], [1e-6, 1e-5, 1e-4])})
    assert figure.axes[0].get_legend().get_texts()[0].get_text() == "line: n^1.00"
    with pytest.raises(catena.ShapeError, match="line"):
        catena.plots.scaling({"line": ([10, 100], [0.0, 1.0])})


def test_prediction() -> None:
    robot = catena.load("two_link_arm")
    rng = np.random.default_rng(0)
    q = robot.random_configuration(rng, 100)
    v, a = rng.standard_normal((2, 100, 2))
    heavier = robot.parameters()
    true = robot.with_parameters(heavier.replace(inertial=1.1 * np.asarray(heavier.inertial)))
    tau = true.inverse_dynamics(q, v, a) + 1e-3 * rng.standard_normal((100, 2))
    found = catena.identify(robot, q, v, a, tau)
    figure = catena.plots.prediction(found)
    assert np.array_equal(lines(figure.axes[0])[1], found.residuals[:, 0])


def test_refusals(run: catena.Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("none/run.png", "run.xyz"):
        with pytest.raises(catena.CatenaError, match="cannot be written"):
            run.plot(tmp_path / name)

    def missing(name: str) -> None:
        raise ModuleNotFoundError(f"No module named {name!r}", name=name)

    monkeypatch.setattr(later, "import_module", missing)
    with pytest.raises(catena.UnsupportedError, match=r"pip install 'catena-dynamics\[plot\]'"):
        run.plot()


def test_notebooks_show_figures() -> None:
    made = catena.plots.scaling({"a line": ([1, 10], [1, 10])})
    assert made._repr_png_().startswith(b"\x89PNG")
    assert pickle.loads(pickle.dumps(made))._repr_png_().startswith(b"\x89PNG")
