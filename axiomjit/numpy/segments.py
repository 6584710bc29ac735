"""Segments: the operations of one thread until the program asks for a value.

A segment follows a path of known operations, and runs the program of the path when a value is asked
for. If an operation is new on the path, NumPy runs the operation at once, and the path stores facts
about the results: the shape, the dtype, and whether a result is a view. Therefore errors are
NumPy's own, at the user's line, and no result is inferred.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from sys import getrefcount
from types import CodeType
from typing import Any, Final, ParamSpec, TypeVar

import numpy as np

from axiomjit.base.counters import counter
from axiomjit.base.locks import Lock, new_lock
from axiomjit.base.origins import user_location, user_place
from axiomjit.numpy.calls import Call
from axiomjit.numpy.facts import Facts, facts_of, is_lazy_type
from axiomjit.numpy.handles import Handle, ViewOf, concrete, value_of
from axiomjit.numpy.operations import WRITES, Operation
from axiomjit.numpy.paths import CUT, MAX_BYTES, State, Summary, forget_old_paths
from axiomjit.numpy.programs import program_of, run_one
from axiomjit.numpy.results import Result, Same, View
from axiomjit.numpy.statements import UnrecordedError
from axiomjit.numpy.temporaries import run_operator
from axiomjit.runtime.memory.allocation import with_recycling

_count_segment: Final = counter("segments")
_count_copy: Final = counter("shared_copies")
NOWHERE: Final = State(None)
"""A state without edges: an operation of a segment in this state is recorded by `record`."""
ROOT: Final = State(None)
"""The state at which all paths begin."""


P = ParamSpec("P")
R = TypeVar("R")
_NEW: Final[Callable[[type], Any]] = object.__new__
MOST_CALLS: Final = 16
"""The largest number of calls that are stored with a view; longer chains are forgotten."""


class RestartError(Exception):
    """Raised if the segment was run before an operation: the operation starts the next segment."""


class Segment:
    """Recorded operations, the handles of values, and the leaves that the operations read.

    Attributes:
        state: The state on the path while results are pending; `NOWHERE` while operations run at
            once.
        values: The handles by value number, while results are pending.
        is_open: True until the segment has run.
    """

    __slots__ = (
        *("_behind", "_computed", "_is_learning", "_kind", "_lock", "_thread"),
        *("arguments", "is_open", "state", "values"),
    )

    def __init__(self, kind: type[Handle], lock: Lock, is_open: bool = True) -> None:
        """Begin a segment of this thread, whose values are handles of a kind."""
        self._kind, self._lock, self.is_open = kind, lock, is_open
        self._is_learning = False
        self._behind, self.state = ROOT, ROOT if is_open else NOWHERE
        self.arguments: list[Any] = []
        self._computed: list[bool] = []
        self.values: list[Any] = []
        self._thread = threading.get_ident()

    @property
    def _at(self) -> State:
        """The state on the path after the last operation."""
        return self._behind if self._is_learning else self.state

    def _go_to(self, state: State) -> None:
        if self._is_learning:
            self._behind = state
        else:
            self.state = state

    # Value numbers

    def number(self, handle: Handle) -> int:
        """The value number of a handle; a value from before the segment becomes a leaf or a view.

        If other code may write into the memory of the handle, the leaf is a copy.
        """
        if handle._segment is self:
            return handle._number
        link, is_apart = handle._link, handle.is_apart()
        if type(link) is ViewOf and not is_apart:
            assert link.made is not None
            return self._view(handle, *link.made)
        value = value_of(handle)
        if not self.is_open:  # computing the value has run this segment
            raise RestartError
        number = self._at.numbers
        if is_apart:
            _count_copy()
            value = _copied(value)
            self._leaf(value, facts_of(value))
            self._keep(None, number, False)
            return number
        if handle._segment is not None and handle._segment.is_open:  # a segment of another thread
            handle._segment.finish()
        self._leaf(value, handle._facts)
        self._keep(handle, number, False)
        return number

    def _leaf(self, value: Any, facts: Facts) -> None:
        if not self._is_learning:  # an operation that runs at once frees memory as NumPy does
            self.arguments.append(value)
        self._go_to(self._at.leaf(facts))

    def _keep(self, handle: Handle | None, number: int, computed: bool) -> None:
        if self._is_learning:
            self._computed.append(computed)
        else:
            self.values.append(handle)
        if handle is not None:
            handle._segment, handle._number = self, number

    def _view(
        self, handle: Handle, operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> int:
        """Record a call that made a view before this segment.

        The edge of the call differs from the edge of a new view, because the call is not an
        operation of this segment.
        """
        call = Call(operation, args, kwargs, self.number, "again")
        at, of = self._at, call.number(args[0])
        following, words = self._known(call)
        if following is None:
            following = at.then(call, (View(handle._facts, of),), None)
        self.arguments += words
        self._go_to(following)
        self._keep(handle, at.numbers, self._is_learning and self._computed[of])
        return at.numbers

    # Operations

    def record(self, operation: Operation, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of an operation on handles and constants, pending or computed at once.

        Raises:
            RestartError: the segment has run; the operation is the first one of the next segment.
            UnrecordedError: the arguments or the result cannot be recorded.
        """
        with self._lock:
            if not self.is_open:
                raise RestartError
            if self._is_full():
                self.finish()
                raise RestartError
            call = Call(operation, args, kwargs, self.number)
            if call.key in self._at.unrecorded:
                raise UnrecordedError
            following, words = self._known(call)
            if following is CUT:
                self.finish()
                raise RestartError
            if following is not None and not self._is_learning:
                return self._take(call, following, words)
            return self._learn(call, following)

    def _is_full(self) -> bool:
        """True if the segment must run before the next operation."""
        if self._at.is_full():
            return True
        return self._keeps_dead_leaves() and user_location() != self._at.where

    def _keeps_dead_leaves(self) -> bool:
        """True if the segment keeps large arrays that the program has dropped."""
        at, values = self._at, self.values
        if self._is_learning or at.bytes <= MAX_BYTES:
            return False
        leaves = at.summary.leaves
        dead = leaves.keys() - _held(at.summary, values, leaves)
        return sum([int(values[n]._facts.nbytes) for n in dead]) > MAX_BYTES

    def _known(self, call: Call) -> tuple[State | None, Sequence[Any]]:
        """The next state for a call, and the numbers in the call that become arguments.

        At the second call of a pattern, a state is made that is valid for all numbers. The state
        for all numbers has the facts about the results of the first call.
        """
        at = self._at
        found = at.known(call.key)
        if found is not None or not at.general:
            return found, ()
        varying = call.varying()
        pattern = call.pattern() if varying else None
        first = at.general.get(pattern)
        if first is None:
            return None, ()
        if not first.words:
            words = [f"k{len(at.arguments) + k}" for k in range(len(varying))]
            first = at.general[pattern] = at.like(first, call, words)
        return first, varying

    def _take(self, call: Call, following: State, words: Sequence[Any]) -> Any:
        """Follow a known edge of the path, and return pending results."""
        first = self._at.numbers
        self.arguments += words
        self._go_to(following)
        for k in following.written:
            self.values[k]._array = None
        return self._handles(call, following, first, [None] * len(following.results))

    def _learn(self, call: Call, following: State | None) -> Any:
        """Run an operation at once, and store the facts of its results if they are unknown."""
        place = user_place()
        at = self._at
        if at.line is not None and following is None and place == at.line:
            at.edges[call.key] = CUT
            self.finish()
            raise RestartError
        self._settle()
        dying = CURRENT.dying if call.operation.sign and not call.kwargs else ()
        given = with_recycling(_run_at_once, call, dying)
        several = given if isinstance(given, tuple | list) else (given,)
        if following is None:
            results = self._results(call, several)
            if results is None:
                if call.operation in WRITES or dying:
                    raise AssertionError(call.operation)
                at.unrecorded.add(call.key)
                raise UnrecordedError
            following = at.then(call, results, type(given) if several is given else None)
            following.line = at.line or place
        first = self._at.numbers
        self._behind = following
        for k in following.written:
            self._computed[k] = True
        return self._handles(call, following, first, several, place)

    def _results(self, call: Call, values: Sequence[Any]) -> tuple[Result, ...] | None:
        """The facts about the results of an operation; None if no handle can represent a result."""
        found: list[Result] = []
        for value in values:
            if value is None:
                found.append(None)
                continue
            if not isinstance(value, np.ndarray | np.generic) or not is_lazy_type(value.dtype):
                return None
            result = _result(call, value)
            if isinstance(result, Facts) and not (result.is_number or value.flags.writeable):
                return None  # a read-only result, as of `broadcast_to`
            found.append(result)
        return tuple(found)

    def _handles(
        self, call: Call, state: State, number: int, values: Sequence[Any], place: Any = None
    ) -> Any:
        """The handles of an operation's results; a result whose value is None is pending."""
        made: list[Any] = []
        for result, value in zip(state.results, values, strict=True):
            if result is None:
                made.append(None)
                continue
            if isinstance(result, Same):
                made.append(call.operand(result.number))
                continue
            handle = _NEW(self._kind)
            handle._array, handle._link, computed = value, None, True
            handle._place = place
            if isinstance(result, View):
                root = call.operand(result.of).root()
                handle._link = ViewOf(root, (call.operation, call.args, call.kwargs))
                handle._facts = result.facts
                if value is not None:
                    _shorten(handle)
                computed = self._is_learning and self._computed[result.of]
            else:
                handle._facts = result
            self._keep(handle, number, computed)
            number += 1
            made.append(handle)
        return made[0] if state.container is None else state.container(made)

    # Running

    def is_cut(self, following: State | None) -> bool:
        """True if an edge is a cut; the segment is then run, and the next segment is open."""
        if following is not CUT:
            return False
        self.finish()
        return True

    def is_looked_at(self, root: Handle) -> bool:
        """True if the value of a root was computed or written in this segment."""
        return self._computed[root._number] if self._is_learning else root._array is None

    def finish(self) -> None:
        """Run the pending operations, and end the segment."""
        with self._lock:
            if not self.is_open:
                return
            is_ours = self._thread == threading.get_ident()
            if not self._is_learning:
                self._run(self.state if is_ours else self._stopped())
            self.is_open = False
            self.state, self.values, self.arguments, self._computed = NOWHERE, [], [], []
            if is_ours:
                open_segment()

    def _stopped(self) -> State:
        """The state of a segment of another thread, once that thread runs no code of `QUICK`."""
        state = NOWHERE
        while True:
            if self.state is not NOWHERE:
                state, self.state = self.state, NOWHERE
            elif is_in_quick_way(self._thread):
                time.sleep(0)
            else:
                return state

    def _settle(self) -> None:
        """Run the pending operations; later operations of the segment run at once."""
        if not self._is_learning:
            self._run(self.state)
            self._computed = self._are_computed()
            self._behind, self.state, self.values, self.arguments = self.state, NOWHERE, [], []
            self._is_learning = True

    def _run(self, at: State) -> None:
        """Run the program of a path, and store the values to which the user has references."""
        summary, values = at.summary, self.values
        returned = _held(summary, values, summary.new)
        if returned or summary.written:
            program = at.programs.get(returned)
            if program is None:
                program = at.programs[returned] = program_of(at, returned)
            CURRENT.last = at, program
            _count_segment()
            try:
                found = program.run(self.arguments)
            except BaseException:
                if summary.written:
                    self._break_off(summary)
                raise
            for number, value in zip(returned, found, strict=True):
                handle = values[number]
                facts = handle._facts
                is_kind = (type(value) is np.ndarray) is not facts.is_number
                is_laid_out = is_kind and value.strides == facts.strides
                handle._array = value if is_laid_out else _laid_out(value, facts)
        self._store_written(summary)
        for number in reversed(summary.views):  # parents first, to avoid recursion
            handle = values[number]
            if handle._array is not None or handle.root()._array is None:
                continue  # known, or its root has no value
            if getrefcount(handle) - 1 > _UNHELD:
                value_of(handle)
                _shorten(handle)

    def _store_written(self, summary: Summary) -> None:
        for number in summary.written:
            place = summary.leaves.get(number)
            if place is not None:
                self.values[number]._array = self.arguments[place]

    def _break_off(self, summary: Summary) -> None:
        """End the segment after an error; its writes may be partly done, and are not repeated."""
        self._store_written(summary)
        self.is_open = False
        self.state, self.values, self.arguments = NOWHERE, [], []

    def _are_computed(self) -> list[bool]:
        """For each value number, true if its memory was computed or written in this segment."""
        summary, found = self.state.summary, [False] * self.state.numbers
        for number in (*summary.new, *summary.written):
            found[number] = True
        for number in reversed(summary.views):
            found[number] = found[self.values[number].root()._number]
        return found


def _run_at_once(call: Call, dying: Sequence[Handle]) -> Any:
    """The result of a call on NumPy arrays; it may get the memory of an operand in `dying`."""
    if dying:
        return run_operator(call.operation, call.args, dying)
    args = [concrete(one) for one in call.args]
    return run_one(call.operation, args, {k: concrete(one) for k, one in call.kwargs.items()})


def _held(summary: Summary, values: Sequence[Any], numbers: Iterable[int]) -> tuple[int, ...]:
    """The value numbers in `numbers` whose handles are referenced outside the segment.

    References from views that are not referenced outside do not count.
    """
    if not summary.views:
        return tuple([n for n in numbers if getrefcount(values[n]) > _UNHELD])
    extra: dict[int, int] = {}
    for number in summary.views:
        handle = values[number]
        if getrefcount(handle) - 1 - extra.get(number, 0) <= _UNHELD:
            link = handle._link
            for one in (link.root, *link.made[1]):
                if isinstance(one, Handle) and one._segment is handle._segment:
                    extra[one._number] = extra.get(one._number, 0) + 1
    return tuple([n for n in numbers if getrefcount(values[n]) - extra.get(n, 0) > _UNHELD])


def run_freely(function: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> R:
    """The result of a NumPy function that may make large arrays.

    If the segment of this thread keeps large arrays that the program has dropped, the segment is
    run first.
    """
    segment = CURRENT.segment
    if segment.state.bytes > MAX_BYTES and segment._keeps_dead_leaves():
        segment.finish()
    return with_recycling(function, *args, **kwargs)


def _shorten(view: Handle) -> None:
    """Forget the calls that made a view, if there are more than `MOST_CALLS`."""
    link = view._link
    if type(link) is ViewOf and link.depth() > MOST_CALLS:
        link.made = None


def look(handle: Handle) -> Any:
    """The value of a handle; the segment that computes the value is run and ends."""
    root = handle.root()
    segment = root._segment
    if segment is not None and segment.is_open and segment.is_looked_at(root):
        segment.finish()
    return value_of(handle)


def finish_readers(handle: Handle) -> None:
    """Run the segment that reads the memory of a handle, before other code may write into it."""
    segment = handle.root()._segment
    if segment is not None:
        segment.finish()


def _copied(value: Any) -> Any:
    """A contiguous copy with the operand's order of dimensions; stride 0 remains stride 0."""
    if 0 not in value.strides:
        return value.copy(order="K")
    once = tuple([slice(None if stride else 1) for stride in value.strides])
    return np.broadcast_to(value[once].copy(order="K"), value.shape)


def _laid_out(value: Any, facts: Facts) -> Any:
    """The value with the strides in the facts, or as a number if the facts describe a number."""
    if not facts.shape:
        return np.asarray(value)[()] if facts.is_number else np.array(value)
    long = [d for d, length in enumerate(facts.shape) if length > 1]
    if all(value.strides[d] == facts.strides[d] for d in long):
        return value
    order = sorted(range(value.ndim), key=lambda d: -facts.strides[d])
    made = np.empty([facts.shape[d] for d in order], facts.dtype).transpose(np.argsort(order))
    made[...] = value
    return made


def _result(call: Call, value: Any) -> Result:
    """The facts about a result of a call: an operand, a view of an operand, or a new value."""
    if isinstance(value, np.ndarray):  # not for numbers: NumPy has one True
        for operand in call.operands:
            if operand._array is value:
                return Same(call.number(operand))
        for operand in call.operands:
            if _overlap(value, operand._array):
                return View(facts_of(value), call.number(operand))
    return facts_of(value)


def _overlap(left: Any, right: Any) -> bool:
    return isinstance(right, np.ndarray) and np.may_share_memory(left, right)


def _count_of_unheld() -> int:
    """The number of references that `_held` counts for an object that only a list refers to."""
    held = [object()]
    return getrefcount(held[0])


_UNHELD: Final = _count_of_unheld()


class _Current(threading.local):
    """The segment of this thread, and its lock.

    `last` has the state and the program of the last segment that ran; None if no segment has run.
    `dying` has the operands that have no reference after the running operator.
    """

    kind: Any = Handle
    dying: Sequence[Handle] = ()

    def __init__(self) -> None:
        self.lock = new_lock()
        self.last: Any = None
        self.segment = Segment(Handle, self.lock, is_open=False)


CURRENT: Final = _Current()
QUICK: Final = set[CodeType]()
"""The code of functions that change segments of their thread without a lock."""
_LOCKED: Final = (Segment.record.__code__, Segment.finish.__code__)


def make_handles(kind: type[Handle]) -> None:
    """Set the class of the handles that all segments make."""
    _Current.kind = kind


def open_segment() -> Segment:
    """The open segment of this thread; a new segment is opened if there is none."""
    found = CURRENT.segment
    if not found.is_open:
        forget_old_paths(ROOT)
        found = CURRENT.segment = Segment(_Current.kind, CURRENT.lock)
    return found


def is_in_quick_way(thread: int) -> bool:
    """True if a thread is inside a function of `QUICK`, but not in code that needs the lock."""
    frame = sys._current_frames().get(thread)
    while frame is not None:
        if frame.f_code in _LOCKED:
            return False
        if frame.f_code in QUICK:
            return True
        frame = frame.f_back
    return False
