"""Traced arrays where NumPy does not ask them: in lists, and as indices of arrays from outside."""

import warnings

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError, NotDispatchedError
from axiomjit.tracing.outside_arrays import OutsideArray

X = np.cos(np.arange(20.0))
Y = np.sin(np.arange(20.0))
LABELS = np.array([2, 0, 1, 1, 2, -1, 0, 0])
TABLE = np.arange(12.0).reshape(3, 4)
NAMES = {"half": np.float32(0.5)}

pytestmark = pytest.mark.usefixtures("nothing_runs_in_numpy")


def agrees(function, *arguments):
    """Results, dtypes and what arguments hold are NumPy's; no function is run in NumPy."""
    given, wanted = ([np.array(a) for a in arguments] for _ in range(2))
    want, compiled = function(*wanted), axiomjit.jit(function)
    got = compiled(*given)
    for one, other in (*zip(given, wanted, strict=True), (got, want)):
        assert type(one) is type(other)
        np.testing.assert_allclose(one, other, rtol=1e-14, strict=True)
    return compiled


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.concatenate((x, [x.size])),
        lambda x, y: np.concatenate(([0], x, [y.size, 2])),
        lambda x, y: np.concatenate(([x.size], [x.sum()])),
        lambda x, y: np.array([x[0], y.size]),
        lambda x, y: np.array([[x.size, 1], [2, y[-1]]], dtype=np.float32),
        lambda x, y: np.array([x[x > 0].size, y.size]),
        lambda x, y: np.concatenate((np.flatnonzero(x > 0), [x.size])),
        lambda x, y: np.array([x.astype(np.float32)[0], np.float32(2)]),
        lambda x, y: np.array([x.astype(np.float32)[0], 1]),
        lambda x, y: np.append(x, [x[0], x.size]),
        lambda x, y: np.hstack([[0], x, [x[2], 7]]),
        lambda x, y: np.where(x > 0, [x[0]] * 20, y.size),
        lambda x, y: x + [x[0]] * 20,
        lambda x, y: np.dot(x[:3], [y[0], y.size, 2]),
        lambda x, y: np.isin(x, [x[0], x[3]]),
        lambda x, y: np.r_[0, x, x.size],
        lambda x, y: np.r_[True, x[1:] > x[:-1]],
        lambda x, y: np.r_[x.astype(np.float32), 1.5, 0:3],
        lambda x, y: np.c_[x, y, np.ones(20)],
        lambda x, y: np.c_[x[:5].reshape(5, 1), TABLE.T[:1].repeat(5, 0)],
        lambda x, y: np.r_["0,2", x[:2], y[:2]] if x.size < 9 else np.r_[x[:2], y[:2]],
    ],
)
def test_lists_of_traced_numbers_and_lengths(function):
    agrees(function, X, Y)


def test_a_list_of_lengths_serves_other_lengths():
    compiled = agrees(lambda x: np.concatenate((x, [x.size, 0])), X)
    assert compiled(X[:9])[-2] == 9
    assert compiled.cache_info().traced == 1


@pytest.mark.parametrize(
    ("function", "error"),
    [
        (lambda x: np.array([x, [1, 2]]), ValueError),
        (lambda x: np.array([x, x[:3]]), ValueError),
        (lambda x: np.r_[x, x.reshape(4, 5)], ValueError),
        (lambda x: np.minimum.reduce([x, x[:3]]), ValueError),
        (lambda x: np.eye(3)[np.array([x.size]) + x.astype(int)], IndexError),
    ],
)
def test_errors_of_lists_are_numpys(function, error):
    with pytest.raises(error):
        function(X)
    warnings.simplefilter("ignore", FallbackWarning)  # NumPy raises them
    with pytest.raises(error):
        axiomjit.jit(function)(X)


@pytest.mark.parametrize(
    "function",
    [
        lambda x, y: np.minimum.reduce([x, y]),
        lambda x, y: np.maximum.reduce([x, y, x * 2], axis=0),
        lambda x, y: np.maximum.reduce([x, y], 1),
        lambda x, y: np.add.reduce((x, y)),
        lambda x, y: np.add.reduce((x > 0, y > 0)),
        lambda x, y: np.logical_and.reduce([x > 0, y < 0, x < 1]),
        lambda x, y: np.logical_or.reduce([x > 0, y < 0]),
        lambda x, y: np.multiply.reduce([x[0], y[0], 2]),
        lambda x, y: np.subtract.reduce([x, y]),
        lambda x, y: np.hypot.reduce([x, y, x]),
        lambda x, y: np.add.accumulate([x, y], axis=0),
        lambda x, y: np.add.reduce([x, y], out=np.zeros(20)),
        lambda x, y: np.multiply.outer([x[0], 2.0], [y[1], 1]),
        lambda x, y: np.sum([x, y], axis=0),
        lambda x, y: np.sum([x, y]),
        lambda x, y: np.mean([x, y], axis=0, keepdims=True),
        lambda x, y: np.max([x, y], axis=0),
        lambda x, y: np.any([x > 0, y > 0], axis=0),
        lambda x, y: np.median([x, y], axis=1),
        lambda x, y: np.argmax([x, y], axis=0),
        lambda x, y: np.cumsum([x, y], axis=1),
        lambda x, y: np.average([x, y], axis=0, weights=[1, 3]),
        lambda x, y: np.linalg.norm([x, y], axis=0),
    ],
)
def test_functions_and_ufuncs_of_lists(function):
    agrees(function, X, Y)


@pytest.mark.parametrize(
    "function",
    [
        lambda y: np.eye(3)[y],
        lambda y: np.fft.fftfreq(8)[y],
        lambda y: np.fft.fftfreq(y.size)[y],
        lambda y: np.arange(3)[y],
        lambda y: np.array([1.5, 2.5, 3.5])[y] * 2,
        lambda y: (np.linspace(0, 1, 4) ** 2)[y[:4]],
        lambda y: TABLE[y],
        lambda y: TABLE[:, y] + TABLE[y, 0],
        lambda y: TABLE[y, y],
        lambda y: TABLE[1:][y[y < 2]],
        lambda y: TABLE[y[:3] > 0],
        lambda y: (TABLE * 2)[y].sum(),
        lambda y: np.take(TABLE, y, axis=0, mode="wrap"),
        lambda y: TABLE.take(y),
        lambda y: TABLE.T.dot(np.eye(3)[y].sum(0)),
        lambda y: y[TABLE[0].astype(int)],
    ],
)
def test_known_arrays_at_traced_positions(function):
    agrees(function, LABELS)


def test_an_array_from_outside_is_read_anew_at_each_call():
    table = np.arange(3.0)
    compiled = axiomjit.jit(lambda y: table[y])
    np.testing.assert_array_equal(compiled(LABELS), table[LABELS])
    table[1] = 70
    np.testing.assert_array_equal(compiled(LABELS), table[LABELS])


def test_positions_are_checked_at_each_call():
    compiled = axiomjit.jit(lambda y: TABLE[y])
    compiled(LABELS)
    with pytest.raises(IndexError):
        compiled(LABELS + 3)


def test_arrays_that_are_returned_are_plain():
    def function(y):
        steps = np.arange(4)
        return TABLE, TABLE[0], steps, steps * 2, TABLE[y], np.minimum

    compiled = axiomjit.jit(function)
    whole, row, steps, doubled, _, ufunc = compiled(LABELS)
    assert whole is TABLE
    assert ufunc is np.minimum
    assert np.shares_memory(row, TABLE)
    assert [type(a) for a in (row, steps, doubled)] == [np.ndarray] * 3
    assert compiled(LABELS)[2] is not steps
    assert not isinstance(row, OutsideArray)


def test_values_stay_known_beside_traced_positions():
    def function(y):
        widths = np.arange(1, 4)
        total = TABLE[y]
        for k in range(widths[1]):
            total = total * float(widths[k])
        return total if widths.any() and TABLE.max() > 10 else total * 0

    agrees(function, LABELS)


def test_what_no_stand_in_answers_has_the_first_reason():
    def branches(y):
        return TABLE[y] if float(TABLE[y].sum()) > 0 else y

    with pytest.raises(NotDispatchedError, match="Python number") as caught:
        axiomjit.jit(branches, strict=True)(LABELS)
    assert isinstance(caught.value, NeedsValuesError)


def test_writes_into_arrays_from_outside_run_in_numpy():
    table = np.zeros(3)

    def writes(y):
        table[y] = 1
        return y + 1

    with pytest.raises(NeedsValuesError):
        axiomjit.jit(writes, strict=True)(LABELS)
    assert not table.any()


class Base:
    pass


class Model(Base):
    def __init__(self):
        self.rows, self.weights, self.itself = np.arange(12.0).reshape(3, 4), np.ones(4), self
        self.parts, self.calls = {"rows": [np.arange(3.0)]}, 0

    def product(self, y):
        return self.rows[y] @ self.weights + self.parts["rows"][0][y]

    def through_methods(self, y):
        return self.product(y) * self.itself.rows[0, y]

    def returns(self, y):
        return self.rows, self.parts, self.rows[y]

    def counts(self, y):
        self.calls += 1
        return self.rows[y]

    @axiomjit.jit(strict=True)
    def decorated(self, y):
        return self.rows[y]


MODEL = Model()
SETS = {"table": np.arange(3.0), "more": [np.ones(3), np.zeros(3)], "named": [TABLE]}


@pytest.mark.parametrize(
    "function",
    [
        MODEL.product,
        MODEL.through_methods,
        lambda y: MODEL.rows[y] + MODEL.product(y)[:, None],
        lambda y: SETS["table"][y],
        lambda y: sum(table[y] for table in SETS["more"]),
        lambda y: SETS["named"][0][y] * (SETS["named"][0] is TABLE),
    ],
)
def test_arrays_in_attributes_and_containers_at_traced_positions(function):
    agrees(function, LABELS)


def test_holders_and_their_arrays_are_returned_themselves():
    rows, parts, _ = axiomjit.jit(MODEL.returns, strict=True)(LABELS)
    assert rows is MODEL.rows
    assert parts["rows"][0] is MODEL.parts["rows"][0]
    assert type(MODEL.rows) is type(SETS["table"]) is np.ndarray


def test_another_array_in_an_attribute_is_followed_anew():
    model = Model()
    np.testing.assert_array_equal(model.decorated(LABELS), model.rows[LABELS])
    model.rows = np.ones((3, 2))
    np.testing.assert_array_equal(model.decorated(LABELS), model.rows[LABELS])


def test_what_is_changed_in_holders_is_found():
    model, kept = Model(), [np.zeros(3)]

    def appends(y):
        kept.append(y)
        return kept[0][y]

    for function in (model.counts, appends):
        with pytest.raises(NeedsValuesError):
            axiomjit.jit(function, strict=True)(LABELS)
    assert model.calls == 0
    assert len(kept) == 1
    assert type(kept[0]) is type(model.rows) is np.ndarray
    with pytest.warns(FallbackWarning):
        axiomjit.jit(model.counts)(LABELS)
    assert model.calls == 1
