"""The rules of statistics: folds that skip NaN, weighted averages, covariances."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final

import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from axiomjit.base.dtypes import BOOL, HALF, INT, SINGLE, is_complex, is_inexact, supported
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, elementwise
from axiomjit.graph.external_calls import ArrayCall
from axiomjit.graph.nodes import Node, Scalar, size
from axiomjit.graph.primitives import ALL_OF, ANY, COPY, MAX, MIN, PRIMITIVES, SUM, WHERE, UfuncFold
from axiomjit.graph.shape_ops import insert_dimensions
from axiomjit.numpy_rules.elementwise import clip, conjugated, in_parts
from axiomjit.numpy_rules.joins import FUNCTIONS as JOINS
from axiomjit.numpy_rules.options import (
    UNGIVEN,
    AxisOption,
    Rule,
    RuleByKind,
    array_node,
    kept,
    only_defaults,
    reduced_dimensions,
    refuse,
)
from axiomjit.numpy_rules.reductions import FUNCTIONS as REDUCTIONS
from axiomjit.numpy_rules.reductions import degrees_of_freedom, square_length
from axiomjit.numpy_rules.shapes import FUNCTIONS as SHAPES
from axiomjit.numpy_rules.shapes import at_least_2d
from axiomjit.symbolic.data_dependent import assumed_equal
from axiomjit.symbolic.dims import Dim

_REGISTRIES: Final[dict[str, dict[Any, Any]]] = {}
"""For each file of the user, the warnings that were already shown for it."""


class WarnIf(Record):
    """A function that warns, at a line of the user's program, if its operand is true."""

    text: str
    place: str

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        """Warn if the operand is true, and return the operand."""
        if seen:
            file, _, line = self.place.rpartition(":")
            registry = _REGISTRIES.setdefault(file, {})
            warnings.warn_explicit(self.text, RuntimeWarning, file, int(line), registry=registry)
        return seen


class RaiseIf(Record):
    """A function that raises an error if its operand is true."""

    error: type[Exception]
    text: str

    def __call__(self, seen: np.ndarray) -> np.ndarray:
        """Raise an error if the operand is true, otherwise return the operand.

        Raises:
            Exception: the operand is true; the error has the class `error`.
        """
        if seen:
            raise self.error(self.text)
        return seen


def _checked(name: str, bad: Node, check: Callable[[np.ndarray], np.ndarray]) -> None:
    """Add a check to the program that may warn or raise if an element of a mask is true."""
    some = builder.fold(ANY, bad, range(len(bad.shape)))
    ArrayCall(name, check, (some,), may_raise=True).result((), BOOL)


def _warn_of(name: str, bad: Node, text: str) -> None:
    _checked(f"warning of {name}", bad, WarnIf(text, user_location() or "unknown:0"))


def _computed(name: str, *operands: Any) -> Node:
    """The result of the elementwise operation with this name."""
    return elementwise(PRIMITIVES[name], *(builder.as_node(n, name) for n in operands))


def _filled(node: Node, missing: Node, value: complex) -> Node:
    """The node with missing elements replaced by a number."""
    return elementwise(WHERE, missing, Scalar(node.dtype, node.dtype.type(value), False), node)


def _nan_total_rule(name: str, total: Rule, neutral: int) -> Rule:
    """The rule of nansum or nanprod: a fold in which a neutral number replaces NaN."""

    def rule(a: object, *args: Any, **options: Any) -> Node:
        node = array_node(a, name)
        if is_inexact(node.dtype):
            node = _filled(node, _computed("isnan", node), neutral)
        result: Node = total(node, *args, **options)
        return result

    return rule


def _nan_extreme_rules(name: str, plain: Rule, extreme: UfuncFold, worst: float) -> Iterator[Rule]:
    """The rules of nanmax or nanmin, for arrays, and for numbers and lists.

    If all elements are NaN, the result is NaN, with a warning. For numbers and lists, NumPy has a
    second implementation, with another NaN and another warning.
    """

    def rule(
        of_array: bool,
        a: object,
        axis: AxisOption = None,
        out: object = None,
        keepdims: object = UNGIVEN,
        initial: object = UNGIVEN,
        where: object = UNGIVEN,
    ) -> Node:
        node = array_node(a, name)
        if not is_inexact(node.dtype):
            mask = True if where is UNGIVEN else where
            result: Node = plain(node, axis, out, keepdims, initial, mask)
            return result
        only_defaults(name, out=out)
        for option, value in (("initial", initial), ("where", where)):
            if value is not UNGIVEN:
                raise refuse(name, option, value)
        axes = reduced_dimensions(node, axis)
        missing = _computed("isnan", node)
        both_parts = of_array and is_complex(node.dtype)
        filler = complex(worst, worst) if both_parts else worst
        best = builder.fold(extreme, _filled(node, missing, filler), axes)
        nothing = builder.fold(ALL_OF, missing, axes)
        _warn_of(name, nothing, f"All-NaN {'slice' if of_array else 'axis'} encountered")
        if both_parts:  # one NaN of the array, with both its parts
            made = elementwise(WHERE, nothing, builder.fold(extreme, node, axes), best)
        else:
            made = _filled(best, nothing, np.nan)
        return insert_dimensions(made, axes) if kept(keepdims) else made

    return (partial(rule, of_array) for of_array in (True, False))


def _check_inexact(dtype: Any) -> None:
    if dtype is not None and not is_inexact(np.dtype(dtype)):
        raise TypeError("If a is inexact, then dtype must be inexact")


def _nanmean(
    a: object,
    axis: AxisOption = None,
    dtype: Any = None,
    out: object = None,
    keepdims: object = UNGIVEN,
    *,
    where: object = UNGIVEN,
) -> Node:
    """The rule of np.nanmean, which warns if there are no elements to average."""
    node = array_node(a, "nanmean")
    if not is_inexact(node.dtype):
        mask = True if where is UNGIVEN else where
        plain: Node = REDUCTIONS[np.mean](node, axis, dtype, out, keepdims, where=mask)
        return plain
    only_defaults("nanmean", out=out)
    _check_inexact(dtype)
    missing = _computed("isnan", node)
    options = None, keepdims, UNGIVEN, where
    present = _computed("logical_not", missing)
    count = REDUCTIONS[np.sum](present, axis, INT, *options)
    total = REDUCTIONS[np.sum](_filled(node, missing, 0), axis, dtype, *options)
    _warn_of("nanmean", _computed("equal", count, 0), "Mean of empty slice")
    return builder.average(total, count)


def _nan_spread_rule(name: str, plain: Rule) -> Rule:
    """The rule of nanvar or nanstd, which reads the array twice; float16 is computed in float32."""

    def rule(
        a: object,
        axis: AxisOption = None,
        dtype: Any = None,
        out: object = None,
        ddof: Any = 0,
        keepdims: object = UNGIVEN,
        *,
        where: object = UNGIVEN,
        mean: object = UNGIVEN,
        correction: Any = UNGIVEN,
    ) -> Node:
        node = array_node(a, name)
        if not is_inexact(node.dtype):
            options = {"where": where, "mean": mean, "correction": correction}
            given = {key: value for key, value in options.items() if value is not UNGIVEN}
            result: Node = plain(node, axis, dtype, out, ddof, keepdims, **given)
            return result
        only_defaults(name, out=out)
        _check_inexact(dtype)
        for option, value in (("where", where), ("mean", mean)):
            if value is not UNGIVEN:
                raise refuse(name, option, value)
        freedom = degrees_of_freedom(name, ddof, correction)
        axes = reduced_dimensions(node, axis)
        spread = _nan_spread(name, node, axes, dtype, freedom)
        spread = _computed("sqrt", spread) if name == "nanstd" else spread
        if node.dtype == HALF and dtype is None:
            spread = cast(spread, HALF)
        return insert_dimensions(spread, axes) if kept(keepdims) else spread

    return rule


def _nan_spread(name: str, node: Node, axes: tuple[int, ...], dtype: Any, ddof: Any) -> Node:
    """The variance of the elements that are not NaN."""
    missing = _computed("isnan", node)
    whole = cast(node, SINGLE) if node.dtype == HALF and dtype is None else node
    wanted = whole.dtype if dtype is None else supported(np.dtype(dtype), name, user_location())
    if is_complex(wanted) != is_complex(node.dtype):
        raise refuse(name, "dtype", dtype)
    count = builder.fold(SUM, cast(_computed("logical_not", missing), INT), axes)
    total = builder.fold(SUM, cast(_filled(whole, missing, 0), wanted), axes)
    middle = insert_dimensions(builder.average(total, count), axes)
    apart = cast(_computed("subtract", whole, middle), whole.dtype)
    squares = square_length(_filled(apart, missing, 0))
    summed = builder.fold(SUM, squares if dtype is None else cast(squares, wanted), axes)
    freedom = _computed("subtract", count, builder.as_node(ddof, name))
    bad = _computed("less_equal", freedom, 0)
    _warn_of(name, bad, "Degrees of freedom <= 0 for slice.")
    spread = builder.average(summed, freedom)
    return _filled(spread, bad, np.nan)


def _average(
    a: object,
    axis: Any = None,
    weights: object = None,
    returned: object = False,
    *,
    keepdims: object = UNGIVEN,
) -> Node | tuple[Node, ...]:
    """The rule of np.average, which raises NumPy's error if weights sum to zero."""
    node = array_node(a, "average")
    rank = len(node.shape)
    axes = tuple(range(rank)) if axis is None else normalize_axis_tuple(axis, rank, argname="axis")
    if weights is None:
        mean: Node = REDUCTIONS[np.mean](node, axes, None, None, keepdims)
        if returned and any(n == 0 for n in mean.shape):
            raise ZeroDivisionError("division by zero")
        made, scale = mean, cast(size(builder.count(node, axes)), mean.dtype)
    else:
        made, scale = _weighted(node, array_node(weights, "average"), axis, axes, keepdims)
    if not returned:
        return made
    return made, elementwise(COPY, builder.broadcast_to(scale, made.shape))


def _weighted(
    node: Node, weights: Node, axis: Any, axes: tuple[int, ...], keepdims: object
) -> tuple[Node, Node]:
    """The weighted average, and the sum of the weights."""
    weights = _along(node, weights, axis, axes)
    kinds = [node.dtype, weights.dtype]
    kinds += [] if is_inexact(node.dtype) else [np.dtype(np.float64)]
    dtype = supported(np.result_type(*kinds), "average", user_location())
    scale: Node = REDUCTIONS[np.sum](weights, axes, dtype, None, keepdims)
    zero = RaiseIf(ZeroDivisionError, "Weights sum to zero, can't be normalized")
    _checked("sum of weights", _computed("equal", scale, 0), zero)
    products = _computed("multiply", cast(node, dtype), cast(weights, dtype))
    total = REDUCTIONS[np.sum](products, axes, None, None, keepdims)
    return _computed("divide", total, scale), scale


def _along(node: Node, weights: Node, axis: Any, axes: tuple[int, ...]) -> Node:
    """The weights, reshaped so that they broadcast with the array.

    Raises:
        TypeError: the shapes of array and weights differ, and no axis is given.
        ValueError: the lengths of the weights differ from the lengths of the axes.
    """

    def same_lengths(left: tuple[Dim, ...], right: tuple[Dim, ...]) -> bool:
        return len(left) == len(right) and all(map(assumed_equal, left, right))

    if same_lengths(node.shape, weights.shape):
        return weights
    if axis is None:
        raise TypeError("Axis must be specified when shapes of a and weights differ.")
    if not same_lengths(weights.shape, tuple(node.shape[d] for d in axes)):
        raise ValueError(
            "Shape of weights must be consistent with shape of a along specified axis."
        )
    turned = builder.transpose(weights, sorted(range(len(axes)), key=lambda k: axes[k]))
    return insert_dimensions(turned, [d for d in range(len(node.shape)) if d not in axes])


def _variables(name: str, given: object) -> Node:
    node = array_node(given, name)
    if len(node.shape) > 2:
        raise ValueError(f"{name} has more than 2 dimensions")
    return node


def _cov(
    m: object,
    y: object = None,
    rowvar: Any = True,
    bias: Any = False,
    ddof: Any = None,
    fweights: object = None,
    aweights: object = None,
    *,
    dtype: Any = None,
) -> Node:
    """The rule of np.cov without weights; the degrees of freedom must be positive."""
    only_defaults("cov", fweights=fweights, aweights=aweights)
    usual = 0 if bias else 1
    left_out = degrees_of_freedom("cov", usual if ddof is None else ddof)
    nodes = [_variables("m", m)] + ([] if y is None else [_variables("y", y)])
    kinds = [node.dtype for node in nodes]
    wanted = np.result_type(*kinds, np.float64) if dtype is None else np.dtype(dtype)
    wanted = supported(wanted, "cov", user_location())
    rows = [cast(at_least_2d(node), wanted) for node in nodes]
    if not rowvar:
        flat = [len(nodes[0].shape) == 1, *(row.shape[0] == 1 for row in rows[1:])]
        rows = [
            row if vector else builder.transpose(row, (1, 0))
            for row, vector in zip(rows, flat, strict=True)
        ]
    if not is_inexact(wanted) or rows[0].shape[0] == 0:
        raise refuse("cov", "m", m)
    every = rows[0] if y is None else JOINS[np.concatenate](rows, 0)
    freedom = every.shape[1] - left_out
    if freedom <= 0:  # NumPy warns
        raise refuse("cov", "ddof", left_out)
    middle = insert_dimensions(builder.mean(every, (1,)), (1,))
    apart = _computed("subtract", every, middle)
    products = builder.dot(apart, builder.transpose(conjugated(apart), (1, 0)))
    share = _computed("divide", 1, cast(size(freedom), np.dtype(np.float64)))
    made: Node = SHAPES[np.squeeze](cast(_computed("multiply", products, share), wanted))
    return made


def _corrcoef(x: object, y: object = None, rowvar: Any = True, *, dtype: Any = None) -> Node:
    """The rule of np.corrcoef; results, or both parts of complex ones, are clipped to [-1, 1]."""
    made = _cov(x, y, rowvar, dtype=dtype)
    if not made.shape:
        return _computed("divide", made, made)
    own = builder.part(SHAPES[np.diagonal](made), "real")
    spread = _computed("sqrt", own)
    for place in (1, 0):
        made = cast(_computed("divide", made, insert_dimensions(spread, (place,))), made.dtype)
    return in_parts(made, lambda part: clip(part, -1, 1))


_SUM, _PROD, _MAX, _MIN = (REDUCTIONS[one] for one in (np.sum, np.prod, np.max, np.min))
NAN_FOLDS: Final[dict[Callable[..., object], Rule]] = {
    np.nansum: _nan_total_rule("nansum", _SUM, 0),
    np.nanprod: _nan_total_rule("nanprod", _PROD, 1),
    np.nanmax: RuleByKind(*_nan_extreme_rules("nanmax", _MAX, MAX, -np.inf)),
    np.nanmin: RuleByKind(*_nan_extreme_rules("nanmin", _MIN, MIN, np.inf)),
    np.nanmean: _nanmean,
    np.nanvar: _nan_spread_rule("nanvar", REDUCTIONS[np.var]),
    np.nanstd: _nan_spread_rule("nanstd", REDUCTIONS[np.std]),
}
"""The rules of folds that skip NaN."""
FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    **NAN_FOLDS,
    np.average: _average,
    np.cov: _cov,
    np.corrcoef: _corrcoef,
}
