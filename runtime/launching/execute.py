"""Runs plans; nothing outside this package turns elements into bytes and arrays into addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from axiomjit.base.locks import NotNowError, lazy_import
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Buffer,
    Call,
    Choose,
    Launch,
    Plan,
    Release,
    Reuse,
    WriteBack,
)
from axiomjit.runtime.compiling.kernel_handle import load_all
from axiomjit.runtime.compiling.loaded_kernel import LoadedKernel
from axiomjit.runtime.launching.bound_steps import (
    AllocateForm,
    LaunchForm,
    Launching,
    Releasing,
    StepForm,
    kernel_handle,
    memory_order,
)
from axiomjit.runtime.launching.windows import Array, Arrays, BoundWindow, is_whole, lengths_at
from axiomjit.symbolic.dims import Lengths, Symbol

if TYPE_CHECKING:
    from axiomjit.runtime.launching.rests import Rest


class Otherwise(Protocol):
    """What runs in place of a plan whose kernels cannot be had now."""

    def run(self, arguments: Sequence[Any], given: Sequence[object] | None) -> Sequence[Array]:
        """As `BoundPlan.run`."""


class PlanForm:
    """A plan as all lengths have it in common: its memory by name, and its steps in order.

    Steps behind a `Choose` wait for its length: they are a plan of their own, in `rest`.
    """

    def __init__(self, plan: Plan) -> None:
        """Name all lengths; none is evaluated yet."""
        self.plan, self.lengths = plan, Lengths()
        self.buffers = {buffer.name: buffer for buffer in plan.buffers}
        self.held = {b.name: b.array for b in plan.buffers if b.array is not None}
        self.places = [(b.name, b.position) for b in plan.buffers if b.position is not None]
        self.written = [step for step in plan.steps if isinstance(step, WriteBack)]
        whole = [is_whole(window, self.buffers) for window in plan.results]
        self.names = [window.buffer for window in plan.results]
        self.seen = None if all(whole) else plan.results
        self.is_fresh = all(whole) and len(set(self.names)) == len(self.names)
        """Whether each result is an array that the plan allocates, and no two are the same."""
        self.choice: Choose | None = None
        self.rest: PlanForm | None = None
        self.steps: list[StepForm] = []
        before: LaunchForm | None = None
        for k, step in enumerate(plan.steps):
            match step:
                case Allocate():
                    self.steps.append(AllocateForm(self.buffers[step.buffer], self.lengths))
                case Reuse():
                    taken = AllocateForm(self.buffers[step.buffer], self.lengths, step.source)
                    self.steps.append(taken)
                case Launch() if step.prepass or step.parallel_variant is not None:
                    before = LaunchForm(step, self.lengths)
                case Launch() if before is not None:
                    self.steps.append(_pair(before, step, self.lengths))
                    before = None
                case Launch():
                    self.steps.append(LaunchForm(step, self.lengths))
                case Call():
                    late = lazy_import("axiomjit.runtime.launching.library_calls")
                    self.steps.append(late.CallForm(step, self.buffers))
                case Release():
                    self.steps.append(Releasing(step.buffer))
                case Choose():
                    self.choice = step
                    self.rest = PlanForm(plan.replace(steps=plan.steps[k + 1 :]))
                    return

    def bind(self, lengths: Mapping[Symbol, int], otherwise: Otherwise | None = None) -> BoundPlan:
        """The plan for certain lengths; raises as `BoundPlan`."""
        return BoundPlan(self, lengths, otherwise)

    def kernels(self) -> list[Kernel]:
        """The kernels of all steps."""
        launches = [step for step in self.all_steps() if isinstance(step, LaunchForm)]
        return [kernel for form in launches for kernel in form.kernels]

    def all_steps(self) -> list[StepForm]:
        """Its steps, and those of its rest."""
        return self.steps if self.rest is None else self.steps + self.rest.all_steps()


def _pair(before: LaunchForm, step: Launch, lengths: Lengths) -> LaunchForm:
    """A run of a kernel with one before it that is run ahead of it, or in place of it."""
    if before.step.prepass:
        chains = lazy_import("axiomjit.runtime.launching.chains")
        chained: LaunchForm = chains.ChainForm(before, step, lengths)
        return chained
    runs = lazy_import("axiomjit.runtime.launching.shared_runs")
    shared: LaunchForm = runs.SharedForm(before, step, lengths)
    return shared


class BoundPlan:
    """A plan for certain lengths: a run only fills in addresses and calls the kernels."""

    __slots__ = ("_otherwise", "actions", "count", "form", "handles", "lengths", "rest", "seen")

    def __init__(
        self,
        plan: Plan | PlanForm,
        lengths: Mapping[Symbol, int],
        otherwise: Otherwise | None = None,
    ) -> None:
        """Evaluate every length once; nothing is compiled yet.

        Args:
            plan: what runs; its form, where it is bound again and again.
            lengths: the value of each symbol.
            otherwise: runs in place of the plan where its kernels cannot be had now.

        Raises:
            MemoryError: a buffer would exceed 2**63 - 1 bytes.
            GraphValueError: a length or stride is beyond 64 bits.
        """
        self.form = form = plan if isinstance(plan, PlanForm) else PlanForm(plan)
        self.lengths, self._otherwise = lengths, otherwise
        values = form.lengths.at(lengths)
        self.actions = tuple([step.bind(values, lengths) for step in form.steps])
        self.handles = [handle for action in self.launches for handle in action.handles]
        self.seen: list[BoundWindow] | None = None
        self.rest: Rest[BoundPlan] | None = None
        if form.choice is not None and form.rest is not None:
            self.handles += map(kernel_handle, form.rest.kernels())
            self.count = BoundWindow(form.choice.count, form.buffers, lengths)
            late = lazy_import("axiomjit.runtime.launching.rests")
            self.rest = late.Rest(form.choice.choice, lengths, partial(BoundPlan, form.rest))
        elif form.seen is not None:
            self.seen = [BoundWindow(window, form.buffers, lengths) for window in form.seen]

    @property
    def launches(self) -> list[Launching]:
        """The runs of kernels."""
        return [action for action in self.actions if isinstance(action, Launching)]

    @property
    def plan(self) -> Plan:
        """What is bound."""
        return self.form.plan

    def load(self) -> list[LoadedKernel]:
        """The kernels, compiled or loaded where they are not; they stay while they are held.

        Raises:
            As `KernelCache.get`.
        """
        return load_all(self.handles)

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> Sequence[Array]:
        """The results for these arguments (arrays of the bound lengths, or numbers).

        `given` are the arguments before they were converted: what the plan writes is copied back.

        Raises:
            OtherLengthError: what was looked at of a chosen length looks otherwise.
        """
        try:
            kernels = self.load() if self.handles else None
        except (NotNowError, ImportError):
            if self._otherwise is None:
                raise
            return self._otherwise.run(arguments, given)
        arrays: Any = self.form.held.copy()
        for name, position in self.form.places:
            arrays[name] = arguments[position]
        results = self.go_on(arrays, arguments, given)
        del kernels
        return results

    def go_on(
        self, arrays: Arrays, arguments: Sequence[object], given: Sequence[object] | None
    ) -> list[Array]:
        """As `run`, with the memory that there is already; all kernels are loaded."""
        for action in self.actions:
            action(arrays, arguments)
        if self.rest is not None:
            count = int(self.count.of(arrays)[()])
            return self.rest.bound_to(count).go_on(arrays, arguments, given)
        for step in self.form.written:
            owner = (given or arguments)[step.position]
            if isinstance(owner, Array) and owner is not arrays[step.buffer]:
                owner[...] = arrays[step.buffer]
        if self.seen is None:
            return [arrays[name] for name in self.form.names]
        return [window.of(arrays) for window in self.seen]


def dense_strides(buffer: Buffer, lengths: Mapping[Symbol, int]) -> tuple[int, ...] | None:
    """The strides (bytes) of what `Allocate` makes; None where they are those of NumPy."""
    shape, strides = lengths_at(buffer.shape, lengths), lengths_at(buffer.strides, lengths)
    order = memory_order(strides)
    if order == list(range(len(shape))):
        return None
    found, step = [0] * len(shape), buffer.dtype.itemsize
    for d in reversed(order):
        found[d] = step
        step *= max(1, shape[d])
    return tuple(found)
