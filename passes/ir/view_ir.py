"""The view program: storages with strides, and definitions that read views of storages.

A storage is an l-tensor: memory with a dtype, a shape and a layout. A view refers to its base
tensor (`axiomjit.views.descriptions`). A definition without a storage is an r-tensor: every reader
computes its value at an index (ngraph tensors: "An r-tensor only needs to be able to provide
values; it does not need to store them").
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Final

from axiomjit.base.dtypes import INT, DType
from axiomjit.base.records import Record
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Constant, Input, LengthNode, Scalar
from axiomjit.graph.primitives import FoldRule, Primitive
from axiomjit.graph.regions import overwritten_by
from axiomjit.symbolic.data_dependent import DataDependent
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import Conditions, IndexMap, Region
from axiomjit.views.descriptions import BasicTensorDescription, Layout, SimpleTensorViewDescription


class ArrayRole(StrEnum):
    """The role of a storage in its program."""

    ARGUMENT = "argument"
    HELD = "held"
    """An array that the program holds: a captured array or a constant."""
    RESULT = "result"
    TEMPORARY = "temporary"
    """An intermediate value that passes store to save time."""
    MATERIALIZED = "materialized"
    """An intermediate value that is stored because the user asked for it."""
    PARTIAL = "partial"
    """A buffer with states that body parts leave for the combine part, or with rows for a later
    step."""
    TILE = "tile"
    """Scratch memory of a kernel, with one cell per iteration of a loop over a block."""
    CELLS = "cells"
    """Scratch memory of a kernel with serial loops, for carried numbers and small temporaries."""
    POSITIONS = "positions"
    """A storage without memory, whose element at an index is the index itself."""

    @property
    def is_given(self) -> bool:
        """True if the elements exist before the program runs."""
        return self in (ArrayRole.ARGUMENT, ArrayRole.HELD)

    @property
    def is_temporary(self) -> bool:
        """True if only steps of the program read and write the elements."""
        return self in (ArrayRole.TEMPORARY, ArrayRole.MATERIALIZED)


class Storage(Record):
    """Memory of a program, with its role, dtype, shape and layout.

    Strides are in elements. `origin` is the node if the storage is an argument or a constant.
    """

    name: str
    role: ArrayRole
    tensor: BasicTensorDescription
    origin: Input | Constant | None

    def __init__(
        self,
        name: str,
        role: ArrayRole,
        dtype: DType,
        shape: tuple[Dim, ...],
        strides: tuple[Dim, ...],
        origin: Input | Constant | None = None,
    ) -> None:
        """Describe memory with this dtype, shape and strides, whose first element has offset 0."""
        tensor = BasicTensorDescription(shape, dtype, False, Layout(strides))
        super().__init__(name, role, tensor, origin)

    def __hash__(self) -> int:
        return hash(self.name)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The length of each dimension."""
        return tuple(map(dim, self.tensor.lengths))

    @property
    def strides(self) -> tuple[Dim, ...]:
        """The distance in memory between neighbouring elements along each dimension."""
        return tensor_strides(self.tensor)

    @property
    def size_bytes(self) -> Dim:
        """The number of bytes of all elements."""
        return product(self.shape) * self.dtype.itemsize


POSITIONS: Final = Storage("at", ArrayRole.POSITIONS, INT, (), ())
"""The only storage of role POSITIONS."""


class View(Record):
    """A view of a storage: the element at offset + sum of stride * iterator of the reading op.

    The view has the shape of the reading op, or of the result. A result that is not `writable` is
    returned read-only. A view of real or imaginary parts has the dtype of the parts, and its offset
    and strides are in elements of this dtype. `version` is the number of writes to the storage
    before this read.
    """

    storage: Storage
    tensor: SimpleTensorViewDescription
    version: int

    def __init__(
        self,
        storage: Storage,
        shape: tuple[Dim, ...],
        offset: Dim,
        strides: tuple[Dim, ...],
        writable: bool = True,
        dtype: DType | None = None,
        version: int = 0,
    ) -> None:
        """Describe a view of `storage`, by default with the storage's dtype."""
        layout = Layout(strides, offset)
        tensor = SimpleTensorViewDescription(storage.tensor, shape, layout, not writable, dtype)
        super().__init__(storage, tensor, version)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The length of each dimension."""
        return tuple(map(dim, self.tensor.lengths))

    @property
    def offset(self) -> Dim:
        """The offset in memory of the view's first element."""
        return dim(0 if self.tensor.layout is None else self.tensor.layout.offset)

    @property
    def strides(self) -> tuple[Dim, ...]:
        """The distance in memory between neighbouring elements along each dimension."""
        return tensor_strides(self.tensor)

    @property
    def writable(self) -> bool:
        """True if writes through the view are allowed."""
        return not self.tensor.read_only


def tensor_strides(tensor: BasicTensorDescription) -> tuple[Dim, ...]:
    """The strides of a tensor; an empty tuple if the tensor has no layout."""
    return () if tensor.layout is None else tuple(map(dim, tensor.layout.strides))


class Value(Record):
    """An operand that is an r-tensor, read through an index map."""

    name: str
    index: IndexMap


class Number(Record):
    """A scalar that is known before kernels run: a Python argument, a literal or a length."""

    name: str
    dtype: DType
    origin: Input | Scalar | LengthNode


ReadOperand = View | Value | Number


def overwritten_storages(primitive: Primitive, operands: Sequence[ReadOperand]) -> tuple[str, ...]:
    """The names of the storages that a region overwrites; empty for other primitives."""
    count = overwritten_by(primitive)
    return tuple([one.storage.name for one in operands[:count] if isinstance(one, View)])


class Library(Record):
    """A matrix product or an operation on whole operands, which a library computes.

    `labels` has the iterator of each dimension of each operand; `where` is the user's source line.
    """

    operation: LibraryOperation
    labels: tuple[tuple[int, ...], ...]
    where: str | None = None


class Definition(Record):
    """One op of the program; it is computed into `storage`, or is an r-tensor if `storage` is None.

    If `library` is set, a library call computes the op instead of loops. For each operand, a join
    has in `regions` the part of the result that the operand fills. With a `target`, the op writes
    the next version of an existing storage, at the elements of the target's view. The op skips
    points that violate one of the `conditions`. In a scatter, the operands after the first are
    positions, which the target's view uses as further iterators, numbered after the result's
    iterators. Along `ordered` iterators an element may be written repeatedly, so they run in C
    order; `combine` merges the old element with the new one. `unrolled`
    iterators have no loop: statements for each of their values stand side by side.
    """

    name: str
    dtype: DType
    primitive: Primitive
    fold: FoldRule | None
    operands: tuple[ReadOperand, ...]
    extents: tuple[Dim, ...]
    rank: int
    storage: Storage | None = None
    library: Library | None = None
    regions: tuple[Region, ...] = ()
    target: View | None = None
    conditions: Conditions = ()
    ordered: frozenset[int] = frozenset()
    combine: Primitive | None = None
    unrolled: frozenset[int] = frozenset()

    @property
    def overwritten(self) -> tuple[str, ...]:
        """The names of the storages among the operands that a region overwrites."""
        return overwritten_storages(self.primitive, self.operands)


class Count(Record):
    """A data-dependent length, and the view of the element with its value."""

    choice: DataDependent
    view: View


class ViewProgram(Record):
    """A program of definitions in order; a result is a view with one stride per dimension.

    Each length in `counts` is computed before the values that have this length.
    """

    storages: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    definitions: tuple[Definition, ...]
    results: tuple[View, ...]
    counts: tuple[Count, ...] = ()

    @property
    def updated(self) -> frozenset[str]:
        """The names of the storages that have several versions."""
        found = {d.target.storage.name for d in self.definitions if d.target is not None}
        return frozenset(found.union(*(d.overwritten for d in self.definitions)))
