"""Random programs of arrays in blocks are NumPy's on the whole; planted faults are found."""

import numpy as np
import pytest

pytest.importorskip("dask.array")

from axiomjit.scale import axis_classes, block_graphs, combining, groups, stages, tasks  # noqa: E402 - below the import of dask
from axiomjit.scale.partitions import Place  # noqa: E402
from tests.generator.budget import budget  # noqa: E402
from tests.scale.programs import draw_program, results  # noqa: E402


@pytest.mark.parametrize(("name", "count"), [("evaluated", budget(24)), ("compiled", budget(2))])
def test_programs_are_numpys(name, count):
    failures, refusals = results(5, 0, count, name)
    assert not failures, "\n\n".join(failures[:2])
    assert len(refusals) <= max(1, count // 4)


def test_programs_depend_on_seed_and_number_alone():
    one, same, other = draw_program(5, 3), draw_program(5, 3), draw_program(6, 3)
    assert (one.text, one.chunks) == (same.text, same.chunks) != (other.text, other.chunks)


def narrow_halo(monkeypatch):
    spans = stages.operand_spans

    def wrong(*given):
        found = spans(*given)
        return tuple(
            one if one is None or one.high < 1 else one.replace(high=one.high - 1) for one in found
        )

    monkeypatch.setattr(stages, "operand_spans", wrong)
    monkeypatch.setattr(block_graphs, "operand_spans", wrong)


def positions_of_a_block(monkeypatch):
    positions = block_graphs._Building._positions

    def wrong(self, function, starts, extents):
        return positions(self, function, [0 * start for start in starts], extents)

    monkeypatch.setattr(block_graphs._Building, "_positions", wrong)


def empty_blocks_count(monkeypatch):
    lengths = Place.lengths

    def wrong(self):
        return tuple(None if n is None else n or 1 for n in lengths(self))

    monkeypatch.setattr(Place, "lengths", wrong)


def states_of_nothing(monkeypatch):
    from axiomjit.interop.dask_arrays import Arrays

    monkeypatch.setattr(Arrays, "_needs_elements", lambda self, target: False)


def combined_backwards(monkeypatch):
    flat = combining._flat
    monkeypatch.setattr(combining, "_flat", lambda states: reversed(list(flat(states))))


def first_block_alone(monkeypatch):
    monkeypatch.setattr(
        combining, "combined", lambda fold, one, other: other if one is None else one
    )


def wrong_corners(monkeypatch):
    towards = tasks.Edges.towards

    def wrong(self, sides):
        found = towards(self, sides)
        return found + 1 if sum(map(abs, sides)) > 1 else found

    monkeypatch.setattr(tasks.Edges, "towards", wrong)


def strips_of_the_first(monkeypatch):
    monkeypatch.setattr(tasks, "combined", lambda fold, one, other: other if one is None else one)


def strips_without_halo(monkeypatch):
    within = tasks.Part.within

    def wrong(self, block, strip):
        start, end, length = within(self, block, strip)
        return start, end if strip[1] == block[1] else min(end, strip[1] - block[0]), length

    monkeypatch.setattr(tasks.Part, "within", wrong)


def taken_of_the_first_block(monkeypatch):
    monkeypatch.setattr(groups.TakenFold, "combined", lambda self, one, other: one)


def states_of_empty_groups(monkeypatch):
    combined = groups.GroupsFold.combined

    def wrong(self, one, other):
        counts = [(np.ones_like(state[0]), *state[1:]) for state in (one, other)]
        return combined(self, *counts) if len(one) > 1 else combined(self, one, other)

    monkeypatch.setattr(groups.GroupsFold, "combined", wrong)


def old_elements_forgotten(monkeypatch):
    monkeypatch.setattr(axis_classes, "begins_with_identity", lambda op, fold: True)


def groups_of_the_first_block(monkeypatch):
    monkeypatch.setattr(groups.GroupsFold, "combined", lambda self, one, other: one)


@pytest.mark.parametrize(
    ("fault", "first", "count"),
    [
        (narrow_halo, 3, 1),
        (wrong_corners, 77, 1),
        (strips_without_halo, 5, 1),
        (strips_of_the_first, 5, 1),
        (positions_of_a_block, 10, 1),
        (empty_blocks_count, 31, 1),
        (states_of_nothing, 5, 1),
        (combined_backwards, 6, 1),
        (first_block_alone, 1, 1),
        (states_of_empty_groups, 6, 1),
        (old_elements_forgotten, 4, 1),
        (groups_of_the_first_block, 1, 1),
        (taken_of_the_first_block, 5, 1),
    ],
)
def test_planted_faults_are_found(fault, first, count, monkeypatch):
    fault(monkeypatch)
    assert results(5, first, count, "evaluated")[0]
