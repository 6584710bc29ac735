"""Calls that must not share a program, and calls while another function is followed."""

import numpy as np
import pytest
from numpy.lib.stride_tricks import sliding_window_view

import axiomjit as aj
from tests.generator.sequences import FUNCTIONS, way
from tests.passes.graphs import as_tuple

WINDOWS = sliding_window_view(np.arange(40.0 * 7).reshape(40, 7), 5, axis=0)
GIVEN = [WINDOWS, WINDOWS[::2], np.arange(6.0 * 7 * 8).reshape(6, 7, 8), np.ones((9, 10, 11)).T]


@pytest.fixture(autouse=True)
def plain():
    """Plans run in plain Python: what they share is the same, and nothing is compiled."""
    with way("interpreted"):
        yield


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


class Factor:
    """Two of them look the same and are not."""

    def __init__(self, value):
        self.value = value

    def __repr__(self):
        return "Factor"


ROW = aj.make_axis(6)
TOLD_APART = {
    "numbers without dimensions": (
        lambda x, k: x * k,
        [np.array(0.12345678901), np.array(0.12345678902), np.array(-0.0), np.array(0.0)],
    ),
    "numbers": (lambda x, k: x * k, [0.12345678901, 0.12345678902, 1, True, 1.0, np.float32(1)]),
    "objects": (lambda x, k: x * k.value, [Factor(2.0), Factor(3.0)]),
    "functions": (lambda x, k: k(x), [lambda x, n=n: x * n for n in range(4)]),
    "sets": (lambda x, k: x * next(iter(k)), [frozenset({v}) for v in (1, 1.0, True, 1j)]),
    "dtypes": (lambda x, k: x * k(1), [np.float64, np.int32, np.complex64]),
}


@pytest.mark.parametrize("name", TOLD_APART)
@pytest.mark.parametrize("code", ["i4", "f8"])
def test_arguments_that_are_told_apart(name, code):
    """Calls share nothing that was followed for another value."""
    function, values = TOLD_APART[name]
    named, plain = aj.jit(function), aj.jit(function)
    x = np.arange(6).astype(code)
    for value in [*values, *values[::-1]]:
        want = function(x, value)
        got = plain(x, value)
        assert got.dtype == want.dtype
        assert np.array_equal(np.signbit(got.real), np.signbit(want.real))
        np.testing.assert_array_equal(got, want)
        np.testing.assert_array_equal(named(aj.NamedArray(x, (ROW,)), value).values, want)


def test_functions_that_are_gone_are_not_taken_for_new_ones():
    f, x = aj.jit(lambda x, k: k(x)), aj.NamedArray(np.ones(6), (ROW,))
    assert [float(f(x, lambda x, n=n: x * n).values[0]) for n in range(8)] == [*range(8)]


def test_static_values_beside_named_arrays_need_no_hash():
    f, x = aj.jit(lambda x, k: x * len(k), static_argnames="k"), aj.NamedArray(np.ones(6), (ROW,))
    for k in ({1, 2}, {1, 2, 3}, {1, 2}):
        np.testing.assert_array_equal(f(x, k).values, np.full(6, len(k)))


def test_arrays_of_other_kinds_beside_named_arrays_are_refused():
    class Other:
        def __array__(self, dtype=None, copy=None):
            return np.ones(6)

    with pytest.raises(TypeError, match="beside named arrays"):
        aj.jit(lambda x, k: x * k)(aj.NamedArray(np.ones(6), (ROW,)), Other())
