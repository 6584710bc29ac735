"""Products of stacks of matrices in compiled functions: NumPy's matmul and einsum."""

import numpy as np
import pytest

import axiomjit as aj


def numbers(*shape, dtype="f8"):
    values = np.random.default_rng(len(shape)).normal(size=shape) * 4
    return values.astype(dtype)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3, 4, 5), (3, 5, 6)),
        ((3, 4, 5), (5, 6)),
        ((4, 5), (3, 5, 6)),
        ((2, 1, 4, 5), (3, 5, 6)),
        ((5,), (3, 5, 6)),
        ((3, 4, 5), (5,)),
        ((1, 40, 50), (7, 50, 30)),
        ((7, 40, 50), (7, 50, 30)),
    ],
)
def test_stacks_broadcast(left, right):
    x, y = numbers(*left), numbers(*right)
    f = aj.jit(lambda x, y: x @ y + 1.0)
    np.testing.assert_allclose(f(x, y), x @ y + 1.0)


@pytest.mark.parametrize("dtype", ["f2", "f4", "i4", "b1", "c16"])
def test_dtypes_are_numpys(dtype):
    x, y = numbers(3, 4, 5, dtype=dtype), numbers(3, 5, 2, dtype=dtype)
    got, want = aj.jit(np.matmul)(x, y), np.matmul(x, y)
    assert got.dtype == want.dtype
    np.testing.assert_allclose(got, want, rtol=2e-3 if dtype == "f2" else 1e-5)


def test_lengths_may_change():
    f = aj.jit(lambda x, y: np.matmul(x, y))
    for n in (5, 40, 50):
        x, y = numbers(n, 30, 20), numbers(n, 20, 40)
        np.testing.assert_allclose(f(x, y), x @ y)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="lengths 5 .* and 4"):
        aj.jit(np.matmul)(numbers(3, 4, 5), numbers(3, 4, 5))
    with pytest.raises(ValueError, match="lengths 3 and 2"):
        aj.jit(np.matmul)(numbers(3, 4, 5), numbers(2, 5, 4))


def test_einsum_is_compiled():
    x, y, z = numbers(6, 7), numbers(7, 8), numbers(8, 3)
    f = aj.jit(lambda x, y, z: np.einsum("ij,jk,kl->li", x, y, z, optimize=True) * 2.0)
    np.testing.assert_allclose(f(x, y, z), (x @ y @ z).T * 2)
    with pytest.raises(TypeError, match="the option dtype of einsum"):
        aj.jit(lambda x: np.einsum("ij->ji", x, dtype="f4"), strict=True)(x)


@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 3, 3)])
def test_in_place_the_other_operand_is_a_matrix(shape):
    def product(x, y):
        x @= y

    f = aj.jit(product)
    got, want = numbers(*shape), numbers(*shape)
    f(got, np.eye(3)[::-1])
    product(want, np.eye(3)[::-1])
    np.testing.assert_allclose(got, want)
    for function in (product, f):
        with pytest.raises(ValueError, match="the second at least two dimensions"):
            function(got, np.ones(3))
    np.testing.assert_allclose(got, want)
