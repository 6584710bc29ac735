"""The plan: buffers, steps in order, and results. It is the only input of the runtime.

Shapes and strides are symbolic; a plan is bound to lengths once per set of lengths and then runs
with pointers alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from axiomjit.base.hashing import sha256
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
"""The version of the kernel interface: the meaning of words and of names in the source."""
REPORT: Final = 4
"""The number of words that a checked kernel has in front of the words of other kernels."""
TILE: Final = 1
"""The number that stands for any tile."""
FIRST: Final = 2
"""The number of the first buffer."""


class Parameter(Record):
    """One word of a kernel: a buffer's address, a scalar's bits or a length."""

    name: str
    kind: str
    dtype: str


class Traits(Record):
    """Facts about a kernel's loops that the compiler needs in addition to the source.

    `functions` counts calls of elementary functions; `strips` is True if several loops walk a unit
    of the grid. The combine part is ignored.
    """

    functions: int = 0
    strips: bool = False


class Kernel(Record):
    """The source of `kernel(w, lo, hi)`, its words in order, its target, and its key.

    If it `combines`, a call with lo == hi runs the combine part. The key covers the target's name
    and the source, in which buffers, iterators and lengths are numbered by first use; it does not
    depend on names of the program, ids or hash order.

    Compiled in its checked form (`config.bounds`), a kernel does not perform an access outside the
    bounds of its buffer. It reports the first one in words in front of those of the kernel, and the
    bounds of each buffer follow them:

        place, index, low, high | words of the kernel | low, high of each buffer

    `place` is 0 without a report, else `2 * number` for a load and one more for a store, where the
    buffers count from 2 and a tile has number 1.
    """

    source: str
    parameters: tuple[Parameter, ...]
    key: str
    combines: bool
    target: ChosenTarget
    traits: Traits = Traits()

    @property
    def polls(self) -> bool:
        """True if the last word is a cancellation flag; long loops end early once it is not 0."""
        return bool(self.parameters) and self.parameters[-1].kind == "flag"


def kernel_key(source: str, parameters: Sequence[Parameter], target: ChosenTarget) -> str:
    """The key of a kernel: equal for equal text, types of words and target."""
    types = ",".join(f"{p.kind}:{p.dtype}" for p in parameters)
    return sha256(f"{ABI}\n{target.name}\n{types}\n{source}".encode()).hexdigest()


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
    """A step that copies a buffer into the argument at a position, as its new value.

    Kernels write into an argument's own memory. Only an argument that was converted for the call
    needs this step.
    """

    buffer: str
    position: int


class Choose(Record):
    """A step that sets a data-dependent length to the number in a window and checks its guards."""

    choice: DataDependent
    count: Window


class Check(Record):
    """A step that checks the guards of a truth, the number 0 or 1 in a window.

    The steps behind it do not depend on the number.
    """

    choice: DataDependent
    count: Window


class OfRegion(Record):
    """A step that runs the plans of a region's bodies.

    The windows are arguments of each plan, in order. The first `written` ones are overwritten.
    `target` gets the number of trips.
    """

    bodies: tuple[Plan, ...]
    operands: tuple[Window, ...]
    written: int
    target: Window


class Repeat(OfRegion):
    """Run the first plan trip by trip, `trips` times, or without an end.

    Lengths of the plans name the `index`, which counts trips from 0. Before each trip the second
    plan, if there is one, gives a truth; the loop ends where it is false. The results of the first
    plan take the places of the `renewed` windows in the next trip; after the loop the last ones are
    copied into these windows.
    """

    index: Symbol | None = None
    trips: Dim | None = None
    renewed: tuple[int, ...] = ()


class Branch(OfRegion):
    """Run the first plan if the truth behind the written windows holds, else the second one."""


Step = Allocate | Launch | Call | Release | Reuse | WriteBack | Choose | Check | Repeat | Branch


class Plan(Record):
    """Buffers, steps in order, one window per result, and the cost of all steps.

    `early` are the positions of arguments that are written before the last step that may raise an
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
        """True if a result of a step may have another shape or dtype than assumed by the plan."""
        return any(call.operation.is_speculative for call in self.calls)

    @property
    def generators(self) -> tuple[object, ...]:
        """The generators of the random numbers that the plan draws."""
        drawn = [c.operation.generator for c in self.calls if c.operation.generator is not None]
        return tuple({id(generator): generator for generator in drawn}.values())

    @property
    def every_step(self) -> Iterator[Step]:
        """Its steps and those of the plans in them, in order."""
        for step in self.steps:
            yield step
            for body in step.bodies if isinstance(step, OfRegion) else ():
                yield from body.every_step

    @cached_property
    def calls(self) -> list[Call]:
        """The calls of libraries, also in plans of bodies."""
        return [step for step in self.every_step if isinstance(step, Call)]

    @property
    def launches(self) -> list[Launch]:
        """The launches of kernels, also in plans of bodies."""
        return [step for step in self.every_step if isinstance(step, Launch)]

    @property
    def calls_regions(self) -> bool:
        """True if a call of a region waits to be lowered."""
        calls = (step.operation for step in self.steps if isinstance(step, Call))
        return any(isinstance(operation, Region) for operation in calls)
