"""The source text of a segment that NumPy runs, with nested expressions for values read once.

`v2 = v0 * 2.0` and `v3 = v2 + v1` become `v3 = (v0 * 2.0) + v1`. So NumPy frees a value where the
user's program frees it, and may write a result into the memory of an operand. The order of the
operations is kept; operations whose values are not needed are left out.
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
"""The largest number of nested operations in a text, because Python's parser has a limit."""


class _Value(NamedTuple):
    """A value that is read once, by a later statement.

    Attributes:
        number: The value number of the value.
        text: The expression that computes the value.
        read: The value numbers of the names in the text.
        depth: The number of nested operations in the text.
        is_view: True if the value is a view.
    """

    number: int
    text: str
    read: frozenset[int]
    depth: int
    is_view: bool


class _Line(NamedTuple):
    """The text of a statement, and the value numbers of the names in the statement."""

    text: str
    named: frozenset[int]


def numpy_lines(path: Iterable[State], returned: Sequence[int]) -> list[str]:
    """The statements for NumPy; a `del` statement after the last use of a name deletes the name.

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
    """The operations that write, and the operations that returned values or writes depend on."""
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
    """The last waiting values that a statement reads in the order in which they were made.

    If the statement writes, it may write into a view, so a view is assigned to a name instead.
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
    """The result of an operation as a waiting value, with the texts of `inside` inserted."""
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
    """The texts of lines, with a `del` statement after the last use of each name."""
    found: list[str] = []
    seen = set(returned)
    for line in reversed(lines):
        if dead := sorted(line.named - seen):
            found.append(f"del {', '.join(f'v{k}' for k in dead)}")
        seen.update(line.named)
        found.append(line.text)
    return found[::-1]
