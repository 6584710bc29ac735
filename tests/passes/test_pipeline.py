"""Optional passes are imported for programs that they may change, and for no others."""

from unittest.mock import patch

import numpy as np
import pytest

from axiomjit.base.config import config
from axiomjit.base.errors import VerifyError
from axiomjit.passes.pipeline import PASSES, OptionalPass, run_pipeline
from tests.graphs import follow
from tests.passes.examples import NAMES, example

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
