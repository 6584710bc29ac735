"""Loops that walk memory as one become one."""

import numpy as np
import pytest

from axiomjit.passes.ir.loop_ir import For
from axiomjit.passes.loops.collapse_loops import collapse_loops
from tests.passes.examples import example, numbers
from tests.passes.graphs import CONTEXT, before_and_after, follow, lower_until


@pytest.mark.parametrize("name", ["mapped", "planes", "strided", "total"])
def test_collapse_loops_golden(golden, name):
    golden(before_and_after("collapse_loops", example(name)))


@pytest.mark.parametrize("name", ["l2", "single", "strided", "rows_and_columns"])
def test_collapse_loops_leaves_alone(name):
    program = lower_until("collapse_loops", example(name))
    assert collapse_loops(program, CONTEXT) is program


def depth(function, *arguments):
    """The number of loops after collapsing."""
    program = collapse_loops(lower_until("collapse_loops", follow(function, *arguments)), CONTEXT)
    return sum(isinstance(s, For) for step in program.steps for s in step.statements)


CUBE = numbers(5, 6, 7)


@pytest.mark.parametrize(
    ("function", "arguments", "loops"),
    [
        (lambda x: x + 1.0, [CUBE], 1),
        (lambda x: x + 1.0, [CUBE.transpose(2, 0, 1)], 1),
        (lambda x: x + 1.0, [CUBE[:, :4, :5]], 3),
        (lambda x: x + 1.0, [CUBE[::2]], 2),
        (lambda x, y: x + y, [CUBE, numbers(7)], 2),
        (lambda x, y: x + y, [CUBE, numbers(5, 1, 1)], 2),
        (lambda x, y: x + y, [CUBE, np.asfortranarray(CUBE)], 3),
        (lambda x: x.sum(), [CUBE], 1),
        (lambda x: x.sum(axis=(1, 2)), [CUBE], 2),
        (lambda x: x.sum(axis=1), [CUBE], 3),
    ],
)
def test_what_is_collapsed(function, arguments, loops):
    assert depth(function, *arguments) == loops
