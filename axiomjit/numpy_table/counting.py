"""The part of the NumPy table that counts how often integers occur."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import FLOAT, INT, is_bool, is_integer
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.describe import describe_type
from axiomjit.graph.external_calls import may_fail, stored
from axiomjit.graph.indexing_ops import no_integers
from axiomjit.graph.library_operations import END
from axiomjit.graph.nodes import Node, Op, Scalar, note
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.graph.storages import update
from axiomjit.numpy_table.options import Row
from axiomjit.numpy_table.shapes import array_node
from axiomjit.symbolic.data_dependent import assumed_equal, data_dependent_length
from axiomjit.symbolic.dims import current_scope
from axiomjit.symbolic.index_maps import identity, iterator

_ADD: Final = PRIMITIVES["add"]


def _bincount(x: object, weights: object = None, minlength: Any = 0) -> Node:
    node = array_node(x, "bincount")
    if len(node.shape) != 1:
        deep = "too deep" if node.shape else "of too small depth"
        raise ValueError(f"object {deep} for desired array")
    if not (is_bool(node.dtype) or is_integer(node.dtype)):
        raise no_integers(f"bincount({describe_type(node)})", "elements")
    if minlength < 0:
        raise ValueError("'minlength' must not be negative")
    at = stored(cast(node, INT))
    end = may_fail(note(Op(INT, END, None, (at,), (identity(1),), at.shape, 0)))
    count = builder.elementwise(
        PRIMITIVES["maximum"], end, cast(builder.as_node(minlength, "bincount"), INT)
    )
    length = data_dependent_length(current_scope(), count)
    values = _values(weights, node)
    source = identity(len(values.shape))
    start = Scalar(values.dtype, values.dtype.type(0), False)
    zeros = builder.elementwise(COPY, builder.broadcast_to(start, (length,)))
    positions = [(at, identity(1))]
    parts = (iterator(1),), values, source, at.shape, positions, [length]
    counts = update(zeros, *parts, combine=_ADD)
    return note(counts)


def _values(weights: object, node: Node) -> Node:
    """What is added for each element."""
    if weights is None:
        return Scalar(INT, INT.type(1), False)
    given = array_node(weights, "bincount")
    if not np.can_cast(given.dtype, FLOAT):
        raise TypeError(
            f"Cannot cast array data from {given.dtype!r} to {FLOAT!r} according to the rule 'safe'"
        )
    if len(given.shape) != 1 or not assumed_equal(given.shape[0], node.shape[0]):
        raise ValueError("The weights and list don't have the same length.")
    # NumPy gives integer zeros where nothing is counted, whatever the weights.
    return cast(given, INT if node.shape[0] == 0 else FLOAT)


FUNCTIONS: Final[dict[Callable[..., object], Row]] = {np.bincount: _bincount}
