"""Mass matrices without an inverse are refused by name; those that have one are not, however thin their links are."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import catena
from catena.errors import SingularError
from catena.functions.catalogue import FORWARD_DYNAMICS
from catena.mass_matrix.formulation import METHODS
from catena.model.singular import check_invertible, unheld_inside, unheld_leaves

BODY: dict[str, Any] = {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)}
POINT: dict[str, Any] = {"mass": 1.0, "com": (0.3, 0.0, 0.0)}


def chain(*joints: tuple[str, dict[str, Any]], base: str = "fixed", root: dict[str, Any] | None = None) -> catena.Robot:
    """Links one after the other: each a joint's maker, with an axis after a colon, and the link's numbers."""
    builder = catena.Builder("chain").link("l0", **(root or {}))
    for i, (joint, link) in enumerate(joints):
        kind, _, axis = joint.partition(":")
        builder.link(f"l{i + 1}", **link)
        getattr(builder, kind)(f"j{i + 1}", f"l{i}", f"l{i + 1}", **({"axis": axis} if axis else {}))
    return builder.build(base=base)


SINGULAR = {
    "two free joints": (chain(("free", BODY), ("revolute:z", BODY), base="floating"), "l0"),
    "a slide and a hinge under a floating base": (
        chain(("revolute:z", {}), ("prismatic:x", BODY), base="floating"),
        "l0",
    ),
    "two hinges on one axis": (chain(("revolute:z", {}), ("revolute:z", BODY)), "l1"),
    "two slides along one axis": (chain(("revolute:x", BODY), ("prismatic:y", {}), ("prismatic:y", BODY)), "l2"),
    "a ball on a ball": (chain(("spherical", {}), ("spherical", BODY)), "l1"),
    "a plane and a hinge across": (chain(("planar", {}), ("revolute:z", POINT), ("revolute:x", BODY)), "l1"),
    "four slides": (
        chain(("prismatic:x", {}), ("prismatic:y", {}), ("prismatic:z", {}), ("prismatic:x", BODY)),
        "l1",
    ),
    "a mass on the axis": (chain(("revolute:z", {"mass": 1.0}), ("prismatic:z", {"mass": 1.0})), "l1"),
}
REGULAR = {
    "a cross of two hinges": chain(("revolute:x", {}), ("revolute:y", BODY)),
    "three slides and three hinges": chain(
        ("prismatic:x", {}),
        ("prismatic:y", {}),
        ("prismatic:z", {}),
        ("revolute:x", {}),
        ("revolute:y", {}),
        ("revolute:z", BODY),
    ),
    "a free joint on a slide's link": chain(("prismatic:x", BODY), ("free", BODY)),
    "a massless root": chain(
        ("revolute:z", BODY), ("revolute:x", BODY), base="floating", root={"inertia": (0, 0, 1e-9)}
    ),
    "points": catena.point_mass_chain([1.0] * 6, [1.0] * 6),
    "rods": catena.rod_chain(6, 1.0, 1.0),
    "tiny beside huge": chain(
        ("revolute:z", {}),
        ("revolute:x", {"mass": 1e-6, "com": (0.0, 0.01, 0.0)}),
        ("revolute:z", {**BODY, "mass": 1e3}),
    ),
}


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("name", SINGULAR)
def test_what_needs_an_inverse_refuses_by_name(name, kernel):
    robot, link = SINGULAR[name]
    q, v = robot.random_configuration(0), np.ones(robot.nv)
    asked = [
        *[
            lambda m=m: robot.forward_dynamics(q, v, v, method=m, kernel=kernel)
            for m in FORWARD_DYNAMICS
            if m != "dense"
        ],
        lambda: robot.forward_dynamics(q, v, v, method="dense"),
        *[lambda m=m: robot.mass_matrix(q, m, kernel=kernel).solve(v) for m in METHODS if m != "fixman"],
        *[lambda m=m: robot.mass_matrix(q, m, kernel=kernel).logdet() for m in METHODS if m != "fixman"],
        lambda: robot.mass_matrix(q, kernel=kernel).inv(),
        lambda: robot.mass_matrix(q, kernel=kernel).sqrt_times(v),
        lambda: robot.inverse_mass_matrix(q, kernel=kernel),
        lambda: robot.forward_link_dynamics(q, v, v, kernel=kernel),
        lambda: robot.link_mobilities(q, kernel=kernel),
        lambda: robot.operational_mobility(q, robot.links[-1].name, kernel=kernel),
        lambda: catena.fixman_potential(robot, q),
    ]
    for ask in asked:
        with pytest.raises(SingularError, match="singular at every configuration") as caught:
            ask()
        assert caught.value.link == link
        assert caught.value.joint == robot.tree.joint_names[robot.link_index(link)]
        assert repr(caught.value.link) in str(caught.value)
        assert repr(caught.value.joint) in str(caught.value)


@pytest.mark.parametrize("name", SINGULAR)
def test_what_needs_none_answers(name):
    robot, _ = SINGULAR[name]
    q, v = robot.random_configuration(0, (3,)), np.ones(robot.nv)
    for kernel in ("unrolled", "rolled"):
        tau = robot.inverse_dynamics(q, v, v, kernel=kernel)
        M = robot.mass_matrix(q, kernel=kernel)
        np.testing.assert_allclose(M.times(v) + robot.bias(q, v, kernel=kernel), tau, atol=1e-12)
        np.testing.assert_allclose(M.dense() @ v, M.times(v), atol=1e-12)
        smallest = np.linalg.eigvalsh(M.dense())[..., 0]
        assert (np.abs(smallest) < 1e-12).all()


def said_by(ask):
    """What a SingularError says, of the words that are looked for; nothing if there was none."""
    try:
        ask()
    except SingularError as error:
        return "divides by zero" if "divides by zero" in str(error) else str(error)
    return ""


@pytest.mark.parametrize("name", SINGULAR)
def test_elsewhere_it_is_an_error_of_ours_or_no_number(name):
    robot, _ = SINGULAR[name]
    q, v = robot.random_configuration(0), np.ones(robot.nv)
    for function in ("forward_dynamics/fd3", "forward_dynamics/dense", "log_determinant"):
        given = (q,) if function == "log_determinant" else (q, v, v)
        for ask in (
            lambda f=function: catena.count(robot, f),
            lambda f=function, g=given: catena.evaluate(robot, f, *g),
        ):
            assert said_by(ask) in ("", "divides by zero")


@pytest.mark.parametrize("name", SINGULAR)
def test_a_rotor_helps(name):
    robot, _ = SINGULAR[name]
    tree = robot.tree
    helped = catena.Robot(type(tree)(**{**vars_of(tree), "armature": np.full(tree.nv, 0.1)}))
    q, v = helped.random_configuration(0), np.ones(helped.nv)
    a = helped.forward_dynamics(q, v, v)
    np.testing.assert_allclose(helped.inverse_dynamics(q, v, a), v, atol=1e-9)


def vars_of(tree: Any) -> dict[str, Any]:
    return {name: getattr(tree, name) for name in tree.__dataclass_fields__}


@pytest.mark.parametrize("name", REGULAR)
def test_thin_links_are_not_refused(name):
    robot = REGULAR[name]
    check_invertible(robot.tree)
    q, v = robot.random_configuration(0), np.ones(robot.nv)
    a = robot.forward_dynamics(q, v, v)
    np.testing.assert_allclose(robot.inverse_dynamics(q, v, a), v, atol=1e-6)


@pytest.mark.parametrize("seed", range(60))
def test_random_trees_of_massless_points_and_bodies(seed):
    """Refused if and only if the mass matrix, scaled to a unit diagonal, is singular at random configurations."""
    rng = np.random.default_rng(seed)
    builder, kinds = catena.Builder("random").link("l0", **BODY), ["revolute", "prismatic", "spherical", "planar"]
    for i in range(6):
        link = [{}, POINT, BODY][rng.integers(3)] if i < 4 else BODY
        builder.link(f"l{i + 1}", **link)
        kind = kinds[rng.choice(4, p=[0.5, 0.3, 0.1, 0.1])]
        axis = {} if kind == "spherical" else {"axis": "xyz"[rng.integers(3)]}
        position = (0.0, 0.0, 0.0) if rng.random() < 0.5 else tuple(rng.standard_normal(3))
        above = i if i < 4 else int(rng.integers(4, i + 1))
        getattr(builder, kind)(f"j{i + 1}", f"l{above}", f"l{i + 1}", position=position, **axis)
    robot = builder.build()
    M = robot.mass_matrix(robot.random_configuration(rng, (4,))).dense()
    size = np.sqrt(np.diagonal(M, axis1=1, axis2=2))
    size = np.where(size > 0, size, 1.0)
    smallest = np.linalg.eigvalsh(M / (size[:, :, None] * size[:, None, :]))[:, 0].max()
    assert bool(unheld_inside(robot.tree)) == (smallest < 1e-13)
    assert smallest < 1e-13 or smallest > 1e-10  # so that the question has one answer


def test_a_massless_carrier_on_a_long_chain():
    """Of a million links only what is near the carrier is looked at."""
    robot = catena.rod_chain(10_000, 1.0, 1.0)
    massless = robot.tree.mass * np.where(np.arange(robot.tree.n) == 5000, 0.0, 1.0)
    tree = type(robot.tree)(**{**vars_of(robot.tree), "mass": massless})
    assert unheld_inside(tree) == []


@pytest.mark.filterwarnings("ignore::catena.ModelWarning")
def test_real_robots_are_not_refused(example_urdfs):
    """At the configurations that random numbers find, their mass matrices have an inverse."""
    for path in example_urdfs:
        for base in ("fixed", "floating"):
            try:
                tree = catena.load(path, base=base, mimic="independent").tree
            except catena.LoadError:  # a few are fragments of others
                continue
            assert unheld_leaves(tree) or not unheld_inside(tree), path


HANGING = chain(("revolute:z", {}), ("revolute:x", {"mass": 1.0, "com": (0.0, 0.0, 0.3)}))
"""A point on a cross of hinges: when it hangs straight, nothing resists the first hinge."""


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("method", ["innovations", "udu", "fd1", "fd2", "fd4", "two_sweep"])
@pytest.mark.parametrize("batch", [5, 64, 20_000])
def test_a_singular_sample_touches_no_other(method, kernel, batch, rng):
    q, v, tau = rng.uniform(0.5, 1.0, (3, batch, 2))
    good = HANGING.forward_dynamics(q, v, tau, method=method, kernel=kernel)
    q[3, 1] = 0.0
    with pytest.warns(catena.SingularWarning, match=r"NaN, for samples 3: nothing resists joint 'j1' of link 'l1'"):
        found = HANGING.forward_dynamics(q, v, tau, method=method, kernel=kernel)
    assert np.isnan(found[3]).all()
    others = np.arange(batch) != 3
    np.testing.assert_array_equal(found[others], good[others])


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
def test_every_question_says_which_samples_are_singular(kernel, rng):
    """Samples whose arguments are not finite are another matter."""
    q, v = rng.uniform(0.5, 1.0, (2, 6, 2))
    q[[1, 4], 1], q[5], v[0] = 0.0, np.nan, np.inf
    P = HANGING.parameters().vector
    asked = [
        lambda q, v, **given: HANGING.forward_dynamics(q, v, v, **given),
        lambda q, v, **given: HANGING.forward_dynamics(q, v, v, joint_losses=True, **given),
        lambda q, v, **given: HANGING.forward_dynamics(q, v, v, parameters=P, **given),
        lambda q, v, **given: HANGING.forward_dynamics(q, v, v, dtype=np.float32, **given),
        lambda q, v, **given: HANGING.forward_dynamics_derivatives(q, v, v, **given),
        lambda q, v, **given: HANGING.forward_dynamics_jvp(q, v, v, v, v, v, **given),
        lambda q, v, **given: HANGING.forward_dynamics_vjp(q, v, v, v, **given),
        lambda q, v, **given: HANGING.linearize(q, v, v, **given),
        lambda q, v, **given: HANGING.step(q, v, v, 0.1, **given),
        lambda q, v, **given: HANGING.forward_link_dynamics(q, v, v, **given),
        lambda q, v, **given: HANGING.inverse_mass_matrix(q, **given),
        lambda q, v, **given: HANGING.link_mobilities(q, **given),
        lambda q, v, **given: HANGING.operational_mobility(q, "l2", **given),
        *[lambda q, v, m=m, **given: HANGING.mass_matrix(q, m, **given).solve(v) for m in ("innovations", "udu")],
        lambda q, v, **given: HANGING.mass_matrix(q, **given).logdet(),
        lambda q, v, **given: HANGING.mass_matrix(q, **given).inv_sqrt_times(v),
    ]
    for ask in asked:
        for shape, said in (((6,), "samples 1, 4: "), ((2, 3), r"samples \(0, 1\), \(1, 1\): ")):
            with pytest.warns(catena.SingularWarning, match=said):
                found = ask(q.reshape(*shape, 2), v.reshape(*shape, 2), kernel=kernel)
            for result in found if isinstance(found, tuple) else (found,):
                rows = np.isnan(np.asarray(result)).reshape(6, -1)
                assert rows[[1, 4]].all()
                assert not rows[[2, 3]].any()
        with pytest.raises(SingularError, match=r"at this configuration: nothing resists joint 'j1'") as caught:
            ask(q[1], v[1], kernel=kernel)
        assert (caught.value.link, caught.value.joint) == ("l1", "j1")


def test_singular_samples_under_the_result(rng):
    q, v = rng.uniform(0.5, 1.0, (2, 6, 2))
    q[1, 1] = 0.0
    with pytest.warns(catena.SingularWarning, match=r"samples 1: "):
        HANGING.forward_dynamics(q, v, v, out=q)
    assert np.isnan(q).all(-1).tolist() == [False, True, False, False, False, False]


@pytest.mark.parametrize("many", [1, 3000])
def test_singular_samples_of_several_leading_dimensions(rng, many):
    """The first call, those after it, and those with a result over an argument; small batches and shared ones."""
    q, v = rng.uniform(0.5, 1.0, (2, 2, 3 * many, 2))
    q[1, 2, 1] = 0.0
    for out in (None, None, None, q):
        with pytest.warns(catena.SingularWarning, match=r"samples \(1, 2\): nothing resists joint 'j1'"):
            found = HANGING.forward_dynamics(q, v, v, {"l1": np.ones(6)}, out=out)
        assert np.argwhere(np.isnan(found).all(-1)).tolist() == [[1, 2]]


@pytest.mark.parametrize("wrench", [np.full((2, 6), np.inf), {"l1": np.full(6, np.inf)}], ids=["array", "mapping"])
def test_singular_whatever_the_wrenches_are(wrench):
    """The first call is another one than those after it."""
    robot, q = catena.Robot(HANGING.tree), np.array([0.5, 0.0])
    for _ in range(3):
        with pytest.raises(SingularError, match="nothing resists joint 'j1'"):
            robot.forward_dynamics(q, q, q, wrench)
        assert not np.isfinite(robot.forward_dynamics(q + 0.5, q, q, wrench)).all()


def test_numbers_that_are_too_large_are_not_singular():
    """They overflow, and say nothing of the mass matrix."""
    huge = np.array([[0.5, 0.5]]), np.array([[1e200, 1e200]])
    assert not np.isfinite(HANGING.forward_dynamics(*huge, huge[1])).any()
    assert not np.isfinite(HANGING.forward_dynamics(huge[0][0], huge[1][0], huge[1][0])).any()


def test_singular_up_to_rounding_and_too_large():
    """Two hinges on one line, of which rounding makes M regular: what overflows there is not an answer."""
    doubled = chain(
        ("revolute:z", {}), ("revolute:z", {"mass": 1.0, "com": (0.1, 0.2, 0.3), "inertia": (0.1, 0.2, 0.25)})
    )
    q, tau = np.array([1.94628906, 2.40820312]), np.array([1e300, 0.0])
    for scale in np.linspace(0.5, 1.5, 40):
        robot, parameters = catena.Robot(doubled.tree), scale * doubled.parameters().vector
        for _ in range(2):
            with pytest.raises(SingularError, match="nothing resists joint 'j1'"):
                robot.forward_dynamics(q, 0 * q, tau, parameters=parameters)


def test_the_dense_method_says_which_samples_are_singular(rng):
    q, b = rng.uniform(0.5, 1.0, (2, 6, 2))
    good = HANGING.mass_matrix(q, "dense")
    q[[1, 4], 1] = 0.0
    bad, others = HANGING.mass_matrix(q, "dense"), [0, 2, 3, 5]
    with pytest.warns(catena.SingularWarning, match="samples 1, 4: nothing resists"):
        found = bad.solve(b)
    np.testing.assert_array_equal(found[others], good.solve(b)[others])
    assert np.isnan(found[[1, 4]]).all()
    assert np.isnan(bad.logdet()[[1, 4]]).all()
    with pytest.warns(catena.SingularWarning, match=r"\(0, 1\), \(1, 1\): "):
        HANGING.mass_matrix(q.reshape(2, 3, 2), "dense").inv()
    with pytest.raises(SingularError, match="at this configuration: nothing resists joint 'j1'"):
        HANGING.mass_matrix(q[1], "dense").solve(b[0])


def hanging_rollout(kernel: str | None, control: Any, integrator: str = "semi_implicit") -> catena.simulation.run.Run:
    """Three samples without gravity, of which the second passes through the singular configuration."""
    q, v = np.array([[0.0, 0.5], [0.0, 0.25], [0.0, 0.5]]), np.zeros((3, 2))
    v[1, 1] = -1.0
    robot = HANGING.with_gravity((0, 0, 0))
    given = {"steps": 6} if control is None else {"steps": 6, "control": control}
    return robot.rollout(q, v, None, 0.0625, integrator=integrator, kernel=kernel, **given)


@pytest.mark.parametrize("kernel", ["unrolled", "rolled"])
@pytest.mark.parametrize("how", ["compiled", "in Python"])
def test_rollouts_say_which_samples_become_singular(kernel, how):
    def control(t, q, v, parameters):
        return np.zeros(v.shape) if float(np.sum(v)) < 1e9 else v

    with (
        pytest.warns(catena.DivergenceWarning, match="1 of 3 samples diverged; the first is sample .1,.: after step 5"),
        pytest.warns(catena.SingularWarning, match="becomes singular.* of samples 1: nothing resists joint 'j1' of"),
    ):
        run = hanging_rollout(kernel, None if how == "compiled" else control)
    assert run.diverged.tolist() == [False, True, False]
    assert run.diverged_joint.tolist() == [-1, 0, -1]


def test_simulations_say_that_they_become_singular():
    robot = HANGING.with_gravity((0, 0, 0))
    with (
        pytest.warns(catena.DivergenceWarning, match="the run diverged"),
        pytest.warns(catena.SingularWarning, match="becomes singular.* in runs: nothing resists joint 'j1'"),
    ):
        run = catena.simulate(robot, [0.0, 0.25], [0.0, -1.0], duration=0.375, dt=0.0625)
    assert bool(run.diverged)


@pytest.mark.parametrize("package", ["torch", "casadi"])
def test_bridges_say_which_samples_are_singular(package):
    pytest.importorskip(package)
    bridge = __import__(f"catena.{package}", fromlist=["function"])
    q, v = np.array([0.3, 0.0]), np.ones(2)
    f = bridge.function(HANGING, "forward_dynamics")
    with pytest.warns(catena.SingularWarning, match="nothing resists joint 'j1' of link 'l1'"):
        assert np.isnan(np.asarray(f(q, v, v))).all()


def test_jax_gives_numbers_that_are_not_finite():
    """Its compiled programs call machine code directly, which cannot warn."""
    pytest.importorskip("jax")
    import jax

    import catena.jax

    q, v = np.array([[0.3, 0.0], [0.3, 1.0]]), np.ones(2)
    with jax.enable_x64():
        a = jax.jit(catena.jax.function(HANGING, "forward_dynamics"))(q, v, v)
    assert np.isfinite(np.asarray(a)).all(-1).tolist() == [False, True]


def test_what_an_array_loses_in_rounding_is_named() -> None:
    """A point mass that hangs almost on the axis of its carrier: factors joint by joint keep digits, M has none."""
    builder = catena.Builder("swing").link("base").link("carrier").link("bob", mass=1.0, com=(0.0, 0.0, -1.0))
    robot = builder.revolute("turn", "base", "carrier").revolute("swing", "carrier", "bob", axis="x").build()
    q, v = np.array([0.3, np.pi]), np.ones(2)
    assert np.isfinite(robot.forward_dynamics(q, v, v)).all()
    for ask in (
        lambda: robot.forward_dynamics(q, v, v, method="dense"),
        lambda: robot.mass_matrix(q, "dense").solve(v),
    ):
        with pytest.raises(catena.SingularError, match="nothing resists joint 'turn' of link 'carrier' there"):
            ask()
