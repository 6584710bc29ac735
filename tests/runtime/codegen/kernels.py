"""Kernels and the two ways to run them, shared by the tests of the runtime."""

import ast
import re
from typing import NamedTuple

import numpy as np

from axiomjit.base.target import target
from axiomjit.passes.ir.plan_ir import Traits
from axiomjit.runtime.codegen.compile_source import compile_source
from axiomjit.runtime.codegen.kernel_cache import LoadedKernel, entry_of, load_kernel
from axiomjit.runtime.elementary.functions import RECIPES


class Parameter(NamedTuple):
    """A word of the argument block."""

    name: str
    kind: str
    dtype: str


def buffers(*codes):
    """One buffer parameter per dtype code."""
    return tuple(Parameter(f"a{k}", "buffer", code) for k, code in enumerate(codes))


LENGTH = Parameter("n", "length", "i8")


STRIPS = re.compile(r"^    for i0 in range\(lo, hi\):\n        k0 = i0 \* ", re.MULTILINE)


def traits_of(source):
    """The traits of a kernel source, found by reading it."""
    called = [n.func.id for n in ast.walk(ast.parse(source)) if isinstance(n, ast.Call)]
    functions = sum(name in RECIPES for name in called)
    return Traits(functions, STRIPS.search(source) is not None)


def compiled(source, parameters, **options):
    """A kernel source that somebody wrote by hand, compiled."""
    return compile_source(source, parameters, target(), traits_of(source), **options)


def scalar_words(value, code):
    """The 64-bit words at whose start a scalar lies."""
    raw = np.asarray(value, code).tobytes()
    raw += bytes(-len(raw) % 8)
    return np.frombuffer(raw, np.int64).tolist()


def words_of(parameters, arguments):
    """The argument block as int64 words."""
    words = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        match parameter.kind:
            case "buffer":
                words.append(argument.ctypes.data)
            case "scalar":
                words += scalar_words(argument, parameter.dtype)
            case "length":
                words.append(argument)
    return np.array(words, np.int64)


def run_compiled(kernel, parameters, arguments, lo, hi):
    """Run machine code on the arguments; the status. The kernel may be loaded or just compiled."""
    words = words_of(parameters, arguments)
    loaded = kernel if isinstance(kernel, LoadedKernel) else load_compiled(kernel)
    return loaded.entry(words.ctypes.data, lo, hi)


def load_compiled(made):
    """A kernel that was just compiled, in memory."""
    return load_kernel(entry_of(made), made.checked)


def same_bits(left, right):
    """Whether two arrays of one dtype are equal, zeros by sign, any NaN equal to any other.

    Complex numbers are equal where both parts are.
    """
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind == "c":
        return same_bits(left.real, right.real) and same_bits(left.imag, right.imag)
    if left.dtype.kind != "f":
        return bool(np.array_equal(left, right))
    number = ~np.isnan(left)
    signs = np.array_equal(np.signbit(left[number]), np.signbit(right[number]))
    return bool(signs and np.array_equal(left, right, equal_nan=True))


def near(left, right, ulps):
    """`same_bits`, but for finite numbers that lie up to so many floats apart.

    Zeros have the same sign. The distance between complex numbers counts in units of the larger
    part.
    """
    if ulps == 0 or left.dtype.kind not in "fc":
        return same_bits(left, right)
    if left.dtype != right.dtype or left.shape != right.shape:
        return False
    if left.dtype.kind == "c":
        return _near_complex(left, right, ulps)
    number = ~np.isnan(left)
    if not np.array_equal(number, ~np.isnan(right)):
        return False
    left, right = left[number], right[number]
    zeros = (left == 0) & (right == 0)
    if not np.array_equal(np.signbit(left[zeros]), np.signbit(right[zeros])):
        return False
    places = [in_order(values) for values in (left, right)]
    return bool(np.all(abs(places[0] - places[1]) <= ulps))


def in_order(values):
    """Each float as the number of its place among all floats of the dtype, zeros as 0."""
    bits = values.view(f"i{values.itemsize}").astype("i8")
    return np.where(bits < 0, np.iinfo(f"i{values.itemsize}").min - bits, bits)


def _near_complex(left, right, ulps):
    """Whether finite parts lie together, the others being the same."""
    sizes = np.maximum(abs(right.real), abs(right.imag))
    for one, other in ((left.real, right.real), (left.imag, right.imag)):
        finite = np.isfinite(one) & np.isfinite(other)
        if not same_bits(one[~finite], other[~finite]):
            return False
        size = np.where(np.isfinite(sizes), sizes, abs(other))[finite]
        if not np.all(abs(one[finite] - other[finite]) <= ulps * np.spacing(size)):
            return False
    return True


SQUARES = """
def kernel(w, lo, hi):
    x = buffer(w, 0)
    y = buffer(w, 1)
    o = buffer(w, 2)
    n = length(w, 3)
    for block in range(lo, hi):
        s = f8(0.0)
        for i in range(block * 1024, min(block * 1024 + 1024, n)):
            t = load(x, i) - load(y, i)
            s = add_reassoc(s, t * t)
        store(o, block, s)
"""
SQUARES_PARAMETERS = (*buffers("f8", "f8", "f8"), LENGTH)

FOLD = """
def kernel(w, lo, hi):
    x = buffer(w, 0)
    o = buffer(w, 1)
    n = length(w, 2)
    for block in range(lo, hi):
        s = {start}
        for i in range(block * 1024, min(block * 1024 + 1024, n)):
            s = {step}
        store(o, block, s)
"""

ROOTS = """
def kernel(w, lo, hi):
    x = buffer(w, 0)
    o = buffer(w, 1)
    for i in range(lo, hi):
        v = load(x, i)
        store(o, i, select(v > f8(0.0), sqrt(v), -v))
"""
