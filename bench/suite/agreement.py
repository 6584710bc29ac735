"""Compare a result with NumPy's, before its time counts."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from axiomjit.base.tree import flatten_tree

TOLERANCE: Final = {"f2": 1e-2, "f4": 1e-4, "f8": 1e-9, "c8": 1e-4, "c16": 1e-9}
"""The largest difference allowed, relative to the largest finite element, by dtype.

Other dtypes must agree exactly.
"""


def disagreement(result: object, expected: object) -> str:
    """Return how a result differs from NumPy's; "" if it agrees.

    Structure, shapes, kind of dtype, positions of NaN and infinity must be the same, values close,
    and elements no narrower than NumPy's.
    """
    ours, theirs = flatten_tree(result)[0], flatten_tree(expected)[0]
    if len(ours) != len(theirs):
        return f"{len(ours)} results, NumPy's are {len(theirs)}"
    found = (_difference(np.asarray(a), np.asarray(b)) for a, b in zip(ours, theirs, strict=True))
    return next(filter(None, found), "")


def _difference(ours: np.ndarray[Any, Any], theirs: np.ndarray[Any, Any]) -> str:
    if ours.shape != theirs.shape:
        return f"a result of shape {ours.shape}, NumPy's has {theirs.shape}"
    kinds = ours.dtype.kind.replace("u", "i"), theirs.dtype.kind.replace("u", "i")
    if kinds[0] != kinds[1] or ours.itemsize < theirs.itemsize:
        return f"a result of dtype {ours.dtype}, NumPy's has {theirs.dtype}"
    code = f"{theirs.dtype.kind}{theirs.itemsize}"
    if code not in TOLERANCE:
        differ = int((ours != theirs).sum())
        return f"{differ} of {ours.size} elements differ from NumPy's" if differ else ""
    finite = np.isfinite(theirs)
    same = np.array_equal(ours[~finite], theirs[~finite], equal_nan=True)
    if not same or not np.isfinite(ours[finite]).all():
        return "NaN or infinity in other places than NumPy's"
    gap = np.abs(ours[finite] - theirs[finite]).max(initial=0.0)
    scale = np.abs(theirs[finite]).max(initial=0.0)
    if gap > TOLERANCE[code] * max(float(scale), np.finfo(theirs.dtype).tiny):
        return f"off NumPy's by {float(gap):.1e}, its largest element is {float(scale):.1e}"
    return ""
