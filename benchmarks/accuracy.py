"""Digits on every robot of example-robot-data: machine code beside a 50-digit run, and beside Pinocchio.

    python benchmarks/accuracy.py [--only NAME] [--states 3]

Relative errors: the largest difference over the largest entry. The 50-digit run uses the robot as it was loaded, with
no lowering pass but the alignment of frames.
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path

import mpmath
import numpy as np
import pinocchio as pin
from timing import table

import catena
from catena.functions import engine
from catena.functions.catalogue import FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX
from catena.model.singular import unheld_leaves
from peers import urdf

sys.path.insert(0, str(Path(__file__).parent.parent))
from tests.peers.pinocchio_peer import Peer


def relative(x: np.ndarray, exact: np.ndarray) -> float:
    """The largest difference over the largest entry, 0 for empty arrays."""
    return float(np.abs(x - exact).max() / np.abs(exact).max()) if exact.size else 0.0


def measure(file: Path, base: str, states: int) -> list[list[object]]:
    """One row for each function of a robot."""
    peer = Peer.load(file, base)
    robot, model, data = peer.robot, peer.model, peer.model.createData()
    functions = {
        "forward dynamics": (
            FORWARD_DYNAMICS["innovations"],
            ("q", "v", "tau"),
            lambda q, v, a: pin.aba(model, data, q, v, a),
        ),
        "inverse dynamics": (INVERSE_DYNAMICS, ("q", "v", "a"), lambda q, v, a: pin.rnea(model, data, q, v, a)),
        "mass matrix": (MASS_MATRIX, ("q",), lambda q, v, a: pin.crba(model, data, q)),
    }
    if unheld_leaves(robot.tree):
        del functions["forward dynamics"]
    rng, rows = np.random.default_rng(0), []
    samples = [(robot.random_configuration(rng), *rng.standard_normal((2, robot.nv))) for _ in range(states)]
    for name, (function, inputs, pinocchio) in functions.items():
        kernel, plain, worst = engine.kernel(robot, function), replace(function, regroup=False, choose=False), [0.0] * 3
        for sample in samples:
            given = sample[: len(inputs)]
            with mpmath.workdps(50):
                exact = engine.evaluate(robot.tree, plain, dict(zip(inputs, given, strict=True)), mpmath.mpf)
            exact = next(iter(exact.values())).astype(float)
            theirs = pinocchio(peer.q(sample[0]), peer.v(sample[1]), peer.v(sample[2]))
            whole = name == "mass matrix"
            theirs = peer.matrix(np.triu(theirs) + np.triu(theirs, 1).T) if whole else peer.ours(theirs)
            ours = kernel(*given)
            errors = relative(ours, exact), relative(theirs, exact), relative(ours, theirs)
            worst = [max(pair) for pair in zip(worst, errors, strict=True)]
        rows.append([f"{file.stem}, {base}", name, *worst])
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="")
    parser.add_argument("--states", type=int, default=3)
    arguments = parser.parse_args()
    rows: list[list[object]] = []
    for file in sorted(urdf("UR5").parents[2].rglob("*.urdf")):
        if arguments.only in file.stem and file.name != "ur3.urdf":
            for base in ("fixed", "floating"):
                if catena.load(file, base=base, mimic="independent").nv:
                    rows += measure(file, base, arguments.states)
                    print(*[x if isinstance(x, str) else f"{x:.1e}" for x in rows[-1]], file=sys.stderr)
    head = ["robot", "function", "Catena against 50 digits", "Pinocchio against 50 digits", "Catena against Pinocchio"]
    for name in ("forward dynamics", "inverse dynamics", "mass matrix"):
        chosen = sorted((row for row in rows if row[1] == name), key=lambda row: -row[2])
        table(f"{name}, {len(chosen)} robots: the worst ten", head, chosen[:10])


if __name__ == "__main__":
    main()
