"""A depth-first walk over objects and the objects to which they refer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Path = tuple[object, ...]
Enter = Callable[[Path, Any], Iterable[tuple[object, object]]]


def reachable(
    roots: Iterable[object], enter: Enter, most: int | None = None, again: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield the roots and all objects reachable from them, each with its path, depth first.

    The search is not recursive, since chains of references may be deep, and it ends on cycles.

    Args:
        roots: The objects to start from; the path of a root is its position.
        enter: Returns the references of a value at a path, each as a step of a path and the object
            there.
        most: The largest number of values to enter.
        again: True to enter a value once for each path to it; then `enter` must break cycles.
    """
    waiting: list[tuple[Path, Any]] = []
    waiting += [((k,), root) for k, root in enumerate(roots)][::-1]
    entered: dict[int, object] = {}  # held, so that no id is reused
    while waiting and (most is None or len(entered) < most):
        path, value = waiting.pop()
        yield path, value
        if again or id(value) not in entered:
            entered[id(value)] = value
            waiting += [((*path, step), part) for step, part in enter(path, value)][::-1]
