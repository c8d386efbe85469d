"""A process may fork in the middle of a call: parent and child both get their answers, right and soon."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

IN_A_HANDLER = """
import os, signal, sys, time
import numpy as np
import catena

catena.set_threads(3)
robot = catena.random_tree(1, {links})
rng = np.random.default_rng(0)
q = robot.random_configuration(rng, {samples})
v, tau = rng.standard_normal((2, {samples}, robot.nv))
given = {given}
expected = robot.forward_dynamics(*given)
def duration():
    start = time.perf_counter()
    robot.forward_dynamics(*given)
    return time.perf_counter() - start

longest, born = min(duration() for _ in range(5)), []
signal.signal(signal.SIGALRM, lambda *_: born.append(os.fork()))
ended = []
while len(ended) < 40:
    if {fresh}:
        catena.release_memory()  # helpers are started anew
    born.clear()
    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-5, longest))
    answer = robot.forward_dynamics(*given)
    signal.setitimer(signal.ITIMER_REAL, 0)
    if not born:
        continue
    if not born[0]:
        right = np.array_equal(answer, expected) and np.array_equal(robot.forward_dynamics(*given), expected)
        os._exit(17 if right else 18)
    assert np.array_equal(answer, expected)
    deadline = time.monotonic() + 20
    while not (found := os.waitpid(born[0], os.WNOHANG))[0]:
        if time.monotonic() > deadline:
            os.kill(born[0], 9)
            sys.exit(f"a child hangs, number {{len(ended) + 1}}")
        time.sleep(1e-3)
    ended.append(os.waitstatus_to_exitcode(found[1]))
assert ended == [17] * 40, ended
"""

PLAIN, COPIED = "(q, v, tau)", "(q, np.asfortranarray(v), tau.astype(np.float32))"


@pytest.mark.parametrize("fresh", [False, True], ids=["helpers at work", "helpers being started"])
@pytest.mark.parametrize(
    ("links", "samples", "given"),
    [(7, 20_000, PLAIN), (7, 20_000, COPIED), (200, 300, PLAIN)],
    ids=["in lanes", "in tiles", "rolled"],
)
def test_children_forked_by_a_signal_handler_in_the_middle_of_a_batch_finish_it(links, samples, given, fresh):
    code = IN_A_HANDLER.format(links=links, samples=samples, given=given, fresh=fresh)
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", code], capture_output=True, text=True, timeout=600, check=False
    )
    assert ended.returncode == 0, ended.stderr


IN_HAND = """
import ctypes, os, threading
from catena.kernels.call.job import Words
from catena.kernels.call.runtime import finish
from catena.kernels.call.share_ir import JOB
from catena.kernels.call.threads import current_team

team, words, taken, released = current_team(), Words(), threading.Event(), threading.Event()
words[JOB.index("samples")], words[JOB.index("bell")] = 1, team.bell_address
caller, forked, child = threading.get_ident(), [], None

def work():
    if threading.get_ident() != caller:
        taken.set()  # this piece is never done in the child
        released.wait(timeout=60)
        words[JOB.index("done")] = 1
    elif not forked:
        assert taken.wait(timeout=60)
        forked.append(os.fork())
        released.set()

present = team.run(work, 2, {finish})
if not forked[0]:
    both = threading.Barrier(2)
    again = not present and current_team().run(lambda: both.wait(timeout=60), 2)
    os._exit(17 if again else 18)
assert present and words[JOB.index("done")] == 1
assert os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]) == 17
"""


@pytest.mark.parametrize("finish", ["None", "lambda: finish()(ctypes.addressof(words))"], ids=["closed", "finished"])
def test_a_child_does_not_wait_for_what_a_helper_had_in_hand(finish):
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", IN_HAND.format(finish=finish)],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr


WHILE_COMPILING = """
import os, signal, threading, time
import numpy as np
import catena

rng, born, ended = np.random.default_rng(0), [], []
signal.signal(signal.SIGALRM, lambda *_: born.append(os.fork()))

def others():
    for seed in range(100, 200):
        if len(ended) == 8:
            return
        other = catena.random_tree(seed, 3)
        other.placements(other.neutral())

thread = threading.Thread(target=others)
thread.start()
for seed in range(100):
    robot = catena.random_tree(seed, 4)
    q, v = robot.neutral(), np.ones(robot.nv)
    born.clear()
    signal.setitimer(signal.ITIMER_REAL, rng.uniform(1e-3, 0.2))
    a = robot.forward_dynamics(q, v, v)
    signal.setitimer(signal.ITIMER_REAL, 0)
    right = np.allclose(robot.inverse_dynamics(q, v, a), v)
    if born and not born[0]:
        os._exit(17 if right else 18)
    assert right
    if born:
        deadline = time.monotonic() + 60
        while not (found := os.waitpid(born[0], os.WNOHANG))[0]:
            if time.monotonic() > deadline:
                os.kill(born[0], 9)
                ended.append("hangs")
                break
            time.sleep(1e-3)
        else:
            ended.append(os.waitstatus_to_exitcode(found[1]))
    if len(ended) == 8:
        break
thread.join()
assert ended == [17] * 8, ended
"""


def test_children_forked_by_a_signal_handler_in_the_middle_of_compiling_go_on():
    ended = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", WHILE_COMPILING],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "CATENA_CACHE_DIR": ""},
    )
    assert ended.returncode == 0, ended.stderr
