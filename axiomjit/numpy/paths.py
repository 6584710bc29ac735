"""Paths of operations: a trie of states, which hold the facts of recorded results."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.numpy.calls import Call
from axiomjit.numpy.facts import Facts
from axiomjit.numpy.results import Result, Same, View
from axiomjit.numpy.statements import Statement

MAX_STATEMENTS: Final = 200
"""The largest number of operations of a segment, which is run when it has this number."""
MAX_BYTES: Final = 2**24
"""The largest number of bytes of a segment's leaves that nothing else holds; a segment with more
bytes is run.
"""


MAX_STATES: Final = 20_000
"""The number of new states after which unused paths are forgotten."""
_count: Final = [0]


class Summary(Record):
    """The value numbers of a path: `new` for new arrays and numbers, `views` for views, last first.

    `written` has the value numbers of arrays whose memory an operation writes. `leaves` has the
    positions of leaves among the arguments.
    """

    new: tuple[int, ...]
    views: tuple[int, ...]
    leaves: Mapping[int, int]
    written: frozenset[int]


class State:
    """A point of a path: it represents all operations recorded since the start of a segment.

    Attributes:
        parent: The previous state; None for the root.
        statement: The last operation in Python; None for a leaf.
        results: The results of the last operation; for a leaf, its facts.
        container: The class of the container of results, such as tuple; None for a single result.
        is_quick: True if there is at most one result. A result is `fresh`, with the facts of a new
            array or number, or a `view`, or `same`, with the number of an operand.
        old: The edges of the root that are forgotten if they are not used soon.
        edges: The next states, by the key of an operation or the facts of a leaf. A next state is
            `CUT` if the segment is run before the operation.
        general: For the pattern of an operation with varying numbers, first the state for its first
            numbers, and later the state for any numbers.
        written: The value numbers of the arrays whose memory the last operation writes.
        numbers: The number of value numbers so far.
        bytes: The bytes of the leaves so far.
        arguments: The names of the arguments so far.
        line: The user's instruction at which the path started (`user_place`).
        gathers: True if the last operation reads an array at positions.
        where: The user's line of the last operation, as `file:line`.
        programs: The programs, by the value numbers that they return.
    """

    __slots__ = (
        *("_summary", "arguments", "bytes", "container", "depth", "edges", "fresh", "gathers"),
        *("general", "is_quick", "line", "numbers", "old", "parent", "programs", "results"),
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
        self.is_quick = self.gathers = False
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
        """The state after a new leaf; the leaf's number is the count `numbers` of this state."""
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
        """The next state for a key, if there is one; a path that is used again is not forgotten."""
        found = self.edges.get(key)
        if found is None and self.old:
            found = self.old.pop(key, None)
            if found is not None:
                self.edges[key] = found
        return found

    def made(self) -> range:
        """The value numbers of the new results of the last operation."""
        return range(0 if self.parent is None else self.parent.numbers, self.numbers)

    def is_full(self) -> bool:
        """True if the segment must run before the next operation."""
        return self.depth >= MAX_STATEMENTS

    def path(self) -> Iterator[State]:
        """The states from the first one after the root to this one."""
        states, state = [], self
        while state.parent is not None:
            states.append(state)
            state = state.parent
        return reversed(states)

    def then(
        self, call: Call, results: tuple[Result, ...], container: Any, words: Sequence[str] = ()
    ) -> State:
        """A new state after this one, which a call with these results reaches.

        Args:
            call: The recorded call of an operation.
            results: The results of the call.
            container: The class of the container of results; None for a single result.
            words: The names of the arguments that replace varying numbers, if the state is for any
                numbers.
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
        made.written, made.gathers = call.written(), call.gathers()
        if words:
            return made
        if call.varying():
            self.general.setdefault(call.pattern(), made)
        return self.edges.setdefault(call.key, made)

    def like(self, first: State, call: Call, words: Sequence[str]) -> State:
        """The state for all varying numbers of a call, with the results of the first call."""
        made = self.then(call, first.results, first.container, words)
        made.line = first.line
        if call.varies_simply():
            of, number = call.args[:2]
            self.edges[call.operation, call.number(of), type(number)] = made
        return made

    @property
    def summary(self) -> Summary:
        """The value numbers of the entire path, collected once."""
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
    """Forget the paths that were not used while the last `MAX_STATES` states were made."""
    if _count[0] > MAX_STATES:
        _count[0] = 0
        root.old, root.edges = root.edges, {}
        root.general.clear()


CUT: Final = State(None)
"""The next state for an operation before which the segment must run."""
