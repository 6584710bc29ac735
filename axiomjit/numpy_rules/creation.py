"""The rules of functions that make arrays from a number, from positions and from lists."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import FLOAT, INT, DType, is_inexact, is_integer, wanted_dtype
from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, check_fits
from axiomjit.graph.external_calls import stored_elements, stored_number
from axiomjit.graph.nodes import Input, LengthNode, Node, Op, Scalar, describe_type
from axiomjit.graph.primitives import COPY, POSITION, PRIMITIVES, WHERE
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import pack
from axiomjit.graph.storages import strides_of
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.symbolic.data_dependent import data_dependent_length
from axiomjit.symbolic.dims import Dim, current_scope, dim
from axiomjit.views.descriptions import row_major_strides


def _unsupported(function: str, value: object) -> UnsupportedError:
    return UnsupportedError(
        f"{function}({describe_type(value)})",
        "arguments of which no array is made in compiled code",
        f"call {function} outside the compiled function",
        user_location(),
    )


def _lengths(shape: Any, function: str) -> tuple[Dim, ...]:
    """The lengths of a new array, from integers and symbolic lengths.

    A computed integer becomes a data-dependent length.
    """
    given = shape if isinstance(shape, tuple | list) else (shape,)
    lengths = [_computed(n) if isinstance(n, Node) else n for n in given]
    if not all(isinstance(n, int | np.integer | Dim) for n in lengths):
        raise _unsupported(function, shape)
    found = tuple(dim(int(n)) if isinstance(n, np.integer) else dim(n) for n in lengths)
    if any(n < 0 for n in found):
        raise ValueError("negative dimensions are not allowed")
    return found


def _computed(value: Node) -> Any:
    """A computed integer as a data-dependent length; other values are returned unchanged."""
    if not is_integer(value.dtype) or value.shape:
        return value
    number = cast(builder.strong(value), INT)  # a count must be computed, so an argument is copied
    computed = builder.elementwise(COPY, number) if isinstance(number, Input) else number
    return data_dependent_length(current_scope(), computed)


def _filled(value: Node, shape: tuple[Dim, ...], order: object, function: str) -> Node:
    """A new array in C order that is filled with a number."""
    if order not in ("C", "K"):
        raise refuse(function, "order", order)
    if value.shape:
        raise _unsupported(function, value)
    return builder.elementwise(COPY, builder.broadcast_to(value, shape))


def _number(value: int, dtype: Any, function: str) -> Node:
    wanted = _dtype(dtype, function)
    return Scalar(wanted, wanted.type(value), False)


def _as_element(value: Node, dtype: DType) -> Node:
    """A number as an element of an array of this dtype; the element is not weak.

    Raises:
        OverflowError: the dtype cannot hold a Python integer.
    """
    check_fits(value, dtype)
    return cast(builder.strong(value), dtype)


def _dtype(dtype: Any, function: str) -> DType:
    if isinstance(dtype, Node):
        raise TypeError("Cannot construct a dtype from an array")
    return wanted_dtype(np.dtype(dtype), f"{function}(dtype={dtype})", user_location())


def _full_rule(function: str, number: int) -> Rule:
    def rule(shape: Any, dtype: Any = None, order: object = "C") -> Node:
        value = _number(number, float if dtype is None else dtype, function)
        return _filled(value, _lengths(shape, function), order, function)

    return rule


def _full(shape: Any, fill_value: Any, dtype: Any = None, order: object = "C") -> Node:
    value = builder.as_node(fill_value, "full")
    wanted = value.dtype if dtype is None else _dtype(dtype, "full")
    return _filled(_as_element(value, wanted), _lengths(shape, "full"), order, "full")


def _like(
    a: object, value: Node | int, dtype: Any, order: object, shape: Any, function: str
) -> Node:
    node = array_node(a, function)
    wanted = node.dtype if dtype is None else _dtype(dtype, function)
    one = _number(value, wanted, function) if isinstance(value, int) else _as_element(value, wanted)
    if shape is not None or order == "C":
        lengths = node.shape if shape is None else _lengths(shape, function)
        return _filled(one, lengths, order, function)
    # In the memory order of the array, if known.
    strides, plain = strides_of(node), list(range(len(node.shape)))
    by_step = plain
    if strides is not None and not any(step == 0 for step in strides):
        sizes = [step if step > 0 else -step for step in strides]
        order_of = cmp_to_key(_larger_first)
        by_step = sorted(plain, key=lambda d: order_of(sizes[d]))
    whole = _filled(one, tuple(node.shape[d] for d in by_step), order, function)
    return builder.transpose(whole, [by_step.index(d) for d in plain])


def _larger_first(left: Dim, right: Dim) -> int:
    """Compare two strides for `cmp_to_key`, so that larger strides come first."""
    if left is right:
        return 0
    return 1 if left < right else -1 if right < left else 0


def _like_rule(function: str, number: int) -> Rule:
    def rule(
        a: object, dtype: Any = None, order: object = "K", subok: bool = True, shape: Any = None
    ) -> Node:
        return _like(a, number, dtype, order, shape, function)

    return rule


def _full_like(
    a: object,
    fill_value: Any,
    dtype: Any = None,
    order: object = "K",
    subok: bool = True,
    shape: Any = None,
) -> Node:
    value = builder.as_node(fill_value, "full_like")
    return _like(a, value, dtype, order, shape, "full_like")


def _arange(start: Any, stop: Any = None, step: Any = 1, dtype: Any = None) -> Node:
    """The rule of np.arange, for integers, lengths, and floats with integer values."""
    if stop is None:
        start, stop = 0, start
    bounds = start, stop, step
    first, last, every = (_bound(n) for n in bounds)
    if every == 0:
        raise ZeroDivisionError("division by zero")
    count = -((first - last) // every)
    positions = positions_along((count if count > 0 else dim(0),), (0,))
    scaled = builder.elementwise(builder.MULTIPLY, positions, builder.as_node(every, "arange"))
    made = builder.elementwise(PRIMITIVES["add"], scaled, builder.as_node(first, "arange"))
    usual = FLOAT if any(isinstance(n, float) for n in bounds) else made.dtype
    wanted = usual if dtype is None else _dtype(dtype, "arange")
    return builder.elementwise(COPY, cast(made, wanted))


def progression(node: Node) -> tuple[Dim, Dim] | None:
    """The first integer and the step of a node that `arange` made; None for other nodes."""
    parts = [node]
    for name in ("copy", "add", "multiply"):
        one = parts[0]
        if not isinstance(one, Op) or one.primitive.name != name or one.fold is not None:
            return None
        parts = [*one.operands, *parts[1:]]
    positions, every, first = parts[:3]
    is_counted = isinstance(positions, Op) and positions.primitive is POSITION
    if not is_counted or not all(map(is_integer, (node.dtype, first.dtype, every.dtype))):
        return None
    ends = [
        one.length if isinstance(one, LengthNode) else dim(int(one.value))
        for one in (first, every)
        if isinstance(one, LengthNode | Scalar)
    ]
    return (ends[0], ends[1]) if len(ends) == 2 else None


def _bound(value: Any) -> Dim:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if not isinstance(value, int | np.integer | Dim):
        raise _unsupported("arange", value)
    return value if isinstance(value, Dim) else dim(int(value))


def _linspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    retstep: object = False,
    dtype: Any = None,
) -> Node:
    """The rule of np.linspace between two numbers; the last element is exactly `stop`."""
    only_defaults("linspace", retstep=retstep or None)
    ends = [builder.as_node(end, "linspace") for end in (start, stop)]
    others = any(end.dtype != FLOAT and is_inexact(end.dtype) for end in ends)
    if others or any(end.shape for end in ends) or isinstance(num, Node):
        raise _unsupported("linspace", ends[0])
    first, last = (cast(end, FLOAT) for end in ends)
    (count,) = _lengths(num, "linspace")
    wanted = FLOAT if dtype is None else _dtype(dtype, "linspace")
    if not is_inexact(wanted):
        raise refuse("linspace", "dtype", dtype)
    parts = count - 1 if endpoint else count
    places = positions_along((count,), (0,))
    along = cast(places, FLOAT)
    delta = builder.elementwise(PRIMITIVES["subtract"], last, first)
    if parts > 0:
        delta = builder.elementwise(
            PRIMITIVES["divide"], delta, cast(builder.as_node(parts, "linspace"), FLOAT)
        )
    along = builder.elementwise(builder.MULTIPLY, along, delta)  # NaN if the distance is infinite
    made = builder.elementwise(PRIMITIVES["add"], along, first)
    if endpoint and count > 1:
        end = builder.elementwise(PRIMITIVES["equal"], places, builder.as_node(parts, "linspace"))
        made = builder.elementwise(WHERE, end, last, made)
    return builder.elementwise(COPY, cast(made, wanted))


def _logspace(
    start: Any,
    stop: Any,
    num: Any = 50,
    endpoint: bool = True,
    base: Any = 10.0,
    dtype: Any = None,
) -> Node:
    made = _elementwise("power", base, _linspace(start, stop, num, endpoint))
    return made if dtype is None else cast(made, _dtype(dtype, "logspace"))


def _elementwise(name: str, *operands: Any) -> Node:
    """The result of the elementwise operation with this name."""
    return builder.elementwise(PRIMITIVES[name], *(builder.as_node(n, name) for n in operands))


def _grid(shape: tuple[Dim, ...]) -> list[Node]:
    """For each dimension of a shape, the node with the position along it, at every point."""
    return [positions_along(shape, (d,)) for d in range(len(shape))]


def _band_rule(function: str, comparison: str) -> Rule:
    """The rule of a function that makes a matrix of 0 and 1 by comparing columns to a diagonal."""

    def rule(N: Any, M: Any = None, k: Any = 0, dtype: Any = float, order: object = "C") -> Node:
        if order != "C":
            raise refuse(function, "order", order)
        rows, columns = _grid(_lengths((N, N if M is None else M), function))
        return cast(
            _elementwise(comparison, columns, _elementwise("add", rows, k)), _dtype(dtype, function)
        )

    return rule


def _identity(n: Any, dtype: Any = None) -> Node:
    made: Node = COUNTERS[np.eye](n, dtype=float if dtype is None else dtype)
    return made


def _indices(dimensions: Any, dtype: Any = int, sparse: bool = False) -> Node:
    only_defaults("indices", sparse=sparse or None)
    parts = _grid(_lengths(tuple(dimensions), "indices"))
    return cast(builder.as_node(parts, "indices"), _dtype(dtype, "indices"))


def _window_rule(function: str, formula: Callable[[Node, Node], Node]) -> Rule:
    """The rule of a window; `formula` is a function of (1 - M, 3 - M, ..., M - 1) and M - 1."""

    def rule(M: Any) -> Node:
        (count,) = _lengths(M, function)
        if count <= 1:
            return _filled(_number(1, float, function), (count,), "C", function)
        last = cast(builder.as_node(count - 1, function), FLOAT)
        return formula(cast(_arange(1 - count, count, 2), FLOAT), last)

    return rule


def _cosine(places: Node, last: Node, periods: int = 1) -> Node:
    return _elementwise(
        "cos", _elementwise("divide", _elementwise("multiply", periods * np.pi, places), last)
    )


def _raised_cosine(mean: float, swing: float) -> Callable[[Node, Node], Node]:
    return lambda n, last: _elementwise(
        "add", mean, _elementwise("multiply", swing, _cosine(n, last))
    )


def _blackman(places: Node, last: Node) -> Node:
    narrow = _elementwise("multiply", 0.08, _cosine(places, last, 2))
    return _elementwise("add", _raised_cosine(0.42, 0.5)(places, last), narrow)


def _triangle(places: Node, last: Node) -> Node:
    rising, place = _elementwise("less_equal", places, 0), _elementwise("divide", places, last)
    return builder.elementwise(
        WHERE, rising, _elementwise("add", 1, place), _elementwise("subtract", 1, place)
    )


def _frequencies_rule(function: str, halved: bool) -> Rule:
    def rule(n: Any, d: Any = 1.0) -> Node:
        (count,) = _lengths(n, function)
        if count < 1:
            raise _unsupported(function, n)
        (places,) = _grid(((count // 2 + 1) if halved else count,))
        if not halved:  # the second half of the frequencies is negative
            late = _elementwise("greater", places, (count - 1) // 2)
            places = builder.elementwise(
                WHERE, late, _elementwise("subtract", places, count), places
            )
        return _elementwise(
            "multiply", places, _elementwise("divide", 1.0, _elementwise("multiply", count, d))
        )

    return rule


def _array(
    object: Any, dtype: Any = None, *, copy: bool | None = True, order: object = "K"
) -> Node:
    given = object if dtype is None else _stored_numbers(object, _dtype(dtype, "array"))
    node = array_node(given, "array")
    wanted = node.dtype if dtype is None else _dtype(dtype, "array")
    if order not in ("K", "C", "A", None):
        raise refuse("array", "order", order)
    strides = strides_of(node)
    if order == "C" and strides != row_major_strides(node.shape):
        if copy is False or strides is None:
            raise refuse("array", "order", order)
        return pack(cast(node, wanted))
    changed = node is not object or wanted != node.dtype
    if changed and copy is False:
        raise ValueError("Unable to avoid copy while creating an array as requested.")
    if not changed and not copy:
        return node
    return cast(node, wanted) if wanted != node.dtype else builder.elementwise(COPY, node)


def _stored_numbers(given: Any, dtype: DType) -> Any:
    """The argument, in which Python numbers are replaced by elements of a dtype, as NumPy does."""
    if isinstance(given, list | tuple):
        return stored_elements(given, dtype) if builder.holds_nodes(given) else given
    node = builder.as_node(given, "array")
    return stored_number(node, dtype) if node.weak else given


def _as_array(a: Any, dtype: Any = None, order: object = None, *, copy: Any = None) -> Node:
    return _array(a, dtype, copy=copy, order=order)


def _as_contiguous(a: Any, dtype: Any = None) -> Node:
    node = array_node(a, "ascontiguousarray")
    if not node.shape:
        raise _unsupported("ascontiguousarray", node)
    return _array(node, dtype, copy=None, order="C")


MAKERS: Final[dict[Callable[..., object], Rule]] = {
    np.zeros: _full_rule("zeros", 0),
    np.ones: _full_rule("ones", 1),
    np.empty: _full_rule("empty", 0),
    np.full: _full,
}
"""Functions that make arrays only from numbers; NumPy does not dispatch them."""
COUNTERS: Final[dict[Callable[..., object], Rule]] = {
    np.arange: _arange,
    np.logspace: _logspace,
    np.eye: _band_rule("eye", "equal"),
    np.identity: _identity,
    np.tri: _band_rule("tri", "less_equal"),
    np.indices: _indices,
    np.hanning: _window_rule("hanning", _raised_cosine(0.5, 0.5)),
    np.hamming: _window_rule("hamming", _raised_cosine(0.54, 0.46)),
    np.blackman: _window_rule("blackman", _blackman),
    np.bartlett: _window_rule("bartlett", _triangle),
}
"""Functions that make arrays from lengths; for plain numbers, NumPy itself runs them."""
FREQUENCIES: Final[dict[str, Rule]] = {
    "fftfreq": _frequencies_rule("fftfreq", halved=False),
    "rfftfreq": _frequencies_rule("rfftfreq", halved=True),
}
"""Functions of `numpy.fft` that make arrays from lengths.

The functions are listed by name, since NumPy imports `numpy.fft` on first use.
"""
CONVERTERS: Final[dict[Callable[..., object], Rule]] = {
    np.array: _array,
    np.asarray: _as_array,
    np.asanyarray: _as_array,
    np.ascontiguousarray: _as_contiguous,
}
"""Functions that make arrays from arrays or lists; NumPy does not dispatch them."""
FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.zeros_like: _like_rule("zeros_like", 0),
    np.ones_like: _like_rule("ones_like", 1),
    np.empty_like: _like_rule("empty_like", 0),
    np.full_like: _full_like,
    np.linspace: _linspace,
}
