"""The plan: buffers, steps in order, and results. The runtime knows nothing else.

Shapes and strides are symbolic; a plan is bound to lengths once per set of lengths and then runs
with pointers alone.
"""

from __future__ import annotations

import numpy as np

from axiomjit.algebra.chosen import Choice
from axiomjit.algebra.dims import Dim
from axiomjit.algebra.index_maps import Conditions
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.passes.ir.cost import NO_COST, Cost
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.view_ir import ArrayRole


class Buffer(Record):
    """Memory of a plan, with the role of its storage.

    An argument has a `position`, a held buffer an `array`; the others are allocated with these
    strides (elements).
    """

    name: str
    role: ArrayRole
    dtype: np.dtype[np.generic]
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    position: int | None = None
    array: np.ndarray | None = None


class NumberSource(Record):
    """Where a scalar word comes from: an argument's position, a literal, or a length."""

    dtype: str
    position: int | None = None
    literal: np.generic | None = None
    length: Dim | None = None


class Window(Record):
    """A buffer seen with an offset, a shape and strides, all in elements of `dtype`.

    That is the buffer's own, or that of the parts of its complex elements.
    """

    buffer: str
    offset: Dim
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    dtype: np.dtype[np.generic]
    writable: bool = True


class Allocate(Record):
    """Make the memory of a result, a temporary or partial results."""

    buffer: str


class Launch(Record):
    """Run a kernel over `grid` units.

    `work` is its cost in additions; a byte of memory traffic takes about as long as one. A chain of
    `chunk_chain` units runs in order; or all units run in any order after the launch before, which
    is run `ahead` for nothing else. A launch whose units may be `shared` by threads gives the same
    as the next one, unless the number is negative; one of both runs.
    """

    kernel: Kernel
    buffers: tuple[str, ...]
    numbers: tuple[NumberSource, ...]
    lengths: tuple[Dim, ...]
    grid: Dim
    work: Dim
    ahead: bool = False
    chunk_chain: Dim | None = None
    shared: Dim | None = None


class Call(Record):
    """A library operation on windows, into a window.

    `labels` name the dimensions of the operands; those of the target are 0, 1 and so on. `where` is
    the user's line, for what the operation refuses.
    Operands with `conditions` reach out of their memory where one does not hold. `more` are other
    results of the same function of arrays, and where they are written. A call that `makes` its
    results gives the targets their memory.
    """

    operation: LibraryOperation
    operands: tuple[Window, ...]
    labels: tuple[tuple[int, ...], ...]
    target: Window
    where: str | None = None
    conditions: Conditions = ()
    more: tuple[tuple[LibraryOperation, Window], ...] = ()
    makes: bool = False

    @property
    def targets(self) -> tuple[Window, ...]:
        """All windows that are written."""
        return self.target, *(window for _, window in self.more)


class Release(Record):
    """The memory of a temporary is not needed any more."""

    buffer: str


class Reuse(Record):
    """The memory of `source`, a temporary that is not needed any more, becomes that of `buffer`.

    Both have the same number of bytes.
    """

    buffer: str
    source: str


class WriteBack(Record):
    """The memory of a buffer is the new value of the argument at a position.

    Kernels have written into the memory of the argument; an argument that was converted for the
    call gets a copy of the result.
    """

    buffer: str
    position: int


class Choose(Record):
    """A length is known now: the number in a window. Guards that name it are asked."""

    choice: Choice
    count: Window


Step = Allocate | Launch | Call | Release | Reuse | WriteBack | Choose


class Plan(Record):
    """Buffers, steps in order, one window per result, and what all steps cost.

    `early` are the positions of arguments that are written before the last step that may find that
    the plan does not fit the call, or raise an error.
    """

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    results: tuple[Window, ...]
    cost: Cost = NO_COST
    early: tuple[int, ...] = ()

    @property
    def fails(self) -> bool:
        """Whether a step may raise an error of NumPy's."""
        return any(isinstance(step, Call) and step.operation.fails for step in self.steps)

    @property
    def guesses(self) -> bool:
        """Whether a step may give a result of another shape or dtype."""
        return any(isinstance(step, Call) and step.operation.guesses for step in self.steps)

    @property
    def generators(self) -> tuple[object, ...]:
        """The generators of random numbers that it draws from."""
        operations = [step.operation for step in self.steps if isinstance(step, Call)]
        drawn = [one.generator for one in operations if one.generator is not None]
        return tuple({id(generator): generator for generator in drawn}.values())
