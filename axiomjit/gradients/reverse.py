"""Reverse mode: compute the cotangents of nodes, from the results of a graph to its arguments."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from axiomjit.base.dtypes import DType, is_complex, is_inexact, part_dtype
from axiomjit.base.errors import GradientError
from axiomjit.base.origins import user_location
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.folds import FOLDS, SCANS, is_sum_of_squares, of_log_sum_exp, of_state
from axiomjit.gradients.libraries import of_library
from axiomjit.gradients.marks import Stopped, rule_of
from axiomjit.gradients.regions import Seeds, of_region
from axiomjit.gradients.rules import (
    ELEMENTWISE,
    NOT_OF_COMPLEX,
    OF_COMPLEX,
    PARTS,
    NoPath,
    Refused,
    of_norm,
)
from axiomjit.gradients.structures import Contributions, Wanted, of_gather, of_join, of_update
from axiomjit.gradients.values import NodeArray, node_of
from axiomjit.graph import builder
from axiomjit.graph.closing import Given
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Node, Op, Update, base_of, origin, post_order
from axiomjit.graph.primitives import COPY, GATHER, PRIMITIVES, WHERE, UfuncFold
from axiomjit.graph.reductions import StateFold
from axiomjit.graph.regions import Region, Written
from axiomjit.graph.storages import Materialized, Sequential


def adjoint(seeds: Seeds, arguments: Sequence[Node]) -> dict[Node, Cotangent]:
    """The cotangents of the arguments; an argument without cotangent is left out.

    Args:
        seeds: Pairs of a result and its cotangent, of equal shape and dtype.
        arguments: The nodes by which derivatives are taken.

    Raises:
        GradientError: an operation between arguments and results has no derivative rule.
    """
    return _Reverse(seeds, arguments).run()


class _Reverse:
    """A walk from results to arguments that computes cotangents."""

    def __init__(self, seeds: Seeds, arguments: Sequence[Node]) -> None:
        self._leaves = frozenset(arguments)
        self._found: dict[Node, Cotangent] = {}
        self._parts: dict[Node, list[Cotangent]] = {}
        self._states: dict[Node, dict[int, Cotangent]] = {}
        self._order = post_order(tuple(node for node, _ in seeds), self._children)
        self._active: set[Node] = set()
        for node in self._order:
            if node in self._leaves or (
                is_differentiable(node)
                and not isinstance(node, Stopped)
                and not self._active.isdisjoint(self._children(node))
            ):
                self._active.add(node)
        for node, value in seeds:
            self._add(node, Cotangent(value))

    def _children(self, node: Node) -> tuple[Node, ...]:
        if node in self._leaves:
            return ()
        if isinstance(node, Given):
            return node.inputs
        rule = rule_of(node)
        return node.children if rule is None else rule.inputs

    def run(self) -> dict[Node, Cotangent]:
        """The cotangents of the arguments, computed by a walk from results to arguments."""
        for node in reversed(self._order):
            if node in self._leaves or node not in self._active:
                self._found = self._found if node in self._leaves else _without(self._found, node)
                continue
            if not isinstance(node, Op):
                self._of_effect(node)
                continue
            g, states = self._whole(node), self._states.pop(node, None)
            if g is None and states is None:
                continue
            rule = rule_of(node)
            if rule is not None and g is not None:
                for one, value in zip(rule.inputs, rule.pull(g.settled()), strict=True):
                    if value is not None:
                        self._add(one, Cotangent(value))
                continue
            if isinstance(node, Given) and g is not None:
                for one, pulled in zip(node.inputs, node.pulled(g.settled()), strict=True):
                    self._add(one, Cotangent(pulled))
                continue
            wanted = frozenset(k for k, c in enumerate(node.operands) if c in self._active)
            for k, contribution in self._contributions(node, g, states, wanted).items():
                self._add(node.operands[k], contribution)
        found = {node: self._whole(node) for node in self._leaves}
        return {node: g for node, g in found.items() if g is not None}

    def _of_effect(self, node: Node) -> None:
        """Add the cotangent of a node of the axis language to the cotangent of the node's value."""
        g = self._whole(node)
        if g is None:
            return
        if isinstance(node, Materialized):
            self._add(node.value, g)
        elif isinstance(node, Sequential):
            self._add(node.steps[-1], g)
        else:
            raise GradientError(
                f"a gradient through a {type(node).__name__.lower()}",
                "an assignment between the tensors",
                "take the derivative by the tensor after the assignment, or assign afterwards",
                origin(node) or user_location(),
            )

    def _contributions(
        self,
        op: Op,
        g: Cotangent | None,
        states: dict[int, Cotangent] | None,
        wanted: Wanted,
    ) -> Contributions:
        if isinstance(op.primitive, Region):
            made = of_region(op, states or {}, wanted, adjoint)
        elif isinstance(op.fold, StateFold):
            given = states if g is None else {0: g}
            made = of_state(op, given or {}, wanted, gradients)
        else:
            assert g is not None
            whole = of_log_sum_exp(op, g)
            if whole is not None:
                operand, cotangent = whole
                self._add(operand, cotangent)
                return {}
            if isinstance(op, Written):
                self._states.setdefault(op.operands[1], {})[op.place] = g
                return {}
            if op.primitive.name == "part":
                self._states.setdefault(op.operands[0], {})[int(op.primitive.source)] = g
                return {}
            made = _of_op(op, g, wanted)
        if isinstance(made, Refused):
            raise _refusal(op, made)
        return made

    def _add(self, node: Node, contribution: Cotangent) -> None:
        if node not in self._active:
            return
        contribution = contribution.cast_to(node)
        if contribution.place is not None:
            self._parts.setdefault(node, []).append(contribution)
            return
        known = self._found.get(node)
        self._found[node] = contribution if known is None else known.plus(contribution)

    def _whole(self, node: Node) -> Cotangent | None:
        """The cotangent of a node: the sum of all contributions; parts are added last, in place."""
        g = self._found.pop(node, None)
        parts = self._parts.pop(node, [])
        for part in sorted(parts, key=lambda one: not one.replaces(g)):
            g = Cotangent(part.settled()) if g is None else part.onto(g.settled())
        return g


def _without(found: dict[Node, Cotangent], node: Node) -> dict[Node, Cotangent]:
    found.pop(node, None)
    return found


def is_differentiable(node: Node) -> bool:
    """True for floats, complex numbers, states of several values, and regions."""
    is_region = isinstance(node, Op) and isinstance(node.primitive, Region)
    return is_region or node.dtype.fields is not None or is_inexact(node.dtype)


def _of_op(op: Op, g: Cotangent, wanted: Wanted) -> Contributions | Refused:
    if isinstance(op, Update):
        return of_update(op, g, wanted)
    if op.regions:
        return of_join(op, g, wanted)
    if op.primitive is GATHER:
        return of_gather(op, g, wanted)
    if isinstance(op.primitive, LibraryOperation):
        return of_library(op, op.primitive, g, wanted, gradients)
    if op.fold is not None:
        assert isinstance(op.fold, UfuncFold)
        table = SCANS if op.rank == len(op.extents) else FOLDS
        return table[op.fold.name](op, g, wanted)
    if op.primitive is WHERE:
        return _of_where(op, g, wanted)
    if op.primitive.name in PARTS or op.primitive.name == "complex_of":
        return _of_parts(op, g, wanted)
    return of_elementwise(op, g, wanted)


def _of_where(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    mask = builder.view(op.operands[0], op.maps[0], op.extents)
    masks = {1: mask, 2: builder.elementwise(PRIMITIVES["logical_not"], mask)}
    return {k: _through(op, k, g.where(masks[k])) for k in wanted & {1, 2}}


def _of_parts(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    value = g.settled()
    if op.primitive.name == "complex_of":
        names = ("real", "imag")
        return {k: _through(op, k, Cotangent(builder.part(value, names[k]))) for k in wanted}
    zero = builder.broadcast_to(
        builder.cast(builder.strong(builder.as_node(0.0, "a gradient")), value.dtype), value.shape
    )
    pair = (value, zero) if PARTS[op.primitive.name] == "real" else (zero, value)
    whole = builder.elementwise(PRIMITIVES["complex_of"], *pair)
    return {0: _through(op, 0, Cotangent(whole))}


def _through(op: Op, k: int, g: Cotangent) -> Cotangent:
    """The cotangent of operand k, given a cotangent at each point of the operation."""
    return g.through(op.maps[k], op.extents, op.operands[k].shape)


def of_elementwise(op: Op, g: Cotangent, wanted: Wanted) -> Contributions | Refused:
    """The cotangent of each wanted operand: `g` times the derivative with respect to it."""
    row = ELEMENTWISE[op.primitive.name]
    has_complex = any(is_complex(op.operands[k].dtype) for k in wanted)
    if has_complex and op.primitive.name in OF_COMPLEX:
        return _not_holomorphic(op, g, wanted)
    if isinstance(row, Refused):
        return row
    if has_complex and op.primitive.name in NOT_OF_COMPLEX:
        return Refused(f"{op.primitive.name} of complex numbers")
    if isinstance(row, NoPath):
        return {}
    found: Contributions = {}
    for k in wanted:
        partial = row[k]
        if partial == 1:
            here = g
        elif partial == -1:
            here = g.replace(value=builder.elementwise(PRIMITIVES["negative"], g.value))
        elif partial == 0:
            continue
        else:
            assert callable(partial)
            if op.primitive.name == "sqrt" and is_sum_of_squares(op.operands[0]):
                partial = of_norm
            factor = node_of(partial(*_values(op)), op)
            here = g.times(_conjugated(builder.cast(factor, _wide(factor, g.value))))
        found[k] = _through(op, k, here)
    return found


def _wide(factor: Node, value: Node) -> DType:
    if is_complex(factor.dtype):
        return factor.dtype
    return part_dtype(value.dtype) if is_complex(value.dtype) else value.dtype


def _values(op: Op) -> list[NodeArray]:
    """The values of the result and of the operands at each point of an operation."""
    seen = (
        builder.view(child, index, op.extents)
        for child, index in zip(op.operands, op.maps, strict=True)
    )
    return [NodeArray(builder.strong(op)), *map(NodeArray, map(builder.strong, seen))]


def _conjugated(node: Node) -> Node:
    if not is_complex(node.dtype):
        return node
    return builder.elementwise(PRIMITIVES["conjugate"], node)


def _not_holomorphic(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    made = OF_COMPLEX[op.primitive.name](NodeArray(g.settled()), *_values(op))
    return {k: _through(op, k, Cotangent(node_of(made[k], op.operands[k]))) for k in wanted}


def _refusal(op: Op, row: Refused) -> GradientError:
    where = origin(op) or origin(base_of(op)) or user_location()
    return GradientError(
        f"a gradient through {op.primitive.name}",
        row.reason,
        "give it a derivative with axiomjit.custom_grad, or keep it out of the gradient with "
        "axiomjit.stop_gradient",
        where,
    )


def gradients(seeds: Sequence[tuple[Node, Node]], arguments: Sequence[Node]) -> Mapping[Node, Node]:
    """The gradient of each argument; it is zero for an argument on which no result depends."""
    found = adjoint(seeds, arguments)
    made: dict[Node, Node] = {}
    for node in arguments:
        if node in found:
            made[node] = found[node].settled()
        else:
            zero = builder.cast(builder.strong(builder.as_node(0.0, "a gradient")), node.dtype)
            made[node] = builder.elementwise(COPY, builder.broadcast_to(zero, node.shape))
    return made
