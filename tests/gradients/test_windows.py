"""Gradients of convolutions and pooling in the axis language: strides, padding, dilation."""

import itertools

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.transformers import make_transformer

R = np.random.default_rng(7)
ROWS, COLUMNS = aj.make_axis_role("rows"), aj.make_axis_role("columns")
N, C, K = (aj.make_axis(length=n, name=name) for n, name in ((2, "n"), (3, "c"), (2, "k")))
H = aj.make_axis(length=7, name="h", roles=[ROWS])
W = aj.make_axis(length=6, name="w", roles=[COLUMNS])
P = aj.make_axis(length=3, name="p", roles=[ROWS])
Q = aj.make_axis(length=2, name="q", roles=[COLUMNS])
X = R.normal(size=(2, 3, 7, 6))
F = R.normal(size=(3, 3, 2, 2))
SETTINGS = list(itertools.product((1, 2, 3), ((0, 1), (1, 2), ((2, 0), 1))))


@pytest.fixture(autouse=True)
def _in_numpy(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)


def computed(output, *pairs):
    tensors, arrays = zip(*pairs, strict=True)
    return make_transformer().computation(output, *tensors)(*arrays)


def differences(output, pairs, number, count=6):
    """Differences of a sum by a few elements of a placeholder, and their places."""
    run = make_transformer().computation(output, *(tensor for tensor, _ in pairs))
    arrays = [array for _, array in pairs]
    found = []
    places = [tuple(R.integers(n) for n in arrays[number].shape) for _ in range(count)]
    for place in places:
        values = []
        for step in (-1e-5, 1e-5):
            moved = [a.copy() for a in arrays]
            moved[number][place] += step
            values.append(float(run(*moved)))
        found.append((values[1] - values[0]) / 2e-5)
    return places, found


def agrees(output, pairs):
    for number, (tensor, _) in enumerate(pairs):
        gradient = computed(aj.deriv(output, tensor), *pairs)
        places, wanted = differences(output, pairs, number)
        np.testing.assert_allclose([gradient[p] for p in places], wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(("strides", "others"), SETTINGS)
def test_convolutions(strides, others):
    padding, dilation = others
    x, f = aj.placeholder([N, C, H, W]), aj.placeholder([C, P, Q, K])
    made = aj.convolution(x, f, strides=strides, padding=padding, dilation=dilation)
    agrees(aj.sum(aj.tanh(made)), [(x, X), (f, F)])


@pytest.mark.parametrize("op", ["max", "min", "sum", "mean"])
@pytest.mark.parametrize(("strides", "padding"), [(None, 0), (1, 0), (2, 1), (3, 0)])
def test_pooling(op, strides, padding):
    x = aj.placeholder([N, C, H, W])
    made = aj.pooling(x, {"h": 3, "w": 2}, op=op, strides=strides, padding=padding)
    agrees(aj.sum(made * made), [(x, X)])


def test_second_derivatives_of_a_convolution():
    x, f = aj.placeholder([N, C, H, W]), aj.placeholder([C, P, Q, K])
    made = aj.convolution(x, f, strides=2, padding=1)
    first = aj.deriv(aj.sum(made * made * made), f)
    agrees(aj.sum(first * first), [(x, X), (f, F)])
