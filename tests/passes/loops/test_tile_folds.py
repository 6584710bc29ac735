"""Folds across memory keep a tile of states."""

import itertools

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.loop_ir import Fold, For
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.loops.tile_folds import tile_folds
from axiomjit.runtime.codegen.plain_builtins import run_plain
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    follow,
    lower_until,
    lowered,
    small_forms,
    stored,
)
from tests.passes.windows import pooled


@pytest.mark.parametrize("name", ["rows_and_columns", "planes"])
def test_tile_folds_golden(golden, name):
    golden(before_and_after("tile_folds", example(name)))


def test_windows_at_edges_are_folded_in_lanes(golden):
    golden(before_and_after("tile_folds", pooled()))


@pytest.mark.parametrize(("window", "tiled"), [(3, False), (5, True), (16, True), (17, False)])
def test_lanes_are_for_short_windows_that_are_not_unrolled(window, tiled):
    x = aj.make_axis(50)
    case = stored([aj.pooling(aj.constant(numbers(50), [x]), {x: window}, strides=1)])
    after = tile_folds(lower_until("tile_folds", case), case.context)
    found = [s for step in after.steps for s in step.statements]
    assert any(isinstance(s, Fold) and s.state.lanes is not None for s in found) is tiled


@pytest.mark.parametrize("name", ["l2", "mapped", "centred", "single", "total"])
def test_tile_folds_leaves_alone(name):
    program = lower_until("tile_folds", example(name))
    assert tile_folds(program, CONTEXT) is program


def cells(function, *arguments):
    """The lanes that are taken at once, and those of one block."""
    after = tile_folds(lower_until("tile_folds", follow(function, *arguments)), CONTEXT)
    loops = [s for step in after.steps for s in step.statements if isinstance(s, For)]
    (block,) = {loop.block for loop in loops if loop.block is not None}
    (outer,) = (loop for loop in loops if loop.iterator == block.outer)
    assert block.unroll == outer.unroll
    return outer.unroll * block.size, block.size


def test_whole_rows_are_walked_where_little_is_computed():
    x = numbers(60, 50)
    assert cells(lambda x: x.sum(axis=0), x) == (2048, 512)
    assert cells(lambda x: (x.max(axis=0), x.min(axis=0)), x) == (1024, 512)
    assert cells(lambda x: np.exp(x).sum(axis=0), x) == (512, 512)


@pytest.mark.parametrize("units", [(0, 5), (0, 1, 5), (0, 3, 4, 5), (0, 1, 2, 3, 4, 5)])
def test_lanes_of_others_are_left_alone(units):
    """Each range of blocks of lanes writes its own columns, however many there are at once."""
    x = numbers(4, 19)
    case = follow(lambda x: x.sum(axis=0), x)
    with small_forms():
        (launch,) = (s for s in lowered(case).plan.steps if isinstance(s, Launch))
    kernel = launch.kernel
    out = np.full(19, np.nan)
    assert [p.kind for p in kernel.parameters] == ["buffer", "buffer", "length"]
    for lo, hi in itertools.pairwise(units):
        run_plain(kernel.source, kernel.parameters, [x, out, 19], lo, hi)
        np.testing.assert_array_equal(out[: 4 * hi], x.sum(axis=0)[: 4 * hi])
        assert np.isnan(out[4 * hi :]).all()


@pytest.mark.parametrize(
    ("axis", "order", "tiled"), [(0, "C", True), (1, "C", False), (0, "F", False), (1, "F", True)]
)
def test_tiles_only_where_the_map_walks_by_one(axis, order, tiled):
    case = follow(lambda x: x.max(axis=axis), np.array(numbers(60, 50), order=order))
    after = tile_folds(lower_until("tile_folds", case), CONTEXT)
    found = [s for step in after.steps for s in step.statements]
    assert any(isinstance(s, Fold) and s.state.lanes is not None for s in found) is tiled
    assert any(isinstance(s, For) and s.block is not None for s in found) is tiled


def in_lanes(function, *arguments):
    """True if the folds of a function get lanes."""
    case = follow(function, *arguments)
    after = tile_folds(lower_until("tile_folds", case), case.context)
    found = [s for step in after.steps for s in step.statements]
    return any(isinstance(s, Fold) and s.state.lanes is not None for s in found)


@pytest.mark.parametrize(("columns", "tiled"), [(3, True), (8, True), (9, False)])
def test_short_folds_of_functions_run_in_lanes(columns, tiled):
    assert in_lanes(lambda x: np.exp(x).sum(axis=1), numbers(40, columns)) is tiled
    assert not in_lanes(lambda x: (x * x).sum(axis=1), numbers(40, columns))
    pixels = numbers(40, columns).astype("u1")
    assert not in_lanes(lambda x: np.exp(x / 255.0).sum(axis=1), pixels)


@pytest.mark.parametrize("dtype", ["f4", "f8", "i8"])
def test_short_folds_are_numpys(dtype):
    x = np.random.default_rng(3).integers(0, 4, (700, 5)).astype(dtype)
    function = aj.jit(lambda x: np.exp(x * 0.5).sum(axis=1))
    np.testing.assert_allclose(function(x), np.exp(x * 0.5).sum(axis=1), rtol=1e-6)
