"""Damaged and generated URDF: a robot or a CatenaError, nothing else."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.model.readers.fuzz import NUMBERS, VECTORS, base_of, outcome
from tests.model.readers.fuzz_urdf import case

NAMES = st.sampled_from(["a", "b", "c", "d", "", "é"])
NUMBER = st.one_of(st.sampled_from(NUMBERS), st.floats().map(repr), st.text(max_size=5))
VECTOR = st.one_of(st.sampled_from(VECTORS), st.lists(st.floats(), max_size=4).map(lambda v: " ".join(map(repr, v))))


def attribute(value: str) -> str:
    """`value` made fit for an attribute, so that what is tested lies behind the parser."""
    clean = "".join(c for c in value if c.isprintable())
    return clean.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")


@st.composite
def links(draw: st.DrawFn) -> str:
    moments = " ".join(
        f'{key}="{attribute(draw(NUMBER))}"' for key in draw(st.permutations(("ixx", "iyy", "izz", "ixy")))
    )
    inertia = f'<mass value="{attribute(draw(NUMBER))}"/><inertia {moments}/>'
    inertial = draw(st.sampled_from(["", f"<inertial>{inertia}</inertial>", INERTIAL]))
    return f'<link name="{draw(NAMES)}">{inertial}</link>'


INERTIAL = '<inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"/></inertial>'


@st.composite
def joints(draw: st.DrawFn) -> str:
    joint_type = draw(st.sampled_from(["revolute", "continuous", "prismatic", "planar", "floating", "fixed", "odd"]))
    ends = f'<parent link="{draw(NAMES)}"/><child link="{draw(NAMES)}"/>'
    place = f'<origin xyz="{attribute(draw(VECTOR))}" rpy="{attribute(draw(VECTOR))}"/>'
    axis = f'<axis xyz="{attribute(draw(VECTOR))}"/>'
    limit = f'<limit lower="{attribute(draw(NUMBER))}" upper="{attribute(draw(NUMBER))}"/>'
    inside = draw(st.sampled_from([place, axis, limit, place + axis, axis + limit, ""]))
    return f'<joint name="{draw(NAMES)}" type="{joint_type}">{ends}{inside}</joint>'


@settings(max_examples=300, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.one_of(links(), joints()), max_size=8), st.sampled_from(["fixed", "floating"]))
def test_generated_files(parts: list[str], base: str) -> None:
    outcome(f"<robot>{''.join(parts)}</robot>".encode(), base)


@settings(max_examples=100, deadline=None, derandomize=True)
@given(
    st.one_of(st.binary(max_size=200), st.text(max_size=200).map(lambda text: text.encode("utf-8", "surrogatepass")))
)
def test_noise(data: bytes) -> None:
    assert outcome(data, "fixed") == "LoadError"


@pytest.mark.parametrize("seed", range(4))
def test_damaged_files(seed: int) -> None:
    for number in range(100):
        outcome(case(seed, number), base_of(number))
