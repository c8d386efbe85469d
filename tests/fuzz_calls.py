"""Odd calls, by the thousand: whatever is asked with whatever, numbers come out that are right, or an error of ours.

    python -m tests.fuzz_calls --count 100000 --seed 1

Each call is made up from the seed and its number. Processes of their own make them in chunks, so that a crash, or a
call that takes more than five seconds of the processor's time, is seen; it is reported, and the calls after it go on.
One that took so long to compile is made again when that is done, and has to be quick then.
Nothing may be raised but CatenaErrors, and TypeErrors where a call does not fit the signature. What comes out must be,
bit for bit, what plain contiguous arrays of the same numbers give; no argument may change unless `out` lies over it.
"""

from __future__ import annotations

import argparse
import faulthandler
import functools
import os
import select
import signal
import subprocess
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from tests import asking, odd_methods, odd_values

import catena
from catena.errors import CatenaError
from catena.kernels.call.words import Role

CHUNK = 25_000
SECONDS = 5.0
"""How long a call may keep the processor busy, its machine code included ..."""

TO_COMPILE = 60.0
"""... and how long if its first attempt took longer than that: rare kinds compile for seconds on a busy machine."""

ELSEWHERE = 10
"""One call in so many is of something that is no question: a rollout, a system, a polymer."""

WAITING = 300.0
"""How long a process may be silent, by the clock, on a machine that has other things to do."""


@functools.cache
def robots() -> list[catena.Robot]:
    """Small ones of all kinds: on a floating base, with joints of several degrees of freedom, long, still, singular."""
    body: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}
    walker = catena.Builder("walker").link("trunk", **body).link("leg", **body).link("foot", **body).link("sole")
    walker.revolute("hip", "trunk", "leg", axis="y", damping=0.2, friction=0.1)
    walker.prismatic("knee", "leg", "foot", axis="z", armature=0.1).fixed("ankle", "foot", "sole")
    ball = catena.Builder("ball").link("base").link("a", **body).link("b", **body)
    ball.spherical("shoulder", "base", "a").planar("slide", "a", "b")
    doubled = catena.Builder("doubled").link("base").link("carrier").link("body", **body)
    doubled.revolute("first", "base", "carrier", axis="z").revolute("second", "carrier", "body", axis="z")
    still = catena.Builder("still").link("base", **body)
    return [
        walker.build(base="floating"),
        ball.build(),
        catena.rod_chain(3, 1.0, 1.0),
        still.build(),
        doubled.build(),
    ]


class Case:
    """One call: what is asked, with which arguments, and whether they fit the signature."""

    def __init__(self, seed: int, number: int) -> None:
        rng = self.rng = np.random.default_rng([seed, number])
        self.robot = robots()[rng.choice(len(robots()), p=[0.4, 0.2, 0.2, 0.1, 0.1])]
        self.odd: list[str] = []
        self.owner, questions = self._owner()
        self.name = sorted(questions)[rng.integers(len(questions))]
        self.declared = questions[self.name]
        self.batch: tuple[int, ...] = [(), (3,), (0,), (2, 3), (1,), (40,)][
            rng.choice(6, p=[0.4, 0.2, 0.1, 0.1, 0.1, 0.1])
        ]
        self.plain = asking.arguments(self.robot, self.declared, rng, self.batch, self._link())
        self._leave_out()
        self._options()
        self.given = {name: self._dressed(name, x) for name, x in self.plain.items()}
        self.fits = self._misfit()

    def _owner(self) -> tuple[Any, dict[str, Any]]:
        """The object that is asked: the robot, its mass matrix or a factor of that."""
        way = self.rng.random()
        if way < 0.7:
            return self.robot, asking.ROBOT
        q = self.robot.random_configuration(self.rng, [(), (3,), (2, 3)][self.rng.integers(3)])
        method = ["innovations", "udu", "dense", "fixman"][self.rng.choice(4, p=[0.6, 0.2, 0.1, 0.1])]
        simple = way > 0.9 or self.robot.name == "doubled"  # on which Fixman's partition cannot be had
        matrix = self.robot.mass_matrix(q, "innovations" if simple else method)
        if way > 0.9 and self.robot.name != "doubled":
            return matrix.factors()[self.rng.integers(2)], asking.FACTORS
        return matrix, {name: one for name, one in asking.MASS_MATRIX.items() if not name.startswith("_")}

    def _link(self) -> Any:
        names = list(self.robot.tree.link_names) or [self.robot.base_name]
        return names[self.rng.integers(len(names))]

    def _leave_out(self) -> None:
        """Optional arrays are given only now and then; mappings in place of wrenches, words in place of points."""
        for name, role, default in zip(self.declared.names, self.declared.roles, self.declared.defaults, strict=True):
            if name in self.plain and default is None and self.rng.random() < 0.6:
                del self.plain[name]
            elif role is Role.MAPPING_OR_ARRAY and self.rng.random() < 0.3 and self.robot.tree.n:
                self.plain[name] = {self._link(): self.plain[name][..., 0, :]}
            elif role is Role.WORD_OR_ARRAY and self.rng.random() < 0.5:
                self.plain[name] = ["base", "center_of_mass"][self.rng.integers(2)]

    def _options(self) -> None:
        for name, choices in odd_values.OPTIONS.items():
            if name in self.declared.names and self.rng.random() < 0.12:
                self.plain[name] = choices[self.rng.integers(len(choices))]
        if "links" in self.declared.names and self.rng.random() < 0.4:
            self.plain["links"] = [self._link() for _ in range(self.rng.integers(3))]

    def _dressed(self, name: str, x: Any) -> Any:
        """An argument as it is given: in odd clothes, or as something else altogether."""
        way = self.rng.random()
        if isinstance(x, dict):
            return {key: self._dressed(name, value) for key, value in x.items()}
        if way < 0.04:
            self.odd.append(name)
            return odd_values.anything(self.rng, x)
        if isinstance(x, np.ndarray) and way < 0.6:
            return odd_values.dressed(self.rng, x)
        return x

    def _misfit(self) -> bool:
        """Add an `out`, now and then; spoil the signature, hardly ever. Whether the call fits the signature."""
        if "out" in self.declared.names and self.rng.random() < 0.25:
            self.given["out"] = self._out()
        way = self.rng.random()
        if way < 0.01:
            self.given["nonsense"] = 1
        elif way < 0.02 and self.given:
            missing = sorted(self.given)[self.rng.integers(len(self.given))]
            del self.given[missing]
            self.plain.pop(missing, None)
        required = {
            n
            for n, d, r in zip(self.declared.names, self.declared.defaults, self.declared.roles, strict=True)
            if d is odd_values.EMPTY and r is not Role.OUT
        }
        return required <= set(self.given) <= set(self.declared.names)

    def _out(self) -> Any:
        try:
            expected = asking.results(self.ask(**self.plain))
        except (CatenaError, TypeError):
            return odd_values.anything(self.rng, np.zeros(3))
        outs = [
            odd_values.out(self.rng, x, [y for y in self.given.values() if isinstance(y, np.ndarray)]) for x in expected
        ]
        return outs[0] if len(outs) == 1 else tuple(outs)

    def ask(self, *args: Any, **arguments: Any) -> Any:
        """Ask, by position or by name."""
        return getattr(self.owner, self.name)(*args, **arguments)

    def plainly(self, before: dict[str, Any]) -> dict[str, Any]:
        """The arguments with plain arrays of what they held before the call, and no `out`."""
        arrays, given = asking.arrays(self.declared), {n: x for n, x in self.given.items() if n != "out"}
        return {n: odd_values.plain(x, before.get(n)) if n in arrays else x for n, x in given.items()}

    def __str__(self) -> str:
        shown = ", ".join(f"{name}={odd_values.shown(x)}" for name, x in self.given.items())
        return f"{type(self.owner).__name__}({self.robot.name}).{self.name}({shown})"


def fault(case: Case) -> str | None:
    """What is wrong with the answer to a call; None if nothing is."""
    before = {name: odd_values.content(x) for name, x in case.given.items() if name != "out"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            answer = case.ask(**case.given)
        except CatenaError as error:
            return _refusal(case, before, error)
        except TypeError as error:
            return None if not case.fits else f"raised TypeError: {error}"
        except MemoryError as error:
            return None if case.odd else f"raised MemoryError: {error}"
        except Exception as error:
            return f"raised {type(error).__name__}: {error}"
        if not case.fits:
            return "took arguments that do not fit the signature"
        out = case.given.get("out")
        if out is None and before != {name: odd_values.content(x) for name, x in case.given.items() if name != "out"}:
            return "changed an argument"
        try:
            plain = case.ask(**case.plainly(before))
        except Exception as error:
            return f"answered, but plain arrays raise {type(error).__name__}: {error}"
    pairs = list(zip(asking.results(answer), asking.results(plain), strict=True))
    if not all(a.shape == b.shape and a.dtype == b.dtype and _bits(a) == _bits(b) for a, b in pairs):
        return "differs from plain arrays"
    return None


def _bits(x: np.ndarray) -> bytes:
    """The bytes of an array, with one NaN for all: the processor chooses which of two it passes on."""
    return (np.where(np.isnan(x), np.nan, x) if x.dtype.kind == "f" else x).tobytes()


def _refusal(case: Case, before: dict[str, Any], error: CatenaError) -> str | None:
    """A refusal is right if something was odd, or if plain arrays are refused too."""
    if not str(error) or len(str(error)) > 2000:
        return f"has no message to read: {str(error)[:100]!r}"
    if case.odd or not case.fits or "out" in case.given:
        return None
    try:
        case.ask(**case.plainly(before))
    except CatenaError:
        return None
    except Exception as other:
        return f"plain arrays raise {type(other).__name__}: {other}"
    return f"refused though plain arrays are not: {error}"


def run_chunk(seed: int, first: int, count: int, compile_first: bool = False) -> None:
    """Make calls one after the other; say which one is next, and what is wrong, line by line.

    With `compile_first`, the first is made once more before that, with the time that compiling may take.
    """
    faulthandler.enable()
    warnings.simplefilter("ignore")
    for robot in robots():  # the first machine code takes longest
        robot.bias(robot.neutral(), np.zeros(robot.nv))
    odd_methods.warm_up()
    for number in range(first, first + count):
        print(f"next {number}", flush=True)
        if compile_first and number == first:
            signal.setitimer(signal.ITIMER_PROF, TO_COMPILE)
            _wrong(seed, number)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)  # its signal ends the process
        if wrong := _wrong(seed, number):
            print(f"wrong {number}: {wrong}".replace("\n", " "), flush=True)
    print("done", flush=True)


def _wrong(seed: int, number: int) -> str:
    """A call and what is wrong with it; empty if nothing is."""
    if number % ELSEWHERE:
        case: Any = Case(seed, number)
        found = fault(case)
    else:
        case = odd_methods.Call(seed, number)
        found = odd_methods.fault(case)
    return f"{case} {found}" if found else ""


def faults(seed: int, first: int, count: int) -> Iterator[str]:
    """What is wrong with so many calls, made by processes that may crash or hang."""
    number, last, slow = first, first + count, -1
    while number < last:
        at, done = number, False
        command = [sys.executable, "-m", "tests.fuzz_calls", "--chunk", str(number), "--count", str(last - number)]
        command += ["--compile-first"] if number == slow else []
        process = subprocess.Popen([*command, "--seed", str(seed)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for line in _lines(process):
            word, _, rest = line.partition(" ")
            if word == "next":
                at = int(rest)
            elif word == "wrong":
                yield rest
            done |= word == "done"
        end = _end(process)  # this closes its pipes
        if done:
            return
        if process.returncode == -signal.SIGPROF and at != slow:
            number = slow = at
            continue
        yield f"{at}: {end}"
        number = at + 1


def _lines(process: subprocess.Popen[bytes]) -> Iterator[str]:
    """The lines that a process writes, until it ends or is silent for too long, and then is killed."""
    stdout, pending = process.stdout, b""
    assert stdout is not None
    while select.select([stdout], [], [], WAITING)[0]:
        block = os.read(stdout.fileno(), 65536)
        if not block:
            process.wait()
            return
        *lines, pending = (pending + block).split(b"\n")
        yield from (line.decode() for line in lines)
    process.kill()


def _end(process: subprocess.Popen[bytes]) -> str:
    _, errors = process.communicate()
    what = "takes too long" if process.returncode in (-signal.SIGPROF, -signal.SIGKILL) else "crashes"
    return f"{what} (exit code {process.returncode}): {' '.join(errors.decode().split())[-1000:]}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--first", type=int, default=0, help="number of the first call, to go on with an earlier run")
    parser.add_argument("--chunk", type=int, help="make the calls from this number on here, in this process")
    parser.add_argument(
        "--compile-first", action="store_true", help="with --chunk: give its first call time to compile"
    )
    options = parser.parse_args()
    if options.chunk is not None:
        run_chunk(options.seed, options.chunk, options.count, options.compile_first)
        return 0
    found = 0
    for done in range(0, options.count, CHUNK):
        part = min(CHUNK, options.count - done)
        for wrong in faults(options.seed, options.first + done, part):
            found += 1
            print(wrong, flush=True)
        print(f"{done + part:,} calls, {found} faults", flush=True)
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
