"""Follow the function of a call if it changes nothing outside itself, or refuse it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import (
    ImpureError,
    InterruptedWritesError,
    NeedsValuesError,
    NotDispatchedError,
)
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import Following
from axiomjit.base.tree import unflatten_tree
from axiomjit.dispatch.arguments import CallArguments, plain_arguments
from axiomjit.dispatch.fresh import Returned
from axiomjit.dispatch.signature import Signature
from axiomjit.dispatch.surroundings import reachable
from axiomjit.graph.captured import Captured, Watch, capturing
from axiomjit.symbolic.data_dependent import OtherLengthError
from axiomjit.symbolic.dims import Scope
from axiomjit.tracing.creation import concerns, new_rebinding
from axiomjit.tracing.lengths import SymbolicInt
from axiomjit.tracing.rebinding import Rebinding, handles_errors
from axiomjit.tracing.trace import Trace, trace
from axiomjit.tracing.tracer import Tracer

ROUNDS: Final = 4
"""How often a function is followed until no more arrays that it makes turn out to be written."""


class Followed(Record):
    """A followed function, the outside arrays that its program reads, whether it catches errors."""

    trace: Trace
    watch: Watch
    handles: bool


def follow(
    function: Callable[..., Any], call: CallArguments, signature: Signature, scope: Scope
) -> Followed:
    """Follow the function of a call, which changes nothing outside itself.

    Where it mentions functions that make arrays, a copy is followed in which these are ours; if
    that cannot be, the function itself, in which they give arrays of known values, unless it draws
    random numbers. Where traced values meet what does not ask them, a copy is followed in which
    everything of NumPy's does.

    Raises:
        NeedsValuesError: also where the function may change something outside itself, or a list
            or dict that it was given; nothing was done.
    """
    draws = _effects(function, call)
    own = not concerns(function)
    reason = None
    try:
        return _follow(function, call, signature, scope, None if own else new_rebinding)
    except ImpureError:  # the function itself would get what is right now
        raise
    except NeedsValuesError as error:
        reason = error.with_traceback(None)
        if own and not isinstance(error, NotDispatchedError):
            raise
    except Exception as error:  # the function itself raises it again
        if own or isinstance(error, InterruptedWritesError | OtherLengthError):
            raise
        if draws:  # which must not be drawn from while it is followed
            raise InterruptedWritesError(
                f"{name_of(function)}, which draws random numbers",
                f"that it raises {type(error).__name__}: {error}",
                "run it in NumPy, which raises it",
                user_location(),
            ) from error
    if isinstance(reason, NotDispatchedError):
        asked = _follow_asking(function, call, signature, scope)
        if asked is not None:
            return asked
    if own or draws:
        assert reason is not None
        raise reason
    scope.restart()
    return _follow(function, call, signature, scope, None, reason)


def _follow_asking(
    function: Callable[..., Any], call: CallArguments, signature: Signature, scope: Scope
) -> Followed | None:
    """As `follow`, with what asks traced arrays; None where that is refused, too.

    Arrays that turn out to be written are traced from where they are made, the next time.
    """
    late = lazy_import("axiomjit.tracing.asking")
    lines = late.TracedLines()
    for _ in range(ROUNDS):
        scope.restart()
        with suppress(Exception):
            rebinding_of = partial(late.AskingRebinding, lines)
            return _follow(function, call, signature, scope, rebinding_of)
        if lines.wanted <= lines.lines:
            return None
        lines = late.TracedLines(lines.lines | lines.wanted)
    return None


def _effects(function: Callable[..., Any], call: CallArguments) -> bool:
    """Refuse a function that may change something outside itself, before anything is done.

    Returns:
        Whether it draws random numbers, as steps of its copy.

    Raises:
        NeedsValuesError: it may change something, or prints, or calls what is not known.
        ImpureError: it asks for what is other at each call.
    """
    late = lazy_import("axiomjit.tracing.effects.analysis")
    own = str(getattr(function, "__module__", None) or "").partition(".")[0]
    analysis = late.EffectAnalysis(own)
    statics = dict(call.static)
    names = iter((*call.names,))
    fixed = iter(call.static_names)
    count = len(call.dynamic) + len(call.static)
    leaves = [(statics[k],) if k in statics else None for k in range(count)]
    owners = [next(fixed if k in statics else names) for k in range(count)]
    try:
        analysis.run(function, late.Arguments(call.structure, leaves, owners))
    except late.Effect as effect:
        raise _refusal(effect, name_of(function)) from None
    except Exception as error:  # code that nobody has thought of is left to NumPy
        raise NeedsValuesError(
            "follow a function once for all calls",
            f"that its code cannot be read: {type(error).__name__}: {error}"[:300],
            "compile the functions that it calls",
            user_location(),
        ) from error
    draws: bool = analysis.draws
    return draws


def name_of(function: object) -> str:
    """The name of a function, for messages."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


def _refusal(effect: Any, name: str) -> NeedsValuesError:
    """The error for what a function may do."""
    if effect.draws:
        return NeedsValuesError(
            f"random numbers drawn in {name}, which is followed once for all calls",
            f"that it {effect.text}: the numbers would be the same in every call",
            "draw them outside and pass them as an argument",
            effect.place,
        )
    if effect.impure is not None:
        return ImpureError(
            f"{effect.impure} in a function that is followed once for all calls",
            "what it gives at that time, which every call would get",
            "call it outside and pass what it gives as an argument",
            effect.place,
        )
    return NeedsValuesError(
        "follow a function once for all calls",
        f"that it {effect.text}: each call would have to do so",
        "return the new value, or do this outside the compiled function",
        effect.place,
    )


def _follow(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    rebinding_of: Callable[[], Rebinding] | None,
    reason: NeedsValuesError | None = None,
) -> Followed:
    """As `follow`, with a copy of the function or with itself.

    Raises:
        NeedsValuesError: also the reason why a copy could not be followed. Where there is one,
            another error is no error of the user's: the function itself was given traced values
            that only our functions take, and NumPy shall run it.
    """
    try:
        return _follow_once(function, call, signature, scope, rebinding_of)
    except Exception:
        if reason:
            raise reason from None
        raise


def _follow_once(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    rebinding_of: Callable[[], Rebinding] | None,
) -> Followed:
    statics = [value for _, value in call.static]
    known = reachable(function, statics)
    captured = Captured(v for v in known.values() if issubclass(type(v), np.ndarray))
    rebinding = rebinding_of() if rebinding_of else None

    def run(tracers: Sequence[Tracer | SymbolicInt]) -> object:
        leaves = call.leaves(tracers)
        callee = function if rebinding is None else rebinding.value(function)
        if rebinding is not None:
            leaves = list(map(rebinding.value, leaves))
        whole: Any = unflatten_tree(call.structure, iter(leaves))
        returned = callee(*whole[0], **whole[1])
        refuse_traps()
        return returned

    name = name_of(function)
    following = Following(name, signature.scalars)
    following.lives_outside = partial(_lives_outside, known, rebinding)
    following.arguments = partial(plain_arguments, call.dynamic, call.names)
    with capturing(captured):
        made = trace(run, signature.given, scope, signature.layouts, following)
    returned = Returned(captured, call.static, known)
    leaves = [(n, v if rebinding is None else rebinding.original(v)) for n, v in made.leaves]
    loose = [(n, returned.loosen(v) if n is None else v) for n, v in leaves]
    graph, structure = made.graph, made.structure
    del made, leaves  # and with it the last reference to what the function made
    graph = captured.finalize(graph)
    settled = tuple((n, returned.settle(v) if n is None else v) for n, v in loose)
    watch = Watch(captured.used, captured.shown)
    handles = following.handles or handles_errors(function)
    return Followed(Trace(graph, structure, settled), watch, handles)


def _lives_outside(known: Mapping[int, Any], rebinding: Rebinding | None, value: object) -> bool:
    """Whether a container, or the one for which it stands, exists outside the function."""
    return id(value if rebinding is None else rebinding.original(value)) in known
