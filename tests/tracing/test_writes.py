"""Writes under jit: who sees them, in which memory they happen, and what is left to NumPy."""

import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import (
    FallbackWarning,
    GraphTypeError,
    GraphValueError,
    InterruptedWritesError,
    NeedsValuesError,
)

X = np.arange(30.0).reshape(5, 6)

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


def stencil(u):
    u[1:-1] = (u[:-2] + u[2:]) / 2


def scaled(u, v):
    u *= 2
    v[...] = u - v


def copied(x):
    y = x * 2
    y[1:] = 0
    return y


def exchanged(x, y):
    kept = x.copy()
    x[...] = y
    y[...] = kept


FORMS = {"stencil": (stencil, 1), "scaled": (scaled, 2), "copied": (copied, 1)}
FORMS |= {"exchanged": (exchanged, 2)}


@pytest.mark.parametrize("name", FORMS)
def test_loops_and_source(name, golden):
    function, count = FORMS[name]
    arguments = [X + k for k in range(count)]
    lowered = axiomjit.jit(function).lower(*arguments)
    cost = lowered.cost
    golden(f"{lowered.loops}\n{lowered.source}\ntemporary_bytes {cost.temporary_bytes}")


def test_where_no_reader_is_left_nothing_is_copied():
    x, y = X.copy(), X + 1
    assert axiomjit.jit(scaled).lower(x, y).cost.temporary_bytes == 0


def test_of_shifted_reads_a_few_rows_are_kept():
    cost = axiomjit.jit(stencil).lower(np.ones((5000, 600))).cost
    rows = 3 * -(-4998 // 48)
    assert (cost.kernels, cost.temporary_bytes) == (1, 0)
    assert cost.scratch_bytes == rows * 600 * 8
    assert cost.bytes_read + cost.bytes_written == 2 * 4998 * 600 * 8
    reverse = axiomjit.jit(lambda x: x.__setitem__(slice(None), x[::-1] + 1)).lower(X.copy()).cost
    assert (reverse.kernels, reverse.temporary_bytes, reverse.scratch_bytes) == (2, X.nbytes, 0)


def test_equal_arrays_are_two_arrays():
    @axiomjit.jit
    def f(x):
        a, b = x + 1, x + 1
        a[0] = b[0] = 5
        c = x + 1
        a[1] = 7
        return a, b, b[1:], c

    a, b, part, c = f(X)
    assert (a[0] == 5).all()
    assert (a[1] == 7).all()
    np.testing.assert_array_equal(part, X[1:] + 1)
    np.testing.assert_array_equal(c, X + 1)
    assert np.shares_memory(b, part)
    assert not np.shares_memory(a, b)


def test_elements_and_numbers_are_values_of_their_moment():
    @axiomjit.jit
    def f(x):
        first, total = x[0, 0], x.sum()
        x[...] = 9
        first += 1
        return first, total, x[0, 0]

    assert f(X.copy()) == (1.0, X.sum(), 9.0)


def test_the_argument_itself_is_returned():
    @axiomjit.jit
    def f(x):
        x += 1
        return x, x[1:]

    x = X.copy()
    same, part = f(x)
    assert same is x
    assert np.shares_memory(part, x)


@pytest.mark.parametrize("compiled", [True, False])
def test_one_array_given_twice_is_one(compiled, monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", not compiled)
    f = axiomjit.jit(scaled)
    for first, second in ((X, X + 1), (X, X), (X.T, X.T), (X, X + 2)):
        x = first.copy()
        y = x if second is first else second.copy()
        want_x = first.copy()
        want_y = want_x if second is first else second.copy()
        scaled(want_x, want_y)
        f(x, y)
        np.testing.assert_array_equal(x, want_x)
        np.testing.assert_array_equal(y, want_y)


OVERLAPS = {
    "part": lambda x: (x[1:], x[:-1]),
    "transpose": lambda x: (x[:, :5], x[:, :5].T),
    "interleaved": lambda x: (x[:4:2], x[1:4:2]),
    "read-only": lambda x: (np.broadcast_to(x[0], (5, 6)), x),
    "itself": lambda x: (np.lib.stride_tricks.as_strided(x, (5, 6), (8, 8)), X + 1),
    "misaligned": lambda x: (
        np.frombuffer(bytearray(248), np.uint8)[3:243].view("f8"),
        (X + 1).ravel(),
    ),
}


@pytest.mark.parametrize("name", OVERLAPS)
def test_other_overlaps_run_in_numpy_and_are_counted(name):
    outcomes = []
    f = axiomjit.jit(scaled)
    f(X.copy(), X.copy())
    before = axiomjit.stats()["fallbacks"]
    for function in (scaled, f):
        x = X.copy()
        arguments = OVERLAPS[name](x)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                function(*arguments)
            except ValueError as error:
                outcomes.append(str(error))
        outcomes += [x, np.array(arguments[0])]
    half = len(outcomes) // 2
    for want, got in zip(outcomes[:half], outcomes[half:], strict=True):
        np.testing.assert_array_equal(got, want)
    assert [w.category for w in caught] == [FallbackWarning]
    assert axiomjit.stats()["fallbacks"] == before + 1
    f(X.copy(), X.copy())
    assert axiomjit.stats()["fallbacks"] == before + 1
    with pytest.raises(NeedsValuesError, match="write into the argument u of scaled"):
        axiomjit.jit(scaled, strict=True)(*OVERLAPS[name](X.copy()))


def test_a_global_array_that_is_the_argument():
    outside = X.copy()

    @axiomjit.jit
    def f(x):
        x[1:] = outside[:-1]

    x = X + 1
    f(x)
    np.testing.assert_array_equal(x[1:], X[:-1])
    with pytest.warns(FallbackWarning, match="overlaps another one"):
        f(outside)
    np.testing.assert_array_equal(outside[1:], X[:-1])


def fails_halfway(x):
    x[0] = 1
    x[1] = x[:4, 0]
    x[2] = 3


def test_what_was_written_before_an_error_stays():
    x = X.copy()
    f = axiomjit.jit(fails_halfway)
    before = axiomjit.stats()["fallbacks"]
    for _ in range(2):
        with pytest.raises(ValueError, match="could not broadcast"):
            f(x)
    want = X.copy()
    want[0] = 1
    np.testing.assert_array_equal(x, want)
    assert axiomjit.stats()["fallbacks"] == before + 2
    with pytest.raises(InterruptedWritesError, match="written into its arguments"):
        f.lower(x)


WRONG = {
    "shape": (lambda x: x.__setitem__(0, x[:4, 0]), GraphValueError, "a value of shape"),
    "out shape": (lambda x: np.add(x, 1, out=x[0]), GraphValueError, "a value of shape"),
    "kind": (lambda x: np.add(x, 1j, out=x), GraphTypeError, "casting='same_kind'"),
    "copyto": (
        lambda x: np.copyto(x, x.astype("f4"), casting="no"),
        GraphTypeError,
        "casting='no'",
    ),
    "complex": (lambda x: x.__setitem__(0, 1j), TypeError, "not 'complex'"),
    "read-only": (
        lambda x: np.broadcast_to(x[0] + 1, (5, 6)).__setitem__(0, 1),
        ValueError,
        "assignment destination is read-only",
    ),
    "index": (lambda x: x.__setitem__(9, 1), IndexError, "out of bounds"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_writes_raise_as_numpy_does_and_write_nothing(name):
    function, kind, message = WRONG[name]
    with pytest.raises(kind.__bases__ if kind.__module__.startswith("axiomjit") else kind):
        function(X.copy())
    x = X.copy()
    with pytest.raises(kind, match=message):
        axiomjit.jit(function)(x)
    np.testing.assert_array_equal(x, X)


def test_numbers_that_do_not_fit():
    for value, kind in ((300, OverflowError), (np.nan, ValueError), (np.inf, OverflowError)):
        with pytest.raises(kind):
            axiomjit.jit(lambda x, v=value: x.__setitem__(0, v))(np.zeros(5, np.uint8))


def test_what_may_be_a_view_is_not_used_after_a_write():
    def f(x):
        y = x.T + 1
        line = y.reshape(-1)
        line[0] = 50
        return y

    with pytest.warns(FallbackWarning, match=r"write at .*test_writes\.py:\d+"):
        np.testing.assert_array_equal(axiomjit.jit(f)(X), f(X))
    with pytest.raises(NeedsValuesError, match="shares memory with another one, or does not"):
        axiomjit.jit(f, strict=True)(X)


def test_a_copy_of_what_was_written_is_no_view_of_it():
    def f(x):
        x[x < 5] = 0
        y, z = x.T.copy(), (x + 1).flatten()
        x[0], y[1], z[:7] = 1, 2, 3
        return x, y, z

    for one, other in zip(axiomjit.jit(f)(X.copy()), f(X.copy()), strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_reshape_of_a_written_argument_is_a_view_of_it():
    def f(x):
        x[0] = 1
        line = x.T.reshape(-1)
        line[3:9] += line[2:8]
        return line

    x, want = np.asfortranarray(X), np.asfortranarray(X)
    np.testing.assert_array_equal(axiomjit.jit(f)(x), f(want))
    np.testing.assert_array_equal(x, want)
    assert np.shares_memory(axiomjit.jit(f)(x), x)


@pytest.mark.parametrize("length", [1, 4])
def test_an_element_that_is_folded_is_written_once(length):
    def f(x, y):
        x[0] += 1
        y += y[::-1]
        return (y * x[0]).sum(), y.max()

    given = [np.arange(length) + k for k in (2.0, 3.0)]
    wanted = [array.copy() for array in given]
    assert axiomjit.jit(f)(*given) == f(*wanted)
    np.testing.assert_array_equal(given, wanted)


def test_masks_and_where():
    def f(x):
        x[x % 7 == 0] = 3
        x[np.arange(5) > 3] = x[0, 0]
        x[:, 0].sort()
        np.add(x, 1, out=x, where=x > 10)
        np.copyto(x, 0, where=x < 3)
        x[1:] -= [1, 2, 3, 4, 5, 6]
        x[0] = [x.sum(), 1, 2, 3, 4, 5]

    x, want = X.copy(), X.copy()
    axiomjit.jit(f)(x)
    f(want)
    np.testing.assert_array_equal(x, want)


def test_a_mask_takes_numbers_of_other_kinds():
    def f(x):
        marks, counts = np.zeros_like(x, dtype=bool), np.zeros(x.shape, "i4")
        marks[x % 2 == 0] = 2.5
        counts[x % 3 == 0] = 7.9
        return marks, counts

    for result, wanted in zip(axiomjit.jit(f)(X), f(X), strict=True):
        np.testing.assert_array_equal(result, wanted, strict=True)
