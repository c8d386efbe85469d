"""Rollouts and simulations of Dask arrays: each chunk of samples is one of its own, and the run holds Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import Port, is_chunked
from catena.arguments.chunks import Call, any_chunked, over_chunks
from catena.errors import ShapeError, UnsupportedError
from catena.simulation.asked import Asked, Options
from catena.simulation.laws import Controller, Remembering
from catena.simulation.rolling import Rollout
from catena.simulation.run import Run

if TYPE_CHECKING:
    from catena.robot import Robot

Compute = Callable[["Robot", Asked, Options], Run]
"""What computes the samples of a chunk; a function of a module."""


def chunked(asked: Asked) -> bool:
    """Whether some array is Dask's."""
    more = asked.control.values if isinstance(asked.control, Controller) else None
    return any_chunked((asked.q, asked.v, asked.tau, asked.parameters, asked.f_ext, more))


def run_or_chunks(compute: Callable[..., Run], robot: Robot, asked: Asked, options: Options, out: Any) -> Run:
    """The rollout that `compute` makes of NumPy's arrays, in chunks if some are Dask's."""
    if not chunked(asked):
        return compute(robot, asked, options, out)
    if out is not None:
        raise UnsupportedError("rollout: out cannot be given with Dask arrays, which are computed later")
    return run_in_chunks("rollout", compute, robot, asked, options)


def run_in_chunks(name: str, compute: Compute, robot: Robot, asked: Asked, options: Options) -> Run:
    """The run as Dask arrays that are not computed yet; samples that diverge are warned of where they are computed."""
    if asked.memory:
        raise UnsupportedError(f"{name}: memory is not for Dask arrays; what friction remembers begins anew there")
    if isinstance(asked.control, Remembering):
        raise UnsupportedError(f"{name}: controllers that remember are not for Dask arrays; give NumPy's")
    if options.actuators not in (None, False):
        raise UnsupportedError(f"{name}: actuators are not for Dask arrays; give torques, or a controller of torques")
    places, arrays, ports = _taken_apart(robot, asked)
    example = [robot.neutral() if port.name == "q" else np.zeros(port.shape) for port in ports]
    rollout = Rollout(robot, _put_together(asked, places, example), options)
    rows, dtype = rollout.rows + 1, np.dtype(options.dtype)
    outputs = [Port("q", (rows, robot.nq)), Port("v", (rows, robot.nv)), Port("step", ()), Port("joint", ())]
    outputs += [] if asked.cost is None else [Port("cost", ())]
    dtypes = dtype, dtype, np.dtype(int), np.dtype(int), dtype
    bare = _bare(asked, places)
    call = Call(_computed, robot, (compute, bare, options, places))
    q, v, step, joint, *cost = over_chunks(call, arrays, ports, outputs, dtypes[: len(outputs)], name)
    t = rollout.times(rollout.rows)
    control = asked.control is not None

    def torques() -> Any:
        states = [q[..., :-1, :], v[..., :-1, :], *arrays[2:]]
        rows = [Port(port.name, (len(t) - 1, *port.shape)) for port in ports[:2]]
        call = Call(_torques, robot, (bare, options, places, t))
        return over_chunks(call, states, [*rows, *ports[2:]], [Port("tau", (len(t) - 1, robot.nv))], [dtype], name)[0]

    tau = torques if control else None if asked.tau is None else asked.tau[..., :: asked.every, :]
    some = cost[0] if cost else None
    return Run(robot, t, q, v, step, joint, some, options.integrator, rollout.dt, rollout.how, (), tau)


def _computed(robot: Robot, arrays: Any, compute: Compute, asked: Asked, options: Options, places: Any) -> Any:
    """The run of one chunk, as arrays."""
    run = compute(robot, _put_together(asked, places, arrays), options)
    found = run.q, run.v, run.diverged_step, run.diverged_joint, run.cost
    return found if run.cost is not None else found[:-1]


def _torques(robot: Robot, arrays: Any, asked: Asked, options: Options, places: Any, t: Any) -> Any:
    """The torques of a controller at the states of one chunk."""
    q, v = (np.concatenate([x, x[..., -1:, :]], axis=-2) for x in arrays[:2])  # of the last there is no torque
    start = [q[..., 0, :], v[..., 0, :], *arrays[2:]]
    rollout = Rollout(robot, _put_together(asked, places, start), options)
    return (np.asarray(rollout.torques(t, q, v)()),)


def _taken_apart(robot: Robot, asked: Asked) -> tuple[dict[str, Any], list[Any], list[Port]]:
    """The arrays of what was asked, those of each sample with their ports, and where each of them belongs."""
    tree = robot.tree
    shapes: dict[str, tuple[int, ...]] = {"q": (tree.nq,), "v": (tree.nv,)}
    given = {name: _array(getattr(asked, name)) for name in shapes}
    if asked.tau is not None:
        given["tau"] = _array(asked.tau)
        if given["tau"].ndim < 2:
            raise ShapeError(f"rollout: tau must have shape (..., steps, {tree.nv}), got {given['tau'].shape}")
        shapes["tau"] = (given["tau"].shape[-2], tree.nv)
    if asked.parameters is not None:
        found = _array(asked.parameters)
        given["parameters"] = found if found.ndim else found[None]
        shapes["parameters"] = given["parameters"].shape[-1:]
    places: dict[str, Any] = {name: i for i, name in enumerate(given)}
    arrays, ports = [*given.values()], [Port(name, shapes[name]) for name in given]
    law = asked.control
    held = asked.f_ext.values() if isinstance(asked.f_ext, Mapping) else [asked.f_ext]
    more = {
        "f_ext": (None if any(map(callable, held)) else asked.f_ext, (tree.n, 6), (6,)),
        "control": (law.values, (), None) if isinstance(law, Controller) else (None, (), None),
    }
    for name, (value, shape, each) in more.items():
        if value is None:
            continue
        items = value if isinstance(value, Mapping) else {None: value}
        places[name] = dict(zip(items, range(len(arrays), len(arrays) + len(items)), strict=True))
        for key, x in items.items():
            array = _array(x)
            arrays.append(array)
            core = (each or array.shape[-1:]) if isinstance(value, Mapping) else shape
            ports.append(Port(name if key is None else f"{name}[{key!r}]", core))
    return places, arrays, ports


def _array(x: Any) -> Any:
    return x if is_chunked(x) else np.asarray(x)


def _bare(asked: Asked, places: Mapping[str, Any]) -> Asked:
    """What was asked without its arrays."""
    empty: dict[str, Any] = {name: None for name in places if name != "control"}
    if "control" in places:
        empty["control"] = replace(asked.control, values={})
    return replace(asked, **empty)


def _put_together(asked: Asked, places: Mapping[str, Any], arrays: Any) -> Asked:
    """What was asked, with arrays in their places."""
    found: dict[str, Any] = {}
    for name, at in places.items():
        found[name] = arrays[at] if isinstance(at, int) else {key: arrays[i] for key, i in at.items()}
        if name == "control":
            found[name] = replace(asked.control, values=found[name])
        elif isinstance(at, dict) and None in at:
            found[name] = found[name][None]
    return replace(asked, **found)


def refuse_watches(events: Any, stop: Any, integrator: str, checkpoint: Any) -> None:
    """UnsupportedError for what a simulation of Dask arrays cannot do."""
    if events or stop is not None:
        raise UnsupportedError("simulate: events and stop are not for Dask arrays; look for them in run.q, later")
    if checkpoint is not None:
        raise UnsupportedError("simulate: checkpoint is not for Dask arrays: what a worker loses, Dask computes again")
    if integrator == "adaptive":
        raise UnsupportedError("simulate: integrator='adaptive' takes one sample, as each has steps of its own")
