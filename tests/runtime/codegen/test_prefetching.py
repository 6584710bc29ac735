"""Loops with elementary functions ask for the memory that they will load."""

import re

import numpy as np
import pytest

from axiomjit.base.target import target
from axiomjit.runtime.codegen.memory_builtins import PREFETCH_BYTES
from axiomjit.runtime.codegen.plain_builtins import run_plain
from tests.passes.graphs import target_with
from tests.runtime.codegen.kernels import buffers, compiled, run_compiled, same_bits


@pytest.fixture(autouse=True)
def a_target_that_gains():
    """The target of this process, taken for one whose loops gain by prefetches."""
    with target_with(prefetches=True):
        yield


def kernel_of(place, result):
    """A kernel of two inputs and an output; the second input is read at `place`."""
    return f"""def kernel(w, lo, hi):
    a0 = buffer(w, 0)
    a1 = buffer(w, 1)
    a2 = buffer(w, 2)
    for i in range(lo, hi):
        x = load(a0, i)
        y = load(a1, {place})
        store(a2, i, {result})
"""


def loop_of(kernel):
    """LLVM IR of the vector loop."""
    llvm = kernel.llvm
    start = llvm.index("\nvector.body:")
    return llvm[start : llvm.index("\nmiddle.block", start)]


def agree(source, code):
    """Compiled and plain results have the same bits, here and there; the kernel."""
    parameters = buffers(code, code, code)
    kernel = compiled(source, parameters)
    x, y = np.random.default_rng(3).uniform(0.1, 5, (2, 400)).astype(code)
    machine, plain = np.zeros((2, 133), code)
    assert run_compiled(kernel, parameters, [x, y, machine], 0, 133) == 0
    run_plain(source, parameters, [x, y, plain], 0, 133)
    assert same_bits(machine, plain)
    return kernel


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_a_line_of_each_input_per_vector(code):
    kernel = agree(kernel_of("i", "log(x) * exp(y)"), code)
    loop = loop_of(kernel)
    assert loop.count("@llvm.prefetch") == len(re.findall(r"load <\d+ x ", loop)) == 2
    assert f"load <{target().vector_bytes // int(code[1])} x " in loop
    assert not re.search(r"phi <\d+ x i64>", loop)  # addresses of all numbers


def test_the_line_lies_ahead():
    kernel = agree(kernel_of("i", "log(x) * exp(y)"), "f8")
    loop = loop_of(kernel)
    ahead = set(re.findall(rf"(%\S+) = add (?:n\w+ )*i64 %\S+, {PREFETCH_BYTES}\n", kernel.llvm))
    asked = re.findall(r"@llvm.prefetch.p0\(ptr (%[\w.]+)", loop)
    assert asked
    for pointer in asked:
        (address,) = re.findall(rf"{re.escape(pointer)} = inttoptr i64 (%[\w.]+) to ptr", loop)
        starts = re.findall(rf"{re.escape(address)} = phi i64 (.*)", loop) or [address]
        assert ahead.intersection(re.findall(r"%[\w.]+", starts[0]))


def test_what_is_part_of_loops_is_no_function_any_more():
    kernel = agree(kernel_of("i", "log(x) * exp(y)"), "f8")
    assert re.findall(r"^(\w+):", kernel.asm, re.MULTILINE)[0] == kernel.symbol
    assert "axiomjit_step_" not in kernel.llvm


@pytest.mark.parametrize("place", ["2 * i", "132 - i"])
def test_numbers_apart_or_backward_ask_for_nothing(place):
    loop = loop_of(agree(kernel_of(place, "log(x) * exp(y)"), "f8"))
    assert loop.count("@llvm.prefetch") == 1
    assert "passed" not in loop


def test_plain_arithmetic_asks_for_nothing():
    assert "prefetch" not in agree(kernel_of("i", "x * y"), "f8").llvm


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_a_load_may_say_how_far_ahead_it_asks(code):
    source = kernel_of("i", "x * y").replace("load(a0, i)", "load_ahead(a0, i, 77)")
    kernel = agree(source, code)
    loop = loop_of(kernel)
    assert loop.count("@llvm.prefetch") == len(re.findall(r"load <\d+ x ", loop)) // 2 > 0
    assert "axiomjit_step_" not in kernel.llvm


def test_integers_are_loaded_without_asking():
    source = kernel_of("i", "x * y").replace("load(a0, i)", "load_ahead(a0, i, 77)")
    parameters = buffers("i8", "i8", "i8")
    kernel = compiled(source, parameters)
    x, y, machine = np.arange(33), np.arange(33) - 5, np.zeros(33, "i8")
    assert run_compiled(kernel, parameters, [x, y, machine], 0, 33) == 0
    assert "prefetch" not in kernel.llvm
    np.testing.assert_array_equal(machine, x * y)


def test_a_number_for_all_asks_for_nothing():
    loop = loop_of(agree(kernel_of("0", "log(x) * exp(y)"), "f8"))
    assert loop.count("@llvm.prefetch") == 1


def test_checked_kernels_ask_for_nothing():
    source = kernel_of("i", "log(x) * exp(y)")
    for text in (source, source.replace("load(a0, i)", "load_ahead(a0, i, 9)")):
        assert "prefetch" not in compiled(text, buffers("f8", "f8", "f8"), checked=True).llvm


def test_targets_that_gain_nothing_prefetch_nothing():
    source = kernel_of("i", "log(x) * exp(y)")
    with target_with(prefetches=False):
        for text in (source, source.replace("load(a0, i)", "load_ahead(a0, i, 9)")):
            llvm = agree(text, "f8").llvm
            assert "prefetch" not in llvm
            assert "passed" not in llvm
