"""Parts of kernels that are functions: which are the same, which stay, and that bits are too."""

import re

import numpy as np
import pytest

from axiomjit.base.dtypes import cast_name
from axiomjit.runtime.compiling import parts_apart
from tests.runtime.kernels import LENGTH, buffers, compiled, run_compiled, same_bits

TREE = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    {before}
    o = buffer(w, 1)
    n = length(w, 2)
    for i in range(lo, hi):
        store(o, i, load(a, i))
    if lo == hi:
        {t} = tile(32, {dtype})
        {q} = 0
        for {i} in range(n):
            {v} = load(a, {i})
            {q} = push({t}, {q}, {v})
        {s} = drain({t}, {q})
        {r} = {s} + {s}
        store(o, 0, {r})
"""
NAMES = {"t": "t0", "q": "q0", "i": "i0", "v": "v0", "s": "s0", "r": "v1"}
OTHERS = {"t": "t5", "q": "q9", "i": "i3", "v": "v7", "s": "s2", "r": "v8"}
FILL = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    o = buffer(w, 1)
    n = length(w, 2)
    s0 = tile(64, f8)
    for j0 in range({stop}):
        store(s0, j0, {value})
    for i in range(n):
        store(s0, i, load(s0, i) + load(a, i))
    for i in range(n):
        store(o, i, load(s0, i))
"""


def parts(source, code="f8"):
    """The names of the functions that a kernel calls for its parts, and the kernel."""
    kernel = compiled(source, (*buffers(code, code), LENGTH))
    return set(re.findall(parts_apart.PREFIX + r"\w+", kernel.llvm)), kernel


def test_parts_that_differ_in_names_are_one_function():
    first, _ = parts(TREE.format(before="", dtype="f8", **NAMES))
    second, _ = parts(TREE.format(before="b = buffer(w, 0)", dtype="f8", **OTHERS))
    third, _ = parts(TREE.format(before="", dtype="f4", **NAMES), "f4")
    assert len(first) == 1
    assert first == second
    assert len(third) == 1
    assert first != third


@pytest.mark.parametrize("n", [0, 1, 7, 40])
@pytest.mark.parametrize("code", ["f8", "f4", "c16"])
def test_a_part_gives_what_the_kernel_would(n, code, monkeypatch):
    source = TREE.format(before="", dtype=cast_name(code), **NAMES)
    values = np.random.default_rng(3).normal(size=40).astype(code)
    results = []
    for room in (parts_apart.ROOM, 0):
        monkeypatch.setattr(parts_apart, "ROOM", room)
        monkeypatch.setattr(parts_apart, "_results", {})
        names, kernel = parts(source, code)
        assert bool(names) == (room > 0)
        out = np.zeros(1, code)
        assert run_compiled(kernel, (*buffers(code, code), LENGTH), [values, out, n], 5, 5) == 0
        results.append(out)
    assert same_bits(*results)


def test_a_part_that_gives_a_tile_stays_in_the_kernel():
    """The tile is memory of the function that makes it."""
    until, _ = TREE.format(before="", dtype="f8", **NAMES).split("        s0 = ")
    names, kernel = parts(f"{until}        store(o, 0, drain(t0, q0))\n")
    assert not names
    x, out = np.arange(40.0), np.zeros(1)
    assert run_compiled(kernel, (*buffers("f8", "f8"), LENGTH), [x, out, 40], 5, 5) == 0
    assert out == x.sum()


@pytest.mark.parametrize(
    ("stop", "value", "apart"),
    [
        ("n", "f8(0.0)", True),
        ("n", "f8(-inf)", True),
        ("8", "f8(1.0)", False),
        ("n", "f8(n)", False),
    ],
)
def test_a_loop_that_fills_a_tile_is_a_function(stop, value, apart):
    names, kernel = parts(FILL.format(stop=stop, value=value))
    assert bool(names) == apart
    x, out = np.arange(8.0), np.zeros(8)
    assert run_compiled(kernel, (*buffers("f8", "f8"), LENGTH), [x, out, 8], 0, 1) == 0
    start = {"f8(0.0)": 0.0, "f8(-inf)": -np.inf, "f8(1.0)": 1.0, "f8(n)": 8.0}[value]
    np.testing.assert_array_equal(out, start + x)
