"""Answer calls of NumPy's functions with tensors or named arrays.

Ufuncs and reductions return a tensor if an operand is a tensor, else a named array.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import numpy as np

from axiomjit.axis import reductions
from axiomjit.axis.axes import Axes, AxesOf, axes_at
from axiomjit.axis.axis import Axis
from axiomjit.axis.elementwise import UFUNCS, apply_ufunc, clip, paired, where
from axiomjit.axis.named_arrays import NamedArray
from axiomjit.axis.tensors import Tensor, as_tensor, axis_extents, axis_map, labelled, shown
from axiomjit.base.array_values import text_of_call
from axiomjit.base.errors import UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.graph import builder

Options = Mapping[str, object]
_NAMES: Final = ("sum", "prod", "max", "min", "any", "all", "mean", "std", "argmax", "argmin")
_REDUCTIONS: Final[dict[Callable[..., Any], str]] = {
    **{getattr(np, name): name for name in _NAMES},
    **{np.amax: "max", np.amin: "min", np.var: "variance"},
}
_ELEMENTWISE: Final[dict[Callable[..., Any], Callable[..., Tensor]]] = {
    np.where: where,
    np.clip: clip,
}

_PRODUCTS: Final = frozenset(
    {np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum, np.kron}
)
"""NumPy's products, which pair dimensions by position, not by axis."""
_REMEDY: Final = "use axiomjit's own function of axes, or apply it to values: np.asarray(x)"


def _ufunc(ufunc: np.ufunc, method: str, operands: tuple[object, ...], options: Options) -> object:
    """Call a ufunc on operands with axes."""
    asked = f"np.{ufunc.__name__} of {shown(operands)}"
    if method != "__call__" or options:
        seen = text_of_call(method, options)
        remedy = "call the ufunc itself, without options; fold with sum(x, axes) and its like"
        raise UnsupportedError(asked, seen, remedy, user_location())
    if ufunc in UFUNCS:
        return _evaluated(apply_ufunc(ufunc, *operands), operands)
    if ufunc is np.matmul:
        for value in operands:
            as_tensor(value, asked)  # refuses arrays without axes
        remedy = "write x @ y or dot(x, y), which pair the axes that both have"
        seen = "a product that pairs dimensions by position"
        raise UnsupportedError(asked, seen, remedy, user_location())
    if ufunc.signature is not None or any(isinstance(value, Tensor) for value in operands):
        seen = "a function outside the table of primitives"
        remedy = "apply it to values: x.eval(), or results of a computation"
        raise UnsupportedError(asked, seen, remedy, user_location())
    tensors = [as_tensor(value, asked) for value in operands]
    axes, labels = paired(tensors, asked)
    spread = [
        labelled(builder.view(x.node, axis_map(label, axes), axis_extents(axes)), axes, x)
        for x, label in zip(tensors, labels, strict=True)
    ]
    results = ufunc(*(np.asarray(value) for value in spread))
    if isinstance(results, tuple):
        return tuple(NamedArray(result, axes) for result in results)
    return NamedArray(results, axes)


def _function(
    function: Callable[..., Any], operands: tuple[Any, ...], options: Mapping[str, Any]
) -> object:
    """Call a NumPy function that is not a ufunc on operands with axes."""
    asked = f"np.{function.__name__} of {shown(operands[:1])}"
    if function in _REDUCTIONS:
        named = dict(zip(("x", "axis"), operands, strict=False)) | dict(options)
        x = named.pop("x") if "x" in named else named.pop("a")
        if len(operands) <= 2:
            axis = named.pop("axis", None)
            return _reduced(_REDUCTIONS[function], x, axis, None, named, asked)
    elif function in _ELEMENTWISE and not options:
        return _evaluated(_ELEMENTWISE[function](*operands), operands)
    elif function not in _PRODUCTS:
        return _of_values(function, operands, options, asked)
    seen = f"it is called with {', '.join(options)}" if options else "it has no form for named axes"
    raise UnsupportedError(asked, seen, _REMEDY, user_location())


def _reduced(
    name: str, x: Any, axis: object, out_axes: AxesOf, options: Options, asked: str
) -> Tensor | NamedArray:
    """The reduction of `x` over axes; a named array if `x` is a named array, else a tensor."""
    if options:
        remedy = _REMEDY
        if "keepdims" in options:
            remedy = "leave keepdims out: axes are paired wherever they stand, none need be kept"
        seen = f"it is called with {', '.join(options)}"
        raise UnsupportedError(asked, seen, remedy, user_location())
    tensor = as_tensor(x, asked)
    axes = None if axis is None else axes_at(tensor.axes, axis, asked)
    return _evaluated(getattr(reductions, name)(tensor, axes, out_axes), (x,))


def _of_values(
    function: Callable[..., Any], operands: object, options: object, asked: str
) -> object:
    """Call a NumPy function on the arrays of operands that all have the same axes.

    The results have no axes. An `axis` argument may be an Axis or a name, as for reductions.
    """
    leaves, structure = flatten_tree((operands, options))
    axes = [leaf.axes for leaf in leaves if isinstance(leaf, Tensor | NamedArray)]
    if any(one != axes[0] for one in axes):
        seen = f"axes {' and '.join(map(str, axes))}, which NumPy would not pair"
        remedy = "bring them to one order with axes_with_order(x, axes), or take np.asarray(x)"
        raise UnsupportedError(asked, seen, remedy, user_location())
    arrays = (np.asarray(v) if isinstance(v, Tensor | NamedArray) else v for v in leaves)
    positional, named = cast(tuple[Any, Any], unflatten_tree(structure, arrays))
    if any(isinstance(leaf, Axis | str) for leaf in leaves):
        positional, named = _with_positions(function, positional, named, axes[0], asked)
    return function(*positional, **named)


def _with_positions(
    function: Callable[..., Any], positional: Any, named: Any, own: Axes, asked: str
) -> tuple[Any, Any]:
    """The arguments, with a position in place of the Axis or name given as `axis`."""
    if "axis" in named:
        return positional, {**named, "axis": _positions(own, named["axis"], asked)}
    try:
        bound = inspect.signature(function).bind(*positional, **named)
    except (TypeError, ValueError):  # no signature, or arguments that NumPy will refuse
        return positional, named
    if "axis" in bound.arguments:
        bound.arguments["axis"] = _positions(own, bound.arguments["axis"], asked)
    return bound.args, bound.kwargs


def _positions(own: Axes, axis: object, asked: str) -> int | tuple[int, ...] | None:
    """The position of an axis, or the positions of several axes."""
    places = tuple(own.index(one) for one in axes_at(own, axis, asked))
    return None if axis is None else places[0] if isinstance(axis, Axis | str) else places


def _evaluated(result: Tensor, operands: Iterable[object]) -> Tensor | NamedArray:
    """The tensor itself if an operand is a tensor, else its values as a named array."""
    lazy = any(isinstance(value, Tensor) for value in operands)
    return result if lazy else result.eval()


OPERATIONS: Final = {"ufunc": _ufunc, "function": _function, "reduce": _reduced}
