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
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.passes.ir.loop_ir import NO_COST, Cost


class Buffer(Record):
    """Memory of a plan: `role` is argument, held, result, temporary or partial.

    An argument has a `position`, a held buffer an `array`; the others are allocated with these
    strides (elements).
    """

    name: str
    role: str
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

    `work` is its cost in additions; a byte of memory traffic takes about as long as one.
    """

    kernel: Kernel
    buffers: tuple[str, ...]
    numbers: tuple[NumberSource, ...]
    lengths: tuple[Dim, ...]
    grid: Dim
    work: Dim


class Call(Record):
    """A library operation on windows, into a window.

    `labels` name the dimensions of the operands; those of the target are 0, 1 and so on. `where` is
    the user's line, for what the operation refuses.
    Operands with `conditions` reach out of their memory where one does not hold.
    """

    operation: LibraryOperation
    operands: tuple[Window, ...]
    labels: tuple[tuple[int, ...], ...]
    target: Window
    where: str | None = None
    conditions: Conditions = ()


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
    """Buffers, steps in order, one window per result, and what all steps cost."""

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    results: tuple[Window, ...]
    cost: Cost = NO_COST
