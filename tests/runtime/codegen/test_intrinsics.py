"""Every name of the kernel language means the same compiled and plain, special values included."""

import itertools

import numpy as np
import pytest

from axiomjit.base.dtypes import CODES, DTYPES, cast_name, resolve_loop
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.runtime.codegen.plain_builtins import run_plain
from tests.runtime.codegen.kernels import (
    LENGTH,
    Parameter,
    buffers,
    compiled,
    near,
    run_compiled,
    same_bits,
)

TARGETS = tuple(DTYPES)
PARTS = {"c8": "f4", "c16": "f8"}
CASTS = tuple((f"{cast_name(code)}(x)", code) for code in TARGETS)


def rows_for(code):
    """(expression in x and y of dtype `code`, dtype of the result): all primitives, and more."""
    rows = [(written_row(name, code), name) for name in PRIMITIVES if has_loop(name, code)]
    made = [(text, target) for (text, target), _ in rows]
    cast = cast_name(code)
    if code == "f2":  # Python's operators do not take it
        return (*made, ("select(isnan(f4(y)), x, y)", code), *CASTS)
    more = ["select(y == y, y, x)", *(f"{name}(x, y)" for name in NAMED if code != "b1")]
    if code[0] == "c":
        part = PARTS[code]
        parts = (("real(x)", part), ("imag(x)", part), (f"complex_of(imag(y), {part}(-inf))", code))
        return (*made, *((e, code) for e in more), *parts, *CASTS)
    if code[0] == "f":
        more += [f"x * {cast}(0.1)", f"x + {cast}(inf)", f"x + {cast}(nan)"]
    elif code != "b1":
        more += [f"{cast}(x + {cast}(7))"]
    extra = (("(x == y) ^ (x != x)", "b1"), ("isnan(x) | ~(x == y)", "b1"))
    return (*made, *((e, code) for e in more), *CASTS, *extra)


NAMED = ("add_reassoc", "mul_reassoc")


def has_loop(name, code):
    """Whether a kernel of the test holds this primitive."""
    row = PRIMITIVES[name]
    return row.loop is not None and row.arity < 3 and code in row.loops


def written_row(name, code):
    """A primitive of x and y of a dtype as source, and the dtype of its result."""
    row = PRIMITIVES[name]
    result = CODES[resolve_loop(row.loop, (DTYPES[code],) * row.arity)[-1]]
    return row.written(("x", "y")[: row.arity], (code,) * row.arity, result), result


def source_of(rows):
    """A kernel that evaluates all rows, each into its stretch of the buffer of its dtype."""
    lines = ["def kernel(w, lo, hi):", "    a = buffer(w, 0)", "    b = buffer(w, 1)"]
    lines += [f"    o_{code} = buffer(w, {2 + k})" for k, code in enumerate(TARGETS)]
    lines += [f"    n = length(w, {2 + len(TARGETS)})", "    for i in range(lo, hi):"]
    lines += ["        x = load(a, i)", "        y = load(b, i)"]
    lines += [f"        store(o_{t}, {k} * n + i, {e})" for k, (e, t) in enumerate(rows)]
    return "\n".join(lines) + "\n"


def special_pairs(code):
    """All pairs of the values at which operations differ."""
    if code == "b1":
        values = np.array([False, True])
    elif code[0] in "iu":
        ends, bits = np.iinfo(code), 8 * int(code[1])
        values = [0, 1, 2, 3, 7, bits - 1, bits, ends.min, ends.min + 1, ends.max, ends.max // 2]
        values += [-1, -2, -7, ends.min // 2] if ends.min else [ends.max // 2 + 1, ends.max - 1]
        values = np.array(values, code)
    elif code[0] == "c":
        info = np.finfo(code)
        values = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, info.max, info.tiny]
        values += [info.smallest_subnormal, 0.1, -3e9]
        values = np.array([complex(*pair) for pair in itertools.product(values, values)], code)
    else:
        info = np.finfo(code)
        values = [0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, info.tiny, info.max]
        values += [info.smallest_subnormal, -info.smallest_subnormal, 9.3e18, -9.3e18, 2.0**63]
        values += [-(2.0**63), 0.1, 3e38, 3e9, -3e9, 70000.0, -129.5, 0.5, 1 + 3 * 2**-11, 2.0**64]
        with np.errstate(over="ignore"):
            values = np.array([*values, 1 + 2**-11 + 2**-40, -1 - 3 * 2**-11 + 2**-50], code)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def run_rows(run, code):
    """Result of `run(parameters, arguments, n)` for all rows of a dtype."""
    x, y = special_pairs(code)
    rows, n = rows_for(code), len(x)
    parameters = (*buffers(code, code, *TARGETS), LENGTH)
    outs = [np.zeros(len(rows) * n, t) for t in TARGETS]
    run(parameters, [x, y, *outs, n], n)
    by_code = dict(zip(TARGETS, outs, strict=True))
    return [by_code[target][k * n : (k + 1) * n] for k, (_, target) in enumerate(rows)], (x, y)


@pytest.fixture(scope="module", params=TARGETS)
def results(request):
    """Per dtype: the rows, their compiled and plain results, and the operands."""
    code = request.param
    source = source_of(rows_for(code))

    def in_machine_code(parameters, arguments, n):
        kernel = compiled(source, parameters)
        assert run_compiled(kernel, parameters, arguments, 0, n) == 0

    def plain(parameters, arguments, n):
        run_plain(source, parameters, arguments, 0, n)

    machine, operands = run_rows(in_machine_code, code)
    return code, rows_for(code), machine, run_rows(plain, code)[0], operands


def test_compiled_and_plain_agree_bit_for_bit(results):
    code, rows, machine, plain, _ = results
    wrong = [e for (e, _), m, p in zip(rows, machine, plain, strict=True) if not same_bits(m, p)]
    assert not wrong, code


def either_zero(values):
    """The values with every zero positive: NumPy leaves open which zero is the greater."""
    return values + values.dtype.type(0) if values.dtype.kind == "f" else values


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_numpys(results):
    code, rows, machine, _, (x, y) = results
    got = {expression: result for (expression, _), result in zip(rows, machine, strict=True)}
    wrong = []
    for name in (n for n in PRIMITIVES if has_loop(n, code)):
        row = PRIMITIVES[name]
        result, want = got[written_row(name, code)[0]], row.evaluate(*(x, y)[: row.arity])
        if name in ("maximum", "minimum", "fmax", "fmin"):
            result, want = either_zero(result), either_zero(want)
        if not near(result, want, row.ulps):
            wrong.append(name)
    for target in TARGETS:
        # NumPy's packed cast of what does not fit uint32 is not that of single elements
        want = np.array([value.astype(DTYPES[target]) for value in x])
        if not same_bits(got[f"{cast_name(target)}(x)"], want):
            wrong.append(target)
    assert not wrong, code


def test_same_bits_sees_differences():
    one = np.array([0.0, np.nan, 1.0])
    assert same_bits(one, one.copy())
    assert not same_bits(one, np.array([-0.0, np.nan, 1.0]))
    assert not same_bits(one, np.array([0.0, 1.0, 1.0]))
    assert not same_bits(one, one.astype("f4"))


def test_zeros_are_ordered():
    parameters = buffers("f8", "f8", "f8", "f8")
    source = (
        "def kernel(w, lo, hi):\n    x = buffer(w, 0)\n    y = buffer(w, 1)\n"
        "    o = buffer(w, 2)\n    p = buffer(w, 3)\n    for i in range(lo, hi):\n"
        "        store(o, i, maximum(load(x, i), load(y, i)))\n"
        "        store(p, i, minimum(load(x, i), load(y, i)))\n"
    )
    x, y = np.array([0.0, -0.0, -0.0]), np.array([-0.0, 0.0, -0.0])
    o, p = np.ones((2, 3))
    kernel = compiled(source, parameters)
    run_compiled(kernel, parameters, [x, y, o, p], 0, 3)
    assert np.signbit(o).tolist() == [False, False, True]
    assert np.signbit(p).tolist() == [True, True, True]


SCALARS = """
def kernel(w, lo, hi):
    o = buffer(w, 0)
    p = buffer(w, 1)
    s = scalar(w, 2)
    t = scalar(w, 3)
    k = scalar(w, 4)
    c = scalar(w, 5)
    n = length(w, 6)
    cells = tile(8, f4)
    for i in range(8):
        store(cells, i, f4(i) * s)
    last = 0
    for i in range(lo, hi):
        j = i
        if i & 1 == 1:
            j = max(last, -1)
            store(p, -i, power(t, f8(load(cells, (i & 6) + n - n))))
        else:
            last = i
            store(p, -i, select(c, f8(k), t))
        store(o, i, load(cells, min(j, 7)) + s)
"""
SCALAR_PARAMETERS = (
    *buffers("f4", "f8"),
    Parameter("s", "scalar", "f4"),
    Parameter("t", "scalar", "f8"),
    Parameter("k", "scalar", "i8"),
    Parameter("c", "scalar", "b1"),
    LENGTH,
)


def test_scalars_tiles_and_negative_indices():
    kernel = compiled(SCALARS, SCALAR_PARAMETERS)
    for c in (False, True):
        outs = []
        for _ in range(2):
            outs.append((np.zeros(10, "f4"), np.zeros(10)))
        rest = [np.float32(0.1), -2.75, -5, c, 99]
        run_compiled(kernel, SCALAR_PARAMETERS, [outs[0][0], outs[0][1][::-1], *rest], 0, 10)
        run_plain(SCALARS, SCALAR_PARAMETERS, [outs[1][0], outs[1][1][::-1], *rest], 0, 10)
        assert same_bits(outs[0][0], outs[1][0])
        np.testing.assert_allclose(outs[0][1], outs[1][1], rtol=1e-14, equal_nan=True)
        assert outs[0][1][-1] == (-5.0 if c else -2.75)


def test_single_precision_stays_single():
    parameters = buffers("f4", "f4", "f4")
    source = (
        "def kernel(w, lo, hi):\n    x = buffer(w, 0)\n    y = buffer(w, 1)\n"
        "    o = buffer(w, 2)\n    for i in range(lo, hi):\n        a = load(x, i)\n"
        "        b = -load(y, i)\n        c = select(a < b, a / b, a * f4(0.1) - b)\n"
        "        store(o, i, maximum(sqrt(absolute(c)), a) + minimum(a, b))\n"
    )
    kernel = compiled(source, parameters)
    assert "double" not in kernel.llvm
    assert kernel.packed_instructions() > 0


def test_float64_is_rounded_once_to_float16():
    halves = np.arange(0x7C00, dtype="u2").view("f2").astype("f8")
    ties = (halves[1:] + halves[:-1]) / 2
    near = [halves, ties, np.nextafter(ties, np.inf), np.nextafter(ties, 0), [65520.0, 65519.99]]
    x = np.concatenate(near)
    x = np.append(x, -x)
    parameters = buffers("f8", "f2")
    source = (
        "def kernel(w, lo, hi):\n    x = buffer(w, 0)\n    o = buffer(w, 1)\n"
        "    for i in range(lo, hi):\n        store(o, i, f2(load(x, i)))\n"
    )
    o = np.zeros(len(x), "f2")
    kernel = compiled(source, parameters)
    run_compiled(kernel, parameters, [x, o], 0, len(x))
    with np.errstate(over="ignore", under="ignore"):
        assert same_bits(o, x.astype("f2"))
    assert kernel.packed_instructions() > 0
