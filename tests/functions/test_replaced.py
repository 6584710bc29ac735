"""Our functions give what NumPy's give, and traced arrays of the lengths of traced arrays."""

import cmath
import math

import numpy as np
import pytest

import axiomjit
from axiomjit.functions.array_calls import call_numpy, call_ufunc, item_of_indexed
from axiomjit.functions.known_calls import Kind, kind_of_call
from axiomjit.tracing.creation import represented
from tests.functions.call_samples import MODULES, functions_of

OF_ONE = [
    *(
        math.asinh,
        math.atan,
        math.cbrt,
        math.cos,
        math.cosh,
        math.degrees,
        math.exp,
        math.exp2,
        math.expm1,
        math.fabs,
        math.isfinite,
        math.isinf,
        math.isnan,
        math.log,
        math.log10,
        math.log1p,
        math.log2,
        math.radians,
        math.sin,
        math.sinh,
        math.sqrt,
        math.tan,
        math.tanh,
    ),
    *(
        cmath.acos,
        cmath.acosh,
        cmath.asin,
        cmath.asinh,
        cmath.atan,
        cmath.atanh,
        cmath.cos,
        cmath.cosh,
        cmath.exp,
        cmath.isfinite,
        cmath.isinf,
        cmath.isnan,
        cmath.log,
        cmath.log10,
        cmath.sin,
        cmath.sinh,
        cmath.sqrt,
        cmath.tan,
        cmath.tanh,
    ),
]
REPLACED = [
    *((np.zeros, (3,)), (np.ones, ((2, 3),)), (np.full, (3, 2.5)), (np.arange, (1, 7, 2))),
    *((np.eye, (3,)), (np.identity, (3,)), (np.tri, (3,)), (np.indices, ((2, 3),))),
    *((np.linspace, (0, 1, 5)), (np.logspace, (0, 1, 5)), (np.hanning, (5,))),
    *((np.hamming, (5,)), (np.blackman, (5,)), (np.bartlett, (5,)), (np.diag_indices, (3,))),
    *((np.array, ([1, 2],)), (np.asarray, ([1, 2],)), (np.asanyarray, ([1, 2],))),
    *((np.ascontiguousarray, ([1, 2],)), (np.fft.fftfreq, (5,)), (np.fft.rfftfreq, (6,))),
    *((np.fromfunction, (np.add, (2, 3))), (len, ([1, 2],))),
    (np.ndarray, ((0, 3), int)),
    *((np.empty, (0,)), (np.random.default_rng, (3,)), (np.random.seed, (3,))),
    *((function, (2.0,)) for function in OF_ONE),
    *(
        (function, (2.0, 3.0))
        for function in (math.atan2, math.copysign, math.fmod, math.hypot, math.pow)
    ),
    *((math.acosh, (2.0,)), (math.atanh, (0.5,)), (math.acos, (0.5,)), (math.asin, (0.5,))),
]


def test_each_replaced_function_is_tried():
    found = {f for module in MODULES for f in functions_of(module, Kind.REPLACED).values()}
    assert found == {function for function, _ in REPLACED}


@pytest.mark.parametrize(("function", "args"), REPLACED)
def test_replaced_functions_give_the_same(function, args):
    ours = kind_of_call(function).inner
    wanted, found = function(*args), ours(*args)
    if function is np.random.default_rng:
        wanted, found = wanted.random(3), found.random(3)
    np.testing.assert_array_equal(found, wanted)
    assert type(found) is type(wanted)


OF_LENGTHS = [
    *(lambda f, n: f(np.zeros)(n), lambda f, n: f(np.arange)(n), lambda f, n: f(np.eye)(n)),
    *(lambda f, n: f(np.linspace)(0.0, 1.0, n), lambda f, n: f(np.hanning)(n)),
    *(lambda f, n: f(np.fft.fftfreq)(n), lambda f, n: f(np.indices)((n, 2))),
    *(lambda f, n: f(np.diag_indices)(n)[1], lambda f, n: f(np.fromfunction)(np.add, (n, n))),
    *(lambda f, n: f(np.full)((n, n), 2.5), lambda f, n: f(np.array)([n, 1.0])),
    lambda f, n: f(math.sqrt)(n) * np.ones(2),
]


@pytest.mark.parametrize("make", OF_LENGTHS)
def test_replaced_functions_make_traced_arrays(make, monkeypatch):
    @axiomjit.jit
    def followed(x):
        return x.sum() + make(lambda f: kind_of_call(f).inner, x.shape[0])

    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    for length in (3, 4, 5, 6):
        x = np.arange(float(length))
        wanted = x.sum() + make(lambda f: f, length)
        np.testing.assert_allclose(followed(x), wanted)


def by_numpy(function, *args, **named):
    """The call itself, of a function or of a method of a ufunc."""
    return function(*args, **named)


def by_ours(function, *args, **named):
    """Our call of a function or of a method of a ufunc."""
    owner = getattr(function, "__self__", None)
    if isinstance(owner, np.ufunc):
        return call_ufunc(owner, function.__name__, args, named)
    return call_numpy(function, args, named)


def filled(call, x):
    """A result in an array that is given by position."""
    out = x * 0
    call(np.add, [x[0], x[1]], 2.0, out[:2])
    return out


WITH_LISTS = [
    lambda call, x: call(np.maximum, [x[0], 1.0], 2.0),
    lambda call, x: call(np.add.reduce, [x, x], 0),
    lambda call, x: call(np.multiply.outer, [x[0], 2.0], x),
    lambda call, x: call(np.concatenate, [x, [1.0]]),
    lambda call, x: call(np.stack, [x, x], axis=1),
    lambda call, x: call(np.sum, [x[0], x[1]]),
    filled,
]


@pytest.mark.parametrize("make", WITH_LISTS)
def test_traced_arrays_in_lists_are_asked(make, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    compiled = axiomjit.jit(lambda x: make(by_ours, x))
    for length in (3, 4):
        x = np.arange(float(length))
        np.testing.assert_allclose(compiled(x), make(by_numpy, x))


OF_KEYS = [
    lambda item, x: item(np.r_, (x, 1.0, 2.0)) * 2,
    lambda item, x: item(np.c_, (x, x)) * 2,
    lambda item, x: item(np.mgrid, (slice(0, x.shape[0]), slice(2))) * x[1],
    lambda item, x: item(np.ogrid, slice(0, x.shape[0])) * x,
]


@pytest.mark.parametrize("make", OF_KEYS)
def test_objects_that_are_indexed_make_traced_arrays(make, monkeypatch):
    def ours(owner, key):
        joins = owner is np.r_ or owner is np.c_
        return item_of_indexed(owner, key) if joins else represented(owner)[key]

    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    compiled = axiomjit.jit(lambda x: make(ours, x))
    for length in (3, 4):
        x = np.arange(float(length))
        np.testing.assert_allclose(compiled(x), make(lambda owner, key: owner[key], x))
