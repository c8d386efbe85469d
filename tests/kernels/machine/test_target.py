from __future__ import annotations

import numpy as np
import pytest

from catena.errors import UnsupportedError
from catena.kernels.machine.target import Target, host

X86, ARM = "x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"
AVX2 = "+sse2,+avx,+avx2,+fma"
AVX512 = AVX2 + ",+avx512f,+avx512dq,+avx512vl"


@pytest.mark.parametrize(
    ("triple", "features", "doubles", "fused", "assembles", "registers"),
    [
        (X86, "+sse2,-avx", 2, False, False, 16),
        (X86, "+sse2,+avx", 4, False, False, 16),
        (X86, AVX2, 4, True, True, 16),
        (X86, AVX2 + ",+avx512f", 4, True, True, 16),
        (X86, AVX512, 8, True, True, 32),
        (ARM, "+neon", 2, True, False, 32),
        ("arm64-apple-darwin23", "+neon", 2, True, False, 32),
    ],
)
def test_what_features_mean(triple, features, doubles, fused, assembles, registers):
    target = Target(triple, "", features)
    assert (target.lanes(np.float64), target.lanes(np.float32)) == (doubles, 2 * doubles)
    assert (target.has_fma, target.assembles, target.registers) == (fused, assembles, registers)


def test_less_can_be_used_than_there_is():
    target = Target(X86, "", AVX512, vector_bits=256, assembly=False)
    assert target.lanes("float64") == 4
    assert not target.assembles


def test_the_environment_restricts_what_is_used(monkeypatch):
    monkeypatch.setenv("CATENA_VECTOR_BITS", "128")
    monkeypatch.setenv("CATENA_ASSEMBLY", "0")
    target = host.__wrapped__()
    assert target.lanes("float64") == 2
    assert not target.assembles


@pytest.mark.parametrize(
    ("variable", "value", "allowed"),
    [
        ("CATENA_VECTOR_BITS", "wide", "512, 256 or 128"),
        ("CATENA_VECTOR_BITS", "64", "512, 256 or 128"),
        ("CATENA_VECTOR_BITS", "-256", "512, 256 or 128"),
        ("CATENA_ASSEMBLY", "no", "1 or 0"),
    ],
)
def test_other_values_are_refused_by_name(monkeypatch, variable, value, allowed):
    monkeypatch.setenv(variable, value)
    with pytest.raises(UnsupportedError, match=f"{variable} is '{value}'; expected {allowed}"):
        host.__wrapped__()


def test_empty_values_choose_nothing(monkeypatch):
    for variable in ("CATENA_VECTOR_BITS", "CATENA_ASSEMBLY"):
        monkeypatch.setenv(variable, "")
    target = host.__wrapped__()
    assert (target.vector_bits, target.assembly) == (512, True)
