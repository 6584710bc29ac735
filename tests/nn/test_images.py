"""Layers of images against naive loops and torch."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError, GraphValueError

RNG = np.random.default_rng(0)
X = RNG.integers(-4, 5, (2, 6, 9, 3)) * 1.0
WEIGHTS = RNG.integers(-4, 5, (5, 3, 2, 3)) * 1.0


def places(length, window, stride, dilation, padded):
    """For each place of a window the elements of it that there are, and where in it they are."""
    reach = dilation * (window - 1)
    count = length // stride if padded else (length - 1 - reach) // stride + 1
    before = reach // 2 if padded else 0
    for place in range(count):
        found = [(place * stride + dilation * k - before, k) for k in range(window)]
        yield [(at, k) for at, k in found if 0 <= at < length]


def naive_convolution(x, weights, stride, dilation, padded):
    """Element by element."""
    down = list(places(x.shape[1], weights.shape[1], stride[0], dilation[0], padded))
    right = list(places(x.shape[2], weights.shape[2], stride[1], dilation[1], padded))
    result = np.zeros((len(x), len(down), len(right), len(weights)), x.dtype)
    for r, rows in enumerate(down):
        for c, columns in enumerate(right):
            for at, k in rows:
                for to, j in columns:
                    result[:, r, c] += x[:, at, to] @ weights[:, k, j].T
    return result


def naive_pooling(x, window, stride, padded, reduce):
    """Window by window."""
    down = list(places(x.shape[1], window[0], stride[0], 1, padded))
    right = list(places(x.shape[2], window[1], stride[1], 1, padded))
    result = np.zeros((len(x), len(down), len(right), x.shape[-1]))
    for r, rows in enumerate(down):
        for c, columns in enumerate(right):
            seen = x[:, [at for at, _ in rows]][:, :, [to for to, _ in columns]]
            result[:, r, c] = reduce(seen, axis=(1, 2))
    return result


@pytest.mark.parametrize(
    ("stride", "dilation", "padded"),
    [
        ((1, 1), (1, 1), False),
        ((1, 1), (1, 1), True),
        ((1, 1), (2, 3), True),
        ((3, 1), (1, 2), True),
        ((1, 7), (2, 1), False),
    ],
)
def test_conv2d(stride, dilation, padded):
    settings = {"stride": stride, "dilation": dilation, "use_padding": padded}
    want = naive_convolution(X, WEIGHTS, stride, dilation, padded)
    np.testing.assert_array_equal(aj.nn.conv2d(X, WEIGHTS, **settings), want)
    traced = aj.jit(lambda x, w: aj.nn.conv2d(x, w, **settings))
    np.testing.assert_array_equal(traced(X, WEIGHTS), want)
    whole = traced(X.astype("i4"), WEIGHTS.astype("i4"))
    np.testing.assert_array_equal(whole, want.astype("i4"))


def test_conv2d_of_many_channels_is_a_product_of_matrices():
    x, w = RNG.random((2, 6, 7, 16), np.float32), RNG.random((24, 3, 3, 16), np.float32)
    function = aj.jit(lambda x, w: aj.nn.conv2d(x, w, use_padding=True))
    want = naive_convolution(x, w, (1, 1), (1, 1), True)
    np.testing.assert_allclose(function(x, w), want, rtol=2e-5)
    assert "convolution" in str(function.lower(x, w).loops)


def test_conv2d_agrees_with_torch():
    torch = pytest.importorskip("torch")
    x, w = torch.from_numpy(X.copy()), torch.from_numpy(WEIGHTS[:, :, :1].copy())
    images, filters = x.permute(0, 3, 1, 2), w.permute(0, 3, 1, 2)
    want = torch.nn.functional.conv2d(images, filters, padding=(1, 0)).permute(0, 2, 3, 1).numpy()
    got = aj.nn.conv2d(X, WEIGHTS[:, :, :1], use_padding=True)
    np.testing.assert_allclose(got, want, rtol=1e-12)
    want = torch.nn.functional.max_pool2d(images, 3).permute(0, 2, 3, 1).numpy()
    np.testing.assert_array_equal(aj.nn.max_pool(X, 3), want)


@pytest.mark.parametrize(
    ("window", "stride", "padded"),
    [((2, 3), None, False), ((3, 2), (1, 1), True), ((3, 4), (2, 3), True)],
)
def test_pooling(window, stride, padded):
    settings = {"stride": stride, "use_padding": padded}
    for layer, reduce in ((aj.nn.max_pool, np.max), (aj.nn.avg_pool, np.mean)):
        want = naive_pooling(X, window, stride or window, padded, reduce)
        np.testing.assert_allclose(layer(X, window, **settings), want, rtol=1e-14)
        compiled = aj.jit(lambda x, layer=layer: layer(x, window, **settings))
        np.testing.assert_allclose(compiled(X), want, rtol=1e-14)


def test_tensors_with_a_shape():
    x, w = aj.tensor(X, batch=2, input=(), output=(6, 9, 3)), aj.tensor(WEIGHTS, exact=True)
    result = aj.nn.conv2d(x, w, use_padding=True)
    assert result.shape.dims == (2, 6, 9, 5)
    assert str(w.shape) == "3,2,3->5"
    want = naive_convolution(X, WEIGHTS, (1, 1), (1, 1), True)
    np.testing.assert_array_equal(np.asarray(result), want)


def test_refused():
    with pytest.raises(aj.ShapeError, match="tile|stride|divi"):
        aj.nn.max_pool(X, 4)
    with pytest.raises(GraphTypeError, match="stride= of a layer"):
        aj.nn.conv2d(X, WEIGHTS, stride=1.5)
    with pytest.raises(GraphValueError, match="window="):
        aj.nn.avg_pool(X, 0)
