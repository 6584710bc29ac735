"""Stable text of a plan: its steps in order, each kernel with its source, and the results."""

from __future__ import annotations

from axiomjit.algebra.index_maps import show_conditions
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Call,
    Choose,
    Plan,
    Release,
    Reuse,
    Step,
    Window,
    WriteBack,
)


def print_plan(plan: Plan) -> str:
    """The plan as text, one step a line; a launch is followed by the source of its kernel."""
    results = [f"  return {_window_text(window)}" for window in plan.results]
    return "\n".join(["plan", *map(_step_text, plan.steps), *results])


def _window_text(window: Window) -> str:
    strides, shape = (", ".join(map(str, dims)) for dims in (window.strides, window.shape))
    return f"{window.buffer}[{shape}] at {window.offset} + ({strides})"


def _step_text(step: Step) -> str:
    match step:
        case WriteBack():
            return f"  write back {step.buffer} to argument {step.position}"
        case Choose():
            return f"  let {step.choice.symbol.name} = {_window_text(step.count)}"
        case Reuse():
            return f"  {step.buffer} takes the memory of {step.source}"
        case Allocate() | Release():
            return f"  {type(step).__name__.lower()} {step.buffer}"
        case Call():
            operands = "; ".join(map(_window_text, step.operands))
            called = f"{step.operation}({operands}) by {step.labels}"
            more = "".join(f"; {_window_text(window)} = {one}" for one, window in step.more)
            made = "make " if step.makes else ""
            text = f"{_window_text(step.target)} = {called}{show_conditions(step.conditions)}"
            return f"  {made}{text}{more}"
    words = [*step.buffers, *map(repr, step.numbers), *map(str, step.lengths)]
    source = step.kernel.source.replace("\n", "\n    ").rstrip()
    order = "" if step.chunk_chain is None else f" in chains of {step.chunk_chain}"
    order = " ahead" if step.ahead else order
    order += "" if step.shared is None else f" shared unless {step.shared} < 0"
    return (
        f"  launch{order} over {step.grid}, {step.work} of work: {', '.join(words)}\n    {source}"
    )
