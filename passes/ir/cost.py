"""The cost of a step of a program: bytes and operations."""

from __future__ import annotations

from typing import Final

from axiomjit.base.records import Record
from axiomjit.symbolic.dims import Dim, dim


class Cost(Record):
    """The bytes and operations of a step, or of a plan, as symbolic lengths.

    `flops` counts operations, each weighted in additions. `temporary_bytes` is memory that is
    neither an argument nor a result. `scratch_bytes` is memory of partial results of folds, at most
    one state per 65,536 elements, and of buffered rows.
    """

    bytes_read: Dim
    bytes_written: Dim
    flops: Dim
    temporary_bytes: Dim
    scratch_bytes: Dim
    kernels: int


NO_COST: Final = Cost(*(dim(0), dim(0), dim(0), dim(0), dim(0)), 0)
