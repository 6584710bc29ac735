"""The base of array values: a policy is enough for a new kind of array."""

import operator

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.array_values import COMPARISONS, INFIX, OPERATOR_UFUNCS, ArrayValue

X = np.array([7, 3, 1, 5])


class Late(ArrayValue):
    """An array that is computed when its values are needed."""

    def __init__(self, compute):
        self.compute = compute

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self.compute(), dtype)

    def __iter__(self):
        return iter(np.asarray(self))

    def _value(self, use):
        return np.asarray(self)

    def _ufunc(self, ufunc, method, operands, options):
        return Late(lambda: getattr(ufunc, method)(*map(np.asarray, operands)))

    def _function(self, function, operands, options):
        return Late(lambda: super(Late, self)._function(function, operands, options))


@pytest.mark.parametrize("name", [*INFIX, *COMPARISONS])
def test_a_policy_is_enough_for_operators(name):
    apply = getattr(operator, f"__{name}__")
    late = Late(lambda: X)
    for left, right in ((late, X), (late, late), (X, late)):
        made = apply(left, right)
        assert type(made) is Late
        np.testing.assert_array_equal(np.asarray(made), apply(X, X))


def test_a_policy_decides_on_functions_values_and_iteration():
    x = Late(lambda: X)
    assert type(np.sum(x)) is Late
    assert (int(np.sum(x)), float(np.max(x)), bool(np.all(x))) == (16, 7.0, True)
    assert [*x] == [*X]


@pytest.mark.parametrize("name", ["matmul", "divmod"])
def test_products_and_divmod_have_no_sign_in_the_tables(name):
    apply = divmod if name == "divmod" else operator.matmul
    np.testing.assert_array_equal(np.asarray(apply(Late(lambda: X), X)), apply(X, X))
    assert OPERATOR_UFUNCS[name] is getattr(np, name)


def test_an_operand_that_disables_ufuncs_is_asked_first():
    class Other:
        __array_ufunc__ = None

        def __radd__(self, other):
            return "asked"

    assert Late(lambda: X) + Other() == "asked"


@pytest.mark.parametrize("convert", [float, int, complex])
def test_values_that_are_not_known_are_refused(convert):
    for value in (aj.constant(X, aj.make_axis(4, "H")), aj.tensor(X)):
        with pytest.raises(TypeError, match=rf"{convert.__name__}\(\) argument must be"):
            convert(value)


def test_functions_of_numpy_take_the_values_of_shaped_tensors():
    x = aj.tensor(X)
    np.testing.assert_array_equal(np.sort(x), np.sort(X))
    made = aj.jit(lambda y: np.where(y > 2, y, 0))(X)
    np.testing.assert_array_equal(np.where(x, made, X), np.where(X, made, X))
