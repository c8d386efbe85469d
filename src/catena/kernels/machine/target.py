"""The processor that code is generated for: how many lanes its registers have, and what it can do at once."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass
from typing import Any

import numpy as np

from catena.errors import UnsupportedError

AVX512 = ("avx512f", "avx512dq", "avx512vl")


@dataclass(frozen=True)
class Target:
    """A processor in LLVM's words: triple, CPU name and comma-separated features.

    ``vector_bits`` caps the registers that are used, ``assembly`` allows instructions of our own (x86 only).
    """

    triple: str
    cpu: str
    features: str
    vector_bits: int = 512
    assembly: bool = True

    def _has(self, *features: str) -> bool:
        known = self.features.split(",")
        return all(f"+{feature}" in known for feature in features)

    @property
    def _arm(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def has_fma(self) -> bool:
        """Whether a multiply-add rounded once is one instruction."""
        return self._arm or self._has("fma")

    @property
    def assembles(self) -> bool:
        """Whether :mod:`catena.kernels.codegen.assembly` knows the instructions."""
        return self.assembly and self.triple.startswith("x86_64") and self._has("avx", "fma")

    @property
    def streams(self) -> bool:
        """Whether :mod:`catena.kernels.codegen.streaming` knows how to write past the caches."""
        return self.triple.startswith("x86_64") and self._has("avx")

    @property
    def registers(self) -> int:
        """How many vector registers there are."""
        return 32 if self._arm or self._has(*AVX512) else 16

    def lanes(self, dtype: Any) -> int:
        """How many numbers fit in a register."""
        bits = 128
        if not self._arm:
            bits = 512 if self._has(*AVX512) else 256 if self._has("avx") else 128
        return min(bits, self.vector_bits) // (8 * int(np.dtype(dtype).itemsize))


@functools.cache
def host() -> Target:
    """The computer this runs on.

    The environment variables CATENA_VECTOR_BITS (128, 256, 512) and CATENA_ASSEMBLY (0 or 1) restrict what is used.
    """
    bits, assembly = _chosen("CATENA_VECTOR_BITS", ("512", "256", "128")), _chosen("CATENA_ASSEMBLY", ("1", "0"))
    import llvmlite.binding as llvm

    llvm.initialize_native_asmparser()
    return Target(
        llvm.get_process_triple(),
        llvm.get_host_cpu_name(),
        llvm.get_host_cpu_features().flatten(),
        int(bits),
        assembly == "1",
    )


def _chosen(variable: str, allowed: tuple[str, ...]) -> str:
    """The value of an environment variable, the first of those allowed where it is not set or empty."""
    value = os.environ.get(variable, "").strip() or allowed[0]
    if value not in allowed:
        raise UnsupportedError(
            f"the environment variable {variable} is {value!r}; expected {', '.join(allowed[:-1])} or {allowed[-1]}, "
            "or unset it"
        )
    return value
