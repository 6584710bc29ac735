"""The rules of ufuncs, `clip`, `copy` and `astype`, and of other elementwise functions.

Comparisons of entire arrays, such as `array_equal`, fold the comparisons of their elements.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from operator import is_
from typing import Any, Final, cast

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

from axiomjit.base.dtypes import (
    BOOL,
    FLOAT,
    HALF,
    SINGLE,
    DType,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
    wanted_dtype,
)
from axiomjit.base.errors import GraphValueError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder, powers
from axiomjit.graph.builder import fits, loop_of, promotable
from axiomjit.graph.contractions import sum_of_products
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import LengthNode, Node, Scalar, describe_call, describe_length
from axiomjit.graph.primitives import ALL_OF, COMPLEX_OF, COPY, PRIMITIVES, WHERE
from axiomjit.graph.shape_ops import pack
from axiomjit.graph.storages import strides_of
from axiomjit.numpy_rules.options import UNGIVEN, Rule, array_node, only_defaults, refuse
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_in
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import iterator
from axiomjit.views.descriptions import row_major_strides

Rules = Callable[..., Node | tuple[Node, ...]]


def matmul_node(a: object, b: object) -> Node:
    """The rule of np.matmul; a library multiplies large matrices, and loops multiply small ones.

    Raises:
        UnsupportedError: an operand is a number.
        GraphValueError: the contracted lengths differ.
    """
    left, right = builder.as_node(a, "matmul"), builder.as_node(b, "matmul")
    ranks = len(left.shape), len(right.shape)
    if 0 in ranks:
        raise UnsupportedError(
            describe_call("matmul", left, right),
            "an operand without dimensions",
            "use matrices, vectors or stacks of matrices; for numbers use *",
            user_location(),
        )
    return builder.dot(left, right) if max(ranks) <= 2 else _stacks(left, right)


def _stacks(left: Node, right: Node) -> Node:
    stack = builder.broadcast_shapes([left.shape[:-2], right.shape[:-2]], "matmul", left, right)
    place = len(stack)
    rows = left.shape[-2:-1]
    columns = right.shape[-1:] if len(right.shape) > 1 else ()
    met, other = left.shape[-1], right.shape[max(len(right.shape) - 2, 0)]
    if not assumed_equal(met, other):
        raise GraphValueError(
            describe_call("matmul", left, right),
            f"lengths {describe_length(met)} (last dimension of the left operand) and "
            f"{describe_length(other)} (last but one of the right one)",
            "transpose or slice an operand so that these two lengths are equal",
            user_location(),
        )
    row, column = place, place + len(rows)
    inner = column + len(columns)
    shape = (*stack, *rows, *columns)
    own_rows = (iterator(row),) if rows else ()
    own_columns = (iterator(column),) if columns else ()
    reads = [
        (left, (*builder.stretch_map(left.shape[:-2], stack), *own_rows, iterator(inner))),
        (right, (*builder.stretch_map(right.shape[:-2], stack), iterator(inner), *own_columns)),
    ]
    return sum_of_products(reads, (*shape, met), len(shape))


def conjugates(node: Node) -> Node:
    """The complex conjugates of the elements; a node of real elements is returned unchanged."""
    return builder.elementwise(PRIMITIVES["conjugate"], node) if is_complex(node.dtype) else node


def axis_last(node: Node, axis: object) -> Node:
    """The node with a dimension moved to the end."""
    along = normalize_axis_index(operator.index(axis), len(node.shape))  # type: ignore[arg-type]
    return builder.transpose(node, [*(d for d in range(len(node.shape)) if d != along), along])


def _product_rule(name: str, ranks: tuple[int, int], met: tuple[int, int]) -> Rules:
    """The rule of a product of two stacks of vectors (rank 1) or matrices (rank 2).

    `met` has, for each operand, the dimension that is summed over, counted from the end. The left
    operand is conjugated if its members are vectors.
    """

    def rule(x1: object, x2: object) -> Node:
        left, right = (builder.as_node(x, name) for x in (x1, x2))
        if any(len(node.shape) < rank for node, rank in zip((left, right), ranks, strict=True)):
            raise UnsupportedError(
                describe_call(name, left, right),
                "an operand with too few dimensions",
                "give stacks of vectors and matrices as NumPy documents them",
                user_location(),
            )
        if not assumed_equal(left.shape[met[0]], right.shape[met[1]]):
            raise GraphValueError(
                describe_call(name, left, right),
                f"lengths {describe_length(left.shape[met[0]])} and "
                f"{describe_length(right.shape[met[1]])} of the dimensions that are summed over",
                "transpose or slice an operand so that these two lengths are equal",
                user_location(),
            )
        left = conjugates(left) if ranks[0] == 1 else left
        plain = (len(left.shape), len(right.shape)) == ranks
        return builder.dot(left, right) if plain else _stacked_product(left, right, ranks, met)

    return rule


def _stacked_product(left: Node, right: Node, ranks: tuple[int, int], met: tuple[int, int]) -> Node:
    """The products of the members of two stacks, which are sums over the dimensions `met`."""
    stacks = [
        node.shape[: len(node.shape) - k] for node, k in zip((left, right), ranks, strict=True)
    ]
    stack = builder.broadcast_shapes(stacks, "a product of stacks", left, right)
    kept: list[Dim] = [*stack]
    reads, last = [], len(stack) + sum(ranks) - 2
    for node, own, rank, summed in zip((left, right), stacks, ranks, met, strict=True):
        index = [*builder.stretch_map(own, stack)]
        for d in range(-rank, 0):
            index.append(iterator(last if d == summed else len(kept)))
            kept += [] if d == summed else [node.shape[d]]
        reads.append((node, tuple(index)))
    return sum_of_products(reads, (*kept, left.shape[met[0]]), last)


def _ufunc_rule(name: str) -> Rule:
    primitive = PRIMITIVES[name]

    def rule(*operands: object) -> Node:
        nodes = [builder.as_node(operand, name) for operand in operands]
        return builder.elementwise(primitive, *nodes)

    return rule


def _power(base: object, exponent: object) -> Node:
    return powers.power(builder.as_node(base, "power"), builder.as_node(exponent, "power"))


def _as_loop(x: object, ufunc: np.ufunc) -> Node:
    """The operand in the dtype of NumPy's loop; a Python number stays weak if it needs no cast."""
    node = builder.as_node(x, ufunc.__name__)
    dtype = loop_of(ufunc, (promotable(node),))[-1]
    return node if node.dtype == dtype else builder.cast(node, dtype)


def _square(x: object) -> Node:
    node = _as_loop(x, np.square)
    return builder.elementwise(PRIMITIVES["multiply"], node, node)


def _sqrt(x: object) -> Node:
    return builder.strong(builder.elementwise(PRIMITIVES["sqrt"], builder.as_node(x, "sqrt")))


def _positive(x: object) -> Node:
    return copied(_as_loop(x, np.positive))


def _reciprocal(x: object) -> Node:
    """The rule of np.reciprocal; for integers 1 / x is computed in float64, as in NumPy."""
    node = _as_loop(x, np.reciprocal)
    if is_inexact(node.dtype):
        return powers.reciprocal(node)
    return builder.cast(powers.reciprocal(builder.cast(node, FLOAT)), node.dtype)


def conjugated(x: object) -> Node:
    """The rule of np.conjugate; real elements are copied."""
    node = _as_loop(x, np.conjugate)
    if is_complex(node.dtype):
        return builder.elementwise(PRIMITIVES["conjugate"], node)
    return copied(node)


def _in_loop(ufunc: np.ufunc, *operands: object) -> list[Node]:
    """The operands in the dtypes of NumPy's loop.

    Raises:
        OverflowError: a dtype cannot hold a Python integer.
    """
    nodes = [builder.as_node(operand, ufunc.__name__) for operand in operands]
    loop = loop_of(ufunc, tuple(map(promotable, nodes)))
    for node, dtype in zip(nodes, loop, strict=False):
        builder.check_fits(node, dtype)
    return [builder.cast(node, dtype) for node, dtype in zip(nodes, loop, strict=False)]


def _scaled_rule(ufunc: np.ufunc, over: float, under: float) -> Rule:
    """The rule of a multiplication by `over / under`, a quotient in the dtype of the loop."""

    def rule(x: object) -> Node:
        (node,) = _in_loop(ufunc, x)
        wide = SINGLE if node.dtype == HALF else node.dtype
        factor = Scalar(wide, np.divide(over, under, dtype=wide), False)
        scaled = builder.elementwise(PRIMITIVES["multiply"], builder.cast(node, wide), factor)
        return builder.cast(scaled, node.dtype)

    return rule


def _heaviside(x1: object, x2: object) -> Node:
    """The rule of np.heaviside: 0 below 0, 1 above 0, NaN for NaN, the second operand for 0."""
    x, middle = _in_loop(np.heaviside, x1, x2)
    zero, nan = (Scalar(x.dtype, x.dtype.type(value), False) for value in (0, np.nan))
    step = builder.cast(builder.elementwise(PRIMITIVES["greater"], x, zero), x.dtype)
    step = builder.elementwise(WHERE, builder.elementwise(PRIMITIVES["isnan"], x), nan, step)
    at_zero = builder.elementwise(PRIMITIVES["equal"], x, zero)
    return builder.elementwise(WHERE, at_zero, middle, step)


def _divmod(x: object, y: object) -> tuple[Node, Node]:
    operands = builder.as_node(x, "divmod"), builder.as_node(y, "divmod")
    quotient = builder.elementwise(PRIMITIVES["floor_divide"], *operands)
    return quotient, builder.elementwise(PRIMITIVES["remainder"], *operands)


def _bound(node: Node, value: object, below: bool) -> Node | None:
    """A bound of np.clip; None for a Python integer out of range, which has no effect."""
    if value is None or value is UNGIVEN:
        return None
    bound = builder.as_node(value, "clip")
    if fits(bound, node.dtype):
        return bound
    negative = (
        bound.length < 0 if isinstance(bound, LengthNode) else cast(Scalar, bound).value.item() < 0
    )
    return None if negative == below else bound


def clip(
    a: object,
    a_min: object = UNGIVEN,
    a_max: object = UNGIVEN,
    out: object = None,
    *,
    min: object = UNGIVEN,
    max: object = UNGIVEN,
) -> Node:
    """The rule of np.clip; a bound outside the range of the dtype has no effect."""
    only_defaults("clip", out=out)
    if a_min is UNGIVEN and a_max is UNGIVEN:
        a_min, a_max = (None if bound is UNGIVEN else bound for bound in (min, max))
    elif min is not UNGIVEN or max is not UNGIVEN:
        raise ValueError(
            "Passing `min` or `max` keyword argument when "
            "`a_min` and `a_max` are provided is forbidden."
        )
    node = builder.strong(builder.as_node(a, "clip"))
    low, high = _bound(node, a_min, below=True), _bound(node, a_max, below=False)
    if low is not None and high is not None:
        return builder.elementwise(PRIMITIVES["clip"], node, low, high)
    if low is not None:
        return builder.elementwise(PRIMITIVES["maximum"], node, low)
    if high is not None:
        return builder.elementwise(PRIMITIVES["minimum"], node, high)
    return _positive(node)


def cast_to(
    node: Node, dtype: Any, order: str = "K", casting: Any = "unsafe", copy: bool = True
) -> Node:
    """The rule of `astype`: a new array, or the node itself with `copy=False` and equal dtypes.

    Raises:
        TypeError: `casting` does not allow the conversion.
    """
    wanted = wanted_dtype(np.dtype(dtype), f"astype({dtype})", user_location())
    if not np.can_cast(node.dtype, wanted, casting):
        raise TypeError(
            f"Cannot cast array data from {node.dtype!r} to {wanted!r} according to the rule "
            f"{casting!r}"
        )
    if order != "K" and not copy:  # the current memory order is unknown
        raise refuse("astype", "order", order)
    if node.dtype == wanted:
        return copied(node, order) if copy else node
    made = builder.cast(node, wanted)
    return made if order == "K" else copied(made, order)


def copied(a: object, order: str = "K", subok: bool = False) -> Node:
    """The rule of np.copy: a new array in the operand's memory order, C or Fortran order."""
    node = builder.as_node(a, "copy")
    if order == "F":
        backwards = tuple(reversed(range(len(node.shape))))
        return builder.transpose(copied(builder.transpose(node, backwards), "C"), backwards)
    if order not in ("K", "C"):
        raise refuse("copy", "order", order)
    if order == "C" and strides_of(node) != row_major_strides(node.shape):
        return pack(node)
    return builder.elementwise(COPY, node)


SPECIAL: Final[dict[np.ufunc, Rules]] = {
    np.divmod: _divmod,
    np.power: _power,
    np.square: _square,
    np.sqrt: _sqrt,
    np.positive: _positive,
    np.reciprocal: _reciprocal,
    np.conjugate: conjugated,
    **{ufunc: _scaled_rule(ufunc, np.pi, 180) for ufunc in (np.deg2rad, np.radians)},
    **{ufunc: _scaled_rule(ufunc, 180, np.pi) for ufunc in (np.rad2deg, np.degrees)},
    np.heaviside: _heaviside,
    np.matmul: matmul_node,
    np.vecdot: _product_rule("vecdot", (1, 1), (-1, -1)),
    np.matvec: _product_rule("matvec", (2, 1), (-1, -1)),
    np.vecmat: _product_rule("vecmat", (1, 2), (-1, -2)),
}
UFUNCS: Final[dict[np.ufunc, Rules]] = {
    **{row.ufunc: _ufunc_rule(name) for name, row in PRIMITIVES.items() if row.ufunc is not None},
    **SPECIAL,
}


def _computed(name: str, *operands: Any) -> Node:
    """The result of the elementwise operation with this name."""
    return builder.elementwise(PRIMITIVES[name], *(builder.as_node(n, name) for n in operands))


def in_parts(node: Node, function: Callable[[Node], Node]) -> Node:
    """The result of a function applied to elements, or to both parts of complex elements."""
    if not is_complex(node.dtype):
        return function(node)
    parts = (function(builder.part(node, name)) for name in ("real", "imag"))
    return builder.elementwise(COMPLEX_OF, *parts)


def _round(a: object, decimals: Any = 0, out: object = None) -> Node:
    """The rule of np.round; integers that are rounded to zero or more decimals are copied."""
    only_defaults("round", out=out)
    if not isinstance(decimals, int | np.integer | Dim):
        raise refuse("round", "decimals", decimals)
    node, places = array_node(a, "round"), int(decimals)
    if is_integer(node.dtype):
        if places >= 0:
            return copied(node)
        return builder.cast(_rounded(builder.cast(node, FLOAT), places), node.dtype)
    if places == 0:
        return _computed("rint", node)
    if is_bool(node.dtype):  # NumPy writes floats into bools, and raises an error
        raise refuse("round", "decimals", decimals)
    return in_parts(node, lambda part: _rounded(part, places))


def _rounded(node: Node, places: int) -> Node:
    """Floats, rounded to decimals: they are scaled by a power of ten, rounded, and scaled back."""
    try:
        power = 10.0 ** abs(places)
    except OverflowError:
        power = np.inf
    there, back = ("multiply", "divide") if places > 0 else ("divide", "multiply")
    return _computed(back, _computed("rint", _computed(there, node, power)), power)


def _nan_to_num(
    x: object, copy: Any = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None
) -> Node:
    """The rule of np.nan_to_num that returns a new array."""
    if copy is not True:  # the argument itself is changed
        raise refuse("nan_to_num", "copy", copy)
    node = array_node(x, "nan_to_num")
    if not is_inexact(node.dtype):
        return copied(node)
    given = {"nan": nan, "posinf": posinf, "neginf": neginf}

    def replaced(part: Node) -> Node:
        ends: Any = np.finfo(part.dtype.name)
        usual = {"nan": 0.0, "posinf": ends.max, "neginf": ends.min}
        new = {
            name: _replacement(name, usual[name] if value is None else value, part.dtype)
            for name, value in given.items()
        }
        result = builder.elementwise(WHERE, _computed("isnan", part), new["nan"], part)
        for name, end in (("posinf", np.inf), ("neginf", -np.inf)):
            here = _computed("equal", part, Scalar(part.dtype, part.dtype.type(end), False))
            result = builder.elementwise(WHERE, here, new[name], result)
        return result

    if nan is None:
        raise refuse("nan_to_num", "nan", nan)
    return in_parts(node, replaced)


def _replacement(name: str, value: Any, dtype: DType) -> Node:
    """A real number, as an element of a floating dtype."""
    node = builder.as_node(value, "nan_to_num")
    if node.shape or is_complex(node.dtype):
        raise refuse("nan_to_num", name, value)
    return builder.cast(builder.strong(node), dtype)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: object = False) -> Node:
    """The rule of np.isclose for known and finite tolerances; NumPy warns of other tolerances."""
    for name, value in (("rtol", rtol), ("atol", atol)):
        if not isinstance(value, int | float | np.number) or not np.isfinite(value):
            raise refuse("isclose", name, value)
    if not isinstance(equal_nan, bool | np.bool):
        raise refuse("isclose", "equal_nan", equal_nan)
    x = builder.as_node(a, "isclose")
    y = _as_float(builder.as_node(float(b) if isinstance(b, bool) else b, "isclose"), x)
    apart = _computed("absolute", _computed("subtract", x, y))
    limit = _computed("add", atol, _computed("multiply", rtol, _computed("absolute", y)))
    near = _computed("bitwise_and", _computed("less_equal", apart, limit), _computed("isfinite", y))
    result = _computed("bitwise_or", near, _computed("equal", x, y))
    if equal_nan:
        both = _computed("bitwise_and", _computed("isnan", x), _computed("isnan", y))
        result = _computed("bitwise_or", result, both)
    return result


def _as_float(node: Node, beside: Node) -> Node:
    """The second operand of isclose, as a float; a weak number that becomes a float stays weak."""
    if is_inexact(node.dtype):
        return node
    if node.weak and not isinstance(node, Scalar) and is_inexact(beside.dtype) and not beside.weak:
        return node  # the number gets the dtype of the other operand
    return builder.cast(node, FLOAT)


def _all_of(mask: Node) -> Node:
    """True if all elements of a mask are true, as a Python bool."""
    return builder.python_number(builder.fold(ALL_OF, mask, range(len(mask.shape))))


def _allclose(a: Any, b: Any, *args: Any, **options: Any) -> Node:
    """The rule of np.allclose, with the tolerances that `_isclose` accepts."""
    return _all_of(_isclose(a, b, *args, **options))


def _array_equal(a1: Any, a2: Any, equal_nan: object = False) -> Node | bool:
    """The rule of np.array_equal; False without a node if the shapes differ."""
    if not isinstance(equal_nan, bool | np.bool):
        raise refuse("array_equal", "equal_nan", equal_nan)
    left, right = _both("array_equal", a1, a2)
    if left.shape != right.shape:
        return False
    same = _computed("equal", left, right)
    if equal_nan and is_inexact(left.dtype) and is_inexact(right.dtype):
        both = _computed("bitwise_and", _computed("isnan", left), _computed("isnan", right))
        same = _computed("bitwise_or", same, both)
    return _all_of(same)


def _array_equiv(a1: Any, a2: Any) -> Node | bool:
    """The rule of np.array_equiv; False without a node if the shapes do not broadcast."""
    left, right = _both("array_equiv", a1, a2)
    try:
        builder.broadcast_shapes([left.shape, right.shape], "array_equiv", left, right)
    except GraphValueError:
        return False
    return _all_of(_computed("equal", left, right))


def _both(name: str, a1: Any, a2: Any) -> tuple[Node, Node]:
    """The nodes of the two arrays that a function compares.

    Raises:
        UnsupportedError: only the running program knows if the lengths of the arrays differ.
    """
    left, right = array_node(a1, name), array_node(a2, name)
    alike = len(left.shape) == len(right.shape) and all(map(is_, left.shape, right.shape))
    if not alike and data_dependent_in(*left.shape, *right.shape):
        raise refuse(name, "a2", right)
    return left, right


def _angle(z: object, deg: Any = False) -> Node:
    if not isinstance(deg, bool | int | np.bool):
        raise refuse("angle", "deg", deg)
    node = array_node(z, "angle")
    if is_complex(node.dtype):
        angle = _computed("arctan2", *(builder.part(node, name) for name in ("imag", "real")))
    else:
        angle = _computed("arctan2", 0, node)
    return _computed("multiply", angle, 180 / np.pi) if deg else angle


def _sinc(x: object) -> Node:
    turned = _computed("multiply", np.pi, array_node(x, "sinc"))
    tiny = np.finfo(turned.dtype.name).eps if is_float(turned.dtype) else 1e-20
    nonzero = builder.elementwise(WHERE, as_mask(turned), turned, builder.as_node(tiny, "sinc"))
    return _computed("divide", _computed("sin", nonzero), nonzero)


def _infinite_rule(name: str, end: float) -> Rule:
    """The rule of np.isposinf or np.isneginf.

    Raises:
        TypeError: the elements are complex.
    """

    def rule(x: object, out: object = None) -> Node:
        only_defaults(name, out=out)
        node = array_node(x, name)
        if is_complex(node.dtype):
            raise TypeError(
                f"This operation is not supported for {node.dtype} values because it would be "
                "ambiguous."
            )
        if not is_float(node.dtype):
            return builder.elementwise(
                WHERE, builder.cast(node, BOOL), *[builder.as_node(False, name)] * 2
            )
        return _computed("equal", node, Scalar(node.dtype, node.dtype.type(end), False))

    return rule


FUNCTIONS: Final[dict[Callable[..., object], Rule]] = {
    np.round: _round,
    np.around: _round,
    np.nan_to_num: _nan_to_num,
    np.isclose: _isclose,
    np.allclose: _allclose,
    np.array_equal: _array_equal,
    np.array_equiv: _array_equiv,
    np.angle: _angle,
    np.sinc: _sinc,
    np.isposinf: _infinite_rule("isposinf", np.inf),
    np.isneginf: _infinite_rule("isneginf", -np.inf),
}
METHODS: Final[dict[str, Rule]] = {"round": _round}
