"""A kernel: one function of generated source, and what its words are."""

from __future__ import annotations

from axiomjit.records import Record


class Parameter(Record):
    """One word of a kernel: a buffer's address, a scalar's bits or a length."""

    name: str
    kind: str
    dtype: str


class Kernel(Record):
    """Source of `kernel(w, lo, hi)`, its words in order, and the key of its text.

    `combines` says that a call with lo == hi runs the combine part. The key holds the name of
    the target, and the loop text with buffers, iterators and lengths renumbered by first use: no
    names of the program, ids or hash order.
    """

    source: str
    parameters: tuple[Parameter, ...]
    key: str
    combines: bool
