"""The processor that code is generated for."""

from __future__ import annotations

import functools
from dataclasses import dataclass


@dataclass(frozen=True)
class Target:
    """A processor in LLVM's words: triple, CPU name and comma-separated features."""

    triple: str
    cpu: str
    features: str


@functools.cache
def host() -> Target:
    """The computer this runs on."""
    import llvmlite.binding as llvm

    return Target(llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
