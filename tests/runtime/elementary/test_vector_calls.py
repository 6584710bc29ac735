"""Later calls of elementary functions in a kernel are vector functions, with the same bits."""

import inspect
import re

import numpy as np
import pytest

from axiomjit.runtime.codegen.elementary_builtins import INLINED
from axiomjit.runtime.codegen.plain_builtins import run_plain
from axiomjit.runtime.elementary.complex_functions import COMPLEX_RECIPES
from axiomjit.runtime.elementary.functions import RECIPES
from tests.runtime.codegen.kernels import buffers, compiled, run_compiled, same_bits

OF_ONE = [n for n, recipe in RECIPES.items() if len(inspect.signature(recipe).parameters) == 2]
VALUES = [0.0, -0.0, 1.0, -1.0, 0.25, np.inf, -np.inf, np.nan, 1e-40, -3e-5, 700.0, 88.5, -20.0]


def kernel_of(lines, codes):
    """A kernel of one input and an output per line, and the parameters."""
    source = "def kernel(w, lo, hi):\n    a = buffer(w, 0)\n"
    source += "".join(f"    o{k} = buffer(w, {k + 1})\n" for k in range(len(lines)))
    source += "    for i in range(lo, hi):\n        x = load(a, i)\n"
    source += "".join(f"        store(o{k}, i, {line})\n" for k, line in enumerate(lines))
    return source, buffers(*codes)


def agree(lines, codes):
    """Compiled and plain results have the same bits; the optimised LLVM IR."""
    source, parameters = kernel_of(lines, codes)
    x = np.append(VALUES, np.random.default_rng(2).normal(0, 3, 70)).astype(codes[0])
    kernel = compiled(source, parameters)
    machine, plain = ([np.zeros(len(x), code) for code in codes[1:]] for _ in range(2))
    assert run_compiled(kernel, parameters, [x, *machine], 0, len(x)) == 0
    run_plain(source, parameters, [x, *plain], 0, len(x))
    wrong = [n for n, m, p in zip(lines, machine, plain, strict=True) if not same_bits(m, p)]
    assert not wrong
    return kernel.llvm


def called(llvm):
    """Names of the vector functions that the loop of the kernel calls."""
    body = llvm[llvm.index("vector.body:") :]
    return set(re.findall(r"@axiomjit_(\w+?)(?:_called)?_x\d+\(", body[: body.index("br i1")]))


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_every_function_as_a_vector_function(code):
    llvm = agree([f"{name}(x)" for name in OF_ONE], [code] * (len(OF_ONE) + 1))
    assert {name.removesuffix(f"_{code}") for name in called(llvm)} == set(OF_ONE)


def test_float32_beside_float64_fills_half_a_vector():
    lines = [
        "exp(x)",
        "log(x)",
        "exp2(x)",
        "cbrt(x)",
        "f8(x)",
        "cbrt(f8(x))",
        "log(f8(x))",
        "sin(x)",
    ]
    llvm = agree(lines, ["f4", *["f4"] * 4, *["f8"] * 3, "f4"])
    doubles, singles = (
        {"cbrt_f8", "log_f8"},
        {f"{n}_f4" for n in ("exp", "log", "exp2", "cbrt", "sin")},
    )
    assert called(llvm) == doubles | singles


SINGLE = re.compile(r"= f(?:add|sub|mul|div|neg|cmp)[^<\n]* (?:float|double) ")
"""Arithmetic of single numbers."""
CASES = [(name, code) for name in RECIPES for code in ("f4", "f8")]
CASES += [(name, code) for name in COMPLEX_RECIPES for code in ("c8", "c16")]


@pytest.mark.parametrize(("name", "code"), CASES)
def test_the_loop_around_a_function_has_nothing_but_vectors(name, code):
    """It calls nothing but forms for vectors of what numbers beyond the usual ones need."""
    arity = len(inspect.signature(RECIPES[name]).parameters) - 1
    operands = ", ".join(f"load(a{k}, i)" for k in range(arity))
    source = "def kernel(w, lo, hi):\n"
    source += "".join(f"    a{k} = buffer(w, {k})\n" for k in range(arity + 1))
    source += f"    for i in range(lo, hi):\n        store(a{arity}, i, {name}({operands}))\n"
    llvm = compiled(source, buffers(*[code] * (arity + 1))).llvm
    loop = llvm[llvm.index("\nvector.body:") : llvm.index("\nmiddle.block")]
    assert re.search(r"= fm?\w+ <\d+ x |@llvm\.fma\.v", loop)
    assert not SINGLE.search(loop)
    for callee in re.findall(r"call [^@\n]*@([\w.]+)\(", loop):
        assert not re.search(r"\.f(32|64)$", callee)
        assert callee.startswith("llvm.") or re.fullmatch(r"axiomjit_far_\w+_x\d+", callee)


def test_steps_are_part_of_loops_over_single_numbers_too():
    llvm = agree(["tanh(x)", "log(x)"], ["f4"] * 3)
    assert not re.findall(r"call [^@\n]*@axiomjit_step_\w+", llvm)


def test_a_few_calls_are_inlined():
    llvm = agree([f"{name}(x)" for name in OF_ONE[:INLINED]], ["f8"] * (INLINED + 1))
    assert called(llvm) == set()
