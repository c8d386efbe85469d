"""Laws as users write them, made up at random, each against a loop that calls it in Python.

    python -m tests.simulation.fuzz_laws --count 200 --seed 1

A law is made of pieces of source: comparisons, options of NumPy's functions, control flow, noise, state in objects and
closures. The rollout must be that of a loop of `robot.step` around the same law, made anew, to 1e-12; or it is refused
with an error. Nothing else is allowed, whether the rollout says that it compiled the law or that it called it.
"""

import argparse
import collections
import sys
import warnings

import numpy as np

import catena

STEPS, DT = 6, 0.25
ARM = catena.load("two_link_arm")
ROBOT = ARM.with_parameters(ARM.parameters().replace(armature=[40.0, 30.0], gravity=[0.0, 0.0, 0.0]))
"""Heavy and slow, so that roundings do not grow: what is off by more than them is another law."""


PARTS = """
q|v|-2.0 * q|q - v|np.sin(q)|np.cos(v) * q|np.tanh(3 * v)|np.exp(-q * q)|np.abs(v)|abs(q)|np.sign(v)|np.fabs(q)
np.sqrt(q * q + 1)|np.where(v == 0, 1.0, -v)|np.where(q != 0.25, q, v)|np.where((q > 0) == (v > 0), q, v)
np.where((q > 0) != (v > 0), 1.0, v)|np.where(q > 0, 1, 0)|(q > 0) * v|(q > 0) + 0.5
np.where((q > 0) & (v > 0), 1.0, q)|np.where((q > 0).__or__(v < 0), v, q)|np.where(~(q > 0), v, q)
np.where((q > 0) ^ (v > 0), 2.0, q)|np.where(np.logical_not(v > 0), 1.0, q)|np.where(q, 1.0, 2.0)
np.clip(q, -0.2, 0.3)|q.clip(-0.2, 0.2)|q.clip(min=0.0)|np.clip(q, a_min=0.0, a_max=1)|np.clip(q, 0.0, None)
np.clip(a=q, a_min=0.0, a_max=0.1)|np.round(q, 1)|np.round(q)|q.round(2)|np.around(v, decimals=1)|np.round(10 * q, -1)
np.rint(3 * q)|np.floor(4 * q)|np.ceil(4 * v)|np.trunc(4 * q)|np.minimum(q, v)|np.maximum(q, 0.1)|np.fmax(q, v)
np.heaviside(q, 0.5)|np.hypot(q, v)|np.arctan2(q, v + 2)|np.arctan(q)|np.arcsin(0.1 * q)|np.sum(q) * v|q.sum() - v
np.sum(q, initial=1.0) + v|np.sum(q, where=[True, False]) * v|np.sum(q, axis=0) + v|np.sum(q, keepdims=True) * v
np.max(q) * v|np.max(q, initial=0.0) + v|np.min(v, initial=-0.1) + q
q.max(where=np.array([True, False]), initial=-1.0) + v|np.max(q, axis=0, keepdims=True) + v|np.mean(q) * v
np.std(q) + v|np.var(v) + q|np.median(q) + v|np.prod(q) + v|np.cumsum(q)|np.diff(q)[0] * v|np.ptp(q) * v
np.sum(np.array([q, v]), axis=0)|np.any(q > 0.1) * v|np.all(v > -1) * q|np.any(q > 0, where=[True, False]) + v
np.where(np.any(q > 0.2), q, v)|np.where(np.all(v == 0), 1.0, q)|(q > 0).any() * q|np.array_equal(q, v) * 1.0 + q
np.where(np.array_equal(v, [0, 0]), 1.0, q)|np.allclose(q, v) * v|np.isclose(q, 0.3) + v|np.isnan(q) + v
np.isfinite(q) * v|np.multiply(q, 2.0, where=[True, False], out=np.ones(2))|np.add(q, v, out=np.zeros(2))
np.sin(q, out=np.zeros(2))|np.add(q, v, dtype=np.float32)
np.maximum(q, v, where=np.array([True, False]), out=np.zeros(2))|np.negative(q, where=q > 0, out=np.zeros(2))
np.abs(q, out=np.zeros_like(q))|np.sqrt(np.abs(q), casting="unsafe")|np.linalg.norm(q) * v
np.linalg.norm(q, ord=1) + v|np.linalg.norm(np.array([q, v]), axis=0)|np.dot(q, v) * q|q @ v * v|np.outer(q, v) @ v
np.array([[2.0, 1.0], [0.5, 1.0]]) @ q|np.cross([q[0], q[1], 0.0], [0.0, 0.0, 1.0])[:2]|np.einsum("i,i->i", q, v)
np.inner(q, v) + q|np.interp(q, [-1, 0, 1], [0.0, 1.0, 0.5])|np.polyval([1.0, 2.0], q)|np.concatenate([q[:1], v[1:]])
np.stack([q, v]).sum(axis=0)|np.hstack([q[0], v[1]])|np.roll(q, 1)|np.flip(v)|q[::-1]|np.append(q[0], v[0])
np.array([q[0], v[1]])|np.sort(q)|q[np.argsort(q)]|np.array([q[np.argmax(v)], 1.0])|np.unique(q).sum() + v
np.searchsorted([0.0, 0.2], q) + v|np.digitize(q, [0.0, 0.3]) * 1.0|np.nan_to_num(q / v)
np.select([q > 0.2, q < 0], [q, v], 0.1)|np.piecewise(q, [q < 0, q >= 0], [-1.0, 1.0])|np.copysign(q, v)
np.mod(q, 0.2)|q % 0.3|q // 0.1|np.fmod(v, 0.2)|divmod(q, 0.2)[1]|q ** 2|q ** 3|v ** 2.0|q ** -1|np.power(q, 2)
np.abs(q) ** 0.5|np.square(v)|np.reciprocal(q + 3)|1 / (1 + v * v)|v / (np.abs(v) + 1e-3)|q / 4|np.float_power(q, 2)
np.full_like(q, 0.3) - q|np.zeros_like(q) + v|np.ones_like(v, dtype=int) / 2 + q|np.full_like(q, 1.7, dtype=int) + v
np.eye(2) @ q|np.trace(np.outer(q, v)) + q|np.tile(q[:1], 2)|(t == 0) * 3.0 + q|(t != 0) * q|np.where(t == 0.25, q, v)
(t in (0.0, 0.5)) * 1.0 + v|np.where(t < 0.6, q, v)|q if t < 0.6 else v|(0.2 < t < 0.8) * q|np.sin(3 * t) * q
(1.0 if t == 0 else 0.2) * q|[0.1, 0.2][int(t > 0.5)] * q|q * min(t, 0.5)|q * max(0.1, t)|q * round(t)|q * int(4 * t)
q * (t // 0.5)|q * (t % 0.5)|{0.0: 1.0}.get(t, 0.3) * q|(q[0] == v[0]) * 2.0 + q
([q[0], q[1]] == [v[0], v[1]]) * 1.0 + q|(list(q) == list(v)) * q|(q.tolist() == v.tolist()) + v|(q[0] in v) * 1.0 + v
(q[0] in [0.3, 0.1]) * 2.0 + v|q * (not t > 0.5)|q * (t > 0.2 and q[0] > 0)|q * (t > 0.2 or v[0] > 0)
np.where(~(t > 0.5), q, v)|(q[0] > 0) * (v[0] > -9) * q|q * ((q[0] > 0) + (v[0] > 0))|np.count_nonzero(q > 0) * v
max(q[0], v[0]) + q|min(q) + v|sum(q) * v|sum(x * y for x, y in zip(q, v)) + q|max([abs(x) for x in v]) + q
sorted(q)[0] + v|np.array([x if x > 0 else -x for x in q])|np.vectorize(lambda x: x * 2)(q)|float(q[0]) * v
q.astype(float)|q.astype(int) + v|q.astype(np.float32)|np.asarray(q, dtype=float) * 2|np.float64(q[0]) + v
bool(v[0]) * q|int(10 * q[0]) + v|np.array(q, copy=True)|q.copy() * 2|len(q) * v|q.shape[0] * q|q.size + v
isinstance(t, float) * q|isinstance(q[0], float) + v|(type(q) is np.ndarray) * q|(q.dtype == float) * q
hasattr(t, "shape") * 1.0 + q|(id(q) == 0) + q|str(t == 0.5).count("T") * 1.0 + q|np.random.normal(size=2)
q + 0.1 * np.random.rand()|q * time.time() * 0 + v|np.random.default_rng(3).normal(size=2) + q|random.random() * q
q * np.where(np.random.rand() < 0.5, 1.0, 2.0)|math.sin(t) * q|math.sin(q[0]) + v|math.hypot(q[0], q[1]) * v
math.copysign(1.0, v[0]) * q|(math.floor(t) == t) * q|np.sin(np.array([q[0], v[0]]))|np.array([q[0], v[0]]) == 0.0
(np.array([q[0], t]) > 0) * 1.0
"""

STATEMENTS = """
x = {a}; x += {b}; return x
x = q[0]; y = x; x += v[0]; return np.array([x - y, y])
x = q[..., 0]; y = x; x = x + 1; return np.stack([x, y], axis=-1)
x = np.zeros_like(q); x[0] = {s}; x[1] = 0.1; return x + {a}
x = np.zeros(2); x[0] = {s}; return x + {a}
x = q.copy(); x[1] = 0; x[x > 0] = 0.2; return x
x = {a}; x[0] *= 2; return x
x = {a} * 1.0; y = x; y -= {b}; return x + y
x = {a}; np.add(x, 1.0, out=x); return x
x = q.copy(); np.clip(x, -0.1, 0.1, out=x); return x
x = q.copy(); np.copyto(x, v, where=[True, False]); return x
x = np.array(q); x.fill(0.5); return x * v
x = q.copy(); x.sort(); return x
if t == 0: return {a}
if {s} > 0.1: return {a}
if q[0] == 0.3: return {a}
if v[0]: return {a}
if np.any(v != 0): return {a}
if np.array_equal(q, v): return {a}
if isinstance(t, float): return {a}
if type(q[0]) is np.float64: return {a}
try: float(q[0]); return {a}; /except TypeError: pass
x = 0.0; /for i in range(2): x = x + q[i] * v[i]; /return x * {a}
x = {a}; /for y in (q, v): x = x + np.where(y > 0, y, 0.0); /return x
x = 0; /while x < 3: x += 1; /return x * {a}
f = lambda x: x * 2 if True else x; return f({a})
return list({a})
return tuple({a})
return {s}
return np.array([{s}, {s}])
return [{s}, 0.1]
assert t >= 0; return {a}
k = dict(a=2.0); return k["a"] * {a}
k = np.array([1.0, 2.0, 3.0])[int(t)]; return k * {a}
memo.append(t); return len(memo) * {a}
memo.append(1.0); return {a}
memo.append(q[0]); return {a} + memo[-1] - memo[0]
kept["n"] = kept.get("n", 0) + 1; return kept["n"] * 0.1 * {a}
kept["q"] = kept.get("q", 0.0) + q; return kept["q"] + {a}
self.n += 1; return self.n * 0.1 * {a}
self.sum = self.sum + 0.25 * q; return -self.sum - {a}
self.sum += 0.25 * q; return -self.sum - {a}
d = (q - self.last) / 0.25; self.last = q.copy(); return -0.1 * d + {a}
if self.first: self.first = False; return 0 * q; /return {a}
if t == 0: self.sum = q * 1.0; /return self.sum + {a}
held[:] = 0.5 * held + 0.5 * q; return held - {a}
held += q; return held * 0.1
return {a} + 0.1 * rng.normal(size=2)
return {a} + 0.1 * rng.uniform()
return {a} * next(counter)
global COUNT; COUNT += 1; return COUNT * 0.1 * {a}
nonlocal closed; closed += 0.5; return closed * {a}
nonlocal closed; closed = closed + q[0]; return closed + {a}
q[0] = 0.0; return {a}
q -= 0.1; return {a}
return {a} + 0.1 * np.array(self.helper(t, q))
"""

SOURCE = """
def make():
    import itertools
    global COUNT
    COUNT = 0
    memo, kept, held, rng, counter, closed = [], dict(), np.zeros(2), np.random.default_rng(5), itertools.count(), 0.0
    np.random.seed(11); random.seed(11)
    class Law:
        calls = 0
        def __init__(self):
            self.n, self.sum, self.last, self.first = 0, np.zeros(2), np.zeros(2), True
        def helper(self, t, q):
            Law.calls += 1
            return [0.1 * Law.calls, 0.2]
        def __call__(self, t, q, v):
            {nonlocals}
{body}
            return {end}
    law = Law()
    {form}
"""
FORMS = ("return law", "return law.__call__", "return lambda t, q, v: law(t, q, v)", "return functools.partial(law)")


def written(rng):
    """The source of one law."""
    parts = pieces()
    pick = lambda: f"({parts[rng.integers(len(parts))]})"  # noqa: E731
    form = FORMS[rng.integers(len(FORMS))]
    lines = []
    if rng.random() < 0.6:
        every = STATEMENTS.strip().splitlines()
        text = every[rng.integers(len(every))].format(a=pick(), b=pick(), s=f"np.sum({pick()})")
        lines = [x for part in _split(text) if (x := part.strip().rstrip(";"))]
    nonlocals = "pass"
    for word in ("nonlocal closed", "global COUNT"):
        if lines and lines[0].startswith(word):
            nonlocals, lines[0] = word, lines[0][len(word) + 2 :]
    weight = round(float(rng.uniform(0.1, 2.0)), 2)
    end = pick() if rng.random() < 0.5 else f"{weight} * {pick()} - 0.3 * {pick()}"
    body = "\n".join(" " * 12 + line for line in lines)
    return SOURCE.format(nonlocals=nonlocals, body=body, end=end, form=form)


def pieces():
    """All expressions, and all statements around a simple one."""
    return [x.strip() for line in PARTS.strip().splitlines() for x in line.split("|") if x.strip()]


def _split(text):
    """Lines of a statement: those that begin with a slash are lines of their own."""
    return text.replace("; /", "\n").splitlines()


def made(source):
    """A new law of a source."""
    import functools
    import math
    import random
    import time

    space = {"np": np, "math": math, "random": random, "time": time, "functools": functools}
    exec(source, space)
    return space["make"]()


def looped(law, batch):
    """The states of a loop of steps around a law."""
    q, v = (np.array(x) for x in batch)
    states = [(q.copy(), v.copy())]
    for i in range(STEPS):
        tau = np.asarray(law(i * DT, q, v))
        if tau.dtype.kind not in "biuf":
            raise TypeError("no numbers")
        q, v = ROBOT.step(q, v, np.broadcast_to(np.asarray(tau, float), v.shape), DT)
        states.append((q.copy(), v.copy()))
    return [np.stack(x) for x in zip(*states, strict=True)]


def verdict(source, start):
    """What came of a law: "compiled" or "called" and right, "refused", "both raise", or "WRONG"."""
    run, expected, errors = None, None, []
    try:
        run = ROBOT.rollout(*start, None, DT, steps=STEPS, control=made(source))
    except Exception as error:
        errors.append(error)
    try:
        expected = looped(made(source), start)
    except Exception as error:
        errors.append(error)
    if run is None:
        refused = "refused" if isinstance(errors[0], catena.CatenaError) else f"WRONG: raised {errors[0]!r}"
        return refused if expected is not None else "both raise"
    if expected is None:  # a law that no loop can call
        return f"WRONG: the loop raised {errors[0]!r}; {run.how}"
    how = "compiled" if "compiled" in run.how else "called"
    for found, wanted in zip((run.q, run.v), expected, strict=True):
        if not np.allclose(found, wanted, rtol=1e-12, atol=1e-12, equal_nan=True):
            return f"WRONG: {how}, off by {np.nanmax(np.abs(found - wanted)):.3g}"
    return how


STARTS = (([0.3, 0.1], [0.0, 0.0]), ([0.2, -0.4], [0.5, -0.3]), ([0.0, 0.0], [0.0, 0.0]))


def fuzz(count, seed, first=0):
    """How often each verdict came, and the sources of those that are wrong."""
    found, wrong = collections.Counter(), []
    for case in range(first, first + count):
        rng = np.random.default_rng([seed, case])
        source = written(rng)
        try:
            made(source)
        except SyntaxError as error:
            raise AssertionError(f"case {case}: {error}\n{source}") from error
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            words = verdict(source, STARTS[rng.integers(len(STARTS))])
        found[words.split(":")[0]] += 1
        if words.startswith("WRONG"):
            wrong.append(f"case {case}: {words}\n{source}")
    return found, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0)
    given = parser.parse_args()
    found, wrong = fuzz(given.count, given.seed, given.first)
    print("\n".join(wrong))
    print(dict(found))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
