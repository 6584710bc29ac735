"""Runs plans: in Python, or in one native call.

A plan is prepared once, then bound to lengths as they come. Another kind of step is a record in
`passes/ir/plan_ir.py` and a row of `STEP_KINDS`. Nothing outside this package turns elements into
bytes and arrays into addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.locks import NotNowError, lazy_import
from axiomjit.base.tree import OfArgument
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Call,
    Choose,
    Launch,
    Plan,
    Release,
    Reuse,
    Step,
    WriteBack,
)
from axiomjit.runtime.codegen.kernel_handle import KernelHandle, LoadedKernel, load_all
from axiomjit.runtime.execution.plan_steps import (
    AllocateForm,
    BoundStep,
    GivingResults,
    LaunchForm,
    Launching,
    Releasing,
    StepForm,
    WritingBack,
    kernel_handle,
)
from axiomjit.runtime.execution.windows import Array, Arrays, BoundWindow, PlanMemory
from axiomjit.runtime.memory import allocation
from axiomjit.symbolic.dims import Symbol, Values

if TYPE_CHECKING:  # what few plans have, and native calls, are imported when they are needed
    from axiomjit.runtime.execution.native_plan import NativeWriter
    from axiomjit.runtime.native_call.instructions import NativePlan


def _library_call(step: Call, plan: PlanForm) -> StepForm:
    """A step that few plans have; what runs it is imported by the first one."""
    late = lazy_import("axiomjit.runtime.execution.library_calls")
    form: StepForm = late.CallForm(step, plan)
    return form


class ContinuationForm(StepForm):
    """The steps of a plan behind a count, which are a plan of their own."""

    __slots__ = ("buffers", "later", "step")

    def __init__(self, step: Choose, plan: PlanForm) -> None:
        """Prepare them."""
        steps = plan.plan.steps
        self.step, self.buffers = step, plan.buffers
        self.later = PlanForm(plan.plan.replace(steps=steps[steps.index(step) + 1 :]))

    @property
    def launches(self) -> list[LaunchForm]:
        """The runs of kernels behind the count."""
        return self.later.launches

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Continuation:
        """The steps, which are bound when the count is known."""
        return Continuation(self, lengths)


class Continuation(BoundStep):
    """Counts, and runs the steps behind the count; they are bound to each when that is met."""

    __slots__ = ("_lengths", "_plans", "count", "form")

    def __init__(self, form: ContinuationForm, lengths: Mapping[Symbol, int]) -> None:
        """Keep the lengths that are known."""
        self.form, self._lengths = form, lengths
        self.count = BoundWindow(form.step.count, form.buffers, lengths)
        self._plans = BoundedTable[int, BoundPlan]()

    @property
    def handles(self) -> Sequence[KernelHandle]:
        """The kernels that any count may run."""
        return [kernel_handle(launch.step.kernel) for launch in self.form.launches]

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> Any:
        """The results of the plan; raises as `bound_to`."""
        count = int(self.count.of(arrays)[()])
        return self.bound_to(count).go_on(arrays, arguments, given)

    def bound_to(self, count: int) -> BoundPlan:
        """The plan behind the count.

        Raises:
            OtherLengthError: what was looked at of the length looks otherwise.
        """
        found = self._plans.get(count)
        if found is None:
            choice = self.form.step.choice
            lengths = {**self._lengths, choice.symbol: count}
            choice.check(lengths)
            found = self._plans.keep(count, BoundPlan(self.form.later, lengths))
        return found

    def emit(self, native: NativeWriter) -> bool:
        """A call of what has a native call for each count."""
        return native.go_on(self, self.count)


STEP_KINDS: Final[Mapping[type[Step], Callable[[Any, PlanForm], StepForm | None]]] = {
    Allocate: AllocateForm,
    Reuse: AllocateForm,
    Release: Releasing,
    Launch: LaunchForm.prepare,
    Call: _library_call,
    WriteBack: WritingBack,
    Choose: ContinuationForm,
}
"""By kind of step what prepares it for any lengths; the form is bound to both back ends."""


class Otherwise(Protocol):
    """What runs in place of a plan whose kernels cannot be had now."""

    def run(self, arguments: Sequence[Any], given: Sequence[object] | None) -> Sequence[Array]:
        """As `BoundPlan.run`."""


class PlanForm(PlanMemory):
    """A plan as all lengths have it in common: its memory by name, and its steps in order."""

    def __init__(self, plan: Plan) -> None:
        """Name all lengths; none is evaluated yet."""
        super().__init__(plan)
        self.writes = any(isinstance(step, WriteBack) for step in plan.steps)
        self.is_entire = not any(isinstance(step, Choose) for step in plan.steps)
        """Whether all lengths are known before it runs."""
        self.steps: list[StepForm] = []
        for step in plan.steps:
            form = STEP_KINDS[type(step)](step, self)
            self.steps += [] if form is None else [form]
            if isinstance(form, ContinuationForm):
                break

    def bind(self, lengths: Mapping[Symbol, int], otherwise: Otherwise | None = None) -> BoundPlan:
        """The plan for certain lengths; raises as `BoundPlan`."""
        return BoundPlan(self, lengths, otherwise)

    @property
    def launches(self) -> list[LaunchForm]:
        """The runs of kernels of all steps."""
        return [launch for step in self.steps for launch in step.launches]


class BoundPlan:
    """A plan for certain lengths: a run only fills in addresses and calls the kernels."""

    __slots__ = ("_otherwise", "actions", "form", "handles", "lengths")

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
        actions = [step.bind(values, lengths) for step in form.steps]
        if form.is_entire:
            actions.append(GivingResults(form, lengths))
        self.actions = tuple(actions)
        self.handles = [handle for action in self.actions for handle in action.handles]

    @property
    def launches(self) -> list[Launching]:
        """The runs of kernels, but for those behind a count."""
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
        for name, position in self.form.arguments:
            arrays[name] = arguments[position]
        results = self.go_on(arrays, arguments, given)
        del kernels
        return results

    def go_on(
        self, arrays: Arrays, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> list[Array]:
        """As `run`, with the memory that there is already; all kernels are loaded."""
        results: Any = None
        for action in self.actions:
            results = action(arrays, arguments, given)
        found: list[Array] = results
        return found

    def native_plan(
        self,
        count: int,
        form: int | None,
        live: Sequence[str] = (),
        of_arguments: Mapping[int, OfArgument] | None = None,
        examples: Sequence[Any] | None = None,
        kind: type | None = None,
    ) -> NativePlan | None:
        """What a native call does for the plan; None where it cannot.

        It runs plans with a kernel that is work for one thread, or with library calls, whose
        results are arrays that it makes, views of these, or arguments. Large arrays are made, and
        kernels that threads share are run, by Python between its other steps. Kernels that check
        each access are run in Python, which reads their report. That arguments which are written
        may be, and share no memory with others, is for guards to see.

        Args:
            count: how many results the call gives; those behind them are lengths.
            form: how results are put together; None where only one function may do that.
            live: buffers whose arrays there are already, where steps before it have run.
            of_arguments: the results that are arguments or views of them, by their numbers.
            examples: arguments of a call that gives all results in order, as they are.
            kind: the container in which it gives them; None for one array.
        """
        if config.bounds or allocation.empty is not np.empty:
            return None
        if (self.form.writes or of_arguments) and (live or not self.form.is_entire):
            return None
        launches = self.launches
        if launches and not any(launch.is_serial for launch in launches):
            return None
        late = lazy_import("axiomjit.runtime.execution.native_plan")
        gives = late.Gives(count, form or 0, of_arguments or {})
        numbers = [number for launch in self.form.launches for number in launch.given]
        native: NativeWriter = late.NativeWriter(self.form, self.lengths, gives, live, numbers)
        if not native.load(self.handles):
            return None
        if examples is not None and self.form.is_fresh:
            for step in self.actions:
                if step.emit_alone(self.plan, native, examples, kind):
                    return native.plan()
        good = form is not None and all(action.emit(native) for action in self.actions)
        return native.plan() if good else None
