"""Gathers in every form: as nodes, as r-tensors, as values in the index of a load."""

import numpy as np
import pytest

from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from tests.passes.graphs import follow, lowered

ROWS = np.array([4, -1, 0, 2, 2, 2])
X = np.arange(30.0).reshape(5, 6)


def twice(y, i):
    return y[i] - y[::-1][i]


CASES = {
    "rows": lambda: follow(lambda x, i: x[i] * 2 + 1, X, ROWS),
    "pairs": lambda: follow(lambda x, i: (x.T + 1)[i[:5], i[1:]].sum(), X, ROWS),
    "stored": lambda: follow(lambda x, i: (x[i[:5]] * 2 + 1).T @ x[:, i[:5]], X, ROWS),
    "dear": lambda: follow(lambda x, i: np.exp(x)[i, None, i] * i, X, ROWS),
    "seldom": lambda: follow(lambda x, i: np.exp(x)[i[:3], i[3:]] * 2, X, ROWS),
    "several": lambda: follow(lambda x, i: twice(x * x * 2 + 1, i), X, ROWS),
}


@pytest.mark.parametrize("name", list(CASES))
def test_gathered_golden(golden, name):
    stages = lowered(CASES[name]())
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    forms = map(print_program, (stages.simplified, stages.views, stages.loops))
    golden("\n".join([*forms, *kernels]))
