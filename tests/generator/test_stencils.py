"""Random writes into arrays that are read at shifted places mean what they mean in NumPy."""

from unittest.mock import patch

import pytest

from axiomjit.passes.loops import buffer_rows
from tests.generator.budget import budget
from tests.generator.sequences import way
from tests.generator.stencils import campaign, draw
from tests.passes.graphs import small_forms

PROGRAMS = budget(100)


@pytest.mark.parametrize(
    ("name", "share"), [("evaluated", 1.0), ("interpreted", 1.0), ("compiled", 0.06)]
)
def test_stencils_mean_what_numpy_does(name, share):
    right, made = buffer_rows._RowNest, []

    def counted(*arguments):
        made.append(1)
        return right(*arguments)

    count = max(int(PROGRAMS * share), 18)
    with small_forms(), way(name), patch.object(buffer_rows, "_RowNest", counted):
        failures = campaign(0, 0, count)
    assert not failures, "\n\n".join(failures[:3])
    assert len(made) > count / 4 or name == "evaluated"  # others read what is never written


def test_programs_depend_on_seed_and_index_alone():
    assert draw(0, 3) == draw(0, 3) != draw(1, 3)
