"""The short way of plans that are one library operation on entire arguments."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.passes.ir.plan_ir import Allocate, Call
from axiomjit.runtime.launching import execute
from axiomjit.runtime.launching.execute import BoundPlan
from axiomjit.runtime.launching.windows import BoundWindow
from axiomjit.runtime.pool import memory

SMALL: Final = 4096
"""Elements of an operand at most: for larger ones libraries start threads, which have limits."""


def direct_call(bound: BoundPlan, arguments: Sequence[Any]) -> Callable[..., Any] | None:
    """A function of arguments laid out like these that does what the plan does.

    It gives one array, or the NumPy scalar in its place, and takes no views of its operands:
    that costs more than a product of small matrices.

    Returns:
        None where the plan is anything else.
    """
    plan, lengths = bound.plan, bound.lengths
    if list(map(type, plan.steps)) != [Allocate, Call] or not execute.is_fresh(plan, lengths):
        return None
    step: Any = plan.steps[1]
    if step.conditions:
        return None
    buffers = {buffer.name: buffer for buffer in plan.buffers}
    target = BoundWindow(step.target, buffers, lengths)
    if execute.dense_strides(buffers[step.target.buffer], lengths) is not None:
        return None
    places = []
    for window in step.operands:
        position = buffers[window.buffer].position
        if position is None:
            return None
        given = {window.buffer: arguments[position]}
        if BoundWindow(window, buffers, lengths).of(given) is not arguments[position]:
            return None
        places.append(position)
    operands = [arguments[place] for place in places]
    if any(operand.size > SMALL for operand in operands):
        return None
    short = step.operation.shorten and step.operation.shorten(operands, step.labels)
    count = execute.count_call
    if short and places == list(range(len(arguments))):

        def call(*args: Any) -> Any:
            count()
            return short(*args)

        return call
    evaluate, labels = step.operation.evaluate, step.labels
    shape, dtype = target.shape, target.window.dtype

    def call_into(*args: Any) -> Any:
        count()
        out: np.ndarray = memory.allocate(shape, dtype)
        evaluate([args[place] for place in places], labels, out)
        return out if shape else out[()]

    return call_into
