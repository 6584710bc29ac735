"""Passes are imported for programs that they may change, and for no others."""

from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.passes.pipeline import PASSES, LatePass, run_pipeline
from tests.graphs import follow
from tests.passes.examples import NAMES, example

LATE = [step for step in PASSES if isinstance(step, LatePass)]


def test_late_passes_are_there():
    assert LATE
    assert all(step.imported().__name__ == step.__name__ for step in LATE)


@pytest.mark.parametrize("name", NAMES)
def test_passes_leave_alone_what_does_not_concern_them(name):
    """Every late pass is asked about every program, and says so where it changes one."""
    case = example(name)
    with patch.object(config, "check", True):
        checked = run_pipeline(case.graph, case.context)
    with patch.object(config, "check", False):
        assert run_pipeline(case.graph, case.context).plan == checked.plan


def test_a_plain_program_imports_none():
    case = follow(lambda x, y: 2.0 * x + y, np.arange(6.0), np.arange(6.0))
    imported = patch.object(LatePass, "imported", side_effect=AssertionError)
    with patch.object(config, "check", False), imported:
        run_pipeline(case.graph, case.context)


def test_a_pass_that_concerns_more_than_it_says_is_found():
    case = follow(lambda x: x + 1.0, np.arange(6.0))
    wrong = LatePass("simplify_algebra", lambda program: False)
    changing = patch.object(LatePass, "imported", lambda self: lambda p, c: p.replace(outputs=()))
    with changing, patch.object(config, "check", True), pytest.raises(VerifyError, match="concern"):
        wrong(case.graph, case.context)
