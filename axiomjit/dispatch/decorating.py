"""Checks of the function and of the options that are given to `jit`.

A user may pass an option of another compiler; the error message then gives our alternative.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any, Final

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location

OPTIONS: Final = ("static_argnames", "shapes", "strict")
_STATIC: Final = "use static_argnames, which takes the names of parameters"
_NOT_NEEDED: Final = "leave it out, it is not needed"
_CHECKED: Final = "leave it out, and run with AXIOMJIT_CHECK=1 to have each access checked"
_WRITES: Final = "leave it out; a function may write into its arguments, for example x += y"
_TARGET: Final = "leave it out; axiomjit.config.target names the CPU that kernels are compiled for"
_ALTERNATIVES: Final = MappingProxyType(
    {
        **dict.fromkeys(("static", "static_argnums", "static_args", "statics"), _STATIC),
        **dict.fromkeys(("donate_argnums", "donate_argnames"), _WRITES),
        **dict.fromkeys(("backend", "device", "target"), _TARGET),
        "abstracted_axes": "use shapes, for example shapes='ij,jk->ik'",
        "boundscheck": _CHECKED,
        "fastmath": "leave it out; sums and products keep one order, whatever the CPU",
        **dict.fromkeys(
            ("nopython", "parallel", "cache", "nogil", "inline", "forceobj", "looplift", "locals")
            + ("error_model", "pipeline_class", "debug", "keep_unused", "in_shardings")
            + ("out_shardings", "inline_jit", "fullgraph", "dynamic", "mode", "options"),
            _NOT_NEEDED,
        ),
    }
)
"""For each option of Numba, JAX and PyTorch, the advice that the error message gives."""
_DESCRIPTORS: Final = (classmethod, staticmethod, property)


def check_options(
    static_argnames: object, shapes: object, strict: object, others: Mapping[str, object]
) -> None:
    """Refuse unknown options, and options whose values have the wrong type.

    Raises:
        GraphTypeError: an option is refused (a TypeError).
    """
    for name in others:
        remedy = _ALTERNATIVES.get(name, f"leave it out; the options are {', '.join(OPTIONS)}")
        raise _refusal(f"jit({name}=...)", f"no option {name!r}", remedy)
    if not _are_names(static_argnames):
        remedy = "give names of parameters, for example static_argnames=('n', 'mode')"
        raise _refusal(f"jit(static_argnames={static_argnames!r})", _kind(static_argnames), remedy)
    if not isinstance(shapes, str | None):
        remedy = "give text, for example shapes='ij,jk->ik'"
        raise _refusal(f"jit(shapes={shapes!r})", _kind(shapes), remedy)
    if not isinstance(strict, bool):
        raise _refusal(f"jit(strict={strict!r})", _kind(strict), "give True or False")


def _are_names(value: object) -> bool:
    return isinstance(value, str) or (
        isinstance(value, Iterable)
        and not isinstance(value, bytes)
        and hasattr(value, "__len__")
        and all(isinstance(name, str) for name in value)
    )


def check_function(function: object) -> None:
    """Refuse an object that is not a function whose call runs its body and returns the result.

    Raises:
        GraphTypeError: the object is a class, coroutine or generator function, or not callable.
    """
    seen = remedy = ""
    if isinstance(function, _DESCRIPTORS):
        kind = type(function).__name__
        seen, remedy = f"a {kind}", f"write @{kind} above @axiomjit.jit, not below"
    elif isinstance(function, type):
        seen = f"the class {function.__qualname__}"
        remedy = "write @axiomjit.jit above its methods, or above a function that makes an instance"
    elif not callable(function):
        seen = _kind(function)
        remedy = "write @axiomjit.jit or @axiomjit.jit(option=...) above a function"
    elif kind := _deferred_kind(function):
        seen = f"{getattr(function, '__qualname__', _kind(function))}, {kind}"
        remedy = "compile the functions that it calls, which return arrays"
    if seen:
        raise _refusal("jit of a function", seen, remedy)


def _deferred_kind(function: Any) -> str:
    """The kind of a function whose call does not run its body yet; an empty text otherwise."""
    for inner in (function, vars(type(function)).get("__call__")):
        if inspect.iscoroutinefunction(inner):
            return "a coroutine function"
        if inspect.isasyncgenfunction(inner):
            return "an asynchronous generator function"
        if inspect.isgeneratorfunction(inner):
            return "a generator function"
    return ""


def _kind(value: object) -> str:
    return f"a value of type {type(value).__name__}"


def _refusal(asked: str, seen: str, remedy: str) -> GraphTypeError:
    return GraphTypeError(asked, seen, remedy, user_location())
