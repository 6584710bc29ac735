"""Steps of recipes have the same bits by instructions of vectors as by basic operations."""

import numpy as np
import pytest

from axiomjit.base.target import target
from axiomjit.runtime.codegen import compile_source as compiler
from axiomjit.runtime.codegen.elementary_builtins import emitter
from axiomjit.runtime.codegen.value_builtins import make_binary, make_unary
from axiomjit.runtime.elementary.arithmetic import NumpyArithmetic
from axiomjit.runtime.elementary.exponential import exp, exp2
from tests.runtime.codegen.kernels import buffers, run_compiled, same_bits

SQUARES = tuple(float(k * k) for k in range(16))
OF_POSITIVE = {
    "significand": lambda m, x: m.significand(x),
}
OF_ALL = {
    "binade": lambda m, x: m.binade(abs(x)),
    "looked_up": lambda m, x: m.looked_up("squares", SQUARES, x),
    "exp": exp,
    "exp2": exp2,
    "log_limits": lambda m, x: m.log_limits(x, x * 0.5),
}
OF_SMALL = {
    "reduced": lambda m, x: m.reduced(x, 3) + 0.0,
    "reduced to whole numbers": lambda m, x: m.reduced(x, 0) + 0.0,
}
OF_TWO = {
    "scaled": lambda m, x, y: m.scaled(x, y),
    "scaled by floors": lambda m, x, y: m.scaled(x, y * 0.125),
}


def numbers(code):
    """All kinds, and random bits."""
    info, bits = np.finfo(code), np.dtype(f"u{code[1]}")
    rng = np.random.default_rng(4)
    wild = rng.integers(0, np.iinfo(bits).max, 500, bits, endpoint=True).view(code)
    ends = [0.0, -0.0, 1.0, -1.0, 0.75, 1.5, np.nextafter(1.5, 0), np.inf, -np.inf, np.nan]
    ends += [0.5, 2.5, 3.5, -3.0, 2.0**24 - 1, 2.0**53 - 1, 2.0**31, -(2.0**63), 2.0**64]
    small = [info.tiny, info.smallest_subnormal, info.tiny * 0.7, info.max, -info.tiny]
    return np.concatenate([np.array([*ends, *small], code), wild])


def compiled(monkeypatch, name, recipe, code, operands):
    """The recipe in a vector loop."""
    make = make_unary if len(operands) == 1 else make_binary
    monkeypatch.setitem(compiler.NAMES, "step", make("step", {"f": emitter(name, recipe)}))
    count = len(operands)
    source = "def kernel(w, lo, hi):\n"
    source += "".join(f"    a{k} = buffer(w, {k})\n" for k in range(count + 1))
    given = ", ".join(f"load(a{k}, i)" for k in range(count))
    source += f"    for i in range(lo, hi):\n        store(a{count}, i, step({given}))\n"
    parameters, out = buffers(*[code] * (count + 1)), np.zeros(len(operands[0]), code)
    kernel = compiler.compile_source(source, parameters, target())
    assert "vector.body" in kernel.llvm
    assert run_compiled(kernel, parameters, [*operands, out], 0, len(out)) == 0
    return out


@pytest.mark.parametrize("code", ["f4", "f8"])
@pytest.mark.parametrize("name", [*OF_POSITIVE, *OF_ALL, *OF_SMALL, *OF_TWO])
def test_instructions_and_basic_operations_agree(monkeypatch, name, code):
    x, recipe = numbers(code), (OF_POSITIVE | OF_ALL | OF_SMALL | OF_TWO)[name]
    operands = [x]
    if name in OF_POSITIVE:
        operands = [x[(x > 0) & (x < np.inf)]]
    if name in OF_SMALL:
        sixteenths = np.arange(-99, 99) / 16
        operands = [np.concatenate([x[~(abs(x) > 2.0**17)], sixteenths.astype(code)])]
    if name in OF_TWO:
        info, rng = np.finfo(code), np.random.default_rng(5)
        whole = rng.integers(2 * info.minexp, 2 * info.maxexp, len(x)).astype(code)
        operands = [rng.uniform(0.5, 2, len(x)).astype(code), whole]
    with np.errstate(all="ignore"):
        want = recipe(NumpyArithmetic(code), *operands)
    assert same_bits(compiled(monkeypatch, name, recipe, code, operands), want)


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_table_entries_go_by_the_leading_bits_of_mantissas(code):
    x = np.array([1.0, 1.0624, 1.0625, 2.99, 0.5, 0.96875, 0.9687], code)
    want = [0.0, 0.0, 1.0, 49.0, 0.0, 225.0, 196.0]
    assert NumpyArithmetic(code).looked_up("squares", SQUARES, x).tolist() == want
