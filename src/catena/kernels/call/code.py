"""Functions in LLVM's text, written with loops and conditions instead of labels.

Variables live on the stack until LLVM's passes move them to registers. ``i64`` is the type of integers, ``ptr`` that of
addresses. A *word* is eight bytes.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

ATTRIBUTES = '"no-builtins" "no-stack-arg-probe" nounwind'


class Variable:
    """A variable of a function."""

    def __init__(self, code: Code, kind: str, start: str) -> None:
        self._code, self._kind = code, kind
        self._place = code.room(kind)
        self.set(start)

    def get(self) -> str:
        """The value now."""
        return self._code.new(f"load {self._kind}, ptr {self._place}")

    def set(self, value: str) -> None:
        """Give it another value."""
        self._code.put(f"store {self._kind} {value}, ptr {self._place}")


class Code:
    """The body of one function."""

    def __init__(self, head: str) -> None:
        self._head = head
        self._rooms: list[str] = []
        self._lines: list[str] = []
        self._count, self._open = 0, True

    def __str__(self) -> str:
        rooms, body = "\n".join(self._rooms), "\n".join(self._lines)
        return f"define dso_local {self._head} {ATTRIBUTES} {{\nentry:\n{rooms}\n{body}\n}}\n"

    def put(self, line: str) -> None:
        """A line that defines nothing."""
        if self._open:
            self._lines.append(f"  {line}")

    def new(self, text: str) -> str:
        """A new value, defined by the right-hand side of an assignment."""
        self._count += 1
        self.put(f"%v{self._count} = {text}")
        return f"%v{self._count}"

    def room(self, kind: str, count: int = 1) -> str:
        """Memory on the stack, for the whole call."""
        self._count += 1
        self._rooms.append(f"  %v{self._count} = alloca [{count} x {kind}]")
        return f"%v{self._count}"

    def variable(self, kind: str, start: str) -> Variable:
        """A new variable."""
        return Variable(self, kind, start)

    def at(self, base: str, index: int | str, kind: str = "i64") -> str:
        """The address of an element of an array."""
        return self.new(f"getelementptr {kind}, ptr {base}, i64 {index}")

    def word(self, base: str, index: int | str, kind: str = "i64") -> str:
        """A word of a table: an integer, or with ``kind="ptr"`` an address."""
        return self.new(f"load {kind}, ptr {self.at(base, index)}")

    def set_word(self, base: str, index: int | str, value: str, kind: str = "i64") -> None:
        """Store a word in a table."""
        self.put(f"store {kind} {value}, ptr {self.at(base, index)}")

    def member(self, base: str, offset: int, kind: str = "ptr") -> str:
        """What is so many bytes behind an address."""
        return self.new(f"load {kind}, ptr {self.at(base, offset, 'i8')}")

    def call(self, function: str, *arguments: str, gives: str = "ptr") -> str:
        """Call a function with arguments such as ``"ptr %x"``, and get its result."""
        text = f"call {gives} {function}({', '.join(arguments)})"
        if gives != "void":
            return self.new(text)
        self.put(text)
        return ""

    def compare(self, how: str, x: str, y: str, kind: str = "i64") -> str:
        """A comparison: ``how`` is "eq", "ne", "slt", "ule" and so on."""
        return self.new(f"icmp {how} {kind} {x}, {y}")

    def same(self, x: str, y: str) -> str:
        """Whether two addresses are the same."""
        return self.compare("eq", x, y, "ptr")

    def both(self, x: str, y: str) -> str:
        """Whether both are true."""
        return self.new(f"and i1 {x}, {y}")

    def either(self, x: str, y: str) -> str:
        """Whether one of them is true."""
        return self.new(f"or i1 {x}, {y}")

    def negated(self, x: str) -> str:
        """Whether it is false."""
        return self.new(f"xor i1 {x}, true")

    def choice(self, condition: str, x: str, y: str, kind: str = "i64") -> str:
        """x if the condition holds, otherwise y."""
        return self.new(f"select i1 {condition}, {kind} {x}, {kind} {y}")

    def sum(self, x: str, y: int | str) -> str:
        """x + y."""
        return self.new(f"add i64 {x}, {y}")

    def difference(self, x: str, y: int | str) -> str:
        """x - y."""
        return self.new(f"sub i64 {x}, {y}")

    def product(self, x: str, y: int | str) -> str:
        """x y."""
        return self.new(f"mul i64 {x}, {y}")

    def label(self, name: str) -> None:
        """A place that can be gone to; what comes before it goes on here."""
        if self._open:
            self.put(f"br label %{name}")
        self._open = True
        self._lines.append(f"{name}:")

    def go(self, name: str) -> None:
        """Go to a label."""
        self.put(f"br label %{name}")
        self._open = False

    def give(self, value: str, kind: str = "ptr") -> None:
        """Return a value."""
        self.put(f"ret {kind} {value}" if kind != "void" else "ret void")
        self._open = False

    def go_unless(self, condition: str, name: str) -> None:
        """Go to a label if a condition does not hold."""
        following = self._fresh("on")
        self.put(f"br i1 {condition}, label %{following}, label %{name}")
        self._open = False
        self.label(following)

    @contextmanager
    def when(self, condition: str) -> Iterator[None]:
        """What follows is done only if the condition holds."""
        inside, after = self._fresh("then"), self._fresh("after")
        self.put(f"br i1 {condition}, label %{inside}, label %{after}")
        self._open = False
        self.label(inside)
        yield
        self.label(after)

    @contextmanager
    def count(self, stop: str, again: str | None = None) -> Iterator[str]:
        """What follows is done for i = 0, 1, … below ``stop``; going to the label ``again`` goes on with the next i."""
        test, inside, after = (self._fresh(name) for name in ("test", "body", "done"))
        i = self.variable("i64", "0")
        self.label(test)
        now = i.get()
        self.put(f"br i1 {self.compare('slt', now, stop)}, label %{inside}, label %{after}")
        self._open = False
        self.label(inside)
        yield now
        self.label(again or self._fresh("again"))
        i.set(self.sum(now, 1))
        self.go(test)
        self.label(after)

    def _fresh(self, name: str) -> str:
        self._count += 1
        return f"{name}{self._count}"
