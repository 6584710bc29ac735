"""Loops and branches as functions: `fori_loop`, `while_loop`, `cond`, `scan`.

Inside a compiled function, a loop or branch is a region of the program (see `region_functions`,
which is imported on first use). Each trip of a loop that cannot be a region is traced separately.
Outside of compiled functions, Python runs the loop or branch.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.trace_context import current
from axiomjit.functions.transforms import has_form

AnyFunction = TypeVar("AnyFunction", bound=Callable[..., Any])


def _has_bodies(function: AnyFunction) -> AnyFunction:
    """Decorate a function whose arguments are functions, so that their calls are traced, too."""

    def form(call: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        def traced(one: Any) -> Any:
            return partial(call, one) if callable(one) else one

        return function(*map(traced, args), **{name: traced(one) for name, one in kwargs.items()})

    has_form(form)(function)
    return function


def _traced(name: str, *args: Any) -> list[Any]:
    """A list with the result of a region; an empty list if Python runs the loop or branch."""
    if current() is None:
        return []
    late = lazy_import("axiomjit.tracing.region_functions")
    try:
        return [getattr(late, name)(*args)]
    except late.RegionRefused:
        return []


@_has_bodies
def fori_loop(lower: Any, upper: Any, body: Callable[[Any, Any], Any], init: Any) -> Any:
    """Return the value after `for i in range(lower, upper): value = body(i, value)`.

    Args:
        lower: The first index.
        upper: The last index plus 1.
        body: A function of the index and the value; it may also write into arrays, in place.
        init: The value before the first trip: a number, an array, or a tuple or list of them.

    Raises:
        Errors are those that the loop raises in Python.
    """
    for value in _traced("fori", lower, upper, body, init):
        return value
    value = init
    for index in range(lower, upper):
        value = body(index, value)
    return value


@_has_bodies
def while_loop(cond: Callable[[Any], Any], body: Callable[[Any], Any], init: Any) -> Any:
    """Return the value after `while cond(value): value = body(value)`.

    Args:
        cond: A function of the value that returns one truth value.
        body: A function of the value that returns the next value.
        init: The first value: a number, an array, or a tuple or list of them.

    Raises:
        Errors are those that the loop raises in Python.
    """
    for value in _traced("repeated", cond, body, init):
        return value
    value = init
    while cond(value):
        value = body(value)
    return value


@_has_bodies
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], *operands: Any
) -> Any:
    """Return `true_fn(*operands) if pred else false_fn(*operands)`.

    In a compiled function, the writes of one side are done; values of the other side may be
    computed, too.

    Args:
        pred: One truth value.
        true_fn: Returns a number, an array, or a tuple or list of them.
        false_fn: Returns values of the same types.
        operands: The arguments of both functions.

    Raises:
        Errors are those that the branch raises in Python.
    """
    for value in _traced("branched", pred, true_fn, false_fn, operands):
        return value
    return true_fn(*operands) if pred else false_fn(*operands)


@_has_bodies
def scan(
    f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any, length: int | None = None
) -> tuple[Any, Any]:
    """Return the carried value after all trips, and the stacked results of the trips.

    Trip i is `carry, ys[i] = f(carry, xs[i])`, in order.

    Args:
        f: A function of the carried value and an item of `xs`; it returns the next carried value
            and a result: None, or a number or array with the same shape and dtype in each trip.
        init: The first carried value.
        xs: An array, or None; each trip gets one item of the array along its first dimension.
        length: The number of trips, if `xs` is None.

    Raises:
        ValueError: there is no trip, so that the type of the stacked values is not known.
    """
    count = length if xs is None else xs.shape[0]
    if count is None or count == 0:
        raise ValueError("scan needs one trip or more: the type of its results is not known")
    carry, first = f(init, None if xs is None else xs[0])
    if first is None:
        stacked = None
    else:
        stacked = _empty((count, *np.shape(first)), first)
        stacked[0] = first

    def trip(index: Any, value: Any) -> Any:
        value, made = f(value, None if xs is None else xs[index])
        if stacked is not None:
            stacked[index] = made
        return value

    return fori_loop(1, count, trip, carry), stacked


def _empty(shape: tuple[Any, ...], like: Any) -> Any:
    """An array of zeros with the dtype of a value."""
    dtype = like.dtype if hasattr(like, "dtype") else np.asarray(like).dtype
    if current() is None:
        return np.zeros(shape, dtype)
    return lazy_import("axiomjit.tracing.region_functions").zeros(shape, dtype)
