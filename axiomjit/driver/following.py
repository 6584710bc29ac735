"""Follow the function of a call without changing anything outside it, or refuse it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Final

from axiomjit.algebra.dims import Scope
from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import (
    ImpureError,
    NeedsValuesError,
    TraceError,
    UnaskedError,
    UnsupportedError,
)
from axiomjit.base.locks import import_late
from axiomjit.base.origins import user_location
from axiomjit.base.owners import Following
from axiomjit.base.records import Record
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.driver.arguments import CallArguments, plain_arguments
from axiomjit.driver.call_classes import Signature
from axiomjit.driver.fresh import Returned
from axiomjit.driver.printed import kept_back
from axiomjit.driver.random_states import none_drawn
from axiomjit.driver.surroundings import Surroundings
from axiomjit.graph.captured import Captured, Watch, capturing, written_outside
from axiomjit.tracing.creation import concerns, new_rebinding
from axiomjit.tracing.lengths import Length
from axiomjit.tracing.rebinding import Rebinding, handles_errors
from axiomjit.tracing.trace import Trace, trace
from axiomjit.tracing.tracer import Tracer

_Parts = tuple[list[object], Structure]
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
    """Follow the function of a call, once more where the first time has changed something.

    Where it mentions functions that make arrays, a copy is followed in which these are ours; if
    that cannot be, the function itself, in which they give arrays of known values. Where traced
    values meet what does not ask them, a copy is followed in which everything of NumPy's does.
    What only the first run changes is kept from then on (a value that is computed once); a
    function that changes something each time is refused, and what it has changed is undone.

    Raises:
        NeedsValuesError: also where the function changes a list or dict that it was given.
    """
    own = not concerns(function)
    reason = None
    try:
        return _follow(function, call, signature, scope, None if own else new_rebinding)
    except ImpureError:  # the function itself would get what is right now
        raise
    except NeedsValuesError as error:
        reason = error.with_traceback(None)
        if own and not isinstance(error, UnaskedError):
            raise
    except Exception:  # the function itself raises it again
        if own:
            raise
    if isinstance(reason, UnaskedError):
        asked = _follow_asking(function, call, signature, scope)
        if asked is not None:
            return asked
    if own:
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
    late = import_late("axiomjit.tracing.asking")
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
    statics = [value for _, value in call.static]
    first = before = Surroundings(function, statics)
    with kept_back() as printed:
        try:
            followed = _follow_once(function, call, signature, scope, before, rebinding_of)
            changes = before.changes()
            if changes is not None:
                before = Surroundings(function, statics)
                scope.restart()
                followed = _follow_again(
                    function, call, signature, scope, before, rebinding_of, changes
                )
                changes = before.changes()
            if changes is not None:
                raise written_outside(changes)
            if printed:
                raise written_outside("standard output")
            return followed
        except Exception as error:
            if rebinding_of or reason or isinstance(error, TraceError):
                first.restore()
                printed.clear()
            if reason:
                raise reason from None
            raise
        finally:
            _print(printed)


def _print(printed: list[str]) -> None:
    """What was printed before an error of the user's own."""
    stream = getattr(sys.stdout, "real", sys.stdout)
    for text in printed if stream is not None else ():
        stream.write(text)


def _follow_again(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    before: Surroundings,
    rebinding_of: Callable[[], Rebinding] | None,
    changed: str,
) -> Followed:
    """As `_follow_once`, for a function whose first run has changed something outside.

    Raises:
        NeedsValuesError: also where it finds traced values that its first run has kept there.
    """
    try:
        return _follow_once(function, call, signature, scope, before, rebinding_of)
    except (NeedsValuesError, UnsupportedError):
        raise
    except TraceError:
        raise written_outside(changed) from None


def _follow_once(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    surroundings: Surroundings,
    rebinding_of: Callable[[], Rebinding] | None,
) -> Followed:
    captured = Captured(surroundings.arrays)
    rebinding = rebinding_of() if rebinding_of else None

    def run(tracers: Sequence[Tracer | Length]) -> object:
        leaves = call.leaves(tracers)
        callee = function if rebinding is None else rebinding.value(function)
        if rebinding is not None:
            leaves = list(map(rebinding.value, leaves))
        whole: Any = unflatten_tree(call.structure, iter(leaves))
        arguments = (*whole[0], *whole[1].values())
        given = tuple(map(flatten_tree, arguments))
        try:
            returned = callee(*whole[0], **whole[1])
        finally:
            if rebinding is not None:
                rebinding.settle()
        _check_containers(function, given, tuple(map(flatten_tree, arguments)))
        refuse_traps()
        return returned

    name = getattr(function, "__qualname__", type(function).__qualname__)
    following = Following(name, signature.scalars)
    following.arguments = partial(plain_arguments, call.dynamic, call.names)
    statics = [value for _, value in call.static]
    known = surroundings.known.values()
    with capturing(captured), none_drawn(name, function, statics, known):
        made = trace(run, signature.given, scope, signature.layouts, following)
    returned = Returned(captured, call.static, surroundings.known)
    leaves = [(n, v if rebinding is None else rebinding.original(v)) for n, v in made.leaves]
    loose = [(n, returned.loosen(v) if n is None else v) for n, v in leaves]
    graph, structure = made.graph, made.structure
    del made, leaves  # and with it the last reference to what the function made
    graph = captured.settle(graph)
    settled = tuple((n, returned.settle(v) if n is None else v) for n, v in loose)
    watch = Watch(captured.used, captured.shown)
    handles = following.handles or handles_errors(function)
    return Followed(Trace(graph, structure, settled), watch, handles)


def _check_containers(
    function: Callable[..., Any], given: Sequence[_Parts], now: Sequence[_Parts]
) -> None:
    """Refuse a function that has changed a list or dict among its arguments.

    Raises:
        NeedsValuesError: one has other entries than before the call.
    """
    for k, (before, after) in enumerate(zip(given, now, strict=True)):
        same = before[1] == after[1] and len(before[0]) == len(after[0])
        if same and all(a is b for a, b in zip(before[0], after[0], strict=True)):
            continue
        names = list(inspect.signature(function).parameters)
        raise NeedsValuesError(
            "follow a function once for all calls",
            f"that it changes a list or dict in its argument {names[min(k, len(names) - 1)]}",
            "change a copy, for example list(values), and return it",
            user_location(),
        )
