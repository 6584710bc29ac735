"""Gradients of functions that write into arrays, choose by masks and scatter."""

import numpy as np
import pytest

import axiomjit as aj
from tests.gradients.evaluated import differences

R = np.random.default_rng(5)
X = R.normal(size=(4, 5))
K = np.array([0, 2, 2, 1])


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


def filled(x):
    y = np.zeros((6, 5))
    y[1:5] = x * x
    y[::2] += y[1::2]
    return (y**2).sum()


def in_place(x):
    y = x.copy()
    y *= x
    y[1] = y[0] * 2
    y[:, 1:] -= y[:, :-1]
    y[-1, ::-2] = 3.0
    return (y * y).sum()


def argument(x):
    x[2] = x[1] * x[0]
    x += 1
    return (x * x * x).sum()


def view(x):
    y = x * 1.0
    z = y.T[1:3]
    z[...] = z * z
    y[0] = y[1]
    return (y * np.arange(5)).sum() + z.sum()


def mask(x):
    y = x * x
    y[x < 0] = 0.0
    y[x > 1] *= 2
    return (y * x).sum() + (x[x > 0] ** 3).sum()


def positions(x):
    y = np.zeros((3, 5))
    y[K] = x * x
    return (y**2).sum()


def scatter_add(x):
    y = np.ones((3, 5))
    np.add.at(y, K, x * x)
    return (y**2).sum()


def scatter_subtract(x):
    y = np.ones((3, 5))
    np.subtract.at(y, K, x * x)
    return (y**3).sum()


def scatter_max(x):
    y = np.zeros((3, 5))
    np.maximum.at(y, K, x)
    return (y**3).sum()


def scatter_min(x):
    y = np.zeros((3, 5))
    np.minimum.at(y, K, x)
    return (y**3).sum()


def diagonal(x):
    y = x[:4, :4] * 1.0
    y[np.arange(4), np.arange(4)] = 2.0
    return (y @ y).sum()


def loop(x):
    y = x[0] * 1.0
    for row in x[1:]:
        y = np.tanh(y) * row + y
    return (y * y).sum()


def stencil(x):
    y = x.copy()
    for _ in range(3):
        y[1:-1, 1:-1] = 0.25 * (y[:-2, 1:-1] + y[2:, 1:-1] + y[1:-1, :-2] + y[1:-1, 2:])
    return (y**2).sum()


def bincount(x):
    return (np.take(x, K, axis=0) ** 2).sum() + (x[np.newaxis, K, 0] ** 2).sum()


def choice(x):
    return np.select([x > 1, x > 0], [x * x, x * x * x], -x).sum() + np.where(x > 0, x, 2 * x).sum()


def placed(x):
    y = np.zeros(8)
    np.put(y, [1, 3, 5], x[0, :3] ** 2)
    y.flat[2] = x[1, 1] ** 2
    return (y * np.arange(8)).sum()


PROGRAMS = [
    *(filled, in_place, argument, view, mask, positions, scatter_add, scatter_subtract),
    *(scatter_max, scatter_min, diagonal, loop, stencil, bincount, choice, placed),
]


def untouched(function):
    return lambda x: function(x.copy())


@pytest.mark.parametrize("function", PROGRAMS)
def test_programs_that_write(function):
    wanted = differences(untouched(function), [X])[0]
    found = aj.grad(function)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("function", [filled, in_place, mask, scatter_add, positions, stencil])
def test_second_derivatives_of_programs_that_write(function):
    def first(x):
        return (aj.grad(function)(x) * np.arange(1.0, 6)).sum()

    wanted = differences(first, [X], step=1e-2)[0]
    found = aj.grad(first)(X)
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1e-6)


def test_ties_of_scatters_share_evenly():
    def f(x):
        y = np.zeros(2)
        np.maximum.at(y, np.array([0, 0, 1]), x)
        return y.sum()

    found = aj.grad(f)(np.array([1.0, 1.0, 0.0]))
    np.testing.assert_allclose(found, [0.5, 0.5, 0.5])
