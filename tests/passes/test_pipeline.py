"""Which passes run: optional ones where they apply, the first n where that is asked for."""

from unittest.mock import Mock, patch

import numpy as np
import pytest

from axiomjit.base.config import config
from axiomjit.base.errors import GraphValueError, VerifyError
from axiomjit.passes.pipeline import NEEDED, PASSES, OptionalPass, run_pipeline
from tests.passes.examples import NAMES, example, numbers
from tests.passes.graphs import evaluated, follow, lowered, run_plain_case

OPTIONAL = [step for step in PASSES if isinstance(step, OptionalPass)]


def test_optional_passes_are_there():
    assert OPTIONAL
    assert all(step.imported().__name__ == step.__name__ for step in OPTIONAL)


@pytest.mark.parametrize("name", NAMES)
def test_passes_leave_alone_what_they_do_not_apply_to(name):
    """Under check every optional pass runs on every program."""
    case = example(name)
    with patch.object(config, "check", True):
        checked = run_pipeline(case.graph, case.context)
    with patch.object(config, "check", False):
        assert run_pipeline(case.graph, case.context).plan == checked.plan


def test_a_plain_program_imports_none():
    case = follow(lambda x, y: 2.0 * x + y, np.arange(6.0), np.arange(6.0))
    imported = patch.object(OptionalPass, "imported", side_effect=AssertionError)
    with patch.object(config, "check", False), imported:
        run_pipeline(case.graph, case.context)


def test_a_pass_that_changes_more_than_it_applies_to_is_found():
    case = follow(lambda x: x + 1.0, np.arange(6.0))
    wrong = OptionalPass("graph.simplify_algebra", lambda program: False)
    changing = patch.object(
        OptionalPass, "imported", lambda self: lambda p, c: p.replace(outputs=())
    )
    with (
        changing,
        patch.object(config, "check", True),
        pytest.raises(VerifyError, match="does not apply"),
    ):
        wrong(case.graph, case.context)


def triple(a, b):
    """A contraction of three operands."""
    return np.einsum("ij,j,kj->ik", a, b, a)


def overlapping(a, b):
    """A write that reads the old elements beside it, and one of a part."""
    a = a.copy()
    a[1:] += a[:-1]
    a[:, 2:] *= b[:1]
    return a


@pytest.mark.parametrize("name", [*NAMES, triple, overlapping])
def test_programs_are_right_with_needed_passes_alone(name, monkeypatch):
    """Any number of passes gives the right result, so that a wrong one is found by its number."""
    case = example(name) if isinstance(name, str) else follow(name, numbers(4, 6), numbers(6))
    monkeypatch.setattr(config, "passes_until", 0)
    got = run_plain_case(case, lowered(case).plan)
    for one, want in zip(got, evaluated(case.graph, case), strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-9, atol=1e-12)


def test_the_first_passes_run_and_the_needed_ones(monkeypatch):
    ran = []
    case = example("l2")
    monkeypatch.setattr(config, "passes_until", 12)
    run_pipeline(case.graph, case.context, lambda name, *_: ran.append(name))
    assert ran[:12] == [step.__name__ for step in PASSES[:12]]
    assert set(ran[12:]) == {step.__name__ for step in PASSES[12:]} & NEEDED


def test_a_pass_that_breaks_programs_is_found_by_its_number(monkeypatch):
    case = example("l2")
    at = next(k for k, step in enumerate(PASSES) if step.__name__ == "flip_loops")
    broken = Mock(side_effect=lambda program, context: program.replace(steps=()), __name__="broken")

    def fails(until):
        monkeypatch.setattr(config, "passes_until", until)
        try:
            lowered(case)
        except VerifyError:
            return True
        return False

    with patch("axiomjit.passes.pipeline.PASSES", (*PASSES[:at], broken, *PASSES[at + 1 :])):
        assert [fails(n) for n in (0, at, at + 1, None)] == [False, False, True, True]


@pytest.mark.parametrize("count", [-1, 1.5, "many"])
def test_a_wrong_number_of_passes_is_refused(count):
    with pytest.raises(GraphValueError, match="no number of passes"):
        config.passes_until = count
