"""Whatever a parameter of a NumPy function is given, compiled functions do what NumPy does."""

import random

import pytest

from tests.generator.budget import budget
from tests.generator.parameters import Case, cases, failure

CALLS = budget(120)
"""How many calls are tried of all those of `parameters.py`."""
SEED = 10


@pytest.mark.usefixtures("evaluated")
def test_parameters_are_taken_or_left_to_numpy():
    every = list(cases())
    chosen = random.Random(SEED).sample(every, min(CALLS, len(every)))
    failures = [text for text in map(failure, chosen) if text]
    assert not failures, "\n".join(failures[:5])


@pytest.mark.usefixtures("evaluated")
@pytest.mark.parametrize(
    "case",
    [
        Case("numpy.interp", "left", "length"),
        Case("numpy.put", "ind", "size in a list"),
        Case("numpy.choose", "mode", "int"),
        Case("numpy.median", "axis", "tuple of two"),
        Case("numpy.full", "shape", "array without dimensions"),
        Case("numpy.roll", "shift", "float"),
        Case("numpy.linalg.svd", "compute_uv", "array of floats"),
        Case("ndarray.sum", "where", "None"),
        Case("ndarray.max", "keepdims", "float"),
    ],
    ids=str,
)
def test_found(case):
    assert failure(case) is None


@pytest.fixture
def evaluated(monkeypatch):
    monkeypatch.setattr("axiomjit.base.config.config.disable", True)
