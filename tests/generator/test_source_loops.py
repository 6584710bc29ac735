"""Random loops find faults of checks, which stand for errors in regions."""

from unittest.mock import patch

import pytest

from axiomjit.base.config import config
from axiomjit.tracing.region_bodies import RegionBody
from tests.generator.sequences import way
from tests.generator.source_loops import failure

SEED = 1
FAULTS = {"end_call": 9, "check": 12}
"""By the method of a body that does nothing, a function that then returns where it should raise."""


@pytest.mark.parametrize("method", FAULTS)
def test_planted_faults_are_found(method, monkeypatch):
    with way("evaluated"), patch.object(config, "_fallback", "warn"):
        assert failure(SEED, FAULTS[method]) is None
        monkeypatch.setattr(RegionBody, method, lambda self, *given: None)
        assert failure(SEED, FAULTS[method]) is not None
