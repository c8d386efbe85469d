"""Loops in LLVM's text."""

from __future__ import annotations

from catena.kernels.codegen.emit import Lanes, Writer


class Counted:
    """A loop over i from ``start`` up to ``stop``, perhaps for no i at all; the lines until `close` are its body."""

    def __init__(self, w: Writer, name: str, stop: str, start: str = "0", step: int = 1) -> None:
        self.w, self.name, self.step, self.i = w, name, step, f"%{name}.i"
        w.put(f"br label %{name}.before")
        w.label(f"{name}.before")
        w.put(f"br label %{name}.test")
        w.label(f"{name}.test")
        w.put(f"{self.i} = phi i64 [{start}, %{name}.before], [%{name}.next, %{name}.again]")
        w.put(f"%{name}.more = icmp slt i64 {self.i}, {stop}")
        w.put(f"br i1 %{name}.more, label %{name}.body, label %{name}.done")
        w.label(f"{name}.body")

    def close(self) -> None:
        """Go round again, or on."""
        self.w.put(f"br label %{self.name}.again")
        self.w.label(f"{self.name}.again")
        self.w.put(f"%{self.name}.next = add i64 {self.i}, {self.step}")
        self.w.put(f"br label %{self.name}.test")
        self.w.label(f"{self.name}.done")


def copy(w: Writer, name: str, lanes: Lanes, source: str, target: str, width: int | str) -> None:
    """Numbers from one place to another."""
    loop = Counted(w, name, str(width))
    places = [w.new(f"getelementptr {lanes.scalar}, ptr {base}, i64 {loop.i}") for base in (source, target)]
    w.put(f"store {lanes.scalar} {w.new(f'load {lanes.scalar}, ptr {places[0]}')}, ptr {places[1]}")
    loop.close()
