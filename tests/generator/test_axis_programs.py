"""Random programs of tensors with axes mean what they mean in NumPy, compiled as plain source."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.runtime.execution import execute
from tests.generator.axis_programs import draw
from tests.generator.budget import budget
from tests.passes.graphs import quiet, run_plan_plain
from tests.runtime.codegen.kernels import near

COUNT = budget(60)


class Interpreted:
    """A plan run in plain Python."""

    def __init__(self, plan, lengths=None):
        self.plan, self.lengths = plan, lengths

    def bind(self, lengths, in_numpy):
        return Interpreted(self.plan, lengths)

    def load(self):
        """Nothing is compiled."""

    def run(self, arguments, given=None):
        return list(run_plan_plain(self.plan, arguments, self.lengths, chunks=2))


def wrong(index):
    """What a program gives that is not NumPy's."""
    values = draw(0, index)
    if not values:
        return None
    with quiet():
        results = aj.transformers.make_transformer().computation([v.tensor for v in values])()
    for k, (value, result) in enumerate(zip(values, results, strict=True)):
        if list(value.tensor.axes) != list(value.axes):
            return f"program {index}, value {k}: axes {value.tensor.axes}, not {value.axes}"
        result = np.asarray(result)
        if not near(np.array(result, order="C"), np.array(value.array, order="C"), value.ulps):
            return f"program {index}, value {k}:\n{result!r}\nnot\n{value.array!r}"
    return None


@pytest.mark.parametrize("way", ["plan", "evaluator"])
def test_axis_programs_mean_what_numpy_does(way, request):
    if way == "evaluator":
        request.getfixturevalue("evaluator")
    with patch.object(execute, "PlanForm", Interpreted):
        found = [text for index in range(COUNT) if (text := wrong(index))]
    assert not found, "\n\n".join(found[:3])


def test_axis_programs_have_several_axes():
    programs = [draw(0, index) for index in range(200)]
    assert np.mean([len(values) for values in programs]) > 3
    ranks = {len(value.axes) for values in programs for value in values}
    assert ranks >= {0, 1, 2, 3, 4}
