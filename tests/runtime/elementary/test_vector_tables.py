"""Tables in registers: instructions for vectors of each length, and basic operations, agree."""

import ctypes

import numpy as np
import pytest
from llvmlite import ir
from numba.core.compiler_lock import global_compiler_lock

from axiomjit.base.target import target
from axiomjit.runtime.codegen.elementary_builtins import FLOATS, LlvmArithmetic, of_lanes
from axiomjit.runtime.codegen.llvm_functions import target_context
from axiomjit.runtime.elementary.arithmetic import NumpyArithmetic
from axiomjit.runtime.object_cache import entries
from axiomjit.runtime.object_cache.entries import make_entry
from tests.passes.graphs import target_with
from tests.runtime.codegen.kernels import same_bits

RNG = np.random.default_rng(7)
TABLES = {n: tuple(RNG.standard_normal(n).astype("f4").astype(float)) for n in (16, 32)}


def looked_up(m, x):
    """Sums of entries of tables of both lengths at the bits of x."""
    found = [m.lookup(f"table_{n}", table, m.bits(x)) for n, table in TABLES.items()]
    return found[0] + found[1] * 3.0


def run(code, lanes, recipe, x):
    """The recipe of a vector of numbers, compiled for so many lanes."""
    kind = of_lanes(FLOATS[code], lanes)
    library = target_context(target()).codegen().create_library(f"step_{code}_{lanes}")
    module = library.create_ir_module("step")
    pointer = ir.PointerType(kind)
    function = ir.Function(module, ir.FunctionType(ir.VoidType(), [pointer, pointer]), "step")
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    m = LlvmArithmetic(builder, code, lanes)
    load = builder.load(function.args[0], align=1)
    builder.store(recipe(m, m.lane(load)).value, function.args[1], align=1)
    builder.ret_void()
    with global_compiler_lock:
        library.add_ir_module(module)
        library.finalize()
    loaded = entries.load(make_entry("", "step", library.objects, 0.0))
    call = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(loaded.address)
    out = np.empty_like(x)
    for k in range(0, len(x), lanes):
        call(x[k:].ctypes.data, out[k:].ctypes.data)
    return out


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("lanes", [1, 4, 8, 16])
@pytest.mark.parametrize("size", [16, 32, 64])
def test_entries_of_tables(code, lanes, size):
    if size > target().vector_bytes:
        pytest.skip(f"this processor has no vectors of {size} bytes")
    x = RNG.integers(-(2**31), 2**31, 64).astype(f"i{code[1]}").view(code)
    want = looked_up(NumpyArithmetic(code), x)
    with target_with(vector_bytes=size):
        assert same_bits(run(code, lanes, looked_up, x), want)
