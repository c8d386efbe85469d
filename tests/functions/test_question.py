"""How questions are answered where machine code may not call Python: all in Python, and the same."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import numpy as np
from catena.kernels.call import layout
if {without}:
    layout.python_api.cache_clear()
    layout._familiar_interpreter = lambda: False
import catena
robot = catena.load(catena.robots.path("quadruped"), base="floating")
rng = np.random.default_rng(0)
q = robot.random_configuration(rng)
v, a = rng.standard_normal((2, robot.nv))
M = robot.mass_matrix(q)
for x in (
    robot.forward_dynamics(q, v, a), robot.inverse_dynamics(q, v, a), robot.bias(q, v), robot.kinetic_energy(q, v),
    robot.forward_dynamics(q, v, a, method="udu"), robot.forward_dynamics(q, v, a, {{"trunk": np.ones(6)}}),
    robot.integrate(q, v), robot.difference(q, q), robot.normalize(q), robot.gravity_torque(q),
    robot.jacobian(q, "trunk"), robot.jacobian(q, ["trunk", "trunk"], frame="mixed"), M.solve(a), M.times(a),
    M.logdet(), M.diagonal(), M.factors().U @ a, *robot.placements(q),
):
    print(np.asarray(x).tobytes().hex())
"""


def test_python_alone_gives_the_same_bits() -> None:
    runs = [[sys.executable, "-W", "error", "-c", CODE.format(without=without)] for without in (False, True)]
    found = [subprocess.run(run, capture_output=True, text=True, timeout=300, check=True).stdout for run in runs]
    assert found[0] == found[1]
    assert len(found[0].split()) == 19
