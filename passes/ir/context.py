"""What passes know beside the program: the lengths at hand and how arguments lie in memory."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.algebra.dims import Dim, Scope
from axiomjit.base.records import Record

Layouts = Mapping[int, tuple[Dim, ...]]
"""The strides (elements) of each array argument, by its position."""


class Context(Record):
    """What holds for one program in all passes.

    `scope` has the lengths at hand and takes the guards of decisions that looked at them.
    """

    layouts: Layouts
    scope: Scope
