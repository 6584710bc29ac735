"""Folds by groups: the same as a loop over the groups with the fold of each one."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.accumulators.accumulator import BUILT_IN
from axiomjit.accumulators.grouped import GROUPED
from axiomjit.base.dtypes import INT
from axiomjit.base.errors import GraphTypeError, GraphValueError, PositionError
from axiomjit.graph.nodes import Input
from axiomjit.graph.reductions import in_nodes
from tests.generator.budget import budget

COMPOSE = aj.Accumulator((1.0, 0.0), lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1]))
SPREAD = aj.Accumulator(
    None,
    lambda a, b: (np.maximum(a[0], b[0]), np.minimum(a[1], b[1])),
    lift=lambda e: (e, e),
    final=lambda s: s[0] - s[1],
    commutative=True,
)
PRODUCT = aj.Accumulator(1, lambda a, b: a * b, commutative=True, has_identity=True)
LAST = aj.Accumulator(-1.0, lambda a, b: b)
EMPTY = {
    **{"sum": 0, "prod": 1, "any": False, "all": True, "argmax": -1, "argmin": -1},
    **dict.fromkeys(("max", "min", "mean", "variance", "std"), np.nan),
    "logsumexp": -np.inf,
}


def in_order(x, axes):
    """The array with these dimensions as one, the last."""
    kept = [d for d in range(x.ndim) if d not in axes]
    return x.transpose(*kept, *axes).reshape(*(x.shape[d] for d in kept), -1)


def looped(acc, operands, axes, labels, groups, empty):
    """The fold of each group on its own, with the groups in the place of the first dimension."""
    rows = [in_order(x, axes) for x in operands]
    flat = labels.ravel()
    results = []
    for group in range(groups):
        chosen = np.flatnonzero(flat == group)
        if not len(chosen):
            results.append(np.broadcast_to(empty, (*rows[0].shape[:-1], *np.shape(empty))))
            continue
        found = aj.fold(acc, *(row[..., chosen] for row in rows), axes=rows[0].ndim - 1)
        if isinstance(acc, str) and acc.startswith("arg"):
            found = chosen[found]
        results.append(np.stack(found, -1) if isinstance(found, tuple) else found)
    return np.stack(results, min(axes))


def compare(acc, operands, axes, labels, groups, empty, compiled, bound=1e-12):
    """Compare a grouped fold with the loop over groups."""

    def grouped(labels, *operands):
        return aj.fold(acc, *operands, axes=axes, by=labels, groups=groups)

    found = (aj.jit(grouped) if compiled else grouped)(labels, *operands)
    found = np.stack(found, -1) if isinstance(found, tuple) else found
    wanted = looped(acc, operands, axes, labels, groups, empty)
    assert found.shape == wanted.shape
    np.testing.assert_allclose(found, wanted, rtol=bound, atol=bound)


@pytest.mark.parametrize("name", GROUPED)
def test_built_in_accumulators(name):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3, 30, 4))
    x[0, 3, 1] = np.nan
    labels = rng.integers(-1, 4, 30)
    compare(name, [x], (1,), labels, 6, EMPTY[name], compiled=True)


def test_each_built_in_accumulator_has_a_row():
    assert set(GROUPED) == set(BUILT_IN)


@pytest.mark.parametrize("compiled", [False, True])
def test_accumulators_of_the_users(compiled):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(2, 5, 6, 2)).round(2)
    labels = rng.integers(-1, 3, (6, 5))
    compare(COMPOSE, [x, y], (1, 0), labels, 5, [1.0, 0.0], compiled)
    compare(SPREAD, [x], (1, 0), labels, 5, np.nan, compiled)
    compare(PRODUCT, [x], (1, 0), labels, 5, 1, compiled)
    compare(LAST, [x], (1, 0), labels, 5, -1.0, compiled)


@pytest.mark.parametrize("dtype", ["f2", "u1", "b1", "c8"])
def test_dtypes_are_those_of_the_fold(dtype):
    x = np.arange(12).reshape(2, 6).astype(dtype)
    labels = np.array([0, 1, 0, 1, 0, 1], np.int8)
    names = ("sum", "variance") if dtype == "c8" else ("mean", "max", "any")
    for name in names:
        found = aj.fold(name, x, axes=1, by=labels, groups=2)
        wanted = aj.fold(name, x[:, ::2], axes=1), aj.fold(name, x[:, 1::2], axes=1)
        assert found.dtype == wanted[0].dtype
        np.testing.assert_allclose(found, np.stack(wanted, 1), rtol=1e-3)


def test_counts_and_sums_are_those_of_bincount():
    rng = np.random.default_rng(2)
    labels, weights = rng.integers(0, 50, 5000), rng.normal(size=5000)
    found = aj.fold("sum", weights, by=labels, groups=50)
    assert found.tobytes() == np.bincount(labels, weights, 50).tobytes()
    ones = aj.fold("sum", np.ones(5000, int), by=labels, groups=50)
    np.testing.assert_array_equal(ones, np.bincount(labels, minlength=50))


@pytest.mark.parametrize("acc", ["sum", "max", COMPOSE])
def test_bits_do_not_depend_on_threads(acc):
    rng = np.random.default_rng(3)
    x, labels = rng.normal(size=(2, 600_000)), rng.integers(0, 4, 600_000)
    operands = [x, x] if acc is COMPOSE else [x]
    operands = [one * 1e-3 for one in operands]
    found = []
    for count in (1, 2):
        with aj.threads(count):
            made = aj.fold(acc, *operands, axes=1, by=labels, groups=4)
        found.append(np.asarray(made).tobytes())
    assert found[0] == found[1]


def test_nothing_is_folded():
    x, labels = np.zeros((0, 3)), np.zeros(0, int)
    assert aj.fold("sum", x, axes=0, by=labels, groups=2).tolist() == [[0.0] * 3] * 2
    assert np.isnan(aj.fold(SPREAD, x, axes=0, by=labels, groups=2)).all()
    assert aj.fold(LAST, x, axes=0, by=labels, groups=2).tolist() == [[-1.0] * 3] * 2
    assert aj.fold("mean", np.ones(3), by=np.zeros(3, int) - 1, groups=0).shape == (0,)


def test_elements_that_a_mask_selects():
    @aj.jit(strict=True)
    def means(x, labels, low):
        chosen = x > low
        given = {"by": labels[chosen], "groups": 3}
        return aj.fold("mean", x[chosen], **given), aj.fold(SPREAD, x[chosen], **given)

    x, labels = np.arange(20.0), np.arange(20) % 3
    for low in (4.5, 100.0):
        mean, spread = means(x, labels, low)
        if low > 20:
            assert np.isnan([mean, spread]).all()
        else:
            parts = [x[(x > low) & (labels == k)] for k in range(3)]
            np.testing.assert_array_equal(mean, [part.mean() for part in parts])
            np.testing.assert_array_equal(spread, [np.ptp(part) for part in parts])


def test_arithmetic_around_it_is_compiled():
    @aj.jit(strict=True)
    def anomalies(x, labels):
        means = aj.fold("mean", x * 2.0, axes=0, by=labels, groups=12)
        return x * 2.0 - means[labels]

    x, labels = np.random.default_rng(4).normal(size=(48, 5)), np.arange(48) % 12
    wanted = 2.0 * x - np.stack([2.0 * x[k::12].mean(0) for k in range(12)])[labels]
    np.testing.assert_allclose(anomalies(x, labels), wanted, atol=1e-14)


def test_named_arrays_and_tensors():
    time, place = aj.make_axes({"time": 6, "place": 2})
    x, labels = np.arange(12.0).reshape(2, 6), np.array([0, 1, 2, 0, -1, 1])
    wanted = aj.fold("mean", x, axes=1, by=labels, groups=3)
    named, by = aj.NamedArray(x, [place, time]), aj.NamedArray(labels, [time])
    month = aj.make_axis(3, "month")
    for found in (
        aj.fold("mean", named, axes="time", by=by, groups=3),
        aj.fold("mean", named, by=by, groups=month),
        aj.jit(lambda n, b: aj.fold("mean", n, axes="time", by=b, groups=3))(named, by),
        aj.fold("mean", aj.constant(x, [place, time]), by=by, groups=month).eval(),
    ):
        np.testing.assert_array_equal(found.values, wanted)
        assert found.axes[0] is place
    assert aj.fold("mean", named, by=by, groups=month).axes[1] is month
    with pytest.raises(aj.errors.AxesError, match="labels with axes"):
        aj.fold("mean", named, axes="place", by=by, groups=3)


@pytest.mark.parametrize("wrong", [3, -2, np.iinfo(np.int64).min])
@pytest.mark.parametrize("compiled", [False, True])
def test_other_labels_are_errors(wrong, compiled):
    def total(x, labels):
        return aj.fold("sum", x, by=labels, groups=3)

    with pytest.raises(PositionError, match=f"the label {wrong}\n.*from 0 to 2, or -1"):
        (aj.jit(total) if compiled else total)(np.ones(4), np.array([0, 1, wrong, 2]))


def test_refusals(golden):
    x, labels = np.ones((2, 3)), np.zeros(3, int)
    texts = []
    for acc, given in [
        ("sum", {"axes": 1, "by": labels}),
        ("sum", {"axes": 1, "groups": 3}),
        ("sum", {"axes": 1, "by": labels, "groups": 3, "running": True}),
        ("sum", {"axes": 0, "by": labels, "groups": 3}),
        ("sum", {"by": labels, "groups": 3}),
        ("sum", {"axes": 1, "by": labels * 1.0, "groups": 3}),
        ("sum", {"axes": 1, "by": labels, "groups": 2.5}),
        ("sum", {"axes": 1, "by": labels, "groups": -1}),
    ]:
        with pytest.raises((GraphTypeError, GraphValueError)) as caught:
            aj.fold(acc, x, **given)
        texts.append(f"{caught.value.asked}\n  {caught.value.seen}\n  {caught.value.remedy}")
    golden("\n".join(texts))


def test_random_programs():
    for seed in range(budget(4)):
        rng = np.random.default_rng(seed)
        shape = tuple(rng.integers(1, 5, rng.integers(1, 4)))
        count = int(rng.integers(1, len(shape) + 1))
        axes = tuple(int(d) for d in rng.permutation(len(shape))[:count])
        groups = int(rng.integers(1, 5))
        labels = rng.integers(-1, groups, [shape[d] for d in axes])
        x = rng.integers(-3, 4, shape).astype(float)
        name = str(rng.choice(["sum", "max", "mean", "argmin", "std"]))
        chosen, empty = [(name, EMPTY[name]), (LAST, -1.0), (SPREAD, np.nan)][seed % 3]
        compare(chosen, [x], axes, labels, groups, empty, compiled=False)


def unbroken(fold):
    """The combined (label, state) pair if the fold goes on where the label changes."""
    parts = (INT, *fold.parts)
    given = [Input(dtype, k, ()) for k, dtype in enumerate(parts * 2)]
    left, right = given[1 : len(parts)], given[len(parts) + 1 :]
    combined = in_nodes(fold.outputs, [*left, *right])
    return (given[len(parts)], *combined)


FAULTS = {
    "empty": ("accumulators.grouped.Groups.filled", lambda self, node, value: node),
    "divided": ("accumulators.grouped._divided", lambda groups, total: total),
    "left out": ("accumulators.grouped.Groups.finished", lambda self, node: node),
    "unbroken": ("graph.grouped_states._within_groups", unbroken),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(monkeypatch, fault):
    place, other = FAULTS[fault]
    monkeypatch.setattr(f"axiomjit.{place}", other)
    x, labels = np.arange(1.0, 9.0), np.array([0, -1, 1, 0, 1, 0, -1, 1])
    total = aj.Accumulator(0.0, lambda a, b: a + b)
    given = [("max", np.nan), ("mean", np.nan), (total, 0.0)]
    assert not all(is_equal(acc, x, labels, empty) for acc, empty in given)


def is_equal(acc, x, labels, empty):
    """True if the fold into three groups is that of the loop."""
    try:
        compare(acc, [x], (0,), labels, 3, empty, compiled=True)
    except AssertionError:
        return False
    return True


def test_pandas_and_xarray_group_alike():
    pandas, xarray = pytest.importorskip("pandas"), pytest.importorskip("xarray")
    rng = np.random.default_rng(5)
    x, labels = rng.normal(size=60), rng.integers(0, 4, 60)
    series = pandas.Series(x).groupby(labels)
    data = xarray.DataArray(x, dims="t", coords={"g": ("t", labels)}).groupby("g")
    for name, theirs in (("sum", "sum"), ("mean", "mean"), ("max", "max"), ("std", "std")):
        found = aj.fold(name, x, by=labels, groups=4)
        options = {"ddof": 0} if name == "std" else {}
        np.testing.assert_allclose(found, getattr(series, theirs)(**options))
        np.testing.assert_allclose(found, getattr(data, theirs)())


def test_flox_groups_alike():
    flox = pytest.importorskip("flox")
    rng = np.random.default_rng(6)
    x, labels = rng.normal(size=(3, 60)), rng.integers(0, 4, 60)
    for name, theirs in (("sum", "sum"), ("mean", "mean"), ("variance", "var"), ("min", "min")):
        wanted, _ = flox.groupby_reduce(x, labels, func=theirs)
        np.testing.assert_allclose(aj.fold(name, x, axes=1, by=labels, groups=4), wanted)
