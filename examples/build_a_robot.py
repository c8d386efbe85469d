"""How is a robot made part by part, changed, and put together from others?"""

from __future__ import annotations

import catena


def main() -> None:
    crane = (
        catena.Builder("crane")
        .link("tower", mass=900.0, com=(0, 0, 8), inertia=(2e4, 2e4, 800))
        .link("trolley", mass=120.0, inertia=(10, 10, 10))
        .link("load", mass=400.0, com=(0, 0, -6), inertia=(30, 30, 30))
        .revolute("slew", "base", "tower", axis="z", damping=5.0)
        .prismatic("travel", "tower", "trolley", axis="x", position=(0, 0, 16), lower=2.0, upper=14.0)
        .universal("swing", "trolley", "load", axis="x", axis2="y")
        .build()
    )
    print(crane)

    held = crane.locked({"travel": 10.0})
    print(f"\nthe trolley clamped at 10 m: {held!r}, frames {list(held.frames)}")
    both = crane.attach(catena.planar_chain([1.0, 1.0], 5.0), "tower", position=(0, 0, 16), prefix="flag_")
    print(f"a chain of two links on the tower: {both!r}")
    print(f"on the moon: gravity {crane.with_gravity((0, 0, -1.62)).gravity}")

    try:
        catena.Builder().link("flag").revolute("hinge", "base", "flag").build()
    except catena.CatenaError as error:
        print(f"\nwhat cannot be is refused, {type(error).__name__}: {error}")


if __name__ == "__main__":
    main()
