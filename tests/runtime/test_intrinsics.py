"""Every name of the kernel language means the same compiled and plain, special values included."""

import numpy as np
import pytest

from axiomjit.runtime.compile_source import compile_source
from axiomjit.runtime.plain import run_plain
from tests.runtime.kernels import LENGTH, Parameter, buffers, run_compiled, same_bits

TARGETS = ("b1", "i8", "f4", "f8")
COMPARISONS = tuple((f"x {sign} y", "b1") for sign in ("<", "<=", ">", ">=", "==", "!="))
CASTS = tuple((f"{code}(x)", code) for code in TARGETS)


def rows_for(code):
    """(expression in x and y of dtype `code`, dtype of the result)."""
    if code == "b1":
        same = ("x & y", "x | y", "x ^ y", "~x", "maximum(x, y)", "minimum(x, y)", "absolute(x)")
        return tuple((e, code) for e in same) + CASTS + (("select(x, x, y)", code), *COMPARISONS)
    same = ("x + y", "x - y", "x * y", "-x", "maximum(x, y)", "minimum(x, y)", "absolute(x)")
    same += ("select(x < y, x, y)", "select(isnan(x), y, x)", f"x + {code}(7)")
    same += ("add_reassoc(x, y)", "mul_reassoc(x, y)")
    extra = (("(x < y) ^ (x != x)", "b1"), ("isnan(x) | ~(x == y)", "b1"))
    if code in ("f4", "f8"):
        same += ("x / y", "sqrt(x)", f"x * {code}(0.1)", f"x + {code}(inf)", f"x + {code}(nan)")
    return tuple((e, code) for e in same) + CASTS + COMPARISONS + extra


def source_of(rows):
    """A kernel that evaluates all rows, each into its stretch of the buffer of its dtype."""
    lines = ["def kernel(w, lo, hi):", "    a = buffer(w, 0)", "    b = buffer(w, 1)"]
    lines += [f"    o_{code} = buffer(w, {2 + k})" for k, code in enumerate(TARGETS)]
    lines += ["    n = length(w, 6)", "    for i in range(lo, hi):"]
    lines += ["        x = load(a, i)", "        y = load(b, i)"]
    lines += [f"        store(o_{t}, {k} * n + i, {e})" for k, (e, t) in enumerate(rows)]
    return "\n".join(lines) + "\n"


def special_pairs(code):
    """All pairs of the values at which operations differ."""
    if code == "b1":
        values = np.array([False, True])
    elif code == "i8":
        ends = np.iinfo(np.int64)
        values = np.array([0, 1, -1, 3, -7, ends.min, ends.min + 1, ends.max, 1 << 53, 2**24 + 1])
    else:
        info = np.finfo(code)
        values = [0.0, -0.0, 1.0, -1.5, 2.5, np.inf, -np.inf, np.nan, info.tiny, info.max]
        values += [info.smallest_subnormal, -info.smallest_subnormal, 9.3e18, -9.3e18, 2.0**63]
        values = np.array([*values, -(2.0**63), 0.1, 3e38], code)
    x, y = np.meshgrid(values, values)
    return x.ravel(), y.ravel()


def run_rows(run, code):
    """Result of `run(parameters, arguments, n)` for all rows of a dtype."""
    x, y = special_pairs(code)
    rows, n = rows_for(code), len(x)
    parameters = (*buffers(code, code, *TARGETS), LENGTH)
    outs = [np.zeros(len(rows) * n, bool if t == "b1" else t) for t in TARGETS]
    run(parameters, [x, y, *outs, n], n)
    by_code = dict(zip(TARGETS, outs, strict=True))
    return [by_code[target][k * n : (k + 1) * n] for k, (_, target) in enumerate(rows)], (x, y)


@pytest.fixture(scope="module", params=TARGETS)
def results(request):
    """Per dtype: the rows, their compiled and plain results, and the operands."""
    code = request.param
    source = source_of(rows_for(code))

    def compiled(parameters, arguments, n):
        kernel = compile_source(source, parameters)
        assert run_compiled(kernel, parameters, arguments, 0, n) == 0

    def plain(parameters, arguments, n):
        run_plain(source, parameters, arguments, 0, n)

    machine, operands = run_rows(compiled, code)
    return code, rows_for(code), machine, run_rows(plain, code)[0], operands


def test_compiled_and_plain_agree_bit_for_bit(results):
    code, rows, machine, plain, _ = results
    wrong = [e for (e, _), m, p in zip(rows, machine, plain, strict=True) if not same_bits(m, p)]
    assert not wrong, code


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_results_are_numpys(results):
    code, rows, machine, _, (x, y) = results
    got = {expression: result for (expression, _), result in zip(rows, machine, strict=True)}
    expected = {"maximum(x, y)": np.maximum(x, y), "absolute(x)": np.absolute(x), "x < y": x < y}
    expected |= {"minimum(x, y)": np.minimum(x, y), "x != y": x != y, "x >= y": x >= y}
    expected |= {f"{target}(x)": x.astype(got[f"{target}(x)"].dtype) for target in TARGETS}
    if code != "b1":
        expected |= {"x + y": x + y, "x - y": x - y, "x * y": x * y, "-x": -x}
    if code in ("f4", "f8"):
        expected |= {
            "x / y": x / y,
            "sqrt(x)": np.sqrt(x),
            f"x * {code}(0.1)": x * x.dtype.type(0.1),
        }
    for expression, value in expected.items():
        if expression.startswith("m"):  # NumPy leaves open which zero is the greater
            value, got[expression] = (
                value + value.dtype.type(0),
                got[expression] + value.dtype.type(0),
            )
        assert same_bits(got[expression], value), (code, expression)


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
    kernel = compile_source(source, parameters)
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
    i = lo
    while i < hi:
        if i & 1:
            store(p, -i, power(t, f8(load(cells, (i >> 1) // 2 + n - n))))
        else:
            store(p, -i, select(c, f8(k), t))
        store(o, i, load(cells, min(i, 7)) + s)
        i = i + 1
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
    kernel = compile_source(SCALARS, SCALAR_PARAMETERS)
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
    kernel = compile_source(source, parameters)
    assert "double" not in kernel.llvm
    assert kernel.packed_instructions() > 0
