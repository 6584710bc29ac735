"""The rules of elementwise functions that are no ufuncs, such as `np.round` and `np.isclose`.

A comparison of entire arrays folds the comparisons of their elements.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import is_
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import (
    BOOL,
    FLOAT,
    DType,
    is_bool,
    is_complex,
    is_float,
    is_inexact,
    is_integer,
)
from axiomjit.base.errors import GraphValueError
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.indexing_ops import as_mask
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import ALL_OF, COMPLEX_OF, PRIMITIVES, WHERE
from axiomjit.numpy_rules.elementwise import copied
from axiomjit.numpy_rules.options import Rule, array_node, only_defaults, refuse
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim


def _computed(name: str, *operands: Any) -> Node:
    """The result of the elementwise operation with this name."""
    return builder.elementwise(PRIMITIVES[name], *(builder.as_node(n, name) for n in operands))


def in_parts(node: Node, function: Callable[[Node], Node]) -> Node:
    """The result of a function of elements; for complex elements, of real and imaginary parts."""
    if not is_complex(node.dtype):
        return function(node)
    parts = (function(builder.part(node, name)) for name in ("real", "imag"))
    return builder.elementwise(COMPLEX_OF, *parts)


def _round(a: object, decimals: Any = 0, out: object = None) -> Node:
    """The rule of np.round; integers rounded to decimals are copied."""
    only_defaults("round", out=out)
    if not isinstance(decimals, int | np.integer | Dim):
        raise refuse("round", "decimals", decimals)
    node, places = array_node(a, "round"), int(decimals)
    if is_integer(node.dtype):
        if places >= 0:
            return copied(node)
        return cast(_rounded(cast(node, FLOAT), places), node.dtype)
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
    return cast(builder.strong(node), dtype)


def _isclose(a: Any, b: Any, rtol: Any = 1e-5, atol: Any = 1e-8, equal_nan: object = False) -> Node:
    """The rule of np.isclose with known and finite tolerances; NumPy warns of others."""
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
    return cast(node, FLOAT)


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
            return builder.elementwise(WHERE, cast(node, BOOL), *[builder.as_node(False, name)] * 2)
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
