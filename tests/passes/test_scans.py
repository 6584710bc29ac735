"""Running folds along any axis, in tiny blocks and tiles, against exact references."""

import math
from fractions import Fraction
from itertools import accumulate

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.passes.ir.loop_ir import LibraryCall, Nest
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from tests.passes.folded import MEANT, layouts, whole_numbers
from tests.passes.graphs import follow, in_numpy, lowered, quiet, run_plain_case, small_forms

SHAPES = [(1,), (7,), (8,), (9,), (33,), (5, 9), (17, 3), (4, 3, 10)]
NUMPYS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": lambda x, axis: np.maximum.accumulate(x, axis=axis),
    "minimum": lambda x, axis: np.minimum.accumulate(x, axis=axis),
    "add": lambda x, axis: np.add.accumulate(x, axis=axis),
    "between": lambda x, axis: np.cumsum(x * 2 + 1, axis=axis) - x,
    "beside": lambda x, axis: (np.cumsum(x, axis=axis), x.sum(axis=axis), x + 1),
    "twice": lambda x, axis: np.cumsum(np.cumsum(x, axis=axis), axis=axis),
}


def runs(function, *arguments, chunks=2):
    """What the plan gives in plain Python, and what the evaluator gives."""
    case = follow(function, *arguments)
    with small_forms():
        stages = lowered(case)
    with quiet():
        evaluated = case.returned(evaluate_graph(case.graph, case.arguments, case.values))
    return stages, (run_plain_case(case, stages.plan, chunks), evaluated)


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NUMPYS)
def test_scans_of_whole_numbers_are_numpys(name, shape):
    x = whole_numbers(np.random.default_rng(0), shape)
    for axis in range(-1, len(shape) - 1):
        stages, found = runs(lambda x, a=axis: NUMPYS[name](x, axis=a), x)
        assert not any(isinstance(step, LibraryCall) for step in stages.loops.steps)
        for made in found:
            for one, other in zip(made, in_numpy(NUMPYS[name], (x, axis)), strict=True):
                assert one.dtype == other.dtype
                np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "permuted"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_scans_of_any_layout(axis, layout):
    x = layouts(whole_numbers(np.random.default_rng(1), (4, 9, 6)))[layout]
    _, found = runs(lambda x: np.cumsum(x * 2, axis=axis) + x, x)
    for (made,) in found:
        np.testing.assert_array_equal(made, np.cumsum(x * 2, axis=axis) + x)


@pytest.mark.parametrize("dtype", ["b1", "i1", "u1", "i4", "u8", "f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("name", ["cumsum", "cumprod", "maximum"])
def test_dtypes_are_numpys(name, dtype):
    x = whole_numbers(np.random.default_rng(2), (3, 12), "i8").astype(dtype)
    wanted = in_numpy(NUMPYS[name], (x, 1))
    for made in runs(lambda x: NUMPYS[name](x, 1), x)[1]:
        assert made[0].dtype == wanted[0].dtype
        np.testing.assert_allclose(made[0], wanted[0], rtol=2e-3 if dtype == "f2" else 1e-6)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", MEANT)
def test_scans_by_accumulators_of_users(name, axis):
    meant = MEANT[name]
    rng = np.random.default_rng(3)
    operands = [whole_numbers(rng, (11, 19)) for _ in range(meant.operands)]
    wanted = None
    for row, place in enumerate(np.ndindex(operands[0].shape[1 - axis])):
        columns = [np.moveaxis(x, axis, -1)[place].tolist() for x in operands]
        elements = list(zip(*columns, strict=True))
        results = [meant.of(elements[: k + 1]) for k in range(len(elements))]
        results = [r if isinstance(r, tuple) else (r,) for r in results]
        if wanted is None:
            wanted = [
                np.empty((operands[0].shape[1 - axis], len(elements)), "i8") for _ in results[0]
            ]
        for k, column in enumerate(zip(*results, strict=True)):
            wanted[k][row] = column
    _, found = runs(lambda *xs: aj.fold(meant.acc, *xs, axes=axis, running=True), *operands)
    for made in found:
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_array_equal(np.moveaxis(one, axis, -1), other)


@pytest.mark.parametrize("name", ["sum", "prod", "max", "min", "any", "all", "argmax", "mean"])
def test_named_accumulators_run(name):
    x = whole_numbers(np.random.default_rng(4), (5, 21), "f8")
    _, found = runs(lambda x: aj.fold(name, x, axes=1, running=True), x)
    for (made,) in found:
        for k in range(x.shape[1]):
            np.testing.assert_allclose(made[:, k], aj.fold(name, x[:, : k + 1], axes=1), rtol=1e-14)


@pytest.mark.parametrize("values", [[-0.0, -0.0, 0.0], [1.0, np.nan, 2.0], [np.inf, -np.inf, 1.0]])
def test_special_values(values):
    x = np.array(values)
    for name in ("cumsum", "cumprod", "maximum", "minimum"):
        wanted = in_numpy(NUMPYS[name], (x, 0))
        for made in runs(lambda x, n=name: NUMPYS[n](x, 0), x)[1]:
            np.testing.assert_array_equal(made[0], wanted[0])
            if name == "cumsum":
                np.testing.assert_array_equal(np.signbit(made[0]), np.signbit(wanted[0]))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_prefix_sums_are_as_exact_as_their_state(dtype):
    x = np.random.default_rng(5).uniform(0, 1, 4000).astype(dtype)
    made = aj.fold("sum", x, axes=0, running=True)
    exact = list(accumulate(map(Fraction, x.tolist())))
    apart = [
        abs(Fraction(one) - other) / other for one, other in zip(made.tolist(), exact, strict=True)
    ]
    assert max(apart) <= {"f4": 2**-24 + 1e-12, "f8": 2e-13}[dtype]
    assert math.isclose(made[-1], math.fsum(x.tolist()), rel_tol=1e-6)


def test_a_scan_is_one_nest_with_what_stands_around_it():
    for axis in (0, 1):
        stages, _ = runs(
            lambda x, a=axis: np.sqrt(np.cumsum(x * x, axis=a)) + 1.0, np.ones((12, 20))
        )
        assert [type(step) for step in stages.loops.steps] == [Nest]
        assert stages.plan.cost.temporary_bytes.constant == 0


@pytest.mark.parametrize("shape", [(0,), (0, 3), (3, 0)])
def test_scans_of_nothing(shape):
    x = np.ones(shape)
    for axis in range(len(shape)):
        assert aj.fold("sum", x, axes=axis, running=True).shape == shape
        assert aj.fold(MEANT["seeded"].acc, x, axes=axis, running=True).shape == shape


def along_several(x, axes):
    """The sums up to each element, the last one of `axes` the fastest."""
    moved = np.moveaxis(x, axes, range(len(axes)))
    flat = moved.reshape(-1, *moved.shape[len(axes) :]).cumsum(axis=0)
    return np.moveaxis(flat.reshape(moved.shape), range(len(axes)), axes)


@pytest.mark.parametrize("layout", ["C", "F", "strided"])
@pytest.mark.parametrize("axes", [(0, 1), (1, 0), (2, 0), (0, 2), (2, 1, 0), (0, 1, 2)], ids=str)
def test_scans_along_several_axes_follow_the_order_listed(axes, layout):
    x = layouts(whole_numbers(np.random.default_rng(9), (3, 4, 11)))[layout]
    summed, wanted = aj.Accumulator(0, lambda a, b: a + b), along_several(x, axes)
    for acc in ("sum", summed):
        _, found = runs(lambda x, a=acc: aj.fold(a, x * 2, axes=axes, running=True) - x, x)
        for (made,) in found:
            np.testing.assert_array_equal(made, 2 * wanted - x)


def test_scans_along_all_axes_or_none():
    x = np.arange(6.0).reshape(2, 3)
    made = aj.fold("sum", x, running=True)
    np.testing.assert_array_equal(made, x.ravel().cumsum().reshape(2, 3))
    last = aj.fold(MEANT["last"].acc, x.astype(int), axes=(), running=True)
    np.testing.assert_array_equal(last, x)
    assert aj.fold("sum", 3.0, running=True) == 3.0
    np.testing.assert_array_equal(aj.fold("argmax", x.T, axes=(1, 0), running=True), x.T)
    assert aj.fold("sum", np.ones((2, 0)), running=True).shape == (2, 0)


def test_tensors_run_along_an_axis():
    rows, columns = aj.make_axes({"rows": 4, "columns": 5})
    values = whole_numbers(np.random.default_rng(6), (4, 5), "f8")
    x = aj.constant(values, [rows, columns])
    made = aj.fold("max", x, axes=rows, running=True).eval()
    np.testing.assert_array_equal(made.values, np.maximum.accumulate(values, axis=0))
    assert [*made.axes] == [rows, columns]


GOLDEN = {
    "last_axis": lambda x: np.sqrt(np.cumsum(x * 2.0, axis=1)),
    "first_axis": lambda x: np.sqrt(np.cumsum(x * 2.0, axis=0)),
    "composed": lambda x: aj.fold(MEANT["compose"].acc, x, x + 1.0, axes=1, running=True),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_scans_golden(golden, name):
    x = np.ones((60, 2000) if name == "last_axis" else (60, 50), "f4")
    stages = lowered(follow(GOLDEN[name], x))
    golden(print_program(stages.loops), "loops")
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    golden("\n".join(kernels), "source")


def exponentials(x):
    return np.exp(np.cumsum(np.sin(x), axis=-1) * 0.1) + x


def twice(x):
    inner = np.cumsum(x, axis=-1)
    return np.cos(np.cumsum(np.exp(inner * 0.001), axis=-1) * 0.001), inner


def pairs(x):
    found = aj.fold(MEANT["compose"].acc, np.sin(x), np.exp(x * 0.1), axes=-1, running=True)
    return np.exp(found[0] * 0.1) + found[1] * 0.5


@pytest.mark.parametrize("shape", [(40,), (3, 70), (2, 3000)], ids=str)
@pytest.mark.parametrize("function", [exponentials, twice, pairs])
def test_functions_beside_a_scan_have_loops_of_their_own(function, shape):
    x = np.random.default_rng(8).uniform(0, 0.5, shape)
    case = follow(function, x)
    stages = lowered(case)
    tiles = sum(len(step.tiles) for step in stages.loops.steps)
    assert tiles >= 2
    with small_forms():
        small = lowered(case)
    wanted = case.returned(evaluate_graph(case.graph, case.arguments, case.values))
    plans = (stages.plan,) if x.size > 1000 else (stages.plan, small.plan)
    for plan in plans:  # small forms have many blocks in few elements
        for one, other in zip(run_plain_case(case, plan, 2), wanted, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-11, atol=1e-11)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("function", [np.maximum.accumulate, np.minimum.accumulate])
def test_running_extremes_of_all_kinds_of_floats(function, dtype):
    kinds = np.array([1, -1, 0.0, -0.0, np.inf, -np.inf, 5e-324, -2.5, 3e38, -3e38], dtype)
    rng = np.random.default_rng(8)
    compiled = aj.jit(lambda x: function(x))
    for size in (1, 7, 2500, 2500):
        x = rng.choice(kinds, size)
        np.testing.assert_array_equal(compiled(x), function(x))
        for missing in (np.nan, -np.nan):
            x[size // 2] = missing
            np.testing.assert_array_equal(compiled(x), function(x))
