"""The text of a segment that NumPy runs: values that are read once stand inside their readers.

`v2 = v0 * 2.0` and `v3 = v2 + v1` become `v3 = (v0 * 2.0) + v1`, so that NumPy frees a value where
the user's program does, and writes the sum into the memory of the product. All operations keep
their order; those of which nobody has the values any more are left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from axiomjit.numpy.facts import Facts
from axiomjit.numpy.paths import State
from axiomjit.numpy.results import View
from axiomjit.numpy.statements import Statement

MOST_NESTED: Final = 20
"""Operations inside each other; Python's parser has a limit."""


class _Value(NamedTuple):
    """A value whose only reader is still to come.

    Attributes:
        number: Its value number.
        text: What computes it.
        read: The value numbers of the names in the text.
        depth: The operations inside each other in the text.
        is_view: True for a view.
    """

    number: int
    text: str
    read: frozenset[int]
    depth: int
    is_view: bool


class _Line(NamedTuple):
    """A statement, and the value numbers of its names."""

    text: str
    named: frozenset[int]


def numpy_lines(path: Iterable[State], returned: Sequence[int]) -> list[str]:
    """The statements for NumPy; each name is deleted behind its last use.

    Args:
        path: The states of a path.
        returned: The value numbers that the segment returns.
    """
    operations = _needed([(one, one.statement) for one in path if one.statement], returned)
    uses = Counter(k for _, statement in operations for k in statement.read)
    kept = {*returned, *(k for one, _ in operations for k in one.written)}
    waiting: list[_Value] = []
    lines: list[_Line] = []
    for one, statement in operations:
        inside = _inside(waiting, statement, bool(one.written))
        rest = waiting[: len(waiting) - len(inside)]
        made = _composed(one, statement, inside)
        is_read_once = _is_one_value(one) and uses[made.number] == 1 and made.number not in kept
        if is_read_once and made.depth < MOST_NESTED:
            waiting = [*rest, made]
        else:
            lines += map(_line, rest)
            lines.append(_Line(statement.text(made.text), made.read.union(one.made())))
            waiting = []
    return _with_deletions([*lines, *map(_line, waiting)], returned)


def _needed(
    operations: Sequence[tuple[State, Statement]], returned: Iterable[int]
) -> list[tuple[State, Statement]]:
    """The operations that write, or whose values are returned or read by others that are needed."""
    needed = set(returned)
    found: list[tuple[State, Statement]] = []
    for one, statement in reversed(operations):
        if one.written or not needed.isdisjoint(one.made()):
            needed.update(statement.read)
            found.append((one, statement))
    return found[::-1]


def _line(value: _Value) -> _Line:
    return _Line(f"v{value.number} = {value.text}", value.read | {value.number})


def _is_one_value(state: State) -> bool:
    """True if an operation gives one new array or number, or one view."""
    return state.container is None and isinstance(state.results[0], Facts | View)


def _inside(waiting: Sequence[_Value], statement: Statement, writes: bool) -> Sequence[_Value]:
    """The last values that wait and that a statement reads in the order in which they were made.

    One that writes may have a view as its target, which stays a name.
    """
    read = list(statement.read)
    count = 0
    for value in reversed(waiting):
        if value.number not in read or (writes and value.is_view):
            break
        read = read[: read.index(value.number)]
        count += 1
    return waiting[len(waiting) - count :]


def _composed(state: State, statement: Statement, inside: Sequence[_Value]) -> _Value:
    """What an operation gives, with the text of some operands in place of their names."""
    texts = {value.number: f"({value.text})" for value in inside}
    read = frozenset(k for k in statement.read if k not in texts)
    return _Value(
        state.numbers - 1,
        statement.called(texts),
        read.union(*(value.read for value in inside)),
        max((value.depth for value in inside), default=0) + 1,
        isinstance(state.results[0], View),
    )


def _with_deletions(lines: Sequence[_Line], returned: Iterable[int]) -> list[str]:
    """The texts of lines; each name is deleted behind its last use, as NumPy frees arrays."""
    found: list[str] = []
    seen = set(returned)
    for line in reversed(lines):
        if dead := sorted(line.named - seen):
            found.append(f"del {', '.join(f'v{k}' for k in dead)}")
        seen.update(line.named)
        found.append(line.text)
    return found[::-1]
