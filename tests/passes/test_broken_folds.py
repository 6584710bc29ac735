"""A broken variant of each rule of folds turns the tests of folds red."""

from contextlib import ExitStack
from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.accumulators.elementwise import Elementwise
from axiomjit.accumulators.fold import fold_nodes
from axiomjit.graph import reductions
from axiomjit.graph.nodes import Scalar
from axiomjit.passes.loops import block_folds, order_loops, split_scans
from axiomjit.runtime.codegen import plain_builtins
from tests.passes import test_elementwise, test_folded, test_scans
from tests.passes.graphs import follow, lowered, run_plain_case, small_forms
from tests.passes.loops import test_split_scans


def orders_swapped():
    """The last dimensions are taken for the first ones."""
    begin = Elementwise.__init__

    def swapped(self, fn, accumulators, order):
        begin(self, fn, accumulators, {"c": "f", "f": "c"}[order])

    return patch.object(Elementwise, "__init__", swapped)


def initial_value_twice():
    """The initial state is combined before blocks and after them."""
    right = reductions.folded_states

    def twice(fold, operands, axes):
        states = right(fold, operands, axes)
        start = [Scalar(value.dtype, value, False) for value in fold.start]
        return reductions.in_nodes(fold.outputs, start + states)

    return patch.object(reductions, "folded_states", twice)


def initial_value_in_each_block():
    """Blocks begin with the initial state, not with their first element."""
    return patch(
        "axiomjit.passes.plan.render_source._Writer.has_element_flag", lambda self, state: None
    )


def folded_after_the_function():
    """What the function makes of broadcast arrays is folded, not the arrays."""

    def after(self, arrays):
        accumulators = self._accumulators
        self._accumulators = (None,) * len(accumulators)
        results, is_tuple = right(self, arrays)
        self._accumulators = accumulators
        least = min(len(node.shape) for node in arrays)
        for k, accumulator in enumerate(accumulators):
            rank = len(results[k].shape)
            kept = range(least) if self._order == "c" else range(rank - least, rank)
            axes = tuple(d for d in range(rank) if d not in kept)
            if accumulator is not None and axes:
                (results[k],), _ = fold_nodes(accumulator, [results[k]], axes)
        return results, is_tuple

    right = Elementwise.nodes
    return patch.object(Elementwise, "nodes", after)


def nan_is_dropped():
    """The larger of a number and NaN is the number."""
    return patch.object(plain_builtins, "maximum", np.fmax)


def loops_are_permuted():
    """Folds that do not commute are folded in the order of memory."""
    return patch.object(order_loops, "keeps_order", lambda loop: False)


def blocks_do_not_see_those_before():
    """A running fold starts anew in each block."""
    right = block_folds._Chained.within_block

    def alone(self, body):
        return tuple(
            stmt.replace(including=()) if isinstance(stmt, block_folds.ReadState) else stmt
            for stmt in right(self, body)
        )

    return patch.object(block_folds._Chained, "within_block", alone)


def blocks_start_from_their_own_end():
    """A block loads the state behind it, not the one before it."""
    right = split_scans._Scan._place
    return patch.object(split_scans._Scan, "_place", lambda self, before=0: right(self))


def nan_in_a_row():
    """max of a row with NaN."""
    x = np.array([[1.0, np.nan, 3.0, 2.0, 0.0]] * 3)
    case = follow(lambda x: (x.max(axis=1), x.max(axis=0)), x)
    with small_forms():
        stages = lowered(case)
    for one, other in zip(
        run_plain_case(case, stages.plan), (x.max(axis=1), x.max(axis=0)), strict=True
    ):
        np.testing.assert_array_equal(one, other)


MODES = ["broadcast", ("accumulate", "sum")]
SHAPE = test_folded.SHAPE


def of(name, axes, shape=SHAPE):
    """The check of folds, of one accumulator along some axes."""
    test_folded.check(name, test_folded.operands_of(test_folded.MEANT[name], shape), axes)


BROKEN = [
    (
        orders_swapped,
        lambda: test_elementwise.check(
            test_elementwise.two, MODES, "c", [np.arange(9).reshape(3, 3), np.arange(3)]
        ),
    ),
    (initial_value_twice, lambda: of("seeded", (1,))),
    (initial_value_twice, lambda: of("matrices", (0, 2))),
    (initial_value_in_each_block, lambda: of("seeded", (0,), (100,))),
    (
        folded_after_the_function,
        lambda: test_elementwise.check(
            test_elementwise.two, MODES, "c", test_elementwise.arrays_of((3, 1), "c")
        ),
    ),
    (nan_is_dropped, nan_in_a_row),
    (loops_are_permuted, lambda: of("matrices", (2, 0))),
    (
        blocks_do_not_see_those_before,
        lambda: test_scans.test_scans_of_whole_numbers_are_numpys("cumsum", (33,)),
    ),
    (
        blocks_start_from_their_own_end,
        lambda: test_split_scans.test_split_scans_of_whole_numbers_are_numpys("cumsum", (40,)),
    ),
]


@pytest.mark.parametrize(("breaking", "check"), BROKEN)
def test_a_broken_rule_is_found(breaking, check):
    check()
    with ExitStack() as stack:
        stack.enter_context(breaking())
        with pytest.raises(AssertionError):
            check()
    check()
