"""How does a four-bar linkage swing, and how well does it keep its energy and stay closed?"""

from __future__ import annotations

import numpy as np

import catena
from catena import robots

SECONDS, DT = 2.0, 1e-3


def main() -> None:
    bar = catena.System.load(robots.path("four_bar"))
    q, v = bar.close([-1.0, 0.3, -1.2]), np.zeros(bar.nv)
    print(f"{bar.redundancy(q).freedom} degree of freedom, crank at {np.degrees(q[0]):.1f}°")

    start, fastest, drift, open_by = energy(bar, q, v), 0.0, 0.0, 0.0
    for _ in range(round(SECONDS / DT)):
        q, v = step(bar, q, v)
        kinetic = bar.kinetic_energy(q, v)
        fastest, drift = max(fastest, kinetic), max(drift, abs(energy(bar, q, v) - start))
        open_by = max(open_by, np.abs(bar.closure_residual(q)).max())
    print(f"after {SECONDS} s the crank is at {np.degrees(q[0]):.1f}°")
    print(f"energy drifts by {drift / fastest:.1e} of the largest kinetic energy; the pin is open by {open_by:.1e} m")


def energy(bar: catena.System, q: np.ndarray, v: np.ndarray) -> float:
    return float(bar.kinetic_energy(q, v) + bar.potential_energy(q))


def step(bar: catena.System, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """One step of Runge and Kutta, and back to where the loop is closed."""
    still, rates, at = np.zeros(bar.nv), [], (0.0, DT / 2, DT / 2, DT)
    for h in at:
        dq, dv = rates[-1] if rates else (0 * v, 0 * v)
        a = bar.forward_dynamics(bar.integrate(q, h * dq), v + h * dv, still).a
        rates.append((v + h * dv, a))
    dq, dv = ((x[0] + 2 * x[1] + 2 * x[2] + x[3]) * DT / 6 for x in zip(*rates, strict=True))
    q = bar.close(bar.integrate(q, dq), tolerance=1e-12)
    return q, bar.project_velocity(q, v + dv)


if __name__ == "__main__":
    main()
