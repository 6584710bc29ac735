"""Legality of a plan: memory exists while it is used, kernels get the words they ask for."""

from __future__ import annotations

from collections.abc import Iterator

from axiomjit.algebra.dims import product
from axiomjit.base.errors import VerifyError
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
    given = {b.name for b in plan.buffers if b.role in ("argument", "held")}
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
                yield from _window_faults((*step.operands, step.target), present, user)
                if len(step.labels) != len(step.operands):
                    yield f"{user} has labels for {len(step.labels)} operands"
            case Choose():
                launched = False  # what has this length could not be allocated before
                yield from _window_faults((step.count,), present, "a length")
            case WriteBack(buffer=name, position=position):
                if positions.get(name) != position:
                    yield f"{name} is written back to argument {position}, which it is not"
    yield from _window_faults(plan.results, present, "a result")


def _absent(names: tuple[str, ...], present: set[str], user: str) -> Iterator[str]:
    yield from (f"{user} uses {name}, which has no memory" for name in names if name not in present)


def _window_faults(windows: tuple[Window, ...], present: set[str], user: str) -> Iterator[str]:
    yield from _absent(tuple(window.buffer for window in windows), present, user)
    for window in windows:
        if len(window.shape) != len(window.strides):
            yield f"{user} has a window of {len(window.shape)} lengths, {len(window.strides)} steps"


def _word_faults(step: Launch) -> Iterator[str]:
    """The words of a kernel are its buffers, then numbers, then lengths."""
    kinds = [parameter.kind for parameter in step.kernel.parameters]
    counts = {"buffer": step.buffers, "scalar": step.numbers, "length": step.lengths}
    given = [kind for kind, words in counts.items() for _ in words]
    if kinds != given:
        yield f"a kernel of words {kinds} is launched with {given}"
