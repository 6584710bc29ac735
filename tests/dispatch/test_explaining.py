"""`explain` of calls that Python runs: how and why, and the reason of each loop of the source."""

import linecache

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError
from axiomjit.dispatch import explaining
from axiomjit.dispatch.fallbacks import FallbackWarning

X, LARGE = np.ones(20), np.ones(2**17)


def needs_values(x, kept):
    for i in range(3):  # other
        x = x + i
    for _ in range(300):  # itself
        x = x * 0.5 + 1.0
        kept.append(x.item(0))
    while x[0] < 0.5:  # other
        x = x + 1.0
    return kept


def in_pieces(x):
    for _ in range(3):  # itself
        x = 0.5 * (x * x + 1.0)
        if x.item(0) > 2.0:
            x = x - 1.0
    return x


REASONS = {"other": "the function is, because of", "itself": "its values are not known"}


def loops(text):
    """The word behind the `#` of each explained loop, and what became of the loop."""
    found = []
    for line in text.partition("-- loops of the source --\n")[2].splitlines():
        place, _, outcome = line.partition(": ")
        number = int(place.rpartition(":")[2])
        found.append((linecache.getline(__file__, number).partition("# ")[2].strip(), outcome))
    return found


def test_loops_of_a_function_in_numpy():
    kept = []
    text = str(axiomjit.jit(needs_values).explain(X, kept))
    assert "-- how it runs --\nin NumPy\nwhy: " in text
    assert not kept
    found = loops(text)
    assert [word for word, _ in found] == ["other", "itself", "other"]
    assert all(one.startswith("left to Python: ") and REASONS[word] in one for word, one in found)


@pytest.mark.parametrize(("x", "how"), [(X, "left to Python"), (LARGE, "in pieces")])
def test_large_arrays_run_in_pieces(x, how):
    jitted = axiomjit.jit(in_pieces)
    text = str(jitted.explain(x))
    assert [(word, one.partition(":")[0]) for word, one in loops(text)] == [("itself", how)]
    with pytest.warns(FallbackWarning):
        jitted(x)
    assert str(jitted.explain(x)) == text
    assert how.partition(" ")[0] in jitted.explain(x).html()


def test_strict_functions_are_refused():
    with pytest.raises(NeedsValuesError):
        axiomjit.jit(needs_values, strict=True).explain(X, [])


def test_errors_of_the_call_are_raised():
    with pytest.raises(ValueError, match="operands"):
        axiomjit.jit(lambda x, y: x + y).explain(np.ones(3), np.ones(4))


def test_a_reason_of_another_loop_is_seen(monkeypatch):
    monkeypatch.setitem(explaining._LOOPS, "whole function", "in pieces")
    with pytest.raises(AssertionError):
        test_loops_of_a_function_in_numpy()
