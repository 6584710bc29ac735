"""The view program: storages with strides, and values with views of their operands.

A storage is an l-tensor: memory with a dtype, a shape and a layout; a view refers to its base
tensor (`axiomjit.views.descriptions`). A definition without a storage is an r-tensor: it only
defines the value at an index, and every reader computes it there (ngraph tensors: "An r-tensor only
needs to be able to provide values; it does not need to store them").
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
from axiomjit.views.dense_layout import Layout
from axiomjit.views.descriptions import BasicTensorDescription, SimpleTensorViewDescription


class ArrayRole(StrEnum):
    """The part that a storage plays in its program."""

    ARGUMENT = "argument"
    HELD = "held"
    """An array from outside the function, or a constant."""
    RESULT = "result"
    TEMPORARY = "temporary"
    """An intermediate value that is stored only to save time."""
    MATERIALIZED = "materialized"
    """An intermediate value that is stored because the user asked for that."""
    PARTIAL = "partial"
    """A buffer with states from body parts for the combine part, or with rows for a later step."""
    TILE = "tile"
    """Scratch memory of a kernel, with a cell per iteration of a loop over a block."""
    CELLS = "cells"
    """Scratch memory of a kernel with loops in order: carried numbers and small temporaries."""
    POSITIONS = "positions"
    """A storage without memory: the element at an index is the index."""

    @property
    def is_given(self) -> bool:
        """True if the elements exist before the program runs."""
        return self in (ArrayRole.ARGUMENT, ArrayRole.HELD)

    @property
    def is_temporary(self) -> bool:
        """True if only steps of the program see the elements."""
        return self in (ArrayRole.TEMPORARY, ArrayRole.MATERIALIZED)


class Storage(Record):
    """Memory of a program, with its role, dtype, shape and layout.

    Strides are in elements. `origin` is the node of an argument or constant.
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
        """Describe an l-tensor of this dtype and shape; its first element has offset 0."""
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
        """The lengths."""
        return tuple(map(dim, self.tensor.lengths))

    @property
    def strides(self) -> tuple[Dim, ...]:
        """The steps in memory from one element to the next, by dimension."""
        return tensor_strides(self.tensor)

    @property
    def size_bytes(self) -> Dim:
        """The bytes of all elements."""
        return product(self.shape) * self.dtype.itemsize


POSITIONS: Final = Storage("at", ArrayRole.POSITIONS, INT, (), ())
"""The storage of positions."""


class View(Record):
    """A storage seen at offset + sum of strides * iterators of the reading op, in elements.

    The view has the shape of the reading op, or of the result. A result that is not `writable` is
    returned read-only. A view of the real or imaginary parts has their dtype, and its strides are
    in elements of this dtype. `version` is the number of writes to the storage before this read.
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
        """Describe a view of `storage`, by default with its dtype."""
        layout = Layout(strides, offset)
        tensor = SimpleTensorViewDescription(storage.tensor, shape, layout, not writable, dtype)
        super().__init__(storage, tensor, version)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.tensor.dtype

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The lengths."""
        return tuple(map(dim, self.tensor.lengths))

    @property
    def offset(self) -> Dim:
        """The position of the view's first element in memory."""
        return dim(0 if self.tensor.layout is None else self.tensor.layout.offset)

    @property
    def strides(self) -> tuple[Dim, ...]:
        """The steps in memory from one element to the next, by dimension."""
        return tensor_strides(self.tensor)

    @property
    def writable(self) -> bool:
        """True if writes through the view are allowed."""
        return not self.tensor.read_only


def tensor_strides(tensor: BasicTensorDescription) -> tuple[Dim, ...]:
    """The strides of a tensor; empty without a layout."""
    return () if tensor.layout is None else tuple(map(dim, tensor.layout.strides))


class Value(Record):
    """An r-tensor read at an index."""

    name: str
    index: IndexMap


class Number(Record):
    """A scalar known before the kernels run: a Python argument, a literal or a length."""

    name: str
    dtype: DType
    origin: Input | Scalar | LengthNode


ReadOperand = View | Value | Number


def overwritten_storages(primitive: Primitive, operands: Sequence[ReadOperand]) -> tuple[str, ...]:
    """The names of the storages that a region overwrites; none for other primitives."""
    count = overwritten_by(primitive)
    return tuple([one.storage.name for one in operands[:count] if isinstance(one, View)])


class Library(Record):
    """A product of matrices, or an operation on whole operands, computed by a library.

    `labels` are the iterators of the dimensions of each operand; `where` is the user's source line.
    """

    operation: LibraryOperation
    labels: tuple[tuple[int, ...], ...]
    where: str | None = None


class Definition(Record):
    """One op of the program, computed into its storage; without a storage it is an r-tensor.

    If `library` is set, the op is a library call instead of loops. A join has one region per
    operand. With a `target`, the op writes the next version of an existing storage, at the elements
    in the target's view. Points that violate one of the `conditions` are skipped. In a scatter, the
    operands after the first are positions; in the target's view they are the iterators after those
    of the result. Along `ordered` iterators an element may be written again, so they run in C
    order; `combine` merges the old element with the new one.
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

    @property
    def overwritten(self) -> tuple[str, ...]:
        """The names of the storages among its operands that a region overwrites."""
        return overwritten_storages(self.primitive, self.operands)


class Count(Record):
    """The view that holds the value of a data-dependent length."""

    choice: DataDependent
    view: View


class ViewProgram(Record):
    """Definitions in order; a result is a view with one stride per dimension.

    Each length in `counts` is computed before values of that length.
    """

    storages: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    definitions: tuple[Definition, ...]
    results: tuple[View, ...]
    counts: tuple[Count, ...] = ()

    @property
    def updated(self) -> frozenset[str]:
        """The names of storages that have several versions."""
        found = {d.target.storage.name for d in self.definitions if d.target is not None}
        return frozenset(found.union(*(d.overwritten for d in self.definitions)))
