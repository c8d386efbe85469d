"""Robot: an immutable mechanism and every question a user asks of it."""

from __future__ import annotations

from typing import Any, NoReturn

from catena.errors import ModelError
from catena.model.tree import Tree


class Robot:
    """A tree of rigid links joined to a base: immutable, hashable, picklable, safe to share between threads.

    Made by `catena.load`, `catena.Builder`, `catena.planar_chain` and their like, or from a `Tree`. Two robots are
    equal when they have the same content.
    """

    def __init__(self, tree: Tree) -> None:
        if not isinstance(tree, Tree):
            raise ModelError(f"a Robot is made from a Tree, not from a {type(tree).__name__}; see Builder")
        self.__dict__["tree"] = tree

    tree: Tree

    @property
    def nq(self) -> int:
        """Length of a configuration q."""
        return self.tree.nq

    @property
    def nv(self) -> int:
        """Length of a velocity v: the degrees of freedom."""
        return self.tree.nv

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"a Robot cannot be changed (tried to set {name!r}); see with_gravity, locked")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"a Robot cannot be changed (tried to delete {name!r})")

    def __eq__(self, other: object) -> bool:
        return self.tree == other.tree if isinstance(other, Robot) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.tree)

    def __reduce__(self) -> tuple[type[Robot], tuple[Tree]]:
        """Only the tree is pickled: what was computed from it is computed again when wanted."""
        return type(self), (self.tree,)
