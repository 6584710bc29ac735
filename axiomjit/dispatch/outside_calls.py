"""Calls of instrumented functions: plans and programs by what they read outside the function.

A program is valid for a call if its guards hold; the arrays that it reads from outside are then
arguments behind the call's own.
"""

from __future__ import annotations

import functools
import inspect
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from types import CodeType, FunctionType, ModuleType
from typing import TYPE_CHECKING, Any, Final, TypeVar

import numpy as np

from axiomjit.base.config import config, waiting
from axiomjit.base.counters import stage
from axiomjit.base.error_states import without_traps
from axiomjit.base.errors import (
    AxiomError,
    GraphTypeError,
    InterruptedWritesError,
    NeedsValuesError,
    UnfollowedError,
    UnsupportedError,
)
from axiomjit.base.locks import Lock, lazy_import
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.origins import is_installed, is_library_code
from axiomjit.base.records import Record
from axiomjit.base.tree import flatten_tree
from axiomjit.dispatch.arguments import (
    CallArguments,
    Forms,
    exact_key,
    exact_layout,
    foreign_classes,
    kind_of,
    plain_arguments,
    swapped_dtype,
    take_apart,
)
from axiomjit.dispatch.caches import (
    LAYOUTS,
    ClassPrograms,
    CompiledCall,
    ProgramTable,
    Reads,
    Table,
)
from axiomjit.dispatch.fallbacks import (
    DISABLED,
    CallsInNumPy,
    FallbackToNumPy,
    Same,
    byteswapped,
    length_refused,
    may_be_tracing_error,
    numpy_call,
    raised,
    same_arrays,
    speculative_run,
    untraceable_error,
    warn_of_fallback,
)
from axiomjit.dispatch.programs import TracedProgram
from axiomjit.dispatch.retrace_reasons import RetraceReasons, aspects_of
from axiomjit.dispatch.signature import DeclaredShapes, Signature
from axiomjit.functions.outside import BY_IDENTITY, Wanted
from axiomjit.functions.sources import NUMBERS, Equals, GuardInfo, Vector
from axiomjit.graph.traced_values import AxisValue, NamedValue
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Scope

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Lowered

R = TypeVar("R")
_PLAIN: Final = frozenset({np.ndarray, int, float, complex, bool, str, type(None)})
MOST: Final = 16
"""The most plans for one layout of arguments, which differ in what they read outside."""


def axes_among(values: Sequence[object]) -> bool:
    """True if there is a named array among arguments, or in their containers."""
    if all(type(value) in _PLAIN for value in values):
        return False
    return any(isinstance(v, NamedValue | AxisValue) for v in flatten_tree(tuple(values))[0])


def reads_outside(function: Any) -> bool:
    """True if a function, or one that it calls, has names of values that may change.

    Names of functions, classes and modules do not count.
    """
    if type(function) is not FunctionType:
        return False
    waiting, seen = [function], set[int]()
    while waiting:
        one = waiting.pop()
        if id(one) in seen:
            continue
        seen.add(id(one))
        for named in _named_in(one):
            compiled = isinstance(named, NativeCallable)
            value = getattr(named, "_function", named) if compiled else named
            if type(value) is FunctionType and not _is_librarys(value):
                waiting.append(value)
            elif not isinstance(value, _STEADY):
                return True
    return False


_STEADY: Final = (*BY_IDENTITY, NativeCallable, functools.partial)
"""Types of values behind names that seldom change."""


def _is_librarys(function: FunctionType) -> bool:
    """True if the globals of a function are those of a library's module."""
    home = ModuleType(str(function.__globals__.get("__name__", "")))
    return is_library_code(home) or is_installed(home)


def _named_in(function: FunctionType) -> Iterator[object]:
    """The values of the global names and the cells of a function, and of those inside it."""
    waiting = [function.__code__]
    while waiting:
        code = waiting.pop()
        yield from (function.__globals__[n] for n in code.co_names if n in function.__globals__)
        waiting += [part for part in code.co_consts if isinstance(part, CodeType)]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # it is empty
            yield cell.cell_contents


class Found(Record):
    """A plan for a call: the values of its sources, and the call with its inputs from outside."""

    compiled: CompiledCall
    vector: Vector
    call: CallArguments


def find_plan(plans: Sequence[CompiledCall], call: CallArguments) -> Found | None:
    """The first plan whose guards hold for a call, else one that leaves its layout to NumPy."""
    leaves = call.leaves(call.dynamic) if plans else ()
    in_numpy = None
    for compiled in plans:
        reads = compiled.outside
        if reads is None:
            in_numpy = Found(compiled, [], call)
            continue
        vector = reads.guards.read(leaves)
        if vector is None or not compiled.holds():
            continue
        inputs = reads.guards.given(vector)
        if not inputs:
            return Found(compiled, vector, call)
        if exact_layout(inputs, kind_of) == reads.layout:
            return Found(compiled, vector, call.with_inputs(inputs, reads.names))
    return in_numpy


def with_plan(plans: Sequence[CompiledCall], compiled: CompiledCall) -> tuple[CompiledCall, ...]:
    """The plans of one layout with a new one in front."""
    return (compiled, *plans[: MOST - 1])


class Match(Record):
    """A program that is valid for a call, the values of its sources, and the call with inputs."""

    program: TracedProgram
    vector: Vector
    call: CallArguments
    signature: Signature


def find_program(
    programs: ClassPrograms,
    call: CallArguments,
    signature: Signature,
    classified: Callable[[CallArguments, Sequence[object]], Signature],
) -> Match | None:
    """The first program whose guards, on what is outside and on lengths, hold for a call."""
    leaves = call.leaves(call.dynamic)
    for program in programs.candidates(signature.values):
        if program.is_stale():
            continue
        vector = program.reads.guards.read(leaves)
        if vector is None:
            continue
        inputs = program.reads.guards.given(vector)
        extended, own = call, signature
        if inputs:
            extended = call.with_inputs(inputs, program.reads.names)
            own = classified(extended, plain_arguments(extended.dynamic, extended.names))
            if own.key != program.key:
                continue
        if program.fits(own.values):
            return Match(program, vector, extended, own)
    return None


def learn(programs: ClassPrograms, call: CallArguments, wanted: Wanted) -> str | None:
    """Make numbers outside that have changed arguments, and drop the programs that knew them.

    Returns:
        The guard of the newest program that does not hold, as text; None if all hold.
    """
    found = None
    leaves = call.leaves(call.dynamic)
    for program in tuple(programs):
        guard = program.reads.guards.failing(leaves)
        if guard is None:
            continue
        found = f"outside: no longer {guard}"
        identity = guard.source.identity
        changes = isinstance(guard, Equals) and type(guard.value) in NUMBERS
        if changes and identity not in wanted.fixed | wanted.numbers:
            wanted.numbers.add(identity)
            programs.drop(program)
    return found


def _nothing_changes(function: object, given: Sequence[object]) -> AbstractContextManager[None]:
    """A context that proves, where kernels are checked, that tracing changes nothing outside."""
    if not config.check:
        return nullcontext()
    late = lazy_import("axiomjit.functions.unchanged")
    found: AbstractContextManager[None] = late.nothing_changes(function, given)
    return found


class OutsideCalls(NativeCallable[R]):
    """The calls of a compiled function that is traced by its instrumented copy.

    It shares counts, programs and reasons with the calls of functions that are traced as they are,
    which a subclass answers.
    """

    _function: Any
    _name: str
    _static: frozenset[str]
    _strict: bool
    _shapes: DeclaredShapes | None
    _programs: ProgramTable
    _reasons: RetraceReasons
    _numpy_calls: CallsInNumPy
    _following: Lock
    _foreign: set[object]
    _traced_among: Callable[[Sequence[object]], bool]
    _identifies: bool | None
    _in_numpy: bool
    _writes: bool
    _warned: bool
    _hits: int
    _bound: int
    _traced: int

    def restart(self) -> None:
        """Drop the native entry and the plans that depend on outside values."""
        super().restart()
        self._outside_plans: Table[tuple[CompiledCall, ...]] = Table(LAYOUTS)
        self._wanted = Wanted()
        self._instrumented: bool | None = None
        self._whole_forms = Forms()

    @property
    @abstractmethod
    def _signature(self) -> inspect.Signature: ...

    @abstractmethod
    def _guard(
        self,
        compiled: CompiledCall,
        call: CallArguments,
        args: Any,
        kwargs: Any,
        values: Vector | None = None,
    ) -> None: ...

    @abstractmethod
    def _classified(
        self, call: CallArguments, plain: Sequence[object], same: Same | None = None
    ) -> Signature: ...

    @abstractmethod
    def _falls_back(self, error: AxiomError) -> bool: ...

    @abstractmethod
    def _run_untraceable(
        self, errors: list[UnfollowedError], args: Any, kwargs: Mapping[str, Any]
    ) -> Any: ...

    @abstractmethod
    def _cannot_compile(self) -> bool: ...

    @abstractmethod
    def _looks_at_identity(self) -> bool: ...

    @abstractmethod
    def _forget(self, dead: object) -> None: ...

    def _is_instrumented(self) -> bool:
        """True if the function is traced by a copy whose text is known."""
        if self._instrumented is None:
            self._instrumented = self._has_text()
        return self._instrumented

    def _has_text(self) -> bool:
        """True if the text of the function is known and understood."""
        late = lazy_import("axiomjit.dispatch.tracing_calls")
        return bool(late.can_be_instrumented(self._function))

    def _becomes_instrumented(self) -> bool:
        """True if the function is traced by an instrumented copy only from now on."""
        now = not self._instrumented and self._has_text()
        self._instrumented = self._instrumented or now
        return bool(now)

    def _apart_whole(self, args: Any, kwargs: Mapping[str, Any]) -> CallArguments:
        return take_apart(
            self._signature, self._static, args, kwargs, self._whole_forms, self._name, whole=True
        )

    def _call_whole(self, args: Any, kwargs: Any) -> Any:
        """Answer a call of an instrumented function."""
        call = self._apart_whole(args, kwargs)
        given = (*call.dynamic, *(value for _, value in call.static))
        if self._traced_among(given) or self._cannot_compile():
            return self._function(*args, **kwargs)
        same = None
        if self._writes or self._looks_at_identity():
            same = same_arrays(call.dynamic, bool(self._identifies))
        key = exact_key(call, self._forget)
        key = key if same is None else (key, same)
        found = find_plan(self._outside_plans.get(key) or (), call)
        known, why = found is not None, list[UnfollowedError]()
        if found is None:
            try:
                found = self._prepare_whole(key, call, same)
            except (NeedsValuesError, UnsupportedError) as error:
                if not self._falls_back(error):
                    raise
                self._numpy_calls.count_whole()
                return self._function(*args, **kwargs)
            except UnfollowedError as error:
                why = [error.with_traceback(None)]
        if found is None:
            return self._run_untraceable(why, args, kwargs)
        self._hits += known
        compiled, vector, extended = found.compiled, found.vector, found.call
        if compiled.writes and not self._writes:
            self._writes = True
            return self._call_whole(args, kwargs)
        if same is not None:
            same = (*same, *range(len(same), len(extended.dynamic)))
        arguments = compiled.prepared(extended.dynamic, extended.names)
        try:
            result = speculative_run(compiled, arguments, extended, same, vector)
        except FallbackToNumPy as fallback:
            reason = fallback.counted(self._name, self._strict, self._numpy_calls)
        else:
            if not known and config.disable:
                self._numpy_calls.count(DISABLED)
            if known and same is None and compiled.is_guarded and self.wants_guard():
                self._guard(compiled, call, args, kwargs, vector)
            return result
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=True)
        result = self._function(*args, **kwargs)
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=False)
        return result

    def _prepare_whole(self, key: object, call: CallArguments, same: Same | None) -> Found:
        """The plan for a layout and what is outside, kept for later calls."""
        with self._reasons.clock.running():
            try:
                found = self._bind_whole(call, same)
            except (InterruptedWritesError, OtherLengthError) as error:
                found = Found(numpy_call(error), [], call)
            except GraphTypeError as error:
                if self._strict or config.fallback == "error":
                    raise
                found = Found(numpy_call(error), [], call)
                self._foreign |= foreign_classes(call.dynamic)
        self._bound += 1
        if not config.disable:
            plans = self._outside_plans.get(key) or ()
            self._outside_plans.keep(key, with_plan(plans, found.compiled))
        return found

    def _bind_whole(self, call: CallArguments, same: Same | None = None) -> Found:
        swapped = swapped_dtype(call.dynamic)
        if swapped is not None:
            return Found(byteswapped(swapped), [], call)
        match = self._match(call, same)
        given = match.call.dynamic
        plain = plain_arguments(given, match.call.names)
        as_is = all(new is old for new, old in zip(plain, given, strict=True))
        inputs = given[len(call.dynamic) :]
        reads = match.program.reads.replace(layout=exact_layout(inputs, kind_of))
        compiled = match.program.compiled_call(match.signature.values, as_is, reads)
        return Found(compiled, match.vector, match.call)

    def _match(self, call: CallArguments, same: Same | None = None) -> Match:
        """The program for a call, traced if there is none.

        The call that is traced uses the values that the trace has read: those of one moment.
        """
        plain = plain_arguments(call.dynamic, call.names)
        signature = self._classified(call, plain, same)
        known = self._programs.get(signature.key) or ClassPrograms()
        found = find_program(known, call, signature, self._classified)
        if found is not None:
            return found
        lazy_import("axiomjit.dispatch.tracing_calls")
        from axiomjit.dispatch.tracing_calls import trace_function

        changed = learn(known, call, self._wanted)
        scope = Scope(signature.values)
        self._traced += 1
        aspects = aspects_of(call, signature)
        self._reasons.add(aspects, tuple(known), len(known), signature.values, changed)
        self._reasons.warn_of_many(self._name)
        declared = self._shapes.names(call, plain) if self._shapes else None
        whole = (*call.dynamic, *(value for _, value in call.static))
        with self._following, stage("following"), _nothing_changes(self._function, whole):
            try:
                traced = trace_function(
                    self._function, call, signature, scope, self._wanted, declared
                )
            except Exception as error:
                if not may_be_tracing_error(error):
                    raise
                raise untraceable_error(self._name, error) from error.with_traceback(None)
        if self._shapes:
            shapes = [node.shape for node in traced.trace.graph.results]
            self._shapes.check_results(shapes, signature.declared, tuple(scope.guards))
        program = TracedProgram(traced, traced.signature, scope)
        names = traced.call.names[len(call.names) :]
        program.depend_on(Reads(traced.guards, traced.effects, None, names), signature.values)
        self._programs.add(signature.key, program)
        return Match(program, traced.vector, traced.call, traced.signature)

    def _warm_whole(self, args: Any, kwargs: Any) -> None:
        """As `warm`, of an instrumented function."""
        call = self._apart_whole(args, kwargs)
        key = exact_key(call, self._forget)
        if self._in_numpy or find_plan(self._outside_plans.get(key) or (), call) is not None:
            return
        try:
            with without_traps(), waiting():
                self._prepare_whole(key, call, None)
        except (NeedsValuesError, UnsupportedError) as error:
            if not self._falls_back(error):
                raise
        except UnfollowedError as error:
            raise raised(error) from None

    def _lower_whole(self, make: type[Lowered], args: Any, kwargs: Any) -> Lowered:
        """As `lower`, of an instrumented function."""
        call = self._apart_whole(args, kwargs)
        try:
            match = self._match(call)
        except OtherLengthError as error:
            raise length_refused(error).refusal_of(self._name) from None
        except UnfollowedError as error:
            raise raised(error) from None
        program = match.program
        guards, effects = program.reads.guards.described(), program.reads.effects
        lengths = program.lengths(match.signature.values)
        return make(program.stages, lengths, match.call.names, guards, effects)

    def guards(self) -> tuple[tuple[GuardInfo, ...], ...]:
        """The guards of each program: the outside values that it reads, and their conditions."""
        every = [p for programs in self._programs.values() for p in programs]
        return tuple(p.reads.guards.described() for p in every if getattr(p, "reads", None))
