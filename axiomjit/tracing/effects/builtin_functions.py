"""Built-in functions that the effect analysis knows one by one."""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.tracing.effects.objects import Kwargs, Objects
from axiomjit.tracing.effects.values import (
    ANY,
    DYNAMIC,
    NEW,
    NOTHING,
    Known,
    LocalClass,
    Made,
    Partial,
    Value,
    constant,
    is_a,
)

_Special = Callable[[Objects, Sequence[Value], Kwargs, str, Value], Value]


def _next(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    found = frozenset().union(*args[1:])
    for one in args[0] if args else star:
        step = calls.special(one, "__next__")
        if step is not None:
            found |= calls.call(step, [], {}, text)
        elif isinstance(one, Known):
            calls.effect("takes from an iterator with next(), which lives on outside it")
        else:
            found |= calls.elements(frozenset((one,)), text)
    return found


def _zip(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    pair = calls.made((calls.place, "pair"), tuple)
    for place, value in enumerate(args):
        calls.add(pair, place, calls.elements(value, text))
    calls.add(pair, None, calls.elements(star, text))
    return calls.of(frozenset((pair,)))


def _enumerate(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    pair = calls.made((calls.place, "pair"), tuple)
    calls.add(pair, 0, NEW)
    calls.add(pair, 1, calls.elements(args[0] if args else star, text))
    return calls.of(frozenset((pair,)))


def _map(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    given = [calls.elements(value, text) for value in args[1:]]
    return calls.of(calls.call(args[0] if args else star, given, {}, text, star))


def _filter(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    given = calls.elements(args[1] if len(args) > 1 else star, text)
    function = frozenset(one for one in args[0] if constant(frozenset((one,))) != (None,))
    calls.call(function, [given], {}, text)
    return calls.of(given)


def _partial(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    key = calls.place, tuple(args), tuple(kwargs.items())
    if key not in calls._bound:
        made: Any = Partial(args[0] if args else star, tuple(args[1:]), dict(kwargs))
        calls._bound[key] = made
    return frozenset((calls._bound[key],))


def _getattr(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    wanted = constant(args[1]) if len(args) > 1 else None
    if wanted is None or not isinstance(wanted[0], str):
        return ANY
    default = frozenset().union(*args[2:])
    if default and all(isinstance(one, Known) for one in args[0]):
        missing = object()
        held = [_static(one.value, wanted[0], missing) for one in args[0] if isinstance(one, Known)]
        if all(one is missing for one in held):
            return default
    return calls.attribute(args[0], wanted[0]) | default


def _static(value: Any, name: str, missing: object) -> object:
    try:
        return inspect.getattr_static(value, name, missing)
    except Exception:  # an object that cannot be looked into
        return None


def _setattr(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    if len(args) < 2:
        return NEW
    new = frozenset().union(*args[2:])
    name = text_of(args[1])
    calls.store_attribute(args[0], name, new, f"sets or deletes the attribute {name} by {text}")
    return calls.known(None)


def text_of(value: Value) -> str:
    """The text that a value is; a question mark where it is not known."""
    wanted = constant(value)
    return wanted[0] if wanted is not None and isinstance(wanted[0], str) else "?"


def _isinstance(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    for one in args[1] if len(args) > 1 else star:
        calls.call(calls.special(one, "__instancecheck__") or NOTHING, [args[0]], {}, text)
    kinds = _kinds(args[1]) if len(args) > 1 else None
    if kinds is None or not args[0]:
        return NEW
    found = set()
    for one in args[0]:
        if isinstance(one, Known):
            found.add(is_a(one.value, kinds))
        elif isinstance(one, Made) and isinstance(one.kind, type):
            found.add(issubclass(one.kind, kinds))
        elif one is DYNAMIC and not any(_may_be_number(kind) for kind in kinds):
            found.add(False)
        else:
            return NEW
    return calls.known(found.pop()) if len(found) == 1 else NEW


def _may_be_number(kind: type) -> bool:
    numbers = (np.ndarray, int, float, complex, np.generic)
    plain = kind in (str, bytes, list, tuple, dict, set, type(None))
    return not plain or any(issubclass(one, kind) for one in numbers)


_CHECK: Final = type.__instancecheck__


def _kinds(value: Value) -> tuple[type, ...] | None:
    """The classes that a value names, where no class of the user's decides what an instance is."""
    found: list[Any] = []
    for one in value:
        if isinstance(one, Known):
            held = one.value
            held = getattr(held, "__args__", held) if not is_a(held, type) else held
            found += held if is_a(held, tuple) else [held]
        elif isinstance(one, Made):
            for part in one.contents():
                found.append(part.value if isinstance(part, Known) else None)
        else:
            return None
    plain = all(isinstance(k, type) and type(k).__instancecheck__ is _CHECK for k in found)
    return tuple(found) if plain and len(value) == 1 else None


def _vars(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    return ANY


def _length(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    calls.ask("len", args, text)
    if args and len(args[0]) == 1:
        (one,) = args[0]
        if isinstance(one, Known) and type(one.value) in (list, tuple, dict, set, str):
            return calls.known(len(one.value))
    return NEW


def _sorted(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    given = calls.elements(args[0] if args else star, text)
    calls.ask("", [given], text)
    if "key" in kwargs:
        calls.call(kwargs["key"] - calls.known(None), [given], {}, text)
    return calls.of(given)


def _chosen(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    """`min`, `max` and `sum`: entries, or what is computed of them."""
    given = NOTHING
    for value in (*args, star):
        given |= calls.elements(value, text) if len(args) == 1 else value
    calls.ask("", [given], text)
    calls.call(kwargs.get("key", NOTHING) - calls.known(None), [given], {}, text)
    return given | NEW


def _sum(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    given = calls.elements(args[0] if args else star, text)
    calls.ask("", [given], text)
    return NEW | frozenset(one for one in given if isinstance(one, Made))


def _iter(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    if len(args) > 1:  # a function, called until it gives the second argument
        return calls.of(calls.call(args[0], [], {}, text))
    return calls.of(calls.elements(args[0] if args else star, text))


def _type(calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value) -> Value:
    if len(args) != 1:
        calls.effect(f"makes a class by {text}(), which is not understood")
    found = NOTHING
    for one in args[0]:
        kind: Any = type(one.value) if isinstance(one, Known) else getattr(one, "kind", None)
        if isinstance(kind, LocalClass):
            found |= {kind}
        else:
            found |= calls.known(kind) if isinstance(kind, type) else NEW
    return found


def _closing(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    owner = args[0] if args else star
    calls.call(calls.attribute(owner, "close"), [], {}, "close")
    return calls.of(owner)


def _suppress(
    calls: Objects, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
) -> Value:
    return NEW


BUILTINS: Final[dict[Any, _Special]] = {
    next: _next,
    zip: _zip,
    enumerate: _enumerate,
    map: _map,
    filter: _filter,
    functools.partial: _partial,
    getattr: _getattr,
    setattr: _setattr,
    delattr: _setattr,
    isinstance: _isinstance,
    type: _type,
    vars: _vars,
    globals: _vars,
    locals: _vars,
    len: _length,
    sorted: _sorted,
    min: _chosen,
    max: _chosen,
    sum: _sum,
    iter: _iter,
    reversed: _iter,
    contextlib.closing: _closing,
    contextlib.suppress: _suppress,
    contextlib.nullcontext: _chosen,
}
