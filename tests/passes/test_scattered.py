"""Scatters in every form: as updates at positions, as stores at values, in source."""

import numpy as np
import pytest

from axiomjit.base.errors import VerifyError
from axiomjit.graph.nodes import Graph
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.loop_ir import Load, Store
from axiomjit.passes.ir.plan_ir import Launch
from axiomjit.passes.ir.print_program import print_program
from axiomjit.passes.ir.verify_program import verify_program
from axiomjit.symbolic.dims import dim
from tests.passes.graphs import follow, lowered, small_forms
from tests.passes.ir import test_verifiers as V

ADD, NEGATIVE = PRIMITIVES["add"], PRIMITIVES["negative"]

ROWS = np.array([4, -1, 0, 2, 2, 2])
X = np.arange(30.0).reshape(5, 6)


def rows(x, i):
    x[i] = x[0] * 2


def columns(x, i):
    x[1:, i[:5]] = 1


def pairs(x, i):
    y = x + 1
    y[i[:5], i[1:]] = y[i[1:], 0]
    return y


def itself(i):
    i[i % 3] = i * 2


def together(x, i):
    y, z = x[0] * 0, x[1] * 0
    y[i], z[i] = x[2], i
    return y, z


def histogram(h, x, w):
    np.add.at(h, (x[0] * 10).astype(int), w[0] * w[0])


def narrow(h, i, w):
    np.maximum.at(h, (slice(None), i), w[0])


def along(x, i):
    np.put_along_axis(x, i[None] % 5, 9, 0)
    np.put_along_axis(x, np.argsort(-x, axis=1)[:, :2], x[:, :1] * 2, 1)


def masked(x, y):
    x[y > 3] = y[y > 3] * 2
    x[:, y[0] > 1] += 1


def powers(x, y):
    """They cost too much for elements that are not written."""
    x[y > 3] = y[y > 3] ** 1.5
    x[:, y[0] > 1] += y[:, y[0] > 1] ** 2.5


CASES = {
    "along": (along, X, ROWS),
    "masked": (masked, X, X + 1),
    "powers": (powers, X, X + 1),
    "rows": (rows, X, ROWS),
    "columns": (columns, X, ROWS),
    "pairs": (pairs, X, ROWS),
    "itself": (itself, ROWS),
    "together": (together, X, ROWS),
    "histogram": (histogram, np.zeros(300), X, X),
    "narrow": (narrow, X.astype("f4"), ROWS, X),
    "counted": (lambda i: np.bincount(i + 1, minlength=3) * 2, ROWS),
}


@pytest.mark.parametrize("name", list(CASES))
def test_scattered_golden(golden, name):
    stages = lowered(follow(*CASES[name]))
    kernels = [step.kernel.source for step in stages.plan.steps if isinstance(step, Launch)]
    forms = map(print_program, (stages.simplified, stages.views, stages.loops))
    golden("\n".join([*forms, *kernels]))


@pytest.mark.parametrize(
    ("graph", "fault"),
    [
        (Graph((V.X,), (V.updated(operands=(V.X,) * 3, maps=V.FLAT * 3),), (0,)), "of 0 iterators"),
        (Graph((V.X,), (V.updated(combine=NEGATIVE),), (0,)), "by negative of float64"),
    ],
)
def test_verify_graph_finds_wrong_scatters(graph, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(graph)


def test_verify_views_finds_elements_written_in_any_order():
    program = V.written()
    read, step = program.definitions
    wrong = step.replace(target=step.target.replace(strides=(dim(0),)), combine=ADD)
    assert verify_program(program.replace(definitions=(read, step))) is None
    with pytest.raises(VerifyError, match="r1 may write one element again, out of order"):
        verify_program(program.replace(definitions=(read, wrong)))


@pytest.mark.parametrize(
    ("program", "fault"),
    [
        (V.inside(V.LOAD, Store(V.O, V.HERE, "v0", ADD)), "into o1 in steps of i0 in any order"),
        (
            V.inside(V.LOAD, Store(V.O, V.AT, "v0", ADD), Load("v1", V.O, V.AT)),
            "o1 is used beside the scatter into it",
        ),
    ],
)
def test_verify_loops_finds_wrong_scatters(program, fault):
    with pytest.raises(VerifyError, match=fault):
        verify_program(program)


def test_verify_loops_leaves_a_legal_scatter_alone():
    body = V.LOAD, Store(V.O, V.HERE, "v0", ADD)
    assert verify_program(V.inside(*body, kind="scatter")) is None


def test_a_scatter_in_blocks_of_blocks_is_legal():
    def counted(x, i):
        y = x + 1
        total = (x[:, 0] > 9).sum()
        y[:, i[:3]] = x[0, :3] * 2
        return y, total

    case = follow(counted, X, ROWS)
    with small_forms():
        loops = lowered(case)
    assert "scatter" in print_program(loops.loops)
