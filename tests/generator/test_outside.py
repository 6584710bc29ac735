"""Functions with state outside them mean what they mean in Python, whatever changes it."""

import numpy as np
import pytest

from axiomjit.dispatch import arguments, following
from tests.generator import outside, places
from tests.generator.budget import budget
from tests.generator.outside import Case, campaign, draw, failure, shortest
from tests.generator.sequences import way

CASES = budget(80)


@pytest.mark.parametrize(("name", "share"), [("evaluated", 1.0), ("compiled", 0.03)])
def test_state_outside_is_that_of_python(name, share):
    outside.SHARES.clear()
    count = int(CASES * share)
    failures = campaign(1, 0, count, name)
    assert not failures, "\n\n".join(failures[:3])
    if name == "evaluated":  # both sides are tested
        assert outside.SHARES["reading", False] >= count / 3
        assert outside.SHARES["changing", True] >= count / 5


def test_cases_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)


def test_every_place_is_read_and_changed():
    text = "".join(line for k in range(1500) for line in draw(2, k).statements + draw(2, k).steps)
    for name in places.CHANGES | places.READS | places.ALONE:
        if name not in ("process", "print"):
            assert name.format(S="self") in text, name
    assert "meanwhile(" in text


def test_a_change_that_the_analysis_overlooks_is_found(monkeypatch):
    monkeypatch.setattr(following, "_effects", lambda *_: False, raising=False)
    with way("evaluated"):
        assert any(failure(draw(1, k)) for k in range(40))


FOLLOW = following._follow


def putting_back(function, call, *given):
    """Follow a function, then put back what it can reach, and what generators would draw."""
    known = following.reachable(function, [value for _, value in call.static]).values()
    before = [(one, one.copy()) for one in known if type(one) in (np.ndarray, list, dict, set)]
    state = np.random.get_state()
    try:
        return FOLLOW(function, call, *given)
    finally:
        np.random.set_state(state)
        for one, old in before:
            if isinstance(one, np.ndarray | list):
                one[:] = old
            else:
                one.clear()
                one.update(old)


def test_what_is_put_back_is_found(monkeypatch):
    monkeypatch.setattr(following, "_follow", putting_back)
    with way("evaluated"):
        drawn = (draw(1, k) for k in range(200))  # other threads alone see what is put back
        assert any(failure(case) for case in drawn if "meanwhile(" in "".join(case.steps))


CALL = "r = f(np.arange(5.0))"
METHOD = "r = S.f(np.arange(5.0))"
MEANWHILE = "r = meanwhile(1, {!r}, lambda: f(np.arange(5.0)))"
PLANTED = {
    "attributes are no part of the key": (
        Case("method", ("v0 = x + self.k",), "v0", (METHOD, "S.k += 1", METHOD)),
        (arguments, "attributes", lambda value: None),
    ),
    "writes of another thread are undone": (
        Case("function", ("v0 = x + W",), "v0", (MEANWHILE.format("W += 1"), CALL)),
        (following, "_follow", putting_back),
    ),
    "entries of another thread are lost": (
        Case("function", ("v0 = x + len(LOG)",), "v0", (MEANWHILE.format("LOG.append(9)"),)),
        (following, "_follow", putting_back),
    ),
    "draws of another thread are repeated": (
        Case("function", ("v0 = x + W",), "v0", (MEANWHILE.format("np.random.random()"),)),
        (following, "_follow", putting_back),
    ),
    "changes are overlooked": (
        Case("function", ("k += 1", "v0 = x * k", "W[0] += k"), "v0", (CALL, CALL)),
        (following, "_effects", lambda *_: False),
    ),
}


@pytest.mark.parametrize("name", PLANTED)
def test_planted_faults_are_found(name, monkeypatch):
    case, fault = PLANTED[name]
    with way("evaluated"):
        assert failure(case) is None
        if hasattr(*fault[:2]):
            monkeypatch.setattr(*fault)
            short = shortest(case)
            assert failure(short)
            assert len(short.statements) <= len(case.statements)


FOUND = {
    "a bound that is read after it was written": Case(
        "function", ("v0 = x + W", "W[2] = 7"), "v0", (CALL, CALL)
    ),
    "a branch that is taken once": Case(
        "method",
        ("v0 = x * 100 if self.first else x", "self.first = False"),
        "v0",
        (METHOD, METHOD),
    ),
    "what another thread adds": Case(
        "function",
        ("v0 = x + W", "LOG.append(1)"),
        "v0",
        ("r = meanwhile(1, 'W += 1', lambda: f(np.arange(5.0)))", CALL),
    ),
    "a method that is got by its name": Case(
        "method", ("operator.attrgetter('count')(self)(x)",), "x", (METHOD, METHOD)
    ),
    "the order of a sum of float32": Case(
        "function",
        ("v0 = np.sqrt(np.abs(x * 3 * 4))",),
        "v0.sum()",
        ("r = f(np.arange(5, dtype='f4'))",),
    ),
    "a generator": Case("function", ("v0 = x * next(G)",), "v0", (CALL, CALL)),
}
"""Cases that were wrong once."""


@pytest.mark.parametrize("name", FOUND)
def test_found_cases(name):
    with way("evaluated"):
        assert failure(FOUND[name]) is None
