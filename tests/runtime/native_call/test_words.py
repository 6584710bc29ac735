"""Integers as words of a native call: lengths computed and limited as in Python."""

import random
from array import array

import numpy as np
import pytest

from axiomjit.runtime.native_call.guard_tables import Guards, with_table
from axiomjit.runtime.native_call.instructions import NewInteger
from axiomjit.runtime.native_call.native_entry import new_cell, new_entry, refusal
from axiomjit.runtime.native_call.words import FloatWord
from axiomjit.symbolic.dims import (
    ANY,
    SIGNS,
    Binary,
    Guard,
    Symbol,
    dim,
    evaluate,
    larger,
    smaller,
)
from tests.runtime.native_call.native_tables import plan_of

K, N = (Symbol(name, ANY) for name in "kn")
ARRAY = np.zeros(3)


def entry_of(value, comparisons=(), examples=(1, 1)):
    """A native entry of an array and two integers that returns the int of a length, or "slow"."""
    assert not refusal()
    guards = Guards(plan_of(NewInteger(1, value), results=[1]))
    assert guards.add(0, ARRAY, 0)
    for source, (symbol, example) in enumerate(zip((K, N), examples, strict=True), 1):
        assert guards.word(source, example, symbol)
    guards.limit(comparisons)
    cell = new_cell(lambda *args: "slow")
    cell[0] = with_table((), guards.table(3, (), array("q", [0])))
    return new_entry(cell)


def random_length(draw, depth=3):
    """A random length of two symbols."""
    if not depth or draw.random() < 0.2:
        return draw.choice([dim(K), dim(N), dim(draw.randint(-9, 9))])
    left, right = (random_length(draw, depth - 1) for _ in range(2))
    made = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: dim(Binary("//", left, dim(draw.randint(1, 7)))),
        "min": lambda: smaller(left, right),
        "max": lambda: larger(left, right),
    }
    return made[draw.choice([*made])]()


def random_integers(draw):
    large = 2 ** draw.choice([3, 8, 31, 62])
    return [draw.randint(-large, large) for _ in range(2)]


@pytest.mark.parametrize("seed", range(60))
def test_lengths_are_those_of_python(seed):
    draw = random.Random(seed)
    length = random_length(draw)
    call = entry_of(length)
    for _ in range(20):
        k, n = random_integers(draw)
        want, found = evaluate(length, {K: k, N: n}), call(ARRAY, k, n)
        assert found == want or found == "slow"
        if max(abs(k), abs(n)) < 300:
            assert found == want


@pytest.mark.parametrize("seed", range(60))
def test_comparisons_have_their_outcomes(seed):
    draw = random.Random(seed)
    comparisons = [
        Guard(random_length(draw, 1), random_length(draw, 1), sign, draw.random() < 0.5)
        for sign in draw.sample([*SIGNS], draw.randint(1, 3))
    ]
    call = entry_of(dim(K), [g for g in comparisons if (g.left - g.right).symbols])
    others = [g for g in comparisons if (g.left - g.right).symbols]
    for _ in range(60):
        k, n = draw.randint(-12, 12), draw.randint(-12, 12)
        fits = all(one.holds({K: k, N: n}) for one in others)
        assert call(ARRAY, k, n) == (k if fits else "slow")


def test_what_does_not_fit_into_a_word():
    call = entry_of(dim(K) * dim(K) + dim(N))
    assert call(ARRAY, 2**31, 5) == 2**62 + 5
    for k, n in [(2**32, 0), (-(2**32), 0), (3037000499, 2**62), (2**63, 0), (0, -(2**63) - 1)]:
        assert call(ARRAY, k, n) == "slow"
    assert call(ARRAY, True, 1) == call(ARRAY, np.int64(3), 1) == call(ARRAY, 1.0, 1) == "slow"
    assert call(ARRAY, 0, 2**63 - 1) == 2**63 - 1
    divided = entry_of(dim(Binary("//", dim(N), dim(K))))
    assert divided(ARRAY, 3, -7) == -3
    assert divided(ARRAY, 0, 5) == divided(ARRAY, -2, 5) == "slow"


def test_a_length_as_float():
    found = entry_of(FloatWord(dim(K) + 1))
    for k in (0, 1, -7, 2**53, 2**60 + 1):
        assert np.int64(found(ARRAY, k, 0)).view("f8") == float(k + 1)


def test_an_int_beyond_a_word_is_not_guarded():
    guards = Guards(plan_of(NewInteger(1, dim(K)), results=[1]))
    assert not guards.word(1, 2**63, K)
    assert not Guards(None).word(1, 5, K)
