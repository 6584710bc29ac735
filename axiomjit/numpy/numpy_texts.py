"""The text of a segment that NumPy runs: values that are read once stand inside their readers.

`v2 = v0 * 2.0` and `v3 = v2 + v1` become `v3 = (v0 * 2.0) + v1`, so that NumPy frees a value where
the user's program does, and writes the sum into the memory of the product. All operations keep
their order.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from axiomjit.numpy.paths import State
from axiomjit.numpy.results import View

MOST_NESTED: Final = 20
"""Operations inside each other; Python's parser has a limit."""
_NAME: Final = re.compile(r"\bv\d+\b")


class _Waiting(NamedTuple):
    """A value whose only reader is still to come, and how deep its text is nested."""

    name: str
    text: str
    depth: int
    is_view: bool


def numpy_lines(statements: Sequence[State], returned: Sequence[int]) -> list[str]:
    """The statements for NumPy; each name is deleted behind its last use.

    Args:
        statements: The states of a path that are operations.
        returned: The value numbers that the segment returns.
    """
    uses = Counter(name for one in statements for name in _NAME.findall(one.statement))
    kept = set(_names(returned)).union(*(_names(one.written) for one in statements))
    waiting: list[_Waiting] = []
    lines: list[str] = []
    for one in statements:
        name, called = _result(one)
        inside = _inside(waiting, called, bool(one.written))
        rest = waiting[: len(waiting) - len(inside)]
        texts = {value.name: f"({value.text})" for value in inside}
        called = _NAME.sub(lambda found, texts=texts: texts.get(found[0], found[0]), called)
        depth = max((value.depth for value in inside), default=0) + 1
        if name and uses[name] == 2 and name not in kept and depth < MOST_NESTED:
            waiting = [*rest, _Waiting(name, called, depth, isinstance(one.results[0], View))]
        else:
            lines += [f"{value.name} = {value.text}" for value in rest]
            lines.append(f"{name} = {called}" if name else called)
            waiting = []
    lines += [f"{value.name} = {value.text}" for value in waiting]
    return _with_deletions(lines, set(_names(returned)))


def _names(numbers: Iterable[int]) -> list[str]:
    return [f"v{k}" for k in numbers]


def _result(state: State) -> tuple[str, str]:
    """The name of the only result of a statement, and what it is; no name for other statements."""
    names = _names(state.made())
    start = f"{names[0]} = " if len(names) == 1 else ""
    if start and state.statement.startswith(start):
        return names[0], state.statement.removeprefix(start)
    return "", state.statement


def _inside(waiting: Sequence[_Waiting], text: str, writes: bool) -> Sequence[_Waiting]:
    """The last values that wait and that a text reads in the order in which they were made.

    A text that writes may have a view as its target, which stays a name.
    """
    read = _NAME.findall(text)
    count = 0
    for value in reversed(waiting):
        if value.name not in read or (writes and value.is_view):
            break
        read = read[: read.index(value.name)]
        count += 1
    return waiting[len(waiting) - count :]


def _with_deletions(lines: Sequence[str], returned: set[str]) -> list[str]:
    """The lines with each name deleted behind its last use, as NumPy frees arrays."""
    found: list[str] = []
    seen = set(returned)
    for line in reversed(lines):
        names = dict.fromkeys(_NAME.findall(line))
        dead = [name for name in names if name not in seen]
        if dead:
            found.append(f"del {', '.join(dead)}")
        seen.update(names)
        found.append(line)
    return found[::-1]
