"""Folds by accumulators over named axes, in compiled functions and at once."""

from itertools import permutations

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.caching import DEFAULT_LIMIT
from tests.passes.folded import MEANT, folded_exactly, whole_numbers

NAMES = ("matrices", "seeded", "neutral", "lifted")


def of_axes(name, rows, columns, axes, shape):
    """A fold of tensors along axes, and what it is to give."""
    meant = MEANT[name]
    rng = np.random.default_rng(0)
    arrays = [whole_numbers(rng, shape) for _ in range(meant.operands)]
    tensors = [aj.placeholder([rows, columns], "i8") for _ in arrays]
    folded = aj.fold(meant.acc, *tensors, axes=axes)
    outputs = list(folded) if isinstance(folded, tuple) else [folded]
    positions = [[rows, columns].index(axis) for axis in axes]
    rows.length, columns.length = shape
    run = aj.transformers.make_transformer().computation(outputs, *tensors)
    return run(*arrays), folded_exactly(meant, arrays, positions)


@pytest.mark.parametrize("shape", [(3, 4), (6, 9), (2, 0), (0, 7)], ids=str)
@pytest.mark.parametrize("name", NAMES)
def test_lengths_may_be_known_at_the_call(name, shape):
    for known in (True, False):
        lengths = shape if known else (None, None)
        for folded in ((0,), (1,), (1, 0)):
            rows, columns = (aj.make_axis(n, name) for n, name in zip(lengths, "rc", strict=True))
            axes = [(rows, columns)[k] for k in folded]
            found, wanted = of_axes(name, rows, columns, axes, shape)
            for one, other in zip(found, wanted, strict=True):
                np.testing.assert_array_equal(one, other)


def test_axes_are_paired_and_named():
    rows, columns = aj.make_axes({"rows": 3, "columns": 4})
    x = whole_numbers(np.random.default_rng(1), (3, 4))
    y = whole_numbers(np.random.default_rng(2), (4,))
    meant = MEANT["lifted"]
    made = aj.fold(
        meant.acc, aj.constant(x, [rows, columns]), aj.constant(y, [columns]), axes="columns"
    )
    (wanted,) = folded_exactly(meant, [x, np.broadcast_to(y, x.shape)], [1])
    np.testing.assert_array_equal(made.eval().values, wanted)
    with pytest.raises(ValueError, match="depth"):
        aj.fold("sum", aj.constant(x, [rows, columns]), axes="depth")


@pytest.mark.parametrize("name", [*NAMES, "spread", "compose"])
def test_functions_and_arrays_agree(name):
    meant = MEANT[name]
    rng = np.random.default_rng(3)
    arrays = [whole_numbers(rng, (30, 1100)) for _ in range(meant.operands)]
    compiled = aj.jit(lambda *xs: aj.fold(meant.acc, *xs, axes=(1,)))
    once = aj.fold(meant.acc, *arrays, axes=1)
    for one, other in zip(np.atleast_2d(compiled(*arrays)), np.atleast_2d(once), strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("name", ["compose", "seeded", "spread"])
def test_bits_do_not_depend_on_threads(name):
    from axiomjit.runtime.execution.workers import threads

    meant = MEANT[name]
    arrays = [np.random.default_rng(4).standard_normal(300_000) for _ in range(meant.operands)]
    compiled = aj.jit(lambda *xs: aj.fold(meant.acc, *xs))
    with threads(1):
        wanted = compiled(*arrays)
    np.testing.assert_array_equal(compiled(*arrays), wanted)


@pytest.mark.parametrize("running", [False, True])
@pytest.mark.parametrize("name", [*NAMES, "compose"])
def test_named_arrays_are_folded_at_once(name, running):
    meant = MEANT[name]
    rows, columns = aj.make_axes({"rows": 3, "columns": 4})
    arrays = [whole_numbers(np.random.default_rng(k), (3, 4)) for k in range(meant.operands)]
    named = [aj.NamedArray(a, [rows, columns]) for a in arrays]
    if meant.operands > 1:  # axes are paired, wherever they stand
        named[1] = named[1].transpose("columns", "rows")
    for axes, places in ((columns, 1), ("rows", 0), ([columns, "rows"], (1, 0)), (None, (0, 1))):
        found = aj.fold(meant.acc, *named, axes=axes, running=running)
        wanted = aj.fold(meant.acc, *arrays, axes=places, running=running)
        left = {1: [rows], 0: [columns]}.get(places, []) if not running else [rows, columns]
        several = isinstance(wanted, tuple)
        for one, other in zip(
            found if several else [found], wanted if several else [wanted], strict=True
        ):
            assert isinstance(one, aj.NamedArray)
            assert [*one.axes] == left
            np.testing.assert_array_equal(one.values, other)


def test_named_arrays_beside_tensors_and_numbers():
    rows, columns = aj.make_axes({"rows": 3, "columns": 4})
    x = aj.NamedArray(np.arange(12).reshape(3, 4), [rows, columns])
    dot = aj.Accumulator(0, lambda a, b: a + b, lift=lambda x, y: x * y)
    assert aj.fold(dot, x, 3, axes=columns).values.tolist() == [18, 66, 114]
    assert aj.fold(dot, x, 2, axes=columns).values.tolist() == [12, 44, 76]
    made = aj.fold(dot, x, aj.constant([1, 0, 2], [rows]), axes=rows)
    assert made.eval().values.tolist() == [16, 19, 22, 25]
    total = aj.jit(lambda x: aj.fold("sum", x, axes="rows"))(x)
    assert total.values.tolist() == x.values.sum(axis=0).tolist()
    with pytest.raises(TypeError, match="argument 1 beside named arrays"):
        aj.fold(dot, x, x.values)


def test_functions_of_arrays_are_kept():
    x, meant = whole_numbers(np.random.default_rng(0), (5, 7)), MEANT["seeded"]
    followed = []

    def add(a, b):
        followed.append(1)
        return a + b

    acc = aj.Accumulator(100, add, commutative=True)
    for running in (False, True):
        aj.fold(acc, x, axes=1, running=running)
    for n in range(6, 12):
        wide = whole_numbers(np.random.default_rng(n), (5, n))
        (wanted,) = folded_exactly(meant, [wide], [1])
        np.testing.assert_array_equal(aj.fold(acc, wide, axes=(-1,)), wanted)
    assert len(followed) <= 2  # a state whose dtype has settled
    assert len(acc.cache) == 3
    function = acc.cache[(1,), False]
    for _ in range(30):
        aj.fold(acc, x, axes=1)
    assert function.misses < 20


def test_no_more_functions_are_kept_than_a_table_holds(monkeypatch):
    monkeypatch.setattr(aj.config, "disable", True)
    acc, x = MEANT["seeded"].acc, np.ones((1,) * 5, int)
    orders = [order for n in range(1, 6) for order in permutations(range(5), n)]
    for axes in orders[:200]:
        aj.fold(acc, x, axes=axes)
        assert 0 < len(acc.cache) <= DEFAULT_LIMIT
    aj.fold(acc, x, axes=orders[0])
    assert ((0,), False) in acc.cache


def test_logsumexp_of_tensors():
    rows, columns = aj.make_axes({"rows": 3, "columns": 4})
    x = np.random.default_rng(5).standard_normal((3, 4)) * 100
    made = aj.logsumexp(aj.constant(x, [rows, columns]), columns).eval().values
    top = x.max(1, keepdims=True)
    np.testing.assert_allclose(made, np.log(np.exp(x - top).sum(1)) + top[:, 0], rtol=1e-14)


ARRAY = np.ones(3)
REFUSED = [
    (lambda: aj.fold("summ", ARRAY), ValueError, "no accumulator of this name"),
    (lambda: aj.fold(np.add, ARRAY), TypeError, "neither an Accumulator nor the name"),
    (lambda: aj.fold("sum"), TypeError, "nothing to fold"),
    (lambda: aj.fold("sum", ARRAY, ARRAY), ValueError, "sum takes one"),
    (lambda: aj.fold("sum", ARRAY, axes=1), ValueError, "out of bounds"),
    (lambda: aj.fold("sum", ARRAY, axes="rows"), TypeError, "an axis that is no number"),
    (lambda: aj.fold("sum", ARRAY, axes=[1.5]), TypeError, "an axis that is no number"),
    (lambda: aj.fold("sum", ARRAY, axes=(0, 0)), ValueError, "axes"),
    (lambda: aj.Accumulator(ARRAY, lambda a, b: a), TypeError, "an init that is no number"),
    (lambda: aj.Accumulator((), lambda a, b: a), TypeError, "an init that is no number"),
    (lambda: aj.Accumulator(0, 3), TypeError, "which cannot be called"),
    (lambda: aj.Accumulator(0, lambda a, b: a, lift=2), TypeError, "lift=2"),
    (
        lambda: aj.fold(aj.Accumulator(0, lambda a, b: (a, b)), ARRAY),
        ValueError,
        "a tuple of 2 numbers as a state, where init is 0, a number",
    ),
    (
        lambda: aj.fold(aj.Accumulator((0, 0), lambda a, b: a), ARRAY),
        ValueError,
        "a tuple of 1 number as a state, where init is",
    ),
    (
        lambda: aj.fold(aj.Accumulator(0, lambda a, b: a + ARRAY), ARRAY),
        TypeError,
        "from outside the function",
    ),
    (
        lambda: aj.fold(aj.Accumulator(0, lambda a, b: a if a > b else b), ARRAY),
        TypeError,
        "np.where",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_accumulators_call_elementary_functions():
    added = aj.Accumulator(None, lambda a, b: np.log(np.exp(a) + np.exp(b)))
    x = np.linspace(-1.0, 2.0, 3000)
    found = aj.jit(lambda x: aj.fold(added, x))(x)
    np.testing.assert_allclose(found, np.log(np.exp(x).sum()), rtol=1e-13)


FIRST = aj.Accumulator(None, lambda a, b: a * 0.5 + b)
WITHOUT_START = ["max", "min", "argmax", "argmin", FIRST]
OF_NOTHING = "seen: a length of 0"


def named(count):
    return aj.NamedArray(np.ones((3, count)), {"m": 3, "n": count})


def late(made):
    """A computation that was made before a length was known, called when it is 0."""
    m, n = aj.make_axis(3, "m"), aj.make_axis(name="n")
    tensor = aj.placeholder([m, n])
    run = aj.transformers.make_transformer().computation(made(tensor), tensor)
    n.length = 0
    return run(np.ones((3, 0)))


def chosen(function):
    """A compiled function of a part of its argument, called again where nothing is chosen."""
    compiled = aj.jit(lambda x: function(x[x > 0]))
    compiled(np.ones(100))
    return compiled(-np.ones(100))


def shorter(function):
    compiled = aj.jit(function)
    for count in (100, 90, 80):
        compiled(np.ones(count))
    return compiled(np.ones(0))


@pytest.mark.parametrize("acc", WITHOUT_START, ids=str)
@pytest.mark.parametrize(
    "call",
    [
        lambda acc: aj.fold(acc, np.ones((3, 0)), axes=1),
        lambda acc: aj.jit(lambda x: aj.fold(acc, x, axes=1))(np.ones((3, 0))),
        lambda acc: aj.fold(acc, named(0), axes="n"),
        lambda acc: aj.fold(acc, named(0)),
        lambda acc: aj.jit(lambda x: aj.fold(acc, x, axes="n"))(named(0)),
        lambda acc: late(lambda tensor: aj.fold(acc, tensor, axes="n")),
        lambda acc: chosen(lambda x: aj.fold(acc, x)),
        lambda acc: shorter(lambda x: aj.fold(acc, x)),
    ],
)
def test_a_fold_of_nothing_without_a_start_is_refused(call, acc):
    with pytest.raises(ValueError, match=OF_NOTHING):
        call(acc)


@pytest.mark.parametrize("reduce", ["max", "min", FIRST], ids=str)
@pytest.mark.parametrize("spec", ["ij=>i", "ij->i"])
@pytest.mark.parametrize(
    "call",
    [
        lambda spec, reduce: aj.einsum(spec, np.ones((3, 0)), reduce=reduce),
        lambda spec, reduce: aj.einsum(spec, named(0), reduce=reduce),
        lambda spec, reduce: aj.jit(lambda x: aj.einsum(spec, x, reduce=reduce))(named(0)),
        lambda spec, reduce: late(lambda tensor: aj.einsum(spec, tensor, reduce=reduce)),
        lambda spec, reduce: chosen(
            lambda x: aj.einsum(spec[1:].replace("i", ""), x, reduce=reduce)
        ),
        lambda spec, reduce: np.asarray(
            aj.einsum("ij=>i", aj.tensor(np.ones(0), output=(3, 0)), reduce=reduce)
        ),
    ],
)
def test_a_spec_reduced_over_nothing_without_a_start_is_refused(call, spec, reduce):
    with pytest.raises(ValueError, match=OF_NOTHING):
        call(spec, reduce)


@pytest.mark.parametrize("acc", ["sum", "prod", "any", "all", "logsumexp"])
def test_a_fold_of_nothing_with_a_start_is_its_start(acc):
    wanted = aj.fold(acc, np.ones((3, 0)), axes=1)
    for found in (aj.fold(acc, named(0), axes="n"), late(lambda x: aj.fold(acc, x, axes="n"))):
        assert np.array_equal(np.asarray(found), wanted)
