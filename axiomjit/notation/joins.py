"""Concatenations `a^b` of label notation: joins of blocks, each of which is the sum of its runs.

A run selects one part of each concatenation as live, and reads the operand whose labels are all
live. A block without a run is 0.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence

from axiomjit.base.dtypes import common
from axiomjit.base.errors import ShapeError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, concatenate, promotable
from axiomjit.graph.contractions import Projections
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.notation.products import Meaning, emit
from axiomjit.notation.projections import axes_of, projections_of
from axiomjit.notation.specs import AxisSpec, Concat, EinsumSpec, Label, SlotSpec
from axiomjit.notation.templates import Solution
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import Affine

_SUM = Meaning("mul", "sum")


class Run(Record):
    """One run: the operand that is read, and its projections onto a block and onto the result."""

    operand: int
    live: tuple[str, ...]
    block: Projections
    whole: Projections


class ConcatRuns:
    """The runs of a spec with concatenations, for known shapes; makes the node of the result."""

    def __init__(self, spec: EinsumSpec, solution: Solution) -> None:
        """Find the groups of labels of which exactly one is live in a run."""
        self.spec, self.solution = spec, solution
        self.axes = axes_of(spec.result, solution.result)
        joined = [axis for slot in spec.slots for axis in slot if isinstance(axis, Concat)]
        self.groups = _groups(joined)

    def parts(self) -> tuple[Run, ...]:
        """All runs that read an operand, in the order of the result's blocks."""
        found: list[Run] = []
        for choice in itertools.product(*map(_choices, self.axes)):
            found += self._runs(choice)
        return tuple(found)

    def projections(self) -> tuple[Projections, ...]:
        """For each run, the projections of its operand onto the whole result."""
        return tuple(part.whole for part in self.parts())

    def node(self, nodes: Sequence[Node], asked: str) -> Node:
        """The node of the result: a join of blocks, each of which is the sum of its runs."""
        dtype = common(tuple(promotable(node) for node in nodes))
        given = [cast(builder.strong(node), dtype) for node in nodes]
        runs: dict[tuple[str | None, ...], list[Run]] = {}
        for part in self.parts():
            runs.setdefault(self._block(part.live), []).append(part)

        def block(choice: tuple[str | None, ...]) -> Node:
            values = [emit(p.block, [given[p.operand]], _SUM, asked) for p in runs.get(choice, ())]
            if not values:
                return builder.view(Scalar(dtype, dtype.type(0), False), (), self._extents(choice))
            total, *others = values
            for value in others:
                total = builder.elementwise(PRIMITIVES["add"], total, value)
            return total

        def joined(choice: tuple[str | None, ...]) -> Node:
            d = len(choice)
            if d == len(self.axes):
                return block(choice)
            pieces = [joined((*choice, one)) for one in _choices(self.axes[d])]
            return pieces[0] if len(pieces) == 1 else concatenate(pieces, d)

        return joined(())

    def _extents(self, choice: Sequence[str | None]) -> tuple[Dim, ...]:
        pairs = zip(choice, self.solution.result.dims, strict=True)
        return tuple(size if one is None else self.solution.labels[one] for one, size in pairs)

    def _block(self, live: Sequence[str]) -> tuple[str | None, ...]:
        return tuple(
            next(p for p in axis.parts if p in live) if isinstance(axis, Concat) else None
            for axis in self.axes
        )

    def _runs(self, choice: Sequence[str | None]) -> Iterator[Run]:
        """The runs that write one block of the result."""
        plain = (axis.name for axis in self.axes if isinstance(axis, Label))
        wanted = {name for name in (*choice, *plain) if name is not None}
        for every in itertools.product(*self.groups):
            live = set(every)
            if any(name in group and name not in live for group in self.groups for name in wanted):
                continue
            read = [k for k, slot in enumerate(self.spec.operands) if self._is_read(slot, live)]
            if len(read) > 1:
                raise ShapeError(
                    f"concat {self.spec.text!r}",
                    f"operands {read[0] + 1} and {read[1] + 1} for the same part of the result",
                    "give each operand a label of its own in the concatenation, as in a;b=>a^b",
                    user_location(),
                )
            for k in read:
                yield self._part(k, every, choice)

    def _is_read(self, slot: SlotSpec, live: set[str]) -> bool:
        joined = {name for group in self.groups for name in group}
        return all(
            live & set(axis.labels) if isinstance(axis, Concat) else axis.name in live
            for axis in slot
            if isinstance(axis, Concat) or (isinstance(axis, Label) and axis.name in joined)
        )

    def _part(self, k: int, live: tuple[str, ...], choice: Sequence[str | None]) -> Run:
        slot, rows = self.spec.operands[k], self.solution.operands[k]
        alone = self.solution.replace(operands=(rows,))
        spec = EinsumSpec((slot,), self.spec.result, self.spec.text)
        whole = projections_of(spec, alone, live)
        written: list[Affine] = []
        for function, one in zip(whole.written, choice, strict=True):
            inner = function if one is None else function.replace(offset=function.offset * 0)
            written.append(inner)
        block = whole.replace(written=tuple(written), shape=self._extents(choice))
        return Run(k, live, block, whole)


def _choices(axis: AxisSpec | None) -> tuple[str | None, ...]:
    return axis.parts if isinstance(axis, Concat) else (None,)


def _groups(joined: Sequence[Concat]) -> list[tuple[str, ...]]:
    """Groups of labels that share concatenations; in a run one label of each group is live."""
    groups: list[tuple[str, ...]] = []
    for axis in joined:
        if len(set(axis.parts)) < len(axis.parts):
            raise ShapeError(
                f"the concatenation {axis}",
                "one label twice in it",
                "give each part a label of its own; sizes may be equal",
                user_location(),
            )
        met = [group for group in groups if set(group) & set(axis.parts)]
        groups = [group for group in groups if group not in met]
        groups.append(tuple(dict.fromkeys(p for group in (*met, axis.parts) for p in group)))
    return groups
