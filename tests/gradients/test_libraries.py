"""The pullbacks of NumPy's functions of entire arrays, and of SciPy's ufuncs."""

import numpy as np
import pytest

from tests.gradients.evaluated import check

R = np.random.default_rng(2)
X = R.normal(size=(4, 6))


def real(function):
    """A function of complex numbers as one of real parts, imaginary parts and weights."""

    def parts(a, b):
        made = function(a + 1j * b)
        return made.real * 0.7 + made.imag * 1.3

    return parts


TRANSFORMS = [
    *(
        (name, {"axis": axis, "norm": norm})
        for name in ("fft", "ifft")
        for axis, norm in ((1, None), (0, "ortho"))
    ),
    *(
        (name, options)
        for name in ("rfft", "irfft", "hfft", "ihfft")
        for options in ({}, {"axis": 0, "norm": "ortho"}, {"n": 5}, {"n": 9, "norm": "forward"})
    ),
    *((name, {"n": n}) for name in ("fft", "ifft") for n in (4, 8)),
    *((name, {}) for name in ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "irfftn")),
    ("rfftn", {"s": (3, 5), "axes": (0, 1)}),
]


@pytest.mark.parametrize(("name", "options"), TRANSFORMS)
def test_transforms(name, options):
    function = getattr(np.fft, name)
    if name.startswith(("rfft", "ihfft")):
        check(lambda x: (y := function(x, **options)).real * 0.7 + y.imag * 1.3, X)
    else:
        check(real(lambda x: function(x, **options)), X, X[::-1].copy())


def test_convolutions():
    for mode in ("full", "same", "valid"):
        for function in (np.convolve, np.correlate):
            check(lambda a, v, m=mode, f=function: f(a, v, m), X[0], X[1, :3])
            check(lambda a, v, m=mode, f=function: f(a, v, m), X[1, :3], X[0])
