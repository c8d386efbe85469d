"""Links that stand for many: an algorithm that sweeps over them leaves loops behind instead of one long expression.

There is one of them for each joint type of the mechanism. A sweep runs the body once for each; reading ``V[k.parent]``
gives leaves that a kernel will load, writing gives stores, and when the generator is resumed the body is complete. The
algorithm is run twice: the first run only finds out which fields are accumulated at the parent (``P[k.parent] += …``)
and where.

After its last sweep an algorithm may read fields at the base, and at the tip of a chain, compute with them, and write
fields at the base: the *epilogue*, straight-line code after the last loop.

On a chain, what goes from one link to the next stays in registers: a field read at the parent in the sweep that writes
it, and a sum that the parent accumulates, are *carried* from one turn of the loop to the next.
"""

from catena.trace.recorder.links import InputField, RolledLinks
from catena.trace.recorder.record import record
from catena.trace.recorder.recording import (
    BASE,
    CARRY,
    CONST,
    PARENT,
    SELF,
    TIP,
    Body,
    LinkClass,
    Loop,
    Recording,
    Slot,
    classify,
    constants_of,
)
from catena.trace.recorder.run import recorded

__all__ = [
    "BASE",
    "CARRY",
    "CONST",
    "PARENT",
    "SELF",
    "TIP",
    "Body",
    "InputField",
    "LinkClass",
    "Loop",
    "Recording",
    "RolledLinks",
    "Slot",
    "classify",
    "constants_of",
    "record",
    "recorded",
]
