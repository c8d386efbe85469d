"""Tables that the emitted call reads, word by word: what a question takes, which answers are known, how one is made.

- A *question* has one table for all robots: its parameters, by name, in order.
- A *book* belongs to a robot and a question: for each combination of options asked so far, an entry with one word for
  each parameter and the address of the procedure.
- A *procedure* says how arrays become results: the kernel's entry points, and a *port* for each input and output.
"""

from __future__ import annotations

from enum import IntEnum

from catena.kernels.call.share_ir import MAX_ARRAYS

MAX_PARAMETERS = 16
QUESTIONS = 128
"""How many questions there may be that machine code answers."""

MAX_KEYS = 8
"""How many wrenches a mapping may hold to be taken apart by machine code."""


class Question(IntEnum):
    """Words of a question's table; then a row of :class:`Parameter` for each parameter, ``self`` not among them."""

    GENERAL = 0  # the Python function that answers every call
    NUMBER = 1  # which book of a robot is the question's
    OWNER = 2  # the class that ``self`` must be an instance of
    USUALLY = 3  # the class below it that ``self`` nearly always is
    PARAMETERS = 4  # how many there are
    POSITIONAL = 5  # how many of them may be given without their name
    SIZE = 6


class Parameter(IntEnum):
    """Words of a parameter's row."""

    NAME = 0  # an interned string
    ROLE = 1
    DEFAULT = 2
    SIZE = 3


class Role(IntEnum):
    """What a parameter is for."""

    OPTION = 0  # chooses the procedure
    ARRAY = 1  # goes into the kernel, unless it is None
    OUT = 2  # takes the results
    WORD_OR_ARRAY = 3  # a string chooses the procedure, anything else is an array
    MAPPING_OR_ARRAY = 4  # the keys of a dictionary choose the procedure, anything else is an array


class Given(IntEnum):
    """What an entry says of a parameter that chooses no procedure."""

    NOTHING = 0
    ARRAY = 1


class Book(IntEnum):
    """Words of a book; then the entries, each the address of a procedure and a word for each parameter."""

    ENTRIES = 0  # how many there are
    USUAL = 1  # the procedure of calls with arrays only, in order, all else left out; or 0
    ARRAYS = 2  # how many arrays those are
    SIZE = 3


class Procedure(IntEnum):
    """Words of a procedure; then a row of :class:`Port` for each input, and for each output."""

    DTYPE = 0
    ITEM_BYTES = 1
    INPUTS = 2
    OUTPUTS = 3
    SINGLE = 4  # the kernel for one sample
    BATCH = 5  # the kernel for several
    CONTEXT = 6
    SCRATCH = 7
    FEW = 8  # so many samples at most are computed at once; more go to LARGE
    LARGE = 9  # large(job, samples, *arrays), a Python function
    POOLED = 10  # from so many samples on, new results come from FRESH
    FRESH = 11  # fresh(number of the output, samples), a Python function
    WRAPPER = 12  # the class of several results, a kind of tuple
    MAKER = 13  # maker(self), a Python function that makes arrays of self's own which are missing; or 0
    WRENCHES = 14  # for a mapping: the table of its frames, or 0
    WATCH = 15  # watch(leading dimensions, samples, *arrays): to call after numbers became infinite or NaN; or 0
    SIZE = 16


class Port(IntEnum):
    """Words of a port; then the dimensions of one sample."""

    SOURCE = 0  # the number of a parameter; OWN + i for the array number i of self's own; MAPPED
    RANK = 1
    WIDTH = 2  # elements of one sample
    POSITIVE = 3  # 1 if all numbers must be finite and above zero
    DIMENSIONS = 4


PORT_WORDS = 40
MAX_DIMENSIONS = PORT_WORDS - Port.DIMENSIONS

OWN = 1000
MAPPED = 2000


class Wrenches(IntEnum):
    """Words of the table for a mapping; then a row of :class:`Frame` for each key, in order."""

    SUM = 0  # where the wrenches on all links are summed up, zero but for those of the keys' links
    SINGLE = 1  # the kernel that carries a wrench from a frame to its link
    CONTEXT = 2
    SCRATCH = 3
    COUNT = 4  # of keys
    SIZE = 5


class Frame(IntEnum):
    """Words of a frame's row."""

    ROW = 0  # where the wrench on its link is summed up; 0 for the base
    PLACE = 1  # the address of its twelve numbers: rotation, then origin
    SIZE = 2


COMPILED, OWNED = 16, 24
"""Where, in bytes, an object that answers questions keeps its books and its own arrays."""

__all__ = [
    "COMPILED",
    "MAPPED",
    "MAX_ARRAYS",
    "MAX_DIMENSIONS",
    "MAX_KEYS",
    "MAX_PARAMETERS",
    "OWN",
    "OWNED",
    "PORT_WORDS",
    "QUESTIONS",
    "Book",
    "Frame",
    "Given",
    "Parameter",
    "Port",
    "Procedure",
    "Question",
    "Role",
    "Wrenches",
]
