"""A part of NumPy's own tests with lazy arrays, and the lists of failures."""

from argparse import Namespace

import pytest

from tests.suites import array_api, numpy_tests
from tests.suites.failures import NOT_REVIEWED, judge, listed, update
from tests.suites.numpy_tests import compared, counts_of


def test_a_file_with_pending_operations():
    counts, errors = counts_of(
        *compared("lib/tests/test_twodim_base.py", Namespace(compile=False, every=2))
    )
    assert not errors
    assert counts["passed"] == counts["tests"] > 15
    assert counts["lazy"] > 100


def test_a_file_with_kernels():
    counts, errors = counts_of(
        *compared("_core/tests/test_item_selection.py", Namespace(compile=True, every=60))
    )
    assert not errors
    assert counts["passed"] == counts["tests"] >= 4
    assert counts["with_kernels"] > 0


@pytest.mark.parametrize("path", [numpy_tests.LISTED, array_api.LISTED], ids=lambda p: p.name)
def test_each_failure_has_a_reason(path):
    reasons = listed(path)
    assert reasons
    assert NOT_REVIEWED not in reasons.values()


def test_planted_failures_are_judged(tmp_path):
    path = tmp_path / "list.txt"
    path.write_text("# The reason.\na::x\na::gone[0x]\nb::not_run\n")
    failed = {"a::x": "E", "a::new": "E"}
    faults = judge(path, failed, ["a::x", "a::new", "a::gone[0x7f]"])
    assert [one.partition(": ")[0] for one in faults] == ["fails, not listed", "passes, listed"]
    update(path, failed, ["a::x", "a::new", "a::gone[0x7f]"])
    assert listed(path) == {
        "a::x": "The reason.",
        "b::not_run": "The reason.",
        "a::new": NOT_REVIEWED,
    }
    assert judge(path, failed, ["a::x", "a::new"]) == ["listed without a reason: a::new"]
