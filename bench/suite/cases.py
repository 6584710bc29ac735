"""The list of cases, which is frozen: a commit that changes it states the new mean ratio.

tests/golden/bench has the list as text; `python -m axiomjit.bench list` prints the list. Except in
the group `small`, the arrays do not fit in the caches of one core.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view

from axiomjit.base.errors import BenchError
from axiomjit.bench.suite.workload import Array, Inputs, Shelf, Workload, own_workload, prange

N: Final = 1_000_000
SIDE, WIDE, SQUARE = 1_000, 1_024, 512

MAPS = Shelf("map")
MATH = Shelf("math-bound")
REDUCTIONS = Shelf("reductions")
ROWS = Shelf("rows")
SCANS = Shelf("scans")
BROADCAST = Shelf("broadcast-reduce")
CONTRACTIONS = Shelf("contractions")
STENCILS = Shelf("stencils")
LAYOUTS = Shelf("layouts")
DTYPES = Shelf("dtypes")
SMALL = Shelf("small")
SHELVES: Final = (
    *(MAPS, MATH, REDUCTIONS, ROWS, SCANS, BROADCAST),
    *(CONTRACTIONS, STENCILS, LAYOUTS, DTYPES, SMALL),
)
"""The shelves of workloads, in the order of the list; this module fills them."""


def vectors(count: int, n: int = N, dtype: str = "f8") -> Inputs:
    """Return a function that makes vectors of numbers in [0, 1)."""
    return lambda rng: tuple(rng.random(n).astype(dtype) for _ in range(count))


def matrices(count: int, rows: int = SIDE, columns: int = SIDE) -> Inputs:
    """Return a function that makes matrices of numbers in [0, 1)."""
    return lambda rng: tuple(rng.random((rows, columns)) for _ in range(count))


@MAPS.add(vectors(2), numexpr="2.0 * x + y")
def axpy(x: Array, y: Array) -> Any:
    """The operation axpy of BLAS, with two reads, a write, and little arithmetic."""
    return 2.0 * x + y


@MAPS.add(vectors(1), numexpr="(((0.3 * x - 1.1) * x + 0.5) * x + 2.0) * x - 0.7")
def horner(x: Array) -> Any:
    """A polynomial of degree four."""
    return (((0.3 * x - 1.1) * x + 0.5) * x + 2.0) * x - 0.7


@MAPS.add(vectors(4), numexpr="sqrt((x - u) ** 2 + (y - v) ** 2)")
def distance(x: Array, y: Array, u: Array, v: Array) -> Any:
    """The distance of pairs of points in the plane, with four reads."""
    return np.sqrt((x - u) ** 2 + (y - v) ** 2)


@MAPS.add(vectors(2), numexpr="where(x < y, x * x, where(y < 0.25, 0.25, y) - x)")
def choose(x: Array, y: Array) -> Any:
    """A choice of elements by a condition."""
    return np.where(x < y, x * x, np.maximum(y, 0.25) - x)


@MATH.add(vectors(1), numexpr="exp(-x)")
def exponential(x: Array) -> Any:
    """The exponential of -x."""
    return np.exp(-x)


@MATH.add(vectors(2), numexpr="sin(x) ** 2 + cos(y) ** 2")
def waves(x: Array, y: Array) -> Any:
    """The sum of the squares of a sine and of a cosine."""
    return np.sin(x) ** 2 + np.cos(y) ** 2


@MATH.add(vectors(1), numexpr="0.5 * x * (1.0 + tanh(0.7978845608 * (x + 0.044715 * x * x * x)))")
def gelu(x: Array) -> Any:
    """The function GELU of neural networks."""
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
    """The price of a call option, with a logistic function for the normal distribution."""
    width = 0.3 * np.sqrt(t)
    near = (np.log(s / k) + 0.065 * t) / width
    far = near - width
    discounted = k * np.exp(-0.02 * t)
    return s / (1.0 + np.exp(-1.702 * near)) - discounted / (1.0 + np.exp(-1.702 * far))


@DTYPES.add(vectors(2, dtype="f4"), numexpr="x * y + x")
def multiply_add_f4(x: Array, y: Array) -> Any:
    """A multiply-add in single precision."""
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
    """A blend of two images of bytes, computed with 16-bit integers."""
    return ((x.astype(np.uint16) * 3 + y) >> 2).astype(np.uint8)


def _integers(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(rng.integers(0, 10**6, N) for _ in range(2))


@DTYPES.add(_integers, numexpr="(x * 31 + y) % 1009")
def hash_i8(x: Array, y: Array) -> Any:
    """A hash of integers by a remainder."""
    return (x * 31 + y) % 1009


def _complex(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(rng.random(N) + 1j * rng.random(N) for _ in range(2))


@DTYPES.add(_complex, numexpr="x * conj(y) + x")
def correlate_c16(x: Array, y: Array) -> Any:
    """A product and a sum of complex numbers."""
    return x * np.conj(y) + x


def _fortran(rng: np.random.Generator) -> tuple[Array, ...]:
    return tuple(np.asfortranarray(rng.random((SIDE, SIDE))) for _ in range(2))


@LAYOUTS.add(_fortran, numexpr="a * b + a")
def fortran_order(a: Array, b: Array) -> Any:
    """A multiply-add of two arrays in Fortran order."""
    return a * b + a


@LAYOUTS.add(matrices(2))
def transposed(a: Array, b: Array) -> Any:
    """A sum of an array and a transposed array."""
    return a + 2.0 * b.T


@LAYOUTS.add(matrices(1, SIDE, 2 * SIDE))
def every_second(a: Array) -> Any:
    """A sum of every second column and the columns between."""
    return a[:, ::2] * 2.0 + a[:, 1::2]


@LAYOUTS.add(vectors(1))
def reversed_order(x: Array) -> Any:
    """A reversed array minus the array."""
    return x[::-1] - x


def _sizes(count: int, *sizes: int) -> dict[str, Inputs]:
    return {str(n): vectors(count, n) for n in sizes}


@SMALL.add(vectors(2), sizes=_sizes(2, 1, 10, 100, 1000), numexpr="x * y + 1.0")
def affine(x: Array, y: Array) -> Any:
    """Two operations on small arrays, to measure the time of the call itself."""
    return x * y + 1.0


@SMALL.add(vectors(1), sizes=_sizes(1, 3, 300))
def unit_vector(x: Array) -> Any:
    """A vector divided by its length, by a fold and a map."""
    return x / np.sqrt((x * x).sum())


@SMALL.add(vectors(1), sizes=_sizes(1, 10, 1000), numexpr="sum(x)")
def total(x: Array) -> Any:
    """The sum of all elements."""
    return x.sum()


@REDUCTIONS.add(vectors(1), numexpr="sum(x)")
def sum_all(x: Array) -> Any:
    """The sum of all elements."""
    return x.sum()


def _sum_down_loops(a: Array) -> Any:
    out = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            out[j] += a[i, j]
    return out


@REDUCTIONS.add(matrices(1), numexpr="sum(a, axis=0)", loops=_sum_down_loops)
def sum_down(a: Array) -> Any:
    """The sum of each column."""
    return a.sum(axis=0)


def _sum_across_loops(a: Array) -> Any:
    out = np.zeros(a.shape[0])
    for i in prange(a.shape[0]):
        s = 0.0
        for j in range(a.shape[1]):
            s += a[i, j]
        out[i] = s
    return out


@REDUCTIONS.add(matrices(1), numexpr="sum(a, axis=1)", loops=_sum_across_loops)
def sum_across(a: Array) -> Any:
    """The sum of each row."""
    return a.sum(axis=1)


@REDUCTIONS.add(vectors(1), numexpr="max(x)")
def greatest(x: Array) -> Any:
    """The maximum of all elements."""
    return x.max()


@REDUCTIONS.add(vectors(1))
def variance(x: Array) -> Any:
    """The variance of all elements, in two passes."""
    return x.var()


@REDUCTIONS.add(vectors(2), numexpr="sum((x - y) ** 2)")
def squared_difference(x: Array, y: Array) -> Any:
    """The sum of the squares of differences."""
    return ((x - y) ** 2).sum()


@REDUCTIONS.add(vectors(1))
def four_at_once(x: Array) -> Any:
    """Four folds of the same array."""
    return x.sum(), x.max(), x.min(), (x * x).sum()


@REDUCTIONS.add(vectors(1))
def where_greatest(x: Array) -> Any:
    """The index of the largest element."""
    return np.argmax(x)


def _softmax_loops(a: Array) -> Any:
    out = np.empty_like(a)
    for i in prange(a.shape[0]):
        top = -np.inf
        for j in range(a.shape[1]):
            top = max(top, a[i, j])
        total = 0.0
        for j in range(a.shape[1]):
            out[i, j] = np.exp(a[i, j] - top)
            total += out[i, j]
        for j in range(a.shape[1]):
            out[i, j] /= total
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_softmax_loops)
def softmax(a: Array) -> Any:
    """The softmax of each row."""
    e = np.exp(a - a.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)


def _layernorm_loops(a: Array) -> Any:
    out = np.empty_like(a)
    n = a.shape[1]
    for i in prange(a.shape[0]):
        mean = 0.0
        for j in range(n):
            mean += a[i, j]
        mean /= n
        spread = 0.0
        for j in range(n):
            spread += (a[i, j] - mean) ** 2
        scale = 1.0 / np.sqrt(spread / n + 1e-5)
        for j in range(n):
            out[i, j] = (a[i, j] - mean) * scale
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_layernorm_loops)
def layernorm(a: Array) -> Any:
    """Each row minus its mean, divided by its standard deviation."""
    centred = a - a.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred * centred).mean(axis=1, keepdims=True) + 1e-5)


def _centre_columns_loops(a: Array) -> Any:
    mean = np.zeros(a.shape[1])
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            mean[j] += a[i, j]
    mean /= a.shape[0]
    out = np.empty_like(a)
    for i in prange(a.shape[0]):
        for j in range(a.shape[1]):
            out[i, j] = a[i, j] - mean[j]
    return out


@ROWS.add(matrices(1, WIDE, WIDE), loops=_centre_columns_loops)
def centre_columns(a: Array) -> Any:
    """Each column minus its mean."""
    return a - a.mean(axis=0)


@SCANS.add(vectors(1))
def running_sum(x: Array) -> Any:
    """The cumulative sum of x."""
    return np.cumsum(x)


def _drawdown_loops(x: Array) -> Any:
    out = np.empty_like(x)
    top = -np.inf
    for i in range(len(x)):
        top = max(top, x[i])
        out[i] = top - x[i]
    return out


@SCANS.add(vectors(1), loops=_drawdown_loops)
def drawdown(x: Array) -> Any:
    """The distance of each element from the running maximum."""
    return np.maximum.accumulate(x) - x


def _pairwise_loops(a: Array, b: Array) -> Any:
    out = np.empty((a.shape[0], b.shape[0]))
    for i in prange(a.shape[0]):
        for j in range(b.shape[0]):
            s = 0.0
            for k in range(a.shape[1]):
                s += (a[i, k] - b[j, k]) ** 2
            out[i, j] = s
    return out


@BROADCAST.add(matrices(2, 400, 32), loops=_pairwise_loops)
def pairwise(a: Array, b: Array) -> Any:
    """The squared distances of all pairs of points."""
    return ((a[:, None, :] - b[None, :, :]) ** 2).sum(axis=-1)


def _nearest_loops(x: Array, y: Array) -> Any:
    out = np.empty_like(x)
    for i in prange(len(x)):
        least = np.inf
        for j in range(len(y)):
            least = min(least, abs(x[i] - y[j]))
        out[i] = least
    return out


@BROADCAST.add(lambda rng: (rng.random(2000), rng.random(1000)), loops=_nearest_loops)
def nearest(x: Array, y: Array) -> Any:
    """For each number in x, the distance to the nearest number in y."""
    return np.abs(x[:, None] - y[None, :]).min(axis=1)


@BROADCAST.add(lambda rng: (rng.random(1000), rng.random(1000)))
def outer_waves(x: Array, y: Array) -> Any:
    """An outer sum of expensive functions."""
    return np.sin(x * x)[None, :] + np.cos(y * y)[:, None]


@BROADCAST.add(lambda rng: (rng.random(1000), rng.random(500)))
def density(x: Array, centres: Array) -> Any:
    """The sum, at each point x, of bell curves around all centres."""
    return np.exp(-50.0 * (x[:, None] - centres[None, :]) ** 2).sum(axis=1)


@CONTRACTIONS.add(matrices(2, SQUARE, SQUARE), einsum="ij,jk->ik")
def matmul(a: Array, b: Array) -> Any:
    """The product of two matrices."""
    return a @ b


@CONTRACTIONS.add(vectors(2), numexpr="sum((x - y) * (x - y))")
def l2(x: Array, y: Array) -> Any:
    """A squared distance as a dot product."""
    t = x - y
    return np.dot(t.T, t)


@CONTRACTIONS.add(lambda rng: (rng.random((SIDE, SIDE)), rng.random(SIDE), rng.random(SIDE)))
def dense_layer(a: Array, x: Array, b: Array) -> Any:
    """A dense layer: a matrix times a vector, plus a bias, with negative numbers set to 0."""
    return np.maximum(a @ x + b, 0.0)


def _batch_loops(a: Array, b: Array) -> Any:
    out = np.zeros((a.shape[0], a.shape[1], b.shape[2]))
    for n in prange(a.shape[0]):
        for i in range(a.shape[1]):
            for k in range(a.shape[2]):
                for j in range(b.shape[2]):
                    out[n, i, j] += a[n, i, k] * b[n, k, j]
    return out


@CONTRACTIONS.add(
    lambda rng: (rng.random((4000, 8, 8)), rng.random((4000, 8, 8))),
    einsum="nik,nkj->nij",
    loops=_batch_loops,
)
def batch_matmul(a: Array, b: Array) -> Any:
    """The products of many pairs of small matrices."""
    return a @ b


@CONTRACTIONS.add(
    lambda rng: (rng.random((300, 20)), rng.random((20, 300)), rng.random((300, 20))),
    einsum="ij,jk,kl->il",
)
def chain(a: Array, b: Array, c: Array) -> Any:
    """The product of three matrices, whose cost depends on the order of the two products."""
    return np.einsum("ij,jk,kl->il", a, b, c, optimize=True)


def _jacobi_loops(a: Array) -> Any:
    out = np.empty((a.shape[0] - 2, a.shape[1] - 2))
    for i in prange(out.shape[0]):
        for j in range(out.shape[1]):
            across = a[i + 1, j] + a[i + 1, j + 2]
            out[i, j] = 0.25 * (across + a[i, j + 1] + a[i + 2, j + 1])
    return out


@STENCILS.add(matrices(1), loops=_jacobi_loops)
def jacobi(a: Array) -> Any:
    """The mean of four neighbours."""
    return 0.25 * (a[1:-1, :-2] + a[1:-1, 2:] + a[:-2, 1:-1] + a[2:, 1:-1])


@STENCILS.add(vectors(1))
def second_difference(x: Array) -> Any:
    """The second difference at each element, from three adjacent elements."""
    return x[2:] - 2.0 * x[1:-1] + x[:-2]


def _blur_loops(a: Array) -> Any:
    rows, columns = a.shape
    out = np.empty_like(a)
    for i in prange(rows):
        for j in range(columns):
            s = 0.0
            for di in range(-1, 2):
                for dj in range(-1, 2):
                    s += a[min(max(i + di, 0), rows - 1), min(max(j + dj, 0), columns - 1)]
            out[i, j] = s / 9.0
    return out


@STENCILS.add(matrices(1), loops=_blur_loops)
def blur(a: Array) -> Any:
    """A box filter of an image with repeated edges."""
    p = np.pad(a, 1, mode="edge")
    top = p[:-2, :-2] + p[:-2, 1:-1] + p[:-2, 2:]
    middle = p[1:-1, :-2] + p[1:-1, 1:-1] + p[1:-1, 2:]
    bottom = p[2:, :-2] + p[2:, 1:-1] + p[2:, 2:]
    return (top + middle + bottom) / 9.0


def _moving_mean_loops(x: Array) -> Any:
    out = np.empty(len(x) - 7)
    for i in prange(len(out)):
        s = 0.0
        for k in range(8):
            s += x[i + k]
        out[i] = s / 8.0
    return out


@STENCILS.add(vectors(1, N // 2), loops=_moving_mean_loops)
def moving_mean(x: Array) -> Any:
    """The means of sliding windows of eight elements."""
    return sliding_window_view(x, 8).mean(axis=-1)


CASES: Final = tuple(case for shelf in SHELVES for case in shelf)


def find(names: Sequence[str]) -> tuple[Workload, ...]:
    """Return the cases with some names; a name is a case, a group, or FILE.py:FUNCTION.

    Without names, return all cases in order. FILE.py:FUNCTION is a user's own function.

    Raises:
        BenchError: a name is no case or group, or the user's function cannot be measured.
        GraphValueError: the user's file or function does not exist.
    """
    found: dict[str, Workload] = {}
    for name in names:
        if ".py:" in name:
            found[name] = own_workload(name)
            continue
        chosen = [case for case in CASES if name in (case.name, case.group)]
        if not chosen:
            groups = ", ".join(dict.fromkeys(case.group for case in CASES))
            remedy = f"`list` prints them; groups are {groups}; your own is FILE.py:FUNCTION"
            raise BenchError(f"the case {name}", "no case or group of that name", remedy)
        found |= {case.name: case for case in chosen}
    return tuple(found.values()) if names else CASES
