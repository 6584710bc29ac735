"""Defects that NumPy's own tests and array-api-tests found."""

import ctypes
import inspect
import sys
import weakref

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.base.config import config
from axiomjit.numpy.lazy_arrays import wrap

N = 5000


def lazy(array):
    """A lazy array of a copy."""
    return wrap(array.copy())


@pytest.mark.parametrize("value", [-numpy.nan, numpy.nan, -numpy.inf, -0.0, 0.0])
def test_signs_of_constants(value):
    for _ in range(4):
        found, expected = lazy(numpy.ones(N)), numpy.ones(N)
        for array in (found, expected):
            array[numpy.arange(N) % 3 == 1] = value
            array[7:9] = value
        assert numpy.signbit(found).sum() == numpy.signbit(expected).sum()


def test_powers_of_lists():
    base = numpy.arange(2, 2 + 2 * N).reshape(N, 2)
    for _ in range(3):
        found = np.power(lazy(base), [2, 3])
        assert (found == numpy.power(base, [2, 3])).all()


def test_flat():
    plain = numpy.arange(2.0 * N).reshape(2, N)
    mask, at = plain.ravel() % 3 == 0, numpy.arange(0, N, 7)
    for _ in range(3):
        x = lazy(plain) + 1
        assert isinstance(x.flat, numpy.flatiter)
        assert x.flat.base is x
        assert (numpy.asarray(x.flat[lazy(mask)]) == (plain + 1).flat[mask]).all()
        y, expected = x * 2, (plain + 1) * 2
        x.flat[lazy(mask)] = 0.0
        x.flat[lazy(at)] = lazy(-at)
        assert (numpy.asarray(y) == expected).all()
        expected = plain + 1
        expected.flat[mask] = 0.0
        expected.flat[at] = -at
        assert (numpy.asarray(x) == expected).all()
        assert (numpy.asarray(x.flat) == expected.ravel()).all()
        assert list(x.flat)[:9] == list(expected.flat)[:9]
        assert (x.flat > 0).sum() == (expected > 0).sum()
        assert len(x.flat) == 2 * N
        y = lazy(plain)
        y.flat = x.flat
        assert (numpy.asarray(y) == expected).all()
    with pytest.raises(IndexError, match="out of bounds"):
        x.flat[3 * N]


POSITIONAL = {
    "clip": lambda np, x, out: np.clip(x, 2, 5, out),
    "sum": lambda np, x, out: np.sum(x, 0, None, out[0]),
    "max": lambda np, x, out: np.max(x, 0, out[1]),
    "cumsum": lambda np, x, out: np.cumsum(x, 0, None, out),
    "round": lambda np, x, out: np.round(x, 1, out),
    "var": lambda np, x, out: np.var(x, 0, None, out[0]),
    "reduce": lambda np, x, out: np.add.reduce(x, 0, None, out[0]),
    "concatenate": lambda np, x, out: np.concatenate([x, x], 0, out),
    "stack": lambda np, x, out: np.stack([x[0], x[1]], 0, out[:2]),
    "outer": lambda np, x, out: np.outer(x[0, :4], x[0], out),
    "nan_to_num": lambda np, x, out: np.nan_to_num(out, False, 3.0),
    "copyto": lambda np, x, out: np.copyto(dst=out, src=x[:1]),
    "method_sum": lambda np, x, out: x.sum(0, None, out[0]),
    "method_clip": lambda np, x, out: x.clip(2, 5, out),
}
"""Calls that write into an array which is no keyword `out`."""


@pytest.mark.parametrize("call", POSITIONAL.values(), ids=POSITIONAL)
def test_outputs_by_position(call):
    rows = 2 if call is POSITIONAL["concatenate"] else 4
    plain = numpy.random.default_rng(0).random((rows, N)).round(3) * 9
    for _ in range(4):
        x = plain[:1] if call is POSITIONAL["concatenate"] else plain
        out = numpy.full((rows, N), numpy.nan)
        found_x, found_out = lazy(x), lazy(out)
        assert numpy.isnan(found_out[0, 0])
        before = found_out + 1
        expected, found = call(numpy, x, out), call(np, found_x, found_out)
        values = found_out.tolist()
        numpy.testing.assert_allclose(values, out, rtol=1e-12)
        assert (found is None) == (expected is None)
        assert numpy.isnan(before).all()


SETTINGS = {
    "shape_of_array": lambda np, v, w, x: np.ones(np.array([v, w])),
    "shape_of_sum": lambda np, v, w, x: np.zeros(np.array([v, w]).sum()),
    "axis": lambda np, v, w, x: np.sum(x, axis=numpy.int64(v)),
    "axis_by_position": lambda np, v, w, x: x.sum(numpy.int64(v)),
    "axis_of_array": lambda np, v, w, x: x.max(axis=np.array([w, v])[1]),
    "reps": lambda np, v, w, x: np.tile(x, np.array([v, w])),
    "repeats": lambda np, v, w, x: np.repeat(x, np.array([v, w, v]), axis=0),
    "index": lambda np, v, w, x: x[numpy.int64(v)],
    "index_of_several": lambda np, v, w, x: x[1, numpy.int64(v)],
    "start": lambda np, v, w, x: x[..., numpy.int64(v) :],
    "rollaxis": lambda np, v, w, x: np.rollaxis(x, 2, numpy.int64(v)),
    "shift": lambda np, v, w, x: np.roll(x, numpy.int64(v)),
    "count": lambda np, v, w, x: np.linspace(0, 1, numpy.int64(v + w)),
    "order_of_axes": lambda np, v, w, x: x.transpose(np.array([v, 0, 3 - v])),
}
"""Calls in which NumPy's integers or lazy arrays decide shapes."""


@pytest.mark.parametrize("call", SETTINGS.values(), ids=SETTINGS)
def test_arguments_that_decide_shapes(call, monkeypatch):
    monkeypatch.setattr(config, "lazy_from", 0)
    for v, w in ((1, 2), (2, 3), (1, 5), (2, 2), (1, 1)):
        found = call(np, v, w, np.arange(48.0).reshape(3, 4, 4))
        expected = call(numpy, v, w, numpy.arange(48.0).reshape(3, 4, 4))
        assert found.shape == expected.shape
        assert numpy.asarray(found).tolist() == expected.tolist()


def test_comparisons_with_text():
    x = lazy(numpy.arange(float(N)))
    for other in (numpy.array("a"), numpy.str_("a")):
        assert (x != other).all()
        assert not (x == other).any()
        assert (other != x).all()


@pytest.mark.parametrize("step", [-1, 2])
def test_outputs_that_overlap_operands(step):
    for _ in range(3):
        x = lazy(numpy.random.default_rng(42).standard_normal(2 * N))
        expected = np.sin(x[::step]).tolist()
        np.sin(x[::step], out=x[: len(expected)])
        assert x[: len(expected)].tolist() == expected


@pytest.mark.parametrize("name", ["sum", "astype", "reshape", "sort", "item", "__dlpack__"])
def test_signatures_are_those_of_numpy(name):
    found = inspect.signature(getattr(np.ndarray, name))
    assert found == inspect.signature(getattr(numpy.ndarray, name))


def test_weights_that_are_refused():
    x = lazy(numpy.ones((2, N)))
    for weights in (numpy.ones(N, int), -numpy.ones(N, int)):
        if weights[0] > 0:
            assert not np.cov(x, fweights=lazy(weights)).any()
        else:
            with pytest.raises(ValueError, match="cannot be negative"):
                np.cov(x, fweights=lazy(weights))
    with pytest.raises(ValueError, match="Maximum allowed size"):
        np.arange(0, 2**80)


def test_one_bound_by_the_method():
    for _ in range(3):
        x = lazy(numpy.arange(float(N)))
        assert x.clip(3)[0] == 3
        assert x.clip(min=3).min() == 3
        assert x.clip(max=4).max() == 4
        assert x.clip(3, 4).tolist() == numpy.arange(N).clip(3, 4).tolist()
        out = lazy(numpy.zeros(N))
        assert x.clip(5, out=out) is out
        assert out[0] == 5


def test_products_in_place_keep_the_shape():
    for _ in range(2):
        x = lazy(numpy.arange(float(N)))
        with pytest.raises(ValueError, match="inplace matrix multiplication"):
            x @= lazy(numpy.arange(float(N)))
        y = before = lazy(numpy.eye(80))
        z = y + 1
        y @= lazy(numpy.full((80, 80), 2.0))
        assert y is before
        assert y.tolist() == numpy.full((80, 80), 2.0).tolist()
        assert z[0, :2].tolist() == [2, 1]


def test_modes_of_copies():
    modes = numpy._CopyMode
    x = lazy(numpy.arange(float(N)))
    assert np.array(x, copy=modes.IF_NEEDED) is x
    assert np.array(x, copy=modes.NEVER) is x
    assert np.array(x, copy=modes.ALWAYS) is not x
    assert np.array(x, copy=numpy.True_) is not x
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.array(x, "f4", copy=modes.NEVER)


def test_what_cannot_be_set():
    x = lazy(numpy.arange(float(N)))
    with pytest.raises(AttributeError, match=r"attribute 'device' of .*ndarray' objects is not"):
        x.device = "other"
    with pytest.raises(TypeError, match="Cannot delete iterator elements"):
        del x.flat[1]
    with pytest.raises(AttributeError):
        x.flags.gone = True


def test_sizes_and_pointers():
    x = lazy(numpy.arange(float(N)))
    assert sys.getsizeof(x) > 8 * N > sys.getsizeof(x[1:])
    reference = weakref.ref(x)
    pointer = x.ctypes.data_as(ctypes.c_void_p)
    del x
    assert reference() is not None
    del pointer
    assert reference() is None


def test_signatures_of_the_class():
    for name in ("__array__", "__array_ufunc__", "__complex__", "sum"):
        ours, theirs = getattr(np.ndarray, name), getattr(numpy.ndarray, name)
        assert inspect.signature(ours) == inspect.signature(theirs)
    assert np.arange.__text_signature__ == numpy.arange.__text_signature__


@pytest.mark.parametrize("code", ["f8", "c16"])
def test_sums_of_negative_zeros(code):
    zero = -numpy.dtype(code).type(0)
    for _ in range(3):
        x = lazy(numpy.full(N, zero))
        for start in (-0.0, zero, 0.0):
            for total in (np.sum(x, initial=start), x.sum(initial=start)):
                assert str(total) == str(numpy.sum(numpy.full(N, zero), initial=start))
