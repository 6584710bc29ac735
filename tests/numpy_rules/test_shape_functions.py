"""Functions that look at an array in another way give the views that NumPy gives, or its errors."""

import numpy as np
import pytest

import axiomjit
from tests.numpy_rules.test_numpy_agreement import assert_alike, pairs

BASE = np.arange(240.0)
LAYOUTS = {
    "C": lambda: BASE[:120].copy().reshape(5, 6, 4),
    "F": lambda: np.asfortranarray(BASE[:120].reshape(5, 6, 4)),
    "spread": lambda: BASE.copy().reshape(5, 6, 8)[..., ::2],
    "backward": lambda: BASE[:120].copy().reshape(5, 6, 4)[::-1, :, ::-1],
    "constant": lambda: np.broadcast_to(BASE[:24].reshape(6, 4), (5, 6, 4)),
    "empty": lambda: np.zeros((5, 0, 6)),
}
VIEWS = {
    "swapped": lambda x: (x.swapaxes(0, -1), np.swapaxes(x, 1, 2), x.mT, np.matrix_transpose(x)),
    "moved": lambda x: (
        np.moveaxis(x, 0, -1),
        np.moveaxis(x, [0, 2], [1, 0]),
        np.rollaxis(x, 2),
        np.rollaxis(x, 0, 3),
        np.rollaxis(x, -1, 1),
    ),
    "ones": lambda x: (
        x[:, :, None].squeeze(),
        x[None, :, None].squeeze(0),
        np.squeeze(x[None, :, None], axis=(0, 2)),
        np.expand_dims(x, 1),
        np.expand_dims(x, (0, -1)),
    ),
    "stretched": lambda x: (
        np.broadcast_to(x, (3, *x.shape)),
        np.broadcast_to(x, x.shape),
        np.broadcast_to(x[:, :1], x.shape)[1:],
        np.broadcast_to(x, x.shape).T,
    ),
    "diagonals": lambda x: (
        x.diagonal(),
        np.diagonal(x, 2),
        np.diagonal(x, -1, 1, 2),
        np.diagonal(x, axis1=-1, axis2=0)[..., 1:],
        np.diagonal(x, 40),
        np.diagonal(x, -40),
    ),
    "flipped": lambda x: (
        np.flip(x),
        np.flip(x, 1),
        np.flip(x, (0, -1)),
        np.flipud(x),
        np.fliplr(x),
    ),
    "turned": lambda x: tuple(np.rot90(x, k, axes) for k in range(5) for axes in ((0, 1), (2, 0))),
    "at least": lambda x: (
        np.atleast_1d(x),
        np.atleast_2d(x[0]),
        *np.atleast_3d(x[0], x[0, :, 0]),
    ),
}
COMPILED = {name: axiomjit.jit(f) for name, f in VIEWS.items()}


def assert_views_alike(got, want, x):
    """Equal values, memory shared where NumPy shares it, writable where NumPy says so."""
    assert_alike(got, want)
    for result, expected in pairs(got, want):
        assert np.shares_memory(result, x) == np.shares_memory(expected, x)
        if isinstance(expected, np.ndarray) and expected.size:
            assert result.flags.writeable == expected.flags.writeable
            steps = zip(result.strides, expected.strides, expected.shape, strict=True)
            assert all(a == b for a, b, n in steps if n > 1)


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", VIEWS)
def test_views(name, layout):
    x = LAYOUTS[layout]()
    with np.errstate(all="ignore"):
        assert_views_alike(COMPILED[name](x), VIEWS[name](x), x)


SMALL = {
    "no dimensions": lambda x: tuple(np.atleast_1d(x, np.squeeze(x), np.expand_dims(x, 0))),
    "growing": lambda x: (
        np.atleast_2d(x),
        np.atleast_3d(x),
        np.flip(x),
        np.expand_dims(x, (0, 1)),
    ),
}


@pytest.mark.parametrize("name", SMALL)
def test_views_of_an_array_without_dimensions(name):
    x = np.array(2.5)
    assert_views_alike(axiomjit.jit(SMALL[name])(x), SMALL[name](x), x)


def test_views_of_computed_values_and_of_numbers():
    def function(x, r):
        y = x * 2.0
        return (
            np.diagonal(y) + np.squeeze(y[:, :1]),
            np.rot90(y) - np.flip(y),
            np.moveaxis(y, 0, 1)[::-1],
            np.atleast_1d(r) * y,
            np.broadcast_to(r, (2, 3)),
            np.expand_dims(y.diagonal(1), 0) @ np.broadcast_to(y[0], (4, 5)),
        )

    x = np.random.default_rng(1).normal(size=(5, 5))
    assert_alike(axiomjit.jit(function)(x, 1.5), function(x, 1.5), 1e-15)


def test_broadcast_arrays_stretches_what_is_shorter():
    x, y = np.arange(6.0).reshape(2, 3), np.arange(3.0)
    got = axiomjit.jit(lambda x, y: np.broadcast_arrays(x, y, 1.5))(x, y)
    assert_alike(got, np.broadcast_arrays(x, y, 1.5))
    assert np.shares_memory(got[0], x)
    assert np.shares_memory(got[1], y)
    assert [a.flags.writeable for a in got] == [True, False, False]


def test_views_of_other_lengths_need_no_new_program():
    function = axiomjit.jit(lambda x: (np.diagonal(x), np.rot90(x), np.flip(x, 0) + x))
    for n in (7, 9, 12):
        x = np.arange(n * n * 1.0).reshape(n, n)
        assert_views_alike(function(x)[:2], (np.diagonal(x), np.rot90(x)), x)
    assert function.cache_info().traced == 1


WRONG = {
    "swapaxes": lambda x: np.swapaxes(x, 0, 3),
    "swapaxes below": lambda x: x.swapaxes(-4, 0),
    "matrix_transpose": lambda x: np.matrix_transpose(x[0, 0]),
    "moveaxis": lambda x: np.moveaxis(x, 0, 5),
    "moveaxis twice": lambda x: np.moveaxis(x, [0, 0], [0, 1]),
    "moveaxis fewer": lambda x: np.moveaxis(x, [0, 1], [0]),
    "rollaxis": lambda x: np.rollaxis(x, 0, 7),
    "squeeze": lambda x: np.squeeze(x, 0),
    "squeeze beyond": lambda x: x.squeeze(3),
    "expand_dims": lambda x: np.expand_dims(x, 5),
    "expand_dims twice": lambda x: np.expand_dims(x, (0, 0)),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 2)),
    "broadcast_to fewer": lambda x: np.broadcast_to(x, x.shape[1:]),
    "diagonal of a row": lambda x: x[0, 0].diagonal(),
    "diagonal of one": lambda x: x.diagonal(0, 1, 1),
    "diagonal beyond": lambda x: np.diagonal(x, 0, 0, 3),
    "flip": lambda x: np.flip(x, 3),
    "fliplr": lambda x: np.fliplr(x[0, 0]),
    "flipud": lambda x: np.flipud(x[0, 0, 0]),
    "rot90": lambda x: np.rot90(x, 1, (0, 3)),
    "rot90 in one": lambda x: np.rot90(x, 1, (0, -3)),
    "rot90 in three": lambda x: np.rot90(x, 1, (0, 1, 2)),
    "broadcast_arrays": lambda x: np.broadcast_arrays(x, x[:, 1:]),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_arguments_raise_what_numpy_raises(name):
    x = LAYOUTS["C"]()
    with pytest.raises(Exception) as expected:  # noqa: PT011 - whatever NumPy raises
        WRONG[name](x)
    with pytest.raises(expected.type):
        axiomjit.jit(WRONG[name])(x)
