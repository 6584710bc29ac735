"""Facts that passes know beside the program: lengths, layouts of arguments, the target CPU."""

from __future__ import annotations

from collections.abc import Mapping

from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget
from axiomjit.symbolic.dims import Dim, Scope

Layouts = Mapping[int, tuple[Dim, ...]]
"""The strides (elements) of each array argument, by its position."""


class Context(Record):
    """Facts about one program that all passes share.

    `scope` has the lengths at hand and takes the guards of decisions that looked at them. Kernels
    are compiled for `target`; a pass asks for its record only where the record decides something,
    since the first who asks imports LLVM.
    """

    layouts: Layouts
    scope: Scope
    target: ChosenTarget
