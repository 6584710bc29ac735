"""Writes at positions: integer arrays as indices of what is written."""

import itertools

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import PositionError
from tests.generator import check
from tests.generator.scatters import draw_count, draw_write, write_failure
from tests.passes.graphs import lowered, run_plain_case, small_forms

X = np.arange(30.0).reshape(5, 6)
ROWS = np.array([4, -1, 0, 2])
AGAIN = np.array([0, 3, 0, 0, 1, 3])

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


@pytest.mark.parametrize("seed", range(4))
def test_random_writes_are_numpys(seed):
    """`python -m tests.generator.campaign --scatters N --compiled M` draws more of them."""
    failures = [
        f"{k}: {drawn} {found}"
        for k in range(100)
        for drawn in [draw_write(seed, k)]
        if (found := write_failure(drawn, [check.evaluate, check.interpret_small]))
    ]
    assert failures == []


def by_threads_and_by_one(case):
    """The plan of small forms as threads run it, and as one thread does."""
    with small_forms():
        plan = lowered(case).plan
    for way in ("threads", "alone"):
        yield way, run_plain_case(case, plan, chunks=2, chained=way == "alone")


def test_random_counts_are_numpys():
    """`python -m tests.generator.campaign --counts N --compiled M` draws more of them."""
    shared, failures = 0, []
    for k in range(120):
        drawn = draw_count(5, k)
        found = write_failure(drawn, [by_threads_and_by_one])
        failures += [f"{k}: {drawn} {found}"] if found else []
        with small_forms():
            text = str(aj.jit(drawn.function()).lower(*drawn.arguments).loops) if k < 40 else ""
        shared += "shared" in text
    assert failures == []
    assert shared > 10


def rows(x, i, v):
    x[i] = v[:4]
    x[i, 1:] = v[:4, :1] * 2
    x[1:, i] += 1
    x[2, 3] = 7


def last(x, i, v):
    x[0, i] = v[0] + 1
    x[i, i[::-1]] = v[1]


def shifted(x, i, v):
    x[i] = x[i[::-1]]
    x.T[1:][i % 4] -= x[0, :5]


def permuted(x, i, v):
    i[...] = np.argsort(v[0, : len(i)])
    i[i] = i * 2
    x[i % 5] = v[2]


FORMS = {
    "rows": (rows, ROWS),
    "last": (last, AGAIN % 5),
    "shifted": (shifted, ROWS),
    "permuted": (permuted, ROWS),
}


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", FORMS)
def test_the_caller_sees_what_is_written(name, compiled, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", not compiled)
    function, positions = FORMS[name]
    given = X.copy(), positions.copy(), np.cos(X)
    wanted = X.copy(), positions.copy(), np.cos(X)
    function(*wanted)
    aj.jit(function)(*given)
    for one, other in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(one, other)


def test_of_equal_positions_the_last_value_stays():
    @aj.jit
    def f(x, i):
        y, z = x * 0, x[0] * 0
        z[i] = x[1]
        y[:, i], y[i % 5, 0] = x, -x[2]
        return y, z

    y, z = f(X, AGAIN)
    np.testing.assert_array_equal(z, [9, 10, 0, 11, 0, 0])
    np.testing.assert_array_equal(y[:, 3], X[:, 5])
    np.testing.assert_array_equal(y[:4, 0], [-15, -16, 15, -17])


def test_two_scatters_that_meet_are_two_loops():
    """In one loop a value would be read, or written over, between two steps of the other one."""

    def f(x, i):
        x[i] = x[i] + 1
        x[i] = x[i] * 2
        return x[i]

    x, want = X[0].copy(), X[0].copy()
    np.testing.assert_array_equal(aj.jit(f)(x, AGAIN), f(want, AGAIN))
    np.testing.assert_array_equal(x, want)


def test_what_is_written_from_other_elements_is_copied_first():
    def f(x, i):
        x[i] = x[::-1]

    cost = aj.jit(f).lower(X[0].copy(), AGAIN).cost
    assert cost.temporary_bytes == X[0].nbytes + 8  # and the length
    plain = aj.jit(lambda x, i, v: x.__setitem__(i, v)).lower(X[0].copy(), AGAIN, X[1]).cost
    assert (plain.temporary_bytes, plain.kernels) == (8, 1)


def test_positions_out_of_range_write_nothing():
    def f(x, i):
        x[:, i] = 1

    x = X.copy()
    jitted = aj.jit(f)
    jitted(x.copy(), ROWS)
    before = aj.stats()["fallbacks"]
    with pytest.raises(IndexError, match="index 6 is out of bounds for axis 1 with size 6"):
        jitted(x, np.array([1, 6]))
    assert aj.stats()["fallbacks"] == before + 1
    np.testing.assert_array_equal(x, X)
    with pytest.raises(PositionError, match=r"test_scatters.py:\d+: index 6 is out of bounds for"):
        aj.jit(lambda x, i: (y := x * 2, f(y, i)))(x, np.array([1, 6]))


def halfway(x, i, h):
    x[0] = 1
    h[i[0] % 5] = 9
    x[i] = 7
    np.add.at(h, i + h[:4].astype(int) * 0, 1)
    x[1] = 2


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("wrong", [2, 3, 5, -6, -7])
def test_an_error_halfway_leaves_what_stands_before_it(wrong, compiled, monkeypatch):
    monkeypatch.setattr(aj.config, "disable", not compiled)
    given, wanted = ((X.copy(), np.array([1, 2, wrong, 1]), X[0].copy()) for _ in range(2))
    outcomes = []
    for function, arguments in ((halfway, wanted), (aj.jit(halfway), given)):
        try:
            outcomes.append(function(*arguments))
        except IndexError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    for got, want in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_positions_are_checked_before_anything_is_written():
    """Then no argument is copied for the case that they are wrong."""

    def f(x, i):
        x[0] = 1
        x[i] = 2

    assert aj.jit(f).lower(X[0].copy(), AGAIN).cost.temporary_bytes == 8


def chosen(x, m, v):
    x[m] = v[: 4 * 6 : 2]
    x[x > 119] = x[x > 27][-1:]
    x[1:, x[0] > 105] = -x[1:, x[0] > 105]
    x[x[:, 0] < 0, 1] = 5


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("count", [12, 11, 1, 0, 24])
def test_values_for_what_a_mask_chooses(count, compiled, monkeypatch):
    """As many as it chooses, or NumPy's error."""
    monkeypatch.setattr(aj.config, "disable", not compiled)
    mask = np.less(X, count)
    given, wanted = ((X.copy(), mask, np.arange(100.0, 124.0)) for _ in range(2))
    outcomes = []
    for function, arguments in ((chosen, wanted), (aj.jit(chosen), given)):
        try:
            outcomes.append(function(*arguments))
        except ValueError as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    assert (outcomes[0] is None) == (count == 12)
    for got, want in zip(given, wanted, strict=True):
        np.testing.assert_array_equal(got, want)


def test_a_mask_takes_values_in_one_dimension():
    def written(x):
        x[x > 3] = x[:1]

    for function in (written, aj.jit(written)):
        with pytest.raises(TypeError, match="requires a 0 or 1-dimensional input, input has 2"):
            function(X.copy())


def test_values_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match="a value of shape"):
        aj.jit(lambda x, i: x.__setitem__(i, x[:3]))(X.copy(), ROWS)
    with pytest.raises(TypeError, match="not 'complex'"):
        aj.jit(lambda x, i: x.__setitem__(i, 1j))(X.copy(), ROWS)
    with pytest.raises(ValueError, match="read-only"):
        aj.jit(lambda x, i: np.broadcast_to(x[0] + 1, (5, 6)).__setitem__(i, 1))(X, ROWS)


@pytest.mark.parametrize(("code", "error"), [("c16", TypeError), ("f8", ValueError)])
def test_an_array_written_into_one_element_is_numpys_error(code, error):
    def written(x, y):
        x[np.array(1)] = y

    for function in (written, aj.jit(written)):
        with pytest.raises(error):
            function(np.zeros(3, code), np.ones(4))


KEYS = {
    "an element": lambda i: (2, -1),
    "a computed element": lambda i: (i[0], 1),
    "no element": lambda i: (2, 6),
    "no computed element": lambda i: (i[0] + 1, 1),
    "an element as a view": lambda i: (2, ..., 1),
    "a computed element as a view": lambda i: (i[0], 1, ...),
    "a row": lambda i: 1,
    "a computed row": lambda i: (i[0],),
    "rows": lambda i: slice(1, 3),
    "computed rows": lambda i: i,
    "listed rows": lambda i: [True, False, True, False, True],
    "a listed mask": lambda i: [[True, False] * 3] * 5,
    "everything": lambda i: True,
}
SEQUENCES = [[], [[]], [8.0], [[8.0]], [[[8.0]]], range(6), [range(6)], [[range(6)]]]
SEQUENCES += [np.ones(1), np.ones((1, 1, 6))]


@pytest.mark.parametrize("name", KEYS)
def test_sequences_are_written_as_in_numpy(name):
    for sequence in SEQUENCES:

        def written(x, i, sequence=sequence):
            x[KEYS[name](i)] = sequence

        outcomes = []
        for function in (written, aj.jit(written)):
            x, error = X.copy(), None
            try:
                function(x, ROWS)
            except (IndexError, TypeError, ValueError) as raised:
                error = raised
            outcomes.append((x, error))
        (wanted, expected), (x, error) = outcomes
        assert isinstance(error, type(expected)), (sequence, expected, error)
        np.testing.assert_array_equal(x, wanted)


def placed(x, value):
    x[:2] = value


def scattered(x, value):
    x[[0, 1]] = value


def chosen_by_a_mask(x, value):
    x[x == 0] = value


def put(x, value):
    np.put(x, [0, 1], value)


NUMBERS = (300, [300], [300, 5], -1, 1.5, [1.5], 1e10, np.nan, [np.nan], 1j, [1j], None, "7", ["7"])


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("code", ["i1", "u8", "f4", "c8", "b1"])
@pytest.mark.parametrize("write", [placed, scattered, chosen_by_a_mask, put])
def test_numbers_that_are_written_fit_as_in_numpy(write, code):
    for value in (*NUMBERS, np.int64(300), np.float64(np.nan), np.array([300]), np.array(300.0)):

        def function(x, value=value):
            write(x, value)

        got, want = (np.zeros(3, code) for _ in range(2))
        try:
            function(want)
        except (TypeError, ValueError, OverflowError) as error:
            with pytest.raises(type(error)):
                aj.jit(function)(got)
        else:
            aj.jit(function)(got)
        np.testing.assert_array_equal(got, want)


def test_a_scatter_into_nothing_is_legal():
    """Of an array without elements, the outermost dimension has stride 0 in a packed copy."""
    assert write_failure(draw_write(2312, 5059), [check.interpret]) is None


NOTHING = [np.zeros(0, int), np.zeros((0, 3), int), np.zeros((1, 0), int), np.array(1)]
VALUES = [(0,), (3, 0), (0, 6), (2, 0, 1), (2, 1, 3), (0, 1), (2, 0, 3), (2, 1, 0), (2, 5, 3)]


@pytest.mark.parametrize("shape", [(5,), (5, 3), (5, 0)])
def test_shapes_of_what_is_written_nowhere_are_those_that_numpy_takes(shape):
    def written(a, i, v):
        a[i] = v

    def taken(function, *arguments):
        try:
            return function(np.zeros(shape), *arguments)
        except ValueError:
            return "refused"

    f = aj.jit(written)
    for i, length in itertools.product(NOTHING, VALUES):
        v = np.ones(length)
        assert taken(f, i, v) == taken(written, i, v), (i.shape, length)


@pytest.mark.parametrize("key", [[], [[], []], ([[], []],), ([], [[], []])])
def test_lists_without_elements_are_indices_of_integers(key):
    def write(x):
        x[key] = 7.0
        return x[key]

    x, y = np.arange(6.0).reshape(2, 3), np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(aj.jit(write)(x), write(y), strict=True)
    np.testing.assert_array_equal(x, y)
