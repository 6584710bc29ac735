"""The strides of arrays while a function is traced.

The graph has no strides. They only decide if NumPy would return a view (`reshape`); such decisions
read them here. The arguments' layout is part of the signature, so the answer holds for every call
of the program.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar

from axiomjit.graph.nodes import PART_VIEWS, Constant, Input, Node, Op, root_of, views_on
from axiomjit.graph.primitives import PACK
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import strides_through
from axiomjit.views.dense_layout import row_major_strides

Strides = tuple[Dim, ...]
_layouts: ContextVar[Mapping[int, Strides] | None] = ContextVar("axiomjit_layouts", default=None)


@contextmanager
def laid_out(layouts: Mapping[int, Strides]) -> Iterator[None]:
    """Make the arguments' strides (in elements) known, by position."""
    token = _layouts.set(layouts)
    try:
        yield
    finally:
        _layouts.reset(token)


def strides_of(node: Node) -> Strides | None:
    """The strides (in elements) of an argument, a held array, a copy in C order, or a view of one.

    Writes do not change them. None for computed values: later stages decide if and how they are
    stored.
    """
    node, views = views_on(node)
    node = root_of(node)
    strides: Strides | None = None
    if isinstance(node, Input):
        strides = (_layouts.get() or {}).get(node.position)
    elif isinstance(node, Constant):
        strides = strides_of_constant(node)
    elif isinstance(node, Op) and node.primitive is PACK:
        strides = row_major_strides(node.shape)
    for view in views:
        strides = None if strides is None else _seen_through(view, strides)
    return strides


def _seen_through(view: Op, strides: Strides) -> Strides:
    if view.primitive.name in PART_VIEWS:
        strides = tuple(stride * 2 for stride in strides)
    return strides_through(view.maps[0], strides, view.rank, dim)[1]


def strides_of_constant(node: Constant) -> Strides:
    """The strides of a held array, in elements."""
    return tuple(dim(step // node.array.itemsize) for step in node.array.strides)
