"""What NumPy and the library that it is linked with compute: matrix products, whole operands."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

import numpy as np

from axiomjit.config import config
from axiomjit.errors import PositionError

Labels = tuple[tuple[int, ...], ...]
Function = Callable[[Sequence[np.ndarray], Labels, np.ndarray], None]


def multiply_matrices(operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """Contract the dimensions of equal labels; matrices and vectors go straight to BLAS."""
    left, right = operands
    met = [k for k in labels[0] if k in labels[1]]
    axes = [labels[0].index(k) for k in met], [labels[1].index(k) for k in met]
    if left.ndim > 2 or right.ndim > 2 or len(met) != 1:
        out[...] = np.tensordot(left, right, axes)
        return
    first = left.T if axes[0] == [0] else left
    second = right.T if axes[1] == [1] else right
    if out.flags.c_contiguous:
        np.dot(first, second, out=out)
    else:
        out[...] = np.dot(first, second)


def scan(ufunc: np.ufunc, operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """The running fold along the last dimension."""
    ufunc.accumulate(operands[0], axis=-1, out=out)


def sort(operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """The elements along the last dimension, sorted."""
    out[...] = operands[0]
    out.sort(axis=-1)


def argsort(operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """The positions that sort the elements along the last dimension."""
    out[...] = np.argsort(operands[0], axis=-1)


def choose(
    function: Callable[..., np.ndarray],
    operands: Sequence[np.ndarray],
    labels: Labels,
    out: np.ndarray,
) -> None:
    """The position of an element along the labels that `out` lacks, taken as one dimension."""
    (own,) = labels
    ordered = operands[0].transpose(sorted(range(len(own)), key=lambda d: own[d]))
    lengths = ordered.shape[out.ndim :]
    out[...] = function(ordered.reshape(*out.shape, math.prod(lengths)), axis=-1)


def draw(method: str, operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """Random numbers."""
    out[...] = getattr(config.generator, method)(out.shape)


def show(operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """The first operand, printed with the text whose bytes are the second one."""
    values, text = operands
    out[...] = _spread(values, labels[0], out.ndim + 1)[..., 0]
    print(f"{text.tobytes().decode()}{out}")


def take(operands: Sequence[np.ndarray], labels: Labels, out: np.ndarray) -> None:
    """Elements of the first operand by their positions along the label that `out` lacks.

    Raises:
        PositionError: a position lies outside.
    """
    values, positions = operands
    along = labels[0].index(out.ndim)
    length = values.shape[along]
    if not out.size:  # NumPy does not look at the positions then.
        return
    if not -length <= positions.min() <= positions.max() < length:
        wrong = positions[(positions < -length) | (positions >= length)].flat[0]
        raise PositionError(
            f"take of position {wrong}",
            f"a dimension of length {length}",
            f"give positions from {-length} to {length - 1}" if length else "take from elements",
        )
    if set(labels[0]) & set(labels[1]):
        _gather(values, positions, labels, out)
        return
    kept = (*labels[0][:along], *labels[1], *labels[0][along + 1 :])
    taken = np.take(values, positions, axis=along)
    out[...] = _spread(taken, kept, out.ndim)


def _gather(values: np.ndarray, positions: np.ndarray, labels: Labels, out: np.ndarray) -> None:
    """Positions of their own at each point of the dimensions that both operands have."""
    grids = np.ix_(*map(np.arange, out.shape))
    where = _spread(positions, labels[1], out.ndim)
    out[...] = values[tuple(where if k == out.ndim else grids[k] for k in labels[0])]


def _spread(array: np.ndarray, own: tuple[int, ...], rank: int) -> np.ndarray:
    """The array with its dimensions in order of label, 1 where it has none."""
    ordered = array.transpose(sorted(range(len(own)), key=lambda d: own[d]))
    shape = iter(ordered.shape)
    return ordered.reshape([next(shape) if k in own else 1 for k in range(rank)])


LIBRARY: Final[dict[str, Function]] = {
    "tensordot": multiply_matrices,
    "cumsum": partial(scan, np.add),
    "cumprod": partial(scan, np.multiply),
    "sort": sort,
    "argsort": argsort,
    "take": take,
    "argmax": partial(choose, np.argmax),
    "argmin": partial(choose, np.argmin),
    "print": show,
    "uniform": partial(draw, "random"),
    "normal": partial(draw, "standard_normal"),
}
