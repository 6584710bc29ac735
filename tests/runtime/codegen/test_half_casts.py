"""float16 from and to other dtypes, in each form that a target may have: NumPy's bits."""

import numpy as np
import pytest

from axiomjit.base.dtypes import cast_name
from axiomjit.base.target import target
from axiomjit.runtime.codegen.compile_source import compile_source
from tests.passes.graphs import target_with
from tests.runtime.codegen.kernels import buffers, run_compiled, same_bits

SOURCE = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    o = buffer(w, 1)
    for i in range(lo, hi):
        store(o, i, {cast}(load(a, i)))
"""
MEAN = """
def kernel(w, lo, hi):
    a = buffer(w, 0)
    o = buffer(w, 1)
    for i in range(lo, hi):
        store(o, i, f2(copysign(f4(2.5), {inner})))
"""
FORMS = {
    "native": {},
    "converting": {"computes_float16": False},
    "basic": {"computes_float16": False, "converts_float16": False},
}
HALVES = np.arange(1 << 16).astype("u2").view("f2")
CODES = ("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8", "c8", "c16")


@pytest.fixture(params=FORMS)
def form(request):
    """Each way in which float16 is converted, of those that the target has instructions for."""
    if request.param == "converting" and not target().converts_float16:
        pytest.skip("the target has no such instruction")
    with target_with(**FORMS[request.param]):
        yield request.param


def cast(values, code, source=SOURCE, **places):
    """The values converted by a kernel."""
    given = values.dtype.str[1:]
    parameters = buffers(given, code)
    text = source.format(cast=cast_name(code), **places)
    kernel = compile_source(text, parameters, target())
    out = np.zeros(len(values), code)
    assert run_compiled(kernel, parameters, [values, out], 0, len(values)) == 0
    return out, kernel


def hard(code):
    """Floats at, halfway between and beside halves; ends of ranges; others."""
    wide = HALVES[np.isfinite(HALVES)].astype(code)
    wide = np.unique(wide)
    middles = (wide[1:] + wide[:-1]) / 2
    ends = np.array([65504, 65519.996, 65520, 65536, 1e30, np.inf, np.nan, 2.0**-25, 1e-30], code)
    limits = np.array([np.finfo(code).tiny, np.finfo(code).smallest_subnormal], code)
    exact = np.concatenate([wide, middles, ends, limits, -ends, -limits, [code_zero(code)]])
    up, down = (np.nextafter(exact, np.array(v, code)) for v in (np.inf, -np.inf))
    random = np.random.default_rng(9).integers(0, 1 << 63, 40_000, dtype="u8")
    return np.concatenate([exact, up, down, random.view(code)]).astype(code)


def code_zero(code):
    return np.array(-0.0, code)


@pytest.mark.parametrize("code", ["f4", "f8"])
def test_floats_are_rounded_once(code, form):
    values = hard(code)
    if code == "f8":  # beside what float32 cannot tell from the middle of two halves
        with np.errstate(all="ignore"):
            middles = hard("f4").astype("f8")
        values = np.concatenate([values, np.nextafter(middles, np.inf), np.nextafter(middles, 0)])
    with np.errstate(all="ignore"):
        want = values.astype("f2")
    assert same_bits(cast(values, "f2")[0], want)


@pytest.mark.parametrize("code", CODES)
def test_halves_become_what_numpy_makes_of_them(code, form):
    with np.errstate(all="ignore"):
        want = HALVES.astype(code)
        if code == "u4":  # row "float to uint32 where the value does not fit"
            want = np.array([v.astype(code) for v in HALVES])
    assert same_bits(cast(HALVES, code)[0], want)


@pytest.mark.parametrize("code", CODES[:9])
def test_integers_become_halves(code, form):
    span = np.concatenate(
        [np.arange(-70_000, 70_000, 7), np.arange(-3000, 3000), 2 ** np.arange(62)]
    )
    values = span.astype(code)
    with np.errstate(all="ignore"):
        assert same_bits(cast(values, "f2")[0], values.astype("f2"))


@pytest.mark.parametrize("given", ["f4", "f8"])
def test_nans_stay_and_keep_their_signs(given, form):
    values = np.array([np.nan, -np.nan], given)
    np.testing.assert_array_equal(np.signbit(cast(values, "f2")[0]), [False, True])
    np.testing.assert_array_equal(np.signbit(cast(values.astype("f2"), given)[0]), [False, True])


def test_signs_of_float64_are_not_rounded_to_float16(form):
    """LLVM gives copysign what its operands were made of, and rounds all of that to float16."""
    values = np.array([1.5, -3.25, -0.0, 1e300, -1e-300, np.inf] * 20)
    got = cast(values, "f2", MEAN, inner="f4(load(a, i))")[0]
    np.testing.assert_array_equal(got, np.copysign(np.float16(2.5), values))


@pytest.mark.usefixtures("unchecked")
@pytest.mark.parametrize(("given", "code"), [("f2", "f4"), ("f4", "f2"), ("f8", "f2")])
def test_loops_that_convert_are_loops_over_vectors(given, code, form):
    assert "\nvector.body:" in cast(np.ones(64, given), code)[1].llvm
