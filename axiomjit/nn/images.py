"""Convolution and pooling of images whose channels come last (OCANNL: `nn_blocks`)."""

from __future__ import annotations

from typing import Any, SupportsIndex

from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.notation.einsum import einsum

Pair = SupportsIndex | tuple[SupportsIndex, SupportsIndex]
"""A number for both rows and columns, or a pair of numbers."""


def conv2d(
    x: Any,
    weights: Any,
    *,
    stride: Pair = 1,
    dilation: Pair = 1,
    use_padding: bool = False,
) -> Any:
    """The sums of products of the weights and each part of an image that the weights cover.

    Args:
        x: Images of shape (..., rows, columns, channels): arrays, traced arrays, or tensors whose
            output axes are the last three.
        weights: Weights of shape (outputs, rows, columns, channels); in a tensor, rows, columns and
            channels are input axes.
        stride: The distance in the images between neighbouring positions of the weights.
        dilation: The distance in the images between neighbouring elements of the weights.
        use_padding: True if the weights may reach outside the images, where elements contribute
            nothing. The result then has `rows / stride` rows; otherwise windows must fill the
            images exactly.

    Returns:
        Images of shape (..., rows, columns, outputs).

    Raises:
        ShapeError: lengths do not fit.
        GraphTypeError: a setting is not an integer.
        GraphValueError: a setting is less than 1.

    Examples:
        >>> x = np.arange(16.0).reshape(4, 4, 1)
        >>> aj.nn.conv2d(x, np.ones((1, 2, 2, 1)), stride=2)[..., 0]
        array([[10., 18.],
               [42., 50.]])
    """
    down, right = _windows(_pair(stride, "stride"), _pair(dilation, "dilation"), use_padding)
    return einsum(f"...|{down},{right},ic;kh,kw,ic->oc=>...|oh,ow,oc", x, weights)


def max_pool(
    x: Any, window: Pair = 2, *, stride: Pair | None = None, use_padding: bool = False
) -> Any:
    """The largest element of each channel in each window.

    Args:
        x: Images of shape (..., rows, columns, channels), as for `conv2d`.
        window: The numbers of rows and columns of a window.
        stride: The distance between neighbouring windows; by default the size of a window.
        use_padding: True if windows may reach outside the images, as for `conv2d`; only elements of
            the images count.

    Returns:
        An array of shape (..., rows, columns, channels), with one row and column per window.

    Raises:
        ShapeError: lengths do not fit.
        GraphTypeError: a setting is not an integer.
        GraphValueError: a setting is less than 1.

    Examples:
        >>> aj.nn.max_pool(np.arange(16.0).reshape(4, 4, 1))[..., 0]
        array([[ 5.,  7.],
               [13., 15.]])
    """
    return _pooled("max", x, window, stride, use_padding)


def avg_pool(
    x: Any, window: Pair = 2, *, stride: Pair | None = None, use_padding: bool = False
) -> Any:
    """The mean of each channel in each window, over the elements inside the images.

    Arguments, result and errors are those of `max_pool`.

    Examples:
        >>> x = np.arange(4.0).reshape(2, 2, 1)
        >>> aj.nn.avg_pool(x, 3, stride=1, use_padding=True)[..., 0]
        array([[1.5, 1.5],
               [1.5, 1.5]])
    """
    return _pooled("mean", x, window, stride, use_padding)


def _pooled(reduce: str, x: Any, window: Pair, stride: Pair | None, use_padding: bool) -> Any:
    rows, columns = _pair(window, "window")
    steps = (rows, columns) if stride is None else _pair(stride, "stride")
    down, right = _windows(steps, (1, 1), use_padding)
    sizes = {"kh": rows, "kw": columns}
    return einsum(f"...|{down},{right},c=>...|oh,ow,c", x, reduce=reduce, sizes=sizes)


def _windows(
    strides: tuple[int, int], dilations: tuple[int, int], use_padding: bool
) -> tuple[str, str]:
    """The texts of the axes of rows and of columns in a spec."""
    mark = "=" if use_padding else "<"
    down, right = (
        f"{step}*o{side}{mark}+{apart}*k{side}"
        for side, step, apart in zip("hw", strides, dilations, strict=True)
    )
    return down, right


def _pair(value: Any, name: str) -> tuple[int, int]:
    """The value of a setting for rows and its value for columns."""
    both = value if isinstance(value, tuple) and len(value) == 2 else (value, value)
    try:
        first, second = (one.__index__() for one in both)
    except (AttributeError, TypeError):
        seen, remedy = f"{value!r}", "give an integer, or a pair of them"
        raise GraphTypeError(f"{name}= of a layer", seen, remedy, user_location()) from None
    if min(first, second) < 1:
        raise GraphValueError(f"{name}={value!r}", "less than 1", "give 1 or more", user_location())
    return first, second
