"""The rules of reductions: sums, products, maxima, minima, tests, means, variances, and `reduceat`.

`reduceat` of a ufunc reduces segments of an array. Segments become loops if their starts are known
or equally spaced. Starts that are neither known nor equally spaced would give loops whose ranges
depend on data, which no kernel has, so NumPy reduces them in an external call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import (
    BOOL,
    HALF,
    INT,
    SINGLE,
    DType,
    is_complex,
    is_float,
    is_inexact,
    wanted_dtype,
)
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Scalar, describe_type
from axiomjit.graph.primitives import ALL_OF, ANY, MAX, MIN, PRIMITIVES, PROD, SUM, WHERE, UfuncFold
from axiomjit.graph.shape_ops import insert_dimensions, sliced, split
from axiomjit.numpy_rules.creation import progression
from axiomjit.numpy_rules.options import (
    UNGIVEN,
    AxisOption,
    Rule,
    array_node,
    counted_dimensions,
    kept,
    only_defaults,
    reduced_dimensions,
    refuse,
)
from axiomjit.numpy_rules.shapes import FUNCTIONS as SHAPES
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, dim, larger


def _reduction(name: str, accumulator: UfuncFold) -> Rule:
    """The rule of the `reduce` of a ufunc, which the other reductions call."""

    def rule(
        a: object,
        axis: AxisOption = None,
        dtype: object = None,
        out: object = None,
        keepdims: object = False,
        initial: object = UNGIVEN,
        where: object = True,
    ) -> Node:
        only_defaults(name, out=out)
        node = array_node(a, name)
        wanted = _computed_in(name, accumulator, node, dtype)
        node = builder.cast(builder.cast(node, wanted), accumulator.result_dtype(wanted))
        axes = reduced_dimensions(node, axis)
        start = _start(name, initial, node.dtype)
        zero = start if accumulator is SUM and _may_be_negative_zero(start) else None
        if _given(where):
            if start is None and not accumulator.has_identity:
                raise ValueError(
                    f"reduction operation '{accumulator.reduce.__name__}' does not have an "
                    "identity, so to use a where mask one has to specify 'initial'"
                )
            identity = accumulator.initial(node.dtype) if zero is None else complex(-0.0, -0.0)
            node = _masked(name, node, where, identity)
        # Integers are reduced in 64 bits; one wrap at the end gives the same result.
        folded = builder.fold(accumulator, node, axes, start)
        if zero is not None:
            folded = _with_signs(folded, node, axes, zero)
        folded = builder.cast(folded, wanted)
        return insert_dimensions(folded, axes) if kept(keepdims) else folded

    return rule


def _computed_in(name: str, accumulator: UfuncFold, node: Node, dtype: Any) -> DType:
    """The dtype in which a reduction is computed."""
    if dtype is None or dtype is UNGIVEN:
        return accumulator.result_dtype(node.dtype)
    wanted = wanted_dtype(np.dtype(dtype), f"{name}(..., dtype={dtype})", user_location())
    if accumulator.result_dtype(wanted).kind != wanted.kind:
        raise refuse(name, "dtype", dtype)
    return wanted


def _given(where: object) -> bool:
    return where is not UNGIVEN and where is not True


def _start(name: str, initial: object, dtype: DType) -> Node | None:
    """The argument `initial` in the dtype of the reduction; None if it is not given."""
    if initial is None or initial is UNGIVEN:
        return None
    node = builder.as_node(initial, name)
    if node.shape:
        raise GraphValueError(
            f"{name}(..., initial={describe_type(node)})",
            "an initial value with dimensions",
            "give a number, or combine the array with the result",
            user_location(),
        )
    if isinstance(node, Scalar):
        return Scalar(dtype, dtype.type(node.value.item()), False)
    return builder.cast(builder.strong(node), dtype)


def _may_be_negative_zero(start: Node | None) -> bool:
    """True if a floating-point initial value, or a part of it, may be -0.0."""
    if start is None or not is_inexact(start.dtype):
        return False
    if not isinstance(start, Scalar):
        return True
    parts = complex(start.value.item())
    return any(part == 0 and np.signbit(part) for part in (parts.real, parts.imag))


def _with_signs(total: Node, node: Node, axes: Sequence[int], start: Node) -> Node:
    """The total of a sum, replaced by the initial value if all elements are -0.0."""
    if is_complex(node.dtype):
        parts = [
            _with_signs(
                builder.part(total, one), builder.part(node, one), axes, builder.part(start, one)
            )
            for one in ("real", "imag")
        ]
        return builder.elementwise(PRIMITIVES["complex_of"], *parts)
    zero = Scalar(node.dtype, node.dtype.type(0), False)
    is_zero = builder.elementwise(PRIMITIVES["equal"], node, zero)
    signs = builder.elementwise(PRIMITIVES["signbit"], node)
    both = builder.elementwise(PRIMITIVES["logical_and"], is_zero, signs)
    return builder.elementwise(WHERE, builder.fold(ALL_OF, both, axes), start, total)


def _mask(name: str, where: object, shape: tuple[Dim, ...]) -> Node:
    """The mask `where` of a reduction, broadcast to the shape of the reduced array.

    Raises:
        GraphTypeError: the elements of the mask are not bools.
        GraphValueError: the mask cannot be broadcast to this shape.
    """
    mask = builder.as_node(where, name)
    if isinstance(mask, Scalar) and mask.weak and mask.dtype == INT:
        mask = builder.as_node(bool(mask.value), name)
    if mask.dtype != BOOL:
        raise GraphTypeError(
            f"{name}(..., where={describe_type(mask)})",
            f"a mask of {mask.dtype} elements",
            "compare, for example where=(mask != 0)",
            user_location(),
        )
    return builder.broadcast_to(mask, shape)


def _masked(name: str, node: Node, where: object, identity: complex) -> Node:
    known = identity if is_complex(node.dtype) else identity.real
    neutral = Scalar(node.dtype, node.dtype.type(known), False)
    return builder.elementwise(WHERE, _mask(name, where, node.shape), node, neutral)


_SUM, _PROD = _reduction("sum", SUM), _reduction("prod", PROD)
_MAX, _MIN = _reduction("max", MAX), _reduction("min", MIN)
_ANY, _ALL = _reduction("any", ANY), _reduction("all", ALL_OF)


def _without_dtype(reduction: Rule) -> Rule:
    """The rule of np.max or np.min, which take no dtype, so that `out` is the third argument."""

    def rule(
        a: object,
        axis: AxisOption = None,
        out: object = None,
        keepdims: object = False,
        initial: object = UNGIVEN,
        where: object = True,
    ) -> Node:
        result: Node = reduction(a, axis, None, out, keepdims, initial, where)
        return result

    return rule


def _truth_rule(reduction: Rule) -> Rule:
    """The rule of np.any or np.all, which take no dtype and no initial value."""

    def rule(
        a: object,
        axis: AxisOption = None,
        out: object = None,
        keepdims: object = False,
        *,
        where: object = True,
    ) -> Node:
        result: Node = reduction(a, axis, None, out, keepdims, UNGIVEN, where)
        return result

    return rule


def _mean(
    a: object,
    axis: AxisOption = None,
    dtype: Any = None,
    out: object = None,
    keepdims: object = False,
    *,
    where: object = True,
) -> Node:
    only_defaults("mean", out=out)
    node = array_node(a, "mean")
    axes = counted_dimensions(node, axis)
    wanted = builder.summed_in(node) if dtype is None else _computed_in("mean", SUM, node, dtype)
    result = HALF if dtype is None and node.dtype == HALF else wanted
    node = builder.cast(node, wanted)
    counted = builder.as_node(builder.count(node, axes), "mean")
    if _given(where):
        mask = _mask("mean", where, node.shape)
        counted = builder.fold(SUM, mask, axes)
        node = _masked("mean", node, mask, SUM.initial(node.dtype))
    total = builder.cast(builder.fold(SUM, node, axes), wanted)
    averaged = builder.cast(builder.average(total, counted), result)
    return insert_dimensions(averaged, axes) if kept(keepdims) else averaged


def degrees_of_freedom(name: str, ddof: object, correction: object = UNGIVEN) -> Dim | int:
    """The number to subtract from a count of elements: `correction` if given, otherwise `ddof`.

    Raises:
        ValueError: both `correction` and `ddof` are given.
        UnsupportedError: the number is not an integer.
    """
    if correction is not UNGIVEN:
        if ddof != 0:
            raise ValueError("ddof and correction can't be provided simultaneously.")
        ddof = correction
    if not isinstance(ddof, int | np.integer | Dim):
        raise refuse(name, "ddof", ddof)
    return ddof if isinstance(ddof, Dim) else int(ddof)


def _spread_rule(name: str) -> Rule:
    """The rule of np.var or np.std, which reads the array twice, as NumPy does."""

    def rule(
        a: object,
        axis: AxisOption = None,
        dtype: Any = None,
        out: object = None,
        ddof: object = 0,
        keepdims: object = False,
        *,
        where: object = True,
        mean: object = UNGIVEN,
        correction: object = UNGIVEN,
    ) -> Node:
        only_defaults(name, out=out, where=where)
        if mean is not UNGIVEN and mean is not None:
            raise refuse(name, "mean", mean)
        freedom = degrees_of_freedom(name, ddof, correction)
        node = array_node(a, name)
        axes = counted_dimensions(node, axis)
        spread = _spread(name, node, axes, dtype, freedom)
        result = insert_dimensions(spread, axes) if kept(keepdims) else spread
        return builder.elementwise(PRIMITIVES["sqrt"], result) if name == "std" else result

    return rule


def _spread(name: str, node: Node, axes: Sequence[int], dtype: Any, ddof: Dim | int) -> Node:
    wanted = wanted_dtype(np.dtype(dtype), f"{name}(dtype={dtype})") if dtype is not None else None
    if wanted is not None and (
        not is_inexact(wanted) or is_complex(node.dtype) and is_float(wanted)
    ):
        raise refuse(name, "dtype", dtype)
    dtype = builder.summed_in(node) if wanted is None else wanted
    whole = builder.cast(node, SINGLE) if dtype == SINGLE and node.dtype == HALF else node
    total = builder.fold(SUM, builder.cast(whole, dtype), axes)
    count = builder.count(node, axes)
    middle = insert_dimensions(builder.average(total, builder.as_node(count, name)), axes)
    apart = builder.elementwise(PRIMITIVES["subtract"], whole, middle)
    squares = square_length(apart)
    squares = squares if wanted is None else builder.cast(squares, wanted)
    summed = builder.fold(SUM, squares, axes)
    spread = builder.average(summed, builder.as_node(larger(count - ddof, 0), name))
    return builder.cast(spread, HALF) if wanted is None and node.dtype == HALF else spread


def square_length(node: Node) -> Node:
    """The square of each element; for complex numbers, the sum of the squared parts."""
    multiply = PRIMITIVES["multiply"]
    if not is_complex(node.dtype):
        return builder.elementwise(multiply, node, node)
    parts = (builder.part(node, name) for name in ("real", "imag"))
    squares = (builder.elementwise(multiply, part, part) for part in parts)
    return builder.elementwise(PRIMITIVES["add"], *squares)


def _count_nonzero(a: object, axis: AxisOption = None, *, keepdims: object = False) -> Node:
    node = array_node(a, "count_nonzero")
    result: Node = _SUM(builder.cast(node, BOOL), axis, INT, None, keepdims)
    return result


def _ptp(a: object, axis: AxisOption = None, out: object = None, keepdims: object = False) -> Node:
    only_defaults("ptp", out=out)
    high, low = (rule(a, axis, None, None, keepdims) for rule in (_MAX, _MIN))
    return builder.elementwise(PRIMITIVES["subtract"], high, low)


def _trace(
    a: object,
    offset: int = 0,
    axis1: int = 0,
    axis2: int = 1,
    dtype: Any = None,
    out: object = None,
) -> Node:
    result: Node = _SUM(SHAPES[np.diagonal](a, offset, axis1, axis2), -1, dtype, out)
    return result


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.sum: _SUM,
    np.prod: _PROD,
    np.mean: _mean,
    np.max: _without_dtype(_MAX),
    np.amax: _without_dtype(_MAX),
    np.min: _without_dtype(_MIN),
    np.amin: _without_dtype(_MIN),
    np.any: _truth_rule(_ANY),
    np.all: _truth_rule(_ALL),
    np.var: _spread_rule("var"),
    np.std: _spread_rule("std"),
    np.ptp: _ptp,
    np.count_nonzero: _count_nonzero,
    np.trace: _trace,
}
METHODS: Final[dict[str, Rule]] = {
    name: FUNCTIONS[getattr(np, name)]
    for name in ("sum", "mean", "max", "min", "prod", "any", "all", "var", "std", "trace")
}
REDUCTIONS: Final[dict[np.ufunc, Rule]] = {
    np.add: _SUM,
    np.multiply: _PROD,
    np.maximum: _MAX,
    np.minimum: _MIN,
    np.logical_or: _ANY,
    np.logical_and: _ALL,
}


MAX_SEGMENTS: Final = 8
"""The largest number of segments that get loops of their own; NumPy reduces more segments."""


def _starts(name: str, indices: Any, length: Dim) -> list[Dim]:
    """The starts of segments from a list; a traced array is refused, as its elements are not known.

    Raises:
        UnsupportedError: the positions are computed, or the list is too long.
        IndexError: a position is outside the array.
    """
    known = isinstance(indices, list | tuple) and 0 < len(indices) <= MAX_SEGMENTS
    if not known or not all(isinstance(k, int | np.integer | Dim) for k in indices):
        raise refuse(name, "indices", indices)
    starts = [k if isinstance(k, Dim) else dim(int(k)) for k in indices]
    for start in starts:
        if not 0 <= start < length:
            raise IndexError(f"index {int(start)} out-of-bounds in {name} [0, {int(length)})")
    return starts


def _reduceat_rule(ufunc: np.ufunc, reduction: Rule) -> Rule:
    name = f"{ufunc.__name__}.reduceat"

    def rule(
        array: object, indices: Any, axis: int = 0, dtype: Any = None, out: object = None
    ) -> Node:
        only_defaults(name, out=out)
        node = array_node(array, name)
        along = normalize_axis_index(axis, len(node.shape))

        def folded(part: Node) -> Node:
            found: Node = reduction(part, along, dtype, None, True)
            # one element is only cast, which keeps the sign of zero
            return builder.cast(part, found.dtype) if part.shape[along].constant == 1 else found

        def rows(part: Node, count: Dim, length: Dim) -> Node:
            found: Node = reduction(split(part, along, (count, length)), along + 1, dtype)
            return builder.cast(part, found.dtype) if length == 1 else found

        spaced = _evenly(name, indices, node.shape[along])
        if spaced is None:
            starts = _starts(name, indices, node.shape[along])
            parts = [folded(sliced(node, [along], part)) for part in _segments(starts)]
        else:
            first, step, more = spaced
            last = first + step * more
            parts = [folded(sliced(node, [along], slice(last, None)))]
            if more != 0:
                parts.insert(0, rows(sliced(node, [along], slice(first, last)), more, step))
        return builder.concatenate(parts, along)

    return rule


def _evenly(name: str, indices: Any, length: Dim) -> tuple[Dim, Dim, Dim] | None:
    """The first start, the step and the number of steps of equally spaced starts; or None.

    Raises:
        IndexError: a position is outside the array.
    """
    if isinstance(indices, range):
        known, count = (dim(indices.start), dim(indices.step)), dim(len(indices))
    elif isinstance(indices, Node) and len(indices.shape) == 1:
        made, count = progression(indices), indices.shape[0]
        if made is None:
            return None
        known = made
    else:
        return None
    if data_dependent_in(count, length) or count == 0:
        return None
    first, step = known
    last = first + step * (count - 1)
    if step <= 0:
        return None
    if not (first >= 0 and last < length):
        wrong = first if first < 0 else last
        raise IndexError(f"index {int(wrong)} out-of-bounds in {name} [0, {int(length)})")
    return first, step, count - 1


def _segments(starts: Sequence[Dim]) -> list[slice]:
    """The segments from each start to the next; one element if the next start is not larger."""
    ends = [
        end if start < end else start + 1 for start, end in zip(starts, starts[1:], strict=False)
    ]
    return [slice(start, end) for start, end in zip(starts, [*ends, None], strict=True)]


REDUCEATS: Final[dict[np.ufunc, Rule]] = {
    ufunc: _reduceat_rule(ufunc, reduction) for ufunc, reduction in REDUCTIONS.items()
}
"""For each ufunc, the rule of its `reduceat`."""
