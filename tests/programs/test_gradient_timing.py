"""Gradients by us, by hand and by JAX agree; what they store is bounded; goals are asked."""

import numpy as np
import pytest

import axiomjit
from tests.passes.graphs import follow, lowered
from tests.programs.gradient_timing import PROGRAMS, Timing, table, ways

GOOD = Timing("good", 1, 1.0, 1.0, 4.0)


@pytest.mark.parametrize("name", PROGRAMS)
def test_the_gradients_agree(name):
    pytest.importorskip("jax")
    program = PROGRAMS[name]
    arguments = program.arguments(40)
    (value, ours), *others = (way(*arguments) for way in ways(program))
    for other, gradient in others:
        np.testing.assert_allclose(value, other, rtol=1e-10)
        for one, two in zip(ours, gradient, strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("name", "wanted", "matrices"),
    [("l2", (0,), 0), ("l2", (0, 1), 0), ("rbf", (0, 1), 1), ("rbf", (2,), 1), ("bodies", (0,), 0)],
)
def test_no_array_of_pairs_has_their_dimensions(name, wanted, matrices):
    """A temporary array has at most one number for each pair of points, never a vector."""
    program = PROGRAMS[name]
    gradient = axiomjit.value_and_grad(program.loss(np), argnums=wanted)
    storages = lowered(follow(gradient, *program.arguments(40))).loops.storages
    ranks = [len(s.shape) for s in storages if s.role.is_temporary]
    assert max(ranks, default=0) <= 2
    assert ranks.count(2) <= matrices


def missed(*timings):
    return [line.removeprefix("missed: ") for line in table(timings) if line.startswith("missed")]


def test_the_table_has_ratios_and_means():
    head, row, mean = table([GOOD])
    assert head.split()[:2] == ["program", "threads"]
    assert row.split() == ["good", "1", "1.000", "1.000", "4.000", "1.00", "0.25"]
    assert mean == "of jax, threads 1: 0.25 in the mean, goal 0.5"


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"by_hand": 0.8}, "good takes 1.25 of the time by hand"),
        ({"jax": 0.8}, "good takes 1.25 of JAX's time"),
        ({"jax": 1.5}, "JAX is too fast on 1 threads"),
    ],
)
def test_each_goal_is_asked(change, reason):
    assert missed(GOOD) == []
    assert reason in missed(GOOD._replace(**change))
