"""Makes the pictures of README and the pages again: python docs/pictures.py (needs the extras view, plot and mjcf).

Screenshots of pages in a browser come from tests/drawing/test_browser.py, with CATENA_SCREENSHOTS=docs/images.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import catena
from catena.cli.demo import moving

HERE = Path(__file__).parent / "images"
REACH = [0.3, 0.6, 0.0, 1.2, 0.0, 0.8, 0.0]


def landing() -> catena.Run:
    """A quadruped that falls on its feet."""
    dog = catena.load("quadruped", base="floating")
    stand = dog.neutral()
    stand[2], stand[7:] = 0.42, np.tile([0.0, 0.5, -1.0], 4)
    hold = catena.controllers.pd(
        stand, kp=np.r_[np.zeros(6), np.full(12, 80.0)], kd=np.r_[np.zeros(6), np.full(12, 2.0)]
    )
    ground = catena.Ground()
    return catena.simulate(
        dog, stand, np.zeros(18), 0.8, 1e-3, ground=ground, control=hold, integrator="semi_implicit", every=5
    )


def main() -> None:
    """Write all pictures."""
    run, _, _ = moving()
    run.render(HERE / "demo.gif", size=(640, 300), rate=20.0, view=(-55.0, 14.0))
    arm = catena.load("seven_dof_arm")
    catena.render(arm, REACH, HERE / "arm.png", frames=["tool"], center_of_mass=True, size=(480, 360))
    catena.render(arm, arm.random_configuration(3, shape=8), HERE / "samples.png", size=(480, 360))
    catena.render(arm, REACH, HERE / "bearings.png", forces="bearings", size=(480, 360))
    dog = catena.load("quadruped")
    catena.render(dog, np.tile([0.0, 0.5, -1.0], 4), HERE / "quadruped.png", size=(480, 360))
    chain = catena.rod_chain(2000, length=0.01)
    curl = 0.004 * np.sin(np.arange(2000) / 150)
    catena.render(chain, curl, HERE / "chain.png", size=(480, 360))
    swing = catena.simulate(arm, REACH, np.zeros(7), duration=2.0, dt=1e-3)
    carried = arm.mass_matrix(arm.neutral()).diagonal()
    hold = catena.controllers.hold(arm.neutral(), kp=60.0 * carried, kd=9.0 * carried)
    catena.simulate(arm, REACH, np.zeros(7), duration=2.0, dt=1e-3, control=hold).plot(HERE / "hold-plot.png")
    swing.render(HERE / "swing.gif", size=(320, 240))
    landing().render(HERE / "landing.gif", size=(320, 240), forces="contacts", speed=0.5)
    catena.plots.sparsity(catena.load("quadruped", base="floating"), path=HERE / "sparsity.png")


if __name__ == "__main__":
    main()
