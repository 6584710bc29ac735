"""Blocks of long scans, taken in any order after a nest ahead, or in order without it."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.dtypes import FLOAT
from axiomjit.base.errors import VerifyError
from axiomjit.passes.ir.loop_ir import Alloc, Fold, For, Load, Nest, ReadState, Store
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.runtime.execution import plan_steps
from axiomjit.runtime.execution.plan_steps import Launching
from axiomjit.runtime.execution.workers import cuts_chains
from axiomjit.symbolic.dims import dim
from tests.passes.folded import MEANT, layouts, whole_numbers
from tests.passes.graphs import evaluated, follow, in_numpy, lowered, run_plain_case, small_forms
from tests.passes.ir.test_verifiers import AT, FOLDED, LOAD, MAPPED, SIX, STORE, S, loops
from tests.passes.test_packed import compiled, vector_loops

SHAPES = [(16,), (17,), (40,), (2, 33), (3, 17), (19, 4), (24, 1), (2, 20, 3)]
NUMPYS = {
    "cumsum": np.cumsum,
    "cumprod": np.cumprod,
    "maximum": lambda x, axis: np.maximum.accumulate(x, axis=axis),
    "minimum": lambda x, axis: np.minimum.accumulate(x, axis=axis),
    "between": lambda x, axis: np.cumsum(x * 2 + 1, axis=axis) - x,
    "two": lambda x, axis: (np.cumsum(x, axis=axis), np.cumprod(x, axis=axis)),
    "stacked": lambda x, axis: np.cumsum(np.stack([x, x - 1]), axis=axis + 1),
    "joined": lambda x, axis: np.cumsum(np.concatenate([x, x - 1], axis=axis), axis=axis),
    "padded": lambda x, axis: np.cumsum(
        np.pad(x, [(2, 3) if d == axis else (0, 0) for d in range(x.ndim)]), axis=axis
    ),
}
WHOLE = {
    "a scan of a scan": lambda x: np.cumsum(np.cumsum(x)),
    "beside a sum": lambda x: (np.cumsum(x), x.sum()),
    "many rows": lambda x: np.cumsum(x.reshape(5, -1), axis=1),
    "short": lambda x: np.cumsum(x[:15]),
}


def nests(stages):
    """The nests of a program."""
    return [step for step in stages.loops.steps if isinstance(step, Nest)]


def is_split(stages):
    """Whether there is a nest ahead."""
    return any(nest.prepass for nest in nests(stages))


def both_ways(case, chunks):
    """What the plan of small forms gives, blocks in any order and in theirs."""
    with small_forms():
        stages = lowered(case)
    ways = (False, chunks), (True, chunks), (True, 1)
    return stages, [run_plain_case(case, stages.plan, c, chained=one) for one, c in ways]


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("name", NUMPYS)
def test_split_scans_of_whole_numbers_are_numpys(name, shape):
    x = whole_numbers(np.random.default_rng(0), shape)
    axis = int(np.argmax(shape))
    case = follow(lambda x: NUMPYS[name](x, axis=axis), x)
    stages, found = both_ways(case, 3)
    assert is_split(stages) or name == "stacked"
    for made in found:
        for one, other in zip(made, in_numpy(NUMPYS[name], (x, axis)), strict=True):
            assert one.dtype == other.dtype
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("layout", ["F", "strided", "negative", "permuted"])
@pytest.mark.parametrize("axis", [0, 1, 2])
def test_layouts(axis, layout):
    shape = [3, 2, 3]
    shape[axis] = 21
    x = layouts(whole_numbers(np.random.default_rng(1), shape))[layout]
    _, found = both_ways(follow(lambda x: np.cumsum(x * 2, axis=axis) + x, x), 2)
    for (made,) in found:
        np.testing.assert_array_equal(made, np.cumsum(x * 2, axis=axis) + x)


@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("name", MEANT)
def test_accumulators_of_users(name, axis):
    meant, shape = MEANT[name], (35, 2) if axis == 0 else (2, 35)
    operands = [whole_numbers(np.random.default_rng(3), shape) for _ in range(meant.operands)]
    case = follow(lambda *xs: aj.fold(meant.acc, *xs, axes=axis, running=True), *operands)
    stages, found = both_ways(case, 3)
    assert is_split(stages)
    wanted = evaluated(case.graph, case)
    rows = [np.moveaxis(one, axis, -1) for one in wanted]
    for place in range(2):  # the evaluator gives the meaning in plain Python, in steps
        columns = [np.moveaxis(x, axis, -1)[place].tolist() for x in operands]
        result = meant.of([*zip(*columns, strict=True)])
        assert [r[place, -1] for r in rows] == [
            *(result if isinstance(result, tuple) else [result])
        ]
    for made in found:
        for one, other in zip(made, wanted, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8", "c8", "c16"])
@pytest.mark.parametrize("shape", [(50,), (2, 50), (50, 3)], ids=str)
def test_both_ways_give_the_bits_of_a_scan_that_is_not_split(shape, dtype):
    x = np.random.default_rng(2).normal(size=shape).astype(dtype)
    axis = int(np.argmax(shape))
    case = follow(lambda x: (np.cumsum(x * 3, axis=axis), np.cumprod(x, axis=axis)), x)
    stages, found = both_ways(case, 3)
    with small_forms(), patch("axiomjit.passes.loops.split_scans.MIN_ELEMENTS", 1 << 40):
        alone = lowered(case)
    assert is_split(stages)
    assert not is_split(alone)
    for one, other in zip(run_plain_case(case, alone.plan), zip(*found, strict=True), strict=True):
        assert {made.tobytes() for made in other} == {one.tobytes()}


@pytest.mark.parametrize("name", WHOLE)
def test_split_scans_leaves_alone(name):
    x = whole_numbers(np.random.default_rng(4), (100,))
    case = follow(WHOLE[name], x)
    stages, found = both_ways(case, 2)
    assert not is_split(stages)
    for made in found:
        for one, other in zip(made, in_numpy(WHOLE[name], (x,)), strict=True):
            np.testing.assert_array_equal(one, other)


def test_the_nest_ahead_computes_what_is_folded_and_no_more():
    case = follow(lambda x, y: np.exp(np.cumsum(x * 2.0)) + np.sqrt(y), np.ones(40), np.ones(40))
    small = patch("axiomjit.passes.loops.block_folds.BLOCK", 8)
    with small, patch("axiomjit.passes.loops.split_scans.MIN_ELEMENTS", 16):
        ahead, scan = nests(lowered(case))
    assert ahead.prepass
    assert scan.chunk_chain is not None
    assert {s.buffer.role for s in ahead.statements if isinstance(s, Store)} == {"partial"}
    names = {s.primitive.name for s in ahead.statements if hasattr(s, "primitive")}
    assert names == {"multiply"}


def test_states_are_few():
    stages = lowered(follow(lambda x: np.cumsum(x, axis=1), np.ones((3, 1 << 19), "f4")))
    (states,) = [b for b in stages.plan.buffers if b.role == "partial"]
    assert stages.plan.cost.kernels == 2
    assert str(states.shape[0]).startswith("3*ceil(")
    assert states.dtype == np.dtype("f8")


GOLDEN = {
    "alone": (lambda x: np.cumsum(x * 2.0) + 1.0, (1 << 19,)),
    "rows": (lambda x: np.maximum.accumulate(x, axis=1), (3, 1 << 19)),
    "columns": (lambda x: np.cumsum(x, axis=0), (1 << 19, 3)),
    "composed": (
        lambda x: aj.fold(MEANT["compose"].acc, x, x + 1.0, running=True)[1],
        (1 << 19,),
    ),
}


@pytest.mark.parametrize("name", GOLDEN)
def test_split_scans_golden(golden, name):
    function, shape = GOLDEN[name]
    stages = lowered(follow(function, np.ones(shape, "f4")))
    golden(print_program(stages.loops), "loops")
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    golden("\n".join(kernels), "source")


COMPILED = {
    "cumsum": lambda x: np.cumsum(x * 0.5) - x,
    "maximum": lambda x: np.maximum.accumulate(x),
    "rows": lambda x: np.cumsum(np.stack([x, x + 1.0]), axis=1),
    "columns": lambda x: np.cumprod(1 + np.stack([x, x - 1.0, x * 2], axis=1) * 1e-5, axis=0),
    "linear": lambda x: aj.fold(
        aj.Accumulator((1.0, 0.0), lambda f, g: (f[0] * g[0], f[1] * g[0] + g[1])),
        *(x * 0.5, x + 1.0),
        running=True,
    )[1],
    "logsumexp": lambda x: aj.fold("logsumexp", x, running=True),
}


@pytest.mark.parametrize("name", COMPILED)
def test_compiled_scans_have_one_result_on_any_threads(name):
    x = np.random.default_rng(7).normal(size=300_004)
    function, runs = COMPILED[name], []
    right = Launching.run

    def noted(self, arrays, arguments, threads, chain=1):
        runs.append((self.form.step.prepass, chain))
        right(self, arrays, arguments, threads, chain)

    compiled = aj.jit(function)
    with patch.object(plan_steps, "SERIAL_WORK", 0), patch.object(Launching, "run", noted):
        with aj.threads(1):
            one = compiled(x)
        assert [ahead for ahead, _ in runs] == [False]
        assert runs[0][1] > 100
        runs.clear()
        with patch.object(plan_steps, "available_threads", lambda: 7):
            seven = compiled(x)
        assert runs == [(True, 1), (False, 1)]
    with patch("axiomjit.passes.loops.split_scans.MIN_ELEMENTS", 1 << 40):
        alone = aj.jit(lambda x: function(x))(x)
    assert one.tobytes() == seven.tobytes() == alone.tobytes()
    try:
        wanted = function(x)
    except TypeError:
        return
    np.testing.assert_allclose(one, wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(("name", "code"), [("cumsum", "i8"), ("maximum", "f8"), ("minimum", "f4")])
def test_blocks_that_need_no_order_are_folded_in_vectors(name, code):
    ahead, _ = compiled(follow(lambda x: NUMPYS[name](x, axis=0), np.ones(1 << 20, code)))
    assert vector_loops(ahead) >= 1


def test_rows_are_shared_before_their_blocks():
    assert not cuts_chains(1, 9, 17, threads=1)
    assert cuts_chains(1, 9, 17, threads=2)
    assert not cuts_chains(1, 17, 17, threads=2)  # as much again to be done
    assert not cuts_chains(2, 9, 17, threads=2)
    assert cuts_chains(2, 9, 17, threads=8)
    assert not cuts_chains(0, 9, 17, threads=8)


def test_a_chain_is_run_by_one_thread():
    case = follow(lambda x: np.cumsum(x, axis=1), np.ones((3, 1 << 19)))
    (launch,) = [s for s in lowered(case).plan.steps if isinstance(s, Launch) and not s.prepass]
    assert launch.chunk_chain is not None
    edges = []
    x = np.random.default_rng(8).normal(size=(3, 1 << 19))
    with (
        patch.object(plan_steps, "available_threads", lambda: 3),
        patch.object(plan_steps, "run_chunks", lambda call, cuts, *_: edges.extend(cuts)),
    ):
        aj.jit(lambda x: np.cumsum(x, axis=1))(x)
    assert edges == [0, 512, 1024, 1536]


def test_loops_under_others_share_the_range():
    loops = nests(lowered(follow(lambda x: np.cumsum(x, axis=1), np.ones((3, 1 << 19)))))
    for nest in loops:
        (under,) = [s for s in nest.statements if isinstance(s, For) and s.under is not None]
        assert under.under == "i0"


STATES = Storage("q0", ArrayRole.PARTIAL, FLOAT, SIX, (dim(1),))
KEPT = (Alloc(S), LOAD, Fold(S, ("v0",)), ReadState("v1", S), Store(STATES, AT, "v1"))
EACH = For("i0", dim(6), "map", (*KEPT[:1], FOLDED.replace(iterator="i1"), *KEPT[3:]))
LOADED = For("i0", dim(6), "fold", (Load("v0", STATES, AT), *KEPT[2:]))
UNDER = For("i1", dim(2), "map", (MAPPED.replace(under="i1"),))
AHEAD = Nest((EACH,), (Alloc(S), LOADED), (STATES,), prepass=True)
BEFORE = Load("v2", STATES, AT)
CHAINED = Nest(
    (For("i0", dim(6), "map", (BEFORE, *KEPT, STORE)),), (), (STATES,), chunk_chain=dim(6)
)
PLAIN = Nest((MAPPED,))


@pytest.mark.parametrize(
    ("steps", "fault"),
    [
        ((AHEAD, PLAIN), "a nest ahead of one without a chain for its partials"),
        ((CHAINED,), "a nest ahead of one without a chain for its partials, or the reverse"),
        ((PLAIN, AHEAD), "a nest ahead of one without a chain"),
        ((AHEAD, CHAINED.replace(partials=())), "a chain without partials"),
        ((AHEAD, CHAINED.replace(chunk_chain=None)), "fold of s0 outside a fold loop"),
        (
            (Nest((For("i2", dim(2), "map", (UNDER,)),)),),
            "i0 is not directly in the first loop, i1",
        ),
    ],
)
def test_the_verifier_finds(steps, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(loops(steps=steps))


def test_the_verifier_leaves_legal_programs_alone():
    assert verify_program(loops(steps=(AHEAD, CHAINED))) is None
    assert verify_program(loops(UNDER)) is None
