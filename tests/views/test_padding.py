"""Layouts of storages: padding is never touched, and equal layouts are walked as one."""

import subprocess
import sys

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.descriptions import Layout, row_major_strides
from axiomjit.transformers import make_transformer
from tests.structure.sources import ROOT

A, H, W = aj.make_axis(7, "A"), aj.make_axis(6, "H"), aj.make_axis(21, "W")
PADDED = Layout(row_major_strides((8, 32)), 5, (8, 32))
START = np.arange(126.0).reshape(6, 21)


def programs(x, y, p):
    """Kernels of every kind over padded storages: maps, folds, parts, shifted reads, swaps."""
    return [
        aj.assign(x, x * p + y),
        aj.assign(y[1:, ::2], x[:-1, ::2] - 1),
        aj.assign(x, x[::-1] + aj.sum(x, [W])),
        aj.sum(x * y, [H]),
        aj.max(y),
        aj.assign(x[{W: 3}], aj.max(y, [W])),
        x - aj.mean(y),
    ]


def in_numpy(x, y, p):
    """The same statements."""
    x[...] = x * p + y
    y[1:, ::2] = x[:-1, ::2] - 1
    x[...] = x[::-1] + x.sum(1, keepdims=True)
    first, second = (x * y).sum(0), y.max()
    x[:, 3] = y.max(1)
    return first, second, x - y.mean()


def poisoned(transformer, tensor, values):
    """The memory of a variable, with NaN in all of its padding."""
    (array,) = transformer._variables.arrays([tensor.node], dict)
    memory = array.base
    memory.fill(np.nan)
    array[...] = values
    return memory


@pytest.mark.parametrize("bounds", [False, True])
@pytest.mark.parametrize("layout", [PADDED, Layout((1, 8), 0, (8, 32))])
def test_padding_is_never_read_or_written(layout, bounds, monkeypatch):
    monkeypatch.setattr(config, "bounds", bounds)
    x = aj.variable([H, W], initial_value=START, layout=layout)
    y = aj.variable([H, W], initial_value=START + 1, layout=layout)
    p = aj.placeholder([H, W], layout=layout)
    transformer = make_transformer()
    computation = transformer.computation(aj.sequential(programs(x, y, p)), p)
    memories = [poisoned(transformer, t, v) for t, v in ((x, START), (y, START + 1))]
    wide = np.full((10, 40), np.nan)
    wide[1:7, 2:23] = 2.0
    mine = [START.copy(), START + 1]
    want = in_numpy(*mine, np.full((6, 21), 2.0))
    got = computation(wide[1:7, 2:23])
    np.testing.assert_allclose(got, want[2], rtol=1e-13)
    for memory, tensor, values in zip(memories, (x, y), mine, strict=True):
        (array,) = transformer._variables.arrays([tensor.node], dict)
        np.testing.assert_allclose(array, values, rtol=1e-13)
        assert np.isnan(memory).sum() == memory.size - 126


def test_padded_programs_touch_nothing_beside_their_buffers():
    command = [sys.executable, "-m", "tests.runtime.memory.guard_runs", "padded"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"{done.stdout[-3000:]}\n{done.stderr}"
    assert done.stdout.count("padded") == 2


def loops_of(*layouts, axes=(A, H, W)):
    """The loops of x = x * y + z where these lie so."""
    x, y, z = (aj.variable(axes, layout=layout) for layout in layouts)
    lowered = make_transformer().computation(aj.assign(x, x * y + z)).lower()
    assert lowered.cost.kernels == 1
    return lowered.loops.count("for ")


ROWS = Layout(row_major_strides((7, 6, 32)), 0, (7, 6, 32))
PLANES = Layout(row_major_strides((7, 8, 21)), 0, (7, 8, 21))
MORE = Layout(row_major_strides((9, 6, 21)), 0, (9, 6, 21))
TURNED = Layout((21, 147, 1), 0, (7, 6, 21))


@pytest.mark.parametrize(
    ("layouts", "loops"),
    [
        (["C"] * 3, 1),
        (["F"] * 3, 1),
        ([TURNED] * 3, 1),
        ([MORE] * 3, 1),  # padding behind the last element only
        ([ROWS] * 3, 2),  # padding behind each row: rows of all planes are one loop
        ([PLANES] * 3, 2),
        (["C", "C", "F"], 3),
        (["C", "C", ROWS], 3),
    ],
)
def test_equal_layouts_are_walked_as_one(layouts, loops):
    assert loops_of(*layouts) <= loops
    if loops == 1:
        assert loops_of(*layouts) == 1
