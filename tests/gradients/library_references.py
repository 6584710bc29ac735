"""The functions of entire arrays that rules are compared with, for stacks of complex matrices.

Each is holomorphic in its operands: v.T @ v is 1 for eigenvectors, and orders are those of real
parts. So derivatives along directions are means over circles, as in `references.py`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

COUNT = 200
NODES = 16
TURNS = np.exp(2j * np.pi * np.arange(NODES) / NODES)
SIZE = 3


class Case(NamedTuple):
    """A function, the same of complex arrays, and what draws its operands.

    The operands are stacks of arrays, of which no result mixes two. Within several times `radius`
    of the operands nothing is singular.
    """

    function: Callable
    reference: Callable
    draw: Callable
    codes: tuple = ("f8", "f4")
    real_directions: bool = False
    has_unknown_lengths: bool = False
    radius: float = 0.1


def along(case, arrays, directions, weights):
    """For each array of the stacks the derivative along one direction, or along two in turn."""
    moved, factor, count = list(arrays), np.ones(1), len(directions)
    for k, direction in enumerate(directions):
        shifts = case.radius * TURNS.reshape(-1, *[1] * k)
        factor = factor / shifts
        moved = [
            x + shifts.reshape(shifts.shape + (1,) * v.ndim) * v
            for x, v in zip(moved, direction, strict=True)
        ]
    made = case.reference(*moved)
    values = (made.reshape(*made.shape[: count + 1], -1) * weights.reshape(len(weights), -1)).sum(
        -1
    )
    return (values * factor[..., None]).mean(axis=tuple(range(count)))


def transposed(a):
    return np.swapaxes(a, -1, -2)


def lower(a):
    """The symmetric matrix of which a function reads the lower triangle."""
    return np.tril(a) + transposed(np.tril(a, -1))


def upper(a):
    return lower(transposed(a))


def in_order(values, *others):
    """Eigenvalues by their real parts, and arrays of columns in the same order."""
    places = np.argsort(values.real, axis=-1)
    columns = (np.take_along_axis(one, places[..., None, :], -1) for one in others)
    return np.take_along_axis(values, places, -1), *columns


def eigenvalues(a):
    return in_order(np.linalg.eigvals(a.astype(complex)))[0]


def pair(a):
    """Eigenvalues and squares of the eigenvectors, v.T @ v being 1."""
    values, vectors = in_order(*np.linalg.eig(a.astype(complex)))
    return values, vectors**2 / (vectors**2).sum(-2, keepdims=True)


def factor(a):
    """The lower triangular factor of a symmetric matrix."""
    made = np.zeros(a.shape, complex)
    for j in range(a.shape[-1]):
        rest = a[..., j:, j] - (made[..., j:, :j] @ made[..., j, :j, None])[..., 0]
        made[..., j:, j] = rest / np.sqrt(rest[..., :1])
    return made


def upper_of_qr(a):
    """R of a = Q R, with positive numbers on the diagonal."""
    return transposed(factor(transposed(a) @ a))


def inverse_of_tall(a):
    return np.linalg.inv(transposed(a) @ a) @ transposed(a)


def inverse_of_wide(a):
    return transposed(inverse_of_tall(transposed(a)))


def ranked(x):
    """The elements of rows in the order of their real parts."""
    return np.take_along_axis(x, np.argsort(x.real, axis=-1), -1)


def between(x, share):
    rows = ranked(x)
    place = share * (x.shape[-1] - 1)
    low = int(place)
    high = min(low + 1, x.shape[-1] - 1)
    return rows[..., low] + (rows[..., high] - rows[..., low]) * (place - low)


def line(x, xp, fp):
    """`np.interp` of rows by the first row's positions of the real parts."""
    low = np.clip((xp.real[..., None, :] <= x.real[..., None]).sum(-1) - 1, 0, xp.shape[-1] - 2)
    (x0, f0), (x1, f1) = (
        [np.take_along_axis(one, low + k, -1) for one in (xp, fp)] for k in (0, 1)
    )
    inside = f0 + (f1 - f0) * (x - x0) / (x1 - x0)
    return np.where(
        x.real < xp.real[..., :1],
        fp[..., :1],
        np.where(x.real > xp.real[..., -1:], fp[..., -1:], inside),
    )


def polynomial(a, v):
    """The squares of the coefficients of a product of polynomials."""
    sizes = a.shape[-1], v.shape[-1]
    made = np.zeros((*np.broadcast_shapes(a.shape[:-1], v.shape[:-1]), sum(sizes) - 1), complex)
    for k in range(sizes[1]):
        made[..., k : k + sizes[0]] += a * v[..., k : k + 1]
    return made**2


def linear(function, size):
    """A linear function of rows by its values at unit vectors, real and imaginary ones."""
    real, turned = (function(np.eye(size) * unit) for unit in (1, 1j))

    def parts(a, b=None):
        made = [a @ matrix for matrix in (real.real, real.imag)]
        if b is not None:
            pairs = zip(made, (turned.real, turned.imag), strict=True)
            made = [one + b @ matrix for one, matrix in pairs]
        return (0.7 * made[0] + 1.3 * made[1]) ** 3

    return parts
