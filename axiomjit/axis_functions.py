"""The axis-graph door: contraction, relabelling and reordering along axes."""

from __future__ import annotations

from collections.abc import Callable

from axiomjit import builder
from axiomjit.axes import Axes, AxesLike, make_axes
from axiomjit.axis_pairing import check_outer, product_pairs
from axiomjit.errors import AxesError
from axiomjit.index_maps import identity, permutation
from axiomjit.late_checks import Parts, require
from axiomjit.origins import user_location
from axiomjit.tensors import (
    Operand,
    Tensor,
    as_tensor,
    axis_extents,
    axis_map,
    labelled,
    shown,
)


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
