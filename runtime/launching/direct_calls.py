"""The short way of plans that are one library operation on entire arguments."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import numpy as np

from axiomjit.passes.ir.plan_ir import Allocate, Call, Choose
from axiomjit.runtime.launching import execute
from axiomjit.runtime.launching.blas import is_limited, limited
from axiomjit.runtime.launching.execute import BoundPlan
from axiomjit.runtime.launching.library_calls import count_call
from axiomjit.runtime.launching.windows import BoundWindow
from axiomjit.runtime.pool import memory
from axiomjit.runtime.pool.recycling import LARGE

SMALL: Final = 4096
"""Elements of an operand beyond which libraries start threads, which may have a limit."""


def direct_call(bound: BoundPlan, arguments: Sequence[Any]) -> Callable[..., Any] | None:
    """A function of arguments laid out like these that does what the plan does.

    It gives one array, or the NumPy scalar in its place, and takes no views of its operands:
    that costs more than a product of small matrices. Memory of large results is recycled, so
    they are made elsewhere.

    Returns:
        None where the plan is anything else.
    """
    plan, lengths = bound.plan, bound.lengths
    *before, step = plan.steps or (None,)
    if not isinstance(step, Call) or [type(one) for one in before] != [Allocate] * (not step.makes):
        return None
    if step.conditions or step.more or step.operation.guesses:
        return None
    if not bound.form.is_fresh:
        return None
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    target = BoundWindow(step.target, buffers, lengths)
    if math.prod(target.shape) * target.window.dtype.itemsize >= LARGE:
        return None
    if execute.dense_strides(buffers[step.target.buffer], lengths) is not None:
        return None
    places = _places(bound, step, arguments)
    if places is None:
        return None
    operands = [arguments[place] for place in places]
    short = step.operation.shorten and step.operation.shorten(operands, step.labels)
    if short:
        return _counted(short, places, arguments)
    evaluate, labels = step.operation.evaluate, step.labels
    shape, dtype = target.shape, target.window.dtype

    def product(*seen: Any) -> Any:
        out: np.ndarray = memory.allocate(shape, dtype)
        evaluate(seen, labels, out)
        return out if shape else out[()]

    return _counted(product, places, arguments)


def direct_results(
    bound: BoundPlan, arguments: Sequence[Any], kind: type | None
) -> Callable[..., Any] | None:
    """As `direct_call`, of a plan that is one function with lengths or results of its own.

    It gives a container of a `kind`, in which the results stand in order, or one array; None where
    the function itself does not give that.
    """
    step, *later = bound.plan.steps or (None,)
    if not isinstance(step, Call) or not step.makes or step.operation.guesses:
        return None
    if any(not isinstance(one, Choose) or one.choice.guards for one in later):
        return None
    operations = (step.operation, *(operation for operation, _ in step.more))
    pairs = zip(step.targets, operations, strict=True)
    made: dict[str, Any] = {window.buffer: operation.evaluate for window, operation in pairs}
    form = bound.form
    if not form.is_fresh or not made.keys() >= set(form.names):
        return None
    results = [made[name] for name in form.names]
    if any(one.measured is not None for one in results):
        return None
    wanted = [None] if kind is None else list(range(len(results)))
    places = _places(bound, step, arguments)
    if [one.part for one in results] != wanted or places is None:
        return None
    function = results[0].shorten()
    if function is None:
        return None
    found: Any = function(*(arguments[place] for place in places))
    whole: Any = found if kind else (found,)
    if type(found) is not (kind or np.ndarray) or len(whole) != len(results):
        return None
    return _counted(function, places, arguments)


def _counted(
    function: Callable[..., Any], places: Sequence[int], arguments: Sequence[Any]
) -> Callable[..., Any]:
    """The function of the arguments at places, counted as a call of a library.

    For large ones it keeps to the threads that the caller may use.
    """
    if any(arguments[place].size > SMALL for place in places):
        function = partial(_within_limits, function)
    if list(places) == list(range(len(arguments))):

        def call(*args: Any) -> Any:
            count_call()
            return function(*args)

        return call

    def call_of_some(*args: Any) -> Any:
        count_call()
        return function(*[args[place] for place in places])

    return call_of_some


def _within_limits(function: Callable[..., Any], *operands: Any) -> Any:
    if is_limited():
        with limited():
            return function(*operands)
    return function(*operands)


def _places(bound: BoundPlan, step: Call, arguments: Sequence[Any]) -> list[int] | None:
    """Which arguments the operands are, as they are; None where they are not."""
    buffers = bound.form.buffers
    places = []
    for window in step.operands:
        position = buffers[window.buffer].position
        if position is None:
            return None
        given = {window.buffer: arguments[position]}
        if BoundWindow(window, buffers, bound.lengths).of(given) is not arguments[position]:
            return None
        places.append(position)
    return places
