"""Writes into real and imaginary parts, arrays of `np.ndarray`, and new shapes of arrays."""

import warnings

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import NeedsValuesError

RNG = np.random.default_rng(3)


def item(z, y):
    z.real[1:] = y[1:]
    return z * 2


def parts(z, y):
    z.imag = y
    return z.real, z


def numbers(z, y):
    z.imag = 0
    z.real[0] = np.inf
    z.imag[-1] = -0.0
    return z.copy()


def in_place(z, y):
    z.real += y
    z.imag *= 2


def made(z, y):
    w = np.zeros(z.shape, z.dtype)
    w.real = y
    w.imag = -0.0
    return w


def by_mask(z, y):
    z.real[y > 0] = 3
    z.imag[y < 0] = y[y < 0]


def at_positions(z, y):
    z.T.real[[0, 1, 0]] = y.T[:3]
    z[::2].imag[np.array([0, 0]), 1] = y[0, :2]


def through_a_view(z, y):
    r = z.real[::2]
    r[:, 1] = 7
    z[0] = 1j
    return r


def of_complex_values(z, y):
    z.real = z


def of_real_arrays(z, y):
    y.real[0] = 5
    y.T.real = 3
    return y.real


def exchanged(z, y):
    z.real, z.imag = z.imag.copy(), z.real.copy()


def from_neighbours(z, y):
    z.real[1:] = z.imag[:-1]
    z.imag[:, 1:] = z.imag[:, :-1] + z.real[:, 1:]


def into_out(z, y):
    np.add(y, 1, out=z.imag)
    z.real.fill(2)
    np.copyto(z.T.imag[0], 4)


def no_imaginary(z, y):
    y.imag = 3


def wrong_shape(z, y):
    z.real = y[:, :2]


def read_only(z, y):
    np.broadcast_to(z, (2, *z.shape)).real[0] = 1


def from_ndarray(z, y):
    w = np.ndarray(z.shape, y.dtype)
    w[...] = y
    v = np.ndarray((2, 3), dtype="i4", order="C")
    v.fill(7)
    return w * 2, v


def other_shape(z, y):
    w = np.ndarray(y.size)
    first = w[:2]
    w[:] = 1
    w.shape = y.shape
    w += y
    first[1] = 9
    return w, first


def inferred_shape(z, y):
    w = y[0] * 2
    w.shape = -1, 2
    return w, w.shape


def same_object(z, y):
    w = y[0].copy()
    v = w
    w.shape = (2, 3)
    return v, w is v


def of_a_view(z, y):
    row = y[1]
    row.shape = (3, 2)
    row[2] = -5
    return row


CASES = {
    one.__name__: one
    for one in (
        *(item, parts, numbers, in_place, made, by_mask, at_positions, through_a_view),
        *(of_complex_values, of_real_arrays, exchanged, from_neighbours, into_out),
        *(no_imaginary, wrong_shape, read_only, from_ndarray, other_shape),
        *(inferred_shape, same_object, of_a_view),
    )
}


def arguments(code, layout):
    values = RNG.normal(size=(2, 4, 6))
    z = (values[0] + 1j * values[1]).astype(code)
    y = RNG.normal(size=(4, 6)).astype(z.real.dtype)
    if layout == "spread":
        wide = np.zeros((4, 12), code)
        wide[:, ::2] = z
        return wide[:, ::2], y
    return (z, y) if layout == "C" else (np.asfortranarray(z), np.asfortranarray(y))


def outcome(function, given):
    """Return the result or the error of a call, and its arguments after the call."""
    z, y = given
    base = z if z.base is None else z.base
    whole, other = base.copy(order="K"), y.copy(order="K")
    z = whole if z.base is None else whole[:, ::2]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            made = function(z, other)
        except Exception as error:
            kinds = (TypeError, AttributeError, ValueError)
            made = next((kind for kind in kinds if isinstance(error, kind)), repr(error))
    return made, whole, other


def bits(value):
    if isinstance(value, tuple):
        return [bits(one) for one in value]
    if isinstance(value, np.ndarray | np.generic):
        return value.dtype, value.shape, value.tobytes()
    return value


@pytest.mark.parametrize("layout", ["C", "F", "spread"])
@pytest.mark.parametrize("code", ["c8", "c16"])
@pytest.mark.parametrize("name", CASES)
def test_writes_are_numpys(name, code, layout, monkeypatch):
    """By the evaluator; results, arguments and errors."""
    monkeypatch.setattr(aj.config, "disable", True)
    given = arguments(code, layout)
    wanted = outcome(CASES[name], given)
    assert bits(outcome(aj.jit(CASES[name], strict=True), given)) == bits(wanted)


@pytest.mark.parametrize("name", CASES)
def test_compiled(name):
    for layout in ("C", "F"):
        given = arguments("c16", layout)
        wanted = outcome(CASES[name], given)
        assert bits(outcome(aj.jit(CASES[name], strict=True), given)) == bits(wanted)


def test_one_pass_in_place():
    def double(z, y):
        z.real = y * 2

    lowered = aj.jit(double).lower(np.ones((30, 40), complex), np.ones((30, 40)))
    assert (lowered.cost.kernels, lowered.cost.temporary_bytes) == (1, 0)


def shape_of_an_argument(z, y):
    y.shape = -1


def shape_of_a_computed_array(z, y):
    w = y * 2
    w.shape = -1
    return w


def by_a_ufunc_at_positions(z, y):
    np.add.at(z.real, [0], 1.0)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "function", [shape_of_an_argument, shape_of_a_computed_array, by_a_ufunc_at_positions]
)
def test_what_is_left_to_numpy(function):
    with pytest.raises(NeedsValuesError):
        aj.jit(function, strict=True)(*arguments("c16", "C"))
    given, same = arguments("c16", "C"), arguments("c16", "C")
    made, wanted = aj.jit(function)(*given), function(*(one.copy() for one in given))
    assert bits(made) == bits(wanted)
    assert (given[1].shape == same[1].shape) == (function is not shape_of_an_argument)
