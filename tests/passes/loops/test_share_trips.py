"""Threads share the trips of loops without dependences between trips; planted ones are found."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.passes.ir.loop_ir import For, walk
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.loops.share_trips import share_trips
from axiomjit.symbolic.index_ranges import Trips
from tests.generator.sequences import way
from tests.passes.examples import example
from tests.passes.graphs import lower_until
from tests.passes.loops.planted_loops import PLANTED

LENGTH = 18
"""A length with which every loop of the table has enough trips to be a region."""
GOLDEN = ("gathered", "rows")


def lowered(name, n=LENGTH):
    function, make, *_ = PLANTED[name]
    return aj.jit(strict=True)(function).lower(*make(n))


def is_shared(found):
    return any(isinstance(s, For) and s.kind == "shared" for s in statements(found))


def statements(found):
    return [s for step in found._stages.loops.steps for s in walk(getattr(step, "body", ()))]


def differs(name, lengths=(LENGTH, 9, 13, 1, 2)):
    """True if plain kernels, their last chunk first, give other bits than Python."""
    function, make, *_ = PLANTED[name]
    compiled = aj.jit(function)
    with way("interpreted"):
        for n in lengths:
            mine, plain = make(n), make(n)
            try:
                wanted = function(*plain)
            except IndexError:
                continue
            results = [(compiled(*mine), wanted), *zip(mine, plain, strict=True)]
            if not all(np.array_equal(one, other) for one, other in results):
                return True
    return False


@pytest.mark.parametrize("name", GOLDEN)
def test_share_trips_golden(golden, name):
    found = lowered(name)
    golden(f"{found.after('lower_regions')}\n{found.after('share_trips')}\n{found.source}")


def test_share_trips_leaves_alone():
    case = example("padded")
    program = lower_until("share_trips", case)
    assert share_trips(program, case.context) is program


@pytest.mark.parametrize("name", PLANTED)
def test_trips_are_shared_if_none_depends_on_another(name):
    found = lowered(name)
    assert is_shared(found) == PLANTED[name][2]
    grids = [step.grid for step in found._stages.plan.steps if isinstance(step, Launch)]
    assert any(grid.constant is None for grid in grids) or not is_shared(found)


@pytest.mark.parametrize("name", PLANTED)
def test_trips_in_any_order_give_the_bits_of_python(name, monkeypatch):
    monkeypatch.setattr(config, "check", True)
    monkeypatch.setattr(config, "bounds", True)
    assert not differs(name)


def test_a_distance_that_another_call_has_is_guarded():
    shift = aj.jit(strict=True)(PLANTED["shifted"][0])
    with way("interpreted"):
        for k in (9, 9, 4, 9, 17):
            mine, plain = np.linspace(0.0, 1.0, 18), np.linspace(0.0, 1.0, 18)
            shift(mine, k)
            PLANTED["shifted"][0](plain, k)
            assert np.array_equal(mine, plain)
    assert is_shared(shift.lower(mine, 9))
    assert not is_shared(shift.lower(mine, 4))


@pytest.mark.parametrize("fault", ["may_meet_later", "may_meet"])
def test_a_broken_dependence_test_is_found(fault, monkeypatch):
    monkeypatch.setattr(Trips, fault, lambda *given: False)
    monkeypatch.setattr(config, "bounds", True)
    names = ("forward", "row_above", "pivot_written", "pivot_in_view_written", "transposed")
    assert any(map(differs, names))


def test_a_position_out_of_range_is_the_users_error():
    function = aj.jit(PLANTED["gathered"][0])
    k, x, y = PLANTED["gathered"][1](18)
    k[5] = 18
    with pytest.raises(IndexError, match="18 is out of bounds"):
        function(k, x, y)
    assert np.array_equal(y[:5], 2 * x[k[:5]])
    assert y[6] == 1.0


def test_threads_give_the_bits_of_one_thread():
    function, wide = aj.jit(strict=True)(PLANTED["rows"][0]), np.linspace(0.0, 1.0, 300 * 400)
    found = []
    for number in (1, 3, 1, 3):
        given = wide.reshape(300, 400).copy()
        with aj.threads(number):
            function(given)
        found.append(given)
    assert all(np.array_equal(one, found[0]) for one in found)
