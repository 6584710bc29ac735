"""Elementwise cases: each element of the result depends on few elements of the arguments.

Maps, dtypes, memory layouts, small arrays. Except in the group `small`, the arrays do not fit in a
core's own caches.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from axiomjit.bench.suite.workload import Array, Inputs, Shelf, prange

N: Final = 1_000_000
SIDE: Final = 1_000

MAPS = Shelf("map")
MATH = Shelf("math-bound")
DTYPES = Shelf("dtypes")
LAYOUTS = Shelf("layouts")
SMALL = Shelf("small")


def vectors(count: int, n: int = N, dtype: str = "f8") -> Inputs:
    """Return a function that makes vectors of numbers in [0, 1)."""
    return lambda rng: tuple(rng.random(n).astype(dtype) for _ in range(count))


def matrices(count: int, rows: int = SIDE, columns: int = SIDE) -> Inputs:
    """Return a function that makes matrices of numbers in [0, 1)."""
    return lambda rng: tuple(rng.random((rows, columns)) for _ in range(count))


@MAPS.add(vectors(2), numexpr="2.0 * x + y")
def axpy(x: Array, y: Array) -> Any:
    """Two reads, one write, little arithmetic."""
    return 2.0 * x + y


@MAPS.add(vectors(1), numexpr="(((0.3 * x - 1.1) * x + 0.5) * x + 2.0) * x - 0.7")
def horner(x: Array) -> Any:
    """A polynomial of degree four."""
    return (((0.3 * x - 1.1) * x + 0.5) * x + 2.0) * x - 0.7


@MAPS.add(vectors(4), numexpr="sqrt((x - u) ** 2 + (y - v) ** 2)")
def distance(x: Array, y: Array, u: Array, v: Array) -> Any:
    """The distance of points in the plane, four reads."""
    return np.sqrt((x - u) ** 2 + (y - v) ** 2)


@MAPS.add(vectors(2), numexpr="where(x < y, x * x, where(y < 0.25, 0.25, y) - x)")
def choose(x: Array, y: Array) -> Any:
    """A choice by value."""
    return np.where(x < y, x * x, np.maximum(y, 0.25) - x)


@MATH.add(vectors(1), numexpr="exp(-x)")
def exponential(x: Array) -> Any:
    """One exponential."""
    return np.exp(-x)


@MATH.add(vectors(2), numexpr="sin(x) ** 2 + cos(y) ** 2")
def waves(x: Array, y: Array) -> Any:
    """Sine and cosine."""
    return np.sin(x) ** 2 + np.cos(y) ** 2


@MATH.add(vectors(1), numexpr="0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))")
def gelu(x: Array) -> Any:
    """An activation of neural networks."""
    return 0.5 * x * (1.0 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def _market(rng: np.random.Generator) -> tuple[Array, ...]:
    return (rng.random(N) * 50 + 75, rng.random(N) * 50 + 75, rng.random(N) + 0.1)


@MATH.add(
    _market,
    numexpr=(
        "s / (1.0 + exp(-1.702 * (log(s / k) + 0.065 * t) / (0.3 * sqrt(t)))) - k * exp(-0.02 * t)"
        " / (1.0 + exp(-1.702 * (log(s / k) - 0.025 * t) / (0.3 * sqrt(t))))"
    ),
)
def option_price(s: Array, k: Array, t: Array) -> Any:
    """The price of a call option, the normal distribution by a logistic one."""
    width = 0.3 * np.sqrt(t)
    near = (np.log(s / k) + 0.065 * t) / width
    far = near - width
    discounted = k * np.exp(-0.02 * t)
    return s / (1.0 + np.exp(-1.702 * near)) - discounted / (1.0 + np.exp(-1.702 * far))


@DTYPES.add(vectors(2, dtype="f4"), numexpr="x * y + x")
def multiply_add_f4(x: Array, y: Array) -> Any:
    """Single precision."""
    return x * y + x


def _pixels(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(rng.integers(0, 256, 4 * N, np.uint8) for _ in range(2))


def _blend_loops(x: Array, y: Array) -> Any:
    out = np.empty_like(x)
    for i in prange(len(x)):
        out[i] = (np.uint16(x[i]) * 3 + y[i]) >> 2
    return out


@DTYPES.add(_pixels, loops=_blend_loops)
def blend_u1(x: Array, y: Array) -> Any:
    """Two images mixed, bytes computed in sixteen bits."""
    return ((x.astype(np.uint16) * 3 + y) >> 2).astype(np.uint8)


def _integers(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(rng.integers(0, 10**6, N) for _ in range(2))


@DTYPES.add(_integers, numexpr="(x * 31 + y) % 1009")
def hash_i8(x: Array, y: Array) -> Any:
    """Integers with a remainder."""
    return (x * 31 + y) % 1009


def _complex(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(rng.random(N) + 1j * rng.random(N) for _ in range(2))


@DTYPES.add(_complex, numexpr="x * conj(y) + x")
def correlate_c16(x: Array, y: Array) -> Any:
    """Complex numbers."""
    return x * np.conj(y) + x


def _fortran(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(np.asfortranarray(rng.random((SIDE, SIDE))) for _ in range(2))


@LAYOUTS.add(_fortran, numexpr="a * b + a")
def fortran_order(a: Array, b: Array) -> Any:
    """Both arrays column by column in memory."""
    return a * b + a


@LAYOUTS.add(matrices(2))
def transposed(a: Array, b: Array) -> Any:
    """One array read across its memory."""
    return a + 2.0 * b.T


@LAYOUTS.add(matrices(1, SIDE, 2 * SIDE))
def every_second(a: Array) -> Any:
    """Every second column."""
    return a[:, ::2] * 2.0 + a[:, 1::2]


@LAYOUTS.add(vectors(1))
def reversed_order(x: Array) -> Any:
    """One array from its end."""
    return x[::-1] - x


def _sizes(count: int, *sizes: int) -> dict[str, Inputs]:
    return {str(n): vectors(count, n) for n in sizes}


@SMALL.add(vectors(2), sizes=_sizes(2, 1, 10, 100, 1000), numexpr="x * y + 1.0")
def affine(x: Array, y: Array) -> Any:
    """Two operations: the price of a call."""
    return x * y + 1.0


@SMALL.add(vectors(1), sizes=_sizes(1, 3, 300))
def unit_vector(x: Array) -> Any:
    """A vector by its length: a fold and a map."""
    return x / np.sqrt((x * x).sum())


@SMALL.add(vectors(1), sizes=_sizes(1, 10, 1000), numexpr="sum(x)")
def total(x: Array) -> Any:
    """A sum."""
    return x.sum()
