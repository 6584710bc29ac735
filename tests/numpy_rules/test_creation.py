"""Arrays that a followed function makes: NumPy's functions are ours in the copy of it."""

import functools
import math
import types

import numpy as np
import pytest
from numpy import zeros

import axiomjit
from axiomjit.base.errors import FallbackWarning
from axiomjit.numpy_rules.creation import CONVERTERS, COUNTERS, FUNCTIONS, MAKERS

X = np.arange(42.0).reshape(6, 7)
CALLS = 0

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


def agrees(function, *arguments):
    given = [np.array(a) if isinstance(a, np.ndarray) else a for a in arguments]
    want = function(*given)
    compiled = axiomjit.jit(function)
    got = compiled(*arguments)
    for one, other in zip(_tuple(got), _tuple(want), strict=True):
        np.testing.assert_array_equal(one, other)
        assert np.asarray(one).dtype == np.asarray(other).dtype
        assert np.asarray(one).strides == np.asarray(other).strides
    return compiled


def _tuple(value):
    return value if isinstance(value, tuple) else (value,)


def smoothed(x):
    o = np.zeros(x.shape)
    o[1:-1] = x[:-2] + x[2:]
    return o


def test_loops_and_source(golden):
    lowered = axiomjit.jit(smoothed).lower(X)
    golden(f"{lowered.graph}\n{lowered.loops}\n{lowered.source}")


def test_another_length_costs_no_compile():
    f = agrees(smoothed, X)
    f(X), f(np.ones((9, 8)))
    assert f.cache_info().traced == 1


FORMS = {
    "zeros": lambda x: np.zeros(x.shape),
    "zeros of a number": lambda x: np.zeros(x.shape[1], np.int32),
    "ones": lambda x: np.ones((x.shape[0], 2), dtype="f4"),
    "empty": lambda x: _set(np.empty(x.shape[::-1]), x.T),
    "full": lambda x: (np.full(x.shape, 3), np.full(4, x.sum()), np.full((2, 2), 1.5, "f4")),
    "arange": lambda x: (np.arange(x.shape[0]), np.arange(2, x.shape[1], 2, dtype=float)),
    "backwards": lambda x: np.arange(x.shape[0], 0, -1) * np.arange(3)[:, None],
    "likes": lambda x: (np.zeros_like(x), np.ones_like(x.T), np.full_like(x, 7, dtype="i8")),
    "like of a shape": lambda x: np.empty_like(x, shape=(2,))[:0],
    "array": lambda x: (np.array(x), np.array(x, "f4"), np.array([x[0], x[1]])),
    "array of numbers": lambda x: np.array([[x.sum(), 1.0], [2, x[0, 0]]]),
    "asarray": lambda x: (np.asarray(x) is x, np.asarray(x, "i8"), np.asarray([x[1, 1]])),
    "ascontiguousarray": lambda x: (np.ascontiguousarray(x), np.ascontiguousarray(x.T)),
    "imported name": lambda x: _set(zeros(x.shape), x),
    "no dimensions": lambda x: _set(np.zeros(()), x[0, 1]) + 1,
    "linspace": lambda x: (np.linspace(x[0, 1], x.sum(), 7), np.linspace(x[0, 0], 3, 5, False)),
    "linspace of lengths": lambda x: np.linspace(x[0, 1], 9, x.shape[0], dtype="f4"),
    "short linspaces": lambda x: [np.linspace(x[0, 1], x[1, 1], n) for n in (0, 1, 2)][2],
    "outer": lambda x: (np.add.outer(x[0], x[:, :2]), np.multiply.outer(x[0, 1], x[0])),
    "left to NumPy": lambda x: x + np.zeros((6, 7), order="F") + np.arange(7.0),
}


def _set(o, value):
    o[...] = value
    return o


@pytest.mark.parametrize("name", FORMS)
def test_forms(name):
    agrees(FORMS[name], X)


def test_layouts_of_likes():
    for x in (X.T, np.asfortranarray(np.arange(60.0).reshape(3, 4, 5)), X[:, ::2], X[::-1]):
        agrees(lambda x: (np.zeros_like(x), np.ones_like(x, order="C")), x)


def test_equal_new_arrays_are_three():
    def function(x):
        a, b, c = np.zeros(x.shape), np.zeros(x.shape), np.zeros(x.shape)
        a[0], b[1], c[2] = x[0], x[1], x[2]
        return a, b, c

    agrees(function, X)
    assert axiomjit.jit(function).lower(X).cost.bytes_read < 4 * X.nbytes


def test_what_is_made_like_an_array_is_another_one():
    def function(x):
        a = np.zeros(x.shape)
        b, c, d, e = np.zeros_like(a), np.full_like(a, 0), a.imag, np.imag(a)
        a[0], b[1] = x[0], x[1]
        return a, b, c, d + 0, e + 0

    agrees(function, X)


def helper(x):
    o = np.empty(x.shape[0])
    o[:] = x[:, 0]
    return o


def decorated(function):
    @functools.wraps(function)
    def wrapper(*args):
        return function(*args)

    return wrapper


@decorated
def wrapped(x, make=np.ones):
    o = make(x.shape[0])
    o[0] = x[0, 0]
    return o


def countdown(n, x):
    o = np.zeros(x.shape)
    o[n:] = x[n:]
    return o if n == 0 else o + countdown(n - 1, x)


MODULE = types.ModuleType("users_module")
exec(
    "import numpy\ndef made(x):\n    o = numpy.zeros(x.shape)\n    o[1] = x[1]\n    return o",
    vars(MODULE),
)


def counts(x):
    global CALLS
    o = np.zeros(x.shape)
    o[0] = x[0]
    CALLS += 1
    return o


class Model:
    def __init__(self):
        self.scale = 3.0

    def scaled(self, x):
        o = np.zeros(x.shape)
        o[1:] = x[1:] * self.scale
        return o


def test_functions_that_it_calls():
    def inner(x):
        import numpy

        def innermost(x):
            o = numpy.zeros(x.shape)
            o[0] = x[0]
            return o

        return lambda x: innermost(x) + 1

    agrees(lambda x: (helper(x), wrapped(x), countdown(2, x), MODULE.made(x)), X)
    agrees(functools.partial(countdown, 1), X)
    agrees(inner(X), X)
    agrees(Model().scaled, X)
    agrees(lambda x: math.sqrt(len(np.zeros(4))) + helper(x), X)


def test_the_function_is_the_same_object_as_an_argument():
    def function(x, op):
        o = np.zeros(x.shape)
        o[...] = op(x)[:, None] if op is helper else x
        return o, op is helper

    assert axiomjit.jit(function)(X, helper)[1] is True


def test_what_is_assigned_to_global_names_is_seen():
    before = CALLS
    with pytest.warns(FallbackWarning, match="stores to the global name CALLS"):
        axiomjit.jit(counts)(X)
    assert before + 1 == CALLS


def test_functions_that_need_values_are_followed_as_they_are():
    def function(x):
        weights = np.zeros(3)
        weights[1] = 2
        return x * 2 if weights.sum() > 1 else x

    agrees(function, X)


def test_makers_are_NumPys_where_nothing_is_followed():
    made = axiomjit.jit(lambda x: (np.zeros(3) + x[0, 0], np.zeros))(X)[1]
    assert type(made(3)) is np.ndarray
    assert {*MAKERS, *COUNTERS, *CONVERTERS} & {*FUNCTIONS} == set()
