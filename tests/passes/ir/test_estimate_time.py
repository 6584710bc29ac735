"""Cycles of loops: what bounds them, and that they are those that were measured."""

import numpy as np
import pytest

from axiomjit import erf
from axiomjit.passes.ir.costs import (
    DIVISION,
    FUNCTION,
    LONG_FUNCTION,
    PORTS,
    estimate_time,
    operation_time,
)
from axiomjit.passes.ir.loop_ir import For, Let, walk
from tests.passes.graphs import follow, lower_until

X = np.linspace(0.5, 2.0, 3000, dtype="f4")


def loop_body(function, arguments=1, code="f4"):
    """The statements of a function's loop, before it is cut."""
    case = follow(function, *[X.astype(code)] * arguments)
    (loop,) = [
        s for s in walk(lower_until("strip_mine", case).steps[-1].body) if isinstance(s, For)
    ]
    return loop.body


def entropy(x, y):
    """Three functions beside each other."""
    return -(x * np.log(x) + (1 - x) * np.log1p(-x)) * np.exp(-y)


@pytest.mark.parametrize(
    ("function", "arguments", "code", "cycles"),
    [
        (lambda x: erf(x * 0.7), 1, "f4", 8.5),
        (lambda x: np.exp(x * -0.02), 1, "f4", 8.6),
        (lambda x, y: np.log(x / y), 2, "f4", 13.2),
        (lambda x, y: erf(x / y * 0.7), 2, "f4", 12.5),
        (lambda x: np.exp(x * 3) * np.sqrt(x), 1, "f4", 13.2),
        (lambda x, y: (np.log(x / y) + x) / np.sqrt(y), 2, "f4", 35.7),
        (entropy, 2, "f8", 54.5),
    ],
)
def test_times_are_near_those_measured(function, arguments, code, cycles):
    assert estimate_time(loop_body(function, arguments, code)) == pytest.approx(cycles, rel=0.3)


def test_ports_and_divider_bound_what_does_not_wait():
    assert estimate_time(loop_body(lambda x: x + x)) == 3 / PORTS
    assert estimate_time(loop_body(lambda x: 1.0 / x)) == DIVISION["f4"].divider


def test_operands_from_tiles_are_known_later_and_take_loads():
    (add,) = [s for s in loop_body(lambda x: x + 1.0) if isinstance(s, Let)]
    alone = estimate_time([add])
    assert estimate_time([add], tiles=add.operands) == alone + len(add.operands) / PORTS
    assert estimate_time([add], kept=1) == alone + 1 / PORTS
    (chain,) = [s for s in loop_body(np.exp) if isinstance(s, Let)]
    assert estimate_time([chain], tiles=chain.operands) > estimate_time([chain]) + 1 / PORTS


def test_functions_in_turn_take_longer_than_side_by_side():
    turn = estimate_time(loop_body(lambda x, y: np.exp(np.log(x)) * y, 2))
    side = estimate_time(loop_body(lambda x, y: np.exp(x) * np.log(y), 2))
    assert turn > side


def test_functions_have_the_time_of_their_class():
    short, long = (loop_body(f, code="f8") for f in (np.exp, erf))
    times = [
        operation_time(s.primitive, "f8") for b in (short, long) for s in b if isinstance(s, Let)
    ]
    assert times == [FUNCTION["f8"], LONG_FUNCTION]


def test_of_other_dtypes_weights_are_taken():
    (let,) = [s for s in loop_body(np.exp, code="f2") if isinstance(s, Let)]
    assert operation_time(let.primitive, "f2").uops == let.primitive.weight
