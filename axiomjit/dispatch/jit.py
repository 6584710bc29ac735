"""`axiomjit.jit`: a NumPy function, traced once per signature and compiled.

An instrumented copy of the function is traced. A program is valid for a call if its guards on the
objects that the function reads outside hold. An unpickled function compiles when it is called, or
finds its kernels on disk.
"""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from types import FunctionType
from typing import TYPE_CHECKING, Any, Final, Generic, ParamSpec, TypeVar, cast, overload

from axiomjit.base.config import config, waiting
from axiomjit.base.counters import stage
from axiomjit.base.error_states import user_traps_errors, without_traps
from axiomjit.base.errors import (
    AxiomError,
    GraphTypeError,
    InterruptedWritesError,
    NeedsValuesError,
    UnfollowedError,
    UnsupportedError,
    amount,
)
from axiomjit.base.locks import lazy_import, new_lock, why_not_compile
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.origins import hide_frames, hides_frames
from axiomjit.base.tree import LIBRARIES, in_blocks
from axiomjit.dispatch.arguments import (
    CallArguments,
    Forms,
    are_arrays,
    axes_among,
    class_of,
    exact_key,
    exact_layout,
    foreign_classes,
    has_axes,
    in_numpy,
    plain_arguments,
    static_parameters,
    swapped_dtype,
    take_apart,
)
from axiomjit.dispatch.bound_methods import BoundMethod, reduced
from axiomjit.dispatch.caches import (
    MAX_LAYOUTS,
    MAX_SIGNATURES,
    ClassPrograms,
    CompiledCall,
    ProgramTable,
    Table,
    run_and_unflatten,
)
from axiomjit.dispatch.decorating import check_function, check_options
from axiomjit.dispatch.fallbacks import (
    DISABLED,
    ERROR_STATES,
    FOREIGN,
    NOT_NOW,
    CallsInNumPy,
    EqualPositions,
    FallbackToNumPy,
    OtherTruth,
    byteswapped,
    length_refused,
    may_be_tracing_error,
    numpy_call,
    raised,
    same_arrays,
    speculative_run,
    unstable_truth,
    untraceable_error,
    warn_of_fallback,
)
from axiomjit.dispatch.labelled_calls import MISSED, LabelledCalls
from axiomjit.dispatch.matching import (
    Found,
    Match,
    Tried,
    find_plan,
    find_program,
    learn,
    refuse_more_truths,
    with_plan,
)
from axiomjit.dispatch.pieces import WholeCalls
from axiomjit.dispatch.programs import TracedProgram
from axiomjit.dispatch.retrace_reasons import CacheInfo, RetraceReasons, aspects_of
from axiomjit.dispatch.signature import Classes, DeclaredShapes, Signature, classify
from axiomjit.dispatch.warm import no_named_arrays, stood_in
from axiomjit.functions.outside import Wanted
from axiomjit.functions.source_text import read_text, tell_text
from axiomjit.functions.sources import GuardInfo, Vector
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Scope

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Explanation, Lowered
    from axiomjit.dispatch.tracing_calls import TracedFunction


P = ParamSpec("P")
R = TypeVar("R")
_NAMED_CALLS: Final = "axiomjit.dispatch.named_calls"
"""The module for calls with named arrays, imported by the first of these calls."""


class Jitted(NativeCallable[R], Generic[P, R]):
    """A compiled NumPy function; call it like the wrapped function.

    Results are new arrays, or views where NumPy would return a view. Repeated calls with the same
    layout of arguments are answered natively if possible (`config.entry`).
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Run the compiled function."""

    def __init__(
        self,
        function: Callable[P, R],
        static_argnames: Sequence[str],
        strict: bool,
        shapes: str | None = None,
    ) -> None:
        """Wrap the function; the first call compiles it.

        Raises:
            GraphTypeError: the object is a class, a coroutine or generator, or not callable.
        """
        check_function(function)
        name = getattr(function, "__qualname__", type(function).__qualname__)
        self.__setstate__((function, name, frozenset(), strict, None, {}, None))
        if type(function) is FunctionType:
            read_text(function)
        self._static = static_parameters(static_argnames, self._signature, name)
        if shapes:
            self._shapes = DeclaredShapes(shapes, self._signature, self._static)

    def __setstate__(self, state: Any) -> None:
        """Restore the function; if it refers to itself, some parts are unpickled later."""
        function, self._name, self._static, self._strict, shapes, more, text = state
        functools.update_wrapper(self, function)
        self._function, self._shapes = function, shapes
        self._traced_among = lazy_import("axiomjit.tracing.trace").traced_among
        vars(self).update(more)
        if text is not None:
            tell_text(function.__code__, text)
        self.restart()  # a compiled function has copied its own entry into this one
        self._plans: Table[tuple[CompiledCall, ...]] = Table(MAX_LAYOUTS)
        self._programs = ProgramTable(MAX_SIGNATURES)
        self._wanted = Wanted(None if self._strict else function)
        self._reasons = RetraceReasons()
        self._following = new_lock()
        self._in_numpy = self._writes = self._identifies = self._warned = False
        self._numpy_calls = CallsInNumPy()
        self._whole = WholeCalls(function, self._name, self._numpy_calls, self._wanted, jit)
        self._hits = self._bound = self._traced = 0
        self._foreign: set[object] = set()
        self._seen_signature: inspect.Signature | None = None
        self._forms, self._classes, self._labelled = Forms(), Classes(), LabelledCalls()

    @property
    def _signature(self) -> inspect.Signature:
        self._seen_signature = self._seen_signature or inspect.signature(self._function)
        return self._seen_signature

    def _apart(self, args: Any, kwargs: Mapping[str, Any], named: bool = False) -> CallArguments:
        forms = None if named else self._forms
        return take_apart(self._signature, self._static, args, kwargs, forms, self._name, not named)

    def drop_tables(self, kernel: object = None) -> None:
        """Drop all guard tables, also the tables of calls with labelled arrays."""
        super().drop_tables(kernel)
        self._labelled.clear()

    def __repr__(self) -> str:
        name, calls = getattr(self, "__name__", self._name), self._numpy_calls.in_words()
        return f"<jit {name}, {amount(self._programs.count(), 'program')}{calls}>"

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """Return a bound method, whose instance is a static argument."""
        return self if owner is None else BoundMethod(cast(Any, self), owner)

    # Calls

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that no native guard table has answered."""
        if kwargs or not are_arrays(args):
            if not kwargs and (found := self._labelled.answer(args)) is not MISSED:
                return found
            if (plain := in_numpy(args, kwargs)) is not None:
                return self(*plain[0], **plain[1])
        if (self._in_numpy or user_traps_errors()) and not (
            (kwargs or not are_arrays(args)) and has_axes((*args, *kwargs.values()))
        ):
            if self._in_numpy:
                return self._whole.run(args, kwargs)
            self._numpy_calls.count(ERROR_STATES)
            return self._function(*args, **kwargs)
        if self._foreign and self._warned and self._is_foreign((*args, *kwargs.values())):
            self._numpy_calls.count(FOREIGN)
            return self._function(*args, **kwargs)
        quick = None if kwargs or self._static else exact_layout(args)
        if quick is None and axes_among((*args, *kwargs.values())):
            return self._call_named(args, kwargs)
        plans = None if self._writes or self._identifies else self._plans.get(quick)
        if plans and plans[0].is_simple and plans[0].holds():
            reads = plans[0].outside
            vector = None if reads is None else reads.guards.read(args)
            if vector is not None:
                return self._run_simply(plans[0], args, vector)
        return self._call(args, kwargs)

    def _run_simply(self, compiled: CompiledCall, args: Any, vector: Vector) -> Any:
        """Run the plan of a call that has only plain arrays and changes nothing."""
        self._hits += 1
        result = run_and_unflatten(compiled, args, vector=vector)
        if self.wants_guard():
            self._guard(compiled, self._apart(args, {}), args, {}, vector)
        return result

    def _is_foreign(self, values: Sequence[object]) -> bool:
        """True if the class of an argument is known to be one that cannot be compiled."""
        known = not self._static and not self._foreign.isdisjoint(map(class_of, values))
        return known and not has_axes(values)

    def _call(self, args: Any, kwargs: Mapping[str, Any], tried: Tried | None = None) -> Any:
        """Answer a call without named arrays; programs that were tried are left out."""
        call = self._apart(args, kwargs)
        given = call.every_value()
        if self._traced_among(given):
            return self._function(*args, **kwargs)
        if not are_arrays(given) and (library := in_blocks(given)) is not None:
            return library.answer(self._traced_whole(call, library))
        same = self._same_arrays(call)
        key = self._key(call, same)
        found = find_plan(self._plans.get(key) or (), call, tried)
        known, why = found is not None, list[UnfollowedError]()
        if found is None:
            if self._cannot_compile():
                return self._function(*args, **kwargs)
            identified = self._identifies
            try:
                found = self._prepare(key, call, same, tried)
            except FallbackToNumPy as fallback:
                return self._run_in_numpy(fallback, args, kwargs)
            except (NeedsValuesError, UnsupportedError) as error:
                if not self._falls_back(error):
                    raise
                return self._whole.run(args, kwargs)
            except UnfollowedError as error:
                why = [error.with_traceback(None)]
            if self._identifies and not identified:  # the trace took all arrays for different
                return self._call(args, kwargs, tried)
        if found is None:
            return self._run_untraceable(why, args, kwargs)
        self._hits += known
        if found.compiled.writes and not self._writes:
            self._writes = True
            return self._call(args, kwargs, tried)
        try:
            return self._run(found, call, same, known, args, kwargs)
        except OtherTruth as other:
            tried = tried or Tried()
            tried.add(found.compiled.decisions, other.known)
        return self._call(args, kwargs, tried)

    def _same_arrays(self, call: CallArguments) -> EqualPositions | None:
        """The positions of equal arrays if programs depend on them; otherwise None."""
        if not (self._writes or self._identifies):
            return None
        return same_arrays(call.dynamic, self._identifies)

    def _key(self, call: CallArguments, same: EqualPositions | None) -> object:
        other = call.static or call.is_labelled or not are_arrays(call.dynamic)
        quick = None if other else exact_layout(call.dynamic)
        key = quick or exact_key(call, self._forget)
        return key if same is None else (key, same)

    def _run(
        self,
        found: Found,
        call: CallArguments,
        same: EqualPositions | None,
        known: bool,
        args: Any,
        kwargs: Mapping[str, Any],
    ) -> Any:
        """Run the plan of a call, or fall back to NumPy; `known` is true if the plan was stored."""
        compiled, extended = found.compiled, found.call
        if same is not None:
            same = (*same, *range(len(same), len(extended.dynamic)))
        arguments = found.plain
        if arguments is None:
            arguments = compiled.prepared(extended.dynamic, extended.names)
        try:
            result = speculative_run(compiled, arguments, extended, same, found.vector)
        except FallbackToNumPy as fallback:
            return self._run_in_numpy(fallback, args, kwargs)
        if not known and config.disable:
            self._numpy_calls.count(DISABLED)
        if same is None and compiled.is_guarded and not config.disable:
            varies = not known and compiled.integers and compiled.integers.vary(arguments)
            if varies or (known and self.wants_guard()):
                self._guard(compiled, call, args, kwargs, found.vector, any_integers=bool(varies))
        return result

    def _run_in_numpy(self, fallback: FallbackToNumPy, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Run one call in NumPy, count it, and warn with the reason."""
        reason = fallback.counted(self._name, self._strict, self._numpy_calls)
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=True)
        result = self._function(*args, **kwargs)
        if self._strict and reason.refusal is not None:
            raise reason.refusal_of(self._name)
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=False)
        return result

    def _guard(
        self,
        compiled: CompiledCall,
        call: CallArguments,
        args: Any,
        kwargs: Mapping[str, Any],
        values: Vector,
        any_integers: bool = False,
    ) -> None:
        """Add a native guard table for calls like this one, if possible."""
        late = lazy_import("axiomjit.dispatch.guards")
        if late.is_native():
            target: Any = self
            labelled = None if kwargs else self._labelled.callable_of(args)
            if labelled is None:
                order = late.order_of(self._signature, args, kwargs)
            else:
                (target, args), order = labelled, range(len(call.dynamic))
            rest = args, kwargs, self._identifies, values, any_integers
            with suppress(OverflowError):  # a length in a comparison does not fit into a table
                late.guard_call(target, compiled, call, order, *rest)

    def _run_untraceable(
        self, errors: list[UnfollowedError], args: Any, kwargs: Mapping[str, Any]
    ) -> Any:
        """The result of a call, from NumPy, if the function could not be traced."""
        how = self._strict, self._wanted.has_effects
        result, reason, cause = self._whole.run_untraceable(errors, args, kwargs, *how)
        if self._falls_back(reason):
            self._numpy_calls.count(cause)
        return result

    def _falls_back(self, error: AxiomError) -> bool:
        """True if later calls run without a program; otherwise the error is raised."""
        if self._whole.take_over(error, self._strict):
            self._in_numpy = True
            self.drop_tables()
        return self._in_numpy

    def _cannot_compile(self) -> bool:
        """True if this thread is inside a compilation; the call is then counted."""
        now = why_not_compile()
        if now is not None:
            self._numpy_calls.reasons[NOT_NOW] = now
            self._numpy_calls.count(NOT_NOW)
        return now is not None

    def _traced_whole(self, call: CallArguments, library: Any) -> Any:
        """The function traced for a call with arrays in blocks."""
        late, self._traced = lazy_import("axiomjit.dispatch.chunked_calls"), self._traced + 1
        return late.traced_whole(self._name, call, library, self._classified, self._trace)

    # Plans and programs

    def _prepare(
        self, key: object, call: CallArguments, same: EqualPositions | None, tried: Tried | None
    ) -> Found:
        """The plan for a layout and the current outside values, stored for later calls."""
        known = self._plans.get(key)
        if known and not all(one.holds() for one in known):
            self.drop_tables()
        with self._reasons.clock.running():
            try:
                found = self._bind(call, same, tried)
            except (InterruptedWritesError, OtherLengthError) as error:
                found = Found(numpy_call(error), [], call)
            except GraphTypeError as error:
                if self._strict or config.fallback == "error":
                    raise
                found = Found(numpy_call(error), [], call)
                self._foreign |= foreign_classes(call.dynamic)
        self._keep(key, found.compiled)
        return found

    def _keep(self, key: object, compiled: CompiledCall) -> None:
        self._bound += 1
        if not config.disable:
            self._plans.keep(key, with_plan(self._plans.get(key) or (), compiled))

    def _bind(self, call: CallArguments, same: EqualPositions | None, tried: Tried | None) -> Found:
        """A new plan for a layout of arguments that has no plan yet."""
        if (swapped := swapped_dtype(call.dynamic)) is not None:
            return Found(byteswapped(swapped), [], call)
        with self._following:  # other threads wait, and find the program
            match = self._match(call, same, tried)
        as_is = all(new is old for new, old in zip(match.plain, match.call.dynamic, strict=True))
        inputs = match.call.dynamic[len(call.dynamic) :]
        reads, counters = match.program.reads, match.program.counters
        reads = reads.replace(layout=reads.layout_of(inputs, len(call.dynamic), counters))
        compiled = match.program.compiled_call(match.signature.values, as_is, reads)
        return Found(compiled, match.vector, match.call, match.plain)

    def _classified(
        self, call: CallArguments, plain: Sequence[object], same: EqualPositions | None = None
    ) -> Signature:
        """The signature of a call, with the declared shapes checked."""
        names = self._shapes.names(call, plain) if self._shapes else None
        return classify(call, plain, self._classes, self._forget, names, same)

    def _match(
        self, call: CallArguments, same: EqualPositions | None = None, tried: Tried | None = None
    ) -> Match:
        """The program for a call; the function is traced if there is none.

        A traced call runs with the outside values of its trace: all are from the same moment.
        """
        plain = plain_arguments(call.dynamic, call.names)
        signature = self._classified(call, plain, same)
        known = self._programs.get(signature.key) or ClassPrograms()
        found = find_program(known, call, plain, signature, self._classified, tried)
        if found is not None:
            return found
        changed = learn(known, call, self._wanted)
        if tried is not None:
            refuse_more_truths(known, tried, signature)
            changed = f"another truth at {tried.where()}"
        scope = Scope(signature.values)
        self._traced += 1
        aspects = aspects_of(call, signature)
        self._reasons.add(aspects, tuple(known), len(known), signature.values, changed)
        self._reasons.warn_of_many(self._name)
        traced = self._trace(call, plain, signature, scope)
        if tried is not None and not tried.allows(traced.trace.decisions):
            raise unstable_truth(tried.where())
        self._identifies = self._identifies or traced.identifies
        if self._shapes:
            shapes = [node.shape for node in traced.trace.graph.results]
            self._shapes.check_results(shapes, signature.declared, tuple(scope.guards))
        program = TracedProgram(traced, scope, signature.values)
        self._programs.add(signature.key, program)
        inputs = traced.call.dynamic[len(call.dynamic) :]
        whole = (*plain, *plain_arguments(inputs, traced.outside_names))
        return Match(program, traced.vector, traced.call, traced.signature, whole)

    def _trace(
        self, call: CallArguments, plain: Sequence[object], signature: Signature, scope: Scope
    ) -> TracedFunction:
        """Trace the function for a call.

        Raises:
            UnfollowedError: the function raises an error while it is traced.
            FallbackToNumPy: the function raises an error after it has asked for a truth value.
        """
        lazy_import("axiomjit.dispatch.tracing_calls")
        from axiomjit.dispatch.tracing_calls import nothing_changes, trace_function

        declared = self._shapes.names(call, plain) if self._shapes else None
        whole = call.every_value()
        with self._following, stage("following"), nothing_changes(self._function, whole):
            try:
                return trace_function(
                    self._function, call, signature, scope, self._wanted, declared
                )
            except Exception as error:
                if isinstance(error, InterruptedWritesError | OtherLengthError) and scope.computed:
                    raise FallbackToNumPy(None) from None
                if not may_be_tracing_error(error):
                    raise
                raise untraceable_error(self._name, error) from error.with_traceback(None)

    def _forget(self, dead: object) -> None:
        """Drop the plans and programs of a static argument that was freed."""
        self._plans.forget(dead)
        self._programs.forget(dead)

    # Named arrays

    def _call_named(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Answer a call with named arrays; the trace has tensors in place of these arrays."""
        call = self._apart(args, kwargs, named=True)
        given = call.every_value()
        if any(isinstance(v, AxisValue) for v in given) or self._traced_among(given):
            return self._function(*args, **kwargs)
        late = lazy_import(_NAMED_CALLS)
        key = late.exact_named_key(call, self._forget)
        (compiled,) = self._plans.get(key) or (None,)
        self._hits += compiled is not None
        if compiled is None:
            with self._reasons.clock.running():
                compiled = self._named_program(call).compiled_call()
            self._keep(key, compiled)
        return late.run_and_unflatten_named(compiled, call.dynamic)

    def _named_program(self, call: CallArguments) -> Any:
        late = lazy_import(_NAMED_CALLS)

        def build() -> Any:
            self._traced += 1
            self._reasons.add(late.named_aspects(call))
            self._reasons.warn_of_many(self._name)
            return late.NamedProgram(self._function, call, self._reasons.clock)

        return self._programs.find(late.named_key(call, self._forget), {}, build)

    # Pickles and reports

    def __reduce__(self) -> tuple[Any, ...] | str:
        """Pickle the name if it leads to this object, otherwise pickle the wrapped function."""
        options = self._static, self._strict, self._shapes
        return reduced(self, self._function, self._name, options, sys._getframe().f_back)

    @hides_frames
    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """All stages of the program for these arguments, without running it.

        The result has the attributes .graph .views .loops .source .llvm .asm and .cost.

        Raises:
            NeedsValuesError: NumPy runs these calls, so there is no program. Arguments or operands
                that do not fit raise the errors of a call.
        """
        lazy_import("axiomjit.debug.lowered")
        from axiomjit.debug.lowered import Lowered

        plain: Any = in_numpy(args, kwargs)
        if plain is not None:
            return self.lower(*plain[0], **plain[1])
        if axes_among((*args, *kwargs.values())):
            named = self._apart(args, kwargs, named=True)
            return cast("Lowered", self._named_program(named).lower(named))
        call = self._apart(args, kwargs)
        try:
            match = self._match(call)
        except FallbackToNumPy as fallback:
            raise fallback.refusal_of(self._name) from None
        except OtherLengthError as error:
            raise length_refused(error).refusal_of(self._name) from None
        except UnfollowedError as error:
            raise raised(error) from None
        program = match.program
        lengths = program.lengths(match.signature.values)
        guards = [one for one in program.reads.guards.described() if not one.seldom]
        of_reads = guards, program.reads.effects, program.loops
        return Lowered(program.stages, lengths, match.call.names, *of_reads)

    @hides_frames
    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """The program for these arguments and its cost, or why Python runs it: text or HTML."""
        late, how = lazy_import("axiomjit.dispatch.explaining"), (self._wanted, self._strict)
        return late.explained(self, self._whole, *how, args, kwargs)  # type: ignore[no-any-return]

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """Trace and compile the function for arguments like these, without running it.

        An array is described by `axiomjit.spec(shape, dtype, layout)`, or is passed itself; its
        elements are not read. Numbers, static arguments and containers are passed as in a call. A
        later call with arguments of this kind compiles nothing.

        Raises:
            GraphTypeError, GraphValueError: arguments do not fit, as in a call.
            GraphTypeError: an argument has named axes.
        """
        try:  # `hides_frames` would be one more call
            if kwargs or not are_arrays(args):
                args, kwargs = stood_in(in_numpy(args, kwargs) or (args, kwargs))
                if axes_among((*args, *kwargs.values())):
                    raise no_named_arrays(self._name)
            call = self._apart(args, kwargs)
            key = self._key(call, None)
            if self._in_numpy or find_plan(self._plans.get(key) or (), call) is not None:
                return
            try:
                # Error states of this moment may not hold in calls.
                with without_traps(), waiting():
                    self._prepare(key, call, None, None)
            except (NeedsValuesError, UnsupportedError) as error:
                if not self._falls_back(error):
                    raise
            except UnfollowedError as error:
                raise raised(error) from None
        except Exception as error:
            hide_frames(error)
            raise

    def cache_info(self) -> CacheInfo:
        """The counts of calls, and the reason why each program was made (`CacheInfo`)."""
        hits = self._hits + self.hits_natively[0] + self._labelled.hits
        return self._reasons.info(hits, self._bound, self._traced, self._numpy_calls)

    @hides_frames
    def axes_report(self, *args: Any, **kwargs: Any) -> str:
        """The classes of axes of Dask arrays or `spec(..., chunks=...)`, and the call's stages."""
        dask: Any = LIBRARIES["dask"].blocks
        call = self._apart(*dask.described((args, kwargs)))
        return str(dask.report(self._traced_whole(call, dask)))

    def guards(self) -> tuple[tuple[GuardInfo, ...], ...]:
        """The guards of each program: outside values, and the conditions on them."""
        every = [p for programs in self._programs.values() for p in programs]
        return tuple(p.reads.guards.described() for p in every if isinstance(p, TracedProgram))


@overload
def jit(
    fn: Callable[P, R],
    *,
    static_argnames: Sequence[str] = ...,
    shapes: str | None = ...,
    strict: bool = ...,
) -> Jitted[P, R]: ...


@overload
def jit(
    fn: None = None,
    *,
    static_argnames: Sequence[str] = ...,
    shapes: str | None = ...,
    strict: bool = ...,
) -> Callable[[Callable[P, R]], Jitted[P, R]]: ...


@hides_frames
def jit(
    fn: Callable[P, R] | None = None,
    *,
    static_argnames: Sequence[str] = (),
    shapes: str | None = None,
    strict: bool = False,
    **others: object,
) -> Jitted[P, R] | Callable[[Callable[P, R]], Jitted[P, R]]:
    """Compile a NumPy function into fused loops.

    The function is traced once per signature (dtypes, ranks, lengths that are equal or at most 4,
    kinds of strides); another length needs no new compilation. Arrays and numbers are traced, also
    inside tuples, lists, dicts, dataclasses and instances of your classes. Values from arguments or
    outside names that are not traced are compared in each call; a new value causes a new trace.
    Parameters in `static_argnames` are constants of a program. Results may be in containers. Named
    arrays are traced as tensors, by their axes; tensors in the result become named arrays.

    Args:
        fn: The function; without it, `jit` is a decorator with options.
        static_argnames: Parameters whose values are constants of the program.
        shapes: The shapes of all parameters that are not static, and after `->` the shapes of the
            results. A letter is a length, 1 a dimension to broadcast, and ... any number of leading
            dimensions. One program is then valid for all calls whose lengths are 2 or more.
        strict: True to raise an error, instead of a warning and a run in NumPy, if the function
            needs values, has an untraceable effect, or writes into overlapping arguments.
        others: Options of other compilers, which raise an error that names our option.

    Raises, when called:
        NeedsValuesError: under `strict`, the function needs values while it is traced.
        UnsupportedError: under `strict`, a called function cannot be compiled.
        GraphTypeError, GraphValueError: operands do not fit, as in NumPy, or violate `shapes`.
        TraceError: a traced array is stored and used in a later call.

    Examples:
        >>> @aj.jit
        ... def distance(x, y):
        ...     return np.sqrt(((x - y) ** 2).sum())
        >>> x = np.arange(4.0)
        >>> float(distance(x, x + 1))
        2.0
        >>> distance
        <jit distance, 1 program>
        >>> distance.lower(x, x + 1).cost.temporary_bytes  # x - y is never stored
        0

        Options are given to the decorator; here `power` decides what is compiled.
        >>> @aj.jit(static_argnames="power")
        ... def scaled(x, power):
        ...     return x * 2 if power == 1 else x**power
        >>> scaled(x, power=2)
        array([0., 1., 4., 9.])

        >>> outer = aj.jit(lambda x, y: x[:, None] * y, shapes="i,j->ij")
        >>> outer(np.ones(2), np.ones(3)).shape, outer.cache_info().reasons
        ((2, 3), ('first call',))
    """
    check_options(static_argnames, shapes, strict, others)
    if fn is None:
        return hides_frames(lambda function: Jitted(function, static_argnames, strict, shapes))
    return Jitted(fn, static_argnames, strict, shapes)
