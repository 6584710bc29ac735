"""Kernels become vector code of the agreed form; failures name the source."""

import ctypes
import gc
import os
import threading

import numpy as np
import pytest

from axiomjit.base.errors import CompileError
from axiomjit.base.target import target
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.plain_builtins import run_plain
from tests.runtime.codegen.kernels import (
    FOLD,
    LENGTH,
    ROOTS,
    SQUARES,
    SQUARES_PARAMETERS,
    buffers,
    load_compiled,
    run_compiled,
    words_of,
)

N = 5000
BLOCKS = -(-N // 1024)


@pytest.fixture(scope="module")
def squares():
    """The kernel of sum((x - y) ** 2) in blocks."""
    return compile_source(SQUARES, SQUARES_PARAMETERS, target())


@pytest.fixture
def arrays():
    """x, y and room for the partial sums."""
    x, y = np.random.default_rng(3).standard_normal((2, N))
    return [x, y, np.zeros(BLOCKS), N]


def test_sum_of_squares(squares, arrays):
    assert run_compiled(squares, SQUARES_PARAMETERS, arrays, 0, BLOCKS) == 0
    x, y, o, _ = arrays
    np.testing.assert_allclose(o.sum(), ((x - y) ** 2).sum(), rtol=1e-14)
    plain = np.zeros(BLOCKS)
    run_plain(SQUARES, SQUARES_PARAMETERS, [x, y, plain, N], 0, BLOCKS)
    np.testing.assert_allclose(o, plain, rtol=1e-13)


def test_only_the_range_asked_for_is_computed(squares, arrays):
    run_compiled(squares, SQUARES_PARAMETERS, arrays, 1, 3)
    assert [bool(partial) for partial in arrays[2]] == [False, True, True, False, False]


def test_loops_are_vector_code_without_checks(squares):
    roots = compile_source(ROOTS, buffers("f8", "f8"), target())
    for kernel in (squares, roots):
        assert kernel.packed_instructions() > 3
        assert "vector.memcheck" not in kernel.llvm
        assert "fast" not in kernel.llvm


@pytest.mark.parametrize(
    ("start", "step", "code", "reduced"),
    [
        ("load(x, block * 1024)", "maximum(s, load(x, i))", "f8", np.max),
        ("load(x, block * 1024)", "minimum(s, load(x, i))", "f4", np.min),
        ("int64(0)", "add_reassoc(s, load(x, i))", "i8", np.sum),
        ("load(x, block * 1024)", "maximum(s, load(x, i))", "i8", np.max),
    ],
)
def test_folds_are_vector_code(start, step, code, reduced):
    parameters = (*buffers(code, code), LENGTH)
    kernel = compile_source(FOLD.format(start=start, step=step), parameters, target())
    assert kernel.packed_instructions() > 3
    x = (np.random.default_rng(5).standard_normal(N) * 1e6).astype(code)
    for poison in (None, 1030):
        if poison is not None and code != "i8":
            x[poison] = np.nan
        o = np.zeros(BLOCKS, code)
        run_compiled(kernel, parameters, [x, o, N], 0, BLOCKS)
        blocks = [reduced(x[k * 1024 : (k + 1) * 1024]) for k in range(BLOCKS)]
        assert np.array_equal(o, np.array(blocks, code), equal_nan=code != "i8")


def test_packed_instructions_sees_scalar_code():
    source = FOLD.format(start="f8(0.0)", step="s + load(x, i)")
    assert (
        compile_source(source, (*buffers("f8", "f8"), LENGTH), target()).packed_instructions() == 0
    )


def test_singles_are_summed_in_double():
    parameters = (*buffers("f4", "f8"), LENGTH)
    source = FOLD.format(start="f8(0.0)", step="add_reassoc(s, f8(load(x, i)))")
    kernel = compile_source(source, parameters, target())
    x, o = np.random.default_rng(4).random(N).astype("f4"), np.zeros(BLOCKS)
    run_compiled(kernel, parameters, [x, o, N], 0, BLOCKS)
    np.testing.assert_allclose(o.sum(), x.sum(dtype="f8"), rtol=1e-14)
    assert kernel.packed_instructions() > 3


def test_inspection(squares):
    assert f"{squares.symbol}:" in squares.asm
    assert f"@{squares.symbol}(" in squares.llvm
    assert squares.symbol.encode() in squares.objects[0]
    assert squares.compile_ms > 0


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("def kernel(w, lo, hi):\n    store(buffer(w, 0), 0, 1.0 + nothing)\n", "nothing"),
        ("def kernel(w, lo, hi):\n    store(buffer(w, 0), 0, f4(1.0))\n", "store"),
        ("def kernel(w, lo, hi):\n    a = buffer(w, 1)\n", "buffer"),
        ("def kernel(w, lo, hi):\n    a = scalar(w, 0)\n", "scalar"),
        ("def kernel(w, lo, hi)\n", "SyntaxError"),
        ("def other(w, lo, hi):\n    pass\n", "KeyError"),
    ],
)
def test_refused_source(source, seen):
    with pytest.raises(CompileError, match=seen) as caught:
        compile_source(source, buffers("f8"), target())
    assert caught.value.__suppress_context__
    assert source in str(caught.value)


def test_entry_outlives_the_kernel(arrays):
    entry = load_compiled(compile_source(SQUARES, SQUARES_PARAMETERS, target())).entry
    gc.collect()
    words = words_of(SQUARES_PARAMETERS, arrays)
    assert entry(words.ctypes.data, 0, BLOCKS) == 0
    assert arrays[2].all()


def test_many_threads_run_one_kernel(squares, arrays):
    run_compiled(squares, SQUARES_PARAMETERS, arrays, 0, BLOCKS)
    wrong, loaded = [], load_compiled(squares)

    def repeat():
        own = [*arrays[:2], np.zeros(BLOCKS), N]
        for _ in range(200):
            own[2][:] = 0
            run_compiled(loaded, SQUARES_PARAMETERS, own, 0, BLOCKS)
            if not np.array_equal(own[2], arrays[2]):
                wrong.append(own)

    threads = [threading.Thread(target=repeat) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_many_threads_compile():
    kernels = []
    source = ROOTS.replace("f8(0.0)", "f8(0.5)")
    parameters = buffers("f8", "f8")
    job = lambda: kernels.append(compile_source(source, parameters, target()))  # noqa: E731
    threads = [threading.Thread(target=job) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    x = np.linspace(0, 4, 9)
    for kernel in kernels:
        o = np.zeros(9)
        run_compiled(kernel, parameters, [x, o], 0, 9)
        assert np.array_equal(o, np.where(x > 0.5, np.sqrt(x), -x))
    assert len(kernels) == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this platform")
def test_kernels_run_after_fork(squares, arrays):
    child = os.fork()
    if child == 0:
        status = run_compiled(squares, SQUARES_PARAMETERS, arrays, 0, BLOCKS)
        os._exit(0 if status == 0 and arrays[2].all() else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def test_status_is_a_32_bit_integer(squares):
    assert load_compiled(squares).entry.func.restype is ctypes.c_int32
