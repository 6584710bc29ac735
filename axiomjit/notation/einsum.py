"""Sums of products, and other folds of combinations, by specs (OCANNL shapes)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from typing import Any, Final, TypeVar

import numpy as np

from axiomjit.accumulate.accumulator import Accumulator
from axiomjit.accumulate.arrays import LARGEST, ArrayFunction
from axiomjit.algebra.dims import Dim, Scope, bound, dim
from axiomjit.base.errors import GraphTypeError, ShapeError, SpecError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, is_view
from axiomjit.graph.primitives import COPY
from axiomjit.graph.projections import Projections
from axiomjit.graph.seen import seen_shape
from axiomjit.graph.traced_values import NamedValue, NodeValue, ShapedValue
from axiomjit.notation.logic import Einsum
from axiomjit.notation.parser import parse_einsum
from axiomjit.notation.products import Meaning, checked_meaning, emit
from axiomjit.notation.projections import projections_of
from axiomjit.notation.rows import Solution, in_memory_order, solve_known
from axiomjit.notation.sizes import Size
from axiomjit.notation.specs import EinsumSpec
from axiomjit.notation.templates import SizeOf
from axiomjit.notation.tensors import as_shaped, record
from axiomjit.numpy_table.einsum import read_spec, spec_and_operands

Sizes = Mapping[str, SizeOf]
_functions: Final[dict[Hashable, ArrayCall]] = {}
_Kept = TypeVar("_Kept", bound=Callable[..., Any])


def einsum(
    spec: Any,
    *operands: Any,
    combine: str = "mul",
    reduce: str | Accumulator = "sum",
    sizes: Sizes | None = None,
    capture: Sequence[Size] | None = None,
    use_padding: bool = False,
    broadcast: bool = False,
) -> Any:
    """Operands combined where their labels meet, reduced over labels that the result lacks.

    A spec with `=>` is label notation: `"b|i->o;b|j->i=>b|j->o"`, operands separated by `;`. Any
    other is NumPy's, `"ij,jk->ik"`, and has NumPy's meaning; also NumPy's lists of numbers are
    taken. The dimensions of arrays and the axes of axis tensors are taken in memory order: batch,
    output, input. In label notation nothing stretches, elements outside of an operand contribute
    nothing, and elements of the result that no label reaches are neutral.

    Args:
        spec: The spec.
        operands: Arrays, traced arrays in a compiled function, axis tensors, or tensors with a
            shape; arrays may stand beside each of them but axis tensors.
        combine: "mul", "add", "sub" or "div", from left to right, or "where" of three operands.
        reduce: "sum", "max", "min", "prod", "mean", "logsumexp", or an Accumulator, whose elements
            come in the order in which labels appear first: result, then operands.
        sizes: Sizes of labels; of row variables the number of elements, or a list of sizes.
        capture: Sizes that are bound to the labels and row variables of their names.
        use_padding: Whether windows written with a plain `+` may reach outside.
        broadcast: Whether the axes of a row variable of several operands stretch, as those of
            NumPy's ellipsis do.

    Returns:
        What the operands are, fresh: an array, traced array, axis tensor (with the axes of the
        first operands that have them), or tensor with a shape. The dtype is the operands' common
        one, of integers as well; floats for mean and logsumexp.

    Raises:
        SpecError: the spec cannot be read; a caret stands below the place.
        ShapeError: the operands do not fit the spec.
        GraphValueError: `combine` or `reduce` is no such name, or the largest of nothing.
        GraphTypeError: kinds of operands that do not go together.

    Examples:
        >>> x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
        >>> aj.einsum("ij,j->i", x, y)
        array([ 5., 14.])
        >>> aj.einsum("ij;j=>i", x, y, combine="add", reduce="max")
        array([4., 7.])
        >>> aj.einsum("o<+k=>o", y, reduce="mean", sizes={"k": 2})
        array([0.5, 1.5])
        >>> aj.einsum("i=>ii", y[1:])
        array([[1., 0.],
               [0., 2.]])
    """
    call, placed = _read(spec, operands, combine, reduce, sizes, capture, use_padding, broadcast)
    return _computed(call, placed)


def _computed(call: Call, placed: Sequence[Any]) -> Any:
    """The result, of the kind of the operands."""
    hosts = [value for value in placed if isinstance(value, NodeValue)]
    if any(isinstance(host, ShapedValue) for host in hosts):
        return _of_tensors(placed, call)
    if hosts:
        return _of_values(hosts[0], placed, call)
    function = _function_of(call)
    named = [value for value in placed if isinstance(value, NamedValue)]
    if named:
        return named[0].at_once(partial(_of_named, call), placed, function, "einsum")
    function.capture(placed)
    return function(*placed)


class Call(Record):
    """What is asked for, apart from the operands; `parsed` is None for a spec of NumPy's."""

    spec: str
    parsed: EinsumSpec | None
    meaning: Meaning
    sizes: tuple[tuple[str, SizeOf], ...]
    capture: tuple[Size, ...]
    broadcast: bool
    asked: str

    def build(self, nodes: Sequence[Node], captures: bool = False) -> tuple[Node, Projections]:
        """The node of the result, and its projections."""
        shapes = [node.shape for node in nodes]
        if self.parsed is None:
            projections = read_spec(self.spec, shapes)
        else:
            projections = projections_of(self.parsed, self.solved(shapes, captures))
        return emit(projections, nodes, self.meaning, self.asked), projections

    def solved(self, shapes: Sequence[tuple[Dim, ...]], captures: bool) -> Solution:
        """The sizes for operands of these shapes."""
        assert self.parsed is not None
        check_ranks(self.parsed, shapes)
        capture = self.capture if captures else ()
        sizes = dict(self.sizes)
        return solve_known(self.parsed, shapes, sizes, self.asked, capture, self.broadcast)

    def emitted(self, nodes: Sequence[Node], solution: Solution) -> Node:
        """The node for closed shapes."""
        assert self.parsed is not None
        return emit(projections_of(self.parsed, solution), nodes, self.meaning, self.asked)


def _read(
    spec: Any,
    operands: Sequence[Any],
    combine: object,
    reduce: Any,
    sizes: Sizes | None,
    capture: Sequence[Size] | None,
    use_padding: bool,
    broadcast: bool,
) -> tuple[Call, Sequence[Any]]:
    """The call, and the operands."""
    labelled = isinstance(spec, str) and "=>" in spec
    if not labelled:
        spec, operands = spec_and_operands((spec, *operands))
        given = {"sizes": sizes, "capture": capture, "use_padding": use_padding}
        for name, value in (given | {"broadcast": broadcast}).items():
            if value:
                seen = f"{name}= with a spec of NumPy's, which has no '=>'"
                remedy = "write label notation, such as 'ij;jk=>ik'"
                raise ShapeError(f"einsum {spec!r}", seen, remedy, user_location())
    asked = f"einsum {spec!r}"
    meaning = checked_meaning(combine, reduce, len(operands), asked)
    parsed = parse_einsum(spec, use_padding) if labelled else None
    pairs = tuple((sizes or {}).items())
    captured = checked_capture(capture, asked)
    return Call(spec, parsed, meaning, pairs, captured, bool(broadcast), asked), operands


def checked_capture(capture: Sequence[Size] | None, asked: str) -> tuple[Size, ...]:
    """The sizes to be captured.

    Raises:
        GraphTypeError: something else than a Size.
    """
    found = tuple(capture or ())
    for one in found:
        if not isinstance(one, Size):
            seen, remedy = f"a {type(one).__name__}", "give axiomjit.Size('name') of a label"
            raise GraphTypeError(f"capture= of {asked}", seen, remedy, user_location())
    return found


def check_ranks(parsed: EinsumSpec, shapes: Sequence[tuple[Dim, ...]]) -> None:
    """Refuse operands with other than the axes of their slots.

    Raises:
        SpecError: a caret stands below the slot.
    """
    start = 0
    for k, (slot, shape) in enumerate(zip(parsed.operands, shapes, strict=False), 1):
        count = sum(len(row.axes) for _, row in slot.rows)
        several = any(row.variable is not None for _, row in slot.rows)
        rank = len(shape)
        if rank < count or (rank > count and not several):
            at = start + len(parsed.text[start:]) - len(parsed.text[start:].lstrip())
            axes = in_memory_order(slot)
            seen = f"operand {k} of shape {seen_shape(shape)} for axes in memory order {axes}"
            remedy = "write an axis for each dimension, or '...' for any number of them"
            raise SpecError(parsed.text, at, seen, remedy, user_location())
        start = parsed.text.find(";", start) + 1


def fresh(node: Node) -> Node:
    """The node as an array of its own."""
    return node if isinstance(node, Op) and not is_view(node) else builder.elementwise(COPY, node)


def _of_values(host: NodeValue, operands: Sequence[Any], call: Call) -> Any:
    """Traced arrays or axis tensors, whose lengths may not be known yet."""
    placing = host.placing(operands, call.asked)
    scope = nullcontext() if placing.known is None else bound(Scope(placing.known))
    try:
        with scope:
            node, projections = call.build(placing.nodes, captures=True)
    except KeyError:
        seen = "an axis whose length is needed and not known"
        remedy = "assign axis.length before"
        raise ShapeError(call.asked, seen, remedy, user_location()) from None
    return placing.made(fresh(node), projections.sources)


def _of_named(call: Call, *tensors: Any) -> Any:
    """Axis tensors in place of named arrays."""
    host = next(value for value in tensors if isinstance(value, NodeValue))
    return _of_values(host, tensors, call)


def _of_tensors(operands: Sequence[Any], call: Call) -> Any:
    if call.parsed is None:
        seen = "a spec of NumPy's for tensors with a shape"
        raise ShapeError(call.asked, seen, "write label notation: 'ij;jk=>ik'", user_location())
    tensors = [as_shaped(value, call.asked) for value in operands]
    logic = Einsum(call.parsed, call.sizes, call.capture, call.broadcast)
    return record(logic, tensors, call.emitted, call.asked)


def _function_of(call: Call) -> ArrayCall:
    """The function for arrays, kept unless it depends on sizes that may change."""
    if call.capture or any(not isinstance(size, int) for _, size in call.sizes):
        return ArrayCall(call)
    if call not in _functions:
        if len(_functions) >= LARGEST:
            _functions.clear()
        _functions[call] = ArrayCall(call)
    return _functions[call]


class ArrayCall(ArrayFunction):
    """What a spec computes of arrays that are at hand."""

    def __init__(self, call: Call) -> None:
        """Keep what is asked for."""
        super().__init__()
        self._call = call
        self.kept: dict[Hashable, Any] = {}

    def keep(self, key: Hashable, function: _Kept) -> _Kept:
        """Keep a function of named arrays under a key, and return it."""
        if len(self.kept) >= LARGEST:
            self.kept.clear()
        self.kept[key] = function
        return function

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The result for nodes."""
        return [fresh(self._call.build(arrays)[0])], False

    def capture(self, arrays: Sequence[Any]) -> None:
        """Bind the sizes that are to be captured."""
        if self._call.capture:
            shapes = [tuple(map(dim, np.shape(array))) for array in arrays]
            self._call.solved(shapes, captures=True)

    def __repr__(self) -> str:
        return self._call.asked
