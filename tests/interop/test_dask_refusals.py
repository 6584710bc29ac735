"""The errors of compiled functions of Dask arrays: asked, seen, instead."""

import re

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import AxiomError
from axiomjit.dispatch.jit import jit

da = pytest.importorskip("dask.array")

GENERATOR = np.random.default_rng(0)
SEEN = []
LINE = re.compile(r"^\S+(?: \d+>)?:\d+: ")
LAST = aj.Accumulator(None, lambda a, b: b)


def rows(chunks=(5, 4), shape=(12, 8)):
    return da.from_array(np.arange(float(np.prod(shape))).reshape(shape), chunks=chunks)


def unknown():
    x = rows()
    return x[da.from_array(np.arange(12) % 3 == 0, chunks=5)]


def unknown_columns():
    return da.from_array(np.arange(8) % 2 == 0, chunks=4)


def written(x):
    x[0] = 0.0
    return x


def kept(x):
    SEEN.append(x.shape[0])
    return x * 2.0


def put(x, places):
    y = x.copy()
    y[places] = 0.0
    return y


def replaced(x, places):
    y = np.zeros((3, x.shape[1]))
    y[places] = x
    return y


def scanned(x):
    return aj.scan(lambda total, row: (total + row, total), np.zeros(8), x)[0]


CALLS = {
    "median": lambda: jit(lambda x: np.median(x, 0))(rows()),
    "median of all": lambda: jit(np.median)(rows()),
    "quantile": lambda: jit(lambda x: np.quantile(x, 0.3, axis=1))(rows()),
    "sort": lambda: jit(lambda x: np.sort(x, 1))(rows()),
    "argsort": lambda: jit(lambda x: np.argsort(x, 0))(rows()),
    "partition": lambda: jit(lambda x: np.partition(x, 2, 0))(rows()),
    "fft": lambda: jit(lambda x: np.fft.fft(x, axis=0))(rows()),
    "inverse": lambda: jit(np.linalg.inv)(rows(shape=(8, 8))),
    "solve": lambda: jit(np.linalg.solve)(rows(shape=(8, 8)), np.ones(8)),
    "singular values": lambda: jit(lambda x: np.linalg.svd(x)[1])(rows()),
    "reshape": lambda: jit(lambda x: x.reshape(-1))(rows()),
    "split": lambda: jit(lambda x: x.reshape(3, 4, 8))(rows()),
    "running sum of all": lambda: jit(np.cumsum)(rows()),
    "chosen positions": lambda: jit(lambda x: x[np.array([3, 1] * 4)])(rows()),
    "chosen by an argument": lambda: jit(lambda x, k: x[:, k])(rows(), np.arange(5)),
    "take": lambda: jit(lambda x: np.take(x, range(7), axis=0))(rows()),
    "mask": lambda: jit(lambda x: x[x > 3])(rows()),
    "unique": lambda: jit(np.unique)(rows()),
    "nonzero": lambda: jit(np.nonzero)(rows()),
    "other blocks": lambda: jit(lambda x, y: x + y)(rows(), rows((4, 4))),
    "other blocks, unequal": lambda: jit(lambda x, y: x + y)(rows(((5, 3, 4), 4)), rows((4, 4))),
    "product of other blocks": lambda: jit(lambda x, y: x @ y)(rows(), rows((3, 4), (8, 6))),
    "blocks of an own value": lambda: jit(lambda x: x[::-1] + x)(rows()),
    "stencil beyond a block": lambda: jit(lambda x: x[3:] - x[:-3])(rows((2, 8))),
    "stencil of an earlier stage": lambda: jit(lambda x: np.diff(np.cumsum(x, 0), axis=0))(
        rows(((5, 0, 7), 8))
    ),
    "convolution": lambda: jit(lambda x: np.convolve(x, [1.0, 2.0, 1.0]))(rows((5, 4))[:, 0]),
    "interpolation": lambda: jit(lambda x: np.interp(0.5, x, x))(rows((5, 4))[:, 0]),
    "histogram": lambda: jit(lambda x: np.histogram(x, bins=3, range=(0.0, 9.0))[0])(rows()),
    "bin counts": lambda: jit(lambda x: np.bincount(x.astype(int)))(rows((5, 4))[:, 0]),
    "written positions": lambda: jit(lambda x: put(x, np.array([3, 1])))(rows()),
    "own fold in order": lambda: jit(lambda x: aj.fold(aj.Accumulator(0.0, lambda a, b: a + b), x))(
        rows()
    ),
    "loop": lambda: jit(scanned)(rows()),
    "write": lambda: jit(written, strict=True)(rows()),
    "change outside": lambda: jit(kept)(rows()),
    "branch": lambda: jit(lambda x: x * 2 if x.sum() > 0 else x)(rows()),
    "while": lambda: jit(lambda x: x if bool((x > 0).all()) else -x)(rows()),
    "random numbers": lambda: jit(lambda x: x + GENERATOR.normal(size=x.shape))(rows()),
    "blocks of another class": lambda: jit(lambda x: x * 2)(
        rows().map_blocks(np.ma.masked_array, meta=np.ma.masked_array(np.ones((0, 0))))
    ),
    "unknown, position": lambda: jit(lambda x: np.argmax(x, 0))(unknown()),
    "unknown, both axes": lambda: jit(lambda x: x.mean(0))(unknown()[:, unknown_columns()]),
    "unknown, slice": lambda: jit(lambda x: x[1:])(unknown()),
    "unknown, stencil": lambda: jit(lambda x: np.diff(x, axis=0))(unknown()),
    "unknown, length": lambda: jit(lambda x: x.shape[0])(unknown()),
    "unknown, rows": lambda: jit(lambda x: x + np.arange(4.0)[:, None])(unknown()),
    "unknown, other lengths": lambda: jit(lambda x, y: x + y)(unknown(), rows()),
    "unknown, product": lambda: aj.einsum("ij,ij->j", unknown(), rows()),
    "unknown, reshape": lambda: jit(lambda x: x.reshape(-1))(unknown()),
    "unknown, groups": lambda: aj.fold("sum", unknown(), axes=0, by=np.arange(4), groups=4),
    "groups in order": lambda: aj.fold(
        LAST, rows(), axes=(0, 1), by=np.arange(96).reshape(12, 8) % 3, groups=3
    ),
    "groups of labels in other blocks": lambda: aj.fold(
        "sum", rows(), axes=0, by=da.from_array(np.arange(12) % 3, chunks=4), groups=3
    ),
    "first of many groups": lambda: jit(lambda x: x[np.arange(0, 12, 1)].sum(1))(rows()),
    "written elements of several blocks": lambda: jit(replaced)(rows(), np.arange(12) % 3),
    "diagonal": lambda: jit(np.trace)(rows()),
    "einsum outside": lambda: aj.einsum("ij,jk->ik", rows(), rows((3, 4), (8, 6))),
    "fold outside": lambda: aj.fold(aj.Accumulator(0.0, lambda a, b: a + b), rows()),
    "elementwise outside": lambda: aj.elementwise(lambda a, b: a * b, "broadcast")(
        rows(), rows((4, 4))
    ),
    "constant": lambda: aj.constant(rows(), aj.make_axes([aj.make_axis(12), aj.make_axis(8)])),
}


def message(call):
    """The error of a call, without the line; a cached graph has the line that made it first."""
    try:
        made = call()
    except (AxiomError, TypeError, ValueError) as error:
        kind = type(error).__name__
        return f"{kind}: {re.sub(LINE, '', str(error))}"
    return f"no error: {made}"


def test_refusals(golden):
    golden("\n\n".join(f"{name}\n{message(call)}" for name, call in CALLS.items()) + "\n")


def test_every_call_is_refused():
    assert [name for name, call in CALLS.items() if message(call).startswith("no error")] == []
