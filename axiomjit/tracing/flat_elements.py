"""`x.flat` of an array that is followed: its elements in C order, by their places."""

from __future__ import annotations

import operator
from typing import Any, NoReturn

import numpy as np

from axiomjit.base.dtypes import BOOL
from axiomjit.graph.external_calls import stored_number
from axiomjit.graph.nodes import Node
from axiomjit.graph.reductions import positions_along
from axiomjit.numpy_table.indexing import index_node
from axiomjit.symbolic.dims import product
from axiomjit.tracing.lengths import unwrap
from axiomjit.tracing.operands import node_of
from axiomjit.tracing.operators import TracedOperators
from axiomjit.tracing.refusals import recorded, refuse_method
from axiomjit.tracing.scattered_writes import put
from axiomjit.tracing.writes import node_to_write


class FlatElements:
    """Represents `x.flat`: what is read is a copy, values that are too few are repeated."""

    __hash__ = object.__hash__

    def __init__(self, base: TracedOperators) -> None:
        """Represent the elements of a traced array."""
        self.base: Any = base
        self._next = 0

    @property  # type: ignore[misc]
    def __class__(self) -> type[np.flatiter]:  # type: ignore[override]
        return np.flatiter

    def __len__(self) -> int:
        return len(self.copy())

    def __iter__(self) -> FlatElements:
        return self

    def __next__(self) -> Any:
        if self._next == len(self):
            self._next = 0
            raise StopIteration
        self._next += 1
        return self[self._next - 1]

    def copy(self) -> Any:
        """The elements as a new array."""
        return self.base.flatten()

    def __getitem__(self, key: Any) -> Any:
        _check(key)
        return self.copy()[key]

    @recorded
    def __setitem__(self, key: Any, value: Any) -> None:
        _check(key)
        places = positions_along((product(self.base.node.shape),), (0,))
        at = index_node(places, unwrap(node_of(key)))
        put(self.base, at, value if at.shape else self._item(value))

    def _item(self, value: Any) -> Node:
        """The node of what is written into one element.

        Raises:
            ValueError: it is no number that the dtype can hold.
        """
        dtype = self.base.node.dtype
        try:
            if not np.ndim(value) or dtype == BOOL:
                return stored_number(node_to_write(value, dtype), dtype)
        except (OverflowError, TypeError, ValueError):
            pass
        raise ValueError("Error setting single item of array.")

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NoReturn:
        self.base.__array__()
        raise AssertionError

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(np.flatiter, name):
            raise AttributeError(f"'numpy.flatiter' object has no attribute {name!r}")
        return refuse_method(f"flat.{name}", self.base.description(), ("flat.copy",))


def _check(key: Any) -> None:
    """Refuse indices that arrays take, and `flat` does not."""
    if key is None or isinstance(key, bool) or (isinstance(key, tuple) and len(key) > 1):
        raise IndexError(
            "only integers, slices (`:`), ellipsis (`...`) and integer or boolean arrays are valid "
            "indices"
        )


def _compared(name: str) -> Any:
    return lambda self, other: getattr(operator, name)(self.copy(), other)


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    setattr(FlatElements, f"__{_name}__", _compared(_name))
