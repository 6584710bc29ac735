"""Memory overlap inside an array."""

from __future__ import annotations

import numpy as np


def overlaps_itself(array: np.ndarray) -> bool:
    """True if two elements of an array share memory, as in a sliding window."""
    if not array.size:
        return False
    pairs = [(abs(s), n) for s, n in zip(array.strides, array.shape, strict=True) if n > 1]
    reach = array.itemsize
    for step, n in sorted(pairs):
        if step < reach:
            break
        reach += step * (n - 1)
    else:
        return False  # each stride exceeds the extent of the inner dimensions
    starts = np.zeros(1, np.int64)
    for step, n in pairs:
        starts = np.add.outer(starts, np.arange(n) * step).ravel()
    return bool((np.diff(np.sort(starts)) < array.itemsize).any())
