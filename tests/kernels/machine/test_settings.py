"""Every setting that chooses other machine code gives right answers: in a process of its own, against plain Python."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import catena

ASK = """
import json, sys
import numpy as np
import catena
from catena.kernels.machine.target import host
robot = catena.load("seven_dof_arm")
rng = np.random.default_rng(5)
q = rng.uniform(-2.0, 2.0, (21, robot.nq))
v, x = rng.standard_normal((2, 21, robot.nv))
f_ext = rng.standard_normal((len(robot.links), 6))
asked = {
    "forward_dynamics": lambda *a: robot.forward_dynamics(*a, f_ext),
    "rolled": lambda *a: robot.forward_dynamics(*a, f_ext, kernel="rolled"),
    "inverse_dynamics": robot.inverse_dynamics,
    "float32": lambda *a: robot.inverse_dynamics(*a, dtype=np.float32),
    "derivatives": lambda *a: np.concatenate(robot.forward_dynamics_derivatives(*a), axis=-1),
    "step": lambda *a: np.concatenate(robot.step(*a, 1e-3), axis=-1),
    "logdet": lambda q, v, x: robot.mass_matrix(q).logdet(),
}
found = {}
for name, ask in asked.items():
    whole = ask(q, v, x)
    for part in (slice(0, 1), slice(2, 5), slice(4, 21)):  # alone, fewer than lanes, lanes and some
        assert np.array_equal(ask(q[part], v[part], x[part]), whole[part]), (name, part)
    assert np.array_equal(ask(q[7], v[7], x[7]), whole[7]), name
    found[name] = whole[7].tolist()
given = [each.tolist() for each in (q[7], v[7], x[7], f_ext)]
print(json.dumps([found, host().lanes(float), host().assembles, *given]))
"""


def plainly(q, v, x, f_ext):
    """The same answers from algorithms that run as Python on floats, and from differences of these."""
    robot = catena.load("seven_dof_arm")

    def forward(*given):
        return catena.evaluate(robot, "forward_dynamics", *given)

    a, inverse = forward(q, v, x), catena.evaluate(robot, "inverse_dynamics", q, v, x)
    turns, h = np.eye(robot.nv), 1e-6
    by_q = [(forward(q + h * e, v, x) - forward(q - h * e, v, x)) / (2 * h) for e in turns]
    by_v = [(forward(q, v + h * e, x) - forward(q, v - h * e, x)) / (2 * h) for e in turns]
    by_tau = [forward(q, v, x + e) - a for e in turns]
    return {
        "forward_dynamics": forward(q, v, x, f_ext),
        "rolled": forward(q, v, x, f_ext),
        "inverse_dynamics": inverse,
        "float32": inverse,
        "derivatives": np.concatenate([np.transpose(m) for m in (by_q, by_v, by_tau)], axis=-1),
        "step": np.concatenate([q + 1e-3 * (v + 1e-3 * a), v + 1e-3 * a]),
        "logdet": -np.linalg.slogdet(np.transpose(by_tau))[1],
    }


CLOSE = {"float32": 1e-5, "derivatives": 1e-6}


@pytest.mark.parametrize(
    ("setting", "lanes", "assembles"),
    [("CATENA_VECTOR_BITS=128", 2, True), ("CATENA_VECTOR_BITS=256", 4, True), ("CATENA_ASSEMBLY=0", 8, False)],
)
def test_answers_are_right(setting, lanes, assembles):
    name, value = setting.split("=")
    run = subprocess.run(
        [sys.executable, "-c", ASK], env={**os.environ, name: value}, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    found, most_lanes, assembly, *given = json.loads(run.stdout)
    assert (most_lanes <= lanes, assembly <= assembles) == (True, True)
    for name, expected in plainly(*map(np.array, given)).items():
        close = CLOSE.get(name, 1e-11)
        np.testing.assert_allclose(found[name], expected, rtol=0, atol=close * np.abs(expected).max(), err_msg=name)
