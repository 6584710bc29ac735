"""Positions in an array are checked before the loop that reads them."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.passes.ir.loop_ir import For, Leave, When, walk
from axiomjit.passes.loops import prove_positions as proving
from axiomjit.passes.loops.prove_positions import prove_positions
from tests.generator.sequences import way
from tests.passes.examples import example
from tests.passes.graphs import lower_until
from tests.passes.loops.planted_loops import PLANTED, histogram, positions


def by_two(k, h):
    """Positions of positions, and others beside them."""
    for i in range(k.shape[0] - 1):
        h[k[k[i]]] += h[k[i + 1]]


def written_positions(k):
    for i in range(k.shape[0]):
        k[k[i] % 3 - 3] = i


def until(k, h):
    for i in range(k.shape[0]):
        if k[i] == 0:
            break
        h[k[i]] += 1.0


def of_rows(k, m):
    for i in range(m.shape[0]):
        for j in range(k.shape[0]):
            m[i, k[j]] += m[k[j], 0]


def picked(k, h):
    s = 0.0
    for i in range(k.shape[0]):
        s += h[k[i]]
    h[0] = s


def in_a_branch(k, h):
    for i in range(k.shape[0]):
        if k[i] != 5:
            h[k[i]] += 1.0


PROGRAMS = {
    function.__name__: (function, make)
    for function, make in (
        (histogram, PLANTED["histogram"][1]),
        (by_two, PLANTED["histogram"][1]),
        (written_positions, lambda n: (positions(n),)),
        (until, PLANTED["histogram"][1]),
        (picked, PLANTED["histogram"][1]),
        (in_a_branch, PLANTED["histogram"][1]),
        (of_rows, lambda n: (positions(n), np.linspace(0.0, 1.0, 2 * n * n).reshape(2 * n, n))),
    )
}
PROVED, ENDED = {"picked"}, {"histogram", "by_two", "of_rows"}


@pytest.fixture(autouse=True)
def short_loops_too(monkeypatch):
    monkeypatch.setattr(proving, "LEAST_TRIPS", 1)


def outcomes(name, change=None, n=18):
    """The results or the error of a program and of Python, after each change of the positions."""
    function, make = PROGRAMS[name]
    found = []
    compiled = aj.jit(function)
    with way("interpreted"):
        for one in (compiled, function):
            given = make(n)
            if change is not None:
                given[0][change[0]] = change[1]
            try:
                one(*given)
                found.append([a.tolist() for a in given])
            except IndexError as error:
                found.append([str(error), *(a.tolist() for a in given)])
    return found


@pytest.mark.parametrize("name", ["histogram", "picked"])
def test_prove_positions_golden(golden, name):
    function, make = PROGRAMS[name]
    found = aj.jit(strict=True)(function).lower(*make(18))
    golden(f"{found.after('hoist_loads')}\n{found.after('prove_positions')}\n{found.source}")


def test_prove_positions_leaves_alone():
    case = example("padded")
    program = lower_until("prove_positions", case)
    assert prove_positions(program, case.context) is program


@pytest.mark.parametrize("name", PROGRAMS)
def test_positions_are_proved_before_loops_of_vector_code_and_end_the_others(name):
    function, make = PROGRAMS[name]
    found = aj.jit(strict=True)(function).lower(*make(18))
    before, after = (
        [type(s) for step in program.steps for s in walk(getattr(step, "body", ()))]
        for program in found._pass("prove_positions")[:2]
    )
    assert (after.count(For) > before.count(For)) == (name in PROVED)
    assert (after.count(Leave) > before.count(Leave)) == (name in ENDED)


@pytest.mark.parametrize("name", PROGRAMS)
@pytest.mark.parametrize("change", [None, (3, -2), (0, -18), (17, -1)])
def test_positions_may_be_negative(name, change, monkeypatch):
    monkeypatch.setattr(config, "check", True)
    monkeypatch.setattr(config, "bounds", True)
    found, wanted = outcomes(name, change)
    assert found == wanted


@pytest.mark.parametrize("change", [(3, 18), (0, -19), (17, 2**63 - 1), (9, -(2**63))])
def test_positions_out_of_range_are_numpys_error(change):
    for name in ("histogram", "of_rows", "picked", "in_a_branch"):
        function, make = PROGRAMS[name]
        mine, plain = make(18), make(18)
        for one, given in ((aj.jit(function), mine), (function, plain)):
            given[0][change[0]] = change[1]
            with pytest.raises(IndexError, match="is out of bounds"):
                one(*given)
        assert all(np.array_equal(a, b) for a, b in zip(mine, plain, strict=True))


@pytest.mark.parametrize("name", ["picked", "histogram"])
def test_a_check_that_is_forgotten_is_found(name, monkeypatch):
    monkeypatch.setattr(config, "bounds", True)
    versions, wrapped = proving._Proving.versions, proving._Proving.wrapped

    def unchecked(self, loop, checks):
        *_, (when) = versions(self, loop, checks)
        return when.body

    def unended(self, one, body, truths):
        *found, when, load = wrapped(self, one, body, truths)
        kept = tuple(s for s in when.otherwise if not isinstance(s, Leave))
        return (*found, when.replace(otherwise=kept), load)

    monkeypatch.setattr(proving._Proving, "versions", unchecked)
    monkeypatch.setattr(proving._Proving, "wrapped", unended)
    found, wanted = outcomes(name, (3, 18))
    assert found != wanted
    assert "outside" in found[0]


def test_a_truth_that_is_forgotten_is_found(monkeypatch):
    right = proving._Proving.wrapped

    def untold(self, one, body, truths):
        *found, when, load = right(self, one, body, truths)
        kept = tuple(s for s in when.otherwise if not isinstance(s, When))
        return (*found, when.replace(otherwise=kept), load)

    monkeypatch.setattr(proving._Proving, "wrapped", untold)
    found, wanted = outcomes("histogram", (3, 18))
    assert found != wanted
