"""A cold call goes through few files and few calls: both are counted in a fresh process."""

import os
import subprocess
import sys

import pytest

from tests.structure.sources import ROOT

COUNT = """
import os, sys
import numpy as np
import axiomjit

@axiomjit.jit
def squares(x, y):
    return ((x - y) ** 2).sum()

x, y = np.arange(1000.0), np.ones(1000)
ours = os.path.dirname(axiomjit.__file__) + os.sep
files, calls = set(), 0

def count(frame, event, argument):
    global calls
    if event == "call" and frame.f_code.co_filename.startswith(ours):
        files.add(frame.f_code.co_filename)
        calls += 1

sys.setprofile(count)
squares(x, y)
sys.setprofile(None)
print(len(files), calls, axiomjit.stats()["compiles"])
"""
MOST_FILES, MOST_CALLS = 110, 6_450
"""Few more than the 108 files and 6,300 calls of 2026-11-28."""
WARM_FILES, WARM_CALLS = 103, 4_950
"""The same where the kernel is on disk: 100 files and 4,843 calls."""


@pytest.fixture
def counted(tmp_path):
    """Files of ours in which Python ran, Python calls of ours, and kernels compiled."""

    def run():
        kept = {"AXIOMJIT_CACHE_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
        kept |= {"AXIOMJIT_CHECK": "0"}  # which runs verifiers and all passes
        done = subprocess.run(
            [sys.executable, "-c", COUNT],
            cwd=tmp_path,
            env=os.environ | kept,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.stderr == ""
        return tuple(map(int, done.stdout.split()))

    return run


def test_a_cold_call_goes_through_few_files_and_calls(counted):
    files, calls, compiles = counted()
    assert compiles == 1
    assert files <= MOST_FILES
    assert calls <= MOST_CALLS
    files, calls, compiles = counted()
    assert compiles == 0
    assert files <= WARM_FILES
    assert calls <= WARM_CALLS
