"""Parts of all compiled derivatives: marked arguments, and the table of existing derivatives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from typing import Any, Final
from weakref import ref

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.dtypes import is_inexact
from axiomjit.base.errors import GradientError, NeedsValuesError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import (
    Structure,
    data_leaves,
    flatten_tree,
    is_labelled,
    unflatten_tree,
)
from axiomjit.dispatch.jit import Jitted
from axiomjit.functions.transforms import Transform
from axiomjit.gradients.reverse import Marked, marked, unmarked
from axiomjit.graph import builder
from axiomjit.graph.describe import describe_type
from axiomjit.graph.nodes import Node, Op, base_of
from axiomjit.graph.primitives import COPY
from axiomjit.graph.traced_values import AxisValue
from axiomjit.tracing.holders import traced_inside
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.tracer import Tracer, new_array, represented


def leaves_of(value: object) -> tuple[list[Any], Structure]:
    """The leaves of nested containers, and their structure."""
    return flatten_tree(value, opens=lambda one: traced_inside(one) is not None)


_TRACED: Final[Any] = (Tracer, AxisValue)


def is_traced(leaf: Any) -> bool:
    """True for a traced array or number, or a tensor."""
    return isinstance(leaf, _TRACED)


def has_floats(leaf: Any) -> bool:
    """True for a traced array or number, or a tensor, of floats or complex numbers."""
    return is_traced(leaf) and is_inexact(leaf.node.dtype)


def rewrapped(leaf: Any, node: Node) -> Any:
    """A node as the kind of traced value that a leaf is, a tensor with the same axes."""
    if isinstance(leaf, AxisValue):
        return leaf.folding((leaf,), (), True).wrap(node)
    return represented(node, leaf.is_array)


_FLOATS: Final = (float, complex, np.inexact, np.ndarray)


def _traced(value: Any) -> Tracer | Any:
    """A known float or array of floats as a traced one; a traced one itself."""
    if isinstance(value, Tracer) or not is_inexact(np.asarray(value).dtype):
        return value
    return represented(builder.as_node(value, "a derivative"), isinstance(value, np.ndarray))


Call = Callable[..., Any]


class Marks:
    """The marked copies of the arguments of one gradient."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Marked] = []

    def mark(self, tree: Any, by: bool, asked: str, refuses: bool = True) -> tuple[Any, list[Any]]:
        """A tree with marked copies of its arrays, and the copies to take derivatives by.

        With `by`, known floats are copied, too, and what is no float is refused if `refuses`.
        Coordinates of arrays with labels are not differentiated by.
        """
        leaves, structure = leaves_of(tree)
        are_data = data_leaves(structure)
        if by:
            pairs = zip(leaves, are_data, strict=True)
            leaves = [_traced(one) if d and isinstance(one, _FLOATS) else one for one, d in pairs]
        chosen: list[Any] = []
        new: list[Any] = []
        for leaf, is_data in zip(leaves, are_data, strict=True):
            is_float = has_floats(leaf)
            if by and refuses and is_data and not is_float:
                raise self._no_float(leaf, asked)
            copy = leaf
            if is_float or (isinstance(leaf, Tracer) and leaf.is_array):
                node = marked(leaf.node)
                self.nodes.append(node)
                copy = rewrapped(leaf, node)
            new.append(copy)
            chosen += [copy] if is_float and is_data else []
        return unflatten_tree(structure, iter(new)), chosen

    def _no_float(self, leaf: Any, asked: str) -> GradientError:
        seen = "an integer" if isinstance(leaf, SymbolicNumber | int) else type(leaf).__name__
        if isinstance(leaf, _TRACED):
            seen = describe_type(leaf.node)
        return GradientError(
            f"the gradient of {self.name} by {asked}",
            f"{seen}, which has no derivatives",
            "pass floats, for example x.astype(float), or choose other arguments by argnums",
            user_location(),
        )

    def unmark(self, tree: Any) -> Any:
        """The tree with the values that the marks stand for."""
        leaves, structure = leaves_of(tree)
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, _TRACED)]
        nodes = unmarked([leaves[k].node for k in places], self.nodes)
        for k, node in zip(places, nodes, strict=True):
            leaves[k] = rewrapped(leaves[k], node)
        return unflatten_tree(structure, iter(leaves))


def gradient_array(node: Node, like: Any) -> Any:
    """A gradient as a new array, number or tensor, like its argument."""
    if isinstance(like, AxisValue):
        return rewrapped(like, node)
    if like.node.weak:
        return Tracer(builder.python_number(node))
    base = base_of(node)
    if not isinstance(base, Op) or isinstance(base, Marked):  # no view of an argument
        node = builder.elementwise(COPY, node)
    return new_array(node) if like.is_array else Tracer(node)


def refuse_labels(asked: str, values: Sequence[Any]) -> None:
    """Refuse arrays with labels.

    Raises:
        GradientError: a value is one, or holds one.
    """
    leaves = flatten_tree(tuple(values), is_leaf=is_labelled)[0]
    kind = next((type(one).__name__ for one in leaves if is_labelled(one)), None)
    if kind is not None:
        raise GradientError(
            asked,
            f"a {kind}, whose labels only grad and value_and_grad keep",
            f"use these, or a function of the arrays in the {kind}",
            user_location(),
        )


def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function in a trace that has not seen the call."""
    return function(*args, **kwargs)


class _Last(threading.local):
    """The error that ended the last trace of a derivative in this thread, if one did."""

    error: Any = None


_last: Final = _Last()


class Derivative(Transform):
    """A function with derivatives; it runs only while it is traced.

    `takes_labels` is True if it differentiates by the data of arrays with labels.
    """

    takes_labels = False

    def run(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """As `follow`; the error is kept, as it is no error of the function's own in NumPy."""
        _last.error = None
        try:
            if not self.takes_labels:
                asked = f"a derivative of {name_of(self.function)}"
                refuse_labels(asked, (*args, *kwargs.values()))
            return self.follow(call, args, kwargs)
        except Exception as error:
            _last.error = ref(self), error.with_traceback(None)
            raise

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result for traced arguments."""
        raise NotImplementedError

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Trace where a trace runs that has not seen the call; refuse otherwise."""
        leaves, _ = flatten_tree((args, kwargs))
        if current() is not None or any(isinstance(leaf, AxisValue) for leaf in leaves):
            return self.run(partial(_called, self.function), args, kwargs)
        kept, _last.error = _last.error, None
        if kept is not None and kept[0]() is self:
            raise kept[1]
        raise NeedsValuesError(
            f"a derivative of {name_of(self.function)} in NumPy",
            "np.errstate that asks for errors, or config.fallback",
            "call it without np.errstate; derivatives are always compiled",
            user_location(),
        )


def name_of(function: object) -> str:
    """The name by which messages call a function."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


_KEPT: Final[BoundedTable[Hashable, Jitted[..., Any]]] = BoundedTable()
"""Compiled derivatives by function and options, so that `grad(f)(x)` in a loop compiles once."""


def derived(
    function: Callable[..., Any],
    make: Callable[..., Transform],
    *options: Any,
) -> Jitted[..., Any]:
    """The compiled derivative of a function, the same one for the same options."""
    key = id(function), make, options
    known = _KEPT.get(key)
    if known is not None:
        return known
    static: Sequence[str] = ()
    inner = function
    if isinstance(function, Jitted):
        static, inner = tuple(function._static), function._function
    return _KEPT.keep(key, CompiledDerivative(make(function, *options), inner, static))


class CompiledDerivative(Jitted[..., Any]):
    """A compiled derivative; it keeps its function, whose identity is its key."""

    def __init__(
        self,
        transform: Transform,
        inner: Callable[..., Any],
        static: Sequence[str],
    ) -> None:
        super().__init__(transform, static, True)
        self._of = inner
