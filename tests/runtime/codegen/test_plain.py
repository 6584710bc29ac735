"""Plain buffers address the memory of an array, all of it and nothing beside it."""

import numpy as np
import pytest

from axiomjit.runtime.codegen.plain_builtins import (
    CASTS,
    PlainBuffer,
    load,
    plain_words,
    run_plain,
    store,
    tile,
)
from tests.runtime.codegen.kernels import FOLD, LENGTH, Parameter, buffers

BASE = np.arange(60.0).reshape(3, 4, 5)
VIEWS = {
    "whole": BASE,
    "transposed": BASE.T,
    "reversed": BASE[::-1, ::2, ::-1],
    "offset": BASE[1:, 1:3, 2:],
    "broadcast": np.broadcast_to(BASE[0], (7, 4, 5)),
    "one": BASE[:1, 2:3, 4:],
    "scalar": np.array(5.0),
}


@pytest.mark.parametrize("name", VIEWS)
def test_every_element_of_a_view_is_found(name):
    view = VIEWS[name]
    plain = PlainBuffer("a0", view)
    steps = [step // view.itemsize for step in view.strides]
    for index in np.ndindex(view.shape):
        linear = sum(i * step for i, step in zip(index, steps, strict=True))
        assert load(plain, linear) == view[index]


@pytest.mark.parametrize("name", VIEWS)
def test_window_is_exactly_the_spanned_memory(name):
    view = VIEWS[name]
    plain = PlainBuffer("a0", view)
    low, high = np.lib.array_utils.byte_bounds(view)
    assert len(plain.window) == (high - low) // view.itemsize
    assert plain.window.ctypes.data == low
    for outside in (-plain.first - 1, len(plain.window) - plain.first):
        with pytest.raises(IndexError, match=f"buffer a0: element {outside} is outside"):
            load(plain, outside)


def test_empty_arrays_have_no_memory():
    with pytest.raises(IndexError, match="outside"):
        load(PlainBuffer("a0", np.empty((0, 3))[::-1]), 0)


def test_parts_of_elements_are_refused():
    records = np.zeros(3, dtype=[("a", "f8"), ("b", "f4")])
    with pytest.raises(ValueError, match="not whole elements"):
        PlainBuffer("a0", records["a"])


def test_stores_reach_the_array_and_keep_its_dtype():
    x = np.zeros(4, "f4")
    plain = PlainBuffer("a0", x[::-1])
    store(plain, -3, np.float32(2))
    assert x.tolist() == [2, 0, 0, 0]
    with pytest.raises(TypeError, match="buffer a0 of float32: stored float64"):
        store(plain, 0, np.float64(2))


def test_read_only_arrays_are_not_written():
    x = np.zeros(4)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        store(PlainBuffer("a0", x), 0, np.float64(1))


def test_tiles_start_poisoned():
    assert np.isnan(load(tile(3, CASTS["f4"]), 2))
    with pytest.raises(IndexError, match="tile"):
        load(tile(3, CASTS["f4"]), 3)


def test_arguments_are_checked():
    with pytest.raises(TypeError, match="2 parameters, 1 arguments"):
        plain_words(buffers("f8", "f8"), [np.zeros(1)])
    with pytest.raises(TypeError, match="buffer a0: float32, not f8"):
        plain_words(buffers("f8"), [np.zeros(1, "f4")])
    source = "def kernel(w, lo, hi):\n    buffer(w, 0)\n"
    with pytest.raises(TypeError, match="word 0 is a scalar"):
        run_plain(source, [Parameter("s", "scalar", "f8")], [1.0], 0, 1)


def test_run_raises_no_floating_point_warning():
    x, o = np.array([1e308, 1e308, np.inf, -np.inf]), np.zeros(1)
    source = FOLD.format(start="f8(0.0)", step="add_reassoc(s, load(x, i))")
    run_plain(source, (*buffers("f8", "f8"), LENGTH), [x, o, 4], 0, 1)
    assert np.isnan(o[0])
