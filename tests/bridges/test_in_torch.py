"""Questions as functions of Torch: values, derivatives, batches, compiled graphs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from tests.mechanisms import relative
from tests.mechanisms import state as random_state

import catena
import catena.torch
from catena.bridges.asked import Asked

torch = pytest.importorskip("torch")

pytestmark = pytest.mark.filterwarnings("ignore:.*torch.jit.script.*:DeprecationWarning")  # of Torch's own making


def state(robot: catena.Robot, seed: int = 0, batch: tuple[int, ...] = (), grad: bool = False) -> tuple[Any, ...]:
    return tuple(torch.tensor(x, requires_grad=grad) for x in random_state(robot, seed, batch))


def test_values_are_the_robot_s_own(arm: catena.Robot) -> None:
    q, v, tau = state(arm, batch=(5,))
    wrench = np.random.default_rng(1).normal(size=(len(arm.links), 6))
    function = catena.torch.function(arm, "forward_dynamics", joint_losses=True)
    expected = arm.forward_dynamics(q, v, tau, joint_losses=True)
    assert np.array_equal(function(q, v, tau), expected)
    expected = arm.forward_dynamics(q[0], v, tau, wrench, joint_losses=True)
    assert np.array_equal(function(q[0], v, tau=tau, f_ext=wrench), expected)
    assert function(q[:0], v[:0], tau[0]).shape == (0, 7)


@pytest.mark.parametrize("question", ["forward_dynamics", "inverse_dynamics", "integrate"])
def test_derivatives(floating: catena.Robot, question: str) -> None:
    q, v, tau = state(floating, grad=True)
    arrays = (q, v) if question == "integrate" else (q, v, tau)
    function = catena.torch.function(floating, question)
    assert torch.autograd.gradcheck(function, arrays, check_forward_ad=True)


def test_derivatives_by_parameters() -> None:
    """Each sample with its own robot, or one robot for all."""
    robot = catena.random_tree(5, 2, ["revolute", "prismatic"], 0.0)
    q, v, tau = state(robot, 1, (3,))
    function = catena.torch.function(robot, "forward_dynamics", joint_losses=True)
    for drawn in (catena.randomize(robot, 2, 0.2), catena.randomize(robot, 2, 0.2, shape=3)):
        own = torch.tensor(np.array(drawn), requires_grad=True)
        assert torch.autograd.gradcheck(lambda p: function(q, v, tau, parameters=p), (own,), check_forward_ad=True)


def test_derivatives_where_samples_share_an_argument(arm: catena.Robot) -> None:
    q, v, tau = state(arm, 1, (3,))
    shared = tau[0].clone().requires_grad_()
    function = catena.torch.function(arm, "forward_dynamics")
    assert torch.autograd.gradcheck(lambda tau: function(q, v, tau), (shared,), check_forward_ad=True)


def test_second_derivatives() -> None:
    robot = catena.random_tree(8, 2, ["spherical", "revolute"], 0.0)
    assert robot.nq > robot.nv  # it has a quaternion
    function = catena.torch.function(robot, "forward_dynamics")
    assert torch.autograd.gradgradcheck(function, state(robot, grad=True))


def test_transformations_in_every_order(floating: catena.Robot) -> None:
    from torch.func import grad, hessian, jacfwd, jacrev, vmap

    function = catena.torch.function(floating, "forward_dynamics")
    (q, v, _), (_, _, tau) = state(floating, 4, (4,)), state(floating, 5)

    def total(q: Any, v: Any, tau: Any) -> Any:
        return function(q, v, tau).sum()

    assert np.array_equal(vmap(function, (0, 0, None))(q, v, tau), floating.forward_dynamics(q, v, tau))
    nested = vmap(lambda q: vmap(lambda v: function(q, v, tau), out_dims=1)(v))(q)
    assert np.array_equal(nested.movedim(2, 1), floating.forward_dynamics(q[:, None], v, tau))
    each = vmap(grad(total, (0, 1, 2)), (0, 0, None))(q, v, tau)
    at_once = grad(total, (0, 1, 2))(q, v, tau)
    inside = grad(lambda *x: vmap(function, (0, 0, None))(*x).sum(), (0, 1, 2))(q, v, tau)
    for found in (at_once, inside):
        assert relative(found[0], each[0]) < 1e-13
        assert relative(found[2], each[2].sum(0)) < 1e-13
    assert relative(jacfwd(function)(q[0], v[0], tau), jacrev(function)(q[0], v[0], tau)) < 1e-12
    curved = hessian(total, 1)(q[0], v[0], tau)
    assert relative(curved, curved.T) < 1e-12


def test_single_precision_and_integers(arm: catena.Robot) -> None:
    singles = tuple(x.float() for x in state(arm))
    function = catena.torch.function(arm, "forward_dynamics")
    assert np.array_equal(function(*singles), arm.forward_dynamics(*singles, dtype=np.float32))
    assert function(singles[0].double(), *singles[1:]).dtype == torch.float64
    assert function([0] * 7, [0] * 7, [1] * 7).dtype == torch.get_default_dtype()
    assert function(*[x.bfloat16() for x in singles]).dtype == torch.float32


def test_numbers_for_the_whole_robot(arm: catena.Robot) -> None:
    q, v, _ = state(arm, grad=True)
    energy = catena.torch.function(arm, "kinetic_energy")(q, v)
    assert energy.shape == ()
    energy.backward()
    assert relative(v.grad, arm.mass_matrix(q.detach()) @ v.detach()) < 1e-12


def test_arrays_of_numpy_are_left_alone(arm: catena.Robot) -> None:
    arrays = [np.asarray(x) for x in state(arm)]
    for x in arrays:
        x.flags.writeable = False
    assert np.array_equal(catena.torch.function(arm, "forward_dynamics")(*arrays), arm.forward_dynamics(*arrays))


def test_tensors_are_read_in_place(arm: catena.Robot) -> None:
    q, v, tau = (x.T.contiguous().T for x in state(arm, batch=(5,)))
    assert not q.is_contiguous()
    function = catena.torch.function(arm, "forward_dynamics")
    assert np.array_equal(function(q, v, tau), arm.forward_dynamics(q, v, tau))


def test_compiled_graphs(arm: catena.Robot) -> None:
    function = catena.torch.function(arm, "forward_dynamics")

    def cost(q: Any, v: Any, tau: Any) -> Any:
        return (function(q, v, 2 * tau) ** 2).sum()

    compiled = torch.compile(cost, fullgraph=True, backend="aot_eager")
    at = state(arm, 2, grad=True)
    value, expected = compiled(*at), cost(*at)
    assert value == expected
    for x, y in zip(torch.autograd.grad(value, at), torch.autograd.grad(expected, at), strict=True):
        assert relative(x, y) < 1e-14


def test_the_operator_is_as_torch_wants_it(arm: catena.Robot) -> None:
    from catena.bridges.in_torch import _name, operator

    name = _name(Asked(arm, "inverse_dynamics", {}).map(("q", "v", "a")))
    torch.library.opcheck(operator, (list(state(arm, grad=True)), name), test_utils=("test_schema", "test_faketensor"))


def test_wrong_tensors_are_refused_by_name(arm: catena.Robot) -> None:
    function = catena.torch.function(arm, "forward_dynamics")
    q, v, tau = state(arm)
    for tensors in ((q[:6], v, tau), (q, torch.zeros(2, 7), torch.zeros(3, 7)), (1j * q, v, tau)):
        with pytest.raises(catena.ShapeError, match="forward_dynamics"):
            function(*tensors)


ODD: dict[str, Any] = {
    "an object": object(),
    "rows that differ": [[1.0, 2.0], [3.0]],
    "words": ["a", "b"],
    "objects": np.array([None] * 7),
    "a set": {1, 2},
    "sparse": torch.ones(7).to_sparse(),
    "of the device meta": torch.zeros(7, device="meta"),
}


@pytest.mark.parametrize("value", ODD.values(), ids=ODD)
def test_odd_tensors_are_refused_by_name(arm: catena.Robot, value: Any) -> None:
    q, _, tau = state(arm)
    with pytest.raises(catena.ShapeError, match="forward_dynamics: v "):
        catena.torch.function(arm, "forward_dynamics")(q, value, tau)


def test_odd_arrays_are_taken(arm: catena.Robot) -> None:
    """What Torch itself does not convert: strides below zero, other byte orders, floats of eight bits beside others."""
    function, v = catena.torch.function(arm, "gravity_torque"), np.linspace(0.1, 0.7, 7)
    expected = arm.gravity_torque(v)
    assert np.array_equal(function(v[::-1].copy()[::-1]), expected)
    assert np.array_equal(function(v.astype(">f8")), expected)
    assert function(v.astype(np.float32)[::-1]).dtype == torch.float32
    mixed = catena.torch.function(arm, "bias")(torch.tensor(v), torch.ones(7).to(torch.float8_e4m3fn))
    assert np.array_equal(mixed, arm.bias(v, np.ones(7)))


def test_robots_without_joints() -> None:
    robot = catena.Builder("still").link("a", mass=1.0).build()
    for batch in ((), (3,)):
        nothing = torch.zeros(*batch, 0, requires_grad=True)
        found = catena.torch.function(robot, "forward_dynamics")(nothing, nothing, nothing)
        assert found.shape == nothing.shape
        assert torch.autograd.grad(found.sum(), nothing)[0].shape == nothing.shape


def test_questions_without_derivatives_say_so(arm: catena.Robot) -> None:
    q, *_ = state(arm, grad=True)
    inverse = catena.torch.function(arm, "inverse_mass_matrix")
    with pytest.raises(catena.UnsupportedError, match="whole matrix"):
        inverse(q).sum().backward()
