"""How a question becomes a method: declared once, answered by machine code.

    @question(FORWARD_DYNAMICS)
    def forward_dynamics(self, q: npt.ArrayLike, …, *, out: Array | None = None, dtype=np.float64) -> Array:
        \"\"\"Joint accelerations … \"\"\"

The signature is the real one, and its annotations say what a parameter is for: `npt.ArrayLike` goes into the kernel,
`out` takes the results, everything else is an option. What is declared with it is the function that answers, or a rule
that chooses one by the options; the rule runs once for each combination of options. After that, calls go to machine
code directly (:mod:`catena.kernels.call.answer_ir`); calls that it leaves alone come here.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import update_wrapper
from typing import Any, ClassVar, NamedTuple, TypeVar, cast

import numpy as np
import numpy.typing as npt

from catena.arguments.arrays import Port, Signature
from catena.arguments.chunks import any_chunked
from catena.arguments.dtypes import checked_dtype
from catena.arguments.scalars import Closed
from catena.arguments.wrenches import frames_of, wrenches
from catena.errors import ShapeError, SpeedWarning, UnknownNameError, UnsupportedError, kind_of, warn
from catena.functions.chunked import in_chunks
from catena.functions.function import Function
from catena.functions.lean import DECLINED, lean
from catena.functions.store import Compiled, has_fast
from catena.functions.watch import Watch
from catena.kernels.call.words import MAPPED, OWN, Given, Role
from catena.later import reading_files

Array = npt.NDArray[Any]
Method = TypeVar("Method", bound=Callable[..., Any])
Rule = Callable[..., Function]
"""`rule(asked, given, **options)`: the function that answers; `given` names the arrays that a call gives."""

ROLES: Mapping[str, Role] = {
    "npt.ArrayLike": Role.ARRAY,
    "npt.ArrayLike | None": Role.ARRAY,
    "Parameters | npt.ArrayLike | None": Role.ARRAY,
    "str | npt.ArrayLike": Role.WORD_OR_ARRAY,
    "Wrenches": Role.MAPPING_OR_ARRAY,
}
"""What a parameter is for, by its annotation; all others are options."""


_KINDS: Mapping[type, Given] = {type(None): Given.NOTHING, np.ndarray: Given.ARRAY}
NONE: Mapping[str, Callable[..., Any]] = {}
_WORDS = frozenset((str, bool, type, type(None)))  # which can be told from each other and from all else


class Answering:
    """An object that can be asked questions: it has what was compiled for it, and perhaps arrays of its own."""

    __slots__ = ("_compiled", "_own")

    _compiled: Compiled
    _own: tuple[Array | None, ...]
    _own_names: ClassVar[Mapping[str, int]] = {}
    """The arrays that go into kernels without being arguments, by name: their places in `_own`."""

    @property
    def _dtype(self) -> Any:
        """What it computes in where a question has no such option."""
        return np.float64

    @property
    def _kernel_shape(self) -> str | None:
        """The shape of kernels where a question has no such option."""
        return None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        for name, member in list(vars(cls).items()):
            if (declared := getattr(member, "question", None)) is not None:
                install_later(cls, name, declared)

    @property
    def _closed(self) -> bool:
        """Whether constraints act on it that a question for open trees knows nothing of."""
        return False

    def _make_own(self) -> None:
        """Make the arrays of its own that are missing."""
        raise NotImplementedError

    def _anew(self) -> tuple[Any, Callable[..., Answering] | None, list[tuple[Any, Port]]]:
        """How to have it in another process: what is pickled, what makes it of that, and the arrays for that."""
        return self, None, []

    def _called(self, name: str) -> str:
        """What messages call a question."""
        return name

    def _hint(self, question: str, value: Any) -> str:
        """What messages add about a value that does not fit."""
        return ""


def question(
    answer: Function | Rule, inverts: str = "", closed: Closed = "", aside: Mapping[str, Callable[..., Any]] = NONE
) -> Callable[[Method], Method]:
    """Declare a method as a question that one function answers, or the one that a rule chooses.

    `inverts` names the matrix that it needs the inverse of, if any, such as "M"; see :class:`Watch`.
    `closed` says what the answer is of systems with constraints: "held" of one that honours them, "forest" of one that
    they do not matter to (placements, energies, M as a matrix). What does not say so is refused there.
    `aside` answers calls with keywords that no function knows, by these: `aside[name](asked, **parameters)`.
    """

    def declared(method: Method) -> Method:
        return cast(Method, Declared(method, answer, inverts, closed, aside).general)

    return declared


class Answer(NamedTuple):
    """How one combination of options is answered.

    `sources` says where each input of the kernel comes from: the name of a parameter, or the place of an array of the
    asked object's own.
    """

    signature: Signature
    kernel: Any
    sources: tuple[str | int, ...]
    wrapper: type | None
    watch: Watch | None

    @property
    def own(self) -> list[int]:
        """The places of the asked object's own arrays that are needed."""
        return [source for source in self.sources if isinstance(source, int)]

    def returned(self, results: Sequence[Any]) -> Any:
        """The results as a call gives them."""
        return as_returned(results, self.wrapper)


def as_returned(results: Sequence[Any], wrapper: type | None) -> Any:
    """One result alone, or several as a tuple, with names if there is a class of such."""
    if len(results) == 1:
        return results[0]
    return tuple(results) if wrapper is None else wrapper(*results)


class Declared:
    """A question: its parameters with their roles, and the way from a call to an answer that knows every case."""

    def __init__(
        self,
        method: Callable[..., Any],
        answer: Function | Rule,
        inverts: str = "",
        closed: Closed = "",
        aside: Mapping[str, Callable[..., Any]] = NONE,
    ) -> None:
        self.name, self._answer, self.inverts, self.closed = method.__name__, answer, inverts, closed
        _, *parameters = inspect.signature(method).parameters.values()
        self.names = tuple(p.name for p in parameters)
        self.roles = tuple(_role(p) for p in parameters)
        self.defaults = tuple(p.default for p in parameters)
        self._marked: dict[tuple[Any, ...], list[tuple[int, Role]]] = {}
        self.positional = sum(p.kind is p.POSITIONAL_OR_KEYWORD for p in parameters)
        self.number = -1
        self._method = method
        self._bound = _binder(method, parameters)
        self._wrapper: type | None = None

        def general(*args: Any, **kwargs: Any) -> Any:
            for name, answer_aside in aside.items():
                if kwargs.get(name) is not None:
                    asked, *values = self._bound(*args, **kwargs)
                    return answer_aside(asked, **dict(zip(self.names, values, strict=True)))
            given = (*args[1:], *kwargs.values())
            known = self._pattern(args, kwargs, given)
            if known is not None and (way := args[0]._compiled.known(known)) is not None:
                quick = way(args[0]._own, given)
                if quick is not DECLINED:
                    return quick
            asked, *values = self._bound(*args, **kwargs)
            if not isinstance(asked, Answering):
                raise TypeError(f"{method.__qualname__} is asked of a Robot, not of {kind_of(asked)}")
            answer = self.answer(asked, values)
            if known is not None:
                answered, names = self._known(asked, values), [*self.names[: len(args) - 1], *kwargs]
                with suppress(OSError):  # files of the package that cannot be read now: a later call finds the way
                    asked._compiled.once(known, lambda: lean(answered, asked, names, given))
            return answer

        self.general: Callable[..., Any] = update_wrapper(general, method)
        self.general.question = self  # type: ignore[attr-defined]

    def _pattern(self, args: Sequence[Any], named: Mapping[str, Any], given: Sequence[Any]) -> Hashable:
        """What calls of an object have in common that are answered in one way; None if that cannot be told."""
        if not args or not isinstance(args[0], Answering):
            return None
        form = (len(args), *named)
        try:
            marked = self._marked[form]
        except KeyError:
            marked = self._marked[form] = self._to_mark(len(args) - 1, named)
        kinds = self, form, *map(_KINDS.get, map(type, given))
        try:
            return (*kinds, *[_mark(role, given[i]) for i, role in marked]) if marked else kinds
        except Exception:  # whatever an object's own hash raises
            return None

    def _to_mark(self, positional: int, named: Iterable[str]) -> list[tuple[int, Role]]:
        """Which values of a call matter for its pattern, besides their kinds, and their roles."""
        known = dict(zip(self.names, self.roles, strict=True))
        roles = [*self.roles[:positional], *[known.get(name, Role.OPTION) for name in named]]
        return [(i, role) for i, role in enumerate(roles) if role not in (Role.ARRAY, Role.OUT)]

    def answer(self, asked: Answering, values: Sequence[Any]) -> Any:
        """The answer for values of all parameters, in order."""
        found = self._known(asked, values)
        by_name = dict(zip(self.names, values, strict=True))
        if any_chunked(values) or (found.own and any_chunked(asked._own[:1])):
            return found.returned(in_chunks(asked, self.name, by_name, found))
        if any(asked._own[place] is None for place in found.own):
            asked._make_own()
        arrays = [asked._own[x] if isinstance(x, int) else self._array(asked, x, by_name[x]) for x in found.sources]
        try:
            given, batch = found.signature.arguments(arrays)
        except ShapeError as error:
            hints = filter(None, (asked._hint(self.label(asked), x) for x in by_name.values()))
            raise ShapeError("; ".join((str(error), *hints))) from None
        out = by_name.get("out")
        wanted = found.signature.wanted(out, batch)
        seen = given if found.watch is None else _kept(given, wanted)
        results = found.kernel.compute(given, wanted, batch, keep=out is not None or found.watch is not None)
        if found.watch is not None:
            found.watch.look(seen, results, batch)
            results = results if out is not None else [x if x.ndim else x[()] for x in results]
        return found.returned(found.signature.given_back(out, results))

    def _known(self, asked: Answering, values: Sequence[Any]) -> Answer:
        """How a call with these values is answered."""
        keys = [self._key(*each) for each in zip(self.roles, values, self.defaults, strict=True)]
        return self._found(asked, keys, values)

    def _found(self, asked: Answering, keys: Sequence[Any], values: Sequence[Any]) -> Answer:
        """How these options are answered, found out once; those that cannot be looked up are refused by name."""
        try:
            known = (self, *[_hashable(key) for key in keys])
            hash(known)
        except Exception:  # whatever an object's own hash raises
            return self._resolve(asked, keys, values)
        return asked._compiled.once(known, lambda: self._resolve(asked, keys, values))

    def _array(self, asked: Any, name: str, value: Any) -> Any:
        mapped = self.roles[self.names.index(name)] is Role.MAPPING_OR_ARRAY and isinstance(value, Mapping)
        return wrenches(asked, value, self.label(asked)) if mapped else value

    def label(self, asked: Answering) -> str:
        """What messages call it."""
        return asked._called(self.name)

    @staticmethod
    def _key(role: Role, value: Any, default: Any) -> Any:
        """What a value is for the choice of a procedure."""
        if role is Role.OPTION:
            return str.__str__(value) if isinstance(value, str) else value  # other classes of words may compare oddly
        if role is Role.OUT or (value is None and default is None):
            return Given.NOTHING
        if role is Role.WORD_OR_ARRAY and isinstance(value, str):
            return value
        if role is Role.MAPPING_OR_ARRAY and isinstance(value, Mapping):
            return tuple(value)
        return Given.ARRAY

    def _resolve(self, asked: Answering, keys: Sequence[Any], values: Sequence[Any]) -> Answer:
        """Choose the function and compile it, and from now on have the emitted call run it."""
        with reading_files(self.label(asked)):
            return self._prepared(asked, keys, values)

    def _prepared(self, asked: Answering, keys: Sequence[Any], values: Sequence[Any]) -> Answer:
        named = dict(zip(self.names, keys, strict=True))
        mapped = {n for n, r in zip(self.names, self.roles, strict=True) if r is Role.MAPPING_OR_ARRAY}
        mapped = {name for name in mapped if not isinstance(named[name], Given)}
        given = tuple(name for name, key in named.items() if key is Given.ARRAY or name in mapped)
        options = {name: key for name, key in named.items() if not isinstance(key, Given) and name not in mapped}
        dtype = checked_dtype(self.label(asked), options.pop("dtype", asked._dtype))
        shape = options.pop("kernel", asked._kernel_shape)
        function = self.chosen(asked, given, options)
        present = tuple(name for name in function.optional if name in given)
        kernel, mender = asked._compiled.kernel(function, present, dtype, shape), None
        if function.fast is not None and has_fast(asked._compiled.tree, function, shape, dtype):
            kernel, mender = asked._compiled.kernel(function.fast, present, dtype, shape), kernel
        arguments = iter(given)
        sources = tuple(
            asked._own_names[n] if n in asked._own_names else next(arguments) for n in function.given(present)
        )
        watch = Watch(asked._compiled, kernel, self.inverts, mender) if self.inverts else None
        found = Answer(self._signature(asked, kernel, sources), kernel, sources, self.wrapper_of(), watch)
        self._remember(asked, keys, values, mapped, found)
        return found

    def chosen(self, asked: Answering, given: tuple[str, ...], options: dict[str, Any]) -> Function:
        """The function that answers when these arrays are given, with these options besides `dtype` and `kernel`."""
        if asked._closed and not self.closed:
            raise UnsupportedError(
                f"{self.label(asked)} does not honour the constraints of a System; constrained_response and "
                "inverse_mass_matrix of the System do, and system.forest answers for the robots without constraints"
            )
        if isinstance(self._answer, Function):
            return self._answer
        return self._answer(asked, given, **options)

    def _signature(self, asked: Answering, kernel: Any, sources: Sequence[str | int]) -> Signature:
        """What a call takes, under the names that users know."""
        ports = [p if isinstance(x, int) else replace(p, name=x) for p, x in zip(kernel.inputs, sources, strict=True)]
        return Signature(self.label(asked), tuple(ports), kernel.outputs, kernel.dtype)

    def wrapper_of(self) -> type | None:
        """The class of several results, if the annotation names one."""
        if self._wrapper is None:
            name = self._method.__annotations__.get("return", "")
            found = self._method.__globals__.get(name) if isinstance(name, str) else name
            self._wrapper = found if isinstance(found, type) and issubclass(found, tuple) else tuple
        return None if self._wrapper is tuple else self._wrapper

    def _remember(
        self, asked: Answering, keys: Sequence[Any], values: Sequence[Any], mapped: set[str], found: Answer
    ) -> None:
        """Tell the emitted call, if this is something that it can do."""
        from catena.kernels.call.kernel import Kernel  # these two bring in much, and `import catena` should not
        from catena.kernels.call.procedures import procedure

        if self.number < 0 or not isinstance(found.kernel, Kernel):
            return
        if mapped and found.watch is not None and found.watch.mends:  # which would have to see what was summed up
            return
        table = None
        for name in mapped:
            table = frames_of(cast(Any, asked), keys[self.names.index(name)], found.kernel.dtype)
            if table is None:
                return
        sources = [
            OWN + x if isinstance(x, int) else self.names.index(x) + (MAPPED if x in mapped else 0)
            for x in found.sources
        ]
        maker = type(asked)._make_own if found.own else None
        watch = None if found.watch is None else found.watch.called
        made = procedure(found.kernel, sources, found.wrapper or tuple, maker, table, watch)
        if made is not None:
            words = [list(v) if isinstance(v, list) else k for k, v in zip(keys, values, strict=True)]
            asked._compiled.remember(self.number, words, made, self._usual(values))

    def _usual(self, values: Sequence[Any]) -> int:
        """How many arrays make this call, if nothing but arrays is given, in order; otherwise -1."""
        given = [x is not default for x, default in zip(values, self.defaults, strict=True)]
        arrays = [role is Role.ARRAY for role in self.roles[: sum(given)]]
        return len(arrays) if all(arrays) and not any(given[len(arrays) :]) else -1


def _kept(given: Sequence[Array], wanted: Sequence[Array | None]) -> list[Array]:
    """Arguments as they are before results are written over them."""
    outs = [x for x in wanted if x is not None]
    return [x.copy() if any(np.may_share_memory(x, out) for out in outs) else x for x in given]


def _role(parameter: inspect.Parameter) -> Role:
    return Role.OUT if parameter.name == "out" else ROLES.get(str(parameter.annotation), Role.OPTION)


def _mark(role: Role, x: Any) -> Hashable:
    """What a value has in common with others that are treated alike."""
    kind = type(x)
    if kind in _WORDS:
        return cast(Hashable, x)
    if kind is np.ndarray and role is not Role.OPTION:
        return Given.ARRAY
    if role is Role.MAPPING_OR_ARRAY and kind is dict:
        return kind, *x, *map(type, x)
    return cast(Hashable, _hashable(Declared._key(role, x, None)))


def _hashable(key: Any) -> Any:
    """A key for a dictionary that tells 0 from False; lists and tuples of words count by their items."""
    if isinstance(key, list | tuple):
        return type(key), tuple(_hashable(item) for item in key)
    hash(key)
    return type(key), key


def _binder(method: Callable[..., Any], parameters: Sequence[inspect.Parameter]) -> Callable[..., tuple[Any, ...]]:
    """A function with the signature of a method that gives the values of all parameters, self first."""
    positional = [p for p in parameters if p.kind is p.POSITIONAL_OR_KEYWORD]
    keywords = [p for p in parameters if p.kind is p.KEYWORD_ONLY]
    names = [["self", *[p.name for p in positional]], [p.name for p in keywords]]
    taken = [*names[0], *(["*"] if keywords else []), *names[1]]
    bound: Any = eval(f"lambda {', '.join(taken)}: ({', '.join(names[0] + names[1])},)")
    bound.__defaults__ = tuple(p.default for p in positional if p.default is not p.empty)
    bound.__kwdefaults__ = {p.name: p.default for p in keywords if p.default is not p.empty}
    bound.__name__, bound.__qualname__ = method.__name__, method.__qualname__
    return cast("Callable[..., tuple[Any, ...]]", bound)


def question_named(robot: Any, name: Any) -> Declared:
    """The question of a robot with that name, as it was declared; an error names what is asked for if there is none."""
    member = getattr(type(robot), name, None) if isinstance(name, str) else None
    found = getattr(member, "question", None) or getattr(getattr(member, "__wrapped__", None), "question", None)
    if isinstance(found, Declared):
        return found
    if member is not None:
        raise UnsupportedError(f"{name} is no question that machine code answers: expected one such as 'bias'")
    raise UnknownNameError.among("question", name, [n for n in dir(type(robot)) if not n.startswith("_")])


_declared: list[tuple[type, str, Declared]] = []
_installed = False


def install_later(owner: type, name: str, declared: Declared) -> None:
    """Have a question answered by machine code as soon as the first robot is made, which needs LLVM anyway."""
    _declared.append((owner, name, declared))
    if _installed:
        install()


def install() -> None:
    """Put the emitted call in front of every question declared so far."""
    global _installed
    from catena.kernels.call.emitted import emitted_question, question_table
    from catena.kernels.call.layout import python_api, why_python_answers

    first, _installed = not _installed, True
    if first and (why := why_python_answers()) is not None:
        warn(f"every call takes some microseconds more than it could, as Python answers it: {why}", SpeedWarning)
    while _declared and python_api() is not None:
        owner, name, declared = _declared.pop()
        found = question_table(
            owner, declared.general, declared.names, declared.roles, declared.defaults, declared.positional
        )
        if found is not None:
            declared.number, table = found
            setattr(owner, name, emitted_question(declared.general, table))
