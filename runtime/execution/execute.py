"""Run plans, in Python or in one native call.

A plan is prepared once, then bound to the lengths of calls. To add a kind of step, add a record to
`passes/ir/plan_ir.py` and a row to `STEP_KINDS`. Only this package converts elements to bytes and
arrays to addresses.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, Protocol

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.config import config
from axiomjit.base.locks import NotNowError, lazy_import
from axiomjit.base.tree import OfArgument
from axiomjit.passes.ir.plan_ir import (
    Allocate,
    Branch,
    Call,
    Check,
    Choose,
    Launch,
    Plan,
    Release,
    Repeat,
    Reuse,
    Step,
    WriteBack,
)
from axiomjit.runtime.codegen.kernel_cache import KernelHandle, LoadedKernel, load_all
from axiomjit.runtime.execution.plan_steps import (
    AllocateForm,
    BoundStep,
    CheckForm,
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
from axiomjit.symbolic.dims import Symbol, Values, dim

if TYPE_CHECKING:  # imported when a plan gets a native call
    from axiomjit.runtime.execution.native_plan import NativeWriter
    from axiomjit.runtime.native_call.instructions import NativePlan


def _library_call(step: Call, plan: PlanForm) -> StepForm:
    """The form of a library call; the first one imports the module `library_calls`."""
    late = lazy_import("axiomjit.runtime.execution.library_calls")
    form: StepForm = late.CallForm(step, plan)
    return form


def _region_step(step: Repeat | Branch, plan: PlanForm) -> StepForm:
    """The form of a loop or branch; the first one imports the module `repeats`."""
    late = lazy_import("axiomjit.runtime.execution.repeats")
    form: StepForm = late.RegionForm(step, plan, [PlanForm(body) for body in step.bodies])
    return form


class ContinuationForm(StepForm):
    """The form of all steps after the count of a data-dependent length, as a separate plan."""

    __slots__ = ("buffers", "later", "step")

    def __init__(self, step: Choose, plan: PlanForm) -> None:
        steps = plan.plan.steps
        self.step, self.buffers = step, plan.buffers
        self.later = PlanForm(plan.plan.replace(steps=steps[steps.index(step) + 1 :]))

    @property
    def launches(self) -> list[LaunchForm]:
        """The launches of kernels in the steps after the count."""
        return self.later.launches

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Continuation:
        """The continuation, which binds its steps when the count is known."""
        return Continuation(self, lengths)

    def of_words(self, values: Values, lengths: Mapping[Symbol, int]) -> BoundStep | None:
        """Return None: without the count, the steps cannot be written natively."""
        return None


class Continuation(BoundStep):
    """A bound step that reads a count, then runs the later steps, bound once per count."""

    __slots__ = ("_lengths", "_plans", "count", "form")

    def __init__(self, form: ContinuationForm, lengths: Mapping[Symbol, int]) -> None:
        self.form, self._lengths = form, lengths
        self.count = BoundWindow(form.step.count, form.buffers, lengths)
        self._plans = BoundedTable[int, BoundPlan]()

    @property
    def handles(self) -> Sequence[KernelHandle]:
        """The kernels of all steps after the count."""
        return [kernel_handle(launch.step.kernel) for launch in self.form.launches]

    def __call__(self, arrays: Arrays, arguments: Sequence[object], given: Any = None) -> Any:
        """Run the later steps; return the results of the plan."""
        count = int(self.count.of(arrays)[()])
        return self.bound_to(count).go_on(arrays, arguments, given)

    def bound_to(self, count: int) -> BoundPlan:
        """The plan of the later steps, bound to a count.

        Raises:
            OtherLengthError: a guard of the length does not hold.
        """
        found = self._plans.get(count)
        if found is None:
            choice = self.form.step.choice
            lengths = {**self._lengths, choice.symbol: count}
            choice.check(lengths)
            found = self._plans.keep(count, BoundPlan(self.form.later, lengths))
        return found

    def emit(self, native: NativeWriter) -> bool:
        """Write a native call of a Python function that runs the steps after the count."""
        return native.go_on(self, self.count)


STEP_KINDS: Final[Mapping[type[Step], Callable[[Any, PlanForm], StepForm | None]]] = {
    Allocate: AllocateForm,
    Reuse: AllocateForm,
    Release: Releasing,
    Launch: LaunchForm.prepare,
    Call: _library_call,
    WriteBack: WritingBack,
    Choose: ContinuationForm,
    Check: CheckForm,
    Repeat: _region_step,
    Branch: _region_step,
}
"""For each class of plan steps, the function that makes the form of a step."""


class Otherwise(Protocol):
    """An object that runs in place of a plan whose kernels are not available."""

    def run(self, arguments: Sequence[Any], given: Sequence[object] | None) -> Sequence[Array]:
        """The results, as `BoundPlan.run` returns them."""


class PlanForm(PlanMemory):
    """A plan for any lengths: the memory of its buffers, and the forms of its steps."""

    def __init__(self, plan: Plan) -> None:
        """Make the forms of all steps, without evaluating lengths."""
        super().__init__(plan)
        self.writes = any(isinstance(step, WriteBack) for step in plan.steps)
        self.is_entire = not any(isinstance(step, Choose) for step in plan.steps)
        """True if all lengths are known before the plan runs."""
        self.steps: list[StepForm] = []
        for step in plan.steps:
            form = STEP_KINDS[type(step)](step, self)
            self.steps += [] if form is None else [form]
            if isinstance(form, ContinuationForm):
                break

    def bind(self, lengths: Mapping[Symbol, int], otherwise: Otherwise | None = None) -> BoundPlan:
        """The plan bound to these lengths, with the errors of `BoundPlan`."""
        return BoundPlan(self, lengths, otherwise)

    @property
    def launches(self) -> list[LaunchForm]:
        """The launches of kernels of all steps."""
        return [launch for step in self.steps for launch in step.launches]


class BoundPlan:
    """A plan bound to lengths; its run only fills in addresses and calls kernels and libraries."""

    __slots__ = ("_otherwise", "actions", "form", "handles", "lengths")

    def __init__(
        self,
        plan: Plan | PlanForm,
        lengths: Mapping[Symbol, int],
        otherwise: Otherwise | None = None,
    ) -> None:
        """Evaluate all lengths of a plan; nothing is compiled.

        Args:
            plan: The plan, or its form if the plan is bound several times.
            lengths: The value of each symbol.
            otherwise: The object that runs in place of the plan if its kernels are not available.

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

    def of_words(self, symbols: Iterable[Symbol]) -> BoundPlan | None:
        """The plan for any values of symbols, which only native calls can run; None if impossible.

        Comparisons of lengths are recorded as guards in the current scope.
        """
        lengths: Any = {**self.lengths, **{symbol: dim(symbol) for symbol in symbols}}
        values = self.form.lengths.at(lengths)
        actions: list[Any] = [step.of_words(values, lengths) for step in self.form.steps]
        if None in actions or not self.form.is_entire:
            return None
        made: BoundPlan = object.__new__(BoundPlan)
        made.form, made.lengths, made._otherwise = self.form, lengths, None
        made.actions = (*actions, GivingResults(made.form, lengths))
        made.handles = self.handles
        return made

    @property
    def launches(self) -> list[Launching]:
        """The launches of kernels, without those in the steps after a count."""
        return [action for action in self.actions if isinstance(action, Launching)]

    @property
    def plan(self) -> Plan:
        """The plan that is bound."""
        return self.form.plan

    def load(self) -> list[LoadedKernel]:
        """Load the kernels, which remain loaded as long as the result is referenced.

        Raises:
            Errors of `KernelCache.get` are passed on.
        """
        return load_all(self.handles)

    def run(
        self, arguments: Sequence[object], given: Sequence[object] | None = None
    ) -> Sequence[Array]:
        """The results for these arguments, which are numbers, or arrays with the bound lengths.

        `given` are the arguments before conversion; new values of written arguments are copied back
        to them.

        Raises:
            OtherLengthError: a guard of a data-dependent length does not hold.
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
        """Run the steps on the arrays of buffers; the kernels must be loaded."""
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
        finish: Callable[..., object] | None = None,
    ) -> NativePlan | None:
        """The native plan of a call; None if the plan cannot run natively.

        A plan can run natively if it has library calls or a kernel that one thread runs, and if its
        results are new arrays, views of new arrays, or arguments. The native plan calls Python to
        make large arrays, and to run kernels that threads share. Checked kernels run in Python,
        which reads their report. Guards check that written arguments are writable and share no
        memory with others.

        Args:
            count: The number of results of the call; further results are lengths.
            form: The `form` of the native plan, which describes the container of results; None if a
                function builds the return value.
            live: The buffers whose arrays exist already, because steps ran before this call.
            of_arguments: The numbers of the results that are arguments or views of arguments.
            examples: The arguments of this call, if it returns all results of the plan, unchanged
                and in order; else None.
            kind: The class of the container of results; None for a single array.
            finish: A function that builds the return value from the arrays of results, if `form` is
                None.
        """
        if config.bounds or allocation.empty is not np.empty:
            return None
        if (self.form.writes or of_arguments) and (live or not self.form.is_entire):
            return None
        launches = self.launches
        if launches and not any(launch.is_serial for launch in launches):
            return None
        late = lazy_import("axiomjit.runtime.execution.native_plan")
        gives = late.Gives(count, form or 0, of_arguments or {}, finish)
        numbers = [number for launch in self.form.launches for number in launch.given]
        native: NativeWriter = late.NativeWriter(self.form, self.lengths, gives, live, numbers)
        if not native.load(self.handles):
            return None
        if examples is not None and self.form.is_fresh:
            for step in self.actions:
                if step.emit_alone(self.plan, native, examples, kind):
                    return native.plan()
        told = form is not None or finish is not None
        good = told and all(action.emit(native) for action in self.actions)
        return native.plan() if good else None
