"""Running folds, sorting and taking by position under `jit`: steps that NumPy computes."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import axiomjit
from axiomjit.base.dtypes import DTYPES
from axiomjit.base.errors import GraphTypeError, PositionError, UnsupportedError
from tests.passes.graphs import evaluated, follow, in_numpy, lowered, run_plain_case
from tests.runtime.codegen.kernels import same_bits

X = np.random.default_rng(0).integers(-9, 9, (3, 4, 5)).astype(float)
ROWS = np.array([[2, -1, 0], [1, 1, -3]])


def agrees(function, *arguments):
    """Evaluated, and planned with kernels in plain Python, the function means what NumPy does."""
    case = follow(function, *arguments)
    (want,) = in_numpy(function, arguments)
    (meant,), (planned,) = evaluated(case.graph, case), run_plain_case(case, lowered(case).plan)
    return same_bits(meant, want) and same_bits(planned, want)


PROGRAMS = {
    "cumsum": lambda x: np.cumsum(x + 1, axis=1) * 2,
    "flat": lambda x: x.cumsum(),
    "transposed": lambda x: np.cumprod(x[:, ::-2].T, axis=0),
    "stretched": lambda x: np.cumsum(np.broadcast_to(2, (3,))),
    "stretched-array": lambda x: np.cumsum(np.broadcast_to(x, (2, 3, 4, 5)), axis=0),
    "sort": lambda x: np.sort(x, axis=0) - np.sort(-x),
    "sort-flat": lambda x: np.sort(x[..., 0], axis=None),
    "argsort": lambda x: np.argsort(x[0, 0] + np.arange(5) / 10),
    "argmax": lambda x: np.argmax(x * 2, axis=1) + 1,
    "argmin": lambda x: x.argmin(axis=-1, keepdims=True),
    "argmax-stretched": lambda x: np.argmax(np.broadcast_to(x[0, 0], (2, 3, 5)), axis=1),
    "argmax-flat": lambda x: np.argmax(x.T),
    "argmin-number": lambda x: np.argmin(x[0, 0, 0]),
    "twice": lambda x: np.cumsum(np.sort(x, axis=1), axis=2).sum(axis=0),
    "take": lambda x: np.take(x - 1, ROWS, axis=1) * 3,
    "take-flat": lambda x: x.take(ROWS),
    "take-stretched": lambda x: np.take(np.broadcast_to(x[0], (2, 4, 5)), ROWS, axis=2),
    "take-one": lambda x: np.take(x, -1, axis=2),
    "take-none": lambda x: np.take(x, np.zeros((0, 2), int), axis=0),
    "median": lambda x: np.take(np.sort(x, axis=1), 2, axis=1),
    "diagonal": lambda x: np.cumsum(np.diagonal(x)),
    "joined": lambda x: np.sort(np.concatenate([x, -x], axis=2)),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_mean_what_numpy_does(name):
    assert agrees(PROGRAMS[name], X)


@pytest.mark.parametrize("code", sorted(DTYPES))
def test_dtypes(code):
    x = X.astype(code)
    assert agrees(lambda x: np.sort(x), x)
    assert agrees(lambda x: np.cumsum(x, axis=1), x)
    assert agrees(lambda x: np.take(x, [1, 0], axis=0), x)
    assert agrees(lambda x: np.argmax(x, axis=1), x)
    assert agrees(lambda x: np.argmin(x), x)


@pytest.mark.parametrize(("dtype", "code"), list(itertools.product(["f4", "i2", "c16"], "bf")))
def test_running_folds_take_a_dtype(dtype, code):
    assert agrees(lambda x: np.cumsum(x, dtype=dtype), X.astype(code))


@settings(max_examples=40, deadline=None)
@given(hnp.arrays(np.int64, hnp.array_shapes(min_dims=1, max_dims=3, min_side=0)), st.data())
def test_any_shape_and_axis(x, data):
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    for function in (np.cumsum, np.cumprod, np.sort):
        assert agrees(lambda x, f=function: f(x, axis=axis), x)
    length = x.shape[axis]
    if length:
        assert agrees(lambda x: np.argmax(x, axis=axis), x)
    places = st.lists(st.integers(-length, length - 1), max_size=4) if length else st.just([])
    positions = np.array(data.draw(places), int)
    assert agrees(lambda x, k: np.take(x, k, axis=axis), x, positions)


def test_the_place_of_the_largest_element_as_numpy_finds_it(monkeypatch):
    x = np.array([[1.0, np.nan, np.nan], [3.0, 3.0, -np.inf], [0.0, -0.0, -1.0]])
    for axis in (0, 1, None):
        for function in (np.argmax, np.argmin):
            assert agrees(lambda x, f=function, axis=axis: f(x, axis=axis), x)
    with pytest.raises(ValueError, match="attempt to get argmax of an empty sequence"):
        axiomjit.jit(lambda x: np.argmax(x, axis=1))(np.ones((2, 0)))
    monkeypatch.setattr(axiomjit.config, "fallback", "error")
    with pytest.raises(UnsupportedError, match="keepdims"):
        axiomjit.jit(lambda x: np.argmax(x, axis=1, keepdims="x"))(X)


def test_results_lie_in_memory_as_numpys_do():
    for function in (
        lambda x: np.cumsum(x, axis=1),
        lambda x: np.sort(x, axis=0),
        lambda x: np.take(x, ROWS % 2, axis=0),
    ):
        for x in (X, X.T, X[::2]):
            assert axiomjit.jit(function)(x).strides == function(x).strides


def test_a_chain_around_a_sort_is_two_kernels_and_a_call():
    lowered = axiomjit.jit(lambda x: np.sort(abs(x) + 1) * 2 - 1).lower(X)
    assert (lowered.cost.kernels, lowered.cost.library_calls) == (2, 1)
    assert lowered.cost.flops == X.size * (2 + 20 + 2)


def test_positions_outside_are_refused_when_they_are_met():
    f = axiomjit.jit(lambda x, k: np.take(x, k, axis=1))
    np.testing.assert_array_equal(f(X, np.array([3, -4])), X[:, [3, -4]])
    message = r"index -5 is out of bounds for axis 1 with size 4\n(?s:.*)positions from -4 to 3"
    with pytest.raises(PositionError, match=message) as one:
        f(X, np.array([0, -5]))
    assert isinstance(one.value, IndexError)
    empty = axiomjit.jit(lambda x: np.take(x, [0]))
    with pytest.raises(IndexError, match="cannot do a non-empty take from an empty axes"):
        empty(np.zeros(0))


@pytest.mark.parametrize("positions", [np.array([1.0]), np.array([1j])])
def test_positions_are_integers(positions):
    with pytest.raises(GraphTypeError, match=r"positions that are no integers\n  instead: convert"):
        axiomjit.jit(lambda x: np.take(x, positions))(X)
    assert agrees(lambda x: np.take(x, positions.astype(np.int32)), X)


@pytest.mark.parametrize(
    ("function", "option"),
    [
        (lambda x: np.sort(x, order="f"), "order='f'"),
        (lambda x: np.cumsum(x, dtype=bool), "dtype=<class 'bool'>"),
    ],
)
@pytest.mark.usefixtures("refusing")
def test_other_options_are_refused_by_name(function, option):
    with pytest.raises(UnsupportedError, match=option):
        axiomjit.jit(function)(X)
