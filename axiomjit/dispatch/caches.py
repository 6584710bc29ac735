"""What was prepared for calls: programs by signature, plans by exact layout, and how a plan is run.

A call meets them in this order: the native table of its function, plans by the exact layout of the
arguments, classes by their code (`signature.Classes`), programs by call guard.

The same tables serve compiled functions of arrays and of named arrays, and graphs. They have the
same limits, and what was prepared for an object that has died is dropped in the same way.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.locks import is_held_here
from axiomjit.base.records import Record
from axiomjit.base.tree import LEAF, OfArgument, Structure, unflatten_tree
from axiomjit.dispatch.arguments import mentions_dead, plain_arguments
from axiomjit.dispatch.fresh import Memo, Recipe
from axiomjit.graph.captured import Watch
from axiomjit.symbolic.dims import Dim, Symbol, evaluate

LAYOUTS: Final = 512
"""Exact layouts of arguments for which a ready plan is kept, per function or graph."""
CLASSES: Final = 256
"""Classes of arguments for which programs are kept, per function and for all graphs together."""

PROGRAMS: Final = 512
"""Programs that are kept for one class of arguments."""

Entry = TypeVar("Entry")


class Runnable(Protocol):
    """What runs for certain lengths."""

    def run(self, arguments: Sequence[Any], given: Sequence[object] | None = None) -> Sequence[Any]:
        """The results for these arguments; `given` are those before they were converted."""


class CompiledCall(Record):
    """What runs for one exact layout of arguments, and how its results are put together.

    `plain`: arguments are passed on without conversion. `held`: arrays that follow them, the
    constants of a graph. `watch`: the captured arrays, None if there are none. `leaves`: for each
    leaf of the return value the number of a result and its conversion, or None and a value or its
    recipe. `writes`: positions of arguments that the run changes. `speculative`: the run may find
    that a guess was wrong; arguments in `early` and `generators` are then rolled back. `fails`: the
    run may raise, beside writes and draws, an error that NumPy raises after others.
    """

    runnable: Runnable
    plain: bool
    held: tuple[np.ndarray, ...] = ()
    watch: Watch | None = None
    structure: Structure = LEAF
    leaves: tuple[tuple[int | None, object], ...] = ((0, None),)
    writes: tuple[int, ...] = ()
    speculative: bool = False
    early: tuple[int, ...] = ()
    generators: tuple[object, ...] = ()
    fails: bool = False

    @property
    def is_guarded(self) -> bool:
        """Whether a call needs no more than guards: nothing that it changes has to be put back."""
        return not (self.generators or self.early)

    @property
    def is_simple(self) -> bool:
        """Whether nothing is to be done but to run it."""
        return not (self.writes or self.generators or self.speculative)

    def holds(self) -> bool:
        """Whether the arrays that the program reads from outside are those of before."""
        return self.watch is None or self.watch.holds()

    def prepared(
        self, arguments: Sequence[object], names: Sequence[str] | None = None
    ) -> Sequence[object]:
        """The arguments of a call of this layout, as the program takes them."""
        return arguments if self.plain else plain_arguments(arguments, names)


class Table(BoundedTable[object, Entry]):
    """Entries by key, which go when an object dies that the key refers to."""

    def __init__(self, limit: int) -> None:
        """Start empty."""
        super().__init__(limit)
        self._died = False

    def keep(self, key: object, value: Entry) -> Entry:
        """As for any such table; also drop what could not be dropped when it died."""
        super().keep(key, value)
        if self._died:
            self.forget()
        return value

    def forget(self, dead: object = None, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Drop the entries whose keys refer to an object that has died.

        That is found out at any time, also while this thread has the lock: then the next entry
        that is kept does it. When Python `ends`, what is needed here may be gone before.
        """
        self._died = True
        if ends() or is_held_here(self._lock):
            return
        if self._lock.acquire(blocking=False):
            try:
                for key in [key for key in list(self) if mentions_dead(key)]:
                    self.pop(key, None)
                self._died = False
            finally:
                self._lock.release()


class Program(Protocol):
    """What was lowered or followed for one class of arguments."""

    @property
    def pins(self) -> Mapping[Dim, int]:
        """The lengths that have one value alone in all calls that it answers, and that value."""

    def fits(self, lengths: Mapping[Symbol, int]) -> bool:
        """Whether it answers calls of these lengths."""

    def is_stale(self) -> bool:
        """Whether it fits no call any more."""


AnyProgram = TypeVar("AnyProgram", bound=Program)


class ClassPrograms(list[Any]):
    """The programs of one class of calls, the oldest first.

    Those that were followed for some values of lengths alone are found by these values, so that
    hundreds of them are not asked one after the other.
    """

    def __init__(self) -> None:
        """Start without programs."""
        super().__init__()
        self._by_values: dict[tuple[Dim, ...], dict[tuple[int, ...], list[Any]]] = {}

    def add(self, program: Any) -> None:
        """Keep a program; the oldest one is dropped where there are too many."""
        self.append(program)
        self._same_values(program).append(program)
        if len(self) > PROGRAMS:
            self.drop(self[0])

    def drop(self, program: Any) -> None:
        """Keep a program no more."""
        for kept in (self, self._same_values(program)):
            kept[:] = [other for other in kept if other is not program]
        values = self._by_values[tuple(program.pins)]
        if not values[tuple(program.pins.values())]:
            values.pop(tuple(program.pins.values()), None)

    def candidates(self, lengths: Mapping[Symbol, int]) -> Iterator[Any]:
        """The programs that were followed for these lengths, as far as they are for some alone."""
        for pinned, values in tuple(self._by_values.items()):
            yield from tuple(values.get(tuple(map(evaluate, pinned, repeat(lengths))), ()))

    def _same_values(self, program: Any) -> list[Any]:
        values = self._by_values.setdefault(tuple(program.pins), {})
        return values.setdefault(tuple(program.pins.values()), [])


class ProgramTable(Table[ClassPrograms]):
    """Programs by call guard, the least recently used guards dropped beyond the limit."""

    def count(self) -> int:
        """The number of programs."""
        with self._lock:
            return sum(map(len, self.values()))

    def find(
        self, key: object, lengths: Mapping[Symbol, int], build: Callable[[], AnyProgram]
    ) -> AnyProgram:
        """A program of this call guard whose own guards hold, built where there is none.

        A key stands for programs of one kind.
        """
        with self._lock:
            found_before = self.pop(key, None)
            known = ClassPrograms() if found_before is None else found_before
            super().keep(key, known)
        if self._died:  # which `keep` cannot see to under the lock
            self.forget()
        found: AnyProgram
        for found in known.candidates(lengths):
            if found.is_stale():
                with self._lock:
                    known.drop(found)
            elif found.fits(lengths):
                return found
        found = build()
        known.add(found)
        return found


def run_and_unflatten(
    ready: CompiledCall,
    arguments: Sequence[object],
    statics: Sequence[tuple[int, object]] = (),
    given: Sequence[object] | None = None,
) -> object:
    """Run, and put the return value together: results without dimensions are NumPy scalars.

    `given` are the arguments before they were converted, which may be returned.
    """
    results = ready.runnable.run(arguments)
    if ready.structure is LEAF and ready.leaves[0] == (0, None):
        return results[0][()] if results[0].ndim == 0 else results[0]
    return unflatten_tree(ready.structure, _leaves(ready, results, statics, given or arguments))


def _leaves(
    ready: CompiledCall,
    results: Sequence[np.ndarray],
    statics: Sequence[tuple[int, object]],
    given: Sequence[object],
) -> Iterator[object]:
    made: Memo = {}
    for number, value in ready.leaves:
        if number is None:
            yield value.now(statics, made) if isinstance(value, Recipe) else value
        elif isinstance(value, OfArgument):
            argument = given[value.position]
            yield argument if value.is_itself else _view_of(argument, results[number])
        else:
            result = results[number]
            if value is int or value is float:
                yield value(result)
            else:
                yield result[()] if result.ndim == 0 else result


def _view_of(argument: object, result: np.ndarray) -> np.ndarray:
    """The result as a new view of an argument, of a class of NumPy's that views keep."""
    if type(argument) is np.memmap:
        view = result.view(np.memmap)
        view.__array_finalize__(argument)
        return view
    return result.view() if result is argument else result
