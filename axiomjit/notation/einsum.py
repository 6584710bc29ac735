"""`einsum` and `concat`: sums of products, other folds and joins by specs (OCANNL shapes)."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np

from axiomjit.accumulators.accumulator import Accumulator
from axiomjit.accumulators.arrays import ArrayFunction, GraphInputs
from axiomjit.base.caching import DEFAULT_LIMIT, BoundedTable
from axiomjit.base.errors import GraphTypeError, ShapeError, SpecError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.records import Record
from axiomjit.base.tree import is_labelled
from axiomjit.graph import builder
from axiomjit.graph.contractions import Projections
from axiomjit.graph.execution import by_names, in_arrays
from axiomjit.graph.nodes import Node, Op, describe_shape, is_view
from axiomjit.graph.primitives import COPY
from axiomjit.graph.traced_values import NamedValue, NodeValue, ShapedValue, Source
from axiomjit.notation.logic import Einsum
from axiomjit.notation.products import ConcatRuns, Meaning, checked_meaning, emit
from axiomjit.notation.projections import labels_of, projections_of
from axiomjit.notation.specs import Concat, EinsumSpec, parse_einsum
from axiomjit.notation.templates import Size, SizeOf, Solution, in_memory_order, solve_known
from axiomjit.notation.tensors import as_shaped, result_of
from axiomjit.numpy_rules.einsum import SpecReader, spec_and_operands
from axiomjit.symbolic.dims import Dim, Scope, bound, dim


def apply_call(function: ArrayCall, placed: Sequence[Any]) -> Any:
    """Call a function with operands of any kind; the result is of the operands' kind."""
    if function.call.meaning is not None and any(map(is_labelled, placed)):
        return by_names("contract_dimensions", function, placed)
    call, placed = function.call, in_arrays(placed)
    hosts = [value for value in placed if isinstance(value, NodeValue | NamedValue)]
    if not hosts:
        function.capture(placed)
        return function(*placed)
    if any(isinstance(host, ShapedValue) for host in hosts):
        return _of_tensors(placed, call)
    nodes = [host for host in hosts if isinstance(host, NodeValue)]
    if nodes:
        return _of_values(nodes[0], placed, call)
    (host, *_) = hosts
    assert isinstance(host, NamedValue)
    return host.computed(partial(_of_named, call), placed, function.kept, "spec")


class Call(Record):
    """The arguments of a call of `einsum` or `concat`, without the operands.

    `parsed` is None for a NumPy spec; `meaning` is None for a concatenation.
    """

    spec: str
    parsed: EinsumSpec | None
    meaning: Meaning | None
    sizes: tuple[tuple[str, SizeOf], ...]
    capture: tuple[Size, ...]
    broadcast: bool
    asked: str

    def build(
        self, nodes: Sequence[Node], captures: bool = False
    ) -> tuple[Node, tuple[tuple[Source, ...], ...], tuple[Dim, ...]]:
        """The result's node, its dimensions as dimensions of operands, and the reduced lengths.

        The caller must refuse reduced lengths of 0; no lengths are listed if a reduction without
        elements has a value.
        """
        shapes = [node.shape for node in nodes]
        if self.parsed is None:
            reader = SpecReader(self.spec, shapes)
            where: Projections | ConcatRuns = reader.projections()
            names: Sequence[Sequence[Hashable]] = reader.names()
        else:
            solution = self.solved(shapes, captures)
            where, names = self.project(solution), labels_of(self.parsed, solution)
        needed: tuple[Dim, ...] = ()
        if isinstance(where, Projections) and self.meaning and not self.meaning.has_start:
            needed = where.extents[where.rank :]
        return self.emit(where, nodes), _sources(names), needed

    def solved(self, shapes: Sequence[tuple[Dim, ...]], captures: bool) -> Solution:
        """Solve the spec for operands of these shapes."""
        assert self.parsed is not None
        check_ranks(self.parsed, shapes)
        capture = self.capture if captures else ()
        sizes = dict(self.sizes)
        return solve_known(self.parsed, shapes, sizes, self.asked, capture, self.broadcast)

    def project(self, solution: Solution) -> Projections | ConcatRuns:
        """The projections for closed shapes, or the runs of a concatenation."""
        assert self.parsed is not None
        if self.meaning is None:
            return ConcatRuns(self.parsed, solution)
        return projections_of(self.parsed, solution)

    def emit(self, where: Projections | ConcatRuns, nodes: Sequence[Node]) -> Node:
        """The node of the result, from projections or runs."""
        if isinstance(where, ConcatRuns):
            return where.node(nodes, self.asked)
        assert self.meaning is not None
        return emit(where, nodes, self.meaning, self.asked)


def _sources(names: Sequence[Sequence[Hashable]]) -> tuple[tuple[Source, ...], ...]:
    """For each dimension of the result, the dimensions of operands with the same label."""
    written, *read = names
    places: dict[Hashable, list[Source]] = {}
    for k, own in enumerate(read):
        for d, name in enumerate(own):
            places.setdefault(name, []).append((k, d))
    return tuple(() if name is None else tuple(places.get(name, ())) for name in written)


def check_ranks(parsed: EinsumSpec, shapes: Sequence[tuple[Dim, ...]]) -> None:
    """Refuse an operand whose number of dimensions does not fit the axes of its slot.

    Raises:
        SpecError: a caret marks the slot.
    """
    start = 0
    for k, (slot, shape) in enumerate(zip(parsed.operands, shapes, strict=False), 1):
        count = sum(len(row.axes) for _, row in slot.rows)
        several = any(row.variable is not None for _, row in slot.rows)
        rank = len(shape)
        if rank < count or (rank > count and not several):
            at = start + len(parsed.text[start:]) - len(parsed.text[start:].lstrip())
            axes = in_memory_order(slot)
            seen = f"operand {k} of shape {describe_shape(shape)} for axes in memory order {axes}"
            remedy = "write an axis for each dimension, or '...' for any number of them"
            raise SpecError(parsed.text, at, seen, remedy, user_location())
        start = parsed.text.find(";", start) + 1


def in_new_memory(node: Node) -> Node:
    """The node itself if it owns new memory; a copy of a view or an operand."""
    return node if isinstance(node, Op) and not is_view(node) else builder.elementwise(COPY, node)


def _of_values(host: NodeValue, operands: Sequence[Any], call: Call) -> Any:
    """The result for traced arrays or axis tensors, whose lengths may be unknown."""
    placing = host.placing(operands, call.asked)
    try:
        with placing.with_lengths():
            node, sources, needed = call.build(placing.nodes, captures=True)
    except KeyError:
        seen = "an axis whose length is needed and not known"
        remedy = "assign axis.length before"
        raise ShapeError(call.asked, seen, remedy, user_location()) from None
    node = in_new_memory(node)
    if placing.need_elements is not None and call.meaning is not None:
        for length in needed:
            placing.need_elements(str(call.meaning.reduce), node, length)
    return placing.wrap(node, sources)


def _of_named(call: Call, *tensors: Any) -> Any:
    """The result of a call whose named arrays were replaced by tensors."""
    host = next(value for value in tensors if isinstance(value, NodeValue))
    return _of_values(host, tensors, call)


def _of_tensors(operands: Sequence[Any], call: Call) -> Any:
    if call.parsed is None:
        seen = "a spec of NumPy's for tensors with a shape"
        raise ShapeError(call.asked, seen, "write label notation: 'ij;jk=>ik'", user_location())
    tensors = [as_shaped(value, call.asked, split=False) for value in operands]
    logic = Einsum(call.parsed, call.sizes, call.capture, call.broadcast)
    return result_of(logic, tensors, call.project, call.emit, call.asked)


class ArrayCall(ArrayFunction):
    """The compiled function for the arguments of one call of `einsum` or `concat`."""

    def __init__(self, call: Call) -> None:
        super().__init__()
        self.call = call
        self.kept = BoundedTable[Hashable, Any]()  # compiled functions of named arrays

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The result for operands that are nodes; the result is never a tuple."""
        return [in_new_memory(self.call.build(arrays)[0])], False

    def sources(self, shapes: Sequence[tuple[int, ...]]) -> tuple[tuple[Source, ...], ...]:
        """For each dimension of the result, the dimensions of operands with the same label."""
        key = "sources", tuple(map(len, shapes))
        found: tuple[tuple[Source, ...], ...] | None = self.kept.get(key)
        if found is None:
            examples = [np.broadcast_to(np.int8(0), one) for one in shapes]
            given = GraphInputs(examples, self.call.asked)
            with bound(Scope(given.symbols)):
                found = self.call.build(given.inputs)[1]
            self.kept.keep(key, found)
        return found

    def capture(self, arrays: Sequence[Any]) -> None:
        """Bind the `Size` objects to capture, for operands of these shapes."""
        if self.call.capture:
            shapes = [tuple(map(dim, np.shape(array))) for array in arrays]
            self.call.solved(shapes, captures=True)

    def __repr__(self) -> str:
        return self.call.asked


Sizes = Mapping[str, SizeOf]


@hides_frames
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
    """Combine operands along equal labels, and reduce over labels that the result lacks.

    A spec with `=>` is in label notation: `"b|i->o;b|j->i=>b|j->o"`, operands separated by `;`. Any
    other spec, such as `"ij,jk->ik"`, or a list of numbers, is a spec of `numpy.einsum`. The
    dimensions of arrays and the axes of axis tensors are in memory order: batch, output, input. In
    label notation, lengths of 1 do not stretch, and elements outside an operand contribute nothing;
    a result without contributions is the neutral element.

    Args:
        spec: The labels of the dimensions of operands and result.
        operands: Arrays, traced arrays, DataArrays, axis tensors or shaped tensors. Arrays may be
            mixed with traced arrays, DataArrays and shaped tensors.
        combine: "mul", "add", "sub" or "div", from left to right, or "where" of three operands.
        reduce: "sum", "max", "min", "prod", "mean", "logsumexp", or an Accumulator, which gets
            elements in the order in which labels first appear, the result's labels first.
        sizes: The size of each label; the number of elements or the sizes of a row variable.
        capture: `Size` objects to bind to the labels and row variables with their names.
        use_padding: True if windows written with a plain `+` may reach outside the operand.
        broadcast: True if the axes of a row variable stretch between operands, like NumPy's
            ellipsis.

    Returns:
        A new value of the operands' kind. For each label an axis tensor has the axis, a DataArray
        the dimension, of the first operand with this label. The dtype is the operands' common
        dtype, also for integers; mean and logsumexp give floats.

    Raises:
        SpecError: the spec is not valid; a caret marks the wrong character.
        ShapeError: the operands do not fit the spec.
        GraphValueError: `combine` or `reduce` is unknown, or a maximum or minimum has no elements.
        GraphTypeError: operands of these kinds cannot be mixed.

    Examples:
        >>> x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
        >>> aj.einsum("ij,j->i", x, y)
        array([ 5., 14.])
        >>> aj.einsum("ij;j=>i", x, y, combine="add", reduce="max")
        array([4., 7.])
        >>> aj.einsum("o<+k=>o", y, reduce="mean", sizes={"k": 2})
        array([0.5, 1.5])
        >>> aj.einsum("i=>ii", y[1:]).tolist()
        [[1.0, 0.0], [0.0, 2.0]]
    """
    placed: Sequence[Any] = operands
    if not isinstance(spec, str) or "=>" not in spec:
        spec, placed = spec_and_operands((spec, *operands))
        _check_options(spec, sizes, capture, use_padding, broadcast)
    sizes_of = tuple((sizes or {}).items()), checked_capture(capture, spec)
    given = spec, combine, reduce, *sizes_of, bool(use_padding), bool(broadcast), len(placed)
    return apply_call(_function(given), placed)


@hides_frames
def concat(spec: str, *operands: Any, sizes: Sizes | None = None, use_padding: bool = False) -> Any:
    """Concatenate operands, or take parts of an operand, by a spec with concatenations `a^b`.

    In `a^b` the positions of b follow the positions of a. `"a;b=>a^b"` joins two operands,
    `"a^b=>a"` takes a prefix and `"a^b=>b"` a suffix. Labels that the result lacks are summed over.
    Elements that no operand fills are 0, as in `"a=>a^b"`.

    Args:
        spec: A spec in label notation.
        operands: Operands of the kinds that `einsum` takes.
        sizes: The sizes of labels and row variables, as for `einsum`.
        use_padding: True if windows written with a plain `+` may reach outside the operand, as for
            `einsum`.

    Returns:
        A new value of the operands' kind and common dtype. For axis tensors, the concatenated axis
        is a new axis.

    Raises:
        SpecError: the spec is not valid.
        ShapeError: the operands do not fit the spec, or two operands fill the same part of the
            result.

    Examples:
        >>> x, y = np.arange(3), np.arange(2)
        >>> aj.concat("a;b=>a^b", x, y)
        array([0, 1, 2, 0, 1])
        >>> aj.concat("a^b=>b", x, sizes={"a": 1})
        array([1, 2])
        >>> aj.concat("a,c;b,d=>a^b,c^d", x[:, None], y[None])
        array([[0, 0, 0],
               [1, 0, 0],
               [2, 0, 0],
               [0, 0, 1]])
    """
    given = spec, None, None, tuple((sizes or {}).items()), (), bool(use_padding), False, 0
    return apply_call(_function(given), operands)


def _function(given: tuple[Any, ...]) -> ArrayCall:
    """The function for these arguments of `einsum`, from a cache unless an argument is mutable."""
    _, combine, reduce, sizes, capture, *_ = given
    plain = isinstance(combine, str | None) and isinstance(reduce, str | Accumulator | None)
    if capture or not plain or any(type(size) is not int for _, size in sizes):
        return _made.__wrapped__(*given)
    return _made(*given)


@lru_cache(maxsize=DEFAULT_LIMIT)
def _made(
    spec: str,
    combine: Any,
    reduce: Any,
    sizes: tuple[tuple[str, SizeOf], ...],
    capture: tuple[Size, ...],
    use_padding: bool,
    broadcast: bool,
    operands: int,
) -> ArrayCall:
    """The function of `einsum`, or of `concat` if `combine` is None."""
    asked = f"{'concat' if combine is None else 'einsum'} {spec!r}"
    meaning = None if combine is None else checked_meaning(combine, reduce, operands, asked)
    labelled = combine is None or "=>" in spec
    parsed = parse_einsum(spec, use_padding) if labelled else None
    if parsed is not None and meaning is not None:
        _check_joins(parsed)
    return ArrayCall(Call(spec, parsed, meaning, sizes, capture, broadcast, asked))


def _check_options(spec: str, *values: object) -> None:
    """Refuse options for label notation in a call with a NumPy spec."""
    names = ("sizes", "capture", "use_padding", "broadcast")
    for name, value in zip(names, values, strict=True):
        if value:
            seen = f"{name}= with a spec of NumPy's, which has no '=>'"
            remedy = "write label notation, such as 'ij;jk=>ik'"
            raise ShapeError(f"einsum {spec!r}", seen, remedy, user_location())


def _check_joins(parsed: EinsumSpec) -> None:
    if any(isinstance(axis, Concat) for slot in parsed.slots for axis in slot):
        at = parsed.text.index("^")
        seen, remedy = "a concatenation in einsum", "call axiomjit.concat with this spec"
        raise SpecError(parsed.text, at, seen, remedy, user_location())


def checked_capture(capture: Sequence[Size] | None, spec: str) -> tuple[Size, ...]:
    """The `Size` objects to capture as a tuple, after checking their types.

    Raises:
        GraphTypeError: an item is not a Size.
    """
    found = tuple(capture or ())
    for one in found:
        if not isinstance(one, Size):
            seen, remedy = f"a {type(one).__name__}", "give axiomjit.Size('name') of a label"
            raise GraphTypeError(f"capture= of einsum {spec!r}", seen, remedy, user_location())
    return found
