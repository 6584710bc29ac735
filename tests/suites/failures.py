"""Reviewed lists of tests that fail: the tests below the reason, in a text file.

    # The reason of the tests that follow.
    lib/tests/test_io.py::TestSaveLoad::test_array

A list is strict: a test that fails must be in it, and one that passes must not.
"""

from __future__ import annotations

import re

NOT_REVIEWED = "not reviewed"
"""The reason that `--update` writes; a person has to find the true one."""


def named(test):
    """The id of a test without the addresses in it, which differ from run to run."""
    return re.sub(r"0x[0-9a-f]+", "0x", test)


def listed(path):
    """The reasons by test."""
    found, reason = {}, NOT_REVIEWED
    for text in path.read_text().splitlines() if path.exists() else ():
        if text.startswith("# "):
            reason = text.removeprefix("# ")
        elif text.strip():
            found[text] = reason
    return found


def judge(path, failed, ran):
    """The complaints about a list.

    Args:
        path: The list.
        failed: The errors of the tests that failed, by id.
        ran: The ids of the tests that ran.
    """
    reasons = listed(path)
    failing, ran = {named(one): error for one, error in failed.items()}, set(map(named, ran))
    faults = [f"fails, not listed: {one}: {failing[one]}" for one in failing if one not in reasons]
    for test, reason in reasons.items():
        if test in ran and test not in failing:
            faults.append(f"passes, listed: {test}")
        if reason == NOT_REVIEWED:
            faults.append(f"listed without a reason: {test}")
    return faults


def update(path, failed, ran):
    """Add tests that fail to a list, without a reason, and take out those that pass."""
    reasons = listed(path)
    ran = set(map(named, ran))
    failing = dict.fromkeys(map(named, failed))
    kept = {one: why for one, why in reasons.items() if one in failing or one not in ran}
    kept |= {one: NOT_REVIEWED for one in failing if one not in reasons}
    lines = []
    for reason in sorted(set(kept.values()), key=lambda one: (one == NOT_REVIEWED, one)):
        tests = sorted(one for one, why in kept.items() if why == reason)
        lines += [f"# {reason}", *tests, ""]
    path.write_text("\n".join(lines))
