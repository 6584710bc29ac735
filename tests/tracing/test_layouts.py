"""Strides and flags of arguments and of their views, under `jit`."""

import numpy as np
import pytest

import axiomjit

GRID = np.arange(42.0).reshape(6, 7)
LAYOUTS = {
    "rows": GRID,
    "columns": GRID.T,
    "gaps": GRID[::2, 1:],
    "backward": GRID[:, ::-1],
    "fortran": np.asfortranarray(GRID),
    "short": GRID.astype("f4"),
    "complex": GRID.astype("c16")[1:],
    "repeated": np.broadcast_to(GRID[0], (6, 7)),
    "line": GRID[:, 3],
    "cube": GRID.reshape(2, 3, 7).transpose(1, 0, 2),
}
FUNCTIONS = {
    "strides": lambda x: (x.strides, x.T.strides, x[::-1].strides, x[..., 1:].strides),
    "parts": lambda x: (x.real.strides, x[1:].view().strides, x.strides[0] // x.itemsize),
    "orders": lambda x: (x.flags.c_contiguous, x.flags["F"], x.flags.forc, x.flags.fnc),
    "orders of views": lambda x: (x.T.flags["C"], x[1:].flags.c_contiguous, x[..., 0].flags["C"]),
    "keys": lambda x: (x.flags["C_CONTIGUOUS"], x.flags["CONTIGUOUS"], x.flags.contiguous),
    "aligned": lambda x: (x.flags.aligned, (x + 1).flags["A"]),
    "writable": lambda x: ((x * 2).flags.writeable, np.zeros(3).flags["W"]),
    "prepared": lambda x: np.ascontiguousarray(x).flags.c_contiguous,
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", FUNCTIONS)
def test_known_of_arguments(name, layout):
    f, x = axiomjit.jit(FUNCTIONS[name], strict=True), LAYOUTS[layout]
    for array in (x, x[..., :5], x[:3], x):
        assert f(array) == FUNCTIONS[name](array)


def test_layouts_decide_what_is_done():
    def function(x):
        if not x.flags.c_contiguous:
            x = np.ascontiguousarray(x)
        assert x.strides[-1] == x.itemsize
        return x.reshape(-1)[:: x.strides[0] // x.itemsize]

    f = axiomjit.jit(function, strict=True)
    for x in (GRID, GRID.T, GRID[:, ::2], GRID[1:]):
        for _ in range(3):
            np.testing.assert_array_equal(f(x), function(x))


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_empty_and_short_lengths():
    orders = axiomjit.jit(FUNCTIONS["orders"], strict=True)
    for x in (GRID[:0], GRID[:1], GRID[:1, ::2], GRID[:, :1], GRID[:, :0], np.array(1.0)):
        assert orders(x) == FUNCTIONS["orders"](x)
    strides = axiomjit.jit(lambda x: x.strides)
    for x in (GRID[:1], GRID[:1].copy(), GRID[:, 2:3], GRID[:0]):
        assert strides(x) == x.strides


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_copied_arguments_have_their_own_strides():
    memory = np.zeros(8 * 43 + 1, "u1")
    misaligned = memory[1:].view("f8")[:42].reshape(6, 7)
    odd = np.zeros((6, 7), "u1,f8")["f1"]
    for name in ("strides", "orders", "aligned"):
        f = axiomjit.jit(FUNCTIONS[name])
        for x in (GRID, misaligned, odd, GRID, odd, misaligned):
            assert f(x) == FUNCTIONS[name](x)


UNKNOWN = {
    "of computed arrays": lambda x: (x + 1).strides,
    "memory": lambda x: x.flags.owndata,
    "read-only": lambda x: x.flags.writeable,
    "number": lambda x: x.flags.num,
}


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("name", UNKNOWN)
def test_what_calls_differ_in_is_numpys(name):
    f = axiomjit.jit(UNKNOWN[name])
    fixed = GRID.copy()
    fixed.flags.writeable = False
    for x in (GRID, fixed, GRID.copy()):
        assert f(x) == UNKNOWN[name](x)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_flags_are_set_by_numpy():
    def function(x):
        y = x + 1
        y.flags.writeable = False
        return y

    def caught(x):
        y = x + 1
        try:
            y.flags["W"] = False
            y.flags.writeable = False
        except (AttributeError, ValueError):
            return None
        return y

    for one in (function, caught):
        assert not axiomjit.jit(one)(GRID).flags.writeable
    with pytest.raises(KeyError, match="Unknown flag"):
        axiomjit.jit(lambda x: x.flags["NONE"])(GRID)
    with pytest.raises(AttributeError, match="none"):
        axiomjit.jit(lambda x: x.flags.none)(GRID)
