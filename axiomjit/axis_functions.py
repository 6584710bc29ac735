"""The axis-graph door: contraction, reduction, relabelling and reordering along axes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from axiomjit import builder
from axiomjit.axes import Axes, AxesLike, make_axes
from axiomjit.axis_pairing import check_outer, product_pairs
from axiomjit.dims import dim
from axiomjit.errors import AxesError
from axiomjit.graph import Node
from axiomjit.index_maps import identity, permutation
from axiomjit.late_checks import Parts, require
from axiomjit.origins import user_location
from axiomjit.primitives import MAX, MIN, SUM
from axiomjit.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)

Fold = Callable[[Node, Sequence[int]], Node]
_FOLDS: Final[dict[str, Fold]] = {
    "sum": partial(builder.fold, SUM),
    "max": partial(builder.fold, MAX),
    "min": partial(builder.fold, MIN),
    "mean": builder.mean,
}


def dot(x: Operand, y: Operand) -> Tensor:
    """The sum of products over the axes that meet, wherever they stand.

    An axis of x meets the one of y at the next offset, so that `dot(x.T, x)` is the squared norm
    (seed 002, "Axes"); of the others those meet that both have (seed 001_dbff47214f01994e.txt,
    "Dot operation"). `dot(x, y)` is `dot(y.T, x.T).T` up to the order of axes.

    Returns:
        A tensor with the other axes of x, then those of y; where no axes meet the outer product.
        dtypes promote as for `multiply`.

    Raises:
        GraphTypeError: an operand is an array without axes, or of the wrong kind.
    """
    asked = f"dot of {shown((x, y))}"
    left, right = as_tensor(x, asked), as_tensor(y, asked)
    pairs = product_pairs(left.axes, right.axes)
    check_outer(left.axes, right.axes, bool(pairs), asked)
    axes = (left.axes - [a for a, _ in pairs]) + (right.axes - [b for _, b in pairs])
    met = [a.dim for a, _ in pairs]
    result = {axis: k for k, axis in enumerate(axes)}
    met_left = {a: len(axes) + k for k, (a, _) in enumerate(pairs)}
    met_right = {b: len(axes) + k for k, (_, b) in enumerate(pairs)}
    maps = (
        permutation([(result | met_left)[axis] for axis in left.axes]),
        permutation([(result | met_right)[axis] for axis in right.axes]),
    )
    extents = (*axis_extents(axes), *met)
    node = builder.contract(left.node, right.node, maps, extents, len(axes))
    return labelled(node, axes, left, right)


def sum(x: Operand, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Tensor:
    """The sum over axes.

    Args:
        x: The tensor.
        reduction_axes: The axes to reduce, in any order: none for `[]`, all when omitted, those
            not in `out_axes` when that is given.
        out_axes: The axes of the result, in their order; when omitted those that are left, in
            the order of x.

    Returns:
        A tensor with the axes that are left (seed 001_dbff47214f01994e.txt, "Axes reduction");
        its dtype is that of x, int64 for bools.

    Raises:
        AxesError: an axis is foreign or repeated, or neither reduced nor left.
        GraphTypeError: x is an array without axes, or of the wrong kind.
    """
    return _reduce("sum", x, reduction_axes, out_axes)


def max(x: Operand, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Tensor:
    """The largest element over axes, NaN if there is one; arguments and errors as for `sum`.

    Returns:
        A tensor with the axes that are left and the dtype of x.

    Raises:
        AxesError: as for `sum`; also when a computation meets a reduced axis of length 0.
    """
    return _reduce("max", x, reduction_axes, out_axes)


def min(x: Operand, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Tensor:
    """The smallest element over axes, NaN if there is one; arguments and errors as for `sum`.

    Returns:
        A tensor with the axes that are left and the dtype of x.

    Raises:
        AxesError: as for `sum`; also when a computation meets a reduced axis of length 0.
    """
    return _reduce("min", x, reduction_axes, out_axes)


def mean(x: Operand, reduction_axes: AxesLike = None, out_axes: AxesLike = None) -> Tensor:
    """The mean over axes; arguments and errors as for `sum`.

    Returns:
        A tensor with the axes that are left and the dtype of x, float64 for ints and bools.
    """
    return _reduce("mean", x, reduction_axes, out_axes)


def _reduce(name: str, x: Operand, reduction_axes: AxesLike, out_axes: AxesLike) -> Tensor:
    tensor = as_tensor(x, f"{name} of {shown((x,))}")
    whole = tensor.axes
    reduced, out = _split(name, whole, reduction_axes, out_axes)
    # In the tensor's own order, so that the order of the request changes no bit of the result.
    positions = [k for k, axis in enumerate(whole) if axis in reduced]
    node = _FOLDS[name](tensor.node, positions)
    if name in ("max", "min"):
        _require_elements(name, node, reduced)
    return axes_with_order(Tensor(node, whole - reduced, tensor.used_axes), out)


def _require_elements(name: str, node: Node, reduced: Axes) -> None:
    """Refuse the largest or smallest element of nothing, at the latest at a call."""

    def explain() -> Parts:
        seen = f"a length of 0, and {name} of nothing has no value"
        return f"{name} over {reduced}", seen, "reduce axes that have a position"

    for axis in reduced:
        require(node, axis.dim, ">", dim(0), [axis], explain)


def _split(
    name: str, whole: Axes, reduction_axes: AxesLike, out_axes: AxesLike
) -> tuple[Axes, Axes]:
    """The axes to reduce, and the axes of the result."""
    reduced = whole if reduction_axes is None else make_axes(reduction_axes)
    out = whole - reduced if out_axes is None else make_axes(out_axes)
    if reduction_axes is None:
        reduced = whole - out
    if (reduced & out) or whole.is_not_equal_set(reduced | out):
        raise AxesError(
            f"{name} over axes {reduced}, leaving {out}",
            f"a tensor with axes {whole}",
            "reduce axes of the tensor, and leave each of the other ones",
            user_location(),
        )
    return reduced, out


def cast_axes(x: Operand, axes: AxesLike) -> Tensor:
    """The same values under other axes, paired by position; nothing moves.

    Returns:
        A tensor with `axes` (seed 001_dbff47214f01994e.txt, "Axes casting"); x itself where it
        has them already.

    Raises:
        AxesError: not as many axes, or the lengths of a pair differ. Lengths that are not known
            yet are compared when a computation is called.
        GraphTypeError: x is an array without axes, or of the wrong kind.
    """
    asked = f"cast_axes of {shown((x,))}"
    return relabelled(as_tensor(x, asked), make_axes(axes), asked)


def relabelled(tensor: Tensor, labels: Axes, asked: str) -> Tensor:
    """The tensor under other axes, paired by position; itself where it has them already.

    Raises:
        AxesError: not as many axes, or the lengths of a pair differ; at the call where one is
            unknown.
    """
    before = tensor.axes

    def explain() -> Parts:
        remedy = "give one axis of the same length for each axis of the tensor"
        return f"{asked} to {labels}", f"axes {before}", remedy

    if len(labels) != len(before):
        raise AxesError(*explain(), user_location())
    if labels == before:
        return tensor
    node = builder.view(tensor.node, identity(len(labels)), axis_extents(labels))
    for old, new in zip(before, labels, strict=True):
        require(node, old.dim, "==", new.dim, (old, new), explain)
    return labelled(node, labels, tensor)


def broadcast(x: Operand, axes: AxesLike) -> Tensor:
    """The tensor with more axes, along which its values repeat.

    Args:
        x: The tensor.
        axes: All its axes and others, in any order.

    Returns:
        A tensor with `axes` (seed 001_dbff47214f01994e.txt, "Axes broadcasting"); x itself where
        it has them already.

    Raises:
        AxesError: an axis of x is missing, or one is listed twice.
        GraphTypeError: x is an array without axes, or of the wrong kind.
    """
    return _reread("broadcast", x, make_axes(axes), Axes.is_super_set, "list every axis of it")


def axes_with_order(x: Operand, axes: AxesLike) -> Tensor:
    """The tensor with its axes in another order.

    Returns:
        A tensor with `axes` (seed 000_dbad2f4fd12be0da.txt, "Axes reordering"); x itself where
        the order is that already.

    Raises:
        AxesError: not the same set of axes, or one is listed twice.
        GraphTypeError: x is an array without axes, or of the wrong kind.
    """
    return _reread(
        "axes_with_order", x, make_axes(axes), Axes.is_equal_set, "list exactly its axes"
    )


def _reread(
    name: str, x: Operand, axes: Axes, fits: Callable[[Axes, Axes], bool], remedy: str
) -> Tensor:
    tensor = as_tensor(x, f"{name} of {shown((x,))}")
    if not fits(axes, tensor.axes):
        raise AxesError(
            f"{name} of {shown((x,))} to {axes}",
            f"axes {tensor.axes}",
            remedy,
            user_location(),
        )
    if axes == tensor.axes:
        return tensor
    node = builder.view(tensor.node, axis_map(tensor.axes, axes), axis_extents(axes))
    return labelled(node, axes, tensor)
