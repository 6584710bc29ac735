"""Tables of a function: programs by signature, plans by exact layout; and the run of a plan.

A call looks up, in this order: the native table of its function, plans by the exact layout of the
arguments, argument classes by their code (`signature.Classes`), programs by their guards. Compiled
functions of arrays, compiled functions of named arrays, and graphs use the same tables, with the
same limits. An entry is removed when an object in its key is freed. Before a run that may be rolled
back, the state of arguments and random generators is saved.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, Final, Protocol, TypeVar

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.locks import is_held_here
from axiomjit.base.origins import hides_frames
from axiomjit.base.records import Record
from axiomjit.base.tree import LEAF, OfArgument, Structure, unflatten_tree
from axiomjit.dispatch.arguments import exact_layout, kind_of, mentions_dead, plain_arguments
from axiomjit.dispatch.fresh import Memo, Recipe
from axiomjit.functions.effects import FromSource, Replay, do_effects
from axiomjit.functions.sources import Guards, Vector
from axiomjit.graph.captured import Watch
from axiomjit.symbolic.data_dependent import Decisions
from axiomjit.symbolic.dims import Dim, Symbol, evaluate
from axiomjit.symbolic.dims import Guards as LengthGuards

MAX_LAYOUTS: Final = 512
"""The largest number of compiled calls of a function or graph, which has one for each exact
layout."""
MAX_SIGNATURES: Final = 256
"""The largest number of signatures with programs of one function, or of all graphs together."""

MAX_PROGRAMS: Final = 512
"""The largest number of programs of one signature."""

Entry = TypeVar("Entry")


class Runnable(Protocol):
    """A computation bound to lengths."""

    def run(self, arguments: Sequence[Any], given: Sequence[object] | None = None) -> Sequence[Any]:
        """The results for these arguments; `given` are the arguments before their conversion."""


class Reads(Record):
    """The guards of a program on outside values, its effects, and the layout of its outside inputs.

    `names` are the names of the outside inputs, for messages.
    """

    guards: Guards
    effects: tuple[Replay, ...]
    layout: object
    names: tuple[str, ...]

    def layout_of(
        self, inputs: Sequence[object], first: int, counters: Sequence[tuple[int, Symbol]]
    ) -> object:
        """The layout key of outside inputs; the key does not contain the values of `counters`.

        Args:
            inputs: The values of the outside inputs.
            first: The position of the first outside input among the program's arguments.
            counters: The positions and symbols of counters among the program's arguments.
        """
        values = list(inputs)
        for position, _ in counters:
            number = position - first
            values[number] = 0 if type(values[number]) is int else values[number]
        return exact_layout(values, kind_of)


class Integers:
    """A program's integer arguments, as a symbol for each position, and its guards of lengths.

    `leaves` are the leaves of the return value that are integers computed from the symbols, by the
    number of the leaf.
    """

    MAX_TABLES: Final = 8
    """The largest number of native tables per layout; each table covers other ranges of
    integers."""

    def __init__(
        self, symbols: Mapping[int, Symbol], guards: LengthGuards, leaves: Mapping[int, Dim]
    ) -> None:
        self.symbols, self.guards, self.leaves = symbols, guards, leaves
        self._bound = BoundedTable[object, int](limit=MAX_LAYOUTS)

    def vary(self, arguments: Sequence[object]) -> bool:
        """True if a plan with this layout and other integers exists; called once per new plan."""
        layout = exact_layout(
            [0 if k in self.symbols else one for k, one in enumerate(arguments)], kind_of
        )
        count = (self._bound.get(layout) or 0) + 1
        self._bound.keep(layout, count)
        return 1 < count <= 1 + self.MAX_TABLES


class CompiledCall(Record):
    """The computation for one exact layout of arguments, and the way to build the return value.

    `plain` is true if the arguments need no conversion. `held` has the constants of a graph, arrays
    that are passed after the arguments. `watch` has the captured arrays; it is None if there are
    none. `leaves` has for each leaf of the return value the number of a result and the conversion
    of the result, or else None and a value, which may be a recipe. `writes` has the positions of
    the arguments that the run changes. `speculative` is true if the run may find that a guess was
    wrong; the arguments in `early` and `generators` are then rolled back. `may_raise` is true if
    the run may raise an error, and also writes, draws random numbers or assumes decisions.
    `outside` describes the objects outside that the function reads and changes; it is None for
    graphs and named arrays. `counters` has the positions and symbols of outside integers on which
    only `leaves` depend. `integers` has the integer arguments; it is None if there are none.
    `decisions` has the outcomes of comparisons of computed numbers that the program assumes, in
    order.
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
    may_raise: bool = False
    outside: Reads | None = None
    counters: tuple[tuple[int, Symbol], ...] = ()
    integers: Integers | None = None
    decisions: Decisions = ()

    @property
    def is_guarded(self) -> bool:
        """True if guards suffice for a call, since the run never rolls back arguments."""
        return not self.early

    @property
    def is_simple(self) -> bool:
        """True if a call checks guards and runs the plan, without writes, draws or effects."""
        if self.writes or self.generators or self.speculative or not self.plain:
            return False
        reads = self.outside
        return reads is not None and not (reads.effects or reads.guards.inputs)

    def holds(self) -> bool:
        """True if the captured arrays are unchanged."""
        return self.watch is None or self.watch.holds()

    def prepared(
        self, arguments: Sequence[object], names: Sequence[str] | None = None
    ) -> Sequence[object]:
        """The arguments of a call with this layout, converted for the program if necessary."""
        return arguments if self.plain else plain_arguments(arguments, names)


class Table(BoundedTable[object, Entry]):
    """A bounded table; an entry is removed when an object in its key is freed."""

    def __init__(self, limit: int) -> None:
        super().__init__(limit)
        self._died = False

    def keep(self, key: object, value: Entry) -> Entry:
        """Store an entry, and remove entries whose removal was postponed."""
        super().keep(key, value)
        if self._died:
            self.forget()
        return value

    def forget(self, dead: object = None, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Drop the entries whose keys refer to objects that were freed.

        The garbage collector may call this method at any moment. If this thread holds the lock, the
        next `keep` drops the entries. While Python exits, global names may be gone, so the test for
        the exit is an argument, `ends`.
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
    """A program lowered or traced for one signature."""

    @property
    def pins(self) -> Mapping[Dim, int]:
        """The lengths that have only one value in all calls of the program, each with its value."""

    def fits(self, lengths: Mapping[Symbol, int]) -> bool:
        """True if the program is valid for these lengths."""

    def is_stale(self) -> bool:
        """True if the program is no longer valid for any call."""


AnyProgram = TypeVar("AnyProgram", bound=Program)


class ClassPrograms(list[Any]):
    """The programs of one signature, oldest first.

    Programs traced for fixed values of some lengths are indexed by these values, so that a call
    does not try hundreds of programs one by one.
    """

    def __init__(self) -> None:
        super().__init__()
        self._by_values: dict[tuple[Dim, ...], dict[tuple[int, ...], list[Any]]] = {}

    def add(self, program: Any) -> None:
        """Store a program; if the limit is exceeded, drop the oldest program."""
        self.append(program)
        self._same_values(program).append(program)
        if len(self) > MAX_PROGRAMS:
            self.drop(self[0])

    def drop(self, program: Any) -> None:
        """Remove a program from the cache."""
        for kept in (self, self._same_values(program)):
            kept[:] = [other for other in kept if other is not program]
        values = self._by_values[tuple(program.pins)]
        if not values[tuple(program.pins.values())]:
            values.pop(tuple(program.pins.values()), None)

    def candidates(self, lengths: Mapping[Symbol, int]) -> Iterator[Any]:
        """Yield the programs whose fixed lengths have the same values in this call."""
        for pinned, values in tuple(self._by_values.items()):
            yield from tuple(values.get(tuple(map(evaluate, pinned, repeat(lengths))), ()))

    def _same_values(self, program: Any) -> list[Any]:
        values = self._by_values.setdefault(tuple(program.pins), {})
        return values.setdefault(tuple(program.pins.values()), [])


class ProgramTable(Table[ClassPrograms]):
    """The programs of each signature; beyond a limit, the least recently used are dropped."""

    def count(self) -> int:
        """The number of programs."""
        with self._lock:
            return sum(map(len, self.values()))

    def add(self, key: object, program: Any) -> None:
        """Store a program of a signature."""
        with self._lock:
            known = self.pop(key, None) or ClassPrograms()
            super().keep(key, known)
        if self._died:
            self.forget()
        known.add(program)

    def find(
        self, key: object, lengths: Mapping[Symbol, int], build: Callable[[], AnyProgram]
    ) -> AnyProgram:
        """The program of this signature whose guards hold; a new program if there is none.

        All programs of a signature have the same Python class.
        """
        with self._lock:
            found_before = self.pop(key, None)
            known = ClassPrograms() if found_before is None else found_before
            super().keep(key, known)
        if self._died:  # `super().keep` cannot call `forget` under the lock
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
    compiled: CompiledCall,
    arguments: Sequence[object],
    given: Sequence[object] | None = None,
    vector: Vector | None = None,
) -> object:
    """Run the plan, and build the return value; a result without dimensions becomes a NumPy scalar.

    `given` are the arguments before their conversion; a leaf of the return value may be one of
    these arguments. `vector` has the values of outside sources. If there are effects, the result is
    a tuple: the return value, then the values that effects store.
    """
    results = compiled.runnable.run(arguments)
    if compiled.structure is LEAF and compiled.leaves[0] == (0, None):
        return results[0][()] if results[0].ndim == 0 else results[0]
    leaves = _leaves(compiled, results, given or arguments, vector or ())
    return unflatten_tree(compiled.structure, leaves)


def after_effects(compiled: CompiledCall, made: Any, vector: Vector | None) -> object:
    """Perform the effects of a call after its plan has run, and return the value of the call.

    If an effect raises an error, the user gets the error; earlier effects are not undone.
    """
    if compiled.outside is None or not compiled.outside.effects:
        return made
    do_effects(compiled.outside.effects, vector or [], made[1:])
    result: object = made[0]
    return result


def _leaves(
    compiled: CompiledCall,
    results: Sequence[np.ndarray],
    given: Sequence[object],
    vector: Sequence[object],
) -> Iterator[object]:
    made: Memo = {}
    counted: dict[Symbol, Any] = {}
    for position, symbol in compiled.counters:
        counted[symbol] = given[position]
    for number, value in compiled.leaves:
        if isinstance(value, FromSource):
            yield vector[value.source.number]
        elif isinstance(value, Dim):
            yield evaluate(value, counted)
        elif number is not None and isinstance(value, OfArgument):
            argument = given[value.position]
            yield argument if value.is_itself else _view_of(argument, results[number])
        else:
            yield _leaf(number, value, results, made)


def _leaf(number: int | None, value: object, results: Sequence[np.ndarray], made: Memo) -> object:
    """A leaf of the return value that is built without the arguments of the call."""
    if number is None:
        return value.now(made) if isinstance(value, Recipe) else value
    result = results[number]
    if isinstance(value, type):  # a class of Python's numbers
        converted: object = value(result)
        return converted
    scalar = result.ndim == 0 and value is None
    return result[()] if scalar else result


def finisher(compiled: CompiledCall) -> Callable[..., object] | None:
    """The function that builds the return value from the results alone; None if there is none.

    The function gets a result that is an argument, or a view of an argument, in its final form.
    """
    known = {number: value for number, value in compiled.leaves if number is not None}
    others = any(isinstance(value, Dim | FromSource) for _, value in compiled.leaves)
    apart = all(known[number] == value for number, value in compiled.leaves if number is not None)
    return None if others or not known or not apart else partial(_finished, compiled)


@hides_frames
def _finished(compiled: CompiledCall, *results: np.ndarray) -> object:
    made: Memo = {}
    leaves = (_leaf(number, value, results, made) for number, value in compiled.leaves)
    return unflatten_tree(compiled.structure, leaves)


def _view_of(argument: object, result: np.ndarray) -> np.ndarray:
    """The result as a new view of an argument; a view of a `memmap` is again a `memmap`."""
    if type(argument) is np.memmap:
        view = result.view(np.memmap)
        view.__array_finalize__(argument)
        return view
    return result.view() if result is argument else result


def snapshot(compiled: CompiledCall, arguments: Sequence[object]) -> Callable[[], None]:
    """Copy the state that a run may have to roll back; return the function that restores it."""
    written = [arguments[position] for position in compiled.early]
    arrays = [(array, array.copy()) for array in written if isinstance(array, np.ndarray)]
    states = [(one, _state_of(one)) for one in compiled.generators]

    def put_back() -> None:
        for array, before in arrays:
            array[...] = before
        for generator, state in states:
            _set_state(generator, state)

    return put_back


def _state_of(generator: Any) -> Any:
    if hasattr(generator, "get_state"):
        return generator.get_state(legacy=False)
    return generator.bit_generator.state


def _set_state(generator: Any, state: Any) -> None:
    if hasattr(generator, "set_state"):
        generator.set_state(state)
    else:
        generator.bit_generator.state = state
