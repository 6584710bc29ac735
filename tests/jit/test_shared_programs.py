"""Calls that must not share a program or a plan, and calls made while another function is followed."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit as aj
from tests.generator.sequences import FUNCTIONS
from tests.graphs import as_tuple

WINDOWS = sliding_window_view(np.arange(40.0 * 7).reshape(40, 7), 5, axis=0)
GIVEN = [WINDOWS, WINDOWS[::2], np.arange(6.0 * 7 * 8).reshape(6, 7, 8), np.ones((9, 10, 11)).T]


@pytest.mark.parametrize("name", list(FUNCTIONS)[::3])
def test_a_call_while_another_function_is_followed(name):
    """Its lengths are not those of the function that is followed, though they have their names."""
    function = FUNCTIONS[name]
    inner = aj.jit(function)

    def outer(x, call):
        rows = [sum(np.asarray(part).sum() for part in as_tuple(call(array))) for array in GIVEN]
        return [x * row + x.reshape(-1)[:1] for row in rows]

    followed = aj.jit(lambda x, y: (outer(x, inner), y.T))
    for shape in ((6,), (7, 6), (9, 8, 7)):
        x, y = np.ones(shape), np.ones(shape[::-1])
        for got, want in zip(followed(x, y)[0], outer(x, function), strict=True):
            np.testing.assert_array_equal(got, want)


def test_two_arrays_while_another_function_is_followed():
    def joined(x, y):
        return np.concatenate([x, y]).sum(0), x @ y.T, np.roll(x, 2, 0), x[::2].ravel()

    inner, x, y = aj.jit(joined), np.arange(42.0).reshape(6, 7), np.arange(63.0).reshape(9, 7)
    outer = aj.jit(lambda z: z + sum(part.sum() for part in inner(x, y)))
    assert outer(np.ones(7))[0] == 1 + sum(part.sum() for part in joined(x, y))


def test_axes_while_a_function_of_arrays_is_followed():
    """Lengths of axes are no lengths of its arguments."""

    def function(x):
        rows, columns = aj.make_axis(), aj.make_axis()
        given = aj.placeholder((rows, columns))
        corner = aj.sum(aj.tensor_slice(given, [slice(1, None), slice(0, 3)]))
        tall = aj.concat_along_axis([given, given, given], rows)
        rows.length, columns.length = 6, 7
        run = aj.transformers.make_transformer().computation([corner, tall * 2], given)
        found, doubled = run(np.ones((6, 7)))
        return x + found + doubled.sum()

    assert aj.jit(function)(np.ones((9, 10)))[0, 0] == 1 + 15 + 252
