"""SciPy's functions and what they write; skipped where SciPy is not there."""

import numpy as np
import pytest

from axiomjit.functions import libraries as known
from axiomjit.functions.known_calls import Kind, kind_of_call

linalg = pytest.importorskip("scipy.linalg")
from scipy import fft, stats  # noqa: E402
from scipy.linalg import blas, lapack  # noqa: E402

IN_PLACE = {"daxpy": {"y"}, "dcopy": {"y"}, "dscal": {"x"}, "dswap": {"x", "y"}}


def written(function):
    """The names of the arrays that a function may write without an option."""
    return {name for _, name, flag, _ in known.fortran_writes(function) if flag is None}


def test_functions_of_blas_that_write_without_an_option():
    every = {name: f for name, f in vars(blas).items() if known.is_fortran(f) and name[0] == "d"}
    assert len(every) > 20
    assert {name: written(f) for name, f in every.items() if written(f)} == IN_PLACE


def test_options_of_lapack():
    found = list(known.fortran_writes(lapack.dgesv))
    assert found == [(0, "a", 2, "overwrite_a"), (1, "b", 3, "overwrite_b")]
    a, b = np.eye(2), np.ones(2)
    changed = kind_of_call(lapack.dgesv).changed
    assert changed((a, b), {"overwrite_a": 0}) == []
    assert [one is b for one in changed((a, b, 0, 1), {})] == [True]


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (linalg.solve, "scipy.linalg.solve"),
        (fft.fft, "scipy.fft.fft"),
        (lapack.dgtsv, "scipy.linalg.lapack.dgtsv"),
        (linalg.get_lapack_funcs("gtsv"), "scipy.linalg.lapack.dgtsv"),
        (blas.dscal, "scipy.linalg.blas.dscal"),
    ],
)
def test_names_and_kinds(function, name):
    assert known.is_of_scipy(function)
    assert (kind_of_call(function).kind, known.public_name(function)) == (Kind.PURE, name)


class fortran:  # noqa: N801
    """A class named like that of f2py."""

    _cpointer = None


def test_others_are_not_scipys():
    for other in (fortran(), np.linalg.solve, np.sin, len, object()):
        assert not known.is_of_scipy(other)
    assert known.is_constant(stats.norm)
    assert not known.is_constant(stats.norm(0, 1))


@pytest.mark.parametrize("function", [fft.set_workers, fft.set_global_backend])
def test_settings_are_refused(function):
    assert kind_of_call(function).kind is Kind.REFUSED
