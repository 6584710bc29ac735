"""Ways to run the tests of compiled functions that many files share."""

import warnings

import pytest

from axiomjit.base.config import config
from axiomjit.base.errors import FallbackWarning


@pytest.fixture
def nothing_runs_in_numpy():
    """A function that NumPy runs in place of a program is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", FallbackWarning)
        yield


@pytest.fixture
def in_numpy(monkeypatch):
    """Programs are evaluated in NumPy: nothing is about kernels."""
    monkeypatch.setattr(config, "disable", True)


@pytest.fixture(params=[True, False], ids=["compiled", "evaluated"])
def compiled(request, monkeypatch):
    """Programs are compiled; in another run of the test they are evaluated."""
    monkeypatch.setattr(config, "disable", not request.param)
