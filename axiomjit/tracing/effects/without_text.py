"""Whether code without text may change something: what its byte code stores, and what it names."""

from __future__ import annotations

import dis
from collections.abc import Iterator
from types import CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.tracing.effects.known_calls import MUTATORS, WRITERS, impure_name, is_pure
from axiomjit.tracing.effects.objects import Objects
from axiomjit.tracing.effects.values import NEW, contents, entries_of, is_a, is_constant
from axiomjit.tracing.generators import METHODS, is_generator

_STORES: Final = frozenset(
    {
        *("STORE_GLOBAL", "STORE_NAME", "STORE_ATTR", "IMPORT_NAME", "LOAD_BUILD_CLASS"),
        *("DELETE_GLOBAL", "DELETE_NAME", "DELETE_ATTR", "DELETE_DEREF"),
    }
)
_STORES_INSIDE: Final = frozenset({"STORE_SUBSCR", "STORE_SLICE", "DELETE_SUBSCR"})
"""Stores that change nothing outside where the function has nothing from there."""
_IN_PLACE: Final = 13
"""From this argument of BINARY_OP on, an operator works in place."""


def check_code(function: FunctionType, objects: Objects, named: bool, plain: bool) -> str | None:
    """The reason why a function without text may change something; None where there is none.

    Args:
        function: One of the user's, whose text is not known.
        objects: Reads the functions that it calls.
        named: Whether generators that it names are drawn from in steps.
        plain: Whether nothing but arrays, numbers and constants are its arguments.
    """
    shown = f"has code without text ({function.__name__}), which"
    names = {name for code in _codes(function.__code__) for name in code.co_names}
    values = [function.__globals__[name] for name in names & function.__globals__.keys()]
    values += [contents(cell) for cell in function.__closure__ or ()]
    values += function.__defaults__ or ()
    inside = plain and all(isinstance(v, ModuleType) or _is_pure(v) for v in values)
    for code in _codes(function.__code__):
        free = set(code.co_freevars)
        for one in dis.get_instructions(code):
            if one.opname in _STORES or (one.opname == "STORE_DEREF" and one.argval in free):
                return f"{shown} stores to {one.argval}"
            in_place = one.opname == "BINARY_OP" and (one.arg or 0) >= _IN_PLACE
            if not inside and (in_place or one.opname in _STORES_INSIDE):
                return f"{shown} changes something in place"
    changing: set[str] = set() if inside else {*MUTATORS, *WRITERS} & names
    changing |= {"setattr", "delattr"} & names
    if not inside and "out" in _words(function.__code__):
        changing.add("out")
    if changing:
        return f"{shown} mentions {min(changing)}"
    for value in values:
        if not _is_known(value, names, objects, named):
            return f"{shown} uses something that is not known, {value!r:.60}"
    return None


def _is_pure(value: Any) -> bool:
    """Whether there is nothing in a value that can be changed."""
    library = callable(value) and not is_a(value, FunctionType | NativeCallable)
    return is_constant(value) or (library and is_pure(value))


def _codes(code: CodeType) -> Iterator[CodeType]:
    yield code
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from _codes(part)


def _words(code: CodeType) -> set[str]:
    """The names of arguments in calls."""
    return {
        w
        for p in _codes(code)
        for c in p.co_consts
        if isinstance(c, tuple)
        for w in c
        if isinstance(w, str)
    }


def _is_known(value: Any, names: set[str], objects: Objects, named: bool) -> bool:
    if is_generator(value):
        objects.draws = objects.draws or bool(names & METHODS)
        return named or not names & METHODS
    if is_constant(value) or is_a(value, np.ndarray):
        return True
    if is_a(value, ModuleType):
        found = [vars(value)[name] for name in names & vars(value).keys()]
        inner = [one for one in found if callable(one)]
        random = value.__name__ == "numpy.random" or vars(value).get("random") is np.random
        if random and "random" in names | {value.__name__.rpartition(".")[2]} and names & METHODS:
            objects.draws = True
            if not named:
                return False
        return all(_is_known(one, names, objects, named) for one in inner if one is not value)
    if is_a(value, FunctionType | NativeCallable) and not objects.is_library(value):
        objects.call(objects.known(value, named), [], {}, value.__name__, NEW)
        return True
    if callable(value):
        return is_pure(value) and impure_name(value) is None
    entries = entries_of(value)
    return entries is not None and all(is_constant(one) for one in entries)
