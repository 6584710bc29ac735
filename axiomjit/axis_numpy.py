"""NumPy's own ufuncs and reductions, called with tensors or named arrays.

Of named arrays alone they give named arrays, with a tensor among the operands a tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, cast

import numpy as np

from axiomjit import axis_operators, axis_reductions, builder
from axiomjit.axes import AxesLike
from axiomjit.axis import Axis
from axiomjit.axis_elementwise import UFUNCS, apply, clip, paired, where
from axiomjit.errors import UnsupportedError
from axiomjit.named_arrays import NamedArray
from axiomjit.origins import user_location
from axiomjit.tensors import Tensor, as_tensor, axis_extents, axis_map, labelled, shown
from axiomjit.tree import flatten, unflatten

Options = Mapping[str, object]
_REDUCTIONS: Final[dict[Callable[..., Any], Callable[..., Tensor]]] = {
    np.sum: axis_reductions.sum,
    np.prod: axis_reductions.prod,
    np.max: axis_reductions.max,
    np.amax: axis_reductions.max,
    np.min: axis_reductions.min,
    np.amin: axis_reductions.min,
    np.any: axis_reductions.any,
    np.all: axis_reductions.all,
    np.mean: axis_reductions.mean,
    np.var: axis_reductions.variance,
    np.argmax: axis_reductions.argmax,
    np.argmin: axis_reductions.argmin,
}
_ELEMENTWISE: Final[dict[Callable[..., Any], Callable[..., Tensor]]] = {
    np.where: where,
    np.clip: clip,
}

_PRODUCTS: Final = frozenset(
    {np.dot, np.vdot, np.inner, np.outer, np.tensordot, np.einsum, np.kron}
)
"""Whose pairs of dimensions are others than those of axes."""


def _ufunc(ufunc: np.ufunc, method: str, operands: tuple[object, ...], options: Options) -> object:
    """NumPy's ufunc of operands with axes."""
    asked = f"np.{ufunc.__name__} of {shown(operands)}"
    if method != "__call__" or options:
        seen = f"{method} with {', '.join(options)}" if options else method
        remedy = "call the ufunc itself, without options; fold with sum(x, axes) and its like"
        raise UnsupportedError(asked, seen, remedy, user_location())
    if ufunc in UFUNCS:
        return _held(apply(ufunc, *operands), operands)
    if ufunc.signature is not None or any(isinstance(value, Tensor) for value in operands):
        seen = "a function outside the table of primitives"
        remedy = "apply it to values: x.eval(), or results of a computation; for @ call dot(x, y)"
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
    """A function of NumPy of operands with axes: a reduction, `where` or `clip`."""
    asked = f"np.{function.__name__} of {shown(operands[:1])}"
    if function in _REDUCTIONS:
        named = dict(zip(("x", "axis"), operands, strict=False)) | dict(options)
        if named.keys() <= {"x", "a", "axis"} and len(operands) <= 2:
            tensor = as_tensor(named["x"] if "x" in named else named["a"], asked)
            axes = _named_axes(tensor, named.get("axis"))
            return _held(_REDUCTIONS[function](tensor, axes), operands)
    elif function in _ELEMENTWISE and not options:
        return _held(_ELEMENTWISE[function](*operands), operands)
    elif function not in _PRODUCTS:
        return _of_values(function, operands, options, asked)
    seen = f"it is called with {', '.join(options)}" if options else "it has no form for named axes"
    remedy = "use axiomjit's own function of axes, or apply it to values: np.asarray(x)"
    raise UnsupportedError(asked, seen, remedy, user_location())


def _of_values(
    function: Callable[..., Any], operands: object, options: object, asked: str
) -> object:
    """Any other function, of the arrays behind operands that have the same axes.

    Its results have no axes.
    """
    leaves, structure = flatten((operands, options))
    axes = [leaf.axes for leaf in leaves if isinstance(leaf, Tensor | NamedArray)]
    if any(one != axes[0] for one in axes):
        seen = f"axes {' and '.join(map(str, axes))}, which NumPy would not pair"
        remedy = "bring them to one order with axes_with_order(x, axes), or take np.asarray(x)"
        raise UnsupportedError(asked, seen, remedy, user_location())
    arrays = (np.asarray(v) if isinstance(v, Tensor | NamedArray) else v for v in leaves)
    positional, named = cast(tuple[Any, Any], unflatten(structure, arrays))
    return function(*positional, **named)


def _named_axes(tensor: Tensor, axis: Any) -> AxesLike:
    """The axes that an `axis` argument means: axes themselves, or their positions."""
    if axis is None:
        return None
    listed = axis if isinstance(axis, Iterable) else [axis]
    return [one if isinstance(one, Axis) else tensor.axes[one] for one in listed]


def _held(result: Tensor, operands: Iterable[object]) -> Tensor | NamedArray:
    """The result, evaluated where no operand is a tensor."""
    lazy = any(isinstance(value, Tensor) for value in operands)
    return result if lazy else result.eval()


axis_operators.install(ufunc=_ufunc, function=_function)
