"""Registers for a straight-line program, and its instructions for x86 with AVX and fused multiply-adds.

LLVM allocates registers for basic blocks of thousands of operations slowly and spills half again as many values as
necessary. Here the value that is needed latest leaves its register, as Belady's rule says, with a preference for
values that are in memory anyway: a store costs more than a load. Operands that are in memory are used from there.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from catena.kernels.codegen.emit import Writer
from catena.kernels.codegen.program import FUSED, StraightLine

NEVER = 1 << 60
SAVED = 2.0
"""How much further away the next use of a value that is in memory counts, when a register is to be vacated."""
SOON = 8
"""A value in memory that is used again within this many operations is loaded if a register is free."""
SLACK = 0.2
"""How much of its length a part may be shorter or longer."""

NEW_LINE = "\\0A"
PREDICATES = {"lt": 17, "le": 18, "eq": 0}
"""Comparisons as vcmp numbers them: those that hold for no NaN and complain of none."""
TO_NEAREST = 8
"""Rounding to the nearest integer, the even one of two, without complaints."""
UNARY = frozenset({"sqrt", "round"})
PACKED = frozenset({"andn", "blend"})
"""Operations that take whole registers even where one number is wanted, and must not read so much from memory."""
MULTIPLY_ADDS = frozenset(FUSED.values())
COMMUTATIVE = frozenset({"add", "mul"})


MASK = "%k1"
"""The mask register that comparisons go through."""


class Place(NamedTuple):
    """A value in memory: the number of the pointer that it is counted from, and how many values from there."""

    pointer: int
    at: int


@dataclass(frozen=True)
class Machine:
    """Registers that hold ``lanes`` numbers of ``size`` bytes; ``numbers`` is the pointer to the table of constants."""

    lanes: int
    size: int
    registers: int
    numbers: int = 1

    @property
    def broadcasts(self) -> bool:
        """Whether constants are spread over the lanes as they are read, so that the table holds one of each."""
        return self.lanes * self.size == 64

    @cached_property
    def names(self) -> list[str]:
        """The registers."""
        letter = {64: "z", 32: "y"}.get(self.lanes * self.size, "x")
        return [f"{letter}mm{i}" for i in range(self.registers)]

    @property
    def suffix(self) -> str:
        """What mnemonics end with."""
        return ("s" if self.lanes == 1 else "p") + ("d" if self.size == 8 else "s")

    def operand(self, place: Place) -> str:
        """An operand in memory."""
        if place.pointer == self.numbers and self.broadcasts:
            return f"{place.at * self.size}(${place.pointer}){{1to{self.lanes}}}"
        return f"{place.at * self.size * self.lanes}(${place.pointer})"

    def load(self, place: Place, register: int) -> str:
        """From memory to a register."""
        text = self.operand(place)
        if text.endswith("}"):
            return f"vbroadcast{'sd' if self.size == 8 else 'ss'} {text[: text.index('{')]}, %{self.names[register]}"
        return f"{self._move} {text}, %{self.names[register]}"

    def store(self, register: int, place: Place) -> str:
        """From a register to memory."""
        return f"{self._move} %{self.names[register]}, {self.operand(place)}"

    @property
    def masks(self) -> bool:
        """Whether comparisons leave their results in mask registers, as they do with the registers of AVX-512."""
        return self.registers > 16 or self.lanes * self.size == 64

    def operation(self, op: str, operands: Sequence[str], register: int) -> list[str]:
        """Instructions for an operation on operands in AT&T's order, the last one first."""
        result = f"%{self.names[register]}"
        texts = ", ".join([*operands, result])
        if op in UNARY and self.lanes == 1:
            texts = f"{operands[0]}, {result}, {result}"  # a scalar's upper neighbours come from a second operand
        if op == "round":
            return [f"{'vrndscale' if self.masks else 'vround'}{self.suffix} $${TO_NEAREST}, {texts}"]
        if op in PREDICATES:
            return self._comparison(f"vcmp{self.suffix} $${PREDICATES[op]}, {', '.join(operands)}", result)
        if op == "blend":
            return self._blend(operands, result)
        return [f"v{op}{self._packed if op in PACKED else self.suffix} {texts}"]

    def _comparison(self, text: str, result: str) -> list[str]:
        if not self.masks:
            return [f"{text}, {result}"]
        return [f"{text}, {MASK}", f"vpmovm2{self._word} {MASK}, {result}"]

    def _blend(self, operands: Sequence[str], result: str) -> list[str]:
        chosen, otherwise, mask = operands
        if not self.masks:
            return [f"vblendv{self._packed} {mask}, {chosen}, {otherwise}, {result}"]
        return [
            f"vpmov{self._word}2m {mask}, {MASK}",
            f"vblendm{self._packed} {chosen}, {otherwise}, {result}{{{MASK}}}",
        ]

    @property
    def _word(self) -> str:
        return "q" if self.size == 8 else "d"

    @property
    def _packed(self) -> str:
        return "pd" if self.size == 8 else "ps"

    @property
    def _move(self) -> str:
        return f"vmov{self.suffix}" if self.lanes == 1 else f"vmova{self.suffix}"


class Allocation:
    """Instructions for one stage of a program after another; memory and what is in it last from stage to stage.

    Args:
        program: what is to be computed.
        orders: the values of each stage, in the order in which to compute them.
        machine: the registers.
        memory: where leaves are.
        wanted: places that values are to be stored in.
        slots: how many values the memory behind pointer 0 holds that leaves and results live in; spilt values follow.
        part: about how many operations make a part; values cross from part to part in memory. 0 for one part.
    """

    def __init__(
        self,
        program: StraightLine,
        orders: Sequence[Sequence[int]],
        machine: Machine,
        memory: Mapping[int, Place],
        wanted: Mapping[int, Sequence[Place]],
        slots: int,
        part: int = 0,
    ) -> None:
        self.program, self.machine, self.wanted, self.slots, self.part = program, machine, wanted, slots, part
        self.memory = dict(memory)
        self.names = [f"%{name}" for name in machine.names]
        self.lines: list[str] = []
        self.now = -1
        self._uses = _Uses(program, orders)
        self._held: list[int | None] = [None] * machine.registers
        self._where: dict[int, int] = {}
        self._free: list[int] = []
        self._reusable = {v for v, p in self.memory.items() if p.pointer == 0 and v not in wanted}

    def run(self, order: Sequence[int], copies: Iterable[int] = ()) -> list[list[str]]:
        """The instructions of a stage, part by part; leaves among the wanted values are copied first."""
        parts, cuts = [], self._cuts(order)
        for v in copies:
            self._copy(v)
        for i, v in enumerate(order):
            if i in cuts:
                parts.append(self._finish())
            self.now += 1
            self._compute(v)
        return [*parts, self._finish()]

    def write(self, part: Sequence[str], w: Writer, pointers: Sequence[str]) -> None:
        """The instructions of a part, as inline assembly in a function."""
        changed = [*self.machine.names, *([MASK[1:]] if self.machine.masks else ()), "memory"]
        constraints = [*["r"] * len(pointers), *[f"~{{{name}}}" for name in changed]]
        arguments = ", ".join(f"ptr {pointer}" for pointer in pointers)
        w.put(f'call void asm sideeffect "{NEW_LINE.join(part)}", "{",".join(constraints)}"({arguments})')

    def _cuts(self, order: Sequence[int]) -> set[int]:
        """Where parts of about the wanted size end: where few values are alive."""
        count = max(1, round(len(order) / self.part)) if self.part else 1
        size = len(order) / count
        alive = [0] * (len(order) + 1)
        last = {a: i for i, v in enumerate(order) for a in self.program.args[v]}
        for i, v in enumerate(order):
            alive[i + 1] += 1
            alive[max(last.get(v, i), i) + 1] -= 1
        for i in range(len(order)):
            alive[i + 1] += alive[i]
        reach = int(SLACK * size)
        middles = [round(k * size) for k in range(1, count)]
        return {min(range(m - reach, m + reach + 1), key=lambda i: (alive[i], abs(i - m))) for m in middles}

    def _finish(self) -> list[str]:
        """End a part: what is still needed goes to memory."""
        for v in list(self._where):
            if v not in self.memory:
                self._spill(v)
            self._drop(v)
        lines, self.lines = self.lines, []
        return lines

    def _compute(self, v: int) -> None:
        """Emit the operation that makes v, store it where it is wanted, forget what is no longer needed."""
        op, args = self.program.ops[v] or "", self.program.args[v]
        operands = list(dict.fromkeys(args))
        direct = self._fetch(op, args, operands)
        dying = [a for a in operands if self._uses.after(a, self.now) == NEVER]
        if op in MULTIPLY_ADDS:
            register = self._multiply_add(op, args, direct, dying)
        else:
            register = self._plain(op, args, direct, dying)
        self._put(v, register)
        for a in dying:
            self._forget(a)
        for place in self.wanted.get(v, ()):
            self.lines.append(self.machine.store(register, place))
            self.memory.setdefault(v, place)
        if self._uses.after(v, self.now) == NEVER:
            self._forget(v)

    def _fetch(self, op: str, args: Sequence[int], operands: Sequence[int]) -> int | None:
        """Load the operands that are in memory, apart from one that the instruction can take from there itself."""
        missing = [a for a in operands if a not in self._where]
        anywhere = op in COMMUTATIVE or op in MULTIPLY_ADDS
        whole = op in PACKED and self.machine.lanes == 1
        possible = [a for a in missing if args.count(a) == 1 and (anywhere or a == args[-1]) and not whole]
        direct = max(possible, key=lambda a: self._uses.after(a, self.now), default=None)
        if direct is not None and None in self._held and self._uses.after(direct, self.now) <= self.now + SOON:
            direct = None
        for a in missing:
            if a != direct:
                self._load(a, operands)
        return direct

    def _plain(self, op: str, args: Sequence[int], direct: int | None, dying: Iterable[int]) -> int:
        """An operation that leaves its operands alone."""
        texts = [self._text(a, direct) for a in (args if op in COMMUTATIVE and args[0] == direct else reversed(args))]
        for a in dying:
            if a in self._where:
                self._drop(a)
        register = self._vacate(())
        self.lines += self.machine.operation(op, texts, register)
        return register

    def _multiply_add(self, op: str, args: Sequence[int], direct: int | None, dying: Iterable[int]) -> int:
        """x y + z, which replaces one of its operands: one that dies, else a copy."""
        x, y, z = args
        free = [a for a in dying if a in self._where and args.count(a) == 1]
        if free:
            victim = z if z in free else free[-1]
            register = self._where[victim]
            self._drop(victim)
        elif direct is not None:
            victim, register, direct = direct, self._vacate(args), None
            self.lines.append(self.machine.load(self.memory[victim], register))
        else:
            victim, register = z, self._vacate(args)
            self.lines.append(f"vmovap{self.machine.suffix[1]} {self._text(z)}, {self.names[register]}")
        if victim == z:
            form, second, third = "231", x, y
        else:
            form, second, third = "213", y if victim == x else x, z
        if second == direct:
            form, second, third = ("231" if victim == z else "132"), third, second
        texts = f"{self._text(third, direct)}, {self._text(second, direct)}, {self.names[register]}"
        self.lines.append(f"v{op}{form}{self.machine.suffix} {texts}")
        return register

    def _text(self, v: int, direct: int | None = None) -> str:
        return self.machine.operand(self.memory[v]) if v == direct else self.names[self._where[v]]

    def _copy(self, v: int) -> None:
        """Store a value that is in memory, or a leaf, where it is wanted."""
        register = self._where[v] if v in self._where else self._load(v, ())
        self.lines += [self.machine.store(register, place) for place in self.wanted[v]]
        if self._uses.after(v, self.now) == NEVER:
            self._drop(v)

    def _load(self, v: int, keep: Sequence[int]) -> int:
        register = self._vacate(keep)
        self.lines.append(self.machine.load(self.memory[v], register))
        self._put(v, register)
        return register

    def _vacate(self, keep: Sequence[int]) -> int:
        """A free register; if there is none, the value that is needed latest leaves its own."""
        if None in self._held:
            return self._held.index(None)
        now, after, memory = self.now, self._uses.after, self.memory
        best, distance = -1, -1.0
        for v in self._where:
            away = (after(v, now) - now) * (SAVED if v in memory else 1.0)
            if away > distance and v not in keep:
                best, distance = v, away
        if best not in memory:
            self._spill(best)
        register = self._where[best]
        self._drop(best)
        return register

    def _spill(self, v: int) -> None:
        if not self._free:
            self._free.append(self.slots)
            self.slots += 1
        self.memory[v] = Place(0, self._free.pop())
        self._reusable.add(v)
        self.lines.append(self.machine.store(self._where[v], self.memory[v]))

    def _put(self, v: int, register: int) -> None:
        self._where[v] = register
        self._held[register] = v

    def _drop(self, v: int) -> None:
        self._held[self._where.pop(v)] = None

    def _forget(self, v: int) -> None:
        """Give up the register and the memory of a value that nobody needs any more."""
        if v in self._where:
            self._drop(v)
        if v in self._reusable:
            self._reusable.remove(v)
            self._free.append(self.memory[v].at)


class _Uses:
    """When each value is used, counted over all stages."""

    def __init__(self, program: StraightLine, orders: Sequence[Sequence[int]]) -> None:
        self._times: dict[int, list[int]] = {}
        now = 0
        for order in orders:
            for v in order:
                for a in dict.fromkeys(program.args[v]):
                    self._times.setdefault(a, []).append(now)
                now += 1
        for times in self._times.values():
            times.reverse()

    def after(self, v: int, now: int) -> int:
        """The first use after a time that never decreases."""
        times = self._times.get(v)
        while times:
            if times[-1] > now:
                return times[-1]
            times.pop()
        return NEVER
