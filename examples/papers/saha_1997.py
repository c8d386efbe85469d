"""Saha (1997): what do U, D and forward dynamics of an arm look like in symbols, as recursions?

Not here: Table I, which is lost.
"""

from __future__ import annotations

import numpy as np

import catena


def main() -> None:
    arm = catena.rod_chain(3, radius=0.05, axes="zyy")
    factors = catena.symbolic(arm, "udu")
    print(f"(21)  U and D of {arm.name}: {len(factors.definitions)} definitions, the last ones:")
    for symbol, meaning in list(factors.definitions.items())[-6:]:
        print(f"      {symbol} = {meaning}")
    q = np.array([0.3, -0.8, 1.1])
    names: dict[str, object] = {}
    exec(factors.code("python"), names)
    U, D = (np.array(x) for x in names["udu"](q))  # type: ignore[operator]
    M = arm.mass_matrix(q).dense()
    print(f"      their product against the mass matrix: {np.abs(U @ D @ U.T - M).max():.0e}")
    print("(17), (18), (25), (26)  forward dynamics, in C:")
    source = catena.symbolic(arm, "forward_dynamics").code("c").splitlines()
    for line in [*source[2:6], "    ...", *source[-5:]]:
        print(f"      {line[:100]}")
    for n in (4, 8, 16):
        long = catena.symbolic(catena.planar_chain(np.ones(n), 1.0), "forward_dynamics")
        print(f"      a planar chain of {n} links: {len(long.definitions)} definitions")


if __name__ == "__main__":
    main()
