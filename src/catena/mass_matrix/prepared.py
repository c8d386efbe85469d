"""What the mass matrices of one robot, method, number type and kernel shape have in common."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from catena.arguments.dtypes import checked_dtype
from catena.arguments.scalars import a_robot
from catena.functions.function import Function
from catena.functions.store import Compiled, check_kernel_shape, chosen_shape
from catena.later import reading_files
from catena.mass_matrix.formulation import Formulation, formulation, of_one, with_parameters
from catena.parameters.adopting import check_method

if TYPE_CHECKING:
    from catena.robot import Robot


class Prepared(Compiled):
    """The formulation, and the tables of the emitted call; kernels are the robot's.

    `single` is the same for mass matrices of one configuration, where these are not as all others.
    """

    __slots__ = ("dtype", "formulation", "kernel_shape", "method", "q_shape", "single", "whole")

    def __init__(
        self, whole: Compiled, found: Formulation, method: str, dtype: np.dtype[Any], kernel_shape: str | None
    ) -> None:
        super().__init__(whole.tree)
        self.whole, self.formulation, self.method = whole, found, method
        self.dtype, self.kernel_shape, self.q_shape = dtype, kernel_shape, (whole.tree.nq,)
        self.single: Prepared | None = None

    def kernel(
        self,
        function: Function,
        present: tuple[str, ...] = (),
        dtype: Any = np.float64,
        kernel_shape: str | None = None,
    ) -> Any:
        """The machine code of a function, compiled at most once for the robot."""
        return self.whole.kernel(function, present, dtype, kernel_shape)

    def part(self, name: str) -> Prepared:
        """The same for one of the factors, with tables of its own."""
        common = self.whole, self.formulation, self.method, self.dtype, self.kernel_shape
        return self.once(("part", name), lambda: Prepared(*common))


def prepared(robot: Robot, method: Any, dtype: Any, kernel_shape: Any, adopts: bool = False) -> Prepared:
    """What is made once for these options; UnsupportedError for options that there are not.

    With `adopts`, the mass matrix has parameters of its own in place of the model's.
    """
    a_robot("mass_matrix", robot, closed=True)
    found = checked_dtype("mass_matrix", dtype)
    method, kernel_shape = (str.__str__(word) if isinstance(word, str) else word for word in (method, kernel_shape))
    check_kernel_shape(kernel_shape)
    with reading_files("mass_matrix"):
        if adopts:
            check_method(method)
        form = formulation(robot, method)
    compiled = robot._compiled
    chosen = with_parameters(form) if adopts else form

    def made_once() -> Prepared:
        common = Prepared(compiled, chosen, method, found, kernel_shape)
        if chosen_shape(compiled.tree, chosen.solve, kernel_shape) == "rolled":
            common.single = Prepared(compiled, of_one(chosen), method, found, kernel_shape)
        return common

    made = compiled.once(("mass_matrix", method, found, kernel_shape, adopts), made_once)
    with suppress(Exception):  # whatever an object's own hash raises
        compiled.parts[method, dtype, kernel_shape, adopts] = made
    return made
