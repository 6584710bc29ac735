"""`axiomjit.jit`: a NumPy function, traced once per signature and compiled.

A compiled function is pickled by its name, or by the function and the options of `jit`, without
programs, kernels, native entries or locks. The unpickled function compiles when called, or finds
its kernels on disk. `pickle` takes functions by name, `cloudpickle` also by value those that no
other process could import: of `__main__`, lambdas and closures. A function importable by its name
is pickled the way the pickler treats plain functions.
"""

from __future__ import annotations

import copyreg
import functools
import inspect
import sys
from collections.abc import Callable, Mapping, Sequence
from types import FrameType
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
from axiomjit.dispatch.arguments import (
    CallArguments,
    Forms,
    are_arrays,
    class_of,
    exact_key,
    exact_layout,
    foreign_classes,
    has_axes,
    plain_arguments,
    static_parameters,
    swapped_dtype,
    take_apart,
)
from axiomjit.dispatch.caches import (
    CLASSES,
    LAYOUTS,
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
    WHOLE,
    CallsInNumPy,
    FallbackToNumPy,
    Same,
    byteswapped,
    falls_back,
    length_refused,
    may_be_tracing_error,
    numpy_call,
    raised,
    run_untraceable,
    same_arrays,
    short_reason,
    speculative_run,
    untraceable_error,
    warn_of_fallback,
)
from axiomjit.dispatch.outside_calls import OutsideCalls, axes_among
from axiomjit.dispatch.programs import TracedProgram
from axiomjit.dispatch.retrace_reasons import CacheInfo, RetraceReasons, aspects_of
from axiomjit.dispatch.signature import Classes, DeclaredShapes, Signature, classify
from axiomjit.dispatch.warm import no_named_arrays, stood_in
from axiomjit.functions.sources import GuardInfo, Vector
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Scope

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Explanation, Lowered


class BoundMethod(functools.partial[Any]):
    """A compiled method of an instance."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """As `Jitted.lower`."""
        jitted: Any = self.func
        return cast("Lowered", jitted.lower(*self.args, *args, **kwargs))

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """As `Jitted.explain`."""
        jitted: Any = self.func
        return cast("Explanation", jitted.explain(*self.args, *args, **kwargs))

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """As `Jitted.warm`."""
        jitted: Any = self.func
        jitted.warm(*self.args, *args, **kwargs)

    def guards(self) -> tuple[tuple[GuardInfo, ...], ...]:
        """As `Jitted.guards`."""
        jitted: Any = self.func
        return cast("tuple[tuple[GuardInfo, ...], ...]", jitted.guards())

    def cache_info(self) -> CacheInfo:
        """As `Jitted.cache_info`: the calls on all instances."""
        jitted: Any = self.func
        return cast("CacheInfo", jitted.cache_info())


P = ParamSpec("P")
R = TypeVar("R")
_NAMED_CALLS: Final = "axiomjit.dispatch.named_calls"
"""The module for calls with named arrays; other calls do not import it, nor the axis language."""


class Jitted(OutsideCalls[R], Generic[P, R]):
    """A compiled NumPy function; call it like the wrapped function.

    Results are new arrays, or views if NumPy would return one. Repeated calls with one layout of
    arguments are answered natively if possible (`config.entry`).
    """

    if TYPE_CHECKING:

        def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
            """Run."""

    def __init__(
        self,
        function: Callable[P, R],
        static_argnames: Sequence[str],
        strict: bool,
        shapes: str | None = None,
    ) -> None:
        """Wrap the function; the first call compiles it.

        Raises:
            GraphTypeError: it is a class, a coroutine, a generator function, or not a function.
        """
        check_function(function)
        name = getattr(function, "__qualname__", type(function).__qualname__)
        self.__setstate__((function, name, frozenset(), strict, None, {}))
        self._static = static_parameters(static_argnames, self._signature, name)
        if shapes:
            self._shapes = DeclaredShapes(shapes, self._signature, self._static)

    def __setstate__(self, state: Any) -> None:
        """Restore; if the function refers to itself, parts of it are unpickled later."""
        function, self._name, self._static, self._strict, shapes, more = state
        functools.update_wrapper(self, function)
        self._function, self._shapes = function, shapes
        self._traced_among = lazy_import("axiomjit.tracing.holders").traced_among
        vars(self).update(more)
        self.restart()  # a compiled function has copied its own entry into this one
        self._plans: Table[CompiledCall] = Table(LAYOUTS)
        self._programs = ProgramTable(CLASSES)
        self._reasons = RetraceReasons()
        self._following = new_lock()
        self._in_numpy = self._writes = self._warned = False
        self._numpy_calls = CallsInNumPy()
        self._identifies: bool | None = None
        self._hits = self._bound = self._traced = 0
        self._foreign: set[object] = set()
        self._seen_signature: inspect.Signature | None = None
        self._forms, self._classes = Forms(), Classes()

    @property
    def _signature(self) -> inspect.Signature:
        self._seen_signature = self._seen_signature or inspect.signature(self._function)
        return self._seen_signature

    def _apart(self, args: Any, kwargs: Mapping[str, Any]) -> CallArguments:
        return take_apart(self._signature, self._static, args, kwargs, self._forms, self._name)

    def __repr__(self) -> str:
        programs = amount(self._programs.count(), "program")
        name = getattr(self, "__name__", self._name)
        return f"<jit {name}, {programs}{self._numpy_calls.in_words()}>"

    def __get__(self, owner: object, kind: type | None = None) -> Any:
        """A bound method; the instance is a static argument."""
        return self if owner is None else BoundMethod(cast(Any, self), owner)

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The result of a call that no native guard has answered."""
        if (self._in_numpy or user_traps_errors()) and not (
            (kwargs or not are_arrays(args)) and has_axes((*args, *kwargs.values()))
        ):
            if self._in_numpy:
                self._numpy_calls.count_whole()
            else:
                self._numpy_calls.count(ERROR_STATES)
            return self._function(*args, **kwargs)
        if self._foreign and self._warned and self._is_foreign((*args, *kwargs.values())):
            self._numpy_calls.count(FOREIGN)
            return self._function(*args, **kwargs)
        quick = None if kwargs or self._static else exact_layout(args)
        compiled = self._plans.get(quick)
        if (
            compiled is None
            or self._identifies
            or not (compiled.is_simple and compiled.plain and compiled.holds())
        ):
            return self._call(quick, args, kwargs)
        self._hits += 1
        result = run_and_unflatten(compiled, args)
        if self.wants_guard():
            self._guard(compiled, self._apart(args, {}), args, {})
        return result

    def _is_foreign(self, values: Sequence[object]) -> bool:
        """True if an argument's class is known not to be compiled."""
        known = not self._static and not self._foreign.isdisjoint(map(class_of, values))
        return known and not has_axes(values)

    def _guard(
        self,
        compiled: CompiledCall,
        call: CallArguments,
        args: Any,
        kwargs: Any,
        values: Vector | None = None,
    ) -> None:
        """Answer calls like this one natively from now on, if possible."""
        late = lazy_import("axiomjit.dispatch.guards")
        if late.is_native():
            order = late.order_of(self._signature, args, kwargs)
            distinct = bool(self._identifies)
            late.guard_call(self, compiled, call, order, args, kwargs, distinct, values)

    def _call(self, quick: object, args: Any, kwargs: Any) -> Any:
        """Answer a call with other arguments than plain arrays, or the first of its layout."""
        whole = self._instrumented is not False and not axes_among((*args, *kwargs.values()))
        if whole and self._instrumented is None and self._cannot_compile():
            return self._function(*args, **kwargs)
        if whole and self._is_instrumented():
            return self._call_whole(args, kwargs)
        call = self._apart(args, kwargs)
        given = (*call.dynamic, *(value for _, value in call.static))
        if any(isinstance(v, AxisValue) for v in given) or self._traced_among(given):
            return self._function(*args, **kwargs)
        named = has_axes(call.dynamic)
        same = None
        if self._identifies is None and not named and self._cannot_compile():
            return self._function(*args, **kwargs)
        if (self._writes or self._looks_at_identity()) and not named:
            same = same_arrays(call.dynamic, bool(self._identifies))
        exact = lazy_import(_NAMED_CALLS).exact_named_key if named else exact_key
        key = quick or exact(call, self._forget)
        key = key if same is None else (key, same)
        compiled = self._plans.get(key)
        known = compiled is not None and compiled.holds()
        if compiled is not None and known:
            self._hits += 1
            arguments = compiled.prepared(call.dynamic, call.names)
        elif not named and self._cannot_compile():
            return self._function(*args, **kwargs)
        else:
            try:
                compiled, arguments = self._prepare(key, call, named, same)
            except (NeedsValuesError, UnsupportedError) as error:
                compiled, why = None, []
                if named or not (self._becomes_instrumented() or self._falls_back(error)):
                    raise
            except UnfollowedError as error:
                compiled, why = None, [error.with_traceback(None)]
        if compiled is None:
            return self._run_otherwise(why, args, kwargs)
        if named:
            return lazy_import(_NAMED_CALLS).run_and_unflatten_named(compiled, arguments)
        if compiled.writes and not self._writes:
            self._writes = True
            return self._call(quick, args, kwargs)
        try:
            result = speculative_run(compiled, arguments, call, same)
        except FallbackToNumPy as fallback:
            reason = fallback.counted(self._name, self._strict, self._numpy_calls)
        else:
            if not known and config.disable:
                self._numpy_calls.count(DISABLED)
            if known and same is None and compiled.is_guarded and self.wants_guard():
                self._guard(compiled, call, args, kwargs)
            return result
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=True)
        result = self._function(*args, **kwargs)
        self._warned = self._warned or warn_of_fallback(self._name, reason, before=False)
        return result

    def _run_otherwise(self, errors: list[UnfollowedError], args: Any, kwargs: Any) -> Any:
        """Answer a call for which the function as it is could not be traced."""
        if errors:
            return self._run_untraceable(errors, args, kwargs)
        if not self._in_numpy:
            return self._call_whole(args, kwargs)
        self._numpy_calls.count_whole()
        return self._function(*args, **kwargs)

    def _run_untraceable(
        self, errors: list[UnfollowedError], args: Any, kwargs: Mapping[str, Any]
    ) -> Any:
        """NumPy's result of a call for which the function could not be traced."""
        run = functools.partial(self._function, *args, **kwargs)
        result, reason = run_untraceable(run, errors, self._strict)
        if self._falls_back(reason):
            self._numpy_calls.count_whole()
        return result

    def _cannot_compile(self) -> bool:
        """True inside a compilation of this thread; such a call is counted."""
        now = why_not_compile()
        if now is not None:
            self._numpy_calls.reasons[NOT_NOW] = now
            self._numpy_calls.count(NOT_NOW)
        return now is not None

    def _looks_at_identity(self) -> bool:
        """True if the function may compare the identity of two arguments."""
        if self._identifies is None:
            late = lazy_import("axiomjit.tracing.rebinding")
            self._identifies = bool(late.compares_identity(self._function))
        return self._identifies

    def _prepare(
        self, key: object, call: CallArguments, named: bool, same: Same | None
    ) -> tuple[CompiledCall, Sequence[object]]:
        """The compiled call for a layout, cached for later calls, and the converted arguments."""
        if key in self._plans:  # a captured array has changed
            self.drop_tables()
        with self._reasons.clock.running():
            try:
                compiled, arguments = self._bind(call, same, named)
            except (InterruptedWritesError, OtherLengthError) as error:
                compiled, arguments = numpy_call(error), call.dynamic
            except GraphTypeError as error:
                if named or self._strict or config.fallback == "error":
                    raise
                compiled, arguments = numpy_call(error), call.dynamic
                self._foreign |= foreign_classes(call.dynamic)
        self._bound += 1
        if not config.disable:
            self._plans.keep(key, compiled)
        return compiled, arguments

    def _forget(self, dead: object) -> None:
        """Drop the caches of a dead static argument."""
        self._plans.forget(dead)
        self._programs.forget(dead)

    def __reduce__(self) -> tuple[Any, ...] | str:
        """Pickle by name if the name finds this object; else by the wrapped function."""
        options = self._static, self._strict, self._shapes
        return reduced(self, self._function, self._name, options, sys._getframe().f_back)

    def lower(self, *args: P.args, **kwargs: P.kwargs) -> Lowered:
        """All stages of the program for these arguments; nothing is run.

        The result has .graph .views .loops .source .llvm .asm and .cost.

        Raises:
            NeedsValuesError: NumPy runs such calls, with a warning or without, so there is no
                program. The errors of a call whose arguments or operands do not fit.
        """
        lazy_import("axiomjit.debug.lowered")
        from axiomjit.debug.lowered import Lowered

        known = self._instrumented is not False and self._is_instrumented()
        if known and not axes_among((*args, *kwargs.values())):
            return self._lower_whole(Lowered, args, kwargs)
        call = self._apart(args, kwargs)
        if has_axes(call.dynamic):
            return cast("Lowered", self._named_program(call).lower(call))
        signature = self._classified(call, plain_arguments(call.dynamic, call.names))
        try:
            program: TracedProgram | None = self._program(call, signature)
        except NeedsValuesError:
            if not self._becomes_instrumented():
                raise
            program = None
        except OtherLengthError as error:
            raise length_refused(error).refusal_of(self._name) from None
        except UnfollowedError as error:
            raise raised(error) from None
        if program is None:
            return self._lower_whole(Lowered, args, kwargs)
        return Lowered(program.stages, program.lengths(signature.values), call.names)

    def explain(self, *args: P.args, **kwargs: P.kwargs) -> Explanation:
        """The stages and the cost of the program for these arguments, as text or `.html()`."""
        late, lowered = lazy_import("axiomjit.debug.lowered"), self.lower(*args, **kwargs)
        made: Explanation = late.Explanation(self._name, lowered)
        return made

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """Trace and compile for arguments like these, without running.

        Arrays are described by `axiomjit.spec(shape, dtype, layout)`, or given; their elements are
        not read. Everything else is passed as in a call: numbers, static arguments, containers of
        them. A later call with such arguments compiles nothing.

        Raises:
            The errors of a call: GraphTypeError and GraphValueError if arguments do not fit.
            GraphTypeError: an argument has named axes.
        """
        if kwargs or not are_arrays(args):
            args, kwargs = stood_in((args, kwargs))
        known = self._instrumented is not False and self._is_instrumented()
        if known and not axes_among((*args, *kwargs.values())):
            self._warm_whole(args, kwargs)
            return
        call = self._apart(args, kwargs)
        if has_axes(call.dynamic):
            raise no_named_arrays(self._name)
        quick = None if kwargs or self._static else exact_layout(args)
        key = quick or exact_key(call, self._forget)
        compiled = self._plans.get(key)
        if self._in_numpy or (compiled is not None and compiled.holds()):
            return
        try:
            with without_traps(), waiting():  # error states of this moment may not hold in calls
                self._prepare(key, call, named=False, same=None)
        except (NeedsValuesError, UnsupportedError) as error:
            if not self._becomes_instrumented() and not self._falls_back(error):
                raise
        except UnfollowedError as error:
            raise raised(error) from None
        if self._instrumented:
            self._warm_whole(args, kwargs)

    def cache_info(self) -> CacheInfo:
        """The counts of answered calls, and the reason for each program (`CacheInfo`)."""
        hits = self._hits + self.hits_natively[0]
        return self._reasons.info(hits, self._bound, self._traced, self._numpy_calls)

    def _classified(
        self, call: CallArguments, plain: Sequence[object], same: Same | None = None
    ) -> Signature:
        """The signature of a call, checked against the declared shapes."""
        names = self._shapes.names(call, plain) if self._shapes else None
        return classify(call, plain, self._classes, self._forget, names, same)

    def _bind(
        self, call: CallArguments, same: Same | None = None, named: bool = False
    ) -> tuple[CompiledCall, Sequence[object]]:
        """The compiled call for a new layout of arguments, and the converted arguments."""
        if named:
            return self._named_program(call).compiled_call(), call.dynamic
        swapped = swapped_dtype(call.dynamic)
        if swapped is not None:
            return byteswapped(swapped), call.dynamic
        plain = plain_arguments(call.dynamic, call.names)
        signature = self._classified(call, plain, same)
        as_is = all(new is old for new, old in zip(plain, call.dynamic, strict=True))
        return self._program(call, signature).compiled_call(signature.values, as_is), plain

    def _named_program(self, call: CallArguments) -> Any:
        late = lazy_import(_NAMED_CALLS)

        def build() -> Any:
            self._traced += 1
            self._reasons.add(late.named_aspects(call))
            self._reasons.warn_of_many(self._name)
            return late.NamedProgram(self._function, call, self._reasons.clock)

        return self._programs.find(late.named_key(call, self._forget), {}, build)

    def _program(self, call: CallArguments, signature: Signature) -> TracedProgram:
        were = len(self._programs.get(signature.key, ()))

        def build() -> TracedProgram:
            lazy_import("axiomjit.dispatch.following")
            from axiomjit.dispatch.following import follow

            scope = Scope(signature.values)
            self._traced += 1
            known = tuple(self._programs.get(signature.key, ()))
            self._reasons.add(aspects_of(call, signature), known, were, signature.values)
            self._reasons.warn_of_many(self._name)
            with self._following, stage("following"):
                try:
                    followed = follow(self._function, call, signature, scope)
                except Exception as error:
                    if not may_be_tracing_error(error):
                        raise
                    raise untraceable_error(self._name, error) from error.with_traceback(None)
            if self._shapes:
                shapes = [node.shape for node in followed.trace.graph.results]
                self._shapes.check_results(shapes, signature.declared, tuple(scope.guards))
            return TracedProgram(followed, signature, scope)

        return self._programs.find(signature.key, signature.values, build)

    def _falls_back(self, error: AxiomError) -> bool:
        """True if NumPy runs the function from now on; otherwise raise the error."""
        if falls_back(self._name, error, self._strict):
            self._numpy_calls.reasons[WHOLE] = short_reason(error)
            self._in_numpy = True
            self.drop_tables()
        return self._in_numpy


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
    kinds of strides); another length costs no compile. Arrays and numbers are traced, also inside
    tuples, lists, dicts, deques, namespaces, dataclasses without a hash; any other argument (enums
    too), and the parameters in `static_argnames`, are static: another value causes another trace.
    Results may be in such containers. Named arrays are traced as tensors, by their axes, and
    tensors in the result become named arrays.

    Args:
        fn: The function; without it, `jit` is a decorator with options.
        static_argnames: Parameters whose values are constants of the program.
        shapes: The shapes of all parameters that are not static, and after `->` those of the
            results: a letter for each length, 1 for a dimension to broadcast, ... for any others in
            front. One program then serves all calls whose lengths are 2 or more.
        strict: Raise if the function branches on values, changes something outside itself or writes
            into overlapping arguments, instead of running it in NumPy with a warning.
        others: Options of other compilers, refused with the alternative here.

    Raises, when called:
        NeedsValuesError: under `strict`, the function needs values while it is traced.
        UnsupportedError: under `strict`, it uses an uncompiled function; see `config.fallback`.
        GraphTypeError, GraphValueError: operands do not fit, as in NumPy, or violate `shapes`.
        TraceError: traced arrays are kept for another call.

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
        return lambda function: Jitted(function, static_argnames, strict, shapes)
    return Jitted(fn, static_argnames, strict, shapes)


BY_VALUE: Final = "cloudpickle"
"""A part of the module names of picklers that pickle by value; packages include copies of them."""
_ENTRY: Final = frozenset(NativeCallable.__annotations__)


def reduced(
    compiled: Any, function: Any, name: str, options: tuple[object, ...], caller: FrameType | None
) -> tuple[Any, ...] | str:
    """The result of `__reduce__` of a compiled function.

    Returns:
        The name; or a constructor and the state. The constructor makes an empty object, to which a
        function that refers to itself can refer.
    """
    module = getattr(function, "__module__", None)
    found: object = sys.modules.get(module or "")
    is_known = functools.reduce(_attribute, name.split("."), found) is compiled
    if is_known and not _goes_by_value(str(module), caller):
        return name
    state = function, name, *options, _attributes(compiled, function)
    return copyreg.__newobj__, (type(compiled),), state  # type: ignore[attr-defined]


def _goes_by_value(module: str, caller: FrameType | None) -> bool:
    """True if a pickler takes functions of a module by value."""
    by_value = None if caller is None else _by_value_pickler(caller.f_locals.get("self"))
    if by_value is None:
        return False
    registered: Any = getattr(by_value, "list_registry_pickle_by_value", frozenset)
    parts = module.split(".")
    packages = {".".join(parts[: k + 1]) for k in range(len(parts))}
    return module == "__main__" or not packages.isdisjoint(registered())


def _by_value_pickler(pickler: object) -> object:
    """The module of a pickler that takes functions by value; None for any other object."""
    for kind in type(pickler).__mro__:
        if BY_VALUE in kind.__module__.split("."):
            return sys.modules.get(kind.__module__)
    return None


def _attributes(compiled: Any, function: object) -> dict[str, Any]:
    """The attributes that users set on a compiled function, not copied from the wrapped one."""
    of_function = getattr(function, "__dict__", {})
    return {
        name: value
        for name, value in vars(compiled).items()
        if not (name.startswith("_") or name in _ENTRY or of_function.get(name) is value)
    }


def _attribute(owner: object, name: str) -> object:
    return getattr(owner, name, None)
