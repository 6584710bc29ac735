"""Comparisons of indices are decided for all trips, as counting through them would."""

import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from axiomjit.symbolic.dims import (
    INDEX,
    SIGNS,
    Scope,
    Symbol,
    bound,
    dim,
    evaluate,
    larger,
    named_length,
    smaller,
    symbol_of,
)
from axiomjit.symbolic.index_ranges import (
    IndexRanges,
    UndecidedError,
    equals_in_all_trips,
    largest,
    least,
    limit_of,
    wrapped,
)

N = named_length("n0")
ROW, COLUMN = Symbol("l0", INDEX), Symbol("l1", INDEX)
NUMBERS = st.integers(-3, 3)


def ranges(triangle):
    """The indices i < n and j < n, or j < i + 1."""
    return IndexRanges().within(ROW, N).within(COLUMN, dim(ROW) + 1 if triangle else N)


def points(triangle, n):
    for i in range(n):
        for j in range(i + 1 if triangle else n):
            yield {symbol_of(N): n, ROW: i, COLUMN: j}


@settings(max_examples=150, deadline=None)
@given(st.tuples(NUMBERS, NUMBERS, NUMBERS, NUMBERS), st.sampled_from(list(SIGNS)), st.booleans())
def test_outcomes_hold_in_all_trips(factors, sign, triangle):
    a, b, c, d = factors
    length = dim(ROW) * a + dim(COLUMN) * b + N * c + d
    n = 7
    scope = Scope({symbol_of(N): n})
    scope.indices = ranges(triangle)
    outcomes = {SIGNS[sign](evaluate(length, p), 0) for p in points(triangle, n)}
    with bound(scope):
        try:
            found = (
                {"<": length < 0, "<=": length <= 0, ">": length > 0, ">=": length >= 0}.get(sign)
                if sign != "=="
                else length == 0
            )
        except UndecidedError:
            return
    assert outcomes == {found}


@settings(max_examples=150, deadline=None)
@given(st.tuples(*(NUMBERS,) * 5), st.integers(1, 4), st.sampled_from(list(SIGNS)))
def test_outcomes_of_minima_and_maxima_hold_in_all_trips(factors, width, sign):
    """The columns of a band run from max(0, i - width) to min(n, i + width)."""
    a, b, c, d, e = factors
    first, last = larger(dim(ROW) - width, 0), smaller(N, dim(ROW) + width)
    band = IndexRanges().within(ROW, N).within(COLUMN, last - first)
    length = (dim(COLUMN) + first) * a + dim(ROW) * b + N * c + d + last * e
    n = 7
    scope = Scope({symbol_of(N): n})
    scope.indices = band
    places = [
        {symbol_of(N): n, ROW: i, COLUMN: j}
        for i in range(n)
        for j in range(min(n, i + width) - max(0, i - width))
    ]
    outcomes = {SIGNS[sign](evaluate(length, p), 0) for p in places}
    with bound(scope):
        try:
            found = SIGNS[sign](length, 0)
        except UndecidedError:
            return
    assert outcomes == {found}


def test_positions_in_a_band_are_decided():
    scope = Scope({symbol_of(N): 7})
    first, last = larger(dim(ROW) - 3, 0), smaller(N, dim(ROW) + 4)
    scope.indices = IndexRanges().within(ROW, N).within(COLUMN, last - first)
    with bound(scope):
        assert dim(COLUMN) + first < N
        assert not last - first <= 0
        assert last != first
        assert first - N - 1 != 0
        with pytest.raises(UndecidedError):
            assert first < 1
        with pytest.raises(UndecidedError):
            assert last - first < 7


def test_ends_decide_where_they_agree():
    scope = Scope({symbol_of(N): 7})
    scope.indices = ranges(True)
    with bound(scope):
        assert dim(COLUMN) <= dim(ROW)
        assert dim(ROW) - dim(COLUMN) < N
        assert larger(dim(ROW) - 2, 0) < N
        assert least(dim(ROW), N) is dim(ROW)
        assert largest(dim(ROW), N) is N
        assert least(dim(ROW), dim(2)) is smaller(dim(ROW), dim(2))
        assert not equals_in_all_trips(dim(ROW), 0)
        with pytest.raises(UndecidedError):
            assert dim(ROW) < 2
        with pytest.raises(UndecidedError):
            assert dim(ROW) * dim(ROW) < N
        with pytest.raises(UndecidedError):
            assert dim(ROW) // 2 < 1
    assert not any({ROW, COLUMN} & (g.left.symbols | g.right.symbols) for g in scope.guards)


def test_positions_wrap_where_trips_differ():
    scope = Scope({symbol_of(N): 7})
    scope.indices = IndexRanges().within(ROW, N)
    with bound(scope):
        at = wrapped(dim(ROW) - 2, N)
        assert wrapped(dim(ROW), N) is dim(ROW)
    found = [evaluate(at, {symbol_of(N): 7, ROW: i}) for i in range(7)]
    assert found == [5, 6, 0, 1, 2, 3, 4]


def test_inner_loops_without_trips_limit_outer_ones():
    scope = Scope({symbol_of(N): 7})
    with bound(scope):
        inner = IndexRanges().within(ROW, N).limited(dim(ROW) - 2)
        assert [tuple(map(str, one[1:])) for one in inner.ranges] == [("3", "n0 - 1")]
        inner = IndexRanges().within(ROW, N).limited(N - dim(ROW) - 1)
        assert [tuple(map(str, one[1:])) for one in inner.ranges] == [("0", "n0 - 2")]
        with pytest.raises(UndecidedError):
            IndexRanges().within(ROW, N).limited(dim(ROW) * 2)


def test_inner_loops_limit_all_outer_ones():
    scope = Scope({symbol_of(N): 7, ROW: 0, COLUMN: 0})
    with bound(scope):
        scope.indices = IndexRanges().within(ROW, N).limited(dim(ROW)).within(COLUMN, dim(ROW))
        inner = scope.indices.limited(dim(COLUMN))
        found = [tuple(map(str, one[1:])) for one in inner.ranges]
        assert found == [("2", "n0 - 1"), ("1", "l0 - 1")]


def test_a_length_that_differs_between_trips_has_no_value():
    """The value at hand, at index 0, may be that of no trip."""
    scope = Scope({symbol_of(N): 7, ROW: 0})
    with bound(scope):
        scope.indices = IndexRanges().within(ROW, N).limited(dim(ROW))
        for length in (dim(ROW), dim(ROW) - 1, N - dim(ROW)):
            with pytest.raises(UndecidedError, match="differs"):
                int(length)
        assert int(dim(ROW) * 0 + N) == 7


@given(NUMBERS, NUMBERS)
def test_limits_of_lengths_hold(a, b):
    length = N * a + dim(ROW) * b + 1
    values = [
        evaluate(length, {symbol_of(N): n, ROW: i})
        for n, i in itertools.product((5, 6, 90), (0, 1, 70))
    ]
    low, high = limit_of(length, 1), limit_of(length, -1)
    assert low is None or low <= min(values)
    assert high is None or high >= max(values)
