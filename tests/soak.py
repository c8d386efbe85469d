"""Everything at once for a long time: threads, forks, signals, collection, errors, new robots, all questions.

    python -m tests.soak --minutes 10

Every answer is compared bit by bit with one that was computed before: all questions of three robots, rollouts, and a
closed system. Any difference, crash, hang, error of another kind or growth of memory ends the run with a message and a
status that is not zero. A few seconds of it, with a few of the questions, are part of the tests.
"""

from __future__ import annotations

import argparse
import collections
import faulthandler
import gc
import os
import pickle
import random
import signal
import statistics
import sys
import threading
import time
import warnings
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from tests.asking import Asked, every_question, results
from tests.closed_systems import around, state

import catena
from catena.errors import CatenaError

STATM = Path("/proc/self/statm")
BATCHES: tuple[tuple[int, ...], ...] = ((), (5,), (2, 3), (4000,))
GROWTH = 64 * 2**20
"""Bytes by which the process may grow, from what it needs in the second quarter to the last."""

PATIENCE = 300.0
"""Seconds after which a child or a thread counts as hanging, on a machine that has other things to do."""

WRONG: tuple[Any, ...] = (None, "x", np.zeros(1), np.zeros((3, 2)), [[]], 1j)


def _bits(answer: Any) -> list[bytes]:
    return [x.tobytes() for x in results(answer)]


class Known(NamedTuple):
    """A question with its answer."""

    asked: Asked
    robot: int
    answer: list[bytes]

    def check(self, found: Any) -> None:
        if _bits(found) != self.answer:
            raise AssertionError(f"robot {self.robot}: {self.asked.label} gave other bits")


class Holder:
    """Asks a robot when it is finalized, by the collector."""

    def __init__(self, soak: Soak, robot: catena.Robot, known: Known) -> None:
        self.soak, self.robot, self.known, self.itself = soak, robot, known, self

    def __del__(self) -> None:
        self.soak.ask_again(self.robot, self.known, "finalizers")


class Soak:
    """What is asked, how often each kind of thing was done, and what went wrong."""

    def __init__(self, seed: int, small: bool) -> None:
        """With `small`, smaller robots are asked one of five questions: there is less to compile."""
        kinds = ("revolute", "prismatic", "spherical", "universal", "helical")
        self.robots = [
            catena.random_tree(seed, 3 if small else 6, kinds, base="floating"),
            catena.rod_chain(3),
            catena.rod_chain(70) if small else catena.random_tree(seed + 1, 70),
        ]
        self.counts: collections.Counter[str] = collections.Counter()
        self.wrong: list[str] = []
        self.children: dict[int, float] = {}
        self.ended = False
        rng = np.random.default_rng(seed)
        self.known = [k for i, robot in enumerate(self.robots) for k in self._answers(i, robot, rng, 5 if small else 1)]
        self.known += [Known(asked, -1, _bits(asked())) for asked in (*_rollouts(self.robots, rng), *_closed(rng))]
        self.plain = [k for k in self.known if " " not in k.asked.label]  # of robots, not of mass matrices

    def _answers(self, i: int, robot: catena.Robot, rng: np.random.Generator, every: int) -> list[Known]:
        found = []
        for batch in BATCHES:
            for asked in islice(every_question(robot, rng, batch), i % every, None, every):
                if asked.label.startswith("dense") or (len(robot.links) > 60 and batch == BATCHES[-1]):
                    continue  # LAPACK may share its work in other ways; long chains take long
                try:
                    answer = asked()
                except CatenaError:
                    continue
                found.append(Known(asked, i, _bits(answer)))
        return found

    def ask(self, known: Known, kind: str) -> None:
        """Ask in one of several ways."""
        asked, way = known.asked, random.random()
        options: dict[str, Any] = {}
        if way < 0.2:
            options = {n: x.tolist() for n, x in asked.arguments.items() if isinstance(x, np.ndarray) and x.size < 500}
        elif way < 0.4:
            options = {n: np.asfortranarray(x) for n, x in asked.arguments.items() if isinstance(x, np.ndarray)}
        elif way < 0.5 and "rolled" not in asked.label:
            outs = tuple(np.empty_like(x) for x in results(asked()))
            options = {"out": outs if len(outs) > 1 else outs[0]}
        known.check(asked(**options))
        self.counts[kind] += 1

    def ask_again(self, robot: catena.Robot, known: Known, kind: str) -> None:
        """Ask another robot of the same content."""
        try:
            known.check(getattr(robot, known.asked.label)(**known.asked.arguments))
            self.counts[kind] += 1
        except BaseException as error:
            self.fault(error)

    def ask_wrongly(self) -> None:
        """Ask with something that cannot be."""
        known = random.choice(self.known)
        name = random.choice([n for n, x in known.asked.arguments.items() if isinstance(x, np.ndarray)] or [""])
        if name:
            try:
                known.asked(**{name: random.choice(WRONG)})
            except CatenaError:
                self.counts["errors"] += 1

    def make_a_robot(self) -> None:
        """Ask a copy, which compiles or loads its code anew, and let it go, perhaps in a cycle."""
        known = random.choice(self.plain)
        robot = pickle.loads(pickle.dumps(self.robots[known.robot]))
        self.ask_again(robot, known, "new robots")
        if random.random() < 0.5:
            Holder(self, robot, known)

    def change_settings(self) -> None:
        """What users may do at any moment."""
        random.choice((gc.collect, catena.release_memory, lambda: catena.set_threads(random.choice((1, 2, 3, None)))))()
        self.counts["settings"] += 1

    def work(self) -> None:
        """One thread."""
        actions = (self.ask_wrongly, self.make_a_robot, self.change_settings)
        try:
            while not self.ended:
                if random.random() < 0.95:
                    self.ask(random.choice(self.known), "answers")
                else:
                    random.choice(actions)()
        except BaseException as error:
            self.fault(error)

    def fault(self, error: BaseException) -> None:
        """Note what went wrong."""
        self.wrong.append(f"{type(error).__name__}: {error}")
        self.ended = True

    def on_signal(self, *_: Any) -> None:
        """Ask in a signal handler, and sometimes fork there."""
        try:
            self.ask(random.choice(self.known), "handlers")
            if len(self.children) < 3 and random.random() < 0.2:
                self.fork()
        except BaseException as error:
            self.fault(error)

    def fork(self) -> None:
        """A child asks a few things, in the middle of whatever was going on."""
        pid = os.fork()
        if pid:
            self.children[pid] = time.monotonic()
            return
        status = 18
        try:
            faulthandler.dump_traceback_later(PATIENCE, exit=True)
            for _ in range(5):
                self.ask(random.choice(self.known), "children")
            self.make_a_robot()
            status = 18 if self.wrong else 17
        finally:
            os._exit(status)

    def reap(self) -> None:
        """See how the children have ended, and that they do."""
        for pid, born in list(self.children.items()):
            found, status = os.waitpid(pid, os.WNOHANG)
            if found:
                del self.children[pid]
                self.counts["children"] += 1
                if os.waitstatus_to_exitcode(status) != 17:
                    self.wrong.append(f"a child ended with {os.waitstatus_to_exitcode(status)}")
            elif time.monotonic() - born > 1.5 * PATIENCE:
                os.kill(pid, signal.SIGKILL)
                self.wrong.append("a child hangs")


def _rollouts(robots: list[catena.Robot], rng: np.random.Generator) -> list[Asked]:
    """Rollouts of robots, of one sample and of many."""

    def ask(robot: catena.Robot, q: Any, v: Any, tau: Any, out: Any = None) -> tuple[Any, Any]:
        run = robot.rollout(q, v, tau, 1e-3, out=out)
        return run.q, run.v

    found = []
    for robot in robots:
        for batch in ((), (50,)):
            q, v, tau = robot.random_configuration(rng, batch), *rng.standard_normal((2, *batch, robot.nv))
            given = {"q": q, "v": v, "tau": np.stack([tau] * 4, axis=-2)}
            found.append(Asked("a rollout", partial(ask, robot), given))
    return found


def _closed(rng: np.random.Generator) -> list[Asked]:
    """Accelerations and rollouts of two arms that hold one body."""
    system = around(2, ["Ball"])
    q, v, tau = state(system, rng)

    def rollout(q: Any, v: Any, tau: Any) -> tuple[Any, Any]:
        run = system.rollout(q, v, np.stack([tau, tau]), 1e-3)
        return run.q, run.v

    given = {"q": q, "v": v, "tau": tau}
    return [Asked("a system", system.forward_dynamics, given), Asked("a system rolled out", rollout, given)]


def resident() -> int:
    """Bytes that the process has in memory."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") if STATM.exists() else 0


def run(seconds: float, seed: int = 0, threads: int = 3, small: bool = False) -> Soak:
    """Run for so long; what was done, and what went wrong, is in the result."""
    random.seed(seed)
    soak = Soak(seed, small)
    team = [threading.Thread(target=soak.work) for _ in range(threads)]
    sizes: list[int] = []
    before = signal.signal(signal.SIGALRM, soak.on_signal)
    start = time.monotonic()
    for thread in team:
        thread.start()
    try:
        while time.monotonic() - start < seconds and not soak.wrong:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-3, 3e-2))
            soak.ask(random.choice(soak.known), "answers")
            soak.reap()
            sizes.append(resident())
    except BaseException as error:
        soak.fault(error)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        soak.ended = True
        _wait_for(soak, team)
        catena.set_threads(None)
    _compare(soak, sizes)
    return soak


def _wait_for(soak: Soak, team: list[threading.Thread]) -> None:
    for thread in team:
        thread.join(timeout=PATIENCE)
        if thread.is_alive():
            soak.wrong.append("a thread hangs")
    while soak.children and len(soak.wrong) < 10:
        time.sleep(0.01)
        soak.reap()


def _compare(soak: Soak, sizes: list[int]) -> None:
    """Memory in the last quarter of the time with that in the second."""
    quarter = len(sizes) // 4
    if quarter < 100:
        return
    grown = statistics.median(sizes[-quarter:]) - statistics.median(sizes[quarter : 2 * quarter])
    soak.counts["MB grown"] = round(grown / 2**20)
    if grown > GROWTH:
        soak.wrong.append(f"memory grew by {grown / 2**20:.0f} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--small", action="store_true", help="robots that compile quickly, and fewer questions")
    given = parser.parse_args()
    faulthandler.enable()
    warnings.simplefilter("ignore")
    print("computing the answers ...", flush=True)
    soak = run(60 * given.minutes, given.seed, small=given.small)
    print(dict(soak.counts))
    print("\n".join(soak.wrong) or "nothing went wrong")
    return int(bool(soak.wrong))


if __name__ == "__main__":
    sys.exit(main())
