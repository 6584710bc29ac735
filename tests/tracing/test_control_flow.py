"""Loops and branches of programs give what Python gives, and stay loops and branches."""

import math
import warnings

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import FallbackWarning
from axiomjit.base.trace_context import Following, entered
from axiomjit.graph.evaluate_graph import run_in_numpy
from axiomjit.graph.regions import Region
from axiomjit.symbolic.dims import Scope, bound
from axiomjit.tracing import swapped_names
from axiomjit.tracing.control_flow import UNBOUND, RegionRefused, trace_cond, trace_loop
from tests.tracing import repeat_programs
from tests.tracing.loop_programs import PROGRAMS

CLOSE = {"rtol": 1e-12, "atol": 1e-13}


EVERY = PROGRAMS | repeat_programs.PROGRAMS


def arguments_of(name, n):
    function, make = EVERY[name]
    return function, make(n, np.random.default_rng(n))


def copies(arguments):
    return [a.copy() if isinstance(a, np.ndarray) else a for a in arguments]


def leaves(value):
    return [x for y in value for x in leaves(y)] if isinstance(value, tuple) else [value]


def assert_same(found, wanted):
    for one, other in zip(found, wanted, strict=True):
        if other is not None:
            assert np.asarray(one).dtype == np.asarray(other).dtype
            np.testing.assert_allclose(one, other, **CLOSE)


def assert_as_python(compiled, function, arguments):
    """A compiled function returns and writes what Python does."""
    mine, plain = copies(arguments), copies(arguments)
    assert_same([*leaves(compiled(*mine)), *mine], [*leaves(function(*plain)), *plain])


@pytest.mark.parametrize("name", EVERY)
def test_programs_are_compiled_and_equal_python(name):
    function, arguments = arguments_of(name, 7)
    compiled = aj.jit(strict=True)(function)
    assert_as_python(compiled, function, arguments)
    assert_as_python(compiled, function, EVERY[name][1](11, np.random.default_rng(1)))


@pytest.mark.parametrize("name", ["cholesky", "lu_with_pivoting", "stacked"])
def test_another_length_compiles_nothing(name):
    function, arguments = arguments_of(name, 7)
    compiled = aj.jit(strict=True)(function)
    compiled(*copies(arguments))
    before = compiled.cache_info().traced
    compiled(*PROGRAMS[name][1](12, np.random.default_rng(2)))
    assert compiled.cache_info().traced == before


@pytest.mark.parametrize("name", EVERY)
def test_the_evaluator_gives_the_meaning_of_regions(name):
    function, arguments = arguments_of(name, 6)
    mine, plain = copies(arguments), copies(arguments)
    lowered = aj.jit(function).lower(*mine)
    graph, lengths = lowered._stages.graph, lowered._values
    assert any(isinstance(op.primitive, Region) for op in graph.ops)
    results = run_in_numpy(graph, mine, lengths)
    wanted = [one for one in leaves(function(*plain)) if one is not None]
    for one, other in zip(results, wanted, strict=False):
        np.testing.assert_allclose(one, other, **CLOSE)
    assert_same(mine, plain)


def run(function, *arguments):
    """The result or error of a function, and its arguments after the call."""
    given = copies(arguments)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FallbackWarning)
        try:
            found = function(*given)
        except Exception as error:
            found = type(error), str(error)
    return found, given


def count_places(h, places):
    def count(i, nothing):
        h[places[i]] += 1.0
        return nothing

    aj.fori_loop(0, places.shape[0], count, 0)


def divided(x):
    return aj.fori_loop(0, x.shape[0], lambda i, s: 1.0 / (s - 2.0), 0.0)


def divided_by_zero(x):
    return aj.fori_loop(0, x.shape[0], lambda i, s: 1.0 / (s - 1.0), 0.0)


def powers_of_three(x):
    return aj.fori_loop(0, x.shape[0], lambda i, s: s * 3 + 1, 1)


def roots(x):
    return aj.fori_loop(0, x.shape[0], lambda i, s: math.sqrt(s + x[i]), 1.0)


def by_hand(x, h):
    def count(i, nothing):
        h[int(x[i] * 8)] += 1
        return nothing

    return aj.fori_loop(0, x.shape[0], count, 0)


def first_zero(x):
    return aj.while_loop(lambda k: x[k] != 0, lambda k: k + 1, 0)


ENDS = [
    (count_places, np.zeros(8), np.array([1, 2, 2, -1, 7, -8])),
    (count_places, np.zeros(8), np.array([1, 2, 9, 2, 2])),
    (count_places, np.zeros(8), np.array([1, 2, -9, 2, 2])),
    (divided, np.zeros(7)),
    (divided_by_zero, np.zeros(7)),
    (powers_of_three, np.zeros(7)),
    (powers_of_three, np.zeros(70)),
    (roots, np.ones(7)),
    (roots, -3 * np.ones(7)),
    (by_hand, np.array([0.1, 0.5, 0.5, 0.7, 0.9]), np.zeros(8, int)),
    (by_hand, np.array([0.1, 0.5, 3.0, 0.5, 0.9]), np.zeros(8, int)),
    (first_zero, np.array([1.0, 2.0, 0.0, 1.0, 1.0])),
    (first_zero, np.ones(6)),
]


@pytest.mark.parametrize("case", range(len(ENDS)))
def test_errors_and_large_integers_are_pythons(case):
    function, *arguments = ENDS[case]
    found, given = run(aj.jit(function), *arguments)
    wanted, plain = run(function, *arguments)
    assert found == wanted
    assert type(found) is type(wanted)
    assert_same(given, plain)


def up_to(x, n):
    return aj.fori_loop(0, n, lambda i, s: s + x[i], 0.0)


@pytest.mark.parametrize("n", [0, 1, 6, 9])
def test_counts_from_outside(n):
    x = np.arange(6.0)
    assert run(aj.jit(up_to), x, n)[0] == run(up_to, x, n)[0]


def test_views_and_other_orders_are_written_in_place():
    def through_a_view(x):
        rows = x.reshape(3, 4).T

        def step(i, nothing):
            rows[i] = rows[i - 1] * 2 + 1
            return nothing

        aj.fori_loop(0, 4, step, 0)

    assert_as_python(aj.jit(strict=True)(through_a_view), through_a_view, [np.arange(12.0)])

    def backward(x):
        y = x[::-1]

        def step(i, nothing):
            y[i] = x[i] + 1
            return nothing

        aj.fori_loop(0, x.shape[0], step, 0)

    assert_as_python(aj.jit(strict=True)(backward), backward, [np.arange(7.0)])


def swapped(u, v, n):
    """Steps of a wave in two arrays whose names are swapped."""
    for t in range(n):
        v[1:-1] = 0.3 * (u[2:] + u[:-2]) - v[1:-1] + 0.1 * t * u[1:-1]
        u, v = v, u
    return u


def in_turns(a, b, c, n):
    """Three arrays whose names change places."""
    for t in range(n):
        c[...] = a + 0.5 * b * t
        a, b, c = b, c, a
    return a, b


@pytest.mark.parametrize(("function", "arrays"), [(swapped, 2), (in_turns, 3)])
def test_swapped_names_are_followed_until_they_are_back(function, arrays):
    compiled = aj.jit(strict=True)(function)
    rng = np.random.default_rng(0)
    for n in (9, 10, 11, 12, 13, 30, 31, 32):
        given = [*(rng.random(9) for _ in range(arrays)), n]
        assert_as_python(compiled, function, given)
        mine, plain = copies(given), copies(given)
        found, wanted = leaves((compiled(*mine),)), leaves((function(*plain),))
        places = [[one is a for a in mine] for one in found]
        assert places == [[one is a for a in plain] for one in wanted]
    assert compiled.cache_info().traced == arrays  # one for each remainder
    ops = compiled.lower(*given)._stages.graph.ops
    assert any(isinstance(op.primitive, Region) for op in ops)


def moved_on(u, n):
    """Three levels of time in three names."""
    before, p = u * 0.25, u * 0.5
    for _ in range(n):
        q = 2 * u - p + 0.01 * before
        q[1:-1] += 0.1 * (u[2:] - 2 * u[1:-1] + u[:-2])
        before, p, u = p, u, q
    return before, p, u


def exchanged(x, n):
    a, b = x * 2.0, x + 1.0
    for _ in range(n):
        a, b = b, a * 0.5
    return a, b


@pytest.mark.parametrize("function", [moved_on, exchanged])
def test_arrays_that_move_to_other_names(function):
    compiled = aj.jit(strict=True)(function)
    for n in (9, 10, 30, 3, 2, 1):
        x = np.random.default_rng(n).random(9)
        assert_as_python(compiled, function, [x, n])
        found, wanted = compiled(x, n), function(x, n)
        assert [one is x for one in found] == [one is x for one in wanted]
    ops = compiled.lower(x, 30)._stages.graph.ops
    assert any(isinstance(op.primitive, Region) for op in ops)


def test_a_moved_array_that_has_two_names_is_no_region():
    def both(x, n):
        p = u = x * 1.0
        for _ in range(n):
            p = u
            u = p * 0.5
            p[0] = 3.0
        p[1] += 1.0
        return p, u

    assert_as_python(aj.jit(strict=True)(both), both, [np.arange(5.0), 9])

    def alias(x, n):
        p = u = x * 1.0
        for _ in range(n):
            u = u * 0.5
            p = u
        p[1] += 1.0
        return p, u

    assert_as_python(aj.jit(strict=True)(alias), alias, [np.arange(5.0), 9])


def two_types(x):
    s, t = 0, 1.0
    for i in range(x.shape[0] - 8):
        x[i] += t
        s, t = t, s
    return s, t


def three_names(x):
    a, b, c = 0, 1.0, 2.0
    for i in range(x.shape[0] - 8):
        x[i] += c
        a, b, c = b, c, a
    return a, b, c


def until_a_number(x):
    s, t, i = 0, 1.0, 0
    while x[i] < 1.0:
        x[i] += t
        s, t = t, s
        i += 1
    return s, t


def in_turn_counted(x):
    s, t = 0, 1.0
    for i in range(x.shape[0] - 8):
        x[i] += t
        s, t = t, s + 1
    return s, t


def late_floats(x):
    a, b = 0, 0
    for i in range(x.shape[0] - 8):
        x[i] += a
        a, b = b, b + 0.5
    return a, b


@pytest.mark.parametrize(
    "function", [two_types, three_names, until_a_number, in_turn_counted, late_floats]
)
def test_numbers_of_unequal_types_keep_their_types_when_they_are_swapped(function):
    compiled = aj.jit(strict=True)(function)
    for n in (30, 31, 32, 33, 40, 12, 11):
        mine = np.linspace(0.0, 0.4, n)
        mine[-2] = 3.0
        plain = mine.copy()
        found, wanted = compiled(mine), function(plain)
        assert [(type(v), v) for v in found] == [(type(v), v) for v in wanted]
        assert np.array_equal(mine, plain)
    ops = compiled.lower(np.linspace(0.0, 4.0, 30))._stages.graph.ops
    assert any(isinstance(op.primitive, Region) for op in ops)


def test_a_number_that_gets_another_type_is_no_region():
    def narrowed(x):
        a = 1.0
        for i in range(x.shape[0]):
            x[i] += a
            a = 2
        return a

    assert type(aj.jit(narrowed)(np.ones(30))) is int


def test_a_wrong_index_behind_swapped_names_is_found(monkeypatch):
    right = swapped_names.length
    monkeypatch.setattr(swapped_names, "length", lambda value: right(value + 1))
    with pytest.raises(AssertionError):
        assert_as_python(aj.jit(swapped), swapped, [np.ones(9), np.arange(9.0), 12])


def test_names_that_are_back_late_or_never_are_followed_pass_by_pass():
    def fifth(a, b, c, d, e):
        for _ in range(11):
            a += 1.0
            a, b, c, d, e = b, c, d, e, a
        return a

    arrays = [np.full(3, float(k)) for k in range(5)]
    assert_as_python(aj.jit(strict=True)(fifth), fifth, arrays)

    def few(u, v):
        return aj.fori_loop(0, 3, lambda i, pair: (pair[1], pair[0]), (u, v))

    u, v = np.arange(5.0), np.ones(5)
    assert aj.jit(few)(u, v)[0] is v


def followed(call):
    """The result of a call in a trace without a function."""
    following = Following()
    with entered(following), bound(Scope({})):
        return call()


def test_what_cannot_be_followed_is_refused_and_leaves_no_trace():
    with pytest.raises(RegionRefused, match="no function is traced"):
        trace_loop((0, 3, 1), lambda i: (), ())
    with pytest.raises(RegionRefused, match="0 values after a trip, 1 before"):
        followed(lambda: trace_loop((0, 3, 1), lambda i, x: (), (1.0,)))
    with pytest.raises(RegionRefused, match="a carried list that changes"):
        followed(lambda: trace_loop((0, 3, 1), lambda i, x: ([],), ([],)))
    with pytest.raises(RegionRefused, match="step 0"):
        followed(lambda: trace_loop((0, 3, 0), lambda i: (), ()))
    with pytest.raises(RegionRefused, match="ZeroDivisionError"):
        followed(lambda: trace_loop((0, 3, 1), lambda i, x: (1 / 0,), (1.0,)))


def test_known_truths_and_ranges_choose_at_once():
    assert trace_cond(True, lambda x: (x + 1,), lambda x: (x,), (1,)) == (2,)
    assert followed(lambda: trace_loop((3, 3, 1), lambda i, x: (x,), (1,))) == (UNBOUND, 1)
    assert followed(lambda: trace_loop((0, 4, 2), lambda i, x: (x,), (1,)))[0] == 2


def test_values_of_a_trip_do_not_leave_it_by_another_way():
    def last_square(x):
        kept = []

        def step(i, total):
            kept.append(total * x[i])
            return total + x[i]

        aj.fori_loop(0, x.shape[0], step, 0.0)
        return kept[-1] + x

    def index_kept(x):
        kept = {}

        def step(i, nothing):
            kept["i"] = i
            return nothing

        aj.fori_loop(0, x.shape[0], step, 0)
        return x + kept["i"]

    def inner_index_kept(x):
        kept = {}

        def step(i, total):
            def inner(j, nothing):
                kept["j"] = j
                return nothing

            aj.fori_loop(0, x.shape[0], inner, 0)
            return total + x[i] * kept["j"]

        return aj.fori_loop(0, x.shape[0], step, 0.0)

    for function in (last_square, index_kept, inner_index_kept):
        found, wanted = (run(f, np.arange(1.0, 8.0))[0] for f in (aj.jit(function), function))
        np.testing.assert_array_equal(found, wanted)


def test_functions_of_loops_run_in_python_outside():
    assert aj.fori_loop(0, 4, lambda i, s: s + i, 0) == 6
    assert aj.while_loop(lambda s: s < 5, lambda s: s + 2, 0) == 6
    assert aj.cond(False, lambda x: x, lambda x: -x, 3) == -3
    carry, ys = aj.scan(lambda c, x: (c + x, c), 0.0, np.arange(4.0))
    assert (carry, ys.tolist()) == (6.0, [0.0, 0.0, 1.0, 3.0])
    with pytest.raises(ValueError, match="one trip or more"):
        aj.scan(lambda c, x: (c, c), 0.0, np.zeros(0))


def test_elements_that_a_mask_chooses_in_each_trip_are_no_region():
    def means(x, n):
        for _ in range(n):
            x = x - 0.1 * x[x > 0.5].mean()
        return x

    assert_as_python(aj.jit(strict=True)(means), means, [np.linspace(0.0, 3.0, 9), 9])

    def outside(x, n):
        y, total = x[x > 0.5], 0.0
        for _ in range(n):
            y = np.sort(y)[::-1] * 0.5
            total += y[0]
        return y, total

    assert_as_python(aj.jit(strict=True)(outside), outside, [np.linspace(0.0, 3.0, 9), 9])
