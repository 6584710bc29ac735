"""Runs of kernels whose units form chains, which threads share after a run ahead of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.runtime.compiling.kernel_handle import KernelHandle
from axiomjit.runtime.launching.bound_steps import LaunchForm, Launching, kernel_handle
from axiomjit.runtime.launching.schedule import cuts_chains
from axiomjit.runtime.launching.windows import Arrays
from axiomjit.symbolic.dims import Lengths, Symbol, Values


class ChainForm(LaunchForm):
    """A run of a kernel with chains and of the one ahead of it, for any lengths."""

    __slots__ = ("_ahead", "_chain")

    def __init__(self, ahead: LaunchForm, step: Launch, lengths: Lengths) -> None:
        """Name its lengths, with the length of a chain."""
        assert step.chunk_chain is not None
        super().__init__(step, lengths)
        self._ahead, self._chain = ahead, lengths.number(step.chunk_chain)

    @property
    def kernels(self) -> list[Kernel]:
        """The kernel ahead and that of the chains."""
        return [*self._ahead.kernels, self.step.kernel]

    def bind(self, values: Values, lengths: Mapping[Symbol, int]) -> Launching:
        """Both kernels, not loaded yet, and their words; raises as `words`."""
        ahead = self._ahead.bind(values, lengths)
        return Chaining(self, kernel_handle(self.step.kernel), values, ahead, values[self._chain])


class Chaining(Launching):
    """Runs a kernel whose units form chains; where threads share chains, after one ahead."""

    __slots__ = ("ahead", "chain")

    def __init__(
        self, form: ChainForm, handle: KernelHandle, values: Values, ahead: Launching, chain: int
    ) -> None:
        """Bind; raises as `LaunchForm.words`."""
        super().__init__(form, handle, values)
        self.ahead, self.chain = ahead, max(chain, 1)

    @property
    def handles(self) -> list[KernelHandle]:
        """The kernels that it may run."""
        return [*self.ahead.handles, self.handle]

    @property
    def forms(self) -> list[LaunchForm]:
        """The run ahead and that of the chains."""
        return [*self.ahead.forms, self.form]

    def __call__(self, arrays: Arrays, arguments: Sequence[object]) -> None:
        """Fill in addresses and numbers, and run; raises as `run`."""
        threads, chains = self.threads(), self.grid // self.chain
        if cuts_chains(chains, self.ahead.work, self.work, threads):
            self.ahead.run(arrays, arguments, threads)
            self.run(arrays, arguments, threads)
        else:
            self.run(arrays, arguments, threads, self.chain)
