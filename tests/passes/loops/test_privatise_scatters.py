"""Long scatters into small memory in the form that threads share, beside the one for one thread."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.dtypes import FLOAT
from axiomjit.base.errors import VerifyError
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.loop_ir import Index, Load, Nest, Store
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.passes.loops import privatise_scatters
from axiomjit.runtime.execution import plan_steps
from axiomjit.runtime.execution.plan_steps import Launching
from axiomjit.symbolic.dims import dim
from tests.passes.graphs import follow, in_numpy, lowered, run_plain_case, small_forms
from tests.passes.ir import test_verifiers as V
from tests.passes.ir import test_verify_plan as P
from tests.passes.test_packed import compiled, vector_loops
from tests.runtime.codegen.kernels import same_bits

RNG = np.random.default_rng(3)
DTYPES = {
    "add": ["b1", "i1", "u2", "i4", "i8", "u8"],
    "subtract": ["i2", "u8"],
    "multiply": ["b1", "u1", "i4", "i8"],
    "minimum": ["b1", "i1", "u8", "f2", "f4", "f8"],
    "maximum": ["b1", "i1", "u8", "f2", "f4", "f8"],
    "bitwise_and": ["b1", "u1", "i8"],
    "bitwise_or": ["b1", "u4", "i4"],
    "bitwise_xor": ["b1", "u8", "i2"],
}
SPECIAL = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1.5, -2.0])


def values(dtype, count):
    """Numbers of a dtype from all of its range, zeros and numbers that are none."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return RNG.random(count) < 0.5
    if dtype.kind == "f":
        return SPECIAL[RNG.integers(len(SPECIAL), size=count)].astype(dtype)
    ends = np.iinfo(dtype)
    return RNG.integers(ends.min, ends.max, size=count, dtype=dtype, endpoint=True)


def launches(stages):
    """The kernels of a plan, in order."""
    return [step for step in stages.plan.steps if isinstance(step, Launch)]


def is_shared(stages):
    """Whether a scatter has the form for threads."""
    return any(launch.parallel_variant is not None for launch in launches(stages))


def all_ways(case):
    """The plan of small forms, and what it gives by threads that take blocks, and by one."""
    with small_forms():
        stages = lowered(case)
    ways = (False, 2), (False, 1), (True, 1)
    return stages, [run_plain_case(case, stages.plan, c, chained=one) for one, c in ways]


@pytest.mark.parametrize(
    ("name", "dtype"), [(name, dtype) for name, dtypes in DTYPES.items() for dtype in dtypes]
)
def test_every_combination_gives_the_bits_of_one_thread(name, dtype):
    ufunc = getattr(np, name)

    def combined(h, i, v):
        new = h.copy()
        ufunc.at(new, i, v)
        return new

    given = values(dtype, 7), RNG.integers(-7, 7, 33), values(dtype, 33)
    stages, found = all_ways(follow(combined, *given))
    assert is_shared(stages)
    for (made,), (wanted,) in zip(found, [in_numpy(combined, given)] * 3, strict=True):
        assert made.dtype == wanted.dtype
        np.testing.assert_array_equal(made, wanted)
        assert same_bits(made, found[-1][0])  # of zeros NumPy takes one by the instructions it has


def counted(i):
    return np.bincount(i, minlength=3), np.bincount(i)


def pairs(h, i, j):
    h = h.copy()
    np.add.at(h, (i, j[::-1]), i * j)
    return h


def computed(h, x, w):
    h = h.copy()
    np.maximum.at(h[1:], (np.abs(x) * 2).astype(int) % 3, w * x)
    return h


def rows(h, i, x):
    h = h.copy()
    np.add.at(h, i, x[:, :4])
    return h


def together(h, i, j):
    one, other = h[0] * 1, h[1] * 1
    np.add.at(one, i % 4, 1)
    np.multiply.at(other, i % 4, j)
    return one, other


H, FIRST, SECOND = np.arange(12).reshape(3, 4), RNG.integers(-3, 3, 40), RNG.integers(-4, 4, 40)
X = RNG.normal(size=40)
MEANT = {
    "counted": (counted, np.abs(FIRST)),
    "pairs": (pairs, H, FIRST, SECOND),
    "computed": (computed, np.ones(4), X, X + 1),
    "rows": (rows, H, FIRST, RNG.integers(0, 9, (40, 5))),
    "together": (together, H, FIRST, SECOND),
    "grids": (pairs, H, FIRST.reshape(8, 5), SECOND.reshape(8, 5)),
}


@pytest.mark.parametrize("name", MEANT)
def test_both_forms_mean_what_numpy_does(name):
    function, *given = MEANT[name]
    stages, found = all_ways(follow(function, *given))
    assert is_shared(stages)
    for made in found:
        for one, other in zip(made, in_numpy(function, given), strict=True):
            np.testing.assert_array_equal(one, other)


def at(h, i, v, ufunc=np.add):
    h = h.copy()
    ufunc.at(h, i, v)
    return h


def in_columns(h, i):
    h = h + 0
    np.add.at(h, (i % 2, i % 3), 1)
    return h


def placed(h, i):
    h = h.copy()
    h[i] = i
    return h


ALONE = {
    "sums of floats": (at, np.zeros(4), SECOND, X),
    "products of floats": (lambda h, i, v: at(h, i, v, np.multiply), np.ones(4), SECOND, X),
    "other dtypes": (at, np.zeros(4, "i4"), SECOND, FIRST),
    "columns": (in_columns, np.zeros((2, 3), int, "F"), SECOND),
    "few positions": (at, np.zeros(4, int), SECOND[:3], 1),
    "a large target": (at, np.zeros(21, int), SECOND, 1),
    "what a mask chooses": (lambda h, i, x: at(h, i[x > 0], 1), np.zeros(4, int), SECOND, X),
    "values": (placed, np.zeros(4, int), SECOND),
}


@pytest.mark.parametrize("name", ALONE)
def test_privatise_scatters_leaves_alone(name):
    function, *given = ALONE[name]
    case = follow(function, *given)
    stages, found = all_ways(case)
    assert not is_shared(stages)
    for made in found:
        for one, other in zip(made, in_numpy(function, given), strict=True):
            np.testing.assert_array_equal(one, other)


def test_counts_that_are_found_to_be_many_are_made_by_one_thread():
    """The length of the result is known when the plan runs; copies are never larger than pays."""
    case = follow(lambda i: np.bincount(i), np.array([*range(9), 700] * 4))
    stages, found = all_ways(case)
    assert is_shared(stages)
    for (made,) in found:
        np.testing.assert_array_equal(made, np.bincount(case.arguments[0]))
    *_, copies = lowered(follow(np.bincount, np.zeros(1 << 20, int))).plan.buffers
    assert copies.role == "partial"
    assert str(copies.shape[0]) == "min(16*m0 + 256, floor(n0 / 8) + 2048)"


LONG = np.zeros(1 << 20)
GOLDEN = {
    "counts": (lambda i: np.bincount(i, minlength=50), LONG.astype(int)),
    "histogram": (
        lambda h, x, y: np.add.at(h, ((x * 10).astype("i4"), (y * 10).astype("i4")), 1),
        *(np.zeros((50, 60), int), LONG, LONG),
    ),
    "extremes": (lambda h, i, v: np.minimum.at(h, i, v), LONG[:50], LONG.astype(int), LONG),
    "rows": (
        lambda h, i, v: np.bitwise_or.at(h, i, v),
        *(np.zeros((50, 3), "u1"), LONG.astype(int), np.zeros((1 << 20, 3), "u1")),
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_privatise_scatters_golden(golden, name):
    stages = lowered(follow(*GOLDEN[name]))
    assert is_shared(stages)
    sources = [launch.kernel.source for launch in launches(stages)[-2:]]
    golden("\n".join([print_program(stages.loops), *sources]))


def test_only_memory_is_counted_beside_what_one_thread_does():
    cost = lowered(follow(*GOLDEN["extremes"])).plan.cost
    with patch.object(privatise_scatters, "MIN_POSITIONS", 1 << 40):
        alone = lowered(follow(*GOLDEN["extremes"])).plan.cost
    assert str(cost.scratch_bytes) == "128*n0 + 2048"
    assert cost.replace(scratch_bytes=dim(0)) == alone


COMPILED = {
    "counts": (lambda h, i, v: np.add.at(h, i, 1), np.zeros(100, int)),
    "bits": (lambda h, i, v: np.bitwise_xor.at(h, i, v.astype(int)), np.zeros(100, int)),
    "extremes": (lambda h, i, v: np.minimum.at(h, i, v), np.ones(100)),
    "sums": (lambda h, i, v: np.add.at(h, i, v), np.zeros(100)),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_scatters_have_numpys_bits_on_any_threads(name):
    function, target = COMPILED[name]
    given = RNG.integers(-100, 100, 1 << 19), RNG.normal(size=1 << 19) * 1000
    wanted, one, seven, runs = target.copy(), target.copy(), target.copy(), []
    right = Launching.run

    def noted(self, arrays, arguments, threads, chain=1):
        runs.append((self.form.step.parallel_variant is not None, threads))
        right(self, arrays, arguments, threads, chain)

    compiled = aj.jit(function)
    function(wanted, *given)
    with patch.object(Launching, "run", noted):
        with aj.threads(1):
            compiled(one, *given)
        assert runs == [(False, 1)]
        runs.clear()
        with patch.object(plan_steps, "available_threads", lambda: 7):
            compiled(seven, *given)
        assert runs == [(name != "sums", 7)]
    assert wanted.tobytes() == one.tobytes() == seven.tobytes()


def test_copies_are_filled_in_vectors():
    shared, _ = compiled(follow(*GOLDEN["extremes"]))
    assert vector_loops(shared) >= 1


COPY = Storage("z0", ArrayRole.PARTIAL, FLOAT, V.SIX, (dim(1),))
CELL = Index(dim(0), (("i1", dim(1)),))
OWN = V.For("i1", dim(6), "map", (Load("v1", COPY, CELL), Store(V.O, CELL, "v1")))
INTO = (V.LOAD, Store(COPY, Index(dim(0), (("i2", dim(1)),)), "v0", PRIMITIVES["add"]))
BLOCK = V.For("i0", dim(6), "scatter", INTO)
FILL = V.For("i1", dim(6), "map", (Load("v2", V.A, CELL), Store(COPY, CELL, "v2")))
UNIT = V.For("i2", dim(1), "map", (FILL, BLOCK))
SHARED = Nest((UNIT,), (OWN,), (COPY,), parallel_variant=dim(1))
SERIAL = Nest((V.MAPPED,))


def shared_loops(*steps):
    """A program of these steps, which may write one storage again."""
    return V.loops(steps=steps).replace(updated=frozenset({V.O.name}))


def test_verify_loops_leaves_a_shared_nest_alone():
    assert verify_program(shared_loops(SHARED, SERIAL)) is None


BESIDE = BLOCK.replace(body=(*INTO, Load("v3", COPY, V.AT)))


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ((SHARED,), "a shared nest before what does not give the same"),
        ((SHARED, SHARED), "a shared nest before what does not give the same"),
        ((SHARED.replace(combine=(), partials=()), SERIAL), "z0 is not listed"),
        (
            (SHARED.replace(body=(UNIT.replace(body=(FILL, BESIDE)),)), SERIAL),
            "z0 is used beside the scatter into it",
        ),
    ],
)
def test_verify_loops_finds(steps, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(shared_loops(*steps))


def test_verify_plan_finds_a_shared_launch_of_nothing():
    fault = "a shared launch before one that uses other memory, or none"
    shared = P.LAUNCH.replace(parallel_variant=dim(1))
    for steps in ((shared,), (shared.replace(buffers=("a0", "a0")), P.LAUNCH)):
        with pytest.raises(VerifyError, match=fault):
            verify_program(P.plan(P.Allocate("o0"), *steps))
