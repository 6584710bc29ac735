"""The facts about a program that are given to passes: lengths, layouts and the target CPU."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget
from axiomjit.graph.nodes import Graph
from axiomjit.graph.regions import Loop, Region
from axiomjit.symbolic.data_dependent import BodyScope
from axiomjit.symbolic.dims import Dim, Scope, evaluate
from axiomjit.symbolic.index_ranges import AnyTrip, IndexRange

if TYPE_CHECKING:
    from axiomjit.passes.ir.plan_ir import Plan

Layouts = Mapping[int, tuple[Dim, ...]]
"""The strides of each array argument by its position, in elements."""


class Context(Record):
    """The facts about one program, which all passes share.

    `layouts` has the strides of arguments. `scope` has the lengths of the call, and records a guard
    for each decision that depends on a length. Kernels are compiled for `target`; a pass reads the
    target's record only if it needs to, since the first read imports LLVM.
    """

    layouts: Layouts
    scope: Scope
    target: ChosenTarget
    serial: bool = False
    """True while the body of a loop is lowered to a kernel, which cannot call libraries."""
    ranges: tuple[IndexRange, ...] = ()
    """The ranges of the indices of the loops around the body that is lowered, outermost first."""
    lower: Callable[[Graph, Context], Plan] | None = None
    """The function that lowers the body of a region to a plan; the pipeline sets it."""


def scope_of_body(region: Region, scope: Scope) -> Scope:
    """The scope in which the bodies of a region are lowered, for all trips.

    The loop's index has the value that it has in the middle trip. Passes use this value only to
    estimate speed, since decisions that change results must hold in all trips.
    """
    inner = BodyScope(scope)
    if isinstance(region, Loop) and region.index is not None and region.trips is not None:
        trips = evaluate(region.trips, scope.values)
        inner.values = {**scope.values, region.index: max(trips // 2, 0)}
        inner.indices = AnyTrip(inner)
    return inner
