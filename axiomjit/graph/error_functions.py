"""The error function and its complement, which NumPy lacks, of arrays, traced ones and tensors."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.graph.builder import loop_of
from axiomjit.graph.primitives import PRIMITIVES, Primitive
from axiomjit.graph.traced_values import NodeValue


def erf(x: Any) -> Any:
    """2 / sqrt(pi) times the integral of exp(-t**2) from 0 to x, element by element.

    Args:
        x: A tensor of the axis graph, an array, a traced one among them, or a number.

    Returns:
        A tensor, array or number, as x is one; integers and bools give floats as in `numpy.cbrt`.

    Raises:
        GraphTypeError: complex numbers, or elements that are no numbers.
    """
    return _applied(_ERF, x)


def erfc(x: Any) -> Any:
    """1 - erf(x), as exact where erf(x) is near 1; else as `erf`.

    Raises:
        GraphTypeError: complex numbers, or elements that are no numbers.
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
