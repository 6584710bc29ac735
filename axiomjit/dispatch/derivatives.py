"""Common parts of compiled derivatives: the marks of arguments, and the table of derivatives."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import partial
from types import FunctionType
from typing import Any, Final
from weakref import ref

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.dtypes import is_inexact
from axiomjit.base.errors import AxiomError, GradientError, NeedsValuesError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import (
    Structure,
    data_leaves,
    flatten_tree,
    is_labelled,
    unflatten_tree,
)
from axiomjit.dispatch.fallbacks import WHOLE, falls_back, short_reason
from axiomjit.dispatch.jit import Jitted
from axiomjit.functions.transforms import DERIVATIVES, Transform
from axiomjit.gradients.marks import Marked, marked, unmarked
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Op, base_of, describe_type, post_order
from axiomjit.graph.primitives import COPY
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.dims import Symbol, current_scope
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.trace import traced_inside
from axiomjit.tracing.tracer import Tracer, new_array, represented


def leaves_of(value: object) -> tuple[list[Any], Structure]:
    """The leaves of nested containers, and the structure of the containers."""
    return flatten_tree(value, opens=lambda one: traced_inside(one) is not None)


_TRACED: Final[Any] = (Tracer, AxisValue)


def is_traced(leaf: Any) -> bool:
    """True for a traced array or number, or a tensor."""
    return isinstance(leaf, _TRACED)


def has_floats(leaf: Any) -> bool:
    """True for a traced array, number or tensor whose dtype is floating or complex."""
    return is_traced(leaf) and is_inexact(leaf.node.dtype)


def rewrapped(leaf: Any, node: Node) -> Any:
    """The node as a traced value of the same class as `leaf`; a tensor has the axes of `leaf`."""
    if isinstance(leaf, AxisValue):
        return leaf.folding((leaf,), (), True).wrap(node)
    return represented(node, leaf.is_array)


_FLOATS: Final = (float, complex, np.inexact, np.ndarray)


def _traced(value: Any) -> Tracer | Any:
    """A known float or array of floats as a traced value; a traced value is returned unchanged."""
    if isinstance(value, Tracer) or not is_inexact(np.asarray(value).dtype):
        return value
    return represented(builder.as_node(value, "a derivative"), isinstance(value, np.ndarray))


Call = Callable[..., Any]


class Marks:
    """The copies of arguments by which one gradient differentiates."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Marked] = []

    def mark(self, tree: Any, by: bool, asked: str, refuses: bool = True) -> tuple[Any, list[Any]]:
        """A tree with marked copies of its arrays, and the copies to differentiate by.

        With `by`, known floats are copied, too; with `refuses`, a leaf without floats is an error.
        Coordinates of labelled arrays are not among the copies to differentiate by.
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
        """The tree, with each marked copy replaced by the original value."""
        leaves, structure = leaves_of(tree)
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, _TRACED)]
        keys = [key for key in _counts() if isinstance(key, Node)]
        nodes = unmarked([*(leaves[k].node for k in places), *keys], self.nodes)
        for k, node in zip(places, nodes, strict=False):
            leaves[k] = rewrapped(leaves[k], node)
        _rename_counts(dict(zip(keys, nodes[len(places) :], strict=True)))
        return unflatten_tree(structure, iter(leaves))


def _counts() -> dict[object, Symbol]:
    """The data-dependent lengths of the current trace, by the node or mask that they count."""
    return current_scope().data_dependent if current() is not None else {}


def _rename_counts(new: Mapping[Node, Node]) -> None:
    """Replace nodes in the table of data-dependent lengths by other nodes with the same values."""
    counts = _counts()
    if all(new[key] is key for key in new):
        return
    renamed = {new.get(key, key) if isinstance(key, Node) else key: s for key, s in counts.items()}
    if len(renamed) == len(counts):
        counts.clear()
        counts.update(_in_order(renamed))


def _in_order(counts: Mapping[object, Symbol]) -> dict[object, Symbol]:
    """The counts in an order in which each count follows the counts that its node depends on."""
    found: dict[object, Symbol] = {}
    waiting = dict(counts)
    while waiting:
        left = set(waiting.values())
        for key in list(waiting):
            below = post_order((key,)) if isinstance(key, Node) else []
            if all(left.isdisjoint(n.symbols) for n in below):
                found[key] = waiting.pop(key)
        assert len(waiting) < len(left), "counts that depend on each other"
    return found


def gradient_array(node: Node, like: Any) -> Any:
    """A gradient as a new array, number or tensor, of the same class as its argument."""
    if isinstance(like, AxisValue):
        return rewrapped(like, node)
    if like.node.weak and not node.shape:
        return Tracer(builder.python_number(node))
    base = base_of(node)
    if not isinstance(base, Op) or isinstance(base, Marked):  # may view an argument
        node = builder.elementwise(COPY, node)
    return new_array(node) if like.is_array or node.shape else Tracer(node)


def refuse_labels(asked: str, values: Sequence[Any]) -> None:
    """Refuse arrays with labels.

    Raises:
        GradientError: a value is a labelled array, or holds one.
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
    """The result of a function called inside a trace, which records the function's operations."""
    return function(*args, **kwargs)


class _LastError(threading.local):
    """The error that ended the last trace of a derivative in this thread; None if none did."""

    error: Any = None


_last_error: Final = _LastError()


class Derivative(Transform):
    """A derivative of a function, which is computed only by a trace of the function.

    If no program can run a call, the call is traced alone, with its own values, unless `strict` is
    true. `takes_labels` is true if the derivative is taken with respect to the data of labelled
    arrays.
    """

    strict = False
    takes_labels = False

    def run(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of `follow`; an error is stored for `in_numpy`, which raises it."""
        _last_error.error = None
        try:
            if not self.takes_labels:
                asked = f"a derivative of {name_of(self.function)}"
                refuse_labels(asked, (*args, *kwargs.values()))
            return self.follow(call, args, kwargs)
        except Exception as error:
            _last_error.error = ref(self), error.with_traceback(None)
            raise

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result for traced arguments."""
        raise NotImplementedError

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result: traced if a trace is running, otherwise computed for this call alone.

        Raises:
            NeedsValuesError: the derivative is `strict`, and no program can run the call.
        """
        leaves, _ = flatten_tree((args, kwargs))
        if current() is not None or any(isinstance(leaf, AxisValue) for leaf in leaves):
            return self.run(partial(_called, self.function), args, kwargs)
        kept, _last_error.error = _last_error.error, None
        error = kept[1] if kept is not None and kept[0]() is self else None
        if error is not None and (self.strict or not isinstance(error, NeedsValuesError)):
            raise error
        if self.strict:
            raise NeedsValuesError(
                f"a derivative of {name_of(self.function)} in NumPy",
                "np.errstate that asks for errors, or config.fallback",
                "call it without np.errstate, or give the derivative without strict=True",
                user_location(),
            )
        late = lazy_import("axiomjit.dispatch.followed_once")
        return late.follow_once(self, name_of(self.function), args, kwargs)


def name_of(function: object) -> str:
    """The name of a function in messages."""
    return str(getattr(function, "__qualname__", type(function).__qualname__))


_of_callables: Final[BoundedTable[Hashable, Jitted[..., Any]]] = BoundedTable()
"""Derivatives of methods, ufuncs and other callables, which have no attributes to store them."""


class _Derivatives(BoundedTable[Hashable, Jitted[..., Any]]):
    """The derivatives of one function by options: `grad(f)(x)` in a loop compiles once.

    The table is an attribute of the function that owns it. A wrapper that copies the attributes
    gets a table of its own. A copy of a table is empty.
    """

    def __init__(self, owner: object = None) -> None:
        """Make the empty table of a function."""
        super().__init__()
        self.owner = owner if owner is None else ref(owner)

    def __reduce__(self) -> Any:
        return _Derivatives, ()

    def __deepcopy__(self, memo: object) -> _Derivatives:
        return _Derivatives()


def _table_of(function: Any) -> BoundedTable[Hashable, Jitted[..., Any]]:
    """The table with the derivatives of a function; a new table if there is none."""
    if not isinstance(function, FunctionType | Jitted | Transform):
        return _of_callables
    found = vars(function).get(DERIVATIVES)
    if found is None or found.owner is None or found.owner() is not function:
        found = vars(function)[DERIVATIVES] = _Derivatives(function)
    return found


def derived(
    function: Callable[..., Any],
    make: Callable[..., Derivative],
    *options: Any,
    strict: bool = False,
) -> Jitted[..., Any]:
    """The compiled derivative of a function; equal options give the same object.

    A derivative lives as long as its function. At most 64 derivatives of one function are kept, and
    at most 64 derivatives of all methods, ufuncs and other callables together. With `strict`, a
    call that no program can run is an error.
    """
    table = _table_of(function)
    key: Hashable = make, options, strict
    if table is _of_callables:
        key = function if isinstance(function, Hashable) else id(function), key
    known = table.get(key)
    if known is not None:
        return known
    static: Sequence[str] = ()
    inner = function
    if isinstance(function, Jitted):
        static, inner = tuple(function._static), function._function
    transform = make(function, *options)
    transform.strict = strict
    return table.keep(key, CompiledDerivative(transform, inner, static))


class CompiledDerivative(Jitted[..., Any]):
    """A compiled derivative; it holds its function, whose identity is part of the key."""

    def __init__(
        self,
        transform: Transform,
        inner: Callable[..., Any],
        static: Sequence[str],
    ) -> None:
        super().__init__(transform, static, True)
        self._of = inner

    def _falls_back(self, error: AxiomError) -> bool:
        """True if later calls are traced one by one; otherwise the error is raised."""
        transform: Any = self._function
        if transform.strict or not isinstance(error, NeedsValuesError):
            return super()._falls_back(error)
        if falls_back(self._name, error, False, False):
            self._whole.refuse_pieces("is a derivative")
            self._numpy_calls.reasons[WHOLE] = short_reason(error)
            self._in_numpy = True
            self.drop_tables()
        return self._in_numpy
