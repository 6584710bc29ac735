"""NumPy's `fft` in compiled functions: steps of NumPy's between kernels."""

import numpy as np
import pytest

import axiomjit as aj
from axiomjit.passes.ir.print_program import print_program
from tests.numpy_rules.library_cases import (
    assert_as_numpy,
    assert_equal,
    assert_in_layouts,
    layouts,
    outcome,
)
from tests.passes.graphs import follow, lowered

RNG = np.random.default_rng(6)
CODES = ["f4", "f8", "c8", "c16", "i4", "b1", "f2"]
ALONG = ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"]
SEVERAL = ["fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn"]


def values(code, *shape):
    a = RNG.normal(size=shape) * 4
    return (a + 1j * a[::-1]).astype(code) if code[0] == "c" else a.astype(code)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", ALONG)
def test_along_one_axis(name, code):
    transform = getattr(np.fft, name)
    a = values(code, 6, 5)
    assert_in_layouts(lambda a: transform(a), a)
    assert_in_layouts(lambda a: transform(a, axis=0, norm="ortho"), a)
    for n in (1, 4, 9):
        assert_as_numpy(lambda a, n=n: transform(a, n, norm="forward"), a)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("name", SEVERAL)
def test_along_several_axes(name, code):
    transform = getattr(np.fft, name)
    a = values(code, 4, 6, 5)
    assert_in_layouts(lambda a: transform(a), a)
    assert_in_layouts(lambda a: transform(a, axes=(1, 0), norm="ortho"), a)
    assert_in_layouts(lambda a: transform(a, s=(3, 8), axes=(0, 2)), a)
    assert_in_layouts(lambda a: transform(a, s=(-1, 4), axes=(0, 2)), a)


@pytest.mark.parametrize("name", ["fftshift", "ifftshift"])
def test_shifts(name):
    shift = getattr(np.fft, name)
    for a in layouts(values("c16", 5, 6)):
        assert_as_numpy(lambda a: shift(a), a)
        assert_as_numpy(lambda a: shift(a, axes=0), a)
        assert_as_numpy(lambda a: shift(a, axes=(1,)) * 2, a)


def test_lengths_of_the_call_are_points():
    for function in (
        lambda a: np.fft.fft(a, a.shape[0] * 2),
        lambda a: np.fft.rfft(a, a.shape[0] + 1),
        lambda a: np.fft.irfft(np.fft.rfft(a), a.size),
        lambda a: np.fft.fftfreq(a.shape[0], 0.1) + a,
        lambda a: np.fft.rfftfreq(a.shape[0]) * np.abs(np.fft.rfft(a)),
    ):
        for n in (6, 7, 12):
            assert_as_numpy(function, values("f8", n), rtol=1e-13)


REFUSED = {
    "points": (lambda a: np.fft.fft(a, 0), np.ones(3)),
    "no elements": (np.fft.fft, np.ones(0)),
    "norm": (lambda a: np.fft.fft(a, norm="other"), np.ones(3)),
    "axis": (lambda a: np.fft.fft(a, 4, axis=3), np.ones(3)),
    "complex": (np.fft.rfft, np.ones(4, "c16")),
    "lengths": (lambda a: np.fft.fft2(a, s=(1, 2, 3)), np.ones((3, 3))),
}


@pytest.mark.parametrize("name", REFUSED)
def test_errors_are_numpys(name):
    function, a = REFUSED[name]
    want, found = outcome(function, (a,)), outcome(aj.jit(lambda a: function(a)), (a,))
    assert found == want


def test_what_stands_around_is_compiled(golden):
    def low(x):
        return np.abs(np.fft.fft(x * 2)) + 1

    for n in (16, 33, 100):
        assert_as_numpy(low, values("f8", n), rtol=1e-13)
    x = values("f8", 16)
    golden(print_program(lowered(follow(low, x)).plan))
    compiled = aj.jit(low)
    compiled(x)
    before = aj.stats()
    assert_equal(compiled(x), low(x), 1e-13)
    after = aj.stats()
    assert after["kernels_run"] - before["kernels_run"] == 2
    assert after["library_calls"] - before["library_calls"] == 1
    compiled(values("f8", 77))
    assert aj.stats()["compiles"] == after["compiles"]
