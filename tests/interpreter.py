"""A plain interpreter of rolled programs on floats: what the machine code of a rolled kernel must do."""

from __future__ import annotations

import math

import numpy as np

from catena.model.lowered import Lowered
from catena.rolled import CARRY, CONST, PARENT, SELF, Program
from catena.trace.graph import LEAF, live

OPERATIONS = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "mul": lambda x, y: x * y,
    "div": lambda x, y: x / y,
    "neg": lambda x: -x,
    "sin": math.sin,
    "cos": math.cos,
    "sqrt": math.sqrt,
    "log": math.log,
}


def interpret(program: Program, lowered: Lowered, inputs: dict, input_at, outputs: dict, output_at) -> None:
    """Run the loops link by link. ``input_at(name, k)`` and ``output_at(name, k)`` give the start of link k's numbers."""
    n = lowered.n
    codes = sorted(set(lowered.kind.tolist()))
    memory = np.full((n + 1, program.size + 1), np.nan)
    for slot, x in program.base.items():
        memory[0, program.slots[slot]] = x
    for loop in program.loops:
        carried = dict(loop.start)
        for k in range(n) if loop.direction > 0 else reversed(range(n)):
            number = codes.index(int(lowered.kind[k]))
            body, of = loop.bodies[number], program.classes[number]
            parent = int(lowered.parent[k]) + 1

            def leaf(array, index, k=k, parent=parent, carried=carried):
                if array == CONST:
                    if index[0] == "A":
                        return float(lowered.armature[lowered.v_start[k] + int(index[1:])])
                    return float(lowered.constants[index][k])
                if array == CARRY:
                    return carried[index]
                if array in (SELF, PARENT):
                    return memory[k + 1 if array == SELF else parent, program.slots[index]]
                return inputs[array][input_at(array, k) + index]

            values = {}
            for node in live([*body.stores.values(), *body.carried.values()]):
                if node.op == LEAF:
                    values[node.id] = leaf(*node.args)
                else:
                    args = [values[a.id] if hasattr(a, "id") else a for a in node.args]
                    values[node.id] = OPERATIONS[node.op](*args)
            get = lambda x, values=values: values[x.id] if hasattr(x, "id") else x  # noqa: E731
            for (array, index), x in body.stores.items():
                if array.startswith("out:"):
                    outputs[array[4:]][output_at(array[4:], k) + index] = get(x)
                else:
                    memory[k + 1 if array == SELF else parent, program.slots[index]] = get(x)
            carried = {slot: get(x) for slot, x in body.carried.items()}
            assert of.kind.code == codes[number]
