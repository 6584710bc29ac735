"""Repeated arrays and elements, and triangles: values, layouts and options as in NumPy."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.dtypes import DTYPES
from tests.numpy_rules.test_numpy_functions import assert_as_in_numpy

GRID = np.arange(1, 13).reshape(3, 4)
LAYOUTS = {
    "C": GRID,
    "F": np.asfortranarray(GRID),
    "stepped": np.repeat(GRID, 2, axis=1)[:, ::2],
    "backward": GRID[::-1, ::-1],
    "stretched": np.broadcast_to(GRID[:1], (3, 4)),
    "row": GRID[1],
    "column": GRID[:, 1:2],
    "block": np.arange(24).reshape(2, 3, 4).transpose(1, 2, 0),
    "empty": GRID[:0],
    "no columns": GRID[:, :0],
    "number": np.array(3.0),
    "one": np.array([[2.5]]),
}
FUNCTIONS = {
    "tile": lambda x: (np.tile(x, 2), np.tile(x, ()), np.tile(x, 1), np.tile(x, 0)),
    "tile rows": lambda x: (np.tile(x, (2, 1)), np.tile(x, [2, 3]), np.tile(x, (2, 1, 3, 1))),
    "tile by a length": lambda x: np.tile(x, x.shape[:1]),
    "tile computed": lambda x: np.tile(x * 2, 3) + 1,
    "repeat": lambda x: (np.repeat(x, 3), np.repeat(x, 1), x.repeat(0), np.repeat(x, np.int8(2))),
    "repeat along": lambda x: (np.repeat(x, 2, axis=0), x.repeat(3, -1) * 2),
    "repeat by a length": lambda x: np.repeat(x, x.shape[0]),
    "lower": lambda x: (np.tril(x), np.tril(x, -1), np.tril(x, k=2), np.tril(x, 99)),
    "upper": lambda x: (np.triu(x), np.triu(x, 1), np.triu(x + x, k=-1), np.triu(x, -99)),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_layouts(name, layout):
    if layout == "number" and (name in ("lower", "upper") or "length" in name):
        return
    assert_as_in_numpy(FUNCTIONS[name], LAYOUTS[layout])


@pytest.mark.parametrize("code", sorted(DTYPES))
def test_dtypes(code):
    x = GRID.astype(code)
    assert_as_in_numpy(lambda x: (np.tile(x, (2, 2)), x.repeat(2, 1), np.tril(x), np.triu(x)), x)


@axiomjit.jit(strict=True)
def compiled(x):
    many = np.tile(x, (2, 3)), np.repeat(x, 2), np.repeat(x.T, 3, axis=0) + 1
    return *many, np.tril(x, -1), np.triu(x * 2), np.tile(x, 1)


@pytest.mark.parametrize("layout", [name for name, x in LAYOUTS.items() if x.ndim == 2])
def test_compiled(layout):
    x, plain = LAYOUTS[layout], compiled.__wrapped__
    for one, want in zip(compiled(x), plain(x), strict=True):
        np.testing.assert_array_equal(one, want)
        assert one.dtype == want.dtype
        assert not np.shares_memory(one, x)
        assert one.flags.writeable
    assert "numpy." not in str(compiled.lower(x).graph)


def test_tiles_and_repeats_lie_in_c_order():
    x = np.asfortranarray(GRID)
    for function in (lambda x: np.tile(x, (2, 1)), lambda x: np.repeat(x, 2, axis=0)):
        assert axiomjit.jit(function)(x).strides == function(x).strides
    for function in (lambda x: np.tile(x, (1, 1)), lambda x: np.tril(x)):
        assert axiomjit.jit(function)(x).strides == function(x).strides


STEPS = {
    "several numbers": lambda x: np.repeat(x, [1, 2, 3], axis=0),
    "numbers from outside": lambda x: np.repeat(x, np.array([1, 2, 3]), axis=0),
    "repetitions from outside": lambda x: np.tile(x, np.array([2, 1])),
}


@pytest.mark.parametrize("name", STEPS)
def test_other_options_are_steps(name):
    f, before = axiomjit.jit(STEPS[name], strict=True), axiomjit.stats()["opaque_calls"]
    np.testing.assert_array_equal(f(GRID), STEPS[name](GRID))
    assert axiomjit.stats()["opaque_calls"] > before


def test_negative_numbers_are_refused_as_in_numpy():
    for function in (lambda x: np.tile(x, -1), lambda x: np.repeat(x, -1)):
        with pytest.raises(ValueError, match="negative"):
            axiomjit.jit(function)(GRID)
