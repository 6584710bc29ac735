"""Calls of a compiled function with named arrays: it is followed with tensors in their place."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np

from axiomjit.arguments import Call, checked_key, statics_of
from axiomjit.errors import GraphTypeError
from axiomjit.named_arrays import NamedArray
from axiomjit.origins import user_location
from axiomjit.static_arguments import StaticWatch, drop_dead
from axiomjit.tensors import Tensor, placeholder
from axiomjit.transformers import Computation
from axiomjit.tree import Structure, flatten, unflatten

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
        self._watch = StaticWatch(self._drop_dead)

    def run(self, call: Call) -> object:
        """What the function returns, tensors in it as named arrays.

        Raises:
            GraphTypeError: an argument is an array without axes.
        """
        computation, structure, leaves = self._followed(call)
        values: Iterator[NamedArray] = iter(computation(*_arrays(call)))
        results = (next(values) if isinstance(leaf, Tensor) else leaf for leaf in leaves)
        return unflatten(structure, results)

    def lower(self, call: Call) -> Any:
        """Every stage of the computation for these arguments."""
        return self._followed(call)[0].lower(*_arrays(call))

    def _followed(self, call: Call) -> Followed:
        statics = statics_of(call)
        leaves = map(_leaf_key, call.dynamic, call.names)
        key = checked_key((call.structure, *leaves, statics), call)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = self._follow(call)
            self._watch.add(statics)
            if len(self._known) > LIMIT:
                self._known.popitem(last=False)
        return found

    def _drop_dead(self) -> None:
        """Drop the computations of static arguments that are gone."""
        drop_dead(self._known)

    def _follow(self, call: Call) -> Followed:
        leaves = [
            placeholder(leaf.axes, leaf.dtype) if isinstance(leaf, NamedArray) else leaf
            for leaf in call.dynamic
        ]
        whole: Any = unflatten(call.structure, iter(call.leaves(leaves)))
        results, structure = flatten(self._function(*whole[0], **whole[1]))
        outputs = [leaf for leaf in results if isinstance(leaf, Tensor)]
        placeholders = tuple(leaf for leaf in leaves if isinstance(leaf, Tensor))
        return Computation(outputs, placeholders, named=True), structure, results


def _arrays(call: Call) -> list[NamedArray]:
    return [leaf for leaf in call.dynamic if isinstance(leaf, NamedArray)]


def _leaf_key(leaf: object, name: str) -> object:
    if isinstance(leaf, NamedArray):
        return leaf.axes, leaf.dtype
    if isinstance(leaf, np.ndarray) and leaf.ndim:
        raise GraphTypeError(
            f"argument {name} beside named arrays",
            f"an array of shape {leaf.shape}, whose dimensions have no axes",
            "say which axes they are with NamedArray(value, axes)",
            user_location(),
        )
    if isinstance(leaf, np.ndarray):
        return leaf.dtype, leaf.tobytes()
    return type(leaf), repr(leaf)
