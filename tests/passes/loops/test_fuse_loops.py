"""Nests over the same space become one; others stay apart."""

import pickle
from unittest.mock import patch

import numpy as np
import pytest

import axiomjit
from axiomjit.passes.ir.loop_ir import Load, Name, Nest, Store
from axiomjit.passes.ir.rewriting import SharedScalars
from axiomjit.passes.loops.fuse_loops import fuse_loops
from tests.passes.examples import example, numbers
from tests.passes.graphs import (
    CONTEXT,
    before_and_after,
    follow,
    lower_until,
    lowered,
    run_plain_case,
)


@pytest.mark.parametrize("name", ["l2", "sums_and_map", "rows_and_columns", "centred", "product"])
def test_fuse_loops_golden(golden, name):
    golden(before_and_after("fuse_loops", example(name)))


@pytest.mark.parametrize("name", ["single", "planes", "mapped"])
def test_fuse_loops_leaves_alone(name):
    program = lower_until("fuse_loops", example(name))
    assert fuse_loops(program, CONTEXT) is program


def nests(function, *arguments):
    """The number of nests after fusing."""
    case = follow(function, *arguments)
    program = fuse_loops(lower_until("fuse_loops", case), case.context)
    return sum(isinstance(step, Nest) for step in program.steps)


@pytest.mark.parametrize(
    ("function", "shapes", "count"),
    [
        (lambda x, y: (x + 1.0, y + 1.0), [(9,), (9,)], 1),
        (lambda x, y: (x + 1.0, y + 1.0), [(9,), (8,)], 2),
        (lambda x, y: (x.sum(), y.max()), [(9,), (9,)], 1),
        (lambda x, y: (x.sum(), y.max()), [(9,), (8,)], 2),
        (lambda x, y: (x.sum(axis=1), y.sum(axis=1)), [(9, 8), (9, 7)], 2),
        (lambda x, y: (x.sum(axis=1), y.sum(axis=1)), [(9, 8), (9, 8)], 1),
        (lambda x, y: x * x.sum() + y, [(9,), (9,)], 2),  # reads the whole of what it needs first
    ],
)
def test_what_is_fused(function, shapes, count):
    assert nests(function, *[numbers(*shape) for shape in shapes]) == count


@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x, y: np.cumsum(x[:, ::-1], axis=1)[:, ::-1] * y, 1),
        (lambda x, y: np.cumsum(x[::-1], axis=0)[::-1] * y, 1),
        (lambda x, y: np.cumsum(x, axis=1)[:, ::-1] * y[:, ::-1], 1),
        (lambda x, y: np.cumsum(x, axis=1)[::-1] * y, 1),
        (lambda x, y: np.cumsum(x[:, ::-1], axis=1) + np.cumsum(y, axis=1)[:, ::-1], 2),
        (lambda x, y: (t := np.cumsum(x, axis=1)) * t[:, ::-1], 2),
    ],
)
def test_readers_of_scans_from_the_end_are_turned(function, count):
    x, y = numbers(9, 8), numbers(9, 8) + 3
    assert nests(function, x, y) == count
    case = follow(function, x, y)
    found = run_plain_case(case, lowered(case).plan, 2)
    np.testing.assert_array_equal(found[0], function(x, y))


def test_passed_on_temporaries_are_dropped():
    def function(x):
        dear = np.sqrt(np.sqrt(x) + 1.0)
        return dear + 1.0, (dear * 2.0).sum()

    before = lower_until("fuse_loops", follow(function, numbers(9) ** 2))
    after = fuse_loops(before, CONTEXT)
    assert len(after.steps) == 1
    assert [s.role for s in after.storages] == ["argument", "result", "result"]
    assert sum(isinstance(s, Load) for s in after.steps[0].statements) == 1


def test_no_nest_grows_without_limit(monkeypatch):
    monkeypatch.setattr("axiomjit.passes.loops.fuse_loops.MAX_STATEMENTS", 8)

    def function(x):
        return tuple(x + float(k) for k in range(10))

    program = fuse_loops(lower_until("fuse_loops", follow(function, numbers(9))), CONTEXT)
    assert len(program.steps) > 1
    assert all(len(nest.statements) <= 8 for nest in program.steps)


@pytest.mark.parametrize(("letter", "number"), [("i", 0), ("v", 10), ("s", 3)])
def test_names_know_their_numbers(letter, number):
    name = Name(letter, number)
    assert name == f"{letter}{number}"
    assert name.moved(5) == Name(letter, number + 5)
    again = pickle.loads(pickle.dumps(name))
    assert (again, again.letter, again.number) == (name, letter, number)


@pytest.mark.parametrize(
    ("function", "columns", "count"),
    [
        (lambda e, c: (e, e.sum(axis=1)), 3, 2),
        (lambda e, c: (e, e * c[:, None]), 8, 2),
        (lambda e, c: (e, e.sum(axis=1)), 9, 1),
        (lambda e, c: (e, e + 1.0), 3, 1),
    ],
)
def test_functions_of_short_rows_are_vector_code(function, columns, count):
    """They are joined only with nests that walk all rows in one loop."""
    found = nests(lambda x, c: function(np.exp(x), c), numbers(40, columns), numbers(40))
    assert found == count


def test_elements_stored_again_are_stored_once():
    def function(x, out):
        np.add(x, 1.0, out=out)
        np.multiply(out, 2.0, out=out)
        out[out > 3.0] = 3.0
        return out * 1.0

    case = follow(function, numbers(9), numbers(9))
    program = fuse_loops(lower_until("fuse_loops", case), case.context)
    (nest,) = program.steps
    stores = [s.buffer.name for s in nest.statements if isinstance(s, Store)]
    assert len(stores) == len(set(stores)) == 2


def test_elements_read_before_they_are_stored_again_are_kept():
    def function(x, out):
        out[:] = x + 1.0
        shifted = out[::-1] * 2.0
        out[:] = x - 1.0
        return shifted

    x, out, plain = numbers(9), np.zeros(9), np.zeros(9)
    np.testing.assert_array_equal(axiomjit.jit(function)(x, out), function(x, plain))
    np.testing.assert_array_equal(out, plain)


FACTORS = tuple(np.linspace(1.0, 2.0, 60).tolist())


def quotients(x):
    y = x
    for factor in FACTORS:
        y = factor / (y + x)
    return y.sum()


def rows(x):
    y = x.copy()
    for factor in FACTORS[:30]:
        y[1:-1] += factor * np.sin(y[1:-1]) * y[:1]
    return y * y


def cells(x):
    y = x.copy()
    for k, factor in enumerate(FACTORS[:40]):
        y[k + 1] = np.sin(y[k]) * factor
    return y


def two_orders(x):
    y = x.reshape(9, 8)
    return y + 1.0, y.T * 2.0, y.T.copy() + 3.0, np.exp(y), (y * y).sum(0)


CHAINS = [
    axiomjit.grad(quotients),
    rows,
    cells,
    axiomjit.grad(lambda x: cells(x).sum()),
    two_orders,
]


@pytest.mark.parametrize("function", CHAINS)
def test_a_nest_that_grows_is_the_nest_of_all(function):
    """Nests of map loops grow statement by statement; joined as any others they are the same."""
    case = follow(function, numbers(72))
    before = lower_until("fuse_loops", case)
    with patch("axiomjit.passes.loops.fuse_loops._plain_part", return_value=None):
        expected = fuse_loops(before, case.context)
    assert fuse_loops(before, case.context) == expected


def test_each_statement_of_a_long_chain_is_looked_at_a_few_times():
    case = follow(axiomjit.grad(quotients), numbers(72))
    before = lower_until("fuse_loops", case)
    seen, add = [], SharedScalars.add
    with patch.object(
        SharedScalars, "add", lambda self, body: seen.extend(body) or add(self, body)
    ):
        after = fuse_loops(before, case.context)
    assert len(before.steps) > 5 * len(after.steps)
    assert len(seen) < 3 * sum(len(step.statements) for step in before.steps)


def test_what_only_computes_an_unread_temporary_is_dropped():
    def one_of_many(x):
        y = np.full(x.shape, 0.5)
        y[0] = 1.0
        y[4] = 7.0
        x[4] = y[4]
        return x

    x, compiled = np.arange(9.0), axiomjit.jit(one_of_many, strict=True)
    assert np.array_equal(compiled(x.copy()), one_of_many(x.copy()))
    assert nests(one_of_many, x) == 1
