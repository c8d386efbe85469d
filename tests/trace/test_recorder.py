"""Recorded loops, gone through link by link in plain Python, give what the algorithm itself gives."""

from __future__ import annotations

import numpy as np
import pytest
from tests.mechanisms import ALL, relative

from catena.functions.catalogue import BIAS, FORWARD_DYNAMICS, INVERSE_DYNAMICS, MASS_MATRIX_TIMES
from catena.functions.compared import compared
from catena.functions.function import kind
from catena.functions.linkwise import lowered_for
from catena.functions.on_scalars import evaluate
from catena.kernels.codegen.context import WORDS, context_of, layout_of
from catena.trace.graph import LEAF, Expr, live
from catena.trace.interpret import _OPERATIONS
from catena.trace.recorder import BASE, CARRY, CONST, PARENT, SELF, classify, recorded

TWICE = compared(FORWARD_DYNAMICS["fd1"], FORWARD_DYNAMICS["two_sweep"].algorithm, 1e-6)  # loops that read a sum
MANY = (*FORWARD_DYNAMICS.values(), INVERSE_DYNAMICS, BIAS, MASS_MATRIX_TIMES, TWICE)
FUNCTIONS = {function.name: function for function in MANY if not function.dense}


class ByHand:
    """Runs a recording for one sample, with the table that machine code reads."""

    def __init__(self, recording, context, function, given):
        self.recording, self.table = recording, dict(zip(WORDS, context, strict=True))
        self.kinds = {name: kind(k) for name, k in {**function.inputs, **function.outputs}.items()}
        self.given = given
        sizes = {"q": self.table["nq"], "v": self.table["nv"], "link": self.table["links"], "robot": 1}
        self.out = {name: np.zeros(sizes[self.kinds[name].per] * self.kinds[name].width) for name in function.outputs}
        self.fields = np.full((self.table["links"] + 1, recording.size), np.nan)

    def run(self):
        for slot, x in self.recording.base.items():
            self.fields[0, self.recording.slots[slot]] = x
        for loop in self.recording.loops:
            carried = dict(loop.start)
            for k in range(self.table["links"])[:: loop.direction]:
                carried = self._turn(k, loop.bodies[self.table["classes"][k]], carried)
            if loop.direction < 0:
                for slot in self.recording.arriving & set(carried):
                    self.fields[0, self.recording.slots[slot]] += carried[slot]
        self._turn(-1, self.recording.epilogue, {})
        return self.out

    def _turn(self, k, body, carried):
        known = {}
        for node in live(body.values):
            if node.op == LEAF:
                known[node.id] = self._leaf(k, *node.args, carried)
            else:
                known[node.id] = _OPERATIONS[node.op](*[known[a.id] if isinstance(a, Expr) else a for a in node.args])
        numbers = [known[x.id] if isinstance(x, Expr) else x for x in body.values]
        for (array, index), x in zip(body.stores, numbers, strict=False):
            if array in (SELF, PARENT):
                self.fields[self._row(k, array), self.recording.slots[index]] = x
            else:
                name = array.removeprefix("out:")
                self.out[name][self._start(k, name) + index] = x
        return dict(zip(body.carried, numbers[len(body.stores) :], strict=True))

    def _leaf(self, k, array, index, carried):
        if array == CARRY:
            return carried[index]
        if array == CONST:
            return self.table["constants"][k, self.recording.columns[self.table["classes"][k]].index(index)]
        if array == BASE:
            return self.fields[0, self.recording.slots[index]]
        if array in (SELF, PARENT):
            return self.fields[self._row(k, array), self.recording.slots[index]]
        return self.given[array][self._start(k, array) + index]

    def _row(self, k, array):
        return k + 1 if array == SELF else self.table["parents"][k] + 1

    def _start(self, k, name):
        starts = {"q": self.table["q_start"][k], "v": self.table["v_start"][k], "link": k, "robot": 0}
        return starts[self.kinds[name].per] * self.kinds[name].width


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("mechanism", ["chain of all joint types", "tree with rotors", "floating tree"])
def test_recordings_by_hand(mechanism, name):
    robot, function, rng = ALL[mechanism](), FUNCTIONS[name], np.random.default_rng(0)
    lowered = lowered_for(robot.tree, function)
    classes, which = classify(lowered)
    names = [name for name in function.inputs if name != "f_ext"]
    given = {n: rng.standard_normal(robot.nq if function.inputs[n] == "q" else robot.nv) for n in names}
    given["q"] = robot.random_configuration(rng)
    recording = recorded(lowered, classes, function, {n: function.inputs[n] for n in names})
    context = context_of(lowered, which, recording.columns, np.dtype(float))
    expected = evaluate(robot.tree, function, given)
    for version in (recording, recording.fused()):
        found = ByHand(version, context, function, given).run()
        for output, numbers in expected.items():
            assert relative(found[output], np.ravel(numbers).astype(float)) < 1e-9


@pytest.mark.parametrize("mechanism", ALL)
def test_the_layout_of_arrays(mechanism):
    tree = ALL[mechanism]().tree
    lowered = lowered_for(tree, BIAS)
    layout = layout_of(lowered, classify(lowered)[0])
    assert layout.widest_q == np.diff(tree.q_start).max()
    assert layout.widest_v == np.diff(tree.v_start).max()
    assert layout.unit_q == (np.diff(tree.q_start) == 1).all()
    assert layout.unit_v == (np.diff(tree.v_start) == 1).all()
