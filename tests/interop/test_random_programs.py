"""Random programs of xarray are what xarray computes; faults that are planted are found."""

import numpy as np
import pytest

from axiomjit.base.config import config

xr = pytest.importorskip("xarray")
pytest.importorskip("pandas")

from axiomjit.interop import labelled, xarray_groups  # noqa: E402 - they import xarray
from tests.generator.budget import budget  # noqa: E402 - below the modules that may lack
from tests.interop.programs import campaign, draw_program, failure  # noqa: E402


@pytest.mark.parametrize(("name", "count"), [("evaluated", budget(5)), ("compiled", budget(1))])
def test_programs_are_xarrays(name, count, monkeypatch):
    monkeypatch.setattr(config, "disable", name == "evaluated")
    failures, left = campaign(4, 0, count)
    assert not failures, "\n\n".join(failures[:2])
    assert left <= max(1, count // 4)


def test_programs_depend_on_seed_and_index_alone():
    assert draw_program(0, 3) == draw_program(0, 3) != draw_program(1, 3)


def equal_indexes(monkeypatch):
    monkeypatch.setattr(labelled, "_are_equal", lambda one, other: True)


def equal_attributes(monkeypatch):
    monkeypatch.setattr(labelled, "_key_of", lambda values: None)


def equal_texts(monkeypatch):
    monkeypatch.setattr(labelled, "_key_of_data", lambda data: data.dtype)


def transposed(monkeypatch):
    build = labelled.LabelsOfVariable.build

    def wrong(self, data):
        made = build(self, data)
        square = len(made.dims) == 2 and len({*made.shape}) == 1
        return made.transpose() if square and type(made._data) is np.ndarray else made

    monkeypatch.setattr(labelled.LabelsOfVariable, "build", wrong)


def wrong_groups(monkeypatch):
    fold = xarray_groups.Groups.fold

    def wrong(self, name, values):
        return fold(self.replace(codes=np.roll(self.codes, 1)), name, values)

    monkeypatch.setattr(xarray_groups.Groups, "fold", wrong)


def coordinates_lost(monkeypatch):
    result = xarray_groups.GroupReduction.result

    def wrong(self, *args):
        self._coords = {}
        return result(self, *args)

    monkeypatch.setattr(xarray_groups.GroupReduction, "result", wrong)


FAULTS = [
    equal_indexes,
    equal_attributes,
    equal_texts,
    transposed,
    wrong_groups,
    coordinates_lost,
]


@pytest.mark.parametrize("fault", FAULTS)
def test_planted_faults_are_found(fault, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    fault(monkeypatch)
    assert any(failure(draw_program(4, k))[0] for k in range(8))
