"""Words as elements of other dtypes, for arrays and every kind of tensor."""

from unittest.mock import patch

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.base.config import config
from axiomjit.base.errors import GraphTypeError

WORDS = np.random.default_rng(0).integers(0, 2**32, (6, 4), np.uint32)
DTYPES = ["i1", "u2", "f2", "u4", "i4", "f4", "i8", "f8", "c8", "c16"]


def expected(words, dtype):
    """What NumPy sees in the memory of the words."""
    return np.ascontiguousarray(words).view(dtype).reshape(-1)


def same_bits(got, want):
    assert (got.dtype, got.shape) == (want.dtype, want.shape)
    np.testing.assert_array_equal(got.reshape(-1).view(np.uint8), want.reshape(-1).view(np.uint8))


@pytest.mark.parametrize("dtype", DTYPES)
def test_values_are_those_of_a_view(dtype):
    want = expected(WORDS, dtype)
    assert len(want) == 16 * 6 // np.dtype(dtype).itemsize
    same_bits(aj.bitcast(WORDS, dtype), want)
    same_bits(aj.jit(lambda words: aj.bitcast(words, dtype))(WORDS), want)
    same_bits(np.asarray(aj.bitcast(aj.tensor(WORDS, exact=True), dtype)), want)
    axes = aj.make_axis(6), aj.make_axis(4)
    same_bits(aj.bitcast(aj.constant(WORDS, axes), dtype).eval().values, want)


def test_any_layout_and_computed_words():
    turned = np.asfortranarray(WORDS)[::-1]
    same_bits(aj.bitcast(turned, "f4"), expected(turned, "f4"))

    @aj.jit
    def numbers(words):
        return aj.bitcast(words ^ np.uint32(5), "u2") * np.uint16(3)

    same_bits(numbers(turned), expected(turned ^ np.uint32(5), "u2") * np.uint16(3))
    with patch.object(config, "disable", True):
        same_bits(numbers(turned), expected(turned ^ np.uint32(5), "u2") * np.uint16(3))


def test_results_are_fresh():
    words = WORDS.copy()
    result = aj.bitcast(words, "u4")
    result[:] = 0
    np.testing.assert_array_equal(words, WORDS)


def test_bytes_as_bools_are_true_or_false():
    words = np.array([[0, 256, 2, 0]], np.uint32)
    want = expected(words, "u1") != 0
    for got in (aj.bitcast(words, bool), aj.jit(lambda w: aj.bitcast(w, bool))(words)):
        same_bits(got, want)


def test_the_shape_of_a_tensor_is_inferred():
    words = aj.tensor(WORDS, exact=True)
    noise = aj.bitcast(words, "u4")
    noise.shape.equate(aj.Shape.parse("4,6"))
    same_bits(np.asarray(noise), expected(WORDS, "u4").reshape(4, 6))
    added = aj.bitcast(words, "f8") + aj.tensor(np.zeros((3, 4)), exact=True)
    assert added.shape.dims == (3, 4)
    want = expected(WORDS, "f8").reshape(3, 4) + 0.0
    same_bits(np.asarray(added), want)


def test_no_words():
    assert aj.bitcast(WORDS[:0], "f4").shape == (0,)
    assert aj.jit(lambda words: aj.bitcast(words, "f4"))(WORDS[:0]).shape == (0,)


def test_another_length_needs_no_compile():
    function = aj.jit(lambda words: aj.bitcast(words, "f4") + np.float32(1))
    for count in (6, 5):
        want = expected(WORDS[:count], "f4") + np.float32(1)
        same_bits(function(WORDS[:count]), want)
    assert function.cache_info().traced == 1


@pytest.mark.parametrize(
    ("words", "dtype", "error", "message"),
    [
        (WORDS.astype("i8"), "f4", GraphTypeError, "words of dtype int64"),
        (WORDS[:, :3], "f4", aj.ShapeError, r"words of shape [(\[]6, 3"),
        (WORDS[0], "f4", aj.ShapeError, r"words of shape [(\[]4"),
        (WORDS, "S4", GraphTypeError, "elements of dtype"),
    ],
)
def test_refused(words, dtype, error, message):
    with pytest.raises(error, match=message):
        aj.bitcast(words, dtype)
    if dtype == "f4":
        with pytest.raises(error, match=message):
            aj.jit(lambda w: aj.bitcast(w, dtype))(words)
