"""Every primitive: the evaluator and the generated source mean what NumPy does."""

import itertools

import numpy as np
import pytest

from axiomjit.dtypes import DTYPES
from axiomjit.errors import GraphTypeError, UnsupportedError
from axiomjit.primitives import ACCUMULATORS, PRIMITIVES
from tests.graphs import evaluated, follow, in_numpy, lowered, quiet, run_plain_case
from tests.runtime.kernels import same_bits

FLOATS = [0.0, -0.0, 1.0, -2.5, np.inf, -np.inf, np.nan, 5e-324, -5e-324, 1e308]
VALUES = {
    "b1": np.array([True, False]),
    "i8": np.array([0, 1, -1, 7, 2**63 - 1, -(2**63)]),
    "f4": np.array([*FLOATS[:7], 1e-45, -1e-45, 3e38], "f4"),
    "f8": np.array(FLOATS),
}
# maximum and minimum of zeros of different sign: either is right (NumPy's depends on the CPU)
EITHER_ZERO = {"maximum", "minimum"}
WITH_UFUNC = [name for name, row in PRIMITIVES.items() if row.ufunc is not None]
ROWS = [(name, code) for name in WITH_UFUNC for code in sorted(PRIMITIVES[name].loops)]


def combinations(name, code):
    """Every combination of special values as operands."""
    values = VALUES[code]
    if name == "power":
        values = values[np.abs(values) < 1e30]
    columns = zip(*itertools.product(values, repeat=PRIMITIVES[name].arity), strict=True)
    return [np.array(column, DTYPES[code]) for column in columns]


def agree(one, other, either_zero=False):
    """Equal dtypes and bits; zeros of either sign where the sign is open."""
    if either_zero and one.dtype.kind == "f":
        one, other = one + one.dtype.type(0), other + other.dtype.type(0)
    return same_bits(one, other)


@pytest.mark.parametrize(("name", "code"), ROWS)
def test_row_means_what_numpy_does(name, code):
    operands = combinations(name, code)
    ufunc = PRIMITIVES[name].ufunc

    def function(x, y=None):
        return ufunc(x) if y is None else ufunc(x, y)

    case = follow(function, *operands)
    want = in_numpy(function, operands)
    with quiet():
        planned = run_plain_case(case, lowered(case).plan)
    assert agree(evaluated(case.graph, case)[0], want[0], name in EITHER_ZERO)
    assert agree(planned[0], want[0], name in EITHER_ZERO)


@pytest.mark.parametrize("source", VALUES)
@pytest.mark.parametrize("target", VALUES)
def test_casts(source, target):
    values = VALUES[source]
    if target == "i8" and values.dtype.kind == "f":
        values = values[np.isfinite(values) & (np.abs(values) < 2.0**62)]

    def function(x):
        return x.astype(DTYPES[target])

    case = follow(function, values)
    planned = run_plain_case(case, lowered(case).plan)
    with quiet():
        want = values.astype(DTYPES[target])
    assert same_bits(evaluated(case.graph, case)[0], want)
    assert same_bits(planned[0], want)


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
            neutral = dtype.type(accumulator.initial(dtype))
            with quiet():
                got = accumulator.reduce(np.full_like(VALUES[code], neutral), VALUES[code])
            assert agree(got, VALUES[code], True), (accumulator, code)


def test_the_table_has_no_holes():
    for name, row in PRIMITIVES.items():
        assert row.name == name
        assert row.loops <= set(DTYPES)
        assert row.loops
        assert f"{{{row.arity - 1}}}" in row.source
        assert f"{{{row.arity}}}" not in row.source
        assert row.ufunc is None or row.ufunc.nin == row.arity


KINDS = dict(DTYPES)
WEAK = {"int": 3, "float": 2.5}


@pytest.mark.parametrize("name", WITH_UFUNC)
@pytest.mark.parametrize("left", [*KINDS, *WEAK])
@pytest.mark.parametrize("right", [*KINDS, *WEAK])
def test_dtypes_are_those_of_numpy(name, left, right):
    row = PRIMITIVES[name]
    operands = [WEAK.get(side) for side in (left, right)][: row.arity]
    operands = [
        np.ones(5, KINDS[side]) if value is None else value
        for value, side in zip(operands, (left, right), strict=False)
    ]
    function = (lambda x: row.ufunc(x)) if row.arity == 1 else (lambda x, y: row.ufunc(x, y))
    try:
        with quiet():
            want = np.asarray(row.ufunc(*operands)).dtype
    except TypeError:
        want = None
    try:
        case = follow(function, *operands)
    except (GraphTypeError, UnsupportedError):
        # refused, where NumPy refuses or computes in what has no loop here
        kinds = {o.dtype for o in operands if isinstance(o, np.ndarray)}
        assert (
            want is None
            or want not in DTYPES.values()
            or np.dtype(bool) in kinds | {want}
            or (name == "power")
        )
    else:
        # of integers alone NumPy itself makes a number, no output of the graph
        assert [node.dtype for node in case.graph.outputs] in ([want], [])
        assert evaluated(case.graph, case)[0].dtype == want


@pytest.mark.parametrize("n", [3, -(2**62), 2**70])
@pytest.mark.parametrize("code", ["f8", "f4", "i8"])
def test_integer_arguments_in_graphs_and_plans(code, n):
    x = np.arange(5).astype(DTYPES[code])
    if code == "i8" and n == 2**70:
        n = 2**63 - 1
    case = follow(lambda x, n: x * n + (n + 1), x, n - 1)
    want = in_numpy(lambda x, n: x * n + (n + 1), (x, n - 1))[0]
    assert same_bits(evaluated(case.graph, case)[0], want)
    with quiet():
        assert same_bits(run_plain_case(case, lowered(case).plan)[0], want)
