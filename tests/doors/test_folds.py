"""Folds by accumulators over named axes, in compiled functions and at once."""

import numpy as np
import pytest

import axiomjit as aj
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
    from axiomjit.runtime.launching.schedule import threads

    meant = MEANT[name]
    arrays = [np.random.default_rng(4).standard_normal(300_000) for _ in range(meant.operands)]
    compiled = aj.jit(lambda *xs: aj.fold(meant.acc, *xs))
    with threads(1):
        wanted = compiled(*arrays)
    np.testing.assert_array_equal(compiled(*arrays), wanted)


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
        "a tuple of 1 numbers as a state, where init is",
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
