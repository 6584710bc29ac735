"""Products of matrices by the library that NumPy is linked with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def multiply_matrices(left: np.ndarray, right: np.ndarray, axes: Axes, out: np.ndarray) -> None:
    """Contract `axes` of two arrays into `out`; matrices and vectors go straight to BLAS."""
    if left.ndim > 2 or right.ndim > 2 or len(axes[0]) != 1:
        out[...] = np.tensordot(left, right, axes)
        return
    first = left.T if axes[0] == (0,) else left
    second = right.T if axes[1] == (1,) else right
    if out.flags.c_contiguous:
        np.dot(first, second, out=out)
    else:
        out[...] = np.dot(first, second)


LIBRARY: Final[dict[str, Callable[[np.ndarray, np.ndarray, Axes, np.ndarray], None]]] = {
    "tensordot": multiply_matrices,
}
