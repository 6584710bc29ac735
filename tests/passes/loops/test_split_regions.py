"""Loops are split where a join goes from one part to the next, so that none has a condition."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import For, Select
from axiomjit.passes.loops.split_regions import split_regions
from tests.passes.examples import example, numbers
from tests.passes.graphs import before_and_after, follow, lower_until, lowered


@pytest.mark.parametrize("name", ["padded", "joined"])
def test_split_regions_golden(golden, name):
    golden(before_and_after("split_regions", example(name)))


@pytest.mark.parametrize("name", ["l2", "centred", "merged"])
def test_split_regions_leaves_alone(name):
    case = example(name)
    program = lower_until("split_regions", case)
    assert split_regions(program, case.context) is program


def loops(function, *arguments):
    """The innermost loops of each nest of a function."""
    steps = lowered(follow(function, *arguments)).loops.steps
    counts = []
    for step in steps:
        assert not any(isinstance(s, Select) for s in step.statements)
        innermost = [
            s
            for s in step.statements
            if isinstance(s, For) and not any(isinstance(inner, For) for inner in s.body)
        ]
        counts.append(len(innermost))
    return counts


X, ROW = numbers(6, 7), numbers(9)


@pytest.mark.parametrize(
    ("function", "arguments", "count"),
    [
        (lambda x: np.pad(x, 1), [ROW], [3]),
        (lambda x: np.pad(x, 1)[1:-1] * 2.0, [ROW], [1]),
        (lambda x: np.pad(x, 1)[2:] * np.pad(x, 1)[:-2], [ROW], [3]),
        (lambda x: np.pad(x, (0, 1)), [ROW], [2]),
        (lambda x: np.pad(x, 1)[::2] * 2.0, [ROW], [3]),
        (lambda x: np.pad(x, 1)[::-1] * 2.0, [ROW], [3]),
        (lambda x: np.pad(x, 1)[0] * 2.0, [X], [3]),
        (lambda x: np.concatenate([x, x]), [X], [2]),
        (lambda x: np.concatenate([x, x], axis=1), [X], [2]),
        (lambda x: np.concatenate([x, x]).T * 2.0, [X], [2]),
        (lambda x: np.concatenate([np.pad(x, 1), x]) + 1.0, [ROW], [4]),
        (lambda x: np.roll(x, 3) - x, [ROW], [2]),
    ],
)
def test_ranges(function, arguments, count):
    assert loops(function, *arguments) == count
