"""Everything public that takes a robot, given a System: found in the package itself, called, and its answer checked.

What there is says by itself what it does with constraints (`closed=` of questions, `of_systems` of the rest): "held"
needs a check here, against dense equations or differences; "forest" answers as `system.forest` does; what says nothing
must refuse. So something new that says nothing, or says "held" without a check, fails here.
"""

import inspect
from collections.abc import Callable, Iterator
from functools import cache, partial
from importlib import import_module
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from tests.test_systems_honour_constraints import bar, carried, closed_inverse

import catena
from catena.functions.question import Declared
from catena.questions.description import Description

SYSTEMS = {"four_bar": bar, "arm_with_box": carried}
BRIDGES = ("casadi", "gym", "jax", "torch")


class State:
    """One system at a state that keeps its constraints, and dense answers about it."""

    def __init__(self, which: str) -> None:
        self.system, self.q = SYSTEMS[which]()
        rng = np.random.default_rng(1)
        self.nv = self.system.nv
        self.v = np.asarray(self.system.project_velocity(self.q, rng.standard_normal(self.nv)))
        self.tau, self.dq, self.dv, self.dtau = rng.standard_normal((4, self.nv))
        self.J = np.asarray(self.system.constraint_jacobian(self.q))
        self.M = np.asarray(self.system.forest.mass_matrix(self.q).dense())
        self.N = closed_inverse(self.system, self.q)
        self.link = self.system.links[-1].name
        self.Jl = np.asarray(self.system.jacobian(self.q, self.link))
        self.a = self.acceleration(self.q, self.v, self.tau)

    def acceleration(self, q: np.ndarray, v: np.ndarray, tau: np.ndarray, driven: Any = 0.0) -> np.ndarray:
        """Of the dense equations [[M, Jᵀ], [J, 0]] (a, −λ) = (τ − b, c − J̇v)."""
        system = self.system
        M, J = np.asarray(system.forest.mass_matrix(q).dense()), np.asarray(system.constraint_jacobian(q))
        kkt = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
        right = np.append(tau - system.forest.bias(q, v), driven - np.asarray(system.constraint_bias(q, v)))
        return np.linalg.lstsq(kkt, right, rcond=1e-12)[0][: self.nv]

    @property
    def given(self) -> dict[str, Any]:
        """Arguments by the names that parameters have."""
        k, q, v = len(self.J), self.q, self.v
        return {
            "q": q, "v": v, "tau": self.tau, "a": self.a, "x": self.tau, "b": self.tau, "f": np.arange(6.0),
            "q0": q, "q1": np.asarray(self.system.forest.integrate(q, 0.1 * v)), "dv": self.dv, "dq": self.dq,
            "dtau": self.dtau, "link": self.link, "wanted": np.zeros(k), "dt": 1e-3, "rng": 0,
            "constraints": self.system.constraints, "held": self.link,
            "targets": {self.link: self.system.placement(self.q, self.link)},
            "forces": np.ones((len(self.system.constraints), 6)),
            "path_or_text": catena.robots.path("four_bar"), "question": "forward_dynamics",
            "function": "forward_dynamics", "identity": lambda o: (o.I, o.I), "kT": 1.0, "tips": (), "t": [0.0, 0.1],
            "times": [0.0, 0.1], "duration": 0.01, "method": "innovations", "reset": print, "reward": print,
            "joint": 0, "robots": [self.system], "name": "x", "parameters": self.system.forest.parameters(),
        }  # fmt: skip


state = cache(State)


def close_to(found: Any, right: Any, tolerance: float = 1e-9) -> None:
    found, right = np.asarray(found), np.asarray(right)
    assert np.abs(found - right).max(initial=0.0) <= tolerance * max(np.abs(right).max(initial=0.0), 1.0)


def differences(f: Callable[[float], np.ndarray], h: float = 1e-5) -> np.ndarray:
    return (f(h) - f(-h)) / (2 * h)


def moved(s: State, h: float, dq: np.ndarray) -> np.ndarray:
    return np.asarray(s.system.forest.integrate(s.q, h * dq))


# What honours constraints, against dense equations, or against differences of what is true of the forest.


def _forward_dynamics(s: State) -> None:
    a = np.asarray(s.system.forward_dynamics(s.q, s.v, s.tau).a)
    close_to(a, s.acceleration(s.q, s.v, s.tau))
    push = {s.link: np.arange(1.0, 7.0)}
    pushed = s.system.forward_dynamics(s.q, s.v, s.tau, push).a
    close_to(pushed - a, s.N @ s.Jl.T @ np.arange(1.0, 7.0))
    driven = np.stack([s.J @ s.dq, s.J @ s.dv, s.J @ s.dtau])  # what rows that depend on each other can have together
    for kernel in (None, "rolled"):
        a = s.system.forward_dynamics(s.q, s.v, s.tau, driven=driven, kernel=kernel).a
        close_to(a, s.acceleration(s.q, s.v, s.tau, driven[2]), 1e-8)
        a = s.system.forward_dynamics(s.q, s.v, s.tau, None, (30.0, 7.0), driven=driven, kernel=kernel).a
        errors = 30.0 * (s.system.closure_residual(s.q) - driven[0]) + 7.0 * (s.J @ s.v - driven[1])
        close_to(a, s.acceleration(s.q, s.v, s.tau, driven[2] - errors), 1e-8)


def _inverse_dynamics(s: State) -> None:
    tau, _ = s.system.inverse_dynamics(s.q, s.v, s.a)
    close_to(s.acceleration(s.q, s.v, tau), s.a, 1e-8)


def _jvp(s: State) -> None:
    found = s.system.forward_dynamics_jvp(s.q, s.v, s.tau, s.dq, s.dv, s.dtau)
    path = lambda h: s.acceleration(moved(s, h, s.dq), s.v + h * s.dv, s.tau + h * s.dtau)  # noqa: E731
    close_to(found, differences(path), 1e-6)


def _derivatives(s: State) -> None:
    slopes = s.system.forward_dynamics_derivatives(s.q, s.v, s.tau)
    close_to(slopes.dtau, s.N)
    by_q = differences(lambda h: s.acceleration(moved(s, h, s.dq), s.v, s.tau))
    close_to(slopes.dq @ s.dq, by_q, 1e-6)
    close_to(slopes.dv @ s.dv, differences(lambda h: s.acceleration(s.q, s.v + h * s.dv, s.tau)), 1e-6)


def _constraint_torques(s: State) -> None:
    forces = s.system.forward_dynamics(s.q, s.v, s.tau).forces
    found = s.system.constraint_torques(s.q, forces)
    close_to(found, s.M @ s.a + s.system.bias(s.q, s.v) - s.tau, 1e-8)
    if s.system.nv > 6:  # a grasp: what is exerted on the box, by the box's own Jacobian
        box = np.asarray(s.system.jacobian(s.q, "box"))[:, 6:]
        close_to(found[6:], box.T @ forces[0])


def _links(s: State, q: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Of the forest, pushed by what the constraints exert: wrenches through joints, and accelerations of links."""
    forest, (a, forces) = s.system.forest, s.system.forward_dynamics(s.q, s.v, s.tau)
    f_ext = np.zeros((len(s.system.links), 6))
    for constraint, f in zip(s.system.constraints, forces, strict=True):
        R, p = s.system.placement(s.q, constraint.sides[1].frame)
        f_world = R @ f[:3] + np.cross(p, R @ f[3:]), R @ f[3:]
        for sign, side in zip((-1, 1), constraint.sides, strict=True):
            link = s.system.frame(side.frame).link
            if link >= 0:
                at = forest.placement(s.q, forest.links[link].name)
                moment = f_world[0] - np.cross(at.position, f_world[1])
                f_ext[link] += sign * np.append(at.rotation.T @ moment, at.rotation.T @ f_world[1])
    close_to(forest.forward_dynamics(s.q, s.v, s.tau, f_ext), s.a, 1e-8)  # each tree moves as it would alone
    return forest.interlink_forces(s.q, s.v, a, f_ext), forest.forward_link_dynamics(s.q, s.v, s.tau, f_ext).links


def _reactions(s: State) -> None:
    a, wrench = s.system.reactions(s.q, s.v, s.tau)
    right, _ = _links(s)
    close_to(a, s.a)
    close_to(wrench, right, 1e-8)
    a, forces = s.system.forward_dynamics(s.q, s.v, s.tau)
    close_to(s.system.interlink_forces(s.q, s.v, a, forces), right, 1e-8)
    push = np.arange(6.0 * len(s.system.links)).reshape(-1, 6)
    a, wrench = s.system.reactions(s.q, s.v, s.tau, push)
    forces = s.system.forward_dynamics(s.q, s.v, s.tau, push).forces
    close_to(wrench, s.system.interlink_forces(s.q, s.v, a, forces, push), 1e-8)


def _link_motion(s: State) -> None:
    a, links = s.system.forward_link_dynamics(s.q, s.v, s.tau)
    close_to(a, s.a)
    close_to(links, _links(s)[1], 1e-8)


def _vjp(s: State) -> None:
    by_q, by_v, by_tau = s.system.forward_dynamics_vjp(s.q, s.v, s.tau, s.dq)
    slopes = s.system.forward_dynamics_derivatives(s.q, s.v, s.tau)
    for found, matrix in zip((by_q, by_v, by_tau), slopes, strict=True):
        close_to(found, s.dq @ matrix, 1e-8)


def _linearize(s: State) -> None:
    x = np.concatenate([s.dq, s.dv])

    def stepped(h: float) -> np.ndarray:
        q, v = s.system.step(moved(s, h, s.dq), s.v + h * s.dv, s.tau + h * s.dtau, 1e-3)
        return np.append(s.system.difference(end.q, q), v)

    end = s.system.step(s.q, s.v, s.tau, 1e-3)
    A, B = s.system.linearize(s.q, s.v, s.tau, 1e-3)
    close_to(A @ x + B @ s.dtau, differences(stepped), 1e-6)
    A, B = s.system.linearize(s.q, s.v, s.tau)
    slopes = s.system.forward_dynamics_derivatives(s.q, s.v, s.tau)
    close_to(B, np.concatenate([0 * s.N, s.N]), 1e-8)
    close_to(A[s.nv :], np.concatenate([slopes.dq, slopes.dv], axis=1), 1e-8)
    close_to(A[: s.nv], s.system.forest.linearize(s.q, s.v, s.tau).A[: s.nv])


def _other_parameters(s: State) -> tuple[np.ndarray, catena.System]:
    """Other numbers that a system can have, and the system that has them."""
    P = s.system.parameters()
    P = P.replace(armature=P.armature + 0.1, gravity=(0.3, 0.1, -5.0))
    return P.vector, s.system.with_parameters(P)


def _with_parameters(s: State) -> None:
    vector, other = _other_parameters(s)
    found = s.system.forward_dynamics(s.q, s.v, s.tau, parameters=vector)
    right = other.forward_dynamics(s.q, s.v, s.tau)
    close_to(found.a, right.a)
    close_to(found.forces, right.forces)
    close_to(other.constraint_jacobian(s.q) @ right.a, -np.asarray(s.system.constraint_bias(s.q, s.v)))
    both = np.stack([s.system.parameters().vector, vector])
    close_to(s.system.forward_dynamics(s.q, s.v, s.tau, parameters=both).a, [s.a, right.a])
    by_q = s.system.forward_dynamics_derivatives(s.q, s.v, s.tau, parameters=vector).dq
    close_to(by_q, other.forward_dynamics_derivatives(s.q, s.v, s.tau).dq, 1e-8)


def _parameter_derivatives(s: State) -> None:
    Y = s.system.forward_dynamics_parameter_derivatives(s.q, s.v, s.tau)
    vector, _ = _other_parameters(s)
    change = np.zeros_like(vector)
    change[: Y.shape[1]] = 1e-3 * np.random.default_rng(3).standard_normal(Y.shape[1])
    own = s.system.parameters().vector
    path = lambda h: s.system.forward_dynamics(s.q, s.v, s.tau, parameters=own + h * change).a  # noqa: E731
    close_to(Y @ change[: Y.shape[1]], differences(path, 1e-3), 1e-6)


def _force_derivatives(s: State) -> None:
    slopes = s.system.constraint_force_derivatives(s.q, s.v, s.tau)
    forces = lambda q, v, tau: s.system.forward_dynamics(q, v, tau).forces  # noqa: E731
    close_to(slopes.dq @ s.dq, differences(lambda h: forces(moved(s, h, s.dq), s.v, s.tau)), 1e-6)
    close_to(slopes.dv @ s.dv, differences(lambda h: forces(s.q, s.v + h * s.dv, s.tau)), 1e-6)
    close_to(slopes.dtau @ s.dtau, forces(s.q, s.v, s.tau + s.dtau) - forces(s.q, s.v, s.tau))


def _step(s: State) -> None:
    q, v = s.system.step(s.q, s.v, s.tau, 1e-6)
    close_to((v - s.v) / 1e-6, s.a, 1e-4)
    close_to(s.system.closure_residual(q), np.zeros(len(s.J)), 1e-10)


def _run(s: State, run: Any) -> None:
    close_to(s.system.closure_residual(run.q), np.zeros((len(run.q), len(s.J))), 1e-8)
    close_to([s.system.constraint_jacobian(q) @ v for q, v in zip(run.q, run.v, strict=True)], 0 * run.q[:, :1], 1e-8)
    q, v = s.q, s.v
    for _ in range(2):
        q, v = s.system.step(q, v, s.tau, 1e-3)
    close_to(run.q[2], q)
    close_to(run.v[2], v)


def _operational_inertia(s: State) -> None:
    Omega = s.Jl @ s.N @ s.Jl.T
    if s.system.nv < 6:  # of a four-bar no link can move in all directions
        with pytest.raises(catena.SingularError, match="constraints held"):
            s.system.operational_inertia(s.q, s.link)
        return
    inertia, mobility = s.system.operational_inertia(s.q, s.link)
    close_to(mobility, Omega)
    close_to(inertia @ Omega, np.eye(6), 1e-8)


def _consistent_inverse(s: State) -> None:
    if s.system.nv < 6:
        with pytest.raises(catena.SingularError, match="constraints held"):
            s.system.dynamically_consistent_inverse(s.q, s.link)
        return
    close_to(s.system.dynamically_consistent_inverse(s.q, s.link) @ (s.Jl @ s.N @ s.Jl.T), s.N @ s.Jl.T)


def _operational_dynamics(s: State) -> None:
    if s.system.nv < 6:
        with pytest.raises(catena.SingularError, match="constraints held"):
            s.system.operational_dynamics(s.q, s.link, s.v)
        return
    found = s.system.operational_dynamics(s.q, s.link, s.v)
    acceleration = s.Jl @ s.a + np.asarray(s.system.jacobian_dot_times(s.q, s.link, s.v))
    force = np.linalg.solve(s.Jl @ s.N @ s.Jl.T, s.Jl @ s.N @ s.tau)
    close_to(found.inertia @ acceleration + found.coriolis + found.gravity, force, 1e-7)


def _operators(s: State) -> None:
    o = s.system.operators(s.q, v=s.v)
    r = np.arange(1.0, len(s.J) + 1)
    close_to(o.Omega @ r, s.J @ np.linalg.solve(s.M, s.J.T @ r))
    if np.linalg.matrix_rank(s.J) < len(s.J):
        with pytest.raises(catena.CatenaError):
            o.contact(s.tau)
    else:
        close_to(o.contact(s.tau).acceleration, s.a)


def _redundancy(s: State) -> None:
    assert s.system.redundancy(s.q).rank == np.linalg.matrix_rank(s.J)


def _internal_forces(s: State) -> None:
    if s.system.nv < 6:
        with pytest.raises(catena.ModelError, match="moves freely"):
            s.system.internal_forces(s.q, s.given["forces"], s.link)
        return
    inner = s.system.internal_forces(s.q, s.given["forces"], s.link)  # one hand cannot squeeze
    close_to(inner, np.zeros_like(inner))


def _impact(s: State) -> None:
    before = s.v + s.dv  # rates that the constraints stop
    change, _ = s.system.impact(s.q, before, s.tau)
    close_to(s.J @ (before + change), np.zeros(len(s.J)))
    close_to(before + change, s.N @ (s.M @ before + s.tau))


def _response(s: State) -> None:
    wanted = s.J @ s.dv
    close_to(s.system.constrained_response(s.q, s.tau, wanted).change, s.N @ s.tau + s.dv - s.N @ s.M @ s.dv)


def _inverse_kinematics(s: State) -> None:
    aim = s.system.close(moved(s, 0.05, s.v))
    pose = s.system.placement(aim, s.link)
    q, reached, error = s.system.inverse_kinematics({s.link: tuple(pose)}, s.q)
    assert reached
    assert error < 1e-9
    _closed(s, q)
    found = s.system.placement(q, s.link)
    close_to(found.rotation, pose.rotation, 1e-8)
    close_to(found.position, pose.position, 1e-8)


def _closed(s: State, q: np.ndarray) -> None:
    close_to(s.system.closure_residual(q), np.zeros(len(s.J)), 1e-9)


def _rates(s: State, along: str) -> None:
    if along == "residual":  # small about where it is zero
        found = differences(lambda h: np.asarray(s.system.closure_residual(moved(s, h, s.dq))))
        close_to(found, s.J @ s.dq, 1e-6)
    else:
        found = differences(lambda h: np.asarray(s.system.constraint_jacobian(moved(s, h, s.v))) @ s.v)
        close_to(s.system.constraint_bias(s.q, s.v), found, 1e-6)


HELD: dict[str, Callable[[State], Any]] = {
    "System.forward_dynamics": _forward_dynamics,
    "System.forward_dynamics_jvp": _jvp,
    "System.forward_dynamics_derivatives": _derivatives,
    "System.constraint_force_derivatives": _force_derivatives,
    "System.constraint_torques": _constraint_torques,
    "System.interlink_forces": _reactions,
    "System.reactions": _reactions,
    "System.forward_link_dynamics": _link_motion,
    "System.inverse_dynamics": _inverse_dynamics,
    "System.inverse_mass_matrix": lambda s: close_to(s.system.inverse_mass_matrix(s.q), s.N),
    "System.forward_dynamics_vjp": _vjp,
    "System.linearize": _linearize,
    "System.with_parameters": _with_parameters,
    "System.forward_dynamics_parameter_derivatives": _parameter_derivatives,
    "System.constrained_response": _response,
    "System.impact": _impact,
    "System.project_velocity": lambda s: close_to(s.system.project_velocity(s.q, s.dv), s.N @ s.M @ s.dv),
    "System.closure_residual": partial(_rates, along="residual"),
    "System.constraint_jacobian": partial(_rates, along="residual"),
    "System.constraint_rates": lambda s: close_to(s.system.constraint_rates(s.q, s.dv), s.J @ s.dv),
    "System.constraint_bias": partial(_rates, along="bias"),
    "System.close": lambda s: _closed(s, s.system.close(moved(s, 0.01, s.dq))),
    "System.inverse_kinematics": _inverse_kinematics,
    "System.random_configuration": lambda s: _closed(s, s.system.random_configuration(0)),
    "System.redundancy": _redundancy,
    "System.internal_forces": _internal_forces,
    "System.operational_mobility": lambda s: close_to(
        s.system.operational_mobility(s.q, s.link), s.Jl @ s.N @ s.Jl.T
    ),
    "System.operational_inertia": _operational_inertia,
    "System.operational_dynamics": _operational_dynamics,
    "System.dynamically_consistent_inverse": _consistent_inverse,
    "System.operators": _operators,
    "System.step": _step,
    "System.rollout": lambda s: _run(s, s.system.rollout(s.q, s.v, np.stack([s.tau] * 3), 1e-3)),
    "System.load": lambda s: _closed(
        State("four_bar"), catena.System.load(catena.robots.path("four_bar")).close(bar()[1])
    ),
    "System.with_constraints": lambda s: close_to(
        s.system.with_constraints(s.system.constraints).forward_dynamics(s.q, s.v, s.tau).a, s.a
    ),
    "simulate": lambda s: _run(s, catena.simulate(s.system, s.q, s.v, 3e-3, 1e-3, control=lambda t, q, v: s.tau)),
    "Run": lambda s: _run(s, _remade(s.system.rollout(s.q, s.v, np.stack([s.tau] * 3), 1e-3))),
    "jax.function": lambda s: _bridged(s, "jax", lambda x: x),
    "torch.function": lambda s: _bridged(s, "torch", lambda x: import_module("torch").tensor(x)),
    "casadi.function": lambda s: _bridged(s, "casadi", lambda x: x),
}  # fmt: skip
"""What is checked of all that says that it holds constraints."""


def _remade(run: catena.Run) -> catena.Run:
    parameters = inspect.signature(catena.Run).parameters
    return catena.Run(**{name: getattr(run, name) for name in parameters})


def _bridged(s: State, package: str, convert: Callable[[Any], Any]) -> None:
    framework = pytest.importorskip(package)
    if package == "jax":
        framework.config.update("jax_enable_x64", True)
    f = getattr(catena, package).function(s.system, "forward_dynamics")
    a = np.asarray(f(convert(s.q), convert(s.v), convert(s.tau))[0]).ravel()
    close_to(a, s.a)


# What there is.


def declared_as(member: Any) -> Any:
    """The declaration of a question, of which the emitted call may stand in front; None of another method."""
    return getattr(member, "question", None) or getattr(getattr(member, "__wrapped__", None), "question", None)


def said(member: Any) -> Any:
    """What a public method, function or class says of systems."""
    declared = declared_as(member)
    return declared.closed if isinstance(declared, Declared) else getattr(member, "closed", "")


def takes_robots(x: Any) -> bool:
    try:
        parameters = inspect.signature(x).parameters.values()
    except ValueError:
        return False
    return any(p.name in ("robot", "robots", "system") or "Robot" in str(p.annotation) for p in parameters)


def modules() -> Iterator[tuple[str, ModuleType]]:
    yield "", catena
    for name in catena.__all__:
        if isinstance(module := getattr(catena, name), ModuleType):
            yield f"{name}.", module
    for name in BRIDGES:
        try:
            yield f"{name}.", import_module(f"catena.{name}")
        except (ImportError, catena.UnsupportedError):  # noqa: PERF203 - a package that is not here
            continue


@cache
def public() -> dict[str, Any]:
    """Everything that can be asked of a System, and everything that takes one, by name."""
    described = {name for name, _ in inspect.getmembers(Description)}
    found = {
        f"System.{name}": x
        for name, x in inspect.getmembers(catena.System, callable)
        if name[0] != "_" and name not in described
    }
    for name, x in inspect.getmembers(catena.Robot, callable):
        if name[0] != "_" and takes_robots(x):
            found[f"Robot.{name}"] = x
    for prefix, module in modules():
        for name in getattr(module, "__all__", dir(module)):
            x = getattr(module, name)
            if name[0] == "_" or isinstance(x, ModuleType) or not callable(x):
                continue
            if str(getattr(x, "__module__", "")).startswith("catena") and takes_robots(x) and x not in found.values():
                found[prefix + name] = x
    return found


def called(name: str, asked: Any, s: State) -> Any:
    """The answer to generated arguments; `asked` takes the place of the robot."""
    owner, _, method = name.rpartition(".")
    f = getattr(asked, method) if owner == "System" else public()[name]
    if owner == "Robot":
        f = getattr(s.system.forest, method)
    arguments = {}
    for p in inspect.signature(f).parameters.values():
        if p.default is p.empty and p.kind not in (p.VAR_KEYWORD, p.VAR_POSITIONAL):
            robots = [asked] if p.name == "robots" else asked
            taken = p.name in ("robot", "robots", "system") or "Robot" in str(p.annotation)
            arguments[p.name] = robots if taken else s.given.get(p.name)
    if not any(x is asked for x in arguments.values()) and owner != "System" and "robots" not in arguments:
        arguments |= {p.name: asked for p in inspect.signature(f).parameters.values() if "robot" in p.name}
    kinds = inspect.signature(f).parameters
    first = [x for name, x in arguments.items() if kinds[name].kind is not inspect.Parameter.KEYWORD_ONLY]
    return f(*first, **{n: x for n, x in arguments.items() if kinds[n].kind is inspect.Parameter.KEYWORD_ONLY})


def numbers(answer: Any) -> list[np.ndarray]:
    """The arrays of an answer."""
    if isinstance(answer, catena.MassMatrix):
        return [np.asarray(answer.dense())]
    if isinstance(answer, tuple):
        return [x for each in answer for x in numbers(each)]
    return [np.asarray(answer)]


@pytest.mark.parametrize("which", SYSTEMS)
@pytest.mark.parametrize("name", sorted(n for n, x in public().items() if said(x) == "held"))
def test_what_holds_constraints_does(name: str, which: str) -> None:
    assert name in HELD, f"{name} says that it holds constraints: a check of that belongs in HELD"
    HELD[name](state(which))


@pytest.mark.parametrize("name", sorted(n for n, x in public().items() if said(x) == "forest"))
def test_what_does_not_depend_on_constraints_is_that_of_the_forest(name: str) -> None:
    s = state("four_bar")
    if name == "view":  # draws what render does, and serves it
        return
    found, right = (numbers(called(name, robot, s)) for robot in (s.system, s.system.forest))
    assert len(found) == len(right) > 0
    for x, y in zip(found, right, strict=True):
        assert np.array_equal(x, y)


@pytest.mark.parametrize("name", sorted(n for n, x in public().items() if said(x) == ""))
def test_what_says_nothing_refuses_systems_by_name(name: str) -> None:
    s = state("four_bar")
    with pytest.raises(catena.CatenaError, match=r"constraints.*system\.forest|made of Robots"):
        called(name, s.system, s)


@pytest.mark.parametrize("which", SYSTEMS)
def test_bias_is_what_leaves_only_the_accelerations_that_constraints_force(which: str) -> None:
    s = state(which)
    a = s.system.forward_dynamics(s.q, s.v, s.system.bias(s.q, s.v)).a
    close_to(s.N @ s.M @ a, np.zeros(s.nv))
    close_to(s.J @ a, -np.asarray(s.system.constraint_bias(s.q, s.v)))


def test_every_check_is_of_something() -> None:
    bridges = {f"{name}.function" for name in BRIDGES}
    assert set(HELD) - set(public()) <= bridges  # of packages that are not here


def test_descriptions_are_those_of_the_forest() -> None:
    system, _ = bar()
    for name, x in inspect.getmembers(Description):
        if name[0] != "_" and isinstance(x, property):
            assert repr(getattr(system, name)) == repr(getattr(system.forest, name)), name


def test_questions_that_only_robots_answer_are_refused_by_name() -> None:
    system, _ = bar()
    only = [n for n, _ in inspect.getmembers(catena.Robot) if n[0] != "_" and not hasattr(catena.System, n)]
    assert "spatial_dynamics" in only
    for name in only:
        assert not hasattr(system, name)
        with pytest.raises(catena.UnsupportedError, match=rf"{name} .*constraints.*system\.forest"):
            getattr(system, name)


def test_mass_matrices_of_systems_have_products_and_no_inverses() -> None:
    s = state("four_bar")
    for method in ("innovations", "udu"):
        M, right = s.system.mass_matrix(s.q, method), s.system.forest.mass_matrix(s.q, method)
        for name, x in inspect.getmembers(catena.MassMatrix, callable):
            if not isinstance(declared_as(x), Declared):
                continue
            parameters = inspect.signature(x).parameters.values()
            more = [s.tau for p in parameters if p.default is p.empty and p.name != "self"]
            if said(x) == "forest":
                assert np.array_equal(getattr(M, name)(*more), getattr(right, name)(*more)), name
            else:
                with pytest.raises(catena.UnsupportedError, match="constraints"):
                    getattr(M, name)(*more)
