"""Attributes and methods of lazy arrays and numbers are those of NumPy's."""

import copy
import gc
import math
import numbers
import pickle

import numpy
import pytest

import axiomjit.numpy as np
from axiomjit.numpy.lazy_arrays import LazyArray, wrap

N = 5000
LEFT_OUT = ("__array_struct__", "__getformat__", "__getnewargs__")
"""Attributes of NumPy's numbers that Python's own `float` has for itself."""


def lazy(dtype=float, times=3):
    """A pending array 1, 2, ..., as (50, 100), and NumPy's."""
    made = None
    for _ in range(times):  # the first passes learn the path
        made = (wrap(numpy.arange(N).astype(dtype)) + numpy.dtype(dtype).type(1)).reshape(50, 100)
        if made.is_lazy:
            break
        made.materialize()
    return made, (numpy.arange(N).astype(dtype) + numpy.dtype(dtype).type(1)).reshape(50, 100)


def test_all_attributes_are_there():
    assert set(dir(numpy.ndarray)) - set(dir(LazyArray)) == {"__array_struct__"}
    x, _ = lazy()
    for name in dir(numpy.float64):
        assert hasattr(x.sum(), name) or name in LEFT_OUT
    with pytest.raises(AttributeError, match="'numpy.ndarray' object has no attribute 'gone'"):
        _ = x.gone


def test_asking_for_the_layout_computes_nothing():
    x, y = lazy()
    assert (x.shape, x.dtype, x.strides, x.ndim) == (y.shape, y.dtype, y.strides, y.ndim)
    assert (x.size, x.nbytes, x.itemsize, len(x), x.device) == (N, 8 * N, 8, 50, "cpu")
    assert not hasattr(x, "columns")
    assert "50 x 100, float64, 40,000 bytes, pending" in x._repr_html_()
    assert x.is_lazy
    assert x.materialize() is x
    assert not x.is_lazy


METHODS = {
    "argpartition": (3,),
    "argsort": (),
    "compress": ([True, False], 0),
    "dot": (numpy.ones(100),),
    "item": (3, 4),
    "nonzero": (),
    "repeat": (2,),
    "take": ([3, 1],),
    "tobytes": (),
    "tolist": (),
    "view": (numpy.int64,),
    "getfield": (numpy.int32, 4),
    "dumps": (),
    "to_device": ("cpu",),
    "byteswap": (),
    "swapaxes": (0, 1),
    "sum": (0,),
    "round": (2,),
    "astype": ("f4",),
}


@pytest.mark.parametrize("name", METHODS)
def test_methods(name):
    x, y = lazy()
    found, expected = getattr(x, name)(*METHODS[name]), getattr(y, name)(*METHODS[name])
    assert getattr(x, name).__doc__ == getattr(y, name).__doc__
    if not isinstance(expected, numpy.ndarray):
        expected, found = (expected,), (found,)
    for one, other in zip(found, expected, strict=True):
        numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("sort", (0,)),
        ("partition", (3,)),
        ("put", ([3, 7], 9)),
        ("fill", (3,)),
        ("byteswap", (True,)),
        ("setfield", (7, numpy.int32, 4)),
    ],
)
def test_methods_that_write(name, args):
    x, y = lazy()
    x, y = x[::-1], y[::-1]
    before = x + 0
    old = y.copy()
    getattr(x, name)(*args), getattr(y, name)(*args)
    numpy.testing.assert_array_equal(x, y)
    numpy.testing.assert_array_equal(before, old)


def test_parts_of_complex_numbers():
    for _ in range(3):
        x, y = np.ones(N) * 1j, numpy.ones(N) * 1j
        part, other = x.imag, y.imag
        x.real, y.real = 3, 3
        x.imag[1:4], y.imag[1:4] = 5, 5
        x.imag *= 2
        y.imag *= 2
        numpy.testing.assert_array_equal(x, y)
        numpy.testing.assert_array_equal(part, other)
    x = np.ones(N)
    assert x.real is x
    x.real = 4
    assert (x[0], x.imag[0]) == (4, 0)
    with pytest.raises(TypeError, match="imaginary part"):
        x.imag = 3


def test_flat():
    x, y = lazy()
    assert x.flat[101] == 102
    x.flat, y.flat = [1, 2], [1, 2]
    x.flat[3:5] = y.flat[3:5] = 9
    assert next(iter(x.flat)) == 1
    numpy.testing.assert_array_equal(x, y)


@pytest.mark.parametrize("frozen", [False, True])
def test_layouts_are_set(frozen):
    for _ in range(3):
        x, y = lazy()
        w, v = x[1:], y[1:]
        u, t = w[:, 2], v[:, 2]
        if frozen:
            gc.freeze()
        count = gc.get_freeze_count()
        x.shape = y.shape = (100, 50)
        assert gc.get_freeze_count() >= count // 2  # frozen objects may die
        assert (x.shape, w.shape) == ((100, 50), (49, 100))
        w.shape = v.shape = (-1,)
        w[3], v[3] = 77, 77
        u[0], t[0] = 78, 78
        x += 1
        y += 1
        for one, other in ((x, y), (w, v), (u, t), (x[3], y[3]), (w + 1, v + 1), (u[1:], t[1:])):
            numpy.testing.assert_array_equal(one, other)
    with pytest.raises(AttributeError, match="ncompatible shape"):
        x.T.shape = (-1,)
    with pytest.raises(ValueError, match="cannot reshape"):
        x.shape = (3, 7)


def test_dead_views_are_forgotten():
    x = np.ones((60, 80))
    kept = [x[k] for k in range(0, 60, 20)]
    for k in range(1000):
        assert x[k % 60 :].shape[1] == 80
    assert len(x._views) < 200
    x.shape = (80, 60)
    assert [one.shape for one in kept] == [(80,)] * 3
    kept[1][:] = 7
    numpy.testing.assert_array_equal(x.ravel()[1600:1680], 7)


def test_resize():
    x, y = np.ones(N), numpy.ones(N)
    x.resize(3, N)
    y.resize(3, N)
    numpy.testing.assert_array_equal(x, y)
    x += 1
    assert x[0, 0] == 2
    view = x[1:]
    with pytest.raises(ValueError, match="cannot resize"):
        x.resize(4)
    with pytest.raises(ValueError, match="does not own"):
        view.resize(4)


def test_flags():
    x = np.ones((50, 100))
    assert x.flags.c_contiguous
    assert x.flags["WRITEABLE"]
    assert repr(x.flags) == repr(numpy.ones((50, 100)).flags)
    for k in range(3):
        if k % 2:
            x.setflags(write=False)
        else:
            x.flags.writeable = False
        view = x[2:]
        for one in (x, view):
            with pytest.raises(ValueError, match="read-only"):
                one[0] = 5
            with pytest.raises(ValueError, match="read-only"):
                one.fill(5)
        with pytest.raises(ValueError, match="read-only"):
            x += 1
        assert (x + 1)[0, 0] == 2
        x.flags["W"] = True
        x[0] = 1
    with pytest.raises(AttributeError):
        x.flags.gone = 3


def test_base():
    x, _ = lazy()
    root = x.base
    assert x[1:].base is root
    assert x[1:][2:].base is root
    assert root.base is None
    assert (x + 1).base is None


def test_copies_and_pickles():
    for make in (copy.copy, copy.deepcopy, lambda one: pickle.loads(pickle.dumps(one))):
        x, y = lazy()
        made = make(x.T)
        numpy.testing.assert_array_equal(made, y.T)
        assert made.strides == make(y.T).strides
        made[0] = 0
        assert x[0, 0] == 1
    assert type(made) is numpy.ndarray
    buffers = []
    data = pickle.dumps(lazy()[0], protocol=5, buffer_callback=buffers.append)
    assert len(buffers) == 1
    assert pickle.loads(data, buffers=buffers).shape == (50, 100)
    total = lazy()[0].sum()
    assert pickle.loads(pickle.dumps(total)) == copy.deepcopy(total) == total


def test_numbers():
    x, y = lazy()
    s, t = x.sum(), y.sum()
    assert type(s) is LazyArray
    assert isinstance(s, float)
    assert isinstance(s, numpy.float64)
    assert isinstance(s, numbers.Real)
    assert (s.real, s.imag, s.shape, s.dtype) == (t, 0, (), float)
    assert s.is_integer()
    assert s.as_integer_ratio() == t.as_integer_ratio()
    assert (hash(s), {s: 1}[t], {t: 1}[s]) == (hash(t), 1, 1)
    assert [round(s), math.floor(s), math.ceil(s), math.trunc(s)] == [int(t)] * 4
    assert (f"{s:.1f}", str(s), repr(s)) == (f"{t:.1f}", str(t), repr(t))
    assert (divmod(s, 7), s**2, 2 / s, abs(-s), -s) == (divmod(t, 7), t**2, 2 / t, t, -t)
    assert numpy.asarray(s).flags.writeable
    k = lazy(int)[0].sum()
    assert range(int(k))[k - 1] == k - 1
    assert k.bit_count() == int(k).bit_count()
    with pytest.raises(AttributeError, match="not writable"):
        s.real = 3
    for _ in range(3):
        part = (x.sum() + 1)[...]
        assert type(numpy.asarray(part)) is numpy.ndarray
        assert repr(part) == repr(numpy.asarray(t + 1))
    for function in (lambda: range(10)[s], lambda: len(s), lambda: round(x)):
        with pytest.raises(TypeError):
            function()


def test_looks():
    x, y = lazy()
    assert [*map(list, x)] == [*map(list, y)]
    assert 102 in x
    assert 102.5 not in x
    with pytest.raises(ValueError, match="ambiguous"):
        bool(x)
    with pytest.raises(TypeError):
        hash(x)
    with pytest.raises(ValueError, match="cannot delete"):
        del x[0]
    numbers_of = lazy()[0].ravel()
    for k, one in enumerate(numbers_of):
        numbers_of[k + 1 : k + 2] = -1
        assert one == (-1 if k else 1)
        if k > 3:
            break


def test_arrays_say_that_they_wrap_numpys():
    x, y = lazy()
    assert x._typ == "npy_extension"
    found = x.to_numpy()
    assert type(found) is numpy.ndarray
    found[0, 0] = y[0, 0] = 9  # the memory itself
    assert (x == y).all()
    for name in ("_typ", "to_numpy"):
        assert not hasattr(x.sum(), name)
