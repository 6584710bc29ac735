"""Arrays in chunks are refused before anything of them is computed."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.errors import GraphTypeError
from axiomjit.dispatch.jit import jit

array = pytest.importorskip("dask.array")
xr = pytest.importorskip("xarray")

ROWS, COLUMNS = aj.make_axis(6, "i"), aj.make_axis(4, "j")
X = aj.placeholder([ROWS, COLUMNS])
ADD = aj.Accumulator(0.0, lambda a, b: a + b)
CALLS = {
    "einsum": lambda x: aj.einsum("ij=>i", x),
    "fold": lambda x: aj.fold(ADD, x),
    "elementwise": lambda x: aj.elementwise(lambda a: a * 2.0, "broadcast")(x),
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
    CALLS[name](xr.DataArray(np.ones((6, 4)), dims=("i", "j")))


@pytest.mark.parametrize("labelled", [False, True])
def test_a_compiled_function_of_chunks_is_lazy(labelled, chunked):
    x, computed = chunked
    given = xr.DataArray(x, dims=("i", "j")) if labelled else x
    made = jit(lambda v: v * 2.0, strict=True)(given)
    assert type(made) is type(given)
    assert computed == []
    assert (made.compute() == 2.0).all()
