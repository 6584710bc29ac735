"""Tasks run their program for strips of a block: results, bits, what is copied and compiled."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.dispatch.jit import jit
from axiomjit.scale import tasks

da = pytest.importorskip("dask.array")

X = np.random.default_rng(0).normal(size=(63, 23))


def five_points(x):
    inner = x[:-2, 1:-1] + x[2:, 1:-1] + x[1:-1, :-2] + x[1:-1, 2:] - 4.0 * x[1:-1, 1:-1]
    return (inner * inner).sum()


CALLS = {
    "sum of a stencil": five_points,
    "corners": lambda x: x[:-1, :-1] - x[1:, 1:] * 2.0,
    "padded": lambda x: np.pad(x, 1)[2:, 2:] - x,
    "sums of rows": lambda x: (x[:, 1:] * x[:, :-1]).sum(1),
    "columns alone": lambda x: np.diff(x, axis=1).max(0),
    "variances and sums": lambda x: (x.var(0), x.sum(0), x.var(1)),
    "wide halo": lambda x: np.lib.stride_tricks.sliding_window_view(x, 6, 0).sum(-1),
    "running sums": lambda x: np.cumsum(x, 0)[:, 1:] - x[:, :-1],
    "pairs": lambda x: aj.fold(aj.Accumulator(None, lambda a, b: b), np.diff(x, axis=0), axes=0),
    "positions": lambda x: np.argmax(np.diff(x, axis=0), axis=0),
}


@pytest.fixture
def runs(monkeypatch):
    """The strips that run: strips are short, and blocks are evaluated in NumPy."""
    monkeypatch.setattr(config, "disable", True)
    monkeypatch.setattr(tasks, "STRIP_BYTES", 800)
    monkeypatch.setattr(tasks, "HALOS_PER_STRIP", 1)
    seen = []
    run = tasks._Block._run
    monkeypatch.setattr(tasks._Block, "_run", lambda *given: seen.append(1) or run(*given))
    return seen


def computed(made):
    made = made if isinstance(made, tuple) else (made,)
    return [one.compute(scheduler="synchronous") for one in made]


@pytest.mark.parametrize("name", CALLS)
def test_strips_give_numpys_results(name, runs):
    wanted = CALLS[name](X)
    wanted = wanted if isinstance(wanted, tuple) else (wanted,)
    for chunks in ((21, 23), (21, 12), ((7, 41, 15), (23,)), (63, 8)):
        made = computed(jit(CALLS[name])(da.from_array(X, chunks=chunks)))
        for one, want in zip(made, wanted, strict=True):
            np.testing.assert_allclose(one, want, rtol=1e-12, atol=1e-12)
    assert len(runs) > 24  # several strips in a block


def test_blocks_that_are_read_once_are_not_cut(runs):
    computed(jit(lambda x: x * x.sum(1)[:, None])(da.from_array(X, chunks=(21, 23))))
    assert len(runs) == 3


def test_strips_follow_from_shapes(monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    monkeypatch.setattr(tasks, "STRIP_BYTES", 800)
    made = jit(five_points)(da.from_array(X, chunks=(21, 12)))
    first = made.compute(scheduler="synchronous")
    for workers in (1, 2, 4):
        again = made.compute(scheduler="threads", num_workers=workers)
        assert first.tobytes() == again.tobytes()


def test_strips_compile_one_program(monkeypatch):
    f, before = jit(five_points), 0
    for chunks, size in (((21, 12), 1 << 21), ((21, 12), 800), ((25, 8), 400)):
        monkeypatch.setattr(tasks, "STRIP_BYTES", size)
        (found,) = computed(f(da.from_array(X, chunks=chunks)))
        assert found == pytest.approx(five_points(X))
        before = before or aj.stats()["compiles"]
    assert aj.stats()["compiles"] == before


def test_edges_hold_no_block():
    block = np.arange(20.0).reshape(4, 5)
    (edges,) = tasks.EdgesOf(((1, 2), (0, 1)))(block).ravel()
    (front, back), (left, right) = edges.faces
    assert (front.tolist(), back.tolist()) == (block[:2].tolist(), block[-1:].tolist())
    assert (left.tolist(), right.tolist()) == (block[:, :1].tolist(), np.empty((4, 0)).tolist())
    assert not any(np.may_share_memory(block, one) for one in (front, back, left, right))
    assert edges.towards((-1, 0)) is back
    assert edges.towards((1, -1)) is front
