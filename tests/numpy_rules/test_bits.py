"""Views of arrays with elements of another dtype of the same size: `x.view(dtype)`."""

import numpy as np
import pytest

import axiomjit
from axiomjit.base.dtypes import DTYPES
from tests.graph.test_primitives import VALUES
from tests.numpy_rules.test_elements import layouts
from tests.numpy_rules.test_numpy_functions import assert_as_in_numpy

REAL = sorted(code for code in DTYPES if code[0] in "iuf")
PAIRS = [(one, other) for one in REAL for other in REAL if one[1:] == other[1:]]
PAIRS += [("b1", "i1"), ("b1", "u1")]


@pytest.mark.parametrize(("code", "seen"), PAIRS)
def test_bits_of_elements(code, seen):
    back = seen if code == "b1" else code
    for array in layouts(VALUES[code]):
        assert_as_in_numpy(lambda x: (x.view(seen)[..., ::-1], x[1:].view(seen) + 1), array)
        assert_as_in_numpy(lambda x: (x + x).view(seen), array)
        assert_as_in_numpy(lambda x: x.T.view(seen).view(back), array)


def agree(function, *arguments):
    """Compiled calls return, write and share the same memory as NumPy's."""
    compiled = axiomjit.jit(function, strict=True)
    for _ in range(3):
        mine, others = ([np.copy(a, order="K") for a in arguments] for _ in range(2))
        found, want = compiled(*mine), function(*others)
        for one, other in zip((found, *mine), (want, *others), strict=True):
            assert (type(one), one.dtype, one.strides) == (type(other), other.dtype, other.strides)
            np.testing.assert_array_equal(one, other)
        pairs = zip(mine, others, strict=True)
        for one, other in pairs:
            assert np.shares_memory(found, one) == np.shares_memory(want, other)


GRID = np.linspace(-2, 2, 12).reshape(3, 4)


@pytest.mark.parametrize("array", [GRID, GRID.T, GRID[::-1, ::2], np.asfortranarray(GRID)])
@pytest.mark.parametrize("code", ["f8", "f4", "f2"])
def test_results_are_views(array, code):
    x, word = array.astype(code), f"i{code[1]}"
    for function in (
        lambda x: x.view(),
        lambda x: x.view(np.ndarray),
        lambda x: x.view(x.dtype)[1:],
        lambda x: x.view(word),
        lambda x: x.T.view(word)[::2],
        lambda x: (x * 2).view(word).T,
        lambda x: np.sort(x.view(word), axis=0),
        lambda x: x.view(word)[x > 0],
        lambda x: x.view(word).take([1, 0], axis=1),
        lambda x: x[1, 1].view(word),
        lambda x: x.view(word).sum(axis=0),
    ):
        agree(function, x)


@pytest.mark.parametrize("array", [GRID, GRID.T, GRID[::-1, ::2]])
def test_writes_through_views(array):
    def signs(x):
        x.view("u8")[1:] |= np.uint64(1 << 63)
        return x * 2

    def both(x):
        seen = x.view(np.int64)
        x[0] = 5
        seen += 1
        seen[1, [0, 1]] = 7
        seen[x > 0] = 0
        return seen

    def parts(x):
        z = x + 1j * x
        z.real.view("i8")[1:] ^= -(2**63)
        z.imag.view("u8").view("f8")[0] = x[0].view("i8")
        return z

    for function in (signs, both, parts):
        agree(function, array)


def test_a_root_by_its_bits():
    def root(x):
        first = (0x5F3759DF - (x.view(np.int32) >> 1)).view(np.float32)
        return first * (np.float32(1.5) - np.float32(0.5) * x * first * first)

    agree(root, np.linspace(0.1, 9, 50, dtype="f4"))


OTHERS = {
    "sizes": lambda x: x.view("f4"),
    "complex": lambda x: x.view("c16"),
    "bytes": lambda x: x.view("S8"),
    "order": lambda x: x.view(">i8"),
    "classes": lambda x: x.view(np.matrix),
}


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_other_views_are_numpys(name):
    x = np.arange(8.0)
    found, want = axiomjit.jit(OTHERS[name])(x), OTHERS[name](x)
    assert (type(found), found.dtype) == (type(want), want.dtype)
    assert np.shares_memory(found, x)
    np.testing.assert_array_equal(found, want)


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_bools_are_not_written_as_bytes():
    def function(x):
        mask = x > 0
        mask.view(np.uint8)[0] = 1
        return mask

    assert axiomjit.jit(function)(np.zeros(3)).tolist() == [True, False, False]
    assert axiomjit.jit(lambda x: (x > 0).view(np.uint8).sum(), strict=True)(np.ones(3)) == 3
