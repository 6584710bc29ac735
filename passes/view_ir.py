"""The view program: storages with strides, and for each value how its operands are read.

A storage is an l-tensor: memory with a dtype, a shape and strides in elements. A definition
without a storage is an r-tensor: it only says how to provide its value at an index, and whoever
reads it computes it there (seed 002: "An r-tensor only needs to be able to provide values; it
does not need to store them").
"""

from __future__ import annotations

from axiomjit.dims import Dim
from axiomjit.dtypes import DType
from axiomjit.graph import Held, Input, Scalar, Size
from axiomjit.index_maps import IndexMap, Region
from axiomjit.primitives import Accumulator, Primitive
from axiomjit.records import Record


class Storage(Record):
    """Memory: `role` is argument, held, result or temporary; strides count elements.

    `origin` is the node that an argument or held array stands for.
    """

    name: str
    role: str
    dtype: DType
    shape: tuple[Dim, ...]
    strides: tuple[Dim, ...]
    origin: Input | Held | None = None


class View(Record):
    """A storage read at offset + sum of strides * iterators of the reading op, in elements.

    A result that is not `writable` is handed out read-only. One of the real or imaginary parts
    has their `dtype`, and counts in elements of it.
    """

    storage: Storage
    offset: Dim
    strides: tuple[Dim, ...]
    writable: bool = True
    dtype: DType | None = None


class Value(Record):
    """An r-tensor read at an index."""

    name: str
    index: IndexMap


class Number(Record):
    """A scalar known before the kernels run: a Python argument, a literal or a length."""

    name: str
    dtype: DType
    origin: Input | Scalar | Size


Operand = View | Value | Number


class Library(Record):
    """A product of matrices, or an operation on whole operands, left to a library.

    `labels` name, for each dimension of each operand, the iterator along which it runs.
    """

    function: str
    labels: tuple[tuple[int, ...], ...]


class Definition(Record):
    """One op of the program; with a storage it is computed into it, without it is an r-tensor.

    `library` computes it instead of loops, where there is one. A join has a region per operand.
    """

    name: str
    dtype: DType
    primitive: Primitive
    fold: Accumulator | None
    operands: tuple[Operand, ...]
    extents: tuple[Dim, ...]
    rank: int
    storage: Storage | None = None
    library: Library | None = None
    regions: tuple[Region, ...] = ()


class ViewProgram(Record):
    """Definitions in order; a result is a view with one stride per dimension and its shape."""

    storages: tuple[Storage, ...]
    numbers: tuple[Number, ...]
    definitions: tuple[Definition, ...]
    results: tuple[tuple[View, tuple[Dim, ...]], ...]
