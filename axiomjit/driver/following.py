"""Follow the function of a call without changing anything outside it, or refuse it."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from typing import Any

from axiomjit.algebra.dims import Scope
from axiomjit.base.error_states import refuse_traps
from axiomjit.base.errors import NeedsValuesError, TraceError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.base.owners import Following
from axiomjit.base.records import Record
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.driver.arguments import CallArguments, Signature
from axiomjit.driver.fresh import Returned
from axiomjit.driver.printed import kept_back
from axiomjit.driver.random_states import none_drawn
from axiomjit.driver.surroundings import Surroundings
from axiomjit.graph.captured import Captured, Watch, capturing, written_outside
from axiomjit.tracing.creation import concerns, new_rebinding
from axiomjit.tracing.lengths import Length
from axiomjit.tracing.trace import Trace, trace
from axiomjit.tracing.tracer import Tracer

_Parts = tuple[list[object], Structure]


class Followed(Record):
    """A followed function, and the outside arrays that its program reads in place."""

    trace: Trace
    watch: Watch


def follow(
    function: Callable[..., Any], call: CallArguments, signature: Signature, scope: Scope
) -> Followed:
    """Follow the function of a call, once more where the first time has changed something.

    Where it mentions functions that make arrays, a copy is followed in which these are ours; if
    that cannot be, the function itself, in which they give arrays of known values.
    What only the first run changes is kept from then on (a value that is computed once); a
    function that changes something each time is refused, and what it has changed is undone.

    Raises:
        NeedsValuesError: also where the function changes a list or dict that it was given.
    """
    if not concerns(function):
        return _follow(function, call, signature, scope, False)
    reason = None
    try:
        return _follow(function, call, signature, scope, True)
    except NeedsValuesError as error:
        reason = error.with_traceback(None)
    except Exception:  # the function itself raises it again
        pass
    scope.guards.clear()
    try:
        return _follow(function, call, signature, scope, False)
    except NeedsValuesError as error:
        raise reason or error from None


def _follow(
    function: Callable[..., Any],
    call: CallArguments,
    signature: Signature,
    scope: Scope,
    rebinds: bool,
) -> Followed:
    """As `follow`, with a copy of the function or with itself."""
    statics = [value for _, value in call.static]
    first = before = Surroundings(function, statics)
    with kept_back() as printed:
        try:
            followed = _follow_once(function, call, signature, scope, before, rebinds)
            changes = before.changes()
            if changes is not None:
                before = Surroundings(function, statics)
                scope.guards.clear()
                followed = _follow_again(function, call, signature, scope, before, rebinds, changes)
                changes = before.changes()
            if changes is not None:
                raise written_outside(changes)
            if printed:
                raise written_outside("standard output")
            return followed
        except Exception as error:
            if rebinds or isinstance(error, TraceError):
                first.restore()
                printed.clear()
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
    rebinds: bool,
    changed: str,
) -> Followed:
    """As `_follow_once`, for a function whose first run has changed something outside.

    Raises:
        NeedsValuesError: also where it finds traced values that its first run has kept there.
    """
    try:
        return _follow_once(function, call, signature, scope, before, rebinds)
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
    rebinds: bool,
) -> Followed:
    captured = Captured(surroundings.arrays)
    rebinding = new_rebinding() if rebinds else None

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
    with capturing(captured), none_drawn(name, function, [value for _, value in call.static]):
        made = trace(run, signature.given, scope, signature.layouts, following)
    returned = Returned(captured, call.static, surroundings.known)
    leaves = [(n, v if rebinding is None else rebinding.original(v)) for n, v in made.leaves]
    loose = [(n, returned.loosen(v) if n is None else v) for n, v in leaves]
    graph, structure = made.graph, made.structure
    del made, leaves  # and with it the last reference to what the function made
    graph = captured.settle(graph)
    settled = tuple((n, returned.settle(v) if n is None else v) for n, v in loose)
    return Followed(Trace(graph, structure, settled), Watch(captured.used, captured.shown))


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
