"""The plan: buffers, steps in order, and results. The plan is the only input of the runtime.

Shapes and strides are symbolic. A plan is bound once to each set of lengths; the bound plan runs
with pointers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from axiomjit.base.caching import sha256
from axiomjit.base.records import Record, cached_property
from axiomjit.base.target import ChosenTarget
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.regions import Region
from axiomjit.passes.ir.loop_ir import NO_COST, Cost
from axiomjit.passes.ir.view_ir import ArrayRole
from axiomjit.symbolic.data_dependent import DataDependent
from axiomjit.symbolic.dims import Dim, Symbol
from axiomjit.symbolic.index_maps import Conditions

ABI: Final = "2"
"""The version of the kernel interface, which defines words and names in the source."""
REPORT_WORDS: Final = 4
"""The number of words of a checked kernel's report; the kernel's other words follow them."""
TILE_NUMBER: Final = 1
"""The number that stands for a tile in a checked kernel's report."""
FIRST_BUFFER: Final = 2
"""The number of the first buffer in a checked kernel's report."""


class Parameter(Record):
    """One word of a kernel: the address of a buffer, the bits of a scalar, a length or a flag."""

    name: str
    kind: str
    dtype: str


class Traits(Record):
    """Facts about a kernel's loops that the compiler needs besides the source.

    `functions` counts calls of elementary functions. `strips` is True if several loops run over a
    unit of the grid in turn. The combine part is not considered.
    """

    functions: int = 0
    strips: bool = False


class Kernel(Record):
    """A kernel: the source of `kernel(w, lo, hi)`, its words in order, its target and its key.

    If the kernel `combines`, a call with lo == hi runs the combine part. The key depends on the
    target's name and the source, in which buffers, iterators and lengths are numbered by first use.
    The key does not depend on names of the program, ids or hash order.

    In its checked form (`config.bounds`), a kernel performs no access outside the bounds of a
    buffer. The kernel reports the first refused access in words before its other words, and has the
    bounds of each buffer in words at the end:

        | place, index, low, high | words of the kernel | low, high of each buffer |

    `place` is 0 without a report, `2 * number` for a load and `2 * number + 1` for a store. Buffers
    are numbered from 2, and the number of every tile is 1.
    """

    source: str
    parameters: tuple[Parameter, ...]
    key: str
    combines: bool
    target: ChosenTarget
    traits: Traits = Traits()

    @property
    def polls(self) -> bool:
        """True if the last word is a cancellation flag; long loops end early if it is not 0."""
        return bool(self.parameters) and self.parameters[-1].kind == "flag"


def kernel_key(source: str, parameters: Sequence[Parameter], target: ChosenTarget) -> str:
    """The key of a kernel, a hash of its source, the types of its words and its target."""
    types = ",".join(f"{p.kind}:{p.dtype}" for p in parameters)
    return sha256(f"{ABI}\n{target.name}\n{types}\n{source}".encode()).hexdigest()


class Buffer(Record):
    """A buffer of a plan, with the role of the storage for which it is made.

    `position` is set for an argument, `array` for a constant; other buffers are allocated with the
    strides in `strides`, in elements.
    """

    name: str
    role: ArrayRole
    dtype: np.dtype[np.generic]
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    position: int | None = None
    array: np.ndarray | None = None


class NumberSource(Record):
    """The source of a scalar word: the position of an argument, a literal, or a length."""

    dtype: str
    position: int | None = None
    literal: np.generic | None = None
    length: Dim | None = None


class Window(Record):
    """A view of a buffer: offset, shape and strides, in elements of `dtype`.

    The dtype is that of the buffer, or that of the real parts of its complex elements.
    """

    buffer: str
    offset: Dim
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    dtype: np.dtype[np.generic]
    writable: bool = True


class Allocate(Record):
    """A step that allocates the memory of a buffer."""

    buffer: str


class Launch(Record):
    """A step that runs a kernel over `grid` units.

    `work` is the cost in additions, where a byte of memory traffic counts as one addition.
    `prepass`, `chunk_chain` and `parallel_variant` are the fields of the kernel's nest.
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
    """A step that runs a library operation on windows and writes the result into a window.

    `labels` number the dimensions of the operands; the dimensions of the target are 0, 1 and so on.
    `where` is the user's source line, for errors. At points that violate one of the `conditions`,
    operands would be read out of bounds and are not read. `other_results` has further results of
    the same call with their targets. With `allocates_targets`, the call allocates the targets.
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
        """The windows of all results, which the call writes."""
        return self.target, *(window for _, window in self.other_results)


class Release(Record):
    """A step that releases the memory of a temporary that is no longer needed."""

    buffer: str


class Reuse(Record):
    """A step that gives the memory of `source`, a temporary that is no longer needed, to `buffer`.

    `source` and `buffer` have the same number of bytes.
    """

    buffer: str
    source: str


class WriteBack(Record):
    """A step that copies a buffer into the argument at a position, as its new value.

    Only an argument that was converted for the call needs a write-back, since kernels write into
    the memory of other arguments directly.
    """

    buffer: str
    position: int


class Choose(Record):
    """A step that reads a data-dependent length from a window and checks the length's guards."""

    choice: DataDependent
    count: Window


class Check(Record):
    """A step that reads a truth value (0 or 1) from a window and checks its guards.

    Later steps do not depend on the truth value.
    """

    choice: DataDependent
    count: Window


class OfRegion(Record):
    """A step that runs the plans of a region's bodies.

    The windows `operands` are the arguments of each plan, in order. The step overwrites the first
    `written` windows in `operands`. `target` gets the number of trips.
    """

    bodies: tuple[Plan, ...]
    operands: tuple[Window, ...]
    written: int
    target: Window


class Repeat(OfRegion):
    """A step that runs the first plan `trips` times, or without a limit if `trips` is None.

    Lengths of the plans depend on the `index`, which counts trips from 0. If there is a second
    plan, it computes a truth value before each trip; the loop ends when the truth value is False.
    The results of the first plan replace the `renewed` windows in the next trip; after the loop,
    the last results are copied into these windows.
    """

    index: Symbol | None = None
    trips: Dim | None = None
    renewed: tuple[int, ...] = ()


class Branch(OfRegion):
    """A step that runs the first plan if a truth value is True, else the second plan."""


Step = Allocate | Launch | Call | Release | Reuse | WriteBack | Choose | Check | Repeat | Branch


class Plan(Record):
    """A plan: buffers, steps in order, one window per result, and the cost of all steps.

    `early` has the positions of arguments that are written before the last step that may raise an
    error or find that the plan is invalid for the call.
    """

    __slots__ = ("__dict__",)

    buffers: tuple[Buffer, ...]
    steps: tuple[Step, ...]
    results: tuple[Window, ...]
    cost: Cost = NO_COST
    early: tuple[int, ...] = ()

    @property
    def may_raise(self) -> bool:
        """True if a step may raise a NumPy error."""
        return any(call.operation.may_raise for call in self.calls)

    @property
    def is_speculative(self) -> bool:
        """True if the result of a step may have another shape or dtype than the plan assumes."""
        return any(call.operation.is_speculative for call in self.calls)

    @property
    def generators(self) -> tuple[object, ...]:
        """The random generators from which the plan draws."""
        drawn = [c.operation.generator for c in self.calls if c.operation.generator is not None]
        return tuple({id(generator): generator for generator in drawn}.values())

    @property
    def every_step(self) -> Iterator[Step]:
        """All steps in order, each step of a region followed by the steps of its plans."""
        for step in self.steps:
            yield step
            for body in step.bodies if isinstance(step, OfRegion) else ():
                yield from body.every_step

    @cached_property
    def calls(self) -> list[Call]:
        """The calls of libraries in this plan and in the plans of its regions."""
        return [step for step in self.every_step if isinstance(step, Call)]

    @property
    def launches(self) -> list[Launch]:
        """The launches of kernels in this plan and in the plans of its regions."""
        return [step for step in self.every_step if isinstance(step, Launch)]

    @property
    def calls_regions(self) -> bool:
        """True if the plan has a call of a region, which must still be lowered."""
        calls = (step.operation for step in self.steps if isinstance(step, Call))
        return any(isinstance(operation, Region) for operation in calls)
