"""LLVM IR to machine code, and machine code to addresses that can be called.

Code is position-independent in LLVM's small code model, so that constants are one instruction away, and is loaded by
LLVM's JITLink, which keeps the sections of an object together. Objects are loaded without the symbols of the process:
IR given to this module may not declare any. What a kernel needs from the C library it calls through its table
``@helpers`` (:data:`HELPERS`), which is filled in after loading.

Everything here may be called from any thread. LLVM work is done under one lock, which a fork waits for, so that a
child never inherits LLVM in the middle of something. Memory is freed when the last owner of the code is deallocated,
which is later than finalizers and callbacks of weak references run: those may still call it.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import mmap
import os
import sys
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import numpy as np

from catena.errors import CatenaError
from catena.kernels.machine.cache import Cache, key_of
from catena.kernels.machine.fingerprint import package_fingerprint, sources_are_as_imported
from catena.kernels.machine.target import Target, host

HELPERS = ("sin", "cos", "log", "atan2")
"""The functions of doubles of the C library that ``@helpers`` points to, in this order."""

LIBRARY_INTRINSICS = ("mem", "sin", "cos", "tan", "exp", "exp2", "log", "log2", "log10", "pow")
"""Intrinsics ``llvm.NAME…`` that LLVM may turn into calls of the C library."""

LIBRARY = "catena"
"""What the one library of a JIT is called."""

_lock = threading.RLock()
_engines: dict[int, _Engine] = {}
"""LLVM's owners of code in memory. They have finalizers, so nothing that the collector may finalize may own them."""

_claims: dict[int, weakref.ref[Any]] = {}
"""What tells that nobody can call an engine's code any more, by the engine's key."""

_unused: list[int] = []
"""Keys of engines whose code nobody can call any more."""

_numbers = itertools.count()
_loaded: weakref.WeakValueDictionary[str, Module] = weakref.WeakValueDictionary()

if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_lock.release)


@dataclass(frozen=True)
class Codegen:
    """How hard LLVM works: ``opt`` on machine code (0 to 3), ``passes`` on the IR before that (0 for none, to 3)."""

    opt: int = 2
    passes: int = 0


class Whole:
    """What holds addresses of machine code, or of arrays beside it: copies are the object itself; none is pickled.

    Copies with an engine's key or an array's address in them would free what others go on with.
    """

    __slots__ = ()

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce_ex__(self, protocol: Any) -> NoReturn:
        raise TypeError(f"{type(self).__name__} holds machine code, which cannot be pickled")


class Module(Whole):
    """Machine code in memory. It stays there as long as this object lives.

    What frees it is the weak reference to an array that this object holds. The collector does not know arrays, as it
    knows every instance of a class: one goes when what holds it is taken apart, after all finalizers of a cycle.
    """

    def __init__(self, engine: _Engine, size: int) -> None:
        self.size = size
        self._number = next(_numbers)
        _engines[self._number] = engine
        self._claim = np.empty(0)
        _claims[self._number] = weakref.ref(self._claim, functools.partial(_unclaimed, self._number))

    def address(self, symbol: str) -> int:
        """Where a function or a constant of the module is."""
        with _lock:
            address = _engines[self._number].address(symbol)
        if not address:
            raise CatenaError(f"machine code without the symbol {symbol!r}")
        return address

    def has(self, symbol: str) -> bool:
        """Whether the module exports the symbol."""
        with _lock:
            return bool(_engines[self._number].address(symbol))

    def integers(self, symbol: str, count: int = 1) -> tuple[int, ...]:
        """The values of an exported ``[count x i64]``."""
        return tuple((ctypes.c_int64 * count).from_address(self.address(symbol)))


def compile_cached(key_parts: tuple[str, ...], make_ir: Callable[[], str], codegen: Codegen | None = None) -> Module:
    """The module of IR text for a key: see :func:`module_cached`."""
    codegen = codegen or Codegen()
    return module_cached((*key_parts, repr(codegen)), lambda: object_code(make_ir(), codegen))


def module_cached(key_parts: tuple[str, ...], make_code: Callable[[], bytes]) -> Module:
    """The module for a key: in memory already, or from the disk cache, or made now by :func:`object_code`.

    ``key_parts`` must name everything that ``make_code`` depends on, apart from the processor and the versions of LLVM
    and of Catena, which are added here. ``make_code`` is called only if the cache doesn't know the key. If nobody can
    tell which sources run in this process, the disk cache is left alone.
    """
    with _lock:
        sources = package_fingerprint()
        key = key_of(*key_parts, sources or "", *target_parts(host()))
    if (module := _loaded.get(key)) is not None:
        return module
    cache = Cache.default()
    code = None if sources is None else cache.load(key)
    if code is None:
        code = make_code()
        if sources is not None and sources_are_as_imported():
            cache.store(key, code)
    with _lock:
        if (module := _loaded.get(key)) is None:
            module = _loaded[key] = load(code)
        return module


def object_code(ir: str, codegen: Codegen | None = None, target: Target | None = None) -> bytes:
    """The machine code of IR text, as an object file. Other targets than this computer's serve for inspection."""
    _close_unused()
    with _lock:
        return _compile(ir, codegen or Codegen(), target or host())


def load(code: bytes) -> Module:
    """Map an object file into memory. It must come from :func:`object_code`: of others LLVM may abort the process."""
    _close_unused()
    with _lock:
        module = Module(_Engine(code), len(code))
        if module.has("helpers"):
            table = (ctypes.c_void_p * len(HELPERS)).from_address(module.address("helpers"))
            table[:] = list(_helper_addresses())
        return module


def target_parts(target: Target) -> tuple[str, ...]:
    """What machine code depends on besides the IR."""
    version = ".".join(map(str, _llvm().llvm_version_info))
    return target.triple, target.cpu, target.features, str(target.vector_bits), str(target.assembly), version


@functools.cache
def _llvm() -> Any:
    """llvmlite's binding, imported when first needed and ready to use."""
    if sys.maxsize < 2**63 - 1:
        raise CatenaError("Catena's kernels need a 64-bit Python")
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm


# LLVM's objects are released when a function returns. That too has to happen under the lock, so those that use them
# are called with the lock held and are not inlined into their callers.


def _compile(ir: str, codegen: Codegen, target: Target) -> bytes:
    llvm = _llvm()
    module = llvm.parse_assembly(ir)
    module.verify()
    machine = _target_machine(target, codegen.opt)
    if codegen.passes:
        builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(codegen.passes))
        builder.getModulePassManager().run(module, builder)
    _refuse_externals(module)
    return bytes(machine.emit_object(module))


class _Engine:
    """The owner of one object file in memory, used with the lock held.

    Each has a JIT of its own: one for all would keep nine kilobytes of every object that it ever had (llvmlite 0.50).
    All that LLVM gives is kept to the end, as the first tracker that is closed frees the code (the same).
    """

    def __init__(self, code: bytes) -> None:
        _require_executable_memory()
        llvm = _llvm()
        self._jit = llvm.create_lljit_compiler(_loading_machine(), use_jit_link=True, suppress_errors=True)
        self._trackers = {"": llvm.JITLibraryBuilder().add_object_img(code).link(self._jit, LIBRARY)}

    def address(self, symbol: str) -> int:
        """Where a symbol is, 0 if there is none of that name. The first that is there has the object linked."""
        if symbol not in self._trackers:
            try:
                self._trackers[symbol] = self._jit.lookup(LIBRARY, symbol)
            except RuntimeError as error:
                if "Symbols not found" in str(error):
                    return 0
                raise CatenaError(f"machine code cannot be loaded: {error}") from None
        return int(self._trackers[symbol][symbol])

    def close(self) -> None:
        """Free the code."""
        for owned in (*self._trackers.values(), self._jit):
            owned.close()


@functools.cache
def _loading_machine() -> Any:
    """What JITs are made for: they compile nothing, and one that knows no features is made sooner."""
    return _target_machine(replace(host(), cpu="", features=""), 0)


def _require_executable_memory() -> None:
    """Raise where the system lets nobody make memory executable: LLVM would abort the process."""
    if sys.platform != "linux":
        return
    system, size = ctypes.CDLL(None, use_errno=True), mmap.PAGESIZE
    with mmap.mmap(-1, size) as page:
        held = ctypes.c_char.from_buffer(page)
        system.mprotect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        refused = system.mprotect(ctypes.addressof(held), size, mmap.PROT_READ | mmap.PROT_EXEC)
        number = ctypes.get_errno()
        system.mprotect(ctypes.addressof(held), size, mmap.PROT_READ | mmap.PROT_WRITE)
        del held
    if refused:
        raise CatenaError(
            f"machine code cannot be loaded, as this process may not make memory executable ({os.strerror(number)}): "
            "allow it where that is forbidden (systemd's MemoryDenyWriteExecute=, prctl PR_SET_MDWE, SELinux's execmem)"
        )


def _target_machine(target: Target, opt: int) -> Any:
    triple = target.triple + ("-elf" if os.name == "nt" and not target.triple.endswith("-elf") else "")
    return (
        _llvm()
        .Target.from_triple(triple)
        .create_target_machine(
            cpu=target.cpu, features=target.features, opt=opt, reloc="pic", codemodel="small", jit=True
        )
    )


def _refuse_externals(module: Any) -> None:
    """Raise if the module needs a symbol that it doesn't define."""
    declared = [f.name for f in module.functions if f.is_declaration]
    strangers = [name for name in declared if not name.startswith("llvm.") or _library_call(name)]
    strangers += [v.name for v in module.global_variables if v.is_declaration]
    if strangers:
        raise CatenaError(f"a kernel may not use external symbols, but this one needs {', '.join(strangers)}")


def _library_call(intrinsic: str) -> bool:
    name = intrinsic.split(".")[1]
    return name in LIBRARY_INTRINSICS or name.startswith("mem")


@functools.cache
def _helper_addresses() -> tuple[int, ...]:
    library = ctypes.CDLL("ucrtbase" if os.name == "nt" else None)
    if not all(hasattr(library, name) for name in HELPERS):
        library = ctypes.CDLL("libm.so.6")
    return tuple(ctypes.cast(getattr(library, name), ctypes.c_void_p).value or 0 for name in HELPERS)


def _unclaimed(number: int, _: object, ending: Callable[[], bool] = sys.is_finalizing) -> None:
    if not ending():  # at the end of the process code may still be called, and the system frees it
        _claims.pop(number, None)
        _unused.append(number)
        _close_unused()


def _close_unused() -> None:
    """Free what nobody can call any more, unless another thread is busy with LLVM: then the next one to come here does.

    This may run wherever the last reference to a module goes, so it must not wait.
    """
    if not _lock.acquire(blocking=False):
        return
    try:
        with suppress(IndexError):  # none is left
            while True:
                _engines.pop(_unused.pop()).close()
    finally:
        _lock.release()
