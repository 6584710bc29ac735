"""Facts that passes know in addition to the program: lengths, layouts, the target CPU."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget
from axiomjit.symbolic.dims import Dim, Scope

Layouts = Mapping[int, tuple[Dim, ...]]
"""The strides of each array argument by its position, in elements."""


class Context(Record):
    """Facts about one program that all passes share.

    `scope` has the lengths of the call, and records a guard for each decision based on them.
    Kernels are compiled for `target`; a pass reads its record only if needed, since the first read
    imports LLVM.
    """

    layouts: Layouts
    scope: Scope
    target: ChosenTarget
    serial: bool = False
    """True for the body of a loop, whose kernel calls no library."""
