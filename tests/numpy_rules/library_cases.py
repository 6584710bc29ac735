"""Checks of compiled functions against NumPy that the tests of library steps share."""

import warnings
from unittest.mock import patch

import numpy as np

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.symbolic.data_dependent import OtherLengthError
from tests.passes.graphs import answered, as_tuple, evaluated, run_plain_case


def outcome(function, arguments):
    """What a call gives, or the type and text of the error that it raises."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return function(*arguments)
    except Exception as error:
        return type(error), str(error).partition("\n")[0]


def assert_equal(found, want, rtol=0.0):
    """The same types, dtypes, shapes and elements; rounding may differ by `rtol`."""
    assert type(found) is type(want), (found, want)
    for one, other in zip(as_tuple(found), as_tuple(want), strict=True):
        assert (one.dtype, one.shape) == (other.dtype, other.shape)
        if rtol:
            scale = np.max(np.abs(other), initial=0.0, where=np.isfinite(other))
            np.testing.assert_allclose(one, other, rtol=rtol, atol=rtol * scale)
        else:
            np.testing.assert_array_equal(one, other)


def assert_as_numpy(function, *arguments, rtol=0.0, compiles=True):
    """Compiled, with another call, evaluated and in plain source: what NumPy gives or raises.

    Without `compiles` nothing is compiled, and calls of the program are evaluated.
    """
    want = outcome(function, arguments)
    compiled = aj.jit(function, strict=True)
    with patch.object(config, "disable", config.disable or not compiles):
        found, again = outcome(compiled, arguments), outcome(compiled, arguments)
    if isinstance(want, tuple) and want and isinstance(want[0], type):
        assert found[0] is want[0], (found, want)
        return
    assert_equal(found, want, rtol)
    assert_equal(again, want, rtol)
    case, stages = answered(compiled, *arguments)
    try:
        every = evaluated(case.graph, case), run_plain_case(case, stages.plan)
    except OtherLengthError:
        return
    for made in every:
        for one, other in zip(made, as_tuple(want), strict=True):
            assert_equal(np.asarray(one), other, rtol)


def assert_in_layouts(function, array, rtol=0.0):
    """As NumPy in every layout: all of float64 are compiled, of other dtypes one, not the same."""
    every = layouts(array)
    turn = array.dtype.num % len(every)
    for number, laid in enumerate(every):
        compiles = array.dtype == "f8" or number == turn
        assert_as_numpy(function, laid, rtol=rtol, compiles=compiles)


def layouts(array):
    """The array in C order, in Fortran order, as a view with other steps, and reversed."""
    spread = np.zeros((*array.shape[:-1], 2 * array.shape[-1]), array.dtype)[..., ::2]
    spread[...] = array
    return array, np.asfortranarray(array), spread, array[::-1].copy()[::-1]
