"""Paths of operations: a trie whose states know what each recorded operation gives."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.numpy.calls import Call
from axiomjit.numpy.facts import Facts
from axiomjit.numpy.results import Result, View

MOST_STATEMENTS: Final = 200
"""Operations of a path behind which the segment is run."""
MOST_BYTES: Final = 2**28
"""Bytes of a segment's leaves behind which it is run, so that dropped arrays are freed."""


class Summary(Record):
    """Value numbers of a path: of new arrays and numbers; of views, the last first.

    `written` are those of arrays whose memory an operation writes into.
    """

    new: tuple[int, ...]
    views: tuple[int, ...]
    written: frozenset[int]


class State:
    """A point of a path: everything recorded since the beginning of a segment.

    Attributes:
        parent: The state before; None for the root.
        statement: The Python statement of the last operation; empty for a leaf.
        results: The results of the last operation; of a leaf, its facts.
        container: The class of several results, for example tuple; None for one.
        fresh: The facts of the result where it is the only one, and a new array or number.
        edges: The next states by the key of an operation, or by the facts of a leaf.
        general: By the pattern of an operation with varying numbers: the state of its first
            numbers, then that for any.
        cuts: Keys of operations before which the segment is run.
        written: The value numbers of arrays whose memory the last operation writes into.
        numbers: The number of value numbers so far.
        arguments: The names of the arguments so far.
        line: The user's line at which the path began, as code object and line number.
        programs: The programs by the value numbers that they return.
    """

    __slots__ = (
        *("arguments", "bytes", "container", "cuts", "depth", "edges", "fresh"),
        *("general", "line", "numbers", "parent", "programs", "results", "statement"),
        *("_summary", "unrecorded", "words", "written"),
    )

    def __init__(self, parent: State | None) -> None:
        self.parent = parent
        self.edges: dict[Hashable, State] = {}
        self.general: dict[Hashable, State] = {}
        self.unrecorded: set[Hashable] = set()
        self.words: tuple[str, ...] = ()
        self.cuts: set[Hashable] = set()
        self.programs: dict[tuple[int, ...], Any] = {}
        self.statement, self.written, self.fresh = "", (), None
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
        found = self.edges.get(facts)
        if found is None:
            made = State(self)
            made.results = (facts,)
            made.arguments = (*self.arguments, f"v{self.numbers}")
            made.numbers = self.numbers + 1
            made.bytes += facts.nbytes
            found = self.edges.setdefault(facts, made)
        return found

    def is_full(self) -> bool:
        """True if the segment is to be run before the next operation."""
        return self.depth >= MOST_STATEMENTS or self.bytes > MOST_BYTES

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
            container: The class of several results; None for one.
            words: The names of the arguments in place of its varying numbers, if any number fits.
        """
        made = State(self)
        made.results, made.container, made.words = results, container, tuple(words)
        made.statement = call.statement(self.numbers, results, dict(enumerate(words)))
        made.arguments = (*self.arguments, *words)
        made.depth += 1
        made.numbers += sum(isinstance(one, Facts | View) for one in results)
        if len(results) == 1 and isinstance(results[0], Facts):
            made.fresh = results[0]
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
        return made

    @property
    def summary(self) -> Summary:
        """The values of the whole path, collected once."""
        if self._summary is None:
            new, views, written, number = [], [], set[int](), 0
            for state in self.path():
                written.update(state.written)
                for result in state.results:
                    if isinstance(result, Facts | View):
                        if isinstance(result, View):
                            views.append(number)
                        elif state.statement:
                            new.append(number)
                        number += 1
            self._summary = Summary(tuple(new), tuple(reversed(views)), frozenset(written))
        return self._summary
