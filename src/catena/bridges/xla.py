"""Kernels registered as custom calls of XLA, which JAX's compiled programs run without Python in between."""

from __future__ import annotations

import ctypes
import functools
import hashlib
import os
import re
import threading
from pathlib import Path
from typing import Any

from catena.bridges.maps import Map
from catena.bridges.xla_ir import KERNEL, RANKS, TABLE_WORDS, WIDTHS, handler_ir
from catena.kernels.call.job import SCRATCH_BUDGET
from catena.kernels.call.kernel import Kernel
from catena.kernels.machine.compile import Codegen, Module, load, object_code

KNOWN_MINOR = 3
"""The newest version 0.x of XLA's interface that the handler was written for; later ones promise to accept it."""

STACK = 0 if os.name == "nt" else 65_536
"""Up to how many bytes of the stack of XLA's threads a kernel computes in; beyond that in memory of its own."""

_registered: dict[str, tuple[Kernel, Module]] = {}
"""What XLA may call, by name. It never forgets a name, so the code has to stay."""
_lock = threading.Lock()


@functools.cache
def interface_version() -> int | None:
    """The minor version that handlers tell XLA; None if this JAX has no such interface, or one of another kind."""
    import jax

    try:
        header = (Path(jax.ffi.include_dir()) / "xla" / "ffi" / "api" / "c_api.h").read_text(encoding="utf-8")
    except (AttributeError, OSError):
        return None
    found = [re.search(rf"#define XLA_FFI_API_{part} (\d+)", header) for part in ("MAJOR", "MINOR")]
    if found[0] is None or found[1] is None or int(found[0][1]) != 0:
        return None
    return min(int(found[1][1]), KNOWN_MINOR)


def custom_call(of: Map, dtype: Any) -> str | None:
    """The name of the custom call that computes a map; None if it has to be computed by a callback to Python.

    The name follows from the robot and the function, so that programs which JAX keeps on disk find it in another
    process, once the map has been asked for there.
    """
    minor = interface_version()
    kernel = of.kernel(dtype)
    if minor is None or not isinstance(kernel, Kernel) or kernel.batch_scratch > SCRATCH_BUDGET:
        return None
    content = f"{of.key}/{kernel.dtype.name}".encode()
    name = f"catena_{hashlib.blake2b(content, digest_size=12).hexdigest()}"
    with _lock:
        if name not in _registered:
            module = _handler(kernel, minor)
            _register(name, module.address("handler"))
            _registered[name] = kernel, module
    return name


def _handler(kernel: Kernel, minor: int) -> Module:
    """A handler of its own for a kernel."""
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    malloc, free = (ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in ("malloc", "free"))
    words = {
        "batch": kernel.batch_entry,
        "single": kernel.single_entry,
        "context": kernel.context_address,
        "batch_scratch": kernel.batch_scratch,
        "single_scratch": kernel.single_scratch,
        "stack": STACK,
        "malloc": malloc,
        "free": free,
        "inputs": len(kernel.inputs),
        "outputs": len(kernel.outputs),
        "rank": kernel.outputs[0].rank,
        "minor": minor,
    }
    module = load(_handler_code())
    table = (ctypes.c_int64 * TABLE_WORDS).from_address(module.address("kernel"))
    table[: len(KERNEL)] = [words[word] for word in KERNEL]
    for i, port in enumerate(kernel.inputs):
        table[RANKS + i], table[WIDTHS + i] = port.rank, port.width
    return module


@functools.cache
def _handler_code() -> bytes:
    return object_code(handler_ir(), Codegen(passes=2))


def _register(name: str, address: int) -> None:
    import jax

    capsule = ctypes.pythonapi.PyCapsule_New
    capsule.restype, capsule.argtypes = ctypes.py_object, (ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p)
    jax.ffi.register_ffi_target(name, capsule(address, None, None), platform="cpu")
