"""One walk over objects that refer to each other, with its roots and limits as arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

Path = tuple[object, ...]
Enter = Callable[[Path, Any], Iterable[tuple[object, object]]]


def reachable(
    roots: Iterable[object], enter: Enter, most: int | None = None, again: bool = False
) -> Iterator[tuple[Path, Any]]:
    """Yield roots and all that they refer to, each with its path, depth first.

    Iterative, since references may be deep, and without end where they go round.

    Args:
        roots: Where the walk begins; the path of a root is its number.
        enter: Gives the steps that lead on from a value at a path, each with what it leads to.
        most: How many values are entered at most.
        again: Whether a value is entered on each path to it, not on the first alone; then `enter`
            has to end what goes round.
    """
    waiting: list[tuple[Path, Any]] = []
    waiting += [((k,), root) for k, root in enumerate(roots)][::-1]
    entered: dict[int, object] = {}  # what is in it stays alive, and its number its own
    while waiting and (most is None or len(entered) < most):
        path, value = waiting.pop()
        yield path, value
        if again or id(value) not in entered:
            entered[id(value)] = value
            waiting += [((*path, step), part) for step, part in enter(path, value)][::-1]
