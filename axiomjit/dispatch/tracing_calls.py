"""Trace the instrumented copy of a function, and record the outside values that it reads."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from enum import Enum
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import AxiomError, NeedsValuesError
from axiomjit.base.locks import lazy_import
from axiomjit.base.records import Record
from axiomjit.base.trace_context import Following
from axiomjit.base.tree import labels_of, unflatten_tree
from axiomjit.dispatch.arguments import CallArguments, plain_arguments
from axiomjit.dispatch.fresh import Returned
from axiomjit.dispatch.signature import Signature, classify
from axiomjit.functions.effects import FromSource, Replay, replays
from axiomjit.functions.hooks import FunctionHooks
from axiomjit.functions.instrument import Instrumented
from axiomjit.functions.libraries import HEAP, is_users
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.objects import is_plain
from axiomjit.functions.outside import (
    BY_IDENTITY,
    KNOWN_BYTES,
    Outside,
    TraceAgain,
    Wanted,
    refuse,
)
from axiomjit.functions.sources import NUMBERS, Equals, Guards, Source, Vector
from axiomjit.functions.transforms import innermost
from axiomjit.graph.captured import Captured, Watch, capturing
from axiomjit.graph.nodes import Input, Node, post_order
from axiomjit.symbolic.dims import Dim, Scope
from axiomjit.tracing.trace import Trace, referred_by, trace

MAX_TRACES: Final = 14
"""The largest number of traces of a function for one program; each trace adds to `Wanted`."""


class TracedFunction(Record):
    """A traced function: its graph and results, the outside values that it reads, its effects.

    `call` has the arrays and numbers of the call, then the outside inputs; `signature` is the
    signature of all values in `call`. `vector` has the values of the outside sources that the trace
    has read. `handles` is true if the function may catch errors, `identifies` if the function has
    compared the identity of two arrays.
    """

    trace: Trace
    watch: Watch
    handles: bool
    identifies: bool
    guards: Guards
    vector: Vector
    effects: tuple[Replay, ...]
    call: CallArguments
    signature: Signature
    loops: tuple[tuple[str, str], ...] = ()
    """The loops of the source, by the user's line (`Outside.loops`)."""

    @property
    def outside_names(self) -> tuple[str, ...]:
        """The names of the outside inputs."""
        return self.call.names[len(self.call.names) - len(self.guards.inputs) :]


class Inputs:
    """The arrays and numbers of a program during a trace: arguments, then outside inputs."""

    def __init__(
        self,
        call: CallArguments,
        signature: Signature,
        scope: Scope,
        following: Following,
        declared: Mapping[int, Sequence[str]] | None,
    ) -> None:
        """Start with the arguments of a call; `declared` has their dimension names."""
        self.call, self.signature, self.scope = call, signature, scope
        self.layouts = dict(signature.layouts)
        self._following, self._declared = following, declared
        following.arguments, following.input_names = self.plain, self.names
        following.copied = signature.copied

    def plain(self) -> tuple[object, ...]:
        """The arrays and numbers of the call, converted to the form that programs take."""
        return plain_arguments(self.call.dynamic, self.call.names)

    def names(self) -> tuple[str, ...]:
        """The names of the arrays and numbers of the call."""
        return self.call.names

    def add(self, value: Any, source: Source) -> Any:
        """Make an outside value an input of the program, and return its tracer."""
        self.call = self.call.with_inputs((value,), (str(source),))
        self.signature = classify(self.call, self.plain(), names=self._declared)
        self.layouts.update(self.signature.layouts)
        self.scope.values.update(self.signature.values)
        self._following.scalars = self.signature.scalars
        self._following.copied = self.signature.copied
        represent = self._following.represent_input
        assert represent is not None
        return represent(self.signature.given[-1])


def nothing_changes(function: object, arguments: Sequence[object]) -> AbstractContextManager[None]:
    """A context that checks that a trace changes no outside object, if `config.check` is set."""
    if not config.check:
        return nullcontext()
    late = lazy_import("axiomjit.functions.unchanged")
    found: AbstractContextManager[None] = late.nothing_changes(function, arguments)
    return found


def trace_function(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    wanted: Wanted,
    declared: Mapping[int, Sequence[str]] | None = None,
    once: bool = False,
) -> TracedFunction:
    """Trace the function for a call, without changing anything outside the function.

    Args:
        function: The user's function.
        call: The arguments; each container or object is one leaf.
        signature: The signature of the call's arrays and numbers.
        scope: The scope with the lengths of the call; the lengths of outside arrays are added.
        wanted: The findings of earlier traces; this trace adds its own.
        declared: The names of declared dimensions, by position.
        once: True if the program is for this call only; the function may then read values of the
            call.

    Raises:
        NeedsValuesError: the function does something that cannot be traced; no effect was
            performed.
    """
    wanted.begin_traces()
    last: Exception = AssertionError(f"{name_of(function)} was traced {MAX_TRACES} times")
    for _ in range(MAX_TRACES):
        made = _TraceOnce(function, call, signature, scope, wanted, declared)
        if once:
            made.know_values()
        try:
            return made.run()
        except TraceAgain:
            pass
        except (AxiomError, NameError) as error:
            learns = isinstance(error, NeedsValuesError) and made.learn()
            if not learns and not wanted.forget_regions():
                wanted.remember_regions()
                raise
            last = error
        finally:
            made.end()
        scope.restart()
    raise last


class _TraceOnce:
    """A trace of a function for a call."""

    def __init__(
        self,
        function: Callable[..., Any],
        call: CallArguments,
        signature: Signature,
        scope: Scope,
        wanted: Wanted,
        declared: Mapping[int, Sequence[str]] | None,
    ) -> None:
        self._function, self._call, self._scope, self._wanted = function, call, scope, wanted
        self._following = Following(name_of(function), signature.scalars)
        self._inputs = Inputs(call, signature, scope, self._following, declared)
        self._outside = Outside(wanted, self._inputs.add)
        self._calls = LibraryCalls(self._outside, _bind)
        self._following.lives_outside = self._is_outside
        self._following.want_traced = self._calls.known.want_traced
        self._following.is_made, self._following.may_know = self._is_made, self._may_know

    def know_values(self) -> None:
        """Let the function read the values of traced arrays, which are the values of this call."""
        lazy_import("axiomjit.tracing.computed_numbers").know_values(self._following, self._scope)

    def _is_outside(self, value: object) -> bool:
        return self._outside.is_outside(value) and not is_plain(value)

    def _is_made(self, value: object) -> bool:
        kind = type(value)
        own = (base is object or bool(base.__flags__ & HEAP) for base in kind.__mro__)
        return is_users(kind) and not isinstance(value, Enum) and all(own)

    def run(self) -> TracedFunction:
        """Trace the function, and return the result of the trace."""
        outside, inputs = self._outside, self._inputs
        captured = Captured()
        with capturing(captured):
            made = trace(
                self._run, inputs.signature.given, self._scope, inputs.layouts, self._following
            )
        self._learn_stored()
        returned = Returned(captured)
        effects = replays(outside.effects, outside.source_of)
        leaves = [(n, self._leaf(v) if n is None else v) for n, v in made.leaves]
        loose = [(n, returned.release(v) if n is None else v) for n, v in leaves]
        graph, structure, decided = made.graph, made.structure, made.decisions
        handles = self._following.handles or self._calls.handles_errors
        guards = outside.guards()
        vector = [outside.value_of(source) for source in guards.sources]
        self.end()
        del made, leaves  # the last references to objects that the function made
        graph = captured.finalize(graph)
        settled = tuple((n, returned.resolve(v) if n is None else v) for n, v in loose)
        watch = Watch(captured.used, captured.shown)
        return TracedFunction(
            Trace(graph, structure, settled, decided),
            watch,
            handles,
            self._calls.identifies,
            guards,
            vector,
            effects,
            inputs.call,
            inputs.signature,
            tuple(outside.loops.items()),
        )

    def end(self) -> None:
        """Drop all references to outside objects and to objects that the function has made."""
        self._wanted.has_effects = self._wanted.has_effects or bool(self._outside.effects)
        self._calls.end()
        self._outside.end()
        self._following.lives_outside = _never_outside
        self._following.is_made = self._following.want_traced = self._following.may_know = None

    def _run(self, tracers: Sequence[Any]) -> object:
        outside = self._outside
        leaves = self._call.leaves(tracers)
        places = [k for k in range(len(leaves)) if k not in dict(self._call.static)]
        for place, value, name, tracer in zip(
            places, self._call.dynamic, self._call.names, tracers, strict=True
        ):
            if isinstance(value, np.ndarray):
                outside.note_argument(place, name, value, tracer)
        for (place, value), name in zip(self._call.static, self._call.static_names, strict=True):
            marked = name in self._call.marked
            leaves[place] = outside.argument(place, name, value, marked)
        whole: Any = unflatten_tree(self._call.structure, iter(leaves))
        function: Any = self._function
        inner = innermost(function)
        if type(inner) is MethodType:
            outside.fixed(inner.__self__, "self")
        labels = [(one, labels_of(one)) for one in (*whole[0], *whole[1].values())]
        returned = self._calls.call(function, *whole[0], **whole[1])
        if [one for one, before in labels if labels_of(one) != before]:
            refuse("changes the labels of an argument", "return the changed object instead")
        refuse_traps()
        if not outside.effects:
            return returned
        return (returned, *(value for effect in outside.effects for value in effect.values))

    def _leaf(self, value: object) -> object:
        """A returned or stored value; an outside object becomes a source, which each call reads."""
        if not self._outside.is_outside(value):
            self._refuse_kept(value)
            return value
        source = self._outside.source_of(value)
        assert source is not None
        return FromSource(source)

    def _refuse_kept(self, value: object) -> None:
        """Refuse an object of the function if it holds an outside object that may be replaced.

        Raises:
            NeedsValuesError: the object holds an outside object, as a bound method does.
        """
        if is_plain(value) or isinstance(value, (*BY_IDENTITY, Dim)):
            return
        for one in referred_by(value):
            if self._outside.is_outside(one) and not isinstance(one, BY_IDENTITY):
                kept = self._outside.source_of(one)
                refuse(f"keeps {kept}, from outside, in a {type(value).__name__} that it makes")

    def _learn_stored(self) -> None:
        """Trace again if the function stores a number whose value is guarded.

        Raises:
            TraceAgain: the next trace takes the number as an argument.
        """
        known = {c.source.identity for c in self._outside.conditions if isinstance(c, Equals)}
        for source in self._outside.stored_sources():
            value = self._outside.value_of(source)
            identity = source.identity
            changes = type(value) in NUMBERS and identity in known
            if changes and identity not in self._wanted.numbers | self._wanted.fixed:
                self._wanted.numbers.add(identity)
                raise TraceAgain

    def learn(self) -> bool:
        """Record which outside inputs must be known in the next trace; True if there are any.

        If the function asks for values of an array that depends on no inputs, the next trace knows
        such arrays.
        """
        asked, count = self._following.asked, len(self._call.dynamic)
        if asked is None:
            return False
        inputs = _positions(asked)
        if not inputs and not self._wanted.known_made:
            self._wanted.known_made = True
            return True
        learned = [self._learn_input(n - count) for n in inputs if n >= count]
        return any(learned)

    def _learn_input(self, number: int) -> bool:
        source = self._outside.inputs[number]
        if isinstance(self._outside.value_of(source), np.ndarray):
            known = self._may_know_elements(number)
            if known:
                self._wanted.elements.add(source.identity)
            return known
        self._wanted.fixed.add(source.identity)
        return True

    def _may_know(self, node: Node) -> bool:
        """True if the next trace may know a value, which depends only on small captured arrays."""
        inputs, count = _positions(node), len(self._call.dynamic)
        if not inputs:
            return not self._wanted.known_made
        return all(n >= count and self._may_know_elements(n - count) for n in inputs)

    def _may_know_elements(self, number: int) -> bool:
        source = self._outside.inputs[number]
        value = self._outside.value_of(source)
        small = isinstance(value, np.ndarray) and value.nbytes <= KNOWN_BYTES
        return small and source.identity not in self._wanted.elements


def _positions(node: Node) -> list[int]:
    """The positions of the inputs on which a value depends."""
    return [one.position for one in post_order((node,)) if isinstance(one, Input)]


def name_of(function: object) -> str:
    """The name of a function in messages."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _bind(calls: LibraryCalls, function: FunctionType, form: Instrumented | None) -> FunctionType:
    """The instrumented copy of a function, with hooks that report to the trace."""
    hooks = FunctionHooks(calls, function)
    if form is not None:
        return form.bind(hooks)
    late = lazy_import("axiomjit.functions.without_text")
    made: FunctionType = late.copy_without_text(calls, function, hooks)
    return made


def _never_outside(value: object) -> bool:
    return False
