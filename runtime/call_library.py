"""Products of matrices by the library that NumPy is linked with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

Axes = tuple[tuple[int, ...], tuple[int, ...]]


def multiply_matrices(left: np.ndarray, right: np.ndarray, axes: Axes, out: np.ndarray) -> None:
    """Contract `axes` of two arrays into `out`; two matrices go straight to BLAS."""
    if left.ndim == right.ndim == 2:
        first = left if axes[0] == (1,) else left.T
        second = right if axes[1] == (0,) else right.T
        if out.flags.c_contiguous:
            np.dot(first, second, out=out)
        else:
            out[...] = np.dot(first, second)
        return
    out[...] = np.tensordot(left, right, axes)


LIBRARY: Final[dict[str, Callable[[np.ndarray, np.ndarray, Axes, np.ndarray], None]]] = {
    "tensordot": multiply_matrices,
}
