"""Functions of arrays of mixed rank: every mode, order, accumulator and layout, exactly."""

from itertools import product

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.loop_ir import Nest
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from tests.passes.folded import MEANT, folded_exactly, layouts, log_sum_exp, whole_numbers
from tests.passes.graphs import follow, lowered, run_plain_case, small_forms

SHAPES = {"c": ((3, 5, 9), (3, 5), (3,)), "f": ((9, 5, 3), (5, 3), (3,))}
RANKS = [(3, 2), (3, 1), (2, 3), (3, 3), (1, 1), (3, 2, 1), (2, 1, 3), (3, 0), (0, 2)]
NAMED = {
    "sum": lambda e: sum(map(int, e)),
    "prod": lambda e: np.prod(e, dtype="i8"),
    "max": max,
    "min": min,
    "any": any,
    "all": all,
    "argmax": np.argmax,
    "argmin": np.argmin,
    "mean": np.mean,
    "variance": np.var,
    "std": np.std,
    "logsumexp": log_sum_exp,
}
ROUNDED = ("mean", "variance", "std", "logsumexp")


def arrays_of(ranks, order, dtype="i8", layout="C", seed=0):
    """One array per rank, whose shapes are the ends of one shape."""
    rng, shapes = np.random.default_rng(seed), {len(s): s for s in SHAPES[order]} | {0: ()}
    made = [whole_numbers(rng, shapes[rank], dtype) for rank in ranks]
    return [layouts(a)[layout] if a.ndim and layout != "C" else a for a in made]


def stretched(array, rank, order, whole):
    """The array repeated along the dimensions that it lacks."""
    missing = (1,) * (rank - array.ndim)
    shape = (*array.shape, *missing) if order == "c" else (*missing, *array.shape)
    return np.broadcast_to(array.reshape(shape), whole)


def accumulated(array, least, order, acc):
    """The array folded along the dimensions beyond the smallest rank."""
    if array.ndim == least:
        return array
    kept = range(least) if order == "c" else range(array.ndim - least, array.ndim)
    axes = [d for d in range(array.ndim) if d not in kept]
    if not isinstance(acc, str):
        (found,) = folded_exactly(acc, [array], axes)
        return found
    moved = np.moveaxis(array, list(kept), range(least))
    flat = moved.reshape(*moved.shape[:least], -1)
    made = np.array([NAMED[acc](flat[place].tolist()) for place in np.ndindex(flat.shape[:-1])])
    return made.reshape(flat.shape[:-1])


def meant_by(fn, modes, order, arrays):
    """What the door is to give, a list of arrays."""
    rank, least = max(a.ndim for a in arrays), min(a.ndim for a in arrays)
    whole = next(a.shape for a in arrays if a.ndim == rank)
    results = []
    for k, mode in enumerate(modes):
        if mode == "broadcast":
            operands = [stretched(a, rank, order, whole) for a in arrays]
        else:
            acc = mode[1] if isinstance(mode[1], str) else MEANT[mode[1].name]
            operands = [accumulated(a, least, order, acc) for a in arrays]
        results.append(np.asarray(fn(*operands)[k]))
    return results


def check(fn, modes, order, arrays, rounded=False, chunks=2):
    given = [
        mode if mode == "broadcast" or isinstance(mode[1], str) else ("accumulate", mode[1].acc)
        for mode in modes
    ]
    door = aj.elementwise(fn, given, order)
    case = follow(lambda *xs: tuple(door(*xs)), *arrays)
    with small_forms():
        stages = lowered(case)
    found = run_plain_case(case, stages.plan, chunks)
    for one, other in zip(found, meant_by(fn, modes, order, arrays), strict=True):
        assert one.shape == other.shape
        if rounded:
            np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        else:
            np.testing.assert_array_equal(one, other)
    return stages


def two(x, y):
    return x * y + 1, x - y


def three(x, y, z):
    return x * y + z, np.maximum(x, z) - y


@pytest.mark.parametrize("order", ["c", "f"])
@pytest.mark.parametrize("ranks", RANKS, ids=str)
@pytest.mark.parametrize(
    "modes", list(product(["broadcast", ("accumulate", "sum"), ("accumulate", "max")], repeat=2))
)
def test_ranks_modes_and_orders(modes, ranks, order):
    check(two if len(ranks) == 2 else three, modes, order, arrays_of(ranks, order))


@pytest.mark.parametrize("order", ["c", "f"])
@pytest.mark.parametrize("name", NAMED)
def test_every_named_accumulator_folds_inputs_first(name, order):
    arrays = arrays_of((3, 1), order, "f8" if name in ROUNDED else "i8", seed=3)
    modes = [("accumulate", name), "broadcast"]
    check(lambda x, y: (x * 2 + y, x + y), modes, order, arrays, name in ROUNDED)


class Named(tuple):
    """An accumulator of the tests, by its name there."""

    name = property(lambda self: self[0])
    acc = property(lambda self: MEANT[self[0]].acc)


@pytest.mark.parametrize("order", ["c", "f"])
@pytest.mark.parametrize("ranks", [(3, 1), (2, 3), (3, 0)], ids=str)
@pytest.mark.parametrize("name", ["last", "seeded", "neutral", "farther"])
def test_accumulators_of_users(name, ranks, order):
    modes = [("accumulate", Named([name])), "broadcast"]
    check(two, modes, order, arrays_of(ranks, order), chunks=3)


@pytest.mark.parametrize("order", ["c", "f"])
@pytest.mark.parametrize("layout", ["F", "strided", "negative"])
@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "u1"])
def test_layouts_and_dtypes(dtype, layout, order):
    arrays = arrays_of((3, 2), order, dtype, layout)
    check(lambda x, y: (x * 2, x + y), ["broadcast", ("accumulate", "sum")], order, arrays)


@pytest.mark.parametrize("ranks", RANKS, ids=str)
def test_order_c_is_order_f_of_transposes(ranks):
    arrays = arrays_of(ranks, "c", "f8")
    modes = ["broadcast", ("accumulate", "sum")]
    fn = two if len(ranks) == 2 else three
    straight = aj.elementwise(fn, modes, "c")(*arrays)
    turned = aj.elementwise(fn, modes, "f")(*(a.T for a in arrays))
    for one, other in zip(straight, turned, strict=True):
        np.testing.assert_array_equal(one, other.T)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_arrays_without_elements(shape):
    x, y = np.ones(shape), np.ones(shape[:1])
    product_, total = aj.elementwise(two, ["broadcast", ("accumulate", "sum")])(x, y)
    assert product_.shape == shape
    np.testing.assert_array_equal(total, x.sum(1) - y)


def test_one_mode_gives_an_array_and_a_list_a_list():
    x, y = np.ones((2, 3)), np.arange(2.0)
    one = aj.elementwise(lambda x, y: x + y, "broadcast")(x, y)
    np.testing.assert_array_equal(one, x + y[:, None])
    found = aj.elementwise(lambda x, y: (x + y,), ["broadcast"])(x, y)
    assert isinstance(found, list)
    np.testing.assert_array_equal(found[0], one)


def test_results_are_fresh():
    x = np.arange(6.0).reshape(2, 3)
    same = aj.elementwise(lambda x: x, "broadcast")(x)
    assert same.flags.writeable
    assert not np.shares_memory(same, x)
    window = np.lib.stride_tricks.sliding_window_view(np.arange(9.0), 3)
    summed = aj.elementwise(lambda x, y: x * y, ("accumulate", "sum"))(window, window[:, 0])
    np.testing.assert_array_equal(summed, window.sum(1) * window[:, 0])


CONSTANT = np.ones(3)
REFUSED = [
    (lambda: aj.elementwise(two, "sideways"), ValueError, "a mode that is unknown"),
    (lambda: aj.elementwise(two, "broadcast", "k"), ValueError, "an order that is unknown"),
    (lambda: aj.elementwise(two, ("accumulate", "summ")), ValueError, "no accumulator of this"),
    (lambda: aj.elementwise(two, ("accumulate", 3)), TypeError, "neither an Accumulator nor"),
    (
        lambda: aj.elementwise(two, "broadcast")(np.ones((2, 3)), np.ones(3)),
        ValueError,
        r"lengths 2 \(dimension 0 of input 0\) and 3 \(dimension 0 of input 1\) on axis 0",
    ),
    (
        lambda: aj.elementwise(two, ["broadcast"] * 2, "f")(np.ones((2, 3)), np.ones(1)),
        ValueError,
        r"lengths 3 \(dimension 1 of input 0\) and 1 \(dimension 0 of input 1\) on axis 1",
    ),
    (
        lambda: aj.elementwise(two, "broadcast")(np.ones(3), np.ones(3)),
        ValueError,
        "2 results and 1 mode",
    ),
    (
        lambda: aj.elementwise(lambda x, y: x, ("accumulate", "max"))(np.ones((3, 0)), np.ones(3)),
        ValueError,
        "max of nothing has no value",
    ),
    (
        lambda: aj.elementwise(lambda x: x + CONSTANT, "broadcast")(np.ones(3)),
        TypeError,
        "from outside the function",
    ),
    (
        lambda: aj.elementwise(lambda x: x if x > 0 else -x, "broadcast")(np.ones(3)),
        TypeError,
        "np.where",
    ),
    (
        lambda: aj.elementwise(lambda x: np.sort(x, kind="heap"), "broadcast")(np.ones(3)),
        TypeError,
        "not compiled there",
    ),
    (
        lambda: aj.elementwise(lambda x: "no", "broadcast")(np.ones(3)),
        TypeError,
        "a result of type str",
    ),
    (
        lambda: aj.elementwise(
            lambda x, y: x, ("accumulate", aj.Accumulator((0, 0), lambda a, b: a, lambda e: (e, e)))
        )(np.ones((3, 2)), np.ones(3)),
        ValueError,
        "a final that makes one number",
    ),
]


@pytest.mark.parametrize(("call", "error", "message"), REFUSED)
def test_refusals(call, error, message):
    with pytest.raises(error, match=message):
        call()


def by_rank(x, y, z):
    """One result per rank, as in the seed's loop, each summed over what it lacks."""
    whole = x * y[:, :, None] + z[:, None, None]
    return whole, whole.sum(axis=2), whole.sum(axis=(1, 2))


ORDERED = {
    f"{order}_{name}": (order, name) for order in ("c", "f") for name in ("contiguous", "fortran")
}


@pytest.mark.parametrize("name", ORDERED)
def test_elementwise_golden(golden, name):
    order, layout = ORDERED[name]
    shapes = ((60, 50), (60,)) if order == "c" else ((50, 60), (60,))
    arrays = [np.asarray(np.ones(s), order="C" if layout == "contiguous" else "F") for s in shapes]
    door = aj.elementwise(lambda x, y: (x * y, x + y), ["broadcast", ("accumulate", "sum")], order)
    stages = lowered(follow(lambda x, y: tuple(door(x, y)), *arrays))
    golden(print_program(stages.loops), "loops")
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    golden("\n".join(kernels), "source")
    assert sum(isinstance(step, Nest) for step in stages.loops.steps) == 1


MIXED = ["broadcast", ("accumulate", "mean")]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_the_mode_of_a_result_says_which_dtypes_only_that_result_is_computed_of(compiled, turned):
    def function(x, y):
        both, mean = x & y, x * 2 + y
        return (mean, both << 1) if turned else (both << 1, mean)

    door = aj.elementwise(function, MIXED[::-1] if turned else MIXED)
    x, y = np.arange(6).reshape(3, 2), np.arange(3)
    found = (aj.jit(lambda a, b: door(a, b)) if compiled else door)(x, y)
    both, mean = found[::-1] if turned else found
    np.testing.assert_array_equal(both, (x & y[:, None]) << 1)
    np.testing.assert_array_equal(mean, x.mean(axis=1) * 2 + y)


def test_what_a_result_needs_is_refused_for_its_dtypes():
    door = aj.elementwise(lambda x, y: (x & y, x + y), MIXED[::-1])
    with pytest.raises(aj.errors.GraphTypeError, match="bitwise_and"):
        door(np.ones((3, 2), int), np.ones(3, int))


WITH_AXES = aj.NamedArray(np.ones((3, 2)), {"m": 3, "n": 2})


@pytest.mark.parametrize("call", [lambda f: f(WITH_AXES, 1.0), lambda f: f(1.0, WITH_AXES)])
@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.filterwarnings("ignore:(?s).* uses what is in y:axiomjit.base.errors.FallbackWarning")
def test_operands_with_axes_are_refused(call, compiled):
    door = aj.elementwise(lambda x, y: x + y, "broadcast")
    with pytest.raises(aj.errors.GraphTypeError, match="no axis would"):
        call((lambda x, y: aj.jit(lambda a: door(a, y))(x)) if compiled else door)
