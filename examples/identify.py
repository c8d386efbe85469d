"""How heavy is a robot really? A 7-dof arm is identified from noisy torques; its predictions before and after."""

import tempfile
from pathlib import Path

import numpy as np

import catena
from catena import identification, robots

PICTURE = Path(tempfile.gettempdir(), "identify.png")
SAMPLES, SEARCH, NOISE = 500, 100, 0.05  # samples of one period, motions looked at, noise beside each joint's torques


def main() -> None:
    model = catena.load(robots.path("seven_dof_arm"))
    truth = model.with_parameters(catena.randomize(model, rng=3, spread=0.25))  # the arm in the laboratory

    motion = identification.exciting_trajectory(model, duration=10.0, evaluations=SEARCH)
    print(
        f"motion: {motion.score.rank} of {motion.score.wanted} base parameters, condition {motion.score.condition:.1f}"
    )
    q, v, a = motion(motion.times(SAMPLES))
    clean = truth.inverse_dynamics(q, v, a, joint_losses=True)
    noise = NOISE * clean.std(axis=0) * np.random.default_rng(0).standard_normal(clean.shape)
    found = catena.identify(model, q, v, a, clean + noise)
    print("\n".join(found.report().splitlines()[:8]), "\n  ...")
    true = found.base.values(truth.parameters())
    inside = np.mean((found.lower <= true) & (true <= found.upper))
    print(f"{inside:.0%} of the base parameters lie in their 95 % intervals")

    fresh = identification.exciting_trajectory(model, duration=7.0, evaluations=1, rng=9)
    times = fresh.times(300)
    measured, before, after = (
        robot.inverse_dynamics(*fresh(times), joint_losses=True) for robot in (truth, model, found.robot)
    )
    for name, predicted in (("model", before), ("identified", after)):
        print(f"{name:>10}: torques of another motion are off by {np.abs(predicted - measured).mean():.3f} N m")
    plot(times, measured, before, after)


def plot(t: np.ndarray, measured: np.ndarray, before: np.ndarray, after: np.ndarray) -> None:
    """Torques of three joints, if matplotlib is there."""
    try:
        from matplotlib.figure import Figure
    except ImportError:
        return
    figure = Figure()
    axes = figure.subplots(3, sharex=True)
    for joint, axis in zip((1, 3, 5), axes, strict=True):
        axis.plot(t, measured[:, joint], "k", t, before[:, joint], "C1", t, after[:, joint], "C2--")
        axis.set(xlabel="time, s", ylabel=f"joint {joint + 1}, N m")
    axes[0].legend(["true", "model", "identified"])
    figure.savefig(PICTURE)
    print(f"torques are plotted in {PICTURE}")


if __name__ == "__main__":
    main()
