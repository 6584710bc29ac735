"""Calls of a compiled function with named arrays: it is followed with tensors in their place."""

from __future__ import annotations

import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from axiomjit.axis.named_arrays import NamedArray
from axiomjit.axis.tensors import Tensor, placeholder
from axiomjit.axis.transformers import Computation
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.driver.arguments import CallArguments, statics_key
from axiomjit.driver.static_keys import mentions_dead, structure_key

LIMIT: Final = 128
"""Computations kept per function."""
Followed = tuple[Computation, Structure, list[object]]


class NamedCalls:
    """The computations of one function, by the axes and dtypes of its arguments.

    Numbers beside named arrays are constants of the computation: another value is followed anew.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        """Start without computations."""
        self._function = function
        self._known: OrderedDict[object, Followed] = OrderedDict()

    def __len__(self) -> int:
        """The number of computations."""
        return len(self._known)

    def run(self, call: CallArguments) -> object:
        """What the function returns, tensors in it as named arrays.

        Raises:
            GraphTypeError: an argument is an array without axes.
        """
        computation, structure, leaves = self._followed(call)
        values: Iterator[NamedArray] = iter(computation(*_arrays(call)))
        results = (next(values) if isinstance(leaf, Tensor) else leaf for leaf in leaves)
        return unflatten_tree(structure, results)

    def lower(self, call: CallArguments) -> Any:
        """Every stage of the computation for these arguments."""
        return self._followed(call)[0].lower(*_arrays(call))

    def _followed(self, call: CallArguments) -> Followed:
        leaves = map(_leaf_key, call.dynamic, call.names)
        key = (structure_key(call.structure), *leaves, statics_key(call, self._forget))
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._follow(call)
            if len(self._known) > LIMIT:
                self._known.popitem(last=False)
        return found

    def _forget(self, dead: object, ends: Callable[[], bool] = sys.is_finalizing) -> None:
        """Drop the computations of static arguments that have died."""
        if ends():
            return
        for key in [key for key in tuple(self._known) if mentions_dead(key)]:
            self._known.pop(key, None)

    def _follow(self, call: CallArguments) -> Followed:
        leaves = [
            placeholder(leaf.axes, leaf.dtype) if isinstance(leaf, NamedArray) else leaf
            for leaf in call.dynamic
        ]
        whole: Any = unflatten_tree(call.structure, iter(call.leaves(leaves)))
        results, structure = flatten_tree(self._function(*whole[0], **whole[1]))
        outputs = [leaf for leaf in results if isinstance(leaf, Tensor)]
        placeholders = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
        return Computation(outputs, placeholders, named=True), structure, results


def _arrays(call: CallArguments) -> list[NamedArray]:
    return [leaf for leaf in call.dynamic if isinstance(leaf, NamedArray)]


def _leaf_key(leaf: Any, name: str) -> object:
    """Equal for arguments for which the function does the same; of numbers every bit counts."""
    if isinstance(leaf, NamedArray):
        return leaf.axes, leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic) and not leaf.ndim:
        return type(leaf), leaf.dtype, leaf.tobytes()
    if isinstance(leaf, int | float | complex):
        return type(leaf), repr(leaf)
    is_array = isinstance(leaf, np.ndarray)
    raise GraphTypeError(
        f"argument {name} beside named arrays",
        f"an array of shape {leaf.shape}, whose dimensions have no axes"
        if is_array
        else f"a {type(leaf).__module__}.{type(leaf).__name__}",
        "say which axes they are with NamedArray(value, axes)",
        user_location(),
    )
