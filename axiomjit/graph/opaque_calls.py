"""Calls of NumPy functions that have no row of their own, as the program runs them.

What they give has been foreseen; a result that is other than that is not used.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from axiomjit.algebra.chosen import OtherResultError
from axiomjit.algebra.dims import Dim
from axiomjit.base.dtypes import DType
from axiomjit.base.records import Record
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.graph.array_functions import ArrayCall
from axiomjit.graph.nodes import Node
from axiomjit.graph.ufunc_steps import count_opaque

Array = np.ndarray


class Operand(Record):
    """The place of the next operand: an array, a NumPy scalar or a Python number."""

    kind: str

    def of(self, array: Array) -> Any:
        """The operand, which the function cannot write into."""
        if self.kind == "number":
            return array.item()
        if self.kind == "scalar":
            return array[()]
        seen = array[...]
        seen.flags.writeable = False
        return seen


class Result(Record):
    """What is foreseen of a result: an array, a scalar or a Python number of a shape and dtype."""

    shape: tuple[Dim, ...]
    dtype: DType
    is_array: bool
    is_number: bool = False


class OpaqueCall(Record):
    """A call of a function with certain arguments, all but its operands."""

    name: str
    function: Callable[..., Any]
    structure: Structure
    leaves: tuple[object, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def of(self, arrays: Sequence[Array]) -> tuple[list[object], Structure]:
        """What the function gives: the leaves, and the containers around them."""
        operands = iter(arrays)
        whole: Any = unflatten_tree(self.structure, self._filled(operands))
        args, kwargs = whole
        return flatten_tree(self.function(*args, **kwargs))

    def _filled(self, operands: Iterator[Array]) -> Iterator[object]:
        for leaf in self.leaves:
            yield leaf.of(next(operands)) if isinstance(leaf, Operand) else leaf


class ForeseenCall(Record):
    """A call that gives containers of arrays and scalars which were foreseen.

    `values` are the leaves, in place of an array or scalar a `Result`.
    """

    call: OpaqueCall
    structure: Structure
    values: tuple[object, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def results(self) -> list[Result]:
        """What is foreseen, in order."""
        return [value for value in self.values if isinstance(value, Result)]

    def __call__(self, *arrays: Array) -> object:
        """The array or scalar, or several; shapes and dtypes are compared by who takes them.

        Raises:
            OtherResultError: they are other ones than foreseen, or the function raises an error.
        """
        count_opaque()
        name = self.call.name
        try:
            leaves, structure = self.call.of(arrays)
        except Exception as error:
            raise OtherResultError(f"{name} raises {type(error).__name__}: {error}") from error
        pairs = list(zip(self.values, leaves, strict=False))
        same = all(isinstance(value, Result) or value == leaf for value, leaf in pairs)
        if structure != self.structure or not same:
            raise OtherResultError(f"{name} gives other values than it gave at first")
        made = [leaf for value, leaf in pairs if isinstance(value, Result)]
        return made if len(made) > 1 else made[0]

    def nodes(self, operands: Sequence[Node]) -> list[Node]:
        """A node for each result, all of one call."""
        call = ArrayCall(self.call.name, self, tuple(operands), fails=True, guesses=True)
        parts = range(len(self.results)) if len(self.results) > 1 else (None,)
        pairs = zip(self.results, parts, strict=True)
        return [call.result(o.shape, o.dtype, part, number=o.is_number) for o, part in pairs]
