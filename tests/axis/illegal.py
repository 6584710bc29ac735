"""What illegal programs and their legal neighbours are made of.

A row has a name, the illegal program, what its error says (asked | seen | instead, parts of each),
and the legal one. Axes: H=2, W=3, N=4, A, B and D of one class with length 2, LATER without length.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import axiomjit as aj
from axiomjit.base.config import config

H, W, N = aj.make_axis(2, "H"), aj.make_axis(3, "W"), aj.make_axis(4, "N")
K = aj.make_axis_class("K")
A, B, D = (aj.make_axis(2, name, axis_class=K) for name in "ABD")
LATER = aj.make_axis(name="later")
LATE_K = aj.make_axis(name="late", axis_class=K)
HEIGHT, WIDTH = aj.make_axis_role("Height"), aj.make_axis_role("Width")
TALL, TALLER = aj.make_axis(2, "tall", [HEIGHT]), aj.make_axis(2, "taller", [HEIGHT])
EMPTY = aj.make_axis(0, "empty")
ONES = np.ones((2, 3))
X = aj.constant(ONES, [H, W])
P, Q, L = aj.placeholder([H, W]), aj.placeholder([W]), aj.placeholder([LATER])


def ones(*axes):
    """A constant of ones."""
    return aj.constant(np.ones(aj.make_axes(axes).lengths), axes)


def compute(outputs, *placeholders):
    """The computation of a new transformer."""
    return aj.transformers.make_transformer().computation(outputs, *placeholders)


def with_outer(policy, program):
    """The program under a policy for outer products."""
    before = config.outer
    config.outer = policy
    try:
        return program()
    finally:
        config.outer = before


class Row(NamedTuple):
    """An illegal program, and its neighbour."""

    name: str
    illegal: Callable[[], object]
    message: str
    legal: Callable[[], object]
