"""Folds across memory keep a tile of states."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import Fold, For, statements
from axiomjit.passes.tile_folds import tile_folds
from tests.graphs import CONTEXT, before_and_after, follow, lower_until
from tests.passes.examples import example, numbers


@pytest.mark.parametrize("name", ["rows_and_columns", "planes"])
def test_tile_folds_golden(golden, name):
    golden(before_and_after("tile_folds", example(name)))


@pytest.mark.parametrize("name", ["l2", "mapped", "centred", "single", "total"])
def test_tile_folds_leaves_alone(name):
    program = lower_until("tile_folds", example(name))
    assert tile_folds(program, CONTEXT) is program


@pytest.mark.parametrize(
    ("axis", "order", "tiled"), [(0, "C", True), (1, "C", False), (0, "F", False), (1, "F", True)]
)
def test_tiles_only_where_the_map_walks_by_one(axis, order, tiled):
    case = follow(lambda x: x.max(axis=axis), np.array(numbers(60, 50), order=order))
    after = tile_folds(lower_until("tile_folds", case), CONTEXT)
    found = [s for step in after.steps for s in statements(step)]
    assert any(isinstance(s, Fold) and s.state.lanes is not None for s in found) is tiled
    assert any(isinstance(s, For) and s.block is not None for s in found) is tiled
