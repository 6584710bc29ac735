"""Loops and branches of a program become one nest each, in the order of the program."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import BoundsError
from axiomjit.passes.graph import save_versions as saving
from axiomjit.passes.ir.loop_ir import OF_PROGRAM, For, Leave, Nest, When, walk
from axiomjit.passes.loops.lower_regions import lower_regions
from axiomjit.symbolic.index_ranges import IndexRanges
from tests.passes.examples import example
from tests.passes.graphs import lower_until
from tests.tracing.loop_programs import PROGRAMS

GOLDEN = ("recurrence", "cholesky", "lu", "bisection", "csr_times_vector")


def lowered(name, n=7):
    function, make = PROGRAMS[name]
    return aj.jit(function).lower(*make(n, np.random.default_rng(n)))


@pytest.mark.parametrize("name", GOLDEN)
def test_lower_regions_golden(golden, name):
    found = lowered(name)
    golden(f"{found.graph}\n{found.after('lower_regions')}\n{found.source}")


def test_lower_regions_leaves_alone():
    case = example("padded")
    program = lower_until("lower_regions", case)
    assert lower_regions(program, case.context) is program


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_region_is_one_nest(name):
    steps = lowered(name)._stages.loops.steps
    nests = [step for step in steps if isinstance(step, Nest)]
    serial = [
        nest
        for nest in nests
        if any(isinstance(s, For) and s.kind in OF_PROGRAM for s in nest.statements)
    ]
    assert len(serial) == (2 if name == "thomas" else 1)


def test_small_products_stay_in_the_kernel(memory_only):
    def powers(a, n):
        b = a
        for _ in range(n):
            b = a @ b
            b = b / np.abs(b).max()
        return b

    compiled, costs = aj.jit(powers, strict=True), {}
    for n in (5, 8, 12, 13, 20, 7):
        a = np.random.default_rng(n).random((n, n))
        assert np.allclose(compiled(a, 30), powers(a, 30))
        costs[n] = compiled.lower(a, 30).cost.library_calls
    assert costs == {5: 0, 7: 0, 8: 0, 12: 0, 13: 1, 20: 1}
    assert compiled.cache_info().traced == 2


def test_conditions_and_branches_stay_in_the_kernel():
    kinds = {type(s) for s in walk(lowered("bisection")._stages.loops.steps[-1].body)}
    assert {For, Leave, When} <= kinds or {Leave, When} <= {
        type(s) for nest in lowered("bisection")._stages.loops.steps for s in walk(nest.body)
    }


def differs(name):
    """True if a compiled program and Python give different results."""
    function, make = PROGRAMS[name]
    mine, plain = (make(9, np.random.default_rng(3)) for _ in range(2))
    aj.jit(function)(*mine)
    function(*plain)
    return not all(np.allclose(a, b) for a, b in zip(mine, plain, strict=True))


def test_a_dependence_that_is_not_seen_is_found():
    assert not differs("heat")
    with patch.object(saving, "may_meet_in_trip", lambda *given: False):
        assert differs("heat")


def past_the_end(x):
    def step(i, nothing):
        x[i + 1] = x[i]
        return nothing

    aj.fori_loop(0, x.shape[0], step, 0)


def test_a_hull_that_is_off_by_one_is_found(monkeypatch):
    with pytest.raises(IndexError):
        aj.jit(past_the_end)(np.arange(9.0))
    right = IndexRanges.within
    monkeypatch.setattr(IndexRanges, "within", lambda self, symbol, n: right(self, symbol, n - 1))
    monkeypatch.setattr(config, "bounds", True)
    with pytest.raises(BoundsError, match="may touch"):
        aj.jit(past_the_end)(np.arange(9.0))
