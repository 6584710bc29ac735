"""Paths of operations: a trie whose states hold the facts of each recorded operation's results."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.numpy.calls import Call
from axiomjit.numpy.facts import Facts
from axiomjit.numpy.results import Result, Same, View
from axiomjit.numpy.statements import Statement

MOST_STATEMENTS: Final = 200
"""A segment is run when its path has this many operations."""
MOST_BYTES: Final = 2**24
"""A segment is run when it keeps leaves of more bytes that nobody else holds any more."""


MOST_STATES: Final = 20_000
"""States made before paths that are not used any more are forgotten."""
_count: Final = [0]


class Summary(Record):
    """Value numbers of a path: of new arrays and numbers; of views, the last first.

    `written` are those of arrays whose memory an operation writes into; `leaves` have the places
    of leaves among the arguments.
    """

    new: tuple[int, ...]
    views: tuple[int, ...]
    leaves: Mapping[int, int]
    written: frozenset[int]


class State:
    """A point of a path: everything recorded since the beginning of a segment.

    Attributes:
        parent: The state before; None for the root.
        statement: The last operation in Python; None for a leaf.
        results: The results of the last operation; of a leaf, its facts.
        container: The class of several results, for example tuple; None for one.
        is_quick: True if there is one result at most: `fresh`, the facts of a new array or
            number, `view`, or `same`, the number of an operand.
        old: Of the root, edges that are forgotten if they are not used soon.
        edges: The next states by the key of an operation, or by the facts of a leaf; `CUT` for an
            operation before which the segment is run.
        general: By the pattern of an operation with varying numbers: the state of its first
            numbers, then that for any.
        written: The value numbers of arrays whose memory the last operation writes into.
        numbers: The number of value numbers so far.
        bytes: The bytes of the leaves so far.
        arguments: The names of the arguments so far.
        line: The user's instruction at which the path began (`user_place`).
        where: The user's line of the last operation, `file:line`.
        programs: The programs by the value numbers that they return.
    """

    __slots__ = (
        *("_summary", "arguments", "bytes", "container", "depth", "edges", "fresh", "general"),
        *("is_quick", "line", "numbers", "old", "parent", "programs", "results"),
        *("same", "statement", "unrecorded", "view", "where", "words", "written"),
    )

    def __init__(self, parent: State | None) -> None:
        self.parent = parent
        _count[0] += 1
        self.edges: dict[Hashable, State] = {}
        self.old: dict[Hashable, State] = {}
        self.general: dict[Hashable, State] = {}
        self.unrecorded: set[Hashable] = set()
        self.words: tuple[str, ...] = ()
        self.programs: dict[tuple[int, ...], Any] = {}
        self.statement: Statement | None = None
        self.is_quick = False
        self.written: tuple[int, ...] = ()
        self.where = ""
        self.fresh: Facts | None = None
        self.view: View | None = None
        self.same: int | None = None
        self.results: tuple[Result, ...] = ()
        self.container: Any = None
        self._summary: Summary | None = None
        if parent is None:
            self.numbers = self.depth = self.bytes = 0
            self.arguments: tuple[str, ...] = ()
            self.line: object = None
        else:
            self.numbers, self.depth, self.bytes = parent.numbers, parent.depth, parent.bytes
            self.arguments, self.line = parent.arguments, parent.line

    def leaf(self, facts: Facts) -> State:
        """The state behind a new leaf, whose number is `numbers` of this state."""
        found = self.known(facts)
        if found is None:
            made = State(self)
            made.results = (facts,)
            made.arguments = (*self.arguments, f"v{self.numbers}")
            made.numbers = self.numbers + 1
            made.bytes += facts.nbytes
            found = self.edges.setdefault(facts, made)
        return found

    def known(self, key: Hashable) -> State | None:
        """The next state, if it is known; a path that was about to be forgotten is kept."""
        found = self.edges.get(key)
        if found is None and self.old:
            found = self.old.pop(key, None)
            if found is not None:
                self.edges[key] = found
        return found

    def made(self) -> range:
        """The value numbers of the last operation's new results."""
        return range(0 if self.parent is None else self.parent.numbers, self.numbers)

    def is_full(self) -> bool:
        """True if the segment is to be run before the next operation."""
        return self.depth >= MOST_STATEMENTS

    def path(self) -> Iterator[State]:
        """The states from behind the root up to this one."""
        states, state = [], self
        while state.parent is not None:
            states.append(state)
            state = state.parent
        return reversed(states)

    def then(
        self, call: Call, results: tuple[Result, ...], container: Any, words: Sequence[str] = ()
    ) -> State:
        """A new state behind this one, reached by a call with these results.

        Args:
            call: The call.
            results: What it gives.
            container: The class of the container of results; None for a single result.
            words: The names of the arguments in place of its varying numbers, if any number fits.
        """
        made = State(self)
        made.results, made.container, made.words = results, container, tuple(words)
        made.statement = call.statement(self.numbers, results, dict(enumerate(words)))
        made.arguments = (*self.arguments, *words)
        made.depth += 1
        made.where = user_location() or ""
        made.numbers += sum(isinstance(one, Facts | View) for one in results)
        if container is None:
            only = results[0]
            made.is_quick = not words
            made.fresh = only if isinstance(only, Facts) else None
            made.view = only if isinstance(only, View) else None
            made.same = only.number if isinstance(only, Same) else None
        made.written = call.written()
        if words:
            return made
        if call.varying():
            self.general.setdefault(call.pattern(), made)
        return self.edges.setdefault(call.key, made)

    def like(self, first: State, call: Call, words: Sequence[str]) -> State:
        """The state for any varying numbers of a call, with the results of the first call."""
        made = self.then(call, first.results, first.container, words)
        made.line = first.line
        if call.varies_simply():
            of, number = call.args[:2]
            self.edges[call.operation, call.number(of), type(number)] = made
        return made

    @property
    def summary(self) -> Summary:
        """The values of the whole path, collected once."""
        if self._summary is None:
            new, views, leaves, written, number = [], [], {}, set[int](), 0
            for state in self.path():
                if not state.statement:
                    leaves[number] = len(state.arguments) - 1
                written.update(state.written)
                for result in state.results:
                    if isinstance(result, Facts | View):
                        if isinstance(result, View):
                            views.append(number)
                        elif state.statement:
                            new.append(number)
                        number += 1
            self._summary = Summary(tuple(new), tuple(reversed(views)), leaves, frozenset(written))
        return self._summary


def forget_old_paths(root: State) -> None:
    """Forget the paths that were not used while `MOST_STATES` states were made."""
    if _count[0] > MOST_STATES:
        _count[0] = 0
        root.old, root.edges = root.edges, {}
        root.general.clear()


CUT: Final = State(None)
"""In place of a next state: the segment is run first."""
