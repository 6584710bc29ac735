"""Folds of arrays, traced arrays and tensors by accumulators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from axiomjit.accumulate.accumulator import Accumulator
from axiomjit.accumulate.arrays import Given
from axiomjit.accumulate.rows import BUILT_IN, BuiltIn
from axiomjit.algebra.dims import Dim
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder, execution, scans
from axiomjit.graph.nodes import Node, Op, base_of
from axiomjit.graph.positions import positions_along
from axiomjit.graph.primitives import ACCUMULATORS, COPY
from axiomjit.graph.state_folds import fold_states, in_nodes
from axiomjit.graph.traced_values import NodeValue, broadcast_folding


def fold(acc: Accumulator | str, *operands: Any, axes: Any = None, running: bool = False) -> Any:
    """The operands folded by an accumulator along axes.

    Args:
        acc: An `Accumulator`, or the name of one of the built-in ones: sum, prod, max, min, any,
            all, argmax, argmin, mean, logsumexp, variance, std.
        operands: Arrays, traced arrays in a compiled function, or tensors: as many as the
            accumulator's `lift` takes. Arrays are broadcast as in NumPy, axes of tensors are
            paired.
        axes: Dimensions of arrays, one or a tuple, or axes of tensors; all when omitted. Elements
            are folded in the order in which axes are listed, the last one fastest.
        running: Whether the results of all first elements along one axis are wanted, which keeps
            the axis: a scan, as `numpy.cumsum`.

    Returns:
        What the operands are, without these axes (unless `running`): an array, traced array or
        tensor; a tuple of them where `final` gives a tuple, or where there is no `final` and the
        state is one.

    Raises:
        GraphValueError: no accumulator has this name, or nothing is folded where there is no
            value to begin with.
        GraphTypeError: a function of the accumulator uses what is not compiled.

    Examples:
        >>> x = np.array([[1.0, 2.0], [3.0, 4.0]])
        >>> aj.fold("logsumexp", x, axes=1).round(3)
        array([2.313, 4.313])
        >>> product = aj.Accumulator(1.0, lambda a, b: a * b, commutative=True, has_identity=True)
        >>> aj.fold(product, x, axes=0)
        array([3., 8.])
    """
    row = accumulator_of(acc)
    if not operands:
        raise GraphTypeError(
            f"fold({acc!r}, axes={axes!r})",
            "nothing to fold",
            "give the arrays or tensors to fold",
            user_location(),
        )
    host = next((value for value in operands if isinstance(value, NodeValue)), None)
    if host is None:
        return _of_arrays(row, operands, axes, running)
    folding = host.folding(operands, axes, running)
    nodes, is_tuple = fold_nodes(row, folding.nodes, folding.axes, running)
    made = tuple(map(folding.made, nodes))
    return made if is_tuple else made[0]


def accumulator_of(acc: Accumulator | str) -> Accumulator:
    """The accumulator, or the built-in one of this name.

    Raises:
        GraphValueError: there is none.
        GraphTypeError: neither an accumulator nor a name.
    """
    if isinstance(acc, Accumulator):
        return acc
    if not isinstance(acc, str):
        raise GraphTypeError(
            f"a fold by a {type(acc).__name__}",
            "neither an Accumulator nor the name of one",
            "make one with Accumulator(init, combine, ...)",
            user_location(),
        )
    if acc not in BUILT_IN:
        raise GraphValueError(
            f"a fold by {acc!r}",
            "no accumulator of this name",
            f"name one of {', '.join(BUILT_IN)}, or make an Accumulator(init, combine, ...)",
            user_location(),
        )
    return BUILT_IN[acc]


def fold_nodes(
    acc: Accumulator, nodes: Sequence[Node], axes: tuple[int, ...], running: bool = False
) -> tuple[list[Node], bool]:
    """The results of a fold of nodes of one shape, and whether they are a tuple.

    Raises:
        GraphValueError: a running fold along several dimensions, or none.
    """
    if running and len(axes) != 1:
        raise GraphValueError(
            f"fold({acc!r}, ..., running=True) along {len(axes)} axes",
            "a running fold, which goes along one axis",
            "name one axis, or flatten several into one before",
            user_location(),
        )
    if isinstance(acc, BuiltIn):
        operand = acc.operand(nodes)
        if not running:
            return [acc.build(operand, axes)], False
        if acc.name in ACCUMULATORS:
            fold = ACCUMULATORS[acc.name]
            return [scans.running(fold, operand, fold.result_dtype(operand.dtype), *axes)], False
        if acc.name.startswith("arg"):
            nodes = [operand, positions_along(operand.shape, axes)]
    traced = acc.traced([node.dtype for node in nodes])
    lifted = [builder.broadcast_to(n, nodes[0].shape) for n in in_nodes(traced.lift, nodes)]
    if running:
        states = scans.scan_states(traced.fold, lifted, *axes)
    else:
        states = fold_states(traced.fold, lifted, axes)
    found = states if traced.final is None else in_nodes(traced.final, states)
    return [_own(node, states[0].shape) for node in found], traced.is_tuple


def _own(node: Node, shape: tuple[Dim, ...]) -> Node:
    """The node in its shape, a copy where it is one number repeated."""
    if isinstance(base := base_of(node), Op) and base.rank == len(shape):
        return node
    return builder.elementwise(COPY, builder.broadcast_to(node, shape))


def _of_arrays(acc: Accumulator, operands: Sequence[Any], axes: Any, running: bool) -> Any:
    """Arrays folded at once."""
    given = Given(operands, f"fold({acc!r}, ...)")
    is_tuple = False

    def build(nodes: Sequence[Node]) -> Sequence[Node]:
        nonlocal is_tuple
        folding = broadcast_folding(nodes, axes, lambda node: node)
        results, is_tuple = fold_nodes(acc, folding.nodes, folding.axes, running)
        return results

    graph, _ = given.graph(build)
    results = [value[()] for value in execution.run(graph, given.arrays, given.symbols)]
    return tuple(results) if is_tuple else results[0]
