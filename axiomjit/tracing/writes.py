"""Writes into traced arrays: a value is checked, cast and becomes the next version of a storage.

As in NumPy the value is complete before anything is stored. A write that is refused or raises
changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.algebra.index_maps import IndexMap
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, Op, Scalar, views_on
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import READ_ONLY, WHERE
from axiomjit.graph.promotion import cast, check_fits
from axiomjit.graph.seen import seen_shape, seen_type
from axiomjit.graph.storages import update, view_map
from axiomjit.numpy_table.shapes import drop_dimensions
from axiomjit.tracing.operands import node_of
from axiomjit.tracing.operators import TracedOperators
from axiomjit.tracing.refusals import refuse_write
from axiomjit.tracing.traced_storages import TracedStorage

ITEM: Final = "array[...] = value"
_KINDS: Final = "biufc"


def write_item(storage: TracedStorage, part: Node, value: Node, where: Node | None = None) -> None:
    """Do `part[...] = value`: cast without a check, leading dimensions of 1 left out.

    With a mask a number is written only `where` that is true.

    Raises:
        GraphValueError: the value does not stretch to the shape of the part.
        TypeError, ValueError, OverflowError: a Python number that the dtype cannot hold.
        NeedsValuesError: the part is no plain view of memory that can be written.
    """
    extra = len(value.shape) - len(part.shape)
    if extra > 0 and all(length == 1 for length in value.shape[:extra]):
        value = drop_dimensions(value, range(extra))
    _check_number(value, part)
    if where is not None:
        value = builder.elementwise(WHERE, where, cast(value, part.dtype), part)
    _store(storage, part, value, ITEM)


def store_result(
    place: Any, value: Node, asked: str, where: Node | None = None, casting: Any = "same_kind"
) -> TracedOperators:
    """Write what a function gives into its `out`, only where a condition holds if one is given.

    Returns:
        The place.

    Raises:
        GraphTypeError: the dtype is not cast so.
        GraphValueError: the value does not stretch to the shape of the part.
        NeedsValuesError: the part is no plain view of memory that can be written.
    """
    if not isinstance(place, TracedOperators) or place.storage is None:
        refuse_write(f"{asked}(..., out=...)", f"{type(place).__name__} from outside")
    part = place.node
    if not _is_cast(value, part, casting):
        raise GraphTypeError(
            asked,
            f"elements of dtype {value.dtype} for an array of dtype {part.dtype}, which "
            f"casting={casting!r} does not allow",
            "write into an array of the other dtype, or convert the values with astype",
            user_location(),
        ) from None
    check_fits(value, part.dtype)
    if where is not None:
        value = builder.elementwise(WHERE, where, cast(value, part.dtype), part)
    _store(place.storage, part, value, asked)
    return place


def store_exactly(place: Any, value: Node | tuple[Node, ...], asked: str) -> TracedOperators:
    """Write what a function other than a ufunc gives into an `out` of its shape and dtype.

    Returns:
        The place.

    Raises:
        NeedsValuesError: it has another shape or dtype: each function treats that differently.
    """
    fits = False
    if isinstance(place, TracedOperators) and isinstance(value, Node):
        fits = (place.node.shape, place.node.dtype) == (value.shape, value.dtype)
    if not fits or isinstance(value, tuple):
        refuse_write(f"{asked}(..., out=...)", "array of another shape or dtype, or from outside")
    return store_result(place, value, asked)


def copy_to(dst: Any, src: object, casting: Any = "same_kind", where: object = True) -> None:
    """Do `np.copyto`.

    Raises:
        As `store_result`.
    """
    value = builder.as_node(node_of(src), "copyto")
    mask = None if where is True else builder.as_node(node_of(where), "copyto")
    store_result(dst, value, "copyto", mask, casting)


WRITERS: Final[dict[Callable[..., object], Callable[..., None]]] = {np.copyto: copy_to}
"""NumPy's functions that write into their first argument and return nothing."""


def _is_cast(value: Node, part: Node, casting: Any) -> bool:
    if value.weak and casting != "unsafe":
        kind = value.dtype.kind.replace("u", "i")
        return _KINDS.index(kind) <= _KINDS.index(part.dtype.kind)
    return np.can_cast(value.dtype, part.dtype, casting)


def _check_number(value: Node, part: Node) -> None:
    """Convert a Python number that is stored as NumPy does, for its errors."""
    if not value.weak:
        return
    check_fits(value, part.dtype)
    if value.dtype.kind == "c" and part.dtype.kind not in "c":
        np.zeros(1)[:] = 1j
    if isinstance(value, Scalar) and value.dtype.kind == "f":
        np.zeros(1, part.dtype)[0] = value.value.item()


def _store(storage: TracedStorage, part: Node, value: Node, asked: str) -> None:
    """Make the storage's next version: the part has the value, everything else is as before."""
    target = _place(storage, part, asked)
    if not _stretches(value, part):
        raise GraphValueError(
            asked,
            f"a value of shape {seen_shape(value.shape)} for a part of shape "
            f"{seen_shape(part.shape)}",
            "give a value that stretches to the shape of what is written to",
            user_location(),
        )
    if value is part:  # the end of `x[1:] += y`, which has written already
        return
    source = builder.stretch_map(value.shape, part.shape)
    stored = cast(value, part.dtype)
    storage.write(lambda old: note(update(old, target, stored, source, part.shape)))


def _stretches(value: Node, part: Node) -> bool:
    """Whether a value has the shape of a part, or lengths of 1 in places, trailing ones aligned."""
    missing = len(part.shape) - len(value.shape)
    pairs = zip(value.shape, part.shape[max(missing, 0) :], strict=False)
    return missing >= 0 and all(n in (1, wanted) for n, wanted in pairs)


def _place(storage: TracedStorage, part: Node, asked: str) -> IndexMap:
    """The map from the storage to a view of it.

    Raises:
        ValueError: the view is read-only.
        NeedsValuesError: it shows parts of complex numbers, or memory from outside.
    """
    base, views = views_on(part)
    if any(one.primitive is READ_ONLY for one in views):
        raise ValueError("assignment destination is read-only")
    seen = view_map(part)
    memory = isinstance(base, Op) or (isinstance(base, Input) and not base.weak)
    if seen is None or seen[0] is not storage.version or not memory:
        refuse_write(asked, seen_type(part))
    return seen[1]
