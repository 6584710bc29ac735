"""Python's functions of numbers, applied to computed numbers: float, int, round, max, math."""

from __future__ import annotations

import cmath
import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import BOOL, COMPLEX, FLOAT, INT, is_complex, is_float, is_integer
from axiomjit.base.trace_context import current
from axiomjit.graph.builder import as_node, cast, elementwise, python_number, strong
from axiomjit.graph.nodes import Node, size
from axiomjit.graph.primitives import PRIMITIVES, WHERE
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import Dim, current_scope
from axiomjit.tracing.computed_numbers import asked_integer, asked_truth, value_now
from axiomjit.tracing.lengths import length
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer

LARGEST: Final = 2.0**63
"""Floats of this magnitude or more are not converted to integers of 64 bits."""


def converted(kind: type, value: Any) -> Any:
    """`float(value)`, `int(value)` or `complex(value)` of a computed number; None if refused."""
    node = value.node
    if node.shape or not issubclass(type(value), Tracer):
        return None
    if kind is int:
        return _integer(node)
    if is_complex(node.dtype) and kind is not complex:
        return None
    return Tracer(python_number(cast(strong(node), FLOAT if kind is float else COMPLEX)))


def number_of_trip(value: Dim) -> Tracer:
    """An integer that depends on the index of a loop, as a traced Python number."""
    return Tracer(python_number(cast(strong(as_node(value, "a number of a trip")), INT)))


def float_of_trip(node: Node) -> Tracer:
    """A float that depends on the index of a loop: a number of Python's if its node is weak."""
    return Tracer(python_number(strong(node)) if node.weak else node)


def _holds(truth: Node) -> bool | None:
    """The truth value of a computed value in this call; in a region it is True, and checked."""
    following = current()
    if following is None or following.region is None:
        return asked_truth(truth)
    following.region.check(truth)
    return True


def _integer(node: Node) -> Any:
    """A real number, truncated; None if the number does not fit into an integer of 64 bits.

    In a loop or branch the result is a traced number, elsewhere a symbolic number.
    """
    if is_complex(node.dtype):
        return None
    following = current()
    if following is not None and following.region is not None:
        if is_float(node.dtype):
            small = _applied(np.less, _applied(np.absolute, strong(node)), as_node(LARGEST, "int"))
            following.region.check(small)
        return Tracer(python_number(cast(strong(node), INT))) if node.dtype != np.uint64 else None
    if is_float(node.dtype):
        small = _applied(np.less, _applied(np.absolute, strong(node)), as_node(LARGEST, "int"))
        if not asked_truth(small):
            _raise_as(int, [strong(node)])
            return None
    elif node.dtype == np.uint64 and not asked_truth(
        _applied(np.less, strong(node), as_node(2**63, "int"))
    ):
        return None
    found = asked_integer(node)
    return None if found is None else length(found)


def position(value: Any) -> Any:
    """The start or stop of a slice: a computed integer as a length; other values are unchanged."""
    if not issubclass(type(value), Tracer) or value.node.shape or not is_integer(value.node.dtype):
        return value
    found = _integer(value.node)
    return value if found is None else found


def rounded(value: Tracer, function: np.ufunc) -> Any:
    """The integer of a function like `math.floor`, computed by a ufunc; None if refused."""
    node = value.node
    if node.shape or is_complex(node.dtype):
        return None
    return _integer(_applied(function, strong(node)) if is_float(node.dtype) else node)


def extreme(sign: str, values: Sequence[Any]) -> Any:
    """`max(values)` or `min(values)` of numbers of one type; None if the type is not known.

    In the body of a region, some numbers may be Python numbers and others NumPy numbers, of one
    dtype; the result is then a NumPy number.
    """
    following = current()
    region = None if following is None else following.region
    nodes = [_number(value, region is not None) for value in values]
    kinds = {(n.dtype, n.weak) for n in nodes if n is not None}
    dtypes = {dtype for dtype, _ in kinds}
    if None in nodes or len(dtypes if region is not None else kinds) != 1:
        return None
    (dtype,), weak = dtypes, all(is_weak for _, is_weak in kinds)
    if is_complex(dtype) or dtype == BOOL:
        return None
    best, *others = [strong(n) for n in nodes if n is not None]
    for one in others:
        better = elementwise(PRIMITIVES["greater" if sign == ">" else "less"], one, best)
        best = elementwise(WHERE, better, one, best)
    if region is not None and (len(kinds) > 1 or not region.mixed.isdisjoint(nodes)):
        region.mixed.add(best)
    return Tracer(python_number(best) if weak else best)


def _number(value: Any, may_be_known: bool) -> Node | None:
    """The node of a traced number, or of a known Python number; None for other values."""
    if issubclass(type(value), Tracer):
        return None if value.node.shape or value.is_array else value.node
    is_known = may_be_known and type(value) in (int, float)
    return as_node(value, "a number") if is_known else None


def compared(ufunc: np.ufunc, left: Dim, right: Dim) -> bool | None:
    """The outcome of a comparison of numbers that depend on a mask; None if refused."""
    return asked_truth(elementwise(PRIMITIVES[ufunc.__name__], size(left), size(right)))


def mathematical(function: Callable[..., Any], args: Sequence[Any]) -> Any:
    """A function of `math` or `cmath` of computed numbers; None if refused.

    The program checks that the arguments and the result are finite, since Python's function may
    raise an error for other numbers.

    Raises:
        ValueError, OverflowError: the function raises this error for the values of this call.
    """
    ufunc = PREDICATES.get(function) or FUNCTIONS.get(function)
    if ufunc not in UFUNCS or len(args) != ufunc.nin:
        return None
    dtype = COMPLEX if function.__module__ == "cmath" else FLOAT
    given = [node for value in args if (node := _operand(value, dtype)) is not None]
    if len(given) != len(args):
        return None
    made = _applied(ufunc, *given)
    if function in PREDICATES:
        return asked_truth(made)
    every = [_applied(np.isfinite, node) for node in (*given, made)]
    finite = every[0]
    for one in every[1:]:
        finite = _applied(np.logical_and, finite, one)
    truth = _holds(finite)
    if truth is False:
        _raise_as(function, given)
    return Tracer(python_number(cast(strong(made), dtype))) if truth else None


def _applied(ufunc: np.ufunc, *operands: Node) -> Node:
    """The node of a ufunc with one result."""
    made = UFUNCS[ufunc](*operands)
    assert isinstance(made, Node)
    return made


def _operand(value: Any, dtype: np.dtype[Any]) -> Node | None:
    node = as_node(node_of(value), "math")
    if node.shape or (is_complex(node.dtype) and not is_complex(dtype)):
        return None
    return cast(strong(node), dtype)


def _raise_as(function: Callable[..., Any], given: Sequence[Node]) -> None:
    """Call a function with the values of this call, for which it may raise an error."""
    following, scope = current(), current_scope()
    assert following is not None
    function(*(value_now(node, following, scope).item() for node in given))


_SAME: Final = ("exp", "log", "log10", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh")
_ARCS: Final = ("asin", "acos", "atan", "asinh", "acosh", "atanh")
PREDICATES: Final[dict[Callable[..., Any], np.ufunc]] = {
    getattr(module, name): getattr(np, name)
    for name in ("isnan", "isinf", "isfinite")
    for module in (math, cmath)
}
"""For each function of `math` or `cmath` that returns a bool, the ufunc with the same results."""
FUNCTIONS: Final[dict[Callable[..., Any], np.ufunc]] = {
    **{
        getattr(module, name): getattr(np, ufunc)
        for name, ufunc in (
            *((n, n) for n in _SAME),
            *((n, f"arc{n[1:]}") for n in _ARCS),
        )
        for module in (math, cmath)
    },
    **{
        getattr(math, name): getattr(np, name)
        for name in ("expm1", "log1p", "log2", "hypot", "copysign", "fabs", "fmod", "exp2", "cbrt")
    },
    **{math.atan2: np.arctan2, math.pow: np.power},
    **{math.degrees: np.degrees, math.radians: np.radians},
}
"""For each function of `math` or `cmath`, the ufunc that agrees with the function up to rounding
errors."""
