"""concatenate, stack, pad and roll: stored where they are returned, else read where they lie."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import GraphValueError, UnsupportedError
from tests.numpy_rules.test_numpy_agreement import pairs

X, Y = np.arange(12.0).reshape(3, 4), np.arange(8.0).reshape(2, 4) - 3.0


def around(x):
    p = np.pad(x, 1)
    return p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:] - 4 * p[1:-1, 1:-1]


JOINED = {
    "concatenate": lambda x, y: (
        np.concatenate([x, y]),
        np.concatenate((x.T, y.T), axis=-1)[::-1, 1:-1:2] * 2.0,
        np.concatenate([x, y], axis=None),
        np.concatenate([x, y]).sum(axis=0),
        np.concatenate([x[:0], y, x[::-2]]),
        np.concatenate([x, y.astype("f4"), [[1, 2, 3, 4]]], dtype="f4"),
        np.append(x, y, axis=0),
        np.append(x, [1, 2]),
    ),
    "of folds": lambda x, y: (
        np.concatenate([x.sum(axis=0), y.max(axis=1)]),
        np.stack([x.mean(axis=0), y.min(axis=0)]) - x[:2],
        np.concatenate([x - x.mean(axis=0), y]).max(),
        np.pad((np.pad(x, 1) * 2.0).sum(axis=0) * 2.0 + 1.0, (0, 1)),
    ),
    "stack": lambda x, y: (
        np.stack([x, x + 1.0], axis=1),
        np.stack([x.sum(), y.sum(), 3.0]),
        np.stack(x),
        np.vstack([x, y[0]]),
        np.hstack([x.T, y.T]),
        np.hstack([x[0], 1.0]),
        np.dstack([x, x]),
        np.column_stack([x[0], x[1], y.T]),
        np.stack([x[:0], x[:0] * 2.0, x[3:]]),
        np.stack([x[:, :0], x[:, 4:]], axis=1),
    ),
    "roll": lambda x, y: (
        np.roll(x, 1) - x,
        np.roll(x, (1, -7), axis=(0, 1)),
        np.roll(x, 2, axis=(0, 1)),
        np.roll(x[0], -1) + np.roll(x[0], 1),
        np.roll(x[:0], 3),
    ),
    "pad": lambda x, y: (
        np.pad(x, 1),
        np.pad(x, ((1, 0), (2, 3)), constant_values=((1, 2), (3, x.shape[0]))),
        np.pad(x.astype(int), 1, constant_values=1.7),
        np.pad(x, {1: (1, 2)}, "edge"),
        np.pad(x, 2, "reflect"),
        np.pad(x, 2, mode="symmetric"),
        np.pad(x, (1, 2), mode="wrap"),
        np.pad(x[0, 0], 3),
        np.pad(x[:, :0], 1),
    ),
    "read": lambda x, y: (
        around(x),
        np.pad(x, 1)[0] + 1.0,
        np.pad(x, 1)[2:-1] + 1.0,
        np.pad(x, 1).sum(axis=1),
        np.pad(y, 1).max(axis=0),
        np.pad(np.concatenate([x, y]), 1)[::-2, ::3] * 2.0,
        np.pad(x, 1) @ np.pad(x, 1).T,
        np.pad(x, 1).T.reshape(-1) + 1.0,
    ),
}
COMPILED = {name: axiomjit.jit(f) for name, f in JOINED.items()}


@pytest.mark.parametrize("layout", ["C", "F"])
@pytest.mark.parametrize("name", JOINED)
def test_agree(name, layout):
    x, y = (np.array(v, order=layout) for v in (X, Y))
    for got, want in pairs(COMPILED[name](x, y), JOINED[name](x, y)):
        np.testing.assert_array_equal(got, want, strict=True)


@pytest.mark.parametrize("shape", [(6, 7), (9, 5), (5, 11), (1, 6)])
def test_other_lengths(shape):
    x = np.arange(np.prod(shape), dtype=float).reshape(shape)
    np.testing.assert_array_equal(AROUND(x), around(x))


AROUND = axiomjit.jit(around)


def test_operands_are_read_where_they_lie():
    x = np.ones((60, 70))
    lowered = axiomjit.jit(around).lower(x)
    assert lowered.cost.temporary_bytes == 0
    assert lowered.cost.kernels == 1
    total = axiomjit.jit(lambda x: np.concatenate([x, x * 2.0]).sum()).lower(x)
    assert total.cost.temporary_bytes == 0
    assert total.cost.kernels == 1
    assert total.cost.bytes_read == x.nbytes


def test_known_shifts_have_parts_without_a_remainder():
    rolled = axiomjit.jit(lambda x: np.roll(x, 1) + np.roll(x, -2))
    for x in (X[0], X[0, :3], X[0, :2], X[0, :1], X[0, :0]):
        np.testing.assert_array_equal(rolled(x), np.roll(x, 1) + np.roll(x, -2))
    assert "floor" not in str(rolled.lower(X[0]).loops)


def test_second_shape_compiles_nothing(memory_only):
    x = np.ones((60, 70))
    function = axiomjit.jit(around)
    function(x)
    before = axiomjit.stats()["compiles"]
    np.testing.assert_array_equal(function(np.ones((50, 90))), around(np.ones((50, 90))))
    assert axiomjit.stats()["compiles"] == before


@pytest.mark.parametrize(
    ("function", "error", "message"),
    [
        (lambda x: np.concatenate([]), ValueError, "need at least one array"),
        (lambda x: np.stack([x, x[0]]), ValueError, "same shape"),
        (lambda x: np.concatenate([x, x[0]]), GraphValueError, r"\[3, 4\] and \[4\]"),
        (lambda x: np.concatenate([x, x[:, 1:]]), GraphValueError, r"\[3, 4\] and \[3, 3\]"),
        (lambda x: np.concatenate([x, 1.0]), ValueError, "same number of dimensions"),
        (lambda x: np.concatenate([x], axis=2), np.exceptions.AxisError, "out of bounds"),
        (lambda x: np.concatenate([x], dtype=int), TypeError, "Cannot cast"),
        (lambda x: np.pad(x, -1), ValueError, "negative"),
        (lambda x: np.pad(x, ((1, 2), (1, 2), (1, 2))), ValueError, "broadcast together"),
        (lambda x: np.pad(x, 1, "mean"), UnsupportedError, "the option mode of pad"),
        (lambda x: np.pad(x, 1, "reflect", reflect_type="odd"), UnsupportedError, "reflect_type"),
        (lambda x: np.pad(x, 5, "wrap"), UnsupportedError, "beyond the 3 elements"),
        (lambda x: np.pad(x[:0], 1, "edge"), ValueError, "empty axis 0"),
        (lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)), ValueError, "broadcast to a single shape"),
    ],
)
@pytest.mark.usefixtures("refusing")
def test_refused(function, error, message):
    with pytest.raises(error, match=message):
        axiomjit.jit(lambda x: x + function(x).sum())(X)
