"""Arrays in chunks, such as Dask arrays, whose elements are computed on request."""

from __future__ import annotations

from typing import Any

import numpy as np

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location


def refuse_chunked(value: Any, asked: str) -> None:
    """Refuse an array in chunks, because a conversion to NumPy would compute and load all of it.

    DataArrays that hold an array in chunks are refused, too. The check computes no elements.

    Raises:
        GraphTypeError: the value is an array in chunks.
    """
    kind = type(value)
    if issubclass(kind, np.ndarray) or not (hasattr(kind, "compute") and hasattr(kind, "chunks")):
        return
    if value.chunks is None:
        return
    size = getattr(value, "nbytes", None)
    seen = f"a {kind.__module__}.{kind.__name__} in chunks, which would be loaded as a whole"
    raise GraphTypeError(
        asked,
        seen if size is None else f"{seen}: {size} bytes",
        "pass x.compute() where that fits into memory; functions that axiomjit.jit compiles, fold, "
        "einsum and functions made by elementwise take arrays in chunks",
        user_location(),
    )
