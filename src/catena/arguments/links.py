"""Links and joints as callers give them: by name, by number, or as what `robot.links` and `robot.joints` hold."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from catena.errors import UnknownNameError, shown
from catena.model.tree import Tree
from catena.model.views import JointView, LinkView

LinkLike = str | int | np.integer[Any] | LinkView
"""A link: its name (or that of a frame or the base, where those will do), its number, or a LinkView."""

JointLike = str | int | np.integer[Any] | JointView
"""A joint: its name, its number, or a JointView."""


def link_name(tree: Tree, link: object) -> str:
    """The name of a link given in any of the ways; names are returned as they are."""
    if isinstance(link, str):
        return str.__str__(link)  # of class str, whatever class it was of
    if isinstance(link, JointView):
        raise UnknownNameError(f"{link!r} is a joint where a link was expected; the link it carries is {link.child!r}")
    return _name(tree, link, "link", LinkView, tree.link_names)


def link_names(tree: Tree, links: LinkLike | Iterable[LinkLike]) -> tuple[str, ...]:
    """The names of one link or of several."""
    if isinstance(links, Iterable) and not isinstance(links, str):
        try:
            several = tuple(links)
        except Exception:  # whatever somebody's own collection raises
            raise UnknownNameError(f"several links are given as a list, not as {shown(links)}") from None
        return tuple(link_name(tree, link) for link in several)
    return (link_name(tree, links),)


def one_or_several(tree: Tree, link: Any) -> str | tuple[str, ...]:
    """The name of a link, or the names of several that are given together."""
    several = isinstance(link, Iterable) and not isinstance(link, str)
    return link_names(tree, link) if several else link_name(tree, link)


def joint_name(tree: Tree, joint: object) -> str:
    """The name of a joint given in any of the ways; names are returned as they are."""
    if isinstance(joint, str):
        return str.__str__(joint)
    if isinstance(joint, LinkView):
        raise UnknownNameError(f"{joint!r} is a link where a joint was expected; its joint is {joint.joint.name!r}")
    return _name(tree, joint, "joint", JointView, tree.joint_names)


def _name(tree: Tree, given: object, what: str, view: type[LinkView | JointView], names: Sequence[str]) -> str:
    if isinstance(given, view):
        if not given.of(tree):
            raise UnknownNameError(
                f"{given!r} belongs to another robot than {tree.name!r}; give its name if the same {what} is meant"
            )
        return given.name
    if isinstance(given, int | np.integer) and not isinstance(given, bool):
        if not 0 <= given < tree.n:
            raise UnknownNameError(
                f"there is no {what} number {shown(given)}; {tree.name!r} has {what}s 0 to {tree.n - 1}"
                f"{f' on {tree.base_name!r}' if what == 'link' else ''}, the last is robot.{what}s[-1]"
            )
        return names[int(given)]
    raise UnknownNameError(
        f"a {what} is given by its name, its number or as one of robot.{what}s, not as {shown(given)}"
    )
