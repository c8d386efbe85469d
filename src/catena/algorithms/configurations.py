"""Functions of the configuration space: what joint types say of their own coordinates, for all joints of a mechanism.

One sweep, O(n); joints do not know of each other here.
"""

from __future__ import annotations

from catena.functions.function import Function
from catena.sweeps import Field, Links


def integrate(links: Links, q: Field, dv: Field) -> Field:
    """The configuration reached from q by moving with the constant velocity dv for unit time."""
    (reached,) = links.fields("reached")
    for k in links.base_to_tip():
        reached[k] = k.joint_type.integrate(q[k], dv[k])
    return reached


def difference(links: Links, q0: Field, q1: Field) -> Field:
    """The constant velocity that leads from q0 to q1 in unit time, by the shorter turn where there are two."""
    (v,) = links.fields("v")
    for k in links.base_to_tip():
        v[k] = k.joint_type.difference(q0[k], q1[k])
    return v


def normalize(links: Links, q: Field) -> Field:
    """The configuration q with quaternions of unit length."""
    (unit,) = links.fields("unit")
    for k in links.base_to_tip():
        unit[k] = k.joint_type.normalize(q[k])
    return unit


INTEGRATE = Function("integrate", integrate, inputs={"q": "q", "dv": "v"}, outputs={"q": "q"})
DIFFERENCE = Function("difference", difference, inputs={"q0": "q", "q1": "q"}, outputs={"v": "v"})
NORMALIZE = Function("normalize", normalize, inputs={"q": "q"}, outputs={"q": "q"})
