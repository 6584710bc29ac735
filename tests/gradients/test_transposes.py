"""The adjoints of reads: views, broadcasts, joins, gathers, windows, products."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from tests.gradients.evaluated import check

R = np.random.default_rng(1)
X = R.normal(size=(4, 6))
Y = R.normal(size=(6, 3))
V = R.normal(size=6)
CASES = {
    "sum": lambda x: np.sum(x * x, axis=0),
    "mean": lambda x: np.mean(x * x, axis=(0, 1)),
    "transpose": lambda x: np.transpose(x) ** 2,
    "slice": lambda x: x[1:3, ::-1] ** 3,
    "strided": lambda x: x[::2, 1::3] ** 3,
    "backward strided": lambda x: x[::-2, ::-3] ** 3,
    "one": lambda x: x[1] ** 3 + x[-1],
    "new axis": lambda x: (x[:, None] * x[None]) ** 2,
    "reshape": lambda x: np.reshape(x * x, (3, 8)) ** 3,
    "flat": lambda x: np.reshape(x, (-1,)) ** 3,
    "split": lambda x: np.reshape(x, (2, 2, 6)) ** 3,
    "merge": lambda x: np.reshape(np.transpose(x) ** 2, (24,)) ** 3,
    "diagonal": lambda x: np.diagonal(x) ** 3,
    "trace": lambda x: np.trace(x) ** 2,
    "concatenate": lambda x: np.concatenate([x, x[:2] * 2, -x]) ** 2,
    "stack": lambda x: np.stack([x, x * x], axis=1) ** 2,
    "pad": lambda x: np.pad(x, ((1, 2), (0, 1))) ** 2 + 1,
    "pad edge": lambda x: np.pad(x, 1, mode="edge") ** 2,
    "pad reflect": lambda x: np.pad(x, 2, mode="reflect") ** 2,
    "roll": lambda x: np.roll(x, 2, axis=1) * x,
    "tile": lambda x: np.tile(x, (2, 3)) ** 2,
    "repeat": lambda x: np.repeat(x, 3, axis=0) ** 2,
    "gather": lambda x: x[np.array([0, 2, 2, -1])] ** 2,
    "gather two": lambda x: x[np.array([0, 2, 2]), np.array([1, 1, 1])] ** 2,
    "gather mixed": lambda x: x[:, np.array([[0, 2], [2, 5]])] ** 2,
    "take": lambda x: np.take(x, [1, 1, 3], axis=1) ** 2,
    "take along": lambda x: np.take_along_axis(x, np.argsort(x, axis=1), axis=1) ** 3,
    "where": lambda x: np.where(x > 0, x * x, -3 * x),
    "windows": lambda x: np.lib.stride_tricks.sliding_window_view(x, 3, axis=1).sum(-1) ** 2,
    "products of windows": lambda x: np.prod(
        np.lib.stride_tricks.sliding_window_view(x, (2, 2)), axis=(-1, -2)
    ),
    "diff": lambda x: np.diff(x, 2, axis=1) ** 2,
    "gradient": lambda x: np.gradient(x, axis=0) ** 2,
    "trapezoid": lambda x: np.trapezoid(x * x, axis=1),
    "cross": lambda x: np.cross(x[:, :3], x[:, 3:]),
    "kron": lambda x: np.kron(x, x[:2, :2]),
    "outer": lambda x: np.outer(x, x),
    "triangle": lambda x: np.triu(x) @ np.tril(x).T,
    "flip": lambda x: np.flip(x, 1) * x,
    "sort": lambda x: np.sort(x, axis=0) ** 3,
}


@pytest.mark.parametrize("name", CASES)
def test_views_and_moves(name):
    check(CASES[name], X)


RESHAPES = [
    *(((6, 5, 5), (6, -1)), ((6, 5, 5), (-1, 5)), ((6, 5, 5), (10, -1)), ((6, 5, 5), (-1, 25))),
    *(((6, 6, 6), (6, -1)), ((6, 6, 6), (-1, 6)), ((6, 4, 4), (3, -1)), ((4, 6), (-1, 4))),
    *(((4, 4), (2, -1)), ((4, 4, 4), (2, 8, -1)), ((12,), (4, -1)), ((3, 8), (-1, 12))),
]


@pytest.mark.parametrize(("shape", "new"), RESHAPES, ids=str)
def test_symbols_of_a_reshape_may_equal_numbers(shape, new, monkeypatch):
    """The lengths of an argument are symbols, and guards make them equal to those of `new`."""
    monkeypatch.setattr(config, "disable", True)
    x, weights = np.random.default_rng(3).normal(size=(2, *shape))
    for w in (weights.reshape(new), weights.reshape(new)[:, :1]):
        gradient = aj.grad(lambda x, w: (np.exp(x).reshape(new) * w).sum())
        plain = (np.exp(x).reshape(new) * w).reshape(shape)
        assert np.allclose(gradient(x, w), plain, rtol=1e-14, atol=0)
        turned = aj.grad(lambda x, w: (np.exp(x).T.reshape(new) * w).sum())
        plain = (np.exp(x).T.reshape(new) * w).reshape(shape[::-1]).T
        assert np.allclose(turned(x, w), plain, rtol=1e-14, atol=0)
    largest = aj.grad(lambda x: x.reshape(new).max(axis=-1).sum())(x)
    rows = x.reshape(new)
    assert np.array_equal(largest.reshape(new), rows == rows.max(axis=-1, keepdims=True))


PRODUCTS = {
    "matmul": (lambda x, y: x @ y, X, Y),
    "dot with a vector": (lambda x, y: x @ y, X, V),
    "inner": (lambda x, y: np.dot(x, y), V, V * 2),
    "stack": (lambda x, y: x @ y, R.normal(size=(2, 3, 4)), R.normal(size=(4, 5))),
    "einsum": (lambda x, y: np.einsum("ij,jk->ki", x, y), X, Y),
    "einsum three": (lambda x, y, v: np.einsum("ij,jk,j->ik", x, y, v), X, Y, V),
    "einsum diagonal": (lambda x: np.einsum("ii->i", x[:, :4]) ** 2, X),
    "broadcast": (lambda x, v: x * v, X, V),
    "column": (lambda x, v: x / v, X, R.uniform(1, 2, (4, 1))),
    "tensordot": (lambda x, y: np.tensordot(x, y, 1), X, Y),
    "distances": (
        lambda x, y: np.sqrt(((x[:, None, :] - y[None]) ** 2).sum(-1)),
        R.normal(size=(3, 2)),
        R.normal(size=(4, 2)),
    ),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name):
    function, *arrays = PRODUCTS[name]
    check(function, *arrays)


def chosen_outers(x, m):
    n, a = x.shape[0], m * 1.0
    for i in range(n - 1, 0, -1):
        if m[i, 0] > 0.5:
            a = 0.3 * a + np.outer(x, x) * x[i]
    return np.sin(a.reshape(n * n)[::-1].reshape(n, n))


def turned_anew(x, m):
    n, a = x.shape[0], m * x
    for _ in range(n - 1):
        a = 0.5 * a + np.sin(a.reshape(n * n).reshape(n, n).T)
    return a


@pytest.mark.parametrize("function", [chosen_outers, turned_anew])
def test_flat_views_have_one_adjoint_in_every_transform(function):
    draw = np.random.default_rng(5)
    for n in (6, 9):
        x, along = draw.normal(size=(2, n))
        m, weights, around = draw.normal(size=(3, n, n))
        m[n - 1, 0] = 1.0
        _, pushed = aj.jvp(function, (x, m), (along, around))
        _, pullback = aj.vjp(function, x, m)
        loss = lambda x, m, w=weights: (function(x, m) * w).sum()  # noqa: E731
        found = [pullback(weights), aj.grad(loss, argnums=(0, 1))(x, m)]
        slopes = [(gx * along).sum() + (gm * around).sum() for gx, gm in found]
        ends = [loss(x + h * along, m + h * around) for h in (1e-6, -1e-6)]
        wanted = (ends[0] - ends[1]) / 2e-6
        assert np.allclose([(weights * pushed).sum(), *slopes], wanted, rtol=1e-6, atol=1e-7)
