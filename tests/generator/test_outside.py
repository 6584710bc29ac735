"""Functions with state outside them mean what they mean in Python, whatever changes it."""

import pytest

from tests.generator import outside
from tests.generator.budget import budget
from tests.generator.outside import Case, campaign, draw, failure
from tests.generator.sequences import way

CASES = budget(80)


@pytest.mark.parametrize(("name", "share"), [("evaluated", 1.0), ("compiled", 0.03)])
def test_state_outside_is_that_of_python(name, share):
    outside.SHARES.clear()
    count = int(CASES * share)
    failures = campaign(1, 0, count, name)
    assert not failures, "\n\n".join(failures[:3])
    if name == "evaluated":  # both sides are tested
        assert outside.SHARES["reading", False] >= count / 5
        assert outside.SHARES["changing", False] >= count / 3


def test_cases_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)


def test_every_statement_is_drawn():
    cases = [draw(2, k) for k in range(4000)]
    text = "\n".join("\n".join((*case.statements, *case.steps)) for case in cases)
    assert "meanwhile(" in text
    for tables in (outside.CHANGES, outside.READS):
        for place, found in tables.items():
            drawn = [one for one in found if outside._filled(one, "", "x", "v0") in text]
            assert len(drawn) >= len(found) / 2, place


CALL = "r = f(np.arange(5.0))"
METHOD = "r = S.f(np.arange(5.0))"
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
