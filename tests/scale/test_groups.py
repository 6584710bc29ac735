"""Folds of groups of arrays in blocks are those of the whole arrays; what their tasks are."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import PositionError
from axiomjit.dispatch.jit import jit

da = pytest.importorskip("dask.array")

X = np.random.default_rng(0).integers(-4, 5, (13, 7)).astype("f8")
AFFINE = aj.Accumulator(
    (1.0, 0.0),
    lambda a, b: (a[0] * b[0], a[1] * b[0] + b[1]),
    lift=lambda x: (0.5 + 0.0 * x, x),
    final=lambda a: a[1],
)
SPREAD = aj.Accumulator(
    (np.inf, -np.inf),
    lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])),
    lift=lambda x: (x, x),
    commutative=True,
)
ACCUMULATORS = {
    **{name: name for name in ("sum", "prod", "max", "min", "any", "all", "argmax", "argmin")},
    **{name: name for name in ("mean", "logsumexp", "variance", "std")},
    "affine": AFFINE,
    "last": aj.Accumulator(None, lambda a, b: b),
    "spread": SPREAD,
}
CASES = {
    "rows cut": (0, (5, 7), False),
    "columns cut": (0, (13, 3), False),
    "both cut": (1, (5, 3), True),
    "empty and short blocks": (0, ((1, 0, 12), (3, 3, 1)), False),
    "two axes": ((0, 1), (5, 7), True),
}
ALL, SOME = ("both cut",), ("sum", "argmax", "std", "affine", "spread")
"""The case of all accumulators, and the accumulators of all cases."""


@pytest.fixture(autouse=True)
def evaluated(monkeypatch):
    """Blocks are evaluated in NumPy: what is compiled does not matter here."""
    monkeypatch.setattr(config, "disable", True)


def parts(made):
    return made if isinstance(made, tuple) else (made,)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")  # of groups without elements
@pytest.mark.parametrize(
    ("name", "case"),
    [(name, case) for name in ACCUMULATORS for case in CASES if case in ALL or name in SOME],
)
def test_every_accumulator(name, case):
    (axes, chunks, in_blocks), acc = CASES[case], ACCUMULATORS[name]
    labels = np.random.default_rng(1).integers(-1, 4, [X.shape[d] for d in np.atleast_1d(axes)])
    x = da.from_array(X, chunks=chunks)
    given = da.from_array(labels, [chunks[d] for d in np.atleast_1d(axes)]) if in_blocks else labels
    want = aj.fold(acc, X, axes=axes, by=labels, groups=4)
    got = aj.fold(acc, x, axes=axes, by=given, groups=4)
    for one, whole in zip(parts(got), parts(want), strict=True):
        found = one.compute(scheduler="synchronous")
        assert (found.dtype, one.shape) == (whole.dtype, whole.shape)
        np.testing.assert_allclose(found, whole, rtol=1e-12)


def test_compiled_blocks(monkeypatch):
    monkeypatch.setattr(config, "disable", False)
    labels = np.arange(13) % 4 - 1
    x = da.from_array(X, chunks=(5, 3))
    calls = jit(
        lambda x: [aj.fold(acc, x, axes=0, by=labels, groups=3) for acc in ("max", "std", AFFINE)]
    )
    for one, want in zip(calls(x), calls(X), strict=True):
        np.testing.assert_allclose(one.compute(), want, rtol=1e-12)


def test_one_task_per_block_and_one_read_of_a_sum():
    x, labels = da.from_array(X, chunks=(5, 7)), np.arange(13) % 3
    labels.flags.writeable = False
    text = jit(lambda x: aj.fold("sum", x, axes=0, by=labels, groups=3)).axes_report(x)
    assert "x axis 0: reduce in sum of groups  " in text
    assert "sum of groups of a block: 3 tasks, reading up to 384 bytes per block" in text
    assert text.count("3 tasks") == 1
    assert aj.fold("sum", x, axes=0, by=labels, groups=3).chunks == ((3,), (7,))


def test_old_elements_are_combined_once():
    labels = np.arange(13) % 4

    def added(x):
        found = np.full((4, 7), 10.0)
        np.add.at(found, labels, x)
        np.maximum.at(found, labels, x * 3.0)
        return found

    made = jit(added)(da.from_array(X, chunks=(5, 3)))
    np.testing.assert_array_equal(made.compute(scheduler="synchronous"), added(X))


def test_wrong_labels_are_found_by_tasks():
    labels = da.from_array(np.arange(13), chunks=5)
    made = aj.fold("sum", da.from_array(X, chunks=(5, 7)), axes=0, by=labels, groups=3)
    with pytest.raises(PositionError):
        made.compute(scheduler="synchronous")


def test_blocks_of_unknown_lengths():
    rows, labels = X[:, 0] > -2, np.arange(13) % 3
    x, given = da.from_array(X, chunks=(5, 7)), da.from_array(labels, chunks=5)
    taken = da.from_array(rows, chunks=5)
    made = aj.fold("sum", x[taken], axes=0, by=given[taken], groups=3)
    want = aj.fold("sum", X[rows], axes=0, by=labels[rows], groups=3)
    np.testing.assert_array_equal(made.compute(scheduler="synchronous"), want)
