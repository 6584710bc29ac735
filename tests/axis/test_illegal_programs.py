"""Programs that are refused, each with its message and a legal neighbour that works."""

from pathlib import Path

import pytest

import axiomjit as aj
from axiomjit.base.errors import AxiomError
from tests.axis.illegal_axes import AXES, VALUES
from tests.axis.illegal_labels import COMPUTATIONS, LABELS
from tests.axis.illegal_operations import ELEMENTWISE, OVER_AXES

ROWS = [*AXES, *VALUES, *ELEMENTWISE, *OVER_AXES, *LABELS, *COMPUTATIONS]


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_illegal_programs_are_refused_and_their_neighbours_work(row):
    with pytest.raises(AxiomError) as caught:
        row.illegal()
    error = caught.value
    parts = error.asked, error.seen, error.remedy
    for part, words in zip(parts, row.message.split(" | ", 2), strict=True):
        assert words in part
    if error.where is not None:  # settings have no place
        assert Path(error.where.rpartition(":")[0]).parent == Path(__file__).parent
    result = row.legal()
    if isinstance(result, aj.Tensor):
        assert str(result)  # its values, where it has any


def test_there_are_enough():
    assert len(ROWS) >= 60
    assert len({row.name for row in ROWS}) == len(ROWS)
