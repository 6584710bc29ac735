"""Symbolic lengths: algebra, guards, substitution, text, interning."""

import gc
import pickle
import random
import sys
import threading

import pytest

from axiomjit.base.errors import TraceError
from axiomjit.symbolic.dims import (
    ANY,
    BACKWARD,
    LENGTH,
    SIGNS,
    STRIDE,
    Binary,
    Guard,
    Guards,
    Lengths,
    Scope,
    Symbol,
    bound,
    dim,
    evaluate,
    larger,
    named_length,
    product,
    smaller,
    substitute,
)

N, M = named_length("n0"), named_length("n1")
AT = {Symbol("n0"): 17, Symbol("n1"): 6, Symbol("t2", STRIDE): 6, Symbol("u2", BACKWARD): -3}


@pytest.mark.parametrize(
    ("left", "right"),
    [
        (N + M, M + N),
        (N * M, M * N),
        (N * (M + 1), N * M + N),
        ((N + 1) * (N - 1), N * N - 1),
        (N - N, dim(0)),
        (2 * N // 2, N),
        (N // 1, N),
        (dim(7) // 2, dim(3)),
        (0 * N, dim(0)),
        ((0 - N) * -1, N),
        (smaller(N, N + 1), N),
        (larger(N, N + 1), N + 1),
        (product((N, M, dim(1))), N * M),
        ((N + 3) // 4, (N + 3) // 4),
        (dim(5), 5 + 0 * N),
    ],
)
def test_equal_polynomials_are_one_object(left, right):
    assert left is right


@pytest.mark.parametrize(
    ("length", "value"),
    [
        (N + M, 23),
        (3 - N, -14),
        (N * M - 2, 100),
        (N // M, 2),
        ((0 - N) // M, -3),
        (N % M, 5),
        (smaller(N, M), 6),
        (larger(N, M * 4), 24),
        ((N + 3) // 4 * 4, 20),
    ],
)
def test_values(length, value):
    assert evaluate(length, AT) == value
    assert evaluate(substitute(length, AT), {}) == value
    assert substitute(length, AT).constant == value


def test_a_symbol_without_value_raises():
    with pytest.raises(KeyError):
        evaluate(N + named_length("n9"), AT)


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (dim(0), "0"),
        (dim(-3), "-3"),
        (N, "n0"),
        (2 * N - M + 1, "2*n0 - n1 + 1"),
        (-N, "-n0"),
        (N * M * 3, "3*n0*n1"),
        (N // 2, "floor(n0 / 2)"),
        ((N + 1023) // 1024, "ceil(n0 / 1024)"),
        ((N + M) // M, "floor((n0 + n1) / n1)"),
        (smaller(N, M), "min(n0, n1)"),
        (larger(N + 1, M), "max(n0 + 1, n1)"),
    ],
)
def test_text(length, text):
    assert str(length) == text == repr(length)


def test_looking_leaves_a_guard():
    with bound(Scope(AT)) as scope:
        assert N + 1 > M * 2
        assert N * 2 != M
        assert (N // 2) == 8
    assert list(scope.guards) == [
        Guard(N + 1, M * 2, ">", True),
        Guard(N * 2, M, "==", False),
        Guard(N // 2, dim(8), "==", True),
    ]
    assert all(guard.holds(AT) for guard in scope.guards)
    assert not Guard(N // 2, dim(8), "==", True).holds({**AT, Symbol("n0"): 18})


@pytest.mark.parametrize(
    "look",
    [
        lambda: N == M,  # the call guard says which lengths are equal
        lambda: N == 1,  # and which are small
        lambda: N > 4,
        lambda: N >= 5,
        lambda: named_length("t2", STRIDE) != 1,
        lambda: named_length("u2", BACKWARD) < 0,
        lambda: named_length("u2", BACKWARD) != N,
        lambda: N + 1 == N,  # decided by the polynomials
        lambda: N + 2 > N,
        lambda: bool(N),
    ],
)
def test_what_is_known_leaves_no_guard(look):
    with bound(Scope(AT)) as scope:
        look()
    assert scope.guards == {}


def numbers_of(kind):
    """The numbers of a kind that are near 0."""
    low = -8 if kind.low is None else kind.low
    return range(low, 9 if kind.high is None else kind.high + 1)


def looked(left, right, sign, values):
    """What a look sees, and whether it leaves a guard."""
    with bound(Scope(values)) as scope:
        return SIGNS[sign](left, right), bool(scope.guards)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("kind", [LENGTH, STRIDE, BACKWARD, ANY], ids=lambda kind: kind.name)
def test_a_number_is_known_to_be_what_all_of_its_kind_are(kind, sign):
    one = Symbol("one", kind)
    for constant in range(-8, 9):
        seen = [
            looked(named_length("one", kind), constant, sign, {one: v}) for v in numbers_of(kind)
        ]
        assert len({outcome for outcome, _ in seen}) == 1 or all(guarded for _, guarded in seen)


@pytest.mark.parametrize("sign", SIGNS)
@pytest.mark.parametrize("left", [LENGTH, STRIDE, BACKWARD, ANY], ids=lambda kind: kind.name)
@pytest.mark.parametrize("right", [LENGTH, STRIDE, BACKWARD, ANY], ids=lambda kind: kind.name)
def test_two_numbers_are_known_to_be_what_all_of_their_kinds_are(left, right, sign):
    """Lengths alone are known to be different numbers: equal ones are one symbol."""
    one, other = Symbol("one", left), Symbol("other", right)
    seen = [
        looked(named_length("one", left), named_length("other", right), sign, {one: a, other: b})
        for a in numbers_of(left)
        for b in numbers_of(right)
        if a != b or not (left.distinct and right.distinct)
    ]
    assert len({outcome for outcome, _ in seen}) == 1 or all(guarded for _, guarded in seen)


def test_use_as_an_integer_pins_the_value():
    with bound(Scope(AT)) as scope:
        assert list(range(N))[-1] == 16
        assert "x" * M == "xxxxxx"
        assert float(M) == 6.0
    assert [(str(g.left), str(g.right)) for g in scope.guards] == [("n0", "17"), ("n1", "6")]


@pytest.mark.parametrize("look", [lambda: int(N), lambda: N < M, lambda: N >= 5, lambda: range(N)])
def test_looking_without_lengths_raises(look):
    with pytest.raises(TraceError, match="the value of a symbolic length"):
        look()


def test_without_lengths_equality_is_that_of_polynomials():
    assert N == N + 0
    assert N != M
    assert N != "n0"


def test_operands_that_are_no_lengths_are_refused():
    for act in (lambda: N + 1.5, lambda: N * "x", lambda: N // None, lambda: 1.5 - N):
        with pytest.raises(TypeError):
            act()
    with pytest.raises(TypeError, match="make a Dim with"):
        type(N)()


def test_pickle_gives_the_same_object():
    for length in (N, N * M - 3, N // M, smaller(N, M)):
        assert pickle.loads(pickle.dumps(length)) is length


def test_unused_lengths_are_freed():
    from axiomjit.symbolic import dims

    gc.collect()
    before = len(dims._interned)
    made = [named_length("zz") + k for k in range(1000)]
    assert len(dims._interned) >= before + 1000
    del made
    gc.collect()
    kept = dims._constant_dim.cache_info().maxsize  # the constants used last
    assert len(dims._interned) < before + 10 + kept


def test_threads_get_one_object():
    """Two threads that make the same length at once must not make two."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for k in range(1500):
            made, barrier = [], threading.Barrier(4)

            def make(k=k, made=made, barrier=barrier):
                barrier.wait()
                made.append(named_length(f"race{k}") * 3 + 1)

            threads = [threading.Thread(target=make) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert len({id(length) for length in made}) == 1
    finally:
        sys.setswitchinterval(interval)


def test_lengths_are_evaluated_together_as_one_by_one():
    symbols = [Symbol(name) for name in "nmk"]
    draw = random.Random(3)
    lengths = [named_length(s.name) for s in symbols] + [dim(k) for k in (-2, 0, 1, 7)]
    for _ in range(300):
        left, right = draw.choice(lengths), draw.choice(lengths)
        kind = draw.choice(["+", "-", "*", "//", "min", "max"])
        if kind in ("min", "max"):
            lengths.append(dim(Binary(kind, left, right)))
        elif kind == "//":
            lengths.append(left // (right * right + 1))
        else:
            lengths.append({"+": left + right, "-": left - right, "*": left * 3 + right}[kind])
    together = Lengths(lengths)
    for k in range(5):
        values = {symbol: draw.randrange(-50, 5000) for symbol in symbols}
        found = together.at(values)
        assert all(found[together.number(d)] == evaluate(d, values) for d in lengths)
        assert (together._compiled is not None) == (k > 0)
    with pytest.raises(KeyError):
        Lengths([lengths[0]]).at({})


def test_guards_hold_together_as_each_does():
    n, m = named_length("n"), named_length("m")
    guards = [Guard(n, m, "<", True), Guard(n * 2, dim(40), ">=", False)]
    guards.append(Guard(n, m // 3, "==", False))
    together = Guards(guards)
    for k in range(60):
        values = {Symbol("n"): k, Symbol("m"): 3 * k if k % 5 == 0 else 30}
        assert together.hold(values) == all(guard.holds(values) for guard in guards)
    assert Guards(()).hold({})
