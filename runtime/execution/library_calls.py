"""Library calls as steps of plans, and the limits of the threads of libraries.

A library that computes matrix products has threads of its own. A plan calls a library with threads
only between parallel sections, so that the library's threads do not run at the same time as our
workers. `threads(n)` and `AXIOMJIT_NUM_THREADS` limit the library, too, if `threadpoolctl` can be
imported. A library has one limit per process. While several calls have a limit, the smallest limit
holds for all.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.counters import counter
from axiomjit.base.errors import AxiomError
from axiomjit.base.locks import new_lock
from axiomjit.base.origins import hide_frames, quoted_line
from axiomjit.passes.ir.plan_ir import Allocate, Call, Choose, Plan
from axiomjit.runtime.execution.plan_steps import BoundStep, NativeStep, StepForm
from axiomjit.runtime.execution.windows import Array, Arrays, BoundWindow, PlanMemory
from axiomjit.runtime.execution.workers import (
    VARIABLES,
    Chunk,
    ChunkSize,
    asked_threads,
    available_threads,
    chunk_edges,
    run_chunks,
)
from axiomjit.runtime.memory.allocation import MIN_RECYCLED_BYTES
from axiomjit.symbolic.data_dependent import OtherLengthError, data_dependent_in
from axiomjit.symbolic.dims import Dim, Symbol, Values, evaluate, symbols_in
from axiomjit.symbolic.index_maps import at_lengths

if TYPE_CHECKING:
    from axiomjit.runtime.execution.native_plan import NativeWriter


SMALL: Final = 1024
"""The size of arrays up to which libraries start no threads, so that no limit is needed."""
FIRST_PARTS: Final = 8
"""The number of parts in the first uninterrupted call; `ChunkSize` adjusts it."""
_lock: Final = new_lock()
_count_call: Final = counter("library_calls")


class CallForm(StepForm):
    """The form of a library operation in a plan."""

    __slots__ = ("buffers", "step")

    def __init__(self, step: Call, plan: PlanMemory) -> None:
        self.step, self.buffers = step, plan.buffers

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> BoundStep:
        """The bound step for these lengths."""
        return (Making if self.step.allocates_targets else Calling)(self, lengths)

    def of_words(self, values: Values, lengths: Mapping[Symbol, int]) -> NativeStep:
        """The step; each call binds it if it needs lengths that differ between calls."""
        step = self.step
        makes: Any = step.operation.evaluate if step.allocates_targets else None
        sized = makes is not None and makes.needs_shape
        used = symbols_in(*step.target.shape) if sized else frozenset()
        known = not step.conditions and all(isinstance(lengths[s], int) for s in used)
        return self.bind(values, lengths) if known else CallOfWords(self)

    def run_at(
        self,
        names: Sequence[str],
        made: Sequence[str],
        values: Values,
        lengths: Mapping[Symbol, int],
        *objects: Any,
    ) -> tuple[Array, ...]:
        """Run the step for these lengths on the arrays of buffers; return the new arrays."""
        # A NumPy scalar among the arguments has no views.
        arrays: Any = dict(zip(names, map(np.asarray, objects), strict=True))
        self.bind(values, lengths)(arrays, ())
        return tuple([arrays[name] for name in made])


class CallOfWords(NativeStep):
    """A library operation whose lengths follow from integer arguments, bound in each call."""

    __slots__ = ("_form",)

    def __init__(self, form: CallForm) -> None:
        self._form = form

    def emit(self, native: NativeWriter) -> bool:
        """Write a native call of the Python function that binds and runs the step."""
        step = self._form.step
        targets = [window.buffer for window in step.targets]
        made = targets if step.allocates_targets else []
        others = [] if step.allocates_targets else targets
        names = list(dict.fromkeys([*(one.buffer for one in step.operands), *others]))
        slots = [native.slots[name] for name in names]
        return native.call_at_lengths(partial(self._form.run_at, names, made), slots, made)


class Calling(BoundStep):
    """A library operation bound to lengths, which writes into existing memory."""

    __slots__ = ("_bounds", "_operands", "_step", "_targets", "_work")

    def __init__(self, form: CallForm, lengths: Mapping[Symbol, int]) -> None:
        self._step, buffers = form.step, form.buffers
        self._operands = [BoundWindow(one, buffers, lengths) for one in self._step.operands]
        self._targets = [BoundWindow(one, buffers, lengths) for one in self._step.targets]
        operations = [
            self._step.operation,
            *(operation for operation, _ in self._step.other_results),
        ]
        shapes = [window.shape for window in (*self._operands, *self._targets)]
        self._work = [(one.parts, _within_limits(one.evaluate, shapes)) for one in operations]
        self._bounds = at_lengths(self._step.conditions, lengths)

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Run the operation on the arrays of the plan."""
        seen = [operand.of(arrays, beyond=bool(self._bounds)) for operand in self._operands]
        self._compute(*seen, *[target.of(arrays) for target in self._targets])

    def _compute(self, *arrays: Array) -> None:
        """Compute the results into targets; `arrays` are operands, followed by targets."""
        _count_call()
        step, number = self._step, len(self._operands)
        seen = arrays[:number]
        try:
            for parts, evaluate in self._work:
                if parts is None:
                    evaluate(seen, step.labels, arrays[number])
                else:
                    share_parts(*parts(seen, step.labels, arrays[number], self._bounds))
                number += 1
        except Exception as error:
            located = _located(error, step.where)
            try:
                raise located from None
            except Exception:  # native code calls this; tracebacks must not show our frame
                hide_frames(located)
                raise

    def emit(self, native: NativeWriter) -> bool:
        """Write a native call of the operation, if all operands are inside their buffers."""
        return not self._bounds and native.call(self._compute, self._operands, self._targets)

    def emit_alone(
        self, plan: Plan, native: NativeWriter, examples: Sequence[Any], kind: type | None
    ) -> bool:
        """Write a call of a function that returns the only result, if it is small and in C order.

        The call makes no views of operands, which would cost more time than a product of small
        matrices. The plan itself makes large results, since their memory is recycled.
        """
        step, target = self._step, self._targets[0]
        direct_function, positions = (
            step.operation.direct_function,
            native.positions(self._operands),
        )
        if (
            direct_function is None
            or positions is None
            or [*map(type, plan.steps)] != [Allocate, Call]
        ):
            return False
        if (
            kind is not None
            or step.conditions
            or step.other_results
            or step.operation.is_speculative
        ):
            return False
        large = math.prod(target.shape) * target.window.dtype.itemsize >= MIN_RECYCLED_BYTES
        if large or sorted(target.strides, reverse=True) != [*target.strides]:
            return False
        operands = [examples[position] for position in positions]
        function = direct_function(operands, step.labels)
        return function is not None and native.call_alone(
            _counted(function, operands, self._step.where), positions
        )


class Making(BoundStep):
    """A bound call of a function that allocates its results, which become buffers of the plan."""

    __slots__ = ("_function", "_operands", "_results", "_step", "_targets")

    def __init__(self, form: CallForm, lengths: Mapping[Symbol, int]) -> None:
        self._step, step, buffers = form.step, form.step, form.buffers
        self._operands = [BoundWindow(window, buffers, lengths) for window in step.operands]
        self._targets = [window.buffer for window in step.targets]
        self._results: list[tuple[Any, Any, Any]] = []
        functions: list[Any] = [
            step.operation.evaluate,
            *(one.evaluate for one, _ in step.other_results),
        ]
        for function, window in zip(functions, step.targets, strict=True):
            shape = tuple(
                None if data_dependent_in(n) - set(lengths) else evaluate(n, lengths)
                for n in window.shape
            )
            checked = tuple([None if isinstance(n, Dim) else n for n in shape])
            self._results.append((function, window.dtype, checked))
        shapes = [operand.shape for operand in self._operands]
        shapes += [tuple([1 if n is None else n for n in shape]) for _, _, shape in self._results]
        self._function = _within_limits(functions[0].bound(self._results[0][2]), shapes)

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> None:
        """Call the function, and store its results as buffers."""
        made = self._make(*[operand.of(arrays) for operand in self._operands])
        arrays.update(zip(self._targets, made, strict=True))

    def _make(self, *seen: Array) -> tuple[Array, ...]:
        """Call the function, and return its results as new arrays in C order."""
        _count_call()
        try:
            made = self._function(*seen)
            found = [
                function.selected_copy(made, dtype, shape)
                for function, dtype, shape in self._results
            ]
        except Exception as error:
            located = _located(error, self._step.where)
            try:
                raise located from None
            except Exception:
                hide_frames(located)
                raise
        for k, one in enumerate(found):
            for operand in seen:
                if operand is one:
                    found[k] = one.copy()
        return tuple(found)

    def emit(self, native: NativeWriter) -> bool:
        """Write a native call that makes the arrays of results."""
        return native.call(self._make, self._operands, (), self._targets)

    def emit_alone(
        self, plan: Plan, native: NativeWriter, examples: Sequence[Any], kind: type | None
    ) -> bool:
        """Write a call of the function itself, if it returns the results of the plan in order."""
        later = [step for step in plan.steps if step is not self._step]
        if any(not isinstance(one, Choose) or one.choice.guards for one in later):
            return False
        functions = [function for function, _, _ in self._results]
        made = dict(zip(self._targets, functions, strict=True))
        positions, names = native.positions(self._operands), [one.buffer for one in plan.results]
        if (
            positions is None
            or self._step.operation.is_speculative
            or not made.keys() >= set(names)
        ):
            return False
        results = [made[name] for name in names]
        wanted = [None] if kind is None else [*range(len(results))]
        measured = any(one.measured is not None for one in results)
        if measured or [one.part for one in results] != wanted:
            return False
        function, operands = (
            results[0].direct_function(),
            [examples[position] for position in positions],
        )
        if function is None:
            return False
        found: Any = function(*operands)
        whole: Any = found if kind else (found,)
        if type(found) is not (kind or np.ndarray) or len(whole) != len(results):
            return False
        return native.call_alone(_counted(function, operands, self._step.where), positions)


def _within_limits(
    function: Callable[..., Any], shapes: Sequence[tuple[int, ...]]
) -> Callable[..., Any]:
    """The function, changed for large arrays to use only as many threads as the caller may use."""
    unknown = any(isinstance(n, Dim) for shape in shapes for n in shape)
    large = unknown or any(math.prod(shape) > SMALL for shape in shapes)
    return partial(_with_thread_limits, function) if large else function


def _with_thread_limits(function: Callable[..., Any], *operands: Any) -> Any:
    if is_limited():
        with limited():
            return function(*operands)
    return function(*operands)


def _counted(
    function: Callable[..., Any], operands: Sequence[Any], where: str | None
) -> Callable[..., Any]:
    """The function, changed to count its calls and to add the user's line to its errors."""
    function = _within_limits(function, [operand.shape for operand in operands])

    def call(*seen: Any) -> Any:
        _count_call()
        try:
            return function(*seen)
        except Exception as error:
            located = _located(error, where)
            try:
                raise located from None
            except Exception:
                hide_frames(located)
                raise

    return call


def _located(error: Exception, where: str | None) -> Exception:
    """The error of a library, with the user's line added."""
    if isinstance(error, AxiomError):
        return error.at(where)
    if where is not None and not isinstance(error, OtherLengthError):
        error.add_note(f"at {quoted_line(where)}")
    return error


class _Limits:
    """The limits of running calls, and libraries' numbers of threads before the first limit."""

    under_way: tuple[int, ...] = ()
    before: tuple[tuple[Any, int], ...] = ()


@lru_cache(maxsize=1)
def _has_thread_limit() -> bool:
    """True if the environment sets a number of threads for axiomjit."""
    return bool(os.environ.get(VARIABLES[0]))


def is_limited() -> bool:
    """True if this call may use fewer threads than a library would by default."""
    return asked_threads() is not None or _has_thread_limit()


@lru_cache(maxsize=1)
def _libraries() -> tuple[Any, ...]:
    """The objects, with `get_num_threads` and `set_num_threads`, that control loaded libraries."""
    try:
        from threadpoolctl import ThreadpoolController
    except ImportError:
        return ()
    found = ThreadpoolController().select(user_api="blas")
    return tuple(found.lib_controllers)


def share_parts(count: int, compute: Chunk) -> None:
    """Compute parts of work that call libraries, on the threads that the caller may use.

    If libraries cannot be limited to one thread, the parts run one after the other, with the
    threads of the libraries.
    """
    threads = available_threads() if count > 1 and _libraries() else 1
    edges = chunk_edges(count, threads)
    with limited(1) if threads > 1 else limited() if is_limited() else nullcontext():
        run_chunks(compute, edges, threads, ChunkSize(FIRST_PARTS))


@contextmanager
def limited(threads: int | None = None) -> Iterator[None]:
    """A context that limits libraries to this number of threads, or to the caller's number."""
    most = available_threads() if threads is None else threads
    _change(most, None)
    try:
        yield
    finally:
        _change(None, most)


def _change(begun: int | None, ended: int | None) -> None:
    """Add or remove the limit of a call; after the last call, restore the numbers of threads."""
    with _lock:
        limits = list(_Limits.under_way)
        if begun is not None:
            limits.append(begun)
        if ended is not None:
            limits.remove(ended)
        if limits and not _Limits.under_way:
            _Limits.before = tuple((one, one.get_num_threads()) for one in _libraries())
        _Limits.under_way = tuple(limits)
        for library, before in _Limits.before:
            library.set_num_threads(min((before, *limits)))
