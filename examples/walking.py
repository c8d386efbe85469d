"""Can it walk? A quadruped stands, falls and trots on ground that it touches with its feet, all in machine code."""

from __future__ import annotations

from typing import Any

import numpy as np

import catena
from catena import robots

DT, SPEED = 1e-3, 2 * np.pi * 2.5  # two and a half strides a second
HIP, KNEE = 0.5, -1.0
DIAGONAL = np.array([1.0, -1.0, -1.0, 1.0])  # front left and hind right move together


def trot(t: Any, q: Any, v: Any) -> Any:
    """Torques that swing the legs: forward while they are lifted, back on the ground."""
    phase = DIAGONAL * np.sin(SPEED * t)
    lift = np.maximum(DIAGONAL * np.cos(SPEED * t), 0.0)
    start = np.minimum(t, 1.0)  # strides grow during the first second
    hip = HIP - 0.25 * start * phase + 0.25 * start * lift
    knee = KNEE - 0.5 * start * lift
    pulls = [drive(q, v, 7 + 3 * leg, angles) for leg, angles in enumerate(zip(np.zeros(4), hip, knee, strict=True))]
    return np.concatenate([np.zeros(6), *pulls])


def drive(q: Any, v: Any, first: int, angles: Any) -> Any:
    """Torques of one leg that pull its three joints to the angles."""
    return np.stack([120.0 * (angles[i] - q[first + i]) - 3.0 * v[first - 1 + i] for i in range(3)])


def main() -> None:
    dog = catena.load(robots.path("quadruped"), base="floating")
    feet = [name for name in dog.frames if "foot" in name]
    ground = catena.Ground(feet, friction=0.8)
    q = dog.neutral()
    q[7:] = np.tile([0.0, HIP, KNEE], 4)
    q[2] = -dog.placements(q, feet).position[:, 2].min()
    v, legs = np.zeros(dog.nv), np.r_[np.zeros(6), np.ones(12)]
    servo = catena.controllers.servo(q, 120.0 * legs, 3.0 * legs)
    stood = dog.rollout(q, v, None, 4 * DT, steps=2500, every=50, control=servo, ground=ground)
    drift = np.abs(stood.q[50:, :3] - stood.q[50, :3]).max()
    print(f"standing for 10 s: the trunk is {stood.q[-1, 2]:.3f} m high and moves by {drift * 1e3:.3f} mm")
    fell = dog.rollout(q, v, None, DT, steps=600, every=20, ground=ground)
    print(f"without torques it falls: from {q[2]:.2f} to {fell.q[-1, 2]:.2f} m in {fell.t[-1]:.1f} s")
    walked = dog.rollout(q, v, None, DT, steps=5000, every=100, control=trot, ground=ground)
    x, y, height = walked.q[-1, :3]
    print(f"trotting for {walked.t[-1]:.0f} s ({walked.how}): it went {np.hypot(x, y):.2f} m, {height:.2f} m high")


if __name__ == "__main__":
    main()
