"""One depth-first walk over objects that refer to each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Path = tuple[object, ...]
Enter = Callable[[Path, Any], Iterable[tuple[object, object]]]


def reachable(
    roots: Iterable[object], enter: Enter, most: int | None = None, again: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield the roots and all objects reachable from them, each with its path, depth first.

    The search does not recurse, since chains of references may be deep, and ends on cycles.

    Args:
        roots: The objects to start from; the path of a root is its position.
        enter: Returns the outgoing steps of a value at a path, each with its target.
        most: The largest number of values to enter.
        again: True to enter a value on each path to it, not only on the first; then `enter` must
            break cycles.
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
