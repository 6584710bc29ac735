"""Telling programs, followed for example arguments: one case each, made when asked for."""

from collections.abc import Callable

import numpy as np

from tests.passes.graphs import Case, follow


def numbers(*shape: int, dtype: str = "f8") -> np.ndarray:
    """Small whole numbers, negative ones among them."""
    return (np.arange(np.prod(shape, dtype=int)) % 11 - 4).reshape(shape).astype(dtype)


def l2(x, y):
    return np.sqrt(np.dot(x - y, x - y))


def sums_and_map(x):
    return x.sum(), x.max(), x * 2.0


def rows_and_columns(x):
    return x.sum(axis=1), x.sum(axis=0)


def centred(x):
    return x - x.mean(axis=1, keepdims=True)


def strided(x, y):
    return x.T + y[::2, ::-1]


def product(a, b, c):
    return np.maximum(np.dot(a - 1.0, b) + c, 0.0)


def undone(x):
    return abs(-(x[1:] - 1.0)), np.negative(-x[:-1]) * 3.0


def mapped(x, y):
    return np.where(x > y, np.sqrt(x), -y)


def reversed_join(x, y):
    """The sums of the columns of reversed rows, one array below the other."""
    return np.concatenate([x, y], axis=0).sum(axis=0)


def total(x):
    return x.sum()


def planes(x):
    return x.sum(axis=0)


def products(x):
    return x.prod(), x.prod(axis=0)


def tests(x):
    return (x > 2.0).any(), x.all(axis=1)


def masked(x):
    return x.max(axis=1, where=x < 3.0, initial=-1.0)


def merged(x):
    return (x.T - 1.0).reshape(-1, 2) * 2.0


def complexes(x, y):
    return x * y.conj() + 1j, (x * y).sum(axis=1)


def parts(x):
    return x.T.real, x[::2].imag, np.real(x * 2.0), x.real + x.imag


def padded(x):
    p = np.pad(x, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] - p[1:-1, 1:-1] * 2.0


def joined(x, y):
    return np.concatenate([x, y * 2.0]).sum(axis=1), np.stack([x, -x], axis=1)


def many_parts(x):
    """A join of rows, and one of joins of columns that is read through a slice."""
    rows = np.concatenate([x[k : k + 2] * 2.0 for k in range(17)])
    columns = [np.concatenate([x[:, k : k + 30] * 3.0, x[:, :9] / 2.0], axis=1) for k in range(9)]
    return rows, np.concatenate(columns)[1:, ::-1] - 1.0


def remainder(x, y, k):
    return np.sqrt(x * y + 1.0) * (k % 7) + x / y, k % 7


def remainders(x, k):
    t = ((k * 3 + 1) // 5 ^ k) % 11
    return (np.sqrt(x + t) / x).sum(axis=0)


def remainder_total(x, k):
    return (np.sqrt(x) / (k % 7 + 1)).sum()


def chained(x, y):
    return np.exp(np.sin(x) * y) + np.log(y)


def chained_total(x, y):
    return np.log(np.tanh(np.exp(x)) + y).sum()


_MAKERS: dict[str, Callable[[], Case]] = {
    "l2": lambda: follow(l2, numbers(3000), numbers(3000) + 1),
    "sums_and_map": lambda: follow(sums_and_map, numbers(3000)),
    "rows_and_columns": lambda: follow(rows_and_columns, numbers(40, 2000)),
    "centred": lambda: follow(centred, numbers(5, 7)),
    "strided": lambda: follow(strided, numbers(5, 6), numbers(12, 5)),
    "product": lambda: follow(product, numbers(5, 6), numbers(6, 7), numbers(7)),
    "undone": lambda: follow(undone, numbers(9)),
    "mapped": lambda: follow(mapped, numbers(6, 7), numbers(6, 7)),
    "total": lambda: follow(total, numbers(6, 7).T),
    "reversed_total": lambda: follow(total, numbers(6, 7)[::-1]),
    "reversed_join": lambda: follow(reversed_join, numbers(6, 7)[::-1], numbers(5, 7)[::-1]),
    "planes": lambda: follow(planes, numbers(6, 5, 7)),
    "products": lambda: follow(products, numbers(3000, 5)),
    "tests": lambda: follow(tests, numbers(40, 2000)),
    "masked": lambda: follow(masked, numbers(6, 7)),
    "merged": lambda: follow(merged, numbers(6, 7)),
    "complexes": lambda: follow(complexes, *[numbers(3, 2000, dtype="c16")] * 2),
    "parts": lambda: follow(parts, numbers(6, 7, dtype="c16")),
    "padded": lambda: follow(padded, numbers(6, 7)),
    "joined": lambda: follow(joined, numbers(6, 7), numbers(5, 7)),
    "many_parts": lambda: follow(many_parts, numbers(20, 40)),
    "remainder": lambda: follow(
        remainder, numbers(3000) + 5, numbers(3000) + 6, numbers(3000, dtype="i8")
    ),
    "remainders": lambda: follow(remainders, numbers(40, 2000) + 5, numbers(40, 2000, dtype="i8")),
    "remainder_total": lambda: follow(
        remainder_total, numbers(3000) + 5, numbers(3000).astype("i8")
    ),
    "chained": lambda: follow(chained, numbers(3000), numbers(3000) + 5),
    "chained_total": lambda: follow(chained_total, numbers(3000), numbers(3000) + 5),
    "single": lambda: follow(lambda x: x + 1.0, numbers(9)),
}
NAMES = tuple(_MAKERS)


def example(name: str) -> Case:
    """The case of this name."""
    return _MAKERS[name]()
