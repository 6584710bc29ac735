"""Runs of kernels that have another form for threads, which is run where it takes less."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.runtime.compiling.kernel_handle import KernelHandle
from axiomjit.runtime.launching.bound_steps import LaunchForm, Launching, kernel_handle
from axiomjit.runtime.launching.schedule import WORTH
from axiomjit.runtime.launching.windows import Arrays
from axiomjit.symbolic.dims import Lengths, Symbol, Values


class SharedForm(LaunchForm):
    """A run of a kernel, or of one that threads share in place of it, for any lengths."""

    __slots__ = ("_room", "_shared")

    def __init__(self, shared: LaunchForm, step: Launch, lengths: Lengths) -> None:
        """Name its lengths, with the form for threads."""
        assert shared.step.parallel_variant is not None
        super().__init__(step, lengths)
        self._shared, self._room = shared, lengths.number(shared.step.parallel_variant)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernel for threads and that for one thread."""
        return [*self._shared.kernels, self.step.kernel]

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Launching:
        """Both kernels, not loaded yet, and their words; raises as `words`."""
        if values[self._room] < 0:
            return super().bind(values, lengths)
        shared = self._shared.bind(values, lengths)
        return Sharing(self, kernel_handle(self.step.kernel), values, shared)


class Sharing(Launching):
    """Runs a kernel, or where threads share it another one that gives the same."""

    __slots__ = ("shared",)

    def __init__(
        self, form: SharedForm, handle: KernelHandle, values: Values, shared: Launching
    ) -> None:
        """Bind; raises as `LaunchForm.words`."""
        super().__init__(form, handle, values)
        self.shared = shared

    @property
    def handles(self) -> list[KernelHandle]:
        """The kernels that it may run."""
        return [*self.shared.handles, self.handle]

    @property
    def forms(self) -> list[LaunchForm]:
        """The run for threads and that for one thread."""
        return [*self.shared.forms, self.form]

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Fill in addresses and numbers, and run; raises as `run`."""
        threads = self.threads()
        pays = threads > 1 and self.shared.work * WORTH < self.work * threads
        chosen = self.shared if pays else self
        chosen.run(arrays, arguments, threads)
