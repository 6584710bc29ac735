"""Arrays in chunks are never loaded: they give arrays in chunks, or are refused."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import GraphTypeError
from axiomjit.dispatch.jit import jit

array = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")

ROWS, COLUMNS = aj.make_axis(6, "i"), aj.make_axis(4, "j")
X = aj.placeholder([ROWS, COLUMNS])
SPREAD = aj.Accumulator(
    (np.inf, -np.inf),
    lambda a, b: (np.minimum(a[0], b[0]), np.maximum(a[1], b[1])),
    lift=lambda x: (x, x),
    commutative=True,
)
WORKING = {
    "einsum": lambda x: aj.einsum("ij=>i", x),
    "product": lambda x: aj.einsum("ij,kj->ik", x, x),
    "largest sum": lambda x: aj.einsum("ij;kj=>ik", x, x, combine="add", reduce="max"),
    "fold": lambda x: aj.fold("logsumexp", x, axes=0),
    "own fold": lambda x: aj.fold(SPREAD, x, axes=0),
    "running": lambda x: aj.fold("sum", x, axes=0, running=True),
    "elementwise": lambda x: aj.elementwise(lambda a: a * 2.0, "broadcast")(x),
    "two results": lambda x: aj.elementwise(
        lambda a, b: (a * b, a - b), ["broadcast", ("accumulate", "max")]
    )(x, np.arange(6.0)),
}
BY_NAME = {
    "einsum": WORKING["einsum"],
    "fold": lambda x: aj.fold("logsumexp", x, axes="i"),
    "own fold": lambda x: aj.fold(SPREAD, x, axes="i"),
    "running": lambda x: aj.fold("sum", x, axes="i", running=True),
    "elementwise": WORKING["elementwise"],
}
CALLS = {
    "lower": lambda x: aj.elementwise(lambda a: a * 2.0, "broadcast").lower(x),
    "constant": lambda x: aj.constant(x, [ROWS, COLUMNS]),
    "NamedArray": lambda x: aj.NamedArray(x, [ROWS, COLUMNS]),
    "computation": lambda x: aj.transformers.make_transformer().computation(X * 2.0, X)(x),
}


@pytest.fixture
def chunked():
    """An array in two chunks, and the list of the chunks that were computed."""
    computed = []

    def block(values, block_info=None):
        computed.append(block_info)
        return values

    made = array.ones((6, 4), chunks=(3, 4)).map_blocks(block, dtype="f8", meta=np.ones((0, 0)))
    computed.clear()
    return made, computed


@pytest.mark.parametrize("labelled", [False, True])
@pytest.mark.parametrize("name", CALLS)
def test_nothing_loads_an_array_in_chunks(name, labelled, chunked):
    x, computed = chunked
    given = xr.DataArray(x, dims=("i", "j")) if labelled else x
    with pytest.raises(GraphTypeError, match=r"in chunks.*192 bytes(.|\n)*compute\(\)"):
        CALLS[name](given)
    assert computed == []


@pytest.mark.parametrize("name", CALLS)
def test_loaded_arrays_are_taken(name, chunked):
    CALLS[name](chunked[0].compute())
    if name != "lower":
        CALLS[name](xr.DataArray(np.ones((6, 4)), dims=("i", "j")))


def check_lazy(call, given, want, computed):
    """The parts of a result are arrays in chunks that were not computed, with these elements."""
    made = call(given)
    parts = made if isinstance(made, list | tuple) else [made]
    parts = [getattr(one, "data", one) for one in parts]
    assert all(isinstance(one, array.Array) for one in parts)
    assert computed == []
    want = want if isinstance(want, list | tuple) else [want]
    for one, other in zip(parts, want, strict=True):
        np.testing.assert_allclose(one.compute(scheduler="synchronous"), other)


@pytest.mark.parametrize("name", WORKING)
def test_doors_of_the_language_are_lazy(name, chunked, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    x, computed = chunked
    check_lazy(WORKING[name], x, WORKING[name](np.ones((6, 4))), computed)


@pytest.mark.parametrize("name", BY_NAME)
def test_doors_take_labelled_arrays_in_chunks(name, chunked, monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    x, computed = chunked
    given = xr.DataArray(x, dims=("i", "j"))
    check_lazy(BY_NAME[name], given, WORKING[name](np.ones((6, 4))), computed)


def test_blocks_of_unknown_lengths_are_folded(monkeypatch):
    monkeypatch.setattr(config, "disable", True)
    values, rows = np.arange(24.0).reshape(6, 4), np.arange(6) % 3 == 0
    x = array.from_array(values, chunks=(3, 4))[array.from_array(rows, chunks=3)]
    made = aj.fold("mean", x, axes=0), aj.einsum("ij,ij->j", x, x)
    for one, want in zip(made, (values[rows].mean(0), (values[rows] ** 2).sum(0)), strict=True):
        np.testing.assert_allclose(one.compute(scheduler="synchronous"), want)


@pytest.mark.parametrize("labelled", [False, True])
def test_a_compiled_function_of_chunks_is_lazy(labelled, chunked):
    x, computed = chunked
    given = xr.DataArray(x, dims=("i", "j")) if labelled else x
    made = jit(lambda v: v * 2.0, strict=True)(given)
    assert type(made) is type(given)
    assert computed == []
    assert (made.compute() == 2.0).all()
