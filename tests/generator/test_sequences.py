"""Calls in a row, each with another layout, mean what they mean in NumPy; wrong guards show."""

import sys
from unittest.mock import patch

import pytest

from axiomjit.dispatch import programs, signature
from axiomjit.symbolic import dims
from axiomjit.symbolic.dims import ANY, SMALL, Kind, Symbol
from tests.generator.budget import budget
from tests.generator.sequences import ALL, Sequence, campaign, draw, failure, shortest, way
from tests.generator.strided import Laid

SEQUENCES = budget(100)


@pytest.mark.parametrize(
    ("name", "share"), [("evaluated", 1.0), ("interpreted", 0.3), ("compiled", 0.02)]
)
def test_calls_in_a_row_mean_what_numpy_does(name, share):
    failures = campaign(1, 0, int(SEQUENCES * share), name)
    assert not failures, "\n\n".join(failures[:3])


def test_sequences_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)
    assert eval(str(draw(0, 3))) == draw(0, 3)
    assert {draw(0, index).name for index in range(1500)} == set(ALL)


def known_as_it_was(left, right, sign):
    """The rule that took any two symbols for different numbers, and all of them for large ones."""
    for one, other in ((left, right), (right, left)):
        if _is_given(one):
            if sign == "==" and _is_given(other):
                return True
            if other.constant is not None and other.constant <= SMALL:
                return True
    return False


def _is_given(length):
    (monomial, factor), *rest = length.terms or (((), 0),)
    atom = monomial[0] if len(monomial) == 1 and factor == 1 and not rest else None
    return isinstance(atom, Symbol) and atom.kind is not ANY


def all_but_strides(array):
    return type(array), getattr(array, "shape", array)


PLANTED = {
    "symbols are different numbers": lambda: patch.object(dims, "_is_decided", known_as_it_was),
    "strides are large": lambda: patch.object(signature, "STRIDE", Kind("stride", 5)),
    "no guard is looked at": lambda: patch.object(programs.LoweredProgram, "fits", lambda *_: True),
    "ready plans are for any strides": lambda: patch.multiple(
        sys.modules["axiomjit.dispatch.jit"],
        exact_layout=lambda args: tuple(map(all_but_strides, args)),
        exact_key=lambda call, forget: tuple(map(all_but_strides, call.dynamic)),
    ),
}
STARTS = {"strides are large": 260}


@pytest.mark.parametrize("name", PLANTED)
def test_what_is_taken_for_granted_is_found(name):
    with way("interpreted" if "plans" in name else "evaluated"):
        first = STARTS.get(name, 0)
        with PLANTED[name]():
            tried = (draw(0, index) for index in range(first, first + 150))
            found = next(sequence for sequence in tried if failure(sequence))
            short = shortest(found, failure)
            assert failure(short)
        assert failure(found) is None
    assert len(short.calls) <= 2


def test_the_first_sequence_that_was_found():
    """Windows, then every second row of them: the stride equals a length in the first call."""
    calls = ((Laid((36, 7, 5), (7, 1, 7)),), (Laid((18, 7, 5), (14, 1, 7)),))
    with way("evaluated"):
        for calls_in_turn in (calls, calls[::-1]):
            sequence = Sequence("rows", "f8", calls_in_turn)
            with PLANTED["symbols are different numbers"]():
                assert failure(sequence)
            assert failure(sequence) is None
