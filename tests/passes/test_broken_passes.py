"""A broken pass is found: illegal IR by the verifiers, wrong IR by its meaning.

What passes ask beside it (`choose_layouts`, `choose_storage`) is spoilt in the tests of these.
"""

from contextlib import contextmanager
from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.accumulators.fold import fold
from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.functions.loop_functions import fori_loop
from axiomjit.graph.primitives import COPY, SAVE, SUM, VIEW, WHERE
from axiomjit.passes import pipeline
from axiomjit.passes.ir.loop_ir import For, Load, Nest, Store, rewrite_body
from axiomjit.passes.ir.plan_ir import Launch, Repeat
from axiomjit.symbolic.dims import dim
from axiomjit.symbolic.index_maps import affine, identity
from tests.passes import spoiling
from tests.passes.examples import centred, numbers, rows_and_columns, undone
from tests.passes.folded import MEANT
from tests.passes.graphs import evaluated, follow, in_numpy, lowered, run_plan_plain, small_forms
from tests.passes.loops.test_rows_in_cache import softmax
from tests.passes.spoiling import in_ops, in_statements, without
from tests.passes.stored import given, swapped
from tests.passes.windows import convolved, of_products, pooled

PASSES = {function.__name__: function for function in pipeline.PASSES}


@contextmanager
def replaced(name, spoil):
    """The pipeline with one pass followed by `spoil`."""
    right = PASSES[name]

    def broken(program, context):
        return spoil(right(program, context))

    broken.__name__ = name
    passes = tuple(broken if step is right else step for step in pipeline.PASSES)
    with patch.object(pipeline, "PASSES", passes):
        yield


LOADING = """lower_to_loops block_folds join_moments center_blocks cache_rows search_blocks
buffer_rows interleave_folds split_scans privatise_scatters limit_loops split_regions strip_mine
lower_regions share_trips hoist_loads prove_positions reuse_storages
insert_cancellation_checks"""
ILLEGAL = dict.fromkeys(LOADING.split(), without(Load)) | {
    "compose_views": in_ops(lambda op: op.replace(rank=op.rank + 1)),
    "order_contractions": in_ops(lambda op: op.replace(maps=())),
    "drop_padding": in_ops(lambda op: op.replace(maps=())),
    "elide_copies": in_ops(lambda op: op.replace(maps=())),
    "simplify_algebra": in_ops(lambda op: op.replace(fold=SUM)),
    "find_convolutions": in_ops(lambda op: op.replace(maps=())),
    "save_versions": in_ops(lambda op: op.replace(fold=SUM)),
    "lower_to_views": lambda program: program.replace(definitions=program.definitions[1:]),
    "fold_masks": in_ops(lambda op: op.replace(rank=op.rank + 1)),
    "cut_joins": lambda program: program.replace(definitions=program.definitions[1:]),
    "fuse_loops": without(Store),
    "order_loops": in_statements(lambda s: s.body if isinstance(s, For) else (s,)),
    "flip_loops": without(Store),
    "collapse_loops": lambda program: program.replace(steps=program.steps[1:]),
    "tile_folds": in_statements(lambda s: (s, s) if isinstance(s, Load) else (s,)),
    "estimate_cost": lambda program: program.replace(costs=program.costs * 2),
    "make_plan": lambda plan: plan.replace(steps=plan.steps[1:]),
    "repeat_regions": lambda plan: plan.replace(steps=plan.steps[1:]),
}
ESTIMATES = {"estimate_cost"}
"""What these give changes no value; their numbers have tests of their own."""


@pytest.mark.parametrize("name", ILLEGAL)
def test_illegal_results_stop_the_pipeline(name):
    with replaced(name, ILLEGAL[name]), pytest.raises(VerifyError, match="a legal"):
        lowered(follow(undone, numbers(9)))


def test_illegal_results_pass_where_nobody_checks(monkeypatch):
    """The verifier is what stopped the test above."""
    monkeypatch.setattr(config, "check", False)
    case = follow(undone, numbers(9))
    with replaced("fuse_loops", ILLEGAL["fuse_loops"]):
        assert pipeline.run_pipeline(case.graph, case.context).plan


def first_map_shifted(op):
    """The op with its first operand read backwards, where it has just one dimension."""
    if op.maps[0] != identity(1) or op.fold is not None:
        return op
    backwards = affine({0: dim(-1)}, op.extents[0] - 1)
    return op.replace(maps=((backwards,), *op.maps[1:]))


def one_value_for_all(program):
    """Every store of the program writes what the first one of its nest does."""
    seen: list = []

    def rule(stmt):
        if isinstance(stmt, Store):
            seen.append(stmt.value)
            return (stmt.replace(value=seen[0]),)
        return (stmt,)

    return in_statements(rule)(program)


def shorter(kind):
    """Every loop of a kind without its last step."""
    return in_statements(
        lambda s: (
            (s.replace(extent=s.extent - 1),) if isinstance(s, For) and s.kind == kind else (s,)
        )
    )


def total(x):
    """The sum of a vector, element by element."""
    return fori_loop(0, x.shape[0], lambda i, found: found + x[i], 0.0)


def doubled(x):
    """Twice a vector, element by element."""
    y = x * 1.0

    def step(i, nothing):
        y[i] = y[i] + x[i]
        return nothing

    fori_loop(0, x.shape[0], step, 0)
    return y


def swapped_strides(program):
    """Stores whose steps are exchanged between their loops."""

    def rule(stmt):
        if isinstance(stmt, Store) and len(stmt.index.terms) == 2:
            (a, p), (b, q) = stmt.index.terms
            return (stmt.replace(index=stmt.index.replace(terms=((a, q), (b, p)))),)
        return (stmt,)

    return in_statements(rule)(program)


def ends_forgotten(program):
    """Loads begin at the start of their array."""
    return in_statements(
        lambda s: (
            (s.replace(index=s.index.replace(offset=s.index.offset + 1)),)
            if isinstance(s, Load)
            else (s,)
        )
    )(program)


def merged_anyway(program):
    """Neighbouring loops joined though memory has gaps."""

    def rule(stmt):
        if isinstance(stmt, For) and len(stmt.body) == 1 and isinstance(stmt.body[0], For):
            inner = stmt.body[0]

            def drop(s):
                if not isinstance(s, Load | Store):
                    return (s,)
                terms = tuple(t for t in s.index.terms if t[0] != stmt.iterator)
                return (s.replace(index=s.index.replace(terms=terms)),)

            body = rewrite_body(inner.body, drop)
            return (inner.replace(extent=stmt.extent * inner.extent, body=body),)
        return (stmt,)

    return in_statements(rule)(program)


def without_first_range(program):
    """Loops that were split lack their first steps."""

    def rule(stmt):
        first = isinstance(stmt, For) and stmt.span is not None and stmt.span[0].constant == 0
        return () if first else (stmt,)

    return in_statements(rule)(program)


def without_limits(program):
    """Loops over windows go on beyond the edges."""
    return in_statements(lambda s: (s.replace(limits=()),) if isinstance(s, For) else (s,))(program)


def all_pieces_first(program):
    """Every piece of a join is written where the first one is."""

    def moved(definition):
        target = definition.target
        if target is None:
            return definition
        return definition.replace(target=target.replace(offset=dim(0)))

    return program.replace(definitions=tuple(map(moved, program.definitions)))


def nothing_kept(program):
    """Folds store nothing into the row from which a later loop loads."""

    def rule(stmt):
        if isinstance(stmt, For) and stmt.kind == "fold":
            kept = tuple(s for s in stmt.body if not isinstance(s, Store))
            return (stmt.replace(body=kept),)
        return (stmt,)

    return in_statements(rule)(program)


def first_lane_alone(program):
    """Lanes are left out where they are combined."""

    def rule(stmt):
        if not isinstance(stmt, For) or stmt.at is None:
            return (stmt,)
        return (stmt.replace(body=tuple(s.replace(span=(dim(0), dim(1))) for s in stmt.body)),)

    return in_statements(rule)(program)


def first_block_alone(program):
    """The first block is searched, whichever has won."""

    def rule(stmt):
        if isinstance(stmt, For) and stmt.at is not None:
            return (stmt.replace(at=None, span=(dim(0), dim(1))),)
        return (stmt,)

    return in_statements(rule)(program)


def nothing_left_over(program):
    """Rows that wait at the ends of blocks are never written."""
    steps = (s.replace(combine=()) if isinstance(s, Nest) else s for s in program.steps)
    return program.replace(steps=tuple(steps))


def moved_along(x):
    """Each element becomes the sum of its neighbours."""
    y = x * 2.0
    y[1:-1] = y[:-2] + y[2:]
    return y


def no_last_launch(plan):
    """The plan without its last kernel."""
    last = max(k for k, step in enumerate(plan.steps) if isinstance(step, Launch))
    return plan.replace(steps=plan.steps[:last] + plan.steps[last + 1 :])


def one_trip_less(plan):
    """Loops end before their last trip."""
    steps = (
        step.replace(trips=step.trips - 1) if isinstance(step, Repeat) else step
        for step in plan.steps
    )
    return plan.replace(steps=tuple(steps))


def sorted_again(x):
    """A vector that is sorted and turned round in each trip."""
    return fori_loop(0, x.shape[0], lambda i, found: np.sort(found)[::-1] * -1.0 + 1.0, x)


def one_tile_for_all(program):
    """Every load from a tile reads the first one."""
    (nest,) = program.steps
    first = nest.tiles[0]
    return in_statements(
        lambda s: (
            (s.replace(buffer=first),) if isinstance(s, Load) and s.buffer.role == "tile" else (s,)
        )
    )(program)


def saved_backwards(op):
    """What is saved comes in another order."""
    if op.primitive is not SAVE:
        return op
    first, *rest = op.maps[0]
    backwards = affine({k: -c for k, c in first.terms}, op.extents[0] - 1)
    return op.replace(maps=((backwards, *rest),))


def later_elements(op):
    """Conditions leave out one element more."""
    return op.replace(conditions=tuple(c.replace(low=c.low + 1) for c in op.conditions))


def squared(op):
    """The right operand of each contraction in place of the left one."""
    if op.primitive.name != "multiply":
        return op
    return op.replace(operands=op.operands[1:] * 2, maps=op.maps[1:] * 2)


def unsigned(op):
    """Negation forgotten."""
    if op.primitive.name != "negative":
        return op
    return op.replace(primitive=COPY)


def mask_ignored(op):
    """What a mask does not choose is folded, too."""
    if op.primitive is not WHERE:
        return op
    return op.replace(
        primitive=VIEW if op.fold else COPY, operands=op.operands[1:2], maps=op.maps[1:2]
    )


def one_storage_for_all(program):
    """Temporaries that other iterations read later written over, too."""
    (result,) = {view.storage for view in program.results}
    old = [s for s in program.storages if s.role.is_temporary]

    def rule(stmt):
        found = isinstance(stmt, Load | Store) and stmt.buffer in old
        return (stmt.replace(buffer=result),) if found else (stmt,)

    made = in_statements(rule)(program)
    kept = tuple(s for s in program.storages if s not in old)
    return made.replace(storages=kept, updated=made.updated | {result.name})


def both_ways(x):
    """Running sums in both directions."""
    y = np.cumsum(x)
    return y + y[::-1]


WRONG = {
    "compose_views": (in_ops(first_map_shifted), undone, [numbers(9)]),
    "order_contractions": (
        in_ops(squared),
        lambda x, y: np.einsum("ij,jk,kl->il", x, y, y),
        [numbers(3, 3), numbers(3, 3) - 2],
    ),
    "drop_padding": (in_ops(lambda op: op.replace(conditions=())), of_products, []),
    "elide_copies": (in_ops(first_map_shifted), undone, [numbers(9)]),
    "simplify_algebra": (in_ops(unsigned), lambda x: -x * 2.0, [numbers(9)]),
    "find_convolutions": (in_ops(later_elements), lambda: convolved(3, 9), []),
    "save_versions": (in_ops(saved_backwards), swapped, []),
    "lower_to_views": (
        lambda program: program.replace(results=program.results[::-1]),
        lambda x: (x + 1.0, x - 1.0),
        [numbers(9)],
    ),
    "fold_masks": (in_ops(mask_ignored), lambda x: x[x > 2].sum(), [numbers(9)]),
    "cut_joins": (
        all_pieces_first,
        lambda x: np.concatenate([x, x * 2.0, x + 1.0, x, x - 1.0]),
        [numbers(9)],
    ),
    "lower_to_loops": (shorter("fold"), rows_and_columns, [numbers(5, 6) + 9]),
    "fuse_loops": (one_value_for_all, lambda x: (x + 1.0, x * 2.0), [numbers(30)]),
    "order_loops": (swapped_strides, lambda x: x[:, ::2] + 1.0, [numbers(6, 12)]),
    "flip_loops": (ends_forgotten, lambda x: x[::-1].sum(axis=0), [numbers(6, 12)]),
    "collapse_loops": (merged_anyway, lambda x: x[:, :7] + 1.0, [numbers(6, 12)]),
    "tile_folds": (shorter("fold"), lambda x: x.sum(axis=0), [numbers(6, 12) + 9]),
    "block_folds": (shorter("fold"), lambda x: x.sum(), [numbers(60) + 9]),
    "cache_rows": (nothing_kept, softmax, [numbers(5, 7)]),
    "interleave_folds": (
        first_lane_alone,
        lambda: follow(lambda x: fold(MEANT["seeded"].acc, x, axes=0), numbers(30) + 9),
        [],
    ),
    "buffer_rows": (nothing_left_over, moved_along, [numbers(40)]),
    "search_blocks": (
        first_block_alone,
        lambda x: np.argmax(x, axis=1),
        [np.tile([1.0, 5.0, 2.0, 3.0, 4.0, 9.0, 7.0, 8.0, 6.0], (2, 1))],
    ),
    "reuse_storages": (one_storage_for_all, both_ways, [numbers(9)]),
    "privatise_scatters": (spoiling.one_copy, spoiling.counted, [np.arange(30) % 7]),
    "split_scans": (spoiling.own_states, lambda x: np.cumsum(x), [numbers(33)]),
    "join_moments": (spoiling.sum_for_squares, np.var, [np.tile([2.0, -2.0], 10)]),
    "center_blocks": (spoiling.whole_blocks, np.var, [np.tile([2.0, -2.0], 10)]),
    "limit_loops": (without_limits, pooled, []),
    "split_regions": (without_first_range, lambda x: np.pad(x, 2), [numbers(9)]),
    "strip_mine": (one_tile_for_all, lambda x, y: x * y - x / (y + 9.0), [numbers(9), numbers(9)]),
    "lower_regions": (shorter("serial"), total, [numbers(9)]),
    "share_trips": (shorter("shared"), doubled, [numbers(9)]),
    "hoist_loads": (shorter("serial"), total, [numbers(9)]),
    "prove_positions": (shorter("serial"), total, [numbers(9)]),
    "insert_cancellation_checks": (shorter("fold"), lambda x: x.sum(axis=0), [numbers(6, 12) + 9]),
    "make_plan": (no_last_launch, centred, [numbers(5, 7)]),
    "repeat_regions": (one_trip_less, sorted_again, [numbers(9)]),
}


def test_every_pass_has_a_wrong_variant():
    assert set(WRONG) == set(PASSES) - ESTIMATES
    assert set(ILLEGAL) == set(PASSES)


def case_and_meaning(function, arguments):
    """The case of a NumPy function and what it gives; without arguments the function makes one."""
    if arguments:
        return follow(function, *arguments), in_numpy(function, arguments)
    case = function()
    return case, evaluated(case.graph, case)


def means_the_same(function, arguments) -> bool:
    """Whether plan and simplified graph of a function give what NumPy gives."""
    case, want = case_and_meaning(function, arguments)
    with small_forms():
        stages = lowered(case)
    results = [evaluated(stages.simplified, case)]
    try:
        results.append(case.returned(run_plan_plain(stages.plan, case.arguments, case.values)))
    except IndexError:  # reaching outside a buffer
        return False
    return all(
        np.array_equal(one, other) for got in results for one, other in zip(got, want, strict=True)
    )


@pytest.mark.parametrize("name", WRONG)
def test_wrong_but_legal_results_change_the_meaning(name):
    spoil, function, arguments = WRONG[name]
    assert means_the_same(function, arguments)
    with replaced(name, spoil):
        assert not means_the_same(function, arguments)


def written_before_it_is_read(program):
    """Definitions in an order in which a version is written over too early."""
    rest = [d for d in program.definitions if d.target is None]
    return program.replace(
        definitions=(*(d for d in program.definitions if d.target is not None), *rest)
    )


FORGETFUL = {
    "save_versions": in_ops(lambda op: op.operands[0] if op.primitive is SAVE else op),
    "lower_to_views": written_before_it_is_read,
    "lower_to_loops": lambda program: program.replace(updated=frozenset()),
}


@pytest.mark.parametrize("name", FORGETFUL)
def test_versions_that_are_lost_stop_the_pipeline(name):
    with replaced(name, FORGETFUL[name]), pytest.raises((VerifyError, AssertionError), match="."):
        lowered(given())
