"""Legality of a plan: memory exists while it is used, kernels get the words they ask for."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.algebra.dims import product
from axiomjit.base.errors import VerifyError
from axiomjit.graph.array_functions import shared
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Call,
    Choose,
    Launch,
    Plan,
    Release,
    Reuse,
    Window,
    WriteBack,
)
from axiomjit.passes.ir.print_plan import print_plan


def verify_plan(plan: Plan) -> None:
    """Check buffers, steps and results.

    Raises:
        VerifyError: an invariant does not hold.
    """
    for fault in _faults(plan):
        raise VerifyError("a legal plan", fault, f"report this as a defect\n{print_plan(plan)}")


def _faults(plan: Plan) -> Iterator[str]:
    names = [buffer.name for buffer in plan.buffers]
    if len(set(names)) != len(names):
        yield f"two buffers of one name among {names}"
    given = {b.name for b in plan.buffers if b.role.is_given}
    positions = {b.name: b.position for b in plan.buffers if b.position is not None}
    sizes = {b.name: product(b.shape) * b.dtype.itemsize for b in plan.buffers}
    present, launched = set(given), False
    for step in plan.steps:
        match step:
            case Allocate(buffer=name):
                if name in present or name not in names:
                    yield f"{name} is allocated, which is no buffer or has memory already"
                if launched:
                    yield f"{name} is allocated after something was written"
                present.add(name)
            case Release(buffer=name):
                if name not in present - given:
                    yield f"{name} is released, which was not allocated"
                present.discard(name)
            case Reuse(buffer=name, source=source):
                if source not in present - given:
                    yield f"{name} takes the memory of {source}, which has none to give"
                if name in present or name not in names:
                    yield f"{name} takes memory, which is no buffer or has memory already"
                elif source in names and sizes[name] != sizes[source]:
                    yield f"{name} of {sizes[name]} bytes takes {sizes[source]} of {source}"
                present = present - {source} | {name}
            case Launch():
                launched = True
                yield from _absent(step.buffers, present, "a launch")
                yield from _word_faults(step)
            case Call():
                launched = True
                user = str(step.operation)
                made = {window.buffer for window in step.targets} if step.makes else set()
                for name in made & present:
                    yield f"{user} makes {name}, which has memory already"
                present |= made
                yield from _window_faults((*step.operands, *step.targets), present, user)
                yield from _sharing_faults(step)
                if len(step.labels) != len(step.operands):
                    yield f"{user} has labels for {len(step.labels)} operands"
            case Choose():
                launched = False  # what has this length could not be allocated before
                yield from _window_faults((step.count,), present, "a length")
            case WriteBack(buffer=name, position=position):
                if positions.get(name) != position:
                    yield f"{name} is written back to argument {position}, which it is not"
    yield from _window_faults(plan.results, present, "a result")
    launches = [step for step in plan.steps if isinstance(step, Launch)]
    for one, later in zip([None, *launches], [*launches, None], strict=True):
        if (one is not None and one.ahead) != (later is not None and later.chunk_chain is not None):
            yield "a launch ahead of one without a chain, or the reverse"
        used = set() if one is None or one.shared is None else {*one.buffers}
        if used and not (later is not None and {*later.buffers} <= used):
            yield "a shared launch before one that uses other memory, or none"


def _absent(names: tuple[str, ...], present: set[str], user: str) -> Iterator[str]:
    yield from (f"{user} uses {name}, which has no memory" for name in names if name not in present)


def _window_faults(windows: tuple[Window, ...], present: set[str], user: str) -> Iterator[str]:
    yield from _absent(tuple(window.buffer for window in windows), present, user)
    for window in windows:
        if len(window.shape) != len(window.strides):
            yield f"{user} has a window of {len(window.shape)} lengths, {len(window.strides)} steps"


def _sharing_faults(step: Call) -> Iterator[str]:
    """Results of one call are results of one function, each in memory of its own."""
    operations = [step.operation, *(operation for operation, _ in step.more)]
    if step.more and len({shared(operation) for operation in operations} | {None}) != 2:
        yield f"one call for {', '.join(map(str, operations))}"
    if len({window.buffer for window in step.targets}) < len(operations):
        yield f"two results of {step.operation} in one buffer"


def _word_faults(step: Launch) -> Iterator[str]:
    """The words of a kernel are its buffers, numbers, lengths, and perhaps a flag, which is 0."""
    kinds = [parameter.kind for parameter in step.kernel.parameters]
    if step.kernel.polls:
        if kinds.pop() != "flag" or not step.lengths or step.lengths[-1].constant != 0:
            yield "a flag that is not the last word, or not 0"
        kinds.append("length")
    counts = {"buffer": step.buffers, "scalar": step.numbers, "length": step.lengths}
    given = [kind for kind, words in counts.items() for _ in words]
    if kinds != given:
        yield f"a kernel of words {kinds} is launched with {given}"
