"""The plan: buffers, steps in order, and results. It is the only input of the runtime.

Shapes and strides are symbolic; a plan is bound to lengths once per set of lengths and then runs
with pointers alone.
"""

from __future__ import annotations

import numpy as np

from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.passes.ir.cost import NO_COST, Cost
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.data_dependent import DataDependent
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import Conditions


class Buffer(Record):
    """Memory of a plan, with the role of its storage.

    An argument has a `position`, a constant an `array`; other buffers are allocated with these
    strides, in elements.
    """

    name: str
    role: ArrayRole
    dtype: np.dtype[np.generic]
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    position: int | None = None
    array: np.ndarray | None = None


class NumberSource(Record):
    """The source of a scalar word: an argument's position, a literal, or a length."""

    dtype: str
    position: int | None = None
    literal: np.generic | None = None
    length: Dim | None = None


class Window(Record):
    """A view of a buffer: offset, shape and strides, in elements of `dtype`.

    The dtype is the buffer's own, or the real type of its complex elements.
    """

    buffer: str
    offset: Dim
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    dtype: np.dtype[np.generic]
    writable: bool = True


class Allocate(Record):
    """Allocate the memory of a result, a temporary or partial results."""

    buffer: str


class Launch(Record):
    """Run a kernel over `grid` units; `prepass` and the fields after it are those of its nest.

    `work` is its cost in additions; a byte of memory traffic counts as one.
    """

    kernel: Kernel
    buffers: tuple[str, ...]
    numbers: tuple[NumberSource, ...]
    lengths: tuple[Dim, ...]
    grid: Dim
    work: Dim
    prepass: bool = False
    chunk_chain: Dim | None = None
    parallel_variant: Dim | None = None


class Call(Record):
    """A library operation on windows, into a window.

    `labels` name the dimensions of the operands; the target's are 0, 1 and so on. `where` is the
    user's source line, for errors. At points that violate one of the `conditions`, operands are out
    of bounds and not read. `other_results` are other results of the same call, with their targets.
    With `allocates_targets`, the call allocates the targets.
    """

    operation: LibraryOperation
    operands: tuple[Window, ...]
    labels: tuple[tuple[int, ...], ...]
    target: Window
    where: str | None = None
    conditions: Conditions = ()
    other_results: tuple[tuple[LibraryOperation, Window], ...] = ()
    allocates_targets: bool = False

    @property
    def targets(self) -> tuple[Window, ...]:
        """All windows that are written."""
        return self.target, *(window for _, window in self.other_results)


class Release(Record):
    """Release the memory of a temporary that is no longer needed."""

    buffer: str


class Reuse(Record):
    """Give the memory of `source`, a temporary that is no longer needed, to `buffer`.

    Both have the same number of bytes.
    """

    buffer: str
    source: str


class WriteBack(Record):
    """Make the elements of a buffer the new value of the argument at a position.

    Kernels write into the argument's own memory; only an argument that was converted for the call
    needs a copy of the result.
    """

    buffer: str
    position: int


class Choose(Record):
    """Set a data-dependent length to the number in a window, and check its guards."""

    choice: DataDependent
    count: Window


Step = Allocate | Launch | Call | Release | Reuse | WriteBack | Choose


class Plan(Record):
    """Buffers, steps in order, one window per result, and the cost of all steps.

    `early` are the positions of arguments that are written before the last step that may raise an
    error or find that the plan is invalid for the call.
    """

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    results: tuple[Window, ...]
    cost: Cost = NO_COST
    early: tuple[int, ...] = ()

    @property
    def may_raise(self) -> bool:
        """True if a step may raise a NumPy error."""
        return any(isinstance(step, Call) and step.operation.may_raise for step in self.steps)

    @property
    def is_speculative(self) -> bool:
        """True if a result of a step may have another shape or dtype than assumed by the plan."""
        return any(isinstance(step, Call) and step.operation.is_speculative for step in self.steps)

    @property
    def generators(self) -> tuple[object, ...]:
        """The generators of the random numbers that the plan draws."""
        operations = [step.operation for step in self.steps if isinstance(step, Call)]
        drawn = [one.generator for one in operations if one.generator is not None]
        return tuple({id(generator): generator for generator in drawn}.values())
