"""The processor that code is generated for: how many lanes its registers have, and whether it fuses multiply-adds."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Target:
    """A processor in LLVM's words: triple, CPU name and comma-separated features."""

    triple: str
    cpu: str
    features: str

    def _has(self, feature: str) -> bool:
        return f"+{feature}" in self.features.split(",")

    @property
    def _arm(self) -> bool:
        return self.triple.startswith(("aarch64", "arm64"))

    @property
    def has_fma(self) -> bool:
        """Whether a multiply-add rounded once is one instruction."""
        return self._arm or self._has("fma")

    def lanes(self, dtype: Any) -> int:
        """How many numbers fit in a register."""
        bits = 128
        if not self._arm:
            bits = 512 if self._has("avx512f") and self._has("avx512dq") else 256 if self._has("avx") else 128
        return bits // (8 * np.dtype(dtype).itemsize)


@functools.cache
def host() -> Target:
    """The computer this runs on."""
    import llvmlite.binding as llvm

    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
