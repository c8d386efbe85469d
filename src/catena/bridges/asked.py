"""From the name of a question to the map that answers it: what all bridges do with what they are given."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.arrays import Port, Signature, as_floats
from catena.arguments.scalars import a_robot
from catena.bridges.maps import Map
from catena.bridges.samples import common
from catena.errors import UnknownNameError, UnsupportedError, kind_of
from catena.functions.question import as_returned, question_named
from catena.functions.store import check_kernel_shape
from catena.kernels.call.words import Role
from catena.later import optional, reading_files

if TYPE_CHECKING:
    from catena.robot import Robot

_ARRAYS = (Role.ARRAY, Role.MAPPING_OR_ARRAY, Role.WORD_OR_ARRAY)


def needed(package: str, what: str, extra: str = "") -> Any:
    """The optional package of that name; UnsupportedError with the command that installs it if it is missing."""
    name = extra or package
    return optional(package, name, f"catena.{name} needs {what}")


class Asked:
    """A question of a robot with options: the maps that answer it, by the arrays that a call gives.

    Args:
        robot: the robot.
        question: the name of one of its questions, such as "forward_dynamics".
        options: options of that question, without `out` and `dtype`.
    """

    def __init__(self, robot: Robot, question: str, options: Mapping[str, Any]) -> None:
        self.robot: Robot = a_robot("function", robot, closed=True)
        self.question = question
        self._declared = question_named(robot, question)
        declared = self._declared
        roles = dict(zip(declared.names, declared.roles, strict=True))
        self._defaults = dict(zip(declared.names, declared.defaults, strict=True))
        self.names = tuple(name for name, role in roles.items() if role in _ARRAYS)
        """The arrays that a call may give, in order."""
        self._options = {n: self._defaults[n] for n, role in roles.items() if role is Role.OPTION and n != "dtype"}
        for name, value in options.items():
            self._check_option(name)
            self._options[name] = value
        check_kernel_shape(self._options.get("kernel"))
        self._maps: dict[tuple[str, ...], Map] = {}
        self._wrapper = declared.wrapper_of()

    @property
    def required(self) -> tuple[str, ...]:
        """The arrays that every call gives."""
        return tuple(name for name in self.names if self._defaults[name] is not None)

    def arrays(self, names: Sequence[str] | None) -> tuple[str, ...]:
        """The names of the arrays that calls give, in order: those named, which must be enough; None: no optional ones.

        UnsupportedError if some are missing, UnknownNameError if there is no such array.
        """
        named = self.required if names is None else (names,) if isinstance(names, str) else tuple(names)
        for name in named:
            if name not in self.names:
                raise UnknownNameError.among(f"array of {self.question}", name, self.names)
        if missing := [name for name in self.required if name not in named]:
            raise UnsupportedError(f"{self.question}: {', '.join(missing)} must be among the arrays, got {named}")
        return tuple(name for name in self.names if name in named)

    def given(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arrays of a call by name, in order; those that are None are left out."""
        if len(args) > len(self.names):
            raise TypeError(
                f"{self.question} takes {len(self.names)} arrays ({', '.join(self.names)}), not {len(args)}"
            )
        found = dict(zip(self.names, args, strict=False))
        for name, value in kwargs.items():
            if name not in self.names:
                known = ", ".join(self.names)
                raise TypeError(f"{self.question} has no array {name!r}, but {known}; give options to function(...)")
            if name in found:
                raise TypeError(f"{self.question} got {name} twice")
            found[name] = value
        for name in self.required:
            if found.get(name) is None:
                raise TypeError(f"{self.question}: {name} is missing")
        for name, value in found.items():
            if isinstance(value, Mapping | str):
                raise UnsupportedError(f"{self.question}: {name} must be an array here, got {kind_of(value)}")
        return {name: found[name] for name in self.names if found.get(name) is not None}

    def taken(self, name: str, value: Any, convert: Callable[[Any], Any]) -> Any:
        """What a package's own `convert` makes of an array, by way of NumPy where it cannot; ShapeError by its name."""
        try:
            return convert(value)
        except Exception:  # each package has its own, and its own reasons: byte orders, strides, kinds of objects
            array = as_floats(value, f"{self.question}: {name}")
            narrow = np.asarray(value).dtype.itemsize < array.itemsize
            return convert(np.array(array, np.float32 if narrow else np.float64, order="C"))

    def map(self, given: tuple[str, ...]) -> Map:
        """The map for calls that give these arrays, the same whenever the same is asked of the robot."""
        if given not in self._maps:
            with reading_files(self.question):
                self._maps[given] = self._made(given)
        return self._maps[given]

    def leading(self, given: Sequence[str], shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
        """The common leading dimensions of arrays with these shapes; ShapeError if some array does not fit."""
        of = self.map(tuple(given))
        if (found := common(shapes, of.samples)) is not None:
            return found
        ports = tuple(Port(name, port.shape) for name, port in zip(given, of.inputs, strict=True))
        dummies = [np.broadcast_to(np.zeros(()), shape) for shape in shapes]
        return Signature(self.question, ports, of.outputs, np.dtype(np.float64)).arguments(dummies)[1]

    def results(self, found: Sequence[Any]) -> Any:
        """The results as the question gives them."""
        return as_returned(found, self._wrapper)

    def _made(self, given: tuple[str, ...]) -> Map:
        options = {name: value for name, value in self._options.items() if name != "kernel"}
        function = self._declared.chosen(self.robot, given, options)
        if function.shared:
            shared = ", ".join(function.shared)
            raise UnsupportedError(f"{self.question} takes {shared} once for all samples, which no bridge does")
        store, shape = self.robot._compiled, self._options.get("kernel")
        names = tuple(function.given(given))
        inverted = self._declared.inverts
        present = tuple(name for name in function.optional if name in names)
        key = "map", store.name_of(function, present, shape), names, shape
        return store.once(key, lambda: Map(store, function, names, shape, inverted))

    def _check_option(self, name: str) -> None:
        if name in self._options:
            return
        if name in ("dtype", "out"):
            why = {"dtype": "arrays are computed with in their own dtype", "out": "results are new arrays"}[name]
            raise UnsupportedError(f"{self.question} has no option {name!r} here: {why}")
        raise UnknownNameError.among(f"option of {self.question}", name, self._options)
