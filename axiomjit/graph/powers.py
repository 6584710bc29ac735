"""Powers, with NumPy's special forms for some exponents; reciprocals; `erf` and `erfc`.

NumPy has no `erf` and `erfc`; ours take arrays, traced arrays and tensors.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.base.dtypes import SINGLE, DType, is_complex, is_inexact, is_integer
from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph.builder import (
    MULTIPLY,
    as_node,
    broadcast_to,
    cast,
    check_fits,
    elementwise,
    loop_of,
    promotable,
)
from axiomjit.graph.nodes import LengthNode, Node, Scalar, describe_call
from axiomjit.graph.primitives import COPY, PRIMITIVES, Primitive
from axiomjit.graph.traced_values import NodeValue


def power(base: Node, exponent: Node) -> Node:
    """`base ** exponent`; for floats, the exponents 2, 1, 0.5, -1 and 3 have short forms."""
    real = isinstance(exponent, Scalar) and not is_complex(exponent.dtype)
    if isinstance(exponent, Scalar) and exponent.weak and real and is_inexact(base.dtype):
        value = exponent.value.item()
        if value == 2:
            return elementwise(MULTIPLY, base, base)
        if value == 1:  # complex: a product with 1 + 0j would turn infinities into NaN
            if is_complex(base.dtype):
                return elementwise(COPY, base)
            return elementwise(MULTIPLY, base, as_node(1, "power"))
        if value == 0.5:
            return elementwise(PRIMITIVES["sqrt"], base)
        if value == -1:
            return reciprocal(base)
        if value == 3 and base.dtype in (SINGLE, dtypes.FLOAT) and not base.weak:
            wide = cast(base, dtypes.FLOAT)  # float64 rounds twice: 1.5 units; float32 is exact
            return cast(
                elementwise(MULTIPLY, elementwise(MULTIPLY, wide, wide), wide),
                base.dtype,
            )
    dtype = loop_of(np.power, (promotable(base), promotable(exponent)))[-1]
    if is_integer(dtype):
        return _integer_power(base, exponent, dtype)
    return elementwise(PRIMITIVES["power"], base, exponent)


def reciprocal(node: Node) -> Node:
    """1 / x for floats and complex numbers; for complex numbers by NumPy's own formula."""
    if is_complex(node.dtype):
        return elementwise(PRIMITIVES["reciprocal"], node)
    return elementwise(PRIMITIVES["divide"], as_node(1, "power"), node)


def _integer_power(base: Node, exponent: Node, dtype: DType) -> Node:
    """The integer power as repeated products, which may wrap; the exponent must be known.

    Raises:
        ValueError: the exponent is negative, as in NumPy.
        UnsupportedError: the exponent is an array.
    """
    if not isinstance(exponent, Scalar | LengthNode):
        raise UnsupportedError(
            describe_call("power", base, exponent),
            "an array of integer exponents, of which NumPy refuses negative ones by value",
            "use an exponent that is a number, or floats: power(x.astype(float), y)",
            user_location(),
        )
    check_fits(exponent, dtype)
    times = int(exponent.length if isinstance(exponent, LengthNode) else exponent.value.item())
    if times < 0 and not any(length == 0 for length in base.shape):
        raise ValueError("Integers to negative integer powers are not allowed.")
    square = cast(base, dtype)
    power_of = None if times > 0 else broadcast_to(Scalar(dtype, dtype.type(1), False), base.shape)
    while times > 0:
        if times & 1:
            power_of = square if power_of is None else elementwise(MULTIPLY, power_of, square)
        times >>= 1
        square = elementwise(MULTIPLY, square, square) if times else square
    assert power_of is not None
    return elementwise(COPY, power_of)


@hides_frames
def erf(x: Any) -> Any:
    """The error function: 2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x.

    Args:
        x: A tensor of the axis graph, array, traced array, or number.

    Returns:
        A tensor, array or number like x; integers and bools give floats as in `numpy.cbrt`.

    Raises:
        GraphTypeError: the elements are complex or no numbers.
    """
    return _applied(_ERF, x)


@hides_frames
def erfc(x: Any) -> Any:
    """The complement 1 - erf(x), without cancellation where erf(x) is near 1; see `erf`.

    Raises:
        GraphTypeError: the elements are complex or no numbers.
    """
    return _applied(_ERFC, x)


def _applied(primitive: Primitive, x: Any) -> Any:
    if isinstance(x, NodeValue):
        return x.mapped(primitive)
    assert primitive.loop is not None
    given = np.asarray(x)
    kind = dtypes.supported(given.dtype, f"{primitive.name}(x)")
    dtype = loop_of(primitive.loop, (kind,), primitive.name)[0]
    result = primitive.evaluate(given.astype(dtype, copy=False))
    return result[()] if given.ndim == 0 else result


_ERF: Final = PRIMITIVES["erf"]
_ERFC: Final = PRIMITIVES["erfc"]
