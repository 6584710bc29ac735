"""Accesses of an array in two trips meet, or the dependence test knows that they do not."""

import random
from itertools import product

import pytest

from axiomjit.symbolic import index_ranges
from axiomjit.symbolic.dims import ANY, INDEX, Scope, Symbol, dim, evaluate, larger, substitute
from axiomjit.symbolic.index_ranges import Access, Trips, is_at_least, range_of_trips

AT, INNER, OUTER = (dim(Symbol(name, INDEX)) for name in ("l1", "l2", "l3"))
N, M = dim(Symbol("n0")), dim(Symbol("n1"))
STEP = dim(Symbol("k0", ANY))


def loop(trips=N, around=()):
    return Trips(Symbol("l1", INDEX), dim(trips), tuple(around))


def access(*place, inner=()):
    ranges = tuple((Symbol(f"l{k}", INDEX), dim(low), dim(high)) for k, low, high in inner)
    return Access(tuple(map(dim, place)), ranges)


PLANTED = {
    "forward": (loop(), access(AT + 1), access(AT), (True, False)),
    "backward": (loop(), access(AT), access(AT + 1), (False, True)),
    "the same element": (loop(), access(AT), access(AT), (False, False)),
    "one for all trips": (loop(), access(0), access(0), (True, True)),
    "downwards, forward": (loop(), access(N - 1 - AT), access(N - AT), (True, False)),
    "downwards, backward": (loop(), access(N - AT), access(N - 1 - AT), (False, True)),
    "steps of two": (loop(), access(2 * AT), access(2 * AT + 1), (False, False)),
    "two steps further": (loop(), access(2 * AT + 4), access(2 * AT), (True, False)),
    "two directions": (loop(), access(AT), access(N - 1 - AT), (True, True)),
    "rows": (loop(), access(AT, INNER, inner=[(2, 0, N - 1)]), access(AT, 3), (False, False)),
    "a column": (
        loop(),
        access(INNER, AT, inner=[(2, 0, N - 1)]),
        access(3, AT - 1),
        (True, False),
    ),
    "the rest of a row": (
        *(loop(), access(AT, INNER, inner=[(2, AT + 1, N - 1)])),
        *(access(INNER, AT, inner=[(2, AT + 1, N - 1)]), (False, False)),
    ),
    "the part behind": (
        loop(),
        access(INNER, inner=[(2, AT + 1, N - 1)]),
        access(AT),
        (True, False),
    ),
    "the part before": (loop(), access(INNER, inner=[(2, 0, AT - 1)]), access(AT), (False, True)),
    "an earlier row": (
        loop(N, [(Symbol("l3", INDEX), dim(0), N - 1)]),
        *(access(OUTER + 1 + AT, OUTER + 1 + AT), access(OUTER, 0), (False, False)),
    ),
    "wraps of a quotient": (loop(), access(AT // 2), access(AT // 2), (True, True)),
    "far behind": (loop(N), access(AT), access(AT + N), (False, False)),
}


def sides(trips, first, second, scope=None):
    """True if one access may meet the other in a later trip, for both orders of the accesses."""
    return trips.may_meet_later(first, second, scope), trips.may_meet_later(second, first, scope)


@pytest.mark.parametrize("name", PLANTED)
def test_planted_dependences_are_found(name):
    trips, first, second, wanted = PLANTED[name]
    assert sides(trips, first, second) == wanted


def test_an_access_without_a_place_meets_all():
    assert sides(loop(), Access(None), access(AT)) == (True, True)


def test_trips_are_the_same_or_others():
    assert loop().may_meet(access(AT), access(AT), None)
    assert not loop().may_meet(access(AT + 1), access(0), None)
    assert loop().may_meet(access(AT), access(0), None)


def test_signs_of_lengths_are_asked():
    scope = Scope({Symbol("n0"): 9, Symbol("k0", ANY): 12})
    given = loop(), access(AT), access(AT + STEP)
    assert sides(*given) == (True, True)
    assert not scope.guards
    assert sides(*given, scope) == (False, False)
    assert [str(one.left - one.right) for one in scope.guards] == ["k0", "k0 - n0"]


def test_accesses_that_meet_need_no_guard():
    scope = Scope({Symbol("n0"): 9, Symbol("k0", ANY): -3})
    assert sides(loop(), access(AT), access(AT + STEP), scope) == (True, False)
    assert all(guard.outcome and guard.holds(scope.values) for guard in scope.guards)


def test_trips_of_a_loop_that_may_be_empty():
    assert range_of_trips(Symbol("l1", INDEX), larger(N - M, 0)) == (
        Symbol("l1", INDEX),
        dim(0),
        N - M - 1,
    )
    ranges = [range_of_trips(Symbol("l1", INDEX), larger(N - 2, 0))]
    assert is_at_least(N - 3 - AT, 0, ranges)
    assert not is_at_least(N - 4 - AT, 0, ranges)


def drawn(draw):
    """A loop of 1 to 5 trips with two accesses, and lengths."""
    lengths = {Symbol("n0"): draw.randrange(5, 9), Symbol("k0", ANY): draw.randrange(-4, 5)}
    around = [(Symbol("l3", INDEX), dim(0), dim(draw.randrange(3)))]
    number = draw.choice([dim(draw.randrange(1, 6)), N - 3, larger(OUTER - 1, 0), OUTER + 1])

    def position(inner):
        found = dim(draw.randrange(-3, 4))
        for one in (AT, OUTER, N, STEP, *inner):
            found += one * draw.choice((0, 0, 0, 1, 1, -1, 2, -2, 3))
        return found

    def one():
        inner = [(2, 0, draw.choice([dim(2), AT, OUTER, N - 4]))] if draw.random() < 0.5 else []
        own = [INNER] if inner else []
        return access(*(position(own) for _ in range(draw.choice((1, 2)))), inner=inner)

    first, second = one(), one()
    while len(first.place) != len(second.place):
        second = one()
    return lengths, Trips(Symbol("l1", INDEX), number, tuple(around)), first, second


def elements(one, trip, outer, lengths):
    """The elements of an access in a trip."""
    values = {**lengths, Symbol("l1", INDEX): trip, Symbol("l3", INDEX): outer}
    ranges = [
        range(evaluate(low, values), evaluate(high, values) + 1) for _, low, high in one.ranges
    ]
    return {
        tuple(evaluate(p, values | {Symbol("l2", INDEX): at for at in inner}) for p in one.place)
        for inner in product(*ranges)
    }


def wrong(seed):
    """The pairs of accesses that meet although the test says that they do not, and those found."""
    draw, wrong, apart = random.Random(seed), [], 0
    for _ in range(250):
        lengths, trips, first, second = drawn(draw)
        scope = Scope(lengths)
        later, any_ = (
            trips.may_meet_later(first, second, scope),
            trips.may_meet(first, second, scope),
        )
        assert all(guard.holds(lengths) for guard in scope.guards)
        apart += not later
        for outer in range(evaluate(trips.around[0][2], lengths) + 1):
            number = evaluate(substitute(trips.number, {Symbol("l3", INDEX): outer}), lengths)
            cells = [
                [elements(one, trip, outer, lengths) for trip in range(number)]
                for one in (first, second)
            ]
            pairs = list(product(range(number), repeat=2))
            meet = {(i, j) for i, j in pairs if cells[0][i] & cells[1][j]}
            if (meet and not any_) or (any(i < j for i, j in meet) and not later):
                wrong.append((lengths, trips, first, second))
    return wrong, apart


def test_random_accesses_that_meet_are_dependent():
    found, apart = wrong(1)
    assert not found
    assert apart > 40


FAULTS = {
    "remainders": ("_has_remainder", lambda distance: bool(distance.terms)),
    "one end": ("_ends", lambda length, symbol, low, high: (low,)),
    "signs": ("_is_at_least", lambda length, least, scope: True),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_broken_test_is_found(fault, monkeypatch):
    monkeypatch.setattr(index_ranges, *FAULTS[fault])
    assert wrong(1)[0]
