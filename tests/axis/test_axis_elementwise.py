"""Every elementwise function of the table, under NumPy's names, of axes in any order."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.axis.elementwise import FUNCTIONS, UFUNCS
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.numpy_rules.elementwise import UFUNCS as TABLE
from tests.passes.graphs import quiet
from tests.runtime.codegen.kernels import near

pytestmark = pytest.mark.usefixtures("evaluator")  # kernels of these are tested elsewhere

H, W = aj.make_axis(2, "H"), aj.make_axis(3, "W")
LETTERS = np.array([[3, 1, 4], [1, 5, 9]])
OTHERS = np.array([[2, 7], [1, 8], [2, 8]])


def test_each_row_of_the_table_has_its_functions():
    numpys = ((name, getattr(np, name)) for name in dir(np))
    names = {name for name, u in numpys if isinstance(u, np.ufunc) and u in UFUNCS}
    assert names <= set(FUNCTIONS) <= set(aj.__all__)
    rows = {row.ufunc for row in PRIMITIVES.values() if row.ufunc is not None}
    assert {ufunc for ufunc in rows if ufunc.__name__ != "clip"} <= UFUNCS <= set(TABLE)
    for name in ("conj", "bitwise_xor", "logical_and", "floordivide", "mod", "square", "power"):
        assert getattr(aj, name).__name__ == name
        assert "Returns:" in getattr(aj, name).__doc__


def operands(ufunc, code):
    """Values in a dtype, the second one with its axes in the other order."""
    arrays = LETTERS.astype(code), OTHERS.astype(code)
    axes = [H, W], [W, H]
    return arrays[: ufunc.nin], axes[: ufunc.nin]


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_functions_mean_what_numpy_does(name):
    ufunc = np.floor_divide if name == "floordivide" else getattr(np, name)
    done, refused = 0, []
    for code in ("b1", "i4", "u8", "f4", "f8", "c16"):
        arrays, axes = operands(ufunc, code)
        tensors = [aj.constant(*pair) for pair in zip(arrays, axes, strict=True)]
        try:
            with quiet():
                expected = ufunc(*(a if k == 0 else a.T for k, a in enumerate(arrays)))
        except (TypeError, ValueError):
            with pytest.raises((GraphTypeError, ValueError)):
                FUNCTIONS[name](*tensors)
            continue
        try:
            result = FUNCTIONS[name](*tensors)
        except (UnsupportedError, GraphTypeError) as error:
            refused.append(error.seen)
            continue
        assert list(result.axes) == [H, W]
        assert result.dtype == expected.dtype
        with quiet():
            assert near(np.asarray(result), expected, 2), (name, code)
        done += 1
    assert done >= 1
    # The table says what is compiled.
    assert name in ("power", "pow") or all("is not compiled" in seen for seen in refused)


def test_numbers_are_weak():
    x = aj.constant(LETTERS.astype("f4"), [H, W])
    assert (x + 1.5).dtype == aj.maximum(2, x).dtype == (x**2).dtype == np.float32
    assert (x + np.float64(1)).dtype == np.float64
    assert aj.add(1, 2).dtype == np.int64
    assert np.asarray(aj.add(1, 2)) == 3
    with pytest.raises(OverflowError, match="300 out of bounds for int8"):
        aj.constant(LETTERS.astype("i1"), [H, W]) + 300


def test_a_dtype_for_two_operands():
    x, y = aj.constant(LETTERS, [H, W]), aj.constant(OTHERS.astype("f4"), [W, H])
    for name in ("add", "subtract", "multiply", "divide", "mod", "maximum", "power", "floordivide"):
        result = FUNCTIONS[name](x, y, dtype="f4")
        assert result.dtype == np.float32
        ufunc = np.floor_divide if name == "floordivide" else getattr(np, name)
        wanted = ufunc(LETTERS, OTHERS.T.astype("f4"), dtype="f4", casting="same_kind")
        np.testing.assert_allclose(np.asarray(result), wanted, rtol=1e-6)
    assert aj.add(x, 1, dtype=np.float64).dtype == np.float64


@pytest.mark.parametrize(
    ("operator", "ufunc"),
    [
        (lambda x, y: x // y, np.floor_divide),
        (lambda x, y: x % y, np.remainder),
        (lambda x, y: x & y, np.bitwise_and),
        (lambda x, y: x | y, np.bitwise_or),
        (lambda x, y: x ^ y, np.bitwise_xor),
        (lambda x, y: x << y, np.left_shift),
        (lambda x, y: x >> y, np.right_shift),
        (lambda x, y: ~x, lambda x, y: np.invert(x)),
        (lambda x, y: +x, lambda x, y: +x),
    ],
)
def test_operators_on_both_sides(operator, ufunc):
    x, y = aj.constant(LETTERS, [H, W]), aj.constant(OTHERS, [W, H])
    np.testing.assert_array_equal(np.asarray(operator(x, y)), ufunc(LETTERS, OTHERS.T))
    for left, right in ((x, 2), (29, x)):
        if isinstance(left, int) and operator(1, 1) in (-2,):  # unary
            continue
        a, b = (LETTERS if value is x else value for value in (left, right))
        np.testing.assert_array_equal(np.asarray(operator(left, right)), ufunc(a, b))


def test_limits():
    x, low = aj.constant(LETTERS, [H, W]), aj.constant([2, 3, 4], [W])
    np.testing.assert_array_equal(aj.clip(x, low, None), np.clip(LETTERS, [2, 3, 4], None))
    np.testing.assert_array_equal(aj.clip(x, 2, 4), np.clip(LETTERS, 2, 4))
    np.testing.assert_array_equal(aj.clip(x, None, None), LETTERS)
    narrow = aj.clip(aj.astype(x, "i1"), -1000, 4)  # what int8 cannot hold is no limit
    assert narrow.dtype == np.int8
    np.testing.assert_array_equal(narrow, np.clip(LETTERS, None, 4))
    with pytest.raises(OverflowError):
        aj.clip(aj.astype(x, "i1"), 1000, None).eval()


def test_conversion():
    x = aj.constant(LETTERS * 1.5, [H, W])
    assert aj.astype(x, float) is x
    np.testing.assert_array_equal(aj.astype(x, int), (LETTERS * 1.5).astype(int))
    assert aj.astype(x > 3, "f4").dtype == np.float32
