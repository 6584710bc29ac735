"""Every primitive: the evaluator and the generated source mean what NumPy does."""

import itertools

import numpy as np
import pytest

from axiomjit.base.dtypes import DTYPES
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.graph.primitives import ACCUMULATORS, PRIMITIVES, PROD
from tests.passes.graphs import evaluated, follow, in_numpy, lowered, quiet, run_plain_case
from tests.runtime.codegen.kernels import near, same_bits

FLOATS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e308, 0.5, -1.5]


def special(dtype):
    """The values at which operations on a dtype differ."""
    if dtype.kind == "b":
        return np.array([True, False])
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
        signed = [-1, -2, -7, low + 1] if low else [high // 2, high // 2 + 1]
        return np.array([0, 1, 2, 7, 8 * dtype.itemsize, low, high, *signed], dtype)
    info = np.finfo(dtype)
    if dtype.kind == "c":
        zeros = itertools.product([0.0, -0.0, 1.0, np.nan], repeat=2)
        far = [(np.inf, np.nan), (-np.inf, 1), (1, np.inf), (np.nan, -np.inf), (info.max, info.min)]
        near = [(info.smallest_subnormal, -info.tiny), (-2.5, 3), (3, -2), (2, 0)]
        return np.array([complex(*parts) for parts in (*zeros, *far, *near)], dtype)
    with quiet():
        plain = [v for v in FLOATS if not np.isfinite(v) or 1e-10 < abs(v) < 1e10 or v == 0]
        ends = [info.smallest_subnormal, -info.smallest_subnormal, info.max, info.min, info.tiny]
        return np.array([*plain, *ends, 2049.0, -0.1], dtype)


VALUES = {code: special(dtype) for code, dtype in DTYPES.items()}
# maximum and minimum of zeros of different sign: either is right (NumPy's depends on the CPU)
EITHER_ZERO = {"maximum", "minimum", "fmax", "fmin", "clip"}
WITH_UFUNC = [name for name, row in PRIMITIVES.items() if row.ufunc is not None]
ROWS = [(name, code) for name in WITH_UFUNC for code in sorted(PRIMITIVES[name].loops)]


def combinations(name, code):
    """Every combination of special values as operands."""
    values = VALUES[code]
    if name == "power":
        # small whole numbers, whose powers are exact: the last bit is the C library's
        values = values[np.isfinite(values) & (values == np.round(values)) & (abs(values) < 1e4)]
    columns = zip(*itertools.product(values, repeat=PRIMITIVES[name].arity), strict=True)
    return [np.array(column, DTYPES[code]) for column in columns]


def agree(one, other, either_zero=False):
    """Equal dtypes and bits; zeros of either sign where the sign is open."""
    if either_zero and one.dtype.kind in "fc":
        one, other = one + one.dtype.type(0), other + other.dtype.type(0)
    return same_bits(one, other)


@pytest.mark.parametrize(("name", "code"), ROWS)
def test_row_means_what_numpy_does(name, code):
    operands = combinations(name, code)
    ufunc = PRIMITIVES[name].ufunc

    def function(*operands):
        return ufunc(*operands)

    case = follow(function, *operands)
    want = in_numpy(function, operands)
    with quiet():
        planned = run_plain_case(case, lowered(case).plan)
    open_sign = name in EITHER_ZERO and code[0] != "c"
    assert agree(evaluated(case.graph, case)[0], want[0], open_sign)
    ulps = PRIMITIVES[name].ulps
    assert near(planned[0], want[0], ulps) if ulps else agree(planned[0], want[0], open_sign)


@pytest.mark.parametrize("source", VALUES)
@pytest.mark.parametrize("target", VALUES)
def test_casts(source, target):
    far = [3e9, -3e9, 300.5, -300.5, 40000.0, 2.0**31, 2.0**63, -(2.0**63), 1.8e19, 2.0**64]
    values = VALUES[source]
    with quiet():
        if values.dtype.kind in "fc":
            values = np.append(values, np.array(far, values.dtype))
        # NumPy's packed cast of what does not fit uint32 is not that of single elements
        want = np.array([value.astype(DTYPES[target]) for value in values])

    def function(x):
        return x.astype(DTYPES[target])

    case = follow(function, values)
    assert same_bits(run_plain_case(case, lowered(case).plan)[0], want)
    if target != "u4" or values.dtype.kind not in "fc":
        assert same_bits(evaluated(case.graph, case)[0], want)


@pytest.mark.parametrize("code", VALUES)
def test_where(code):
    x = VALUES[code]
    mask = np.arange(len(x)) % 2 == 0
    case = follow(lambda m, x: np.where(m, x, x[::-1]), mask, x)
    want = np.where(mask, x, x[::-1])
    assert same_bits(evaluated(case.graph, case)[0], want)
    assert same_bits(run_plain_case(case, lowered(case).plan)[0], want)


@pytest.mark.parametrize("name", ["max", "min", "sum"])
@pytest.mark.parametrize("code", VALUES)
def test_accumulators_over_special_values(name, code):
    fold = {"max": np.max, "min": np.min, "sum": np.sum}[name]
    for values in (VALUES[code], VALUES[code][:1], VALUES[code][2:6]):
        if values.size == 0:
            continue
        with quiet():
            want = np.asarray(fold(values))
        case = follow(fold, values)
        assert agree(evaluated(case.graph, case)[0], want, True)
        assert agree(run_plain_case(case, lowered(case).plan)[0], want, True)


def test_the_neutral_value_changes_nothing():
    for accumulator in ACCUMULATORS.values():
        for code in accumulator.loops:
            dtype = DTYPES[code]
            neutral, values = dtype.type(accumulator.initial(dtype)), VALUES[code]
            if accumulator is PROD and dtype.kind == "c":  # 1 + 0j times infinity has NaN parts
                values = values[np.isfinite(values)]
            with quiet():
                got = accumulator.reduce(np.full_like(values, neutral), values)
            assert agree(got, values, True), (accumulator, code)


def test_the_table_has_no_holes():
    for name, row in PRIMITIVES.items():
        assert row.name == name
        assert row.loops <= set(DTYPES)
        assert row.loops
        if row.arity > 0:
            assert f"{{{row.arity - 1}}}" in row.source
        assert f"{{{max(row.arity, 0)}}}" not in row.source
        assert row.ufunc is None or row.ufunc.nin == row.arity


KINDS = dict(DTYPES)
WEAK = {"int": 3, "float": 2.5, "bool": True, "complex": 2.5j}


def result_in_numpy(row, operands):
    """The dtype of the result, None where NumPy has no loop."""
    try:
        with quiet():
            return np.asarray(row.ufunc(*operands)).dtype
    except TypeError:
        return None


def result_here(row, operands):
    """The dtype of the result, or the error."""
    given = [value for value in operands if not isinstance(value, bool)]

    def function(x, y=None):
        values = iter((x, y))
        return row.ufunc(*(v if isinstance(v, bool) else next(values) for v in operands))

    try:
        return follow(function, *given).graph.outputs[0].dtype
    except (GraphTypeError, UnsupportedError) as error:
        return error


@pytest.mark.parametrize("name", [n for n in WITH_UFUNC if PRIMITIVES[n].arity == 2])
def test_promotion_is_numpys(name):
    row = PRIMITIVES[name]
    wrong = []
    sides = [*KINDS, *WEAK]
    for left, right in itertools.product(sides, sides):
        if left in WEAK and right in WEAK:
            continue
        operands = [
            np.ones(3, KINDS[side]) if side in KINDS else WEAK[side] for side in (left, right)
        ]
        want, got = result_in_numpy(row, operands), result_here(row, operands)
        refused = isinstance(got, GraphTypeError) if want is None else False
        # NumPy refuses negative ones by value
        uncompiled = name == "power" and isinstance(got, UnsupportedError) and want.kind in "iu"
        if got != want and not refused and not uncompiled:
            wrong.append((left, right, want, got))
    assert not wrong


@pytest.mark.parametrize("name", [n for n in WITH_UFUNC if PRIMITIVES[n].arity == 1])
@pytest.mark.parametrize("code", KINDS)
def test_dtypes_of_unary_functions_are_numpys(name, code):
    operands = [np.ones(3, KINDS[code])]
    want, got = result_in_numpy(PRIMITIVES[name], operands), result_here(PRIMITIVES[name], operands)
    if want is None:
        assert isinstance(got, GraphTypeError)
    else:
        assert got == want


def fails(call, error):
    """Whether a call raises an error of this type."""
    try:
        call()
    except Exception as raised:
        return isinstance(raised, error)
    return False


OUT_OF_RANGE = [("i1", 300), ("u1", -1), ("u8", -1), ("i8", 2**63), ("u4", 2**32), ("u8", 2**63)]


@pytest.mark.parametrize(("code", "number"), OUT_OF_RANGE)
@pytest.mark.parametrize("name", ["add", "maximum", "less", "equal", "left_shift"])
def test_python_integers_beyond_the_dtype(name, code, number):
    x = VALUES[code]

    def function(x):
        return getattr(np, name)(x, number)

    def reversed_function(x):
        return getattr(np, name)(number, x)

    for f in (function, reversed_function):
        if fails(lambda f=f: in_numpy(f, [x]), OverflowError):
            with pytest.raises(OverflowError, match="out of bounds for"):
                follow(f, x)
            continue
        case = follow(f, x)
        (want,) = in_numpy(f, [x])
        assert same_bits(evaluated(case.graph, case)[0], want)
        assert same_bits(run_plain_case(case, lowered(case).plan)[0], want)


@pytest.mark.parametrize("sign", ["less", "less_equal", "greater", "greater_equal", "equal"])
def test_signed_and_unsigned_are_compared_by_value(sign):
    x, y = (np.array(c) for c in zip(*itertools.product(VALUES["u8"], VALUES["i8"]), strict=True))
    for operands in ((x, y), (y, x)):
        case = follow(getattr(np, sign), *operands)
        want = in_numpy(getattr(np, sign), operands)[0]
        assert same_bits(evaluated(case.graph, case)[0], want)
        assert same_bits(run_plain_case(case, lowered(case).plan)[0], want)


def test_a_length_beyond_the_dtype_is_refused():
    x = np.zeros(300, "i1")
    with pytest.raises(OverflowError, match="Python integer 300 out of bounds for int8"):
        follow(lambda x: x + x.shape[0], x)
    assert follow(lambda x: x + x.shape[0], x[:100]).graph.outputs[0].dtype == np.int8


def test_products_of_narrow_integers_wrap():
    x = np.arange(-100, 100, dtype="i1").reshape(4, 50)
    for y in (x, x.astype("u1")):
        case = follow(lambda y: np.dot(y, y.T), y)
        assert same_bits(evaluated(case.graph, case)[0], np.dot(y, y.T))
        assert same_bits(run_plain_case(case, lowered(case).plan)[0], np.dot(y, y.T))
