"""The adjoints of folds and scans.

Each element of a sum gets the cotangent of the result. Each factor of a product gets the cotangent
times the other factors. The elements that are equal to a maximum get equal shares of the cotangent.

A fold that is no sum, product, maximum or minimum has the form a_i = phi(a_(i-1), m_i). A scan
gives the states a_(i-1), at which the partial derivatives d1(i) and d2(i) of phi are evaluated. The
cotangents of the states, h_(i-1) = d1(i) h_i + g_(i-1), are a scan of affine functions from the
last element to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import BOOL, HALF, SINGLE, DType, is_complex, is_inexact
from axiomjit.base.errors import TraceError
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.rules import ELEMENTWISE, Refused
from axiomjit.gradients.structures import Contributions, Wanted
from axiomjit.gradients.transposes import pull, zeros
from axiomjit.gradients.values import NodeArray, node_of
from axiomjit.graph import builder
from axiomjit.graph.contractions import Read
from axiomjit.graph.nodes import Input, Node, Op, Scalar, base_of, is_view
from axiomjit.graph.primitives import (
    CAST,
    COPY,
    PRIMITIVES,
    PROD,
    SUM,
    VIEW,
    WHERE,
    UfuncFold,
)
from axiomjit.graph.reductions import (
    StateFold,
    folded_states,
    in_nodes,
    positions_along,
    running_fold,
    scan_states,
)
from axiomjit.graph.shape_ops import flip, merge, padded, split
from axiomjit.symbolic.dims import Dim, dim, in_body
from axiomjit.symbolic.index_maps import identity, iterator

_MULTIPLY, _ADD = PRIMITIVES["multiply"], PRIMITIVES["add"]
_KEEP_ZEROS: Final = (COPY, CAST, PRIMITIVES["conjugate"])
_EQUAL, _OR, _ISNAN = (PRIMITIVES[name] for name in ("equal", "logical_or", "isnan"))


def _over(op: Op, g: Cotangent) -> Cotangent:
    """The cotangent of a fold's result, repeated at all points that the fold reduces."""
    return g.seen(lambda node: builder.view(node, identity(op.rank), op.extents))


def _read(op: Op, k: int) -> Node:
    """The elements that an operation reads of operand k, at all points of the operation."""
    return builder.view(op.operands[k], op.maps[k], op.extents)


def _of_sum(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of each operand of a sum of products: `g` times the other factors."""
    found: Contributions = {}
    for k in wanted:
        others = [j for j in range(len(op.operands)) if j != k]
        shape = op.operands[k].shape
        if (g.within is not None or in_body()) and not op.conditions:
            here = _over(op, g)
            for j in others:
                here = here.times(_conjugate(_read(op, j)))
            found[k] = here.through(op.maps[k], op.extents, shape)
            continue
        value = g.settled()
        wide = value if is_complex(value.dtype) else builder.cast(value, op.dtype)
        reads: list[Read] = [(wide, identity(op.rank))]
        reads += [(_conjugate(op.operands[j]), op.maps[j]) for j in others]
        found[k] = Cotangent(pull(reads, op.extents, op.maps[k], shape, op.conditions))
    return found


def _conjugate(node: Node) -> Node:
    if not is_complex(node.dtype):
        return node
    return builder.elementwise(PRIMITIVES["conjugate"], node)


def _of_prod(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of a product's operand: for each element, `g` times all other elements."""
    assert op.fold is not None
    wide = op.fold.state_dtype(op.dtype)
    kept = SINGLE if op.dtype == HALF else op.dtype
    if has_none(op.extents[op.rank :]):
        return {}

    def others(row: Node) -> Node:
        one = builder.broadcast_to(Scalar(kept, kept.type(1), False), row.shape)
        return _times_behind(_conjugate(row), _conjugate(_scaled(row, one)))

    def reduced(row: Node) -> Node:
        return builder.fold(PROD, row, (len(row.shape) - 1,))

    x = builder.cast(_read(op, 0), wide)
    return {0: _masked(op, _spread(g, x, op.rank, reduced, others))}


def _spread(
    g: Cotangent,
    x: Node,
    rank: int,
    reduced: Callable[[Node], Node],
    factor: Callable[[Node], Node],
) -> Cotangent:
    """The cotangent at each element of x, computed from the cotangent of the fold of x.

    Dimensions are folded one by one, the last one first, and only the result of each row is kept.

    Args:
        g: The cotangent of the result.
        x: The folded elements.
        rank: The number of dimensions that are not folded.
        reduced: The fold of the last dimension.
        factor: The derivative of that fold with respect to each element.
    """
    last = len(x.shape) - 1
    if last > rank:
        g = _spread(g, reduced(x), rank, reduced, factor)
    here = g.seen(lambda node: builder.view(node, identity(last), x.shape))
    return here.times(builder.cast(factor(x), here.value.dtype))


def _scaled(factors: Node, values: Node) -> Node:
    """Each value of a row, multiplied by the factors of all elements before it."""
    d = len(factors.shape) - 1
    return scan_states(scaling_fold(factors.dtype, values.dtype), [factors, values], (d,))[1]


def _times_behind(factors: Node, values: Node) -> Node:
    """Each value of a row, multiplied by the factors of all elements after it."""
    d = len(factors.shape) - 1
    made = _scaled(flip(factors, [d]), flip(values, [d]))
    return builder.elementwise(COPY, flip(made, [d]))


@lru_cache
def scaling_fold(dtype: DType, kept: DType) -> StateFold:
    """The fold of pairs (factor, value) to the product of the factors and the scaled last value.

    The last value is multiplied by all earlier factors.

    The values have the dtype `kept`, in which they are stored.
    """
    product, _, factor, value = (Input(d, k, ()) for k, d in enumerate((dtype, kept) * 2))
    scaled = builder.elementwise(_MULTIPLY, product, builder.cast(value, dtype))
    outputs = builder.elementwise(_MULTIPLY, product, factor), builder.cast(scaled, kept)
    return StateFold(outputs, (dtype.type(1), kept.type(1)), False, False, False)


def _states_before(fold: StateFold, row: Node) -> Node:
    """For each element of a row, the state of all elements before it; undefined for the first."""
    first = builder.broadcast_to(Scalar(BOOL, np.True_, False), row.shape)
    return scan_states(_with_state_before(fold), [row, row, first], (len(row.shape) - 1,))[1]


@lru_cache
def _with_state_before(fold: StateFold) -> StateFold:
    """The fold that also keeps the state before the last element, and a flag for no elements."""
    (kind,) = fold.parts
    state, _, _, other, before, alone = (
        Input(d, k, ()) for k, d in enumerate((kind, kind, BOOL) * 2)
    )
    whole, part = (
        builder.cast(in_nodes(fold.outputs, [state, one])[0], kind) for one in (other, before)
    )
    several = builder.elementwise(PRIMITIVES["less"], alone, alone)
    outputs = whole, builder.elementwise(WHERE, alone, state, part), several
    return StateFold(outputs, (fold.start[0], fold.start[0], np.False_), False, False, False)


def has_none(lengths: Sequence[Dim]) -> bool:
    """True if a length is 0; the comparison of a symbolic length records a guard."""
    try:
        return any(length == 0 for length in lengths)
    except (TraceError, KeyError):  # the length of an axis
        return False


def _masked(op: Op, here: Cotangent) -> Cotangent:
    """The cotangent of a fold's only operand, from the cotangent at all points of the fold."""
    if not op.conditions:
        return here.through(op.maps[0], op.extents, op.operands[0].shape)
    reads = [(here.settled(), identity(len(op.extents)))]
    shape = op.operands[0].shape
    return Cotangent(pull(reads, op.extents, op.maps[0], shape, op.conditions))


def _scan(fold: UfuncFold, node: Node) -> Node:
    return running_fold(fold, node, node.dtype, (len(node.shape) - 1,))


def _shifted(node: Node, first: Node) -> Node:
    """The node shifted by one along its last dimension, with `first` at the first position."""
    d = len(node.shape) - 1
    others = (*node.shape[:d], node.shape[d] - 1)
    return padded(builder.view(node, identity(d + 1), others), d, (dim(1), dim(0)), first)


def _of_extreme(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of a maximum's operand: `g` in equal shares for all ties; NaN equals NaN."""
    rank, axes = op.rank, range(op.rank, len(op.extents))
    x = _read(op, 0)
    y = builder.view(op, identity(rank), op.extents)
    ties = builder.elementwise(_EQUAL, x, y)
    ties = builder.elementwise(_OR, ties, builder.elementwise(_ISNAN, x))
    real = op.dtype.type(0).real.dtype
    count = builder.fold(SUM, builder.cast(ties, real), axes, None, op.conditions)
    share = builder.elementwise(PRIMITIVES["divide"], g.value, count)
    here = _over(op, g.replace(value=share)).where(ties)
    return {0: _masked(op, here)}


def _without_path(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    return {}


def _of_running_sum(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The cotangent of a running sum's operand: the sum of `g` from each element to the end."""
    d = op.rank - 1
    value = flip(_scan(SUM, flip(g.settled(), [d])), [d])
    return {0: Cotangent(value).through(op.maps[0], op.extents, op.operands[0].shape)}


def _of_running(op: Op, g: Cotangent, wanted: Wanted) -> Contributions:
    """The adjoint of a scan by a ufunc, from the partial derivatives of the ufunc."""
    assert isinstance(op.fold, UfuncFold)
    row = ELEMENTWISE[op.fold.combine.name]
    assert isinstance(row, tuple)
    x, d = _read(op, 0), op.rank - 1
    zero = Scalar(op.dtype, op.dtype.type(0), False)
    before = _shifted(op, zero)
    values = [NodeArray(node) for node in (op, before, x)]
    first, second = (_conjugate(node_of(p(*values) if callable(p) else p, op)) for p in row[:2])
    first, second = (
        builder.cast(builder.broadcast_to(n, op.shape), op.dtype) for n in (first, second)
    )
    states = _from_the_end([[first]], [g.settled()], d)
    made = builder.elementwise(_MULTIPLY, states[0], second)
    made = _at_first(made, states[0], d)
    return {0: Cotangent(made).through(op.maps[0], op.extents, op.operands[0].shape)}


def _at_first(made: Node, first: Node, d: int) -> Node:
    """The node `made`, with the values of `first` at position 0 of dimension d."""
    places = positions_along((made.shape[d],), (0,))
    start = builder.elementwise(_EQUAL, places, builder.as_node(0, "="))
    along = builder.view(start, (iterator(d),), made.shape)
    return builder.elementwise(WHERE, along, first, made)


def _from_the_end(partials: Sequence[Sequence[Node]], given: Sequence[Node], d: int) -> list[Node]:
    """The cotangents of the states of a scan along the last dimension, which is dimension d.

    Args:
        partials: For each value of a state, its partial derivatives with respect to the values of
            the previous state, at each point.
        given: The contributions to the cotangents of the states from outside the scan.
        d: The dimension of the scan.
    """
    dtype = given[0].dtype
    zero = Scalar(dtype, dtype.type(0), False)
    places = _dependences(partials)
    rows = []
    for r, columns in enumerate(places):
        for s in columns:
            behind = flip(_shifted(flip(builder.cast(partials[s][r], dtype), [d]), zero), [d])
            rows.append(flip(behind, [d]))
    first = len(rows)
    rows += [flip(node, [d]) for node in given]
    states = scan_states(affine_fold(dtype, places), rows, (d,))
    return [flip(node, [d]) for node in states[first:]]


Places = tuple[tuple[int, ...], ...]
"""For each row of a matrix, the columns of the elements that may differ from 0."""


def _dependences(partials: Sequence[Sequence[Node]]) -> Places:
    """The places of all products of the transposed partial derivatives, and of the diagonal."""
    count = len(partials)
    found = [{r, *(s for s in range(count) if not _is_zero(partials[s][r]))} for r in range(count)]
    for k in range(count):
        for row in found:
            if k in row:
                row |= found[k]
    return tuple(tuple(sorted(row)) for row in found)


def _is_zero(node: Node) -> bool:
    """True if a node is known to be 0 everywhere: copies of the number 0."""
    node = base_of(node)
    while isinstance(node, Op) and node.primitive in _KEEP_ZEROS:
        node = base_of(node.operands[0])
    return isinstance(node, Scalar) and not node.value


@lru_cache
def affine_fold(dtype: DType, places: Places) -> StateFold:
    """The fold that composes affine functions v + M h; a state holds the rows of M, then v.

    The state has the elements of M at `places`; in any product, all other elements are 0. A fold of
    this kind has few dependences itself: its own adjoint has blocks on the diagonal.
    """
    order = {
        place: k for k, place in enumerate((r, s) for r, row in enumerate(places) for s in row)
    }
    count, square = len(places), len(order)
    every = [Input(dtype, k, ()) for k in range(2 * (square + count))]
    first, second = every[: square + count], every[square + count :]

    def dot(row: int, column: Mapping[int, Node]) -> Node:
        terms = [
            builder.elementwise(_MULTIPLY, second[order[row, k]], column[k])
            for k in places[row]
            if k in column
        ]
        found = terms[0]
        for term in terms[1:]:
            found = builder.elementwise(_ADD, found, term)
        return found

    matrix = [
        dot(r, {k: first[order[k, s]] for k in range(count) if (k, s) in order}) for r, s in order
    ]
    vector = [
        builder.elementwise(_ADD, second[square + r], dot(r, dict(enumerate(first[square:]))))
        for r in range(count)
    ]
    start = tuple(dtype.type(0) for _ in range(square + count))
    return StateFold((*matrix, *vector), start, False, False, False)


Derive = Callable[[Sequence[tuple[Node, Node]], Sequence[Node]], Mapping[Node, Node]]
"""The type of `reverse.gradients`, a function of seeds and arguments that returns gradients."""


def of_state(
    op: Op, given: Mapping[int, Cotangent], wanted: Wanted, derive: Derive
) -> Contributions | Refused:
    """The adjoint of a fold or scan by a user's accumulator."""
    fold = op.fold
    assert isinstance(fold, StateFold)
    if op.conditions:
        return Refused("a fold by an accumulator that skips elements")
    differentiable = [k for k, part in enumerate(fold.parts) if is_inexact(part)]
    if not differentiable or not given:
        return {}
    scans = op.rank == len(op.extents)
    lengths = (op.extents[-1],) if scans else op.extents[op.rank :]
    at = len(op.extents) - len(lengths)
    if has_none(lengths):
        return {}
    if not scans and len(fold.parts) == 1:
        return _of_scalar_state(op, given[0], derive)
    elements = [_row(_read(op, k), at, len(lengths)) for k in range(len(op.operands))]
    shape = elements[0].shape
    states = scan_states(_bare(fold), elements, (at,))
    before = [_shifted(s, Scalar(s.dtype, s.dtype.type(0), False)) for s in states]
    by_state, by_element = _partials(fold, differentiable, [*before, *elements], derive)
    dtype = np.result_type(*(fold.parts[k] for k in differentiable))
    cotangents = []
    for k in differentiable:
        here = given.get(k)
        value = zeros(dtype, op.shape) if here is None else builder.cast(here.settled(), dtype)
        cotangents.append(value if scans else _at_last(value, shape))
    from_end = _from_the_end(by_state, cotangents, at)
    found: Contributions = {}
    for column, k in enumerate(differentiable):
        if k not in wanted:
            continue
        total: Node | None = None
        for new, cotangent in enumerate(from_end):
            term = builder.elementwise(_MULTIPLY, cotangent, by_element[new][column])
            total = term if total is None else builder.elementwise(_ADD, total, term)
        assert total is not None
        made = _at_first(total, from_end[column], at)
        if not scans and len(lengths) > 1:
            made = split(made, at, lengths)
        found[k] = Cotangent(made).through(op.maps[k], op.extents, op.operands[k].shape)
    return found


def _of_scalar_state(op: Op, g: Cotangent, derive: Derive) -> Contributions:
    """The adjoint of a fold with one value: d2 at each element, times d1 of all later elements."""
    assert isinstance(op.fold, StateFold)
    fold = _bare(op.fold)
    (dtype,) = fold.parts

    def factor(row: Node) -> Node:
        before = _states_before(fold, row)
        ((by_state,),), ((by_element,),) = _partials(fold, [0], [before, row], derive)
        one = builder.broadcast_to(Scalar(dtype, dtype.type(1), False), row.shape)
        values = _at_first(builder.cast(by_element, dtype), one, len(row.shape) - 1)
        return _times_behind(builder.cast(by_state, dtype), values)

    def reduced(row: Node) -> Node:
        return folded_states(fold, [row], (len(row.shape) - 1,))[0]

    return {0: _masked(op, _spread(g, _read(op, 0), op.rank, reduced, factor))}


def _bare(fold: StateFold) -> StateFold:
    """The fold without its initial state, which is combined with the states after their scan."""
    given = fold.outputs, fold.start, fold.commutative, fold.has_identity, False, fold.pullback
    return StateFold(*given)


def _row(node: Node, at: int, count: int) -> Node:
    return merge(node, [*[1] * at, count]) if count > 1 else node


def _at_last(value: Node, shape: tuple[Any, ...]) -> Node:
    """An array of zeros, with `value` at the last position of the last dimension."""
    zero = Scalar(value.dtype, value.dtype.type(0), False)
    length = shape[-1]
    last = builder.view(value, identity(len(shape) - 1), (*shape[:-1], dim(1)))
    return padded(last, len(shape) - 1, (length - 1, dim(0)), zero)


def _partials(
    fold: StateFold, parts: Sequence[int], given: Sequence[Node], derive: Derive
) -> tuple[list[list[Node]], list[list[Node]]]:
    """The derivatives of a state's values with respect to the previous state and the element."""
    count = len(fold.parts)
    inputs = [Input(fold.parts[k % count], k, ()) for k in range(2 * count)]
    asked = [*(inputs[k] for k in parts), *(inputs[count + k] for k in parts)]
    shape = given[0].shape
    rows: list[list[Node]] = []
    for k in parts:
        one = Scalar(fold.parts[k], fold.parts[k].type(1), False)
        if fold.pullback:
            nodes = _pulled(fold, parts, k, given)
        else:
            made = derive([(fold.outputs[k], one)], asked)
            nodes = in_nodes([made[node] for node in asked], given)
        rows.append([_conjugate(builder.broadcast_to(node, shape)) for node in nodes])
    return [row[: len(parts)] for row in rows], [row[len(parts) :] for row in rows]


def _pulled(fold: StateFold, parts: Sequence[int], k: int, given: Sequence[Node]) -> Sequence[Node]:
    """The derivatives of value k of a state, computed by the pullback that the user has given."""
    count = len(fold.parts)
    unit = [Scalar(part, part.type(j == k), False) for j, part in enumerate(fold.parts)]
    found = in_nodes(fold.pullback, [*unit, *in_nodes(fold.outputs, given), *given])
    return [found[j + side] for side in (0, count) for j in parts]


Rule = Callable[[Op, Cotangent, Wanted], Contributions]
FOLDS: Final[Mapping[str, Rule]] = {
    "sum": _of_sum,
    "prod": _of_prod,
    "max": _of_extreme,
    "min": _of_extreme,
    "any": _without_path,
    "all": _without_path,
}
"""The adjoints of reductions by ufuncs."""
SCANS: Final[Mapping[str, Rule]] = {
    "sum": _of_running_sum,
    "prod": _of_running,
    "max": _of_running,
    "min": _of_running,
    "any": _without_path,
    "all": _without_path,
}
"""The adjoints of scans by ufuncs."""


def is_sum_of_squares(node: Node) -> bool:
    """True if a node is a sum of squares, or a sum of squares divided by a value."""
    while True:
        node = base_of(node)
        if not isinstance(node, Op):
            return False
        if node.fold is SUM or (node.fold is not None and node.fold.name == "sum"):
            return _is_square(node) or (node.primitive is VIEW and _is_square(node.operands[0]))
        if node.primitive is CAST or node.primitive.name == "divide":
            node = node.operands[0]
        else:
            return False


def _is_square(node: Node) -> bool:
    """True for a product of a value with itself, and for a sum of such products."""
    node = base_of(node)
    if not isinstance(node, Op):
        return False
    if node.primitive.name == "add" and node.fold is None:
        return all(map(_is_square, node.operands))
    if node.primitive.name not in ("multiply", "product") or len(node.operands) != 2:
        return False
    return node.operands[0] is node.operands[1] and node.maps[0] == node.maps[1]


def of_log_sum_exp(op: Op, g: Cotangent) -> tuple[Node, Cotangent] | None:
    """The operand x of log(sum(exp(x - s))) + s, and its cotangent; None for other operations.

    The value does not depend on s, so the derivative with respect to s is zero. The derivative with
    respect to x is exp(x - result). If the result is -inf, the derivative is 0; if the result is
    inf, the infinite elements get equal shares.
    """
    found = _log_sum_exp(op)
    if found is None:
        return None
    total, apart = found
    x = builder.view(apart.operands[0], apart.maps[0], apart.extents)
    # `total` reads x - s by a permutation; its kept iterators are the dimensions of the result
    index, extents = total.maps[0], total.extents
    x = builder.view(x, index, extents)
    y = builder.view(op, identity(total.rank), extents)
    top = np.array(np.inf, op.dtype)[()]
    infinite = builder.elementwise(_EQUAL, x, builder.as_node(top, "a gradient"))
    axes = range(total.rank, len(extents))
    count = builder.fold(SUM, builder.cast(infinite, op.dtype), axes)
    none = builder.as_node(op.dtype.type(0), "a gradient")
    finite = builder.elementwise(PRIMITIVES["isfinite"], y)
    difference = builder.elementwise(PRIMITIVES["subtract"], x, y)
    share = builder.elementwise(PRIMITIVES["exp"], difference)
    one = builder.as_node(op.dtype.type(1), "a gradient")
    many = builder.elementwise(PRIMITIVES["maximum"], count, one)
    ties = builder.elementwise(WHERE, infinite, one, none)
    even = builder.elementwise(
        PRIMITIVES["divide"], ties, builder.view(many, identity(total.rank), extents)
    )
    nan = builder.elementwise(_ISNAN, y)
    even = builder.elementwise(WHERE, nan, y, even)
    factor = builder.elementwise(WHERE, finite, share, even)
    here = _over(total, g).times(factor)
    back = here.through(index, extents, apart.shape)
    return apart.operands[0], back.through(apart.maps[0], apart.extents, apart.operands[0].shape)


def _log_sum_exp(op: Op) -> tuple[Op, Op] | None:
    """The sum and the difference x - s of log(sum(exp(x - s))) + s; None for other operations."""
    if op.primitive.name != "add" or op.fold is not None:
        return None
    log, shift = op.operands
    if not (isinstance(log, Op) and log.primitive.name == "log"):
        return None
    total = log.operands[0]
    if not (isinstance(total, Op) and total.fold is SUM and total.primitive is VIEW):
        return None
    power = total.operands[0]
    if not (isinstance(power, Op) and power.primitive.name == "exp") or total.conditions:
        return None
    apart = power.operands[0]
    if not (isinstance(apart, Op) and apart.primitive.name == "subtract"):
        return None
    whole = identity(op.rank)
    plain = op.maps == (whole, whole) and log.maps == (whole,)
    inner = identity(apart.rank)
    if not plain or power.maps != (inner,) or base_of(apart.operands[1]) is not base_of(shift):
        return None
    stretched = apart.operands[1]
    along = stretched.maps[0] if is_view(stretched) and isinstance(stretched, Op) else None
    kept = [k for function in (along or ()) for k, _ in function.terms]
    reduced = [total.maps[0].index(f) for f in total.maps[0] if f.terms[0][0] >= total.rank]
    if along is None or apart.maps[1] != inner or set(kept) & set(reduced):
        return None
    return total, apart
