"""Arrays from elsewhere than the arguments: made inside a function, or read from outside."""

import functools
import gc
import weakref

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, NeedsValuesError
from axiomjit.graph.captured import read_only_copy
from tests.passes.graphs import follow_plainly as follow

X = np.arange(6.0)
KEPT = {}


def made(kind):
    """A new array of six numbers in a layout."""
    w = np.arange(1.0, 13.0)
    return {
        "dense": lambda: w[:6].copy(),
        "steps": lambda: w[::2],
        "backwards": lambda: w[5::-1],
        "column": lambda: w.reshape(6, 2)[:, 1],
        "repeated": lambda: np.broadcast_to(w[:1], 6),
        "fortran": lambda: np.asfortranarray(w.reshape(6, 2))[:, 0],
        "integers": lambda: np.arange(6),
    }[kind]()


LAYOUTS = ["dense", "steps", "backwards", "column", "repeated", "fortran", "integers"]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_frozen_copies_keep_strides_and_values(layout):
    w = made(layout)
    copy = read_only_copy(w)
    assert (copy.strides, copy.dtype, copy.flags.writeable) == (w.strides, w.dtype, False)
    np.testing.assert_array_equal(copy, w)
    assert not np.shares_memory(copy, w)


@pytest.mark.parametrize("layout", [k for k in LAYOUTS if k != "repeated"])
def test_what_was_used_is_what_it_was_then(layout):
    def function(x):
        w = made(layout)
        first = w * x
        w[0] = 50
        second = w * x
        w += 1
        return first, second, x - w, w

    f = axiomjit.jit(function, strict=True)
    for _ in range(2):
        for got, want in zip(f(X), function(X), strict=True):
            np.testing.assert_array_equal(got, want)


RETURNS = {
    "itself": lambda w: w,
    "twice": lambda w: (w, w),
    "with a view": lambda w: (w, w[1:]),
    "two views": lambda w: [w[::2], w[::-1]],
    "view alone": lambda w: w[2:],
    "in a dict": lambda w: {"w": w},
    "set": lambda w: {1, 2},
    "bytearray": lambda w: bytearray(b"abc"),
    "nested": lambda w: [({1: {3}}, [bytearray(b"a"), w])],
    "list": lambda w: [1, [2, 3]],
    "shared set": lambda w: [frozenset([1])] * 2,
}


def spoil(value):
    """Change everything that can be changed."""
    if isinstance(value, np.ndarray):
        value[...] = -7
    elif isinstance(value, list | tuple):
        for part in value:
            spoil(part)
        if isinstance(value, list):
            value.append("spoilt")
    elif isinstance(value, dict):
        for part in value.values():
            spoil(part)
        value["spoilt"] = 1
    elif isinstance(value, set):
        value.add("spoilt")
    elif isinstance(value, bytearray):
        value += b"spoilt"


@pytest.mark.parametrize("layout", [k for k in LAYOUTS if k != "repeated"])
@pytest.mark.parametrize("name", RETURNS)
def test_what_a_call_returns_is_its_own(name, layout):
    def function(x):
        w = made(layout)
        return w * x, RETURNS[name](w)

    f = axiomjit.jit(function, strict=True)
    for _ in range(3):
        got, want = f(X), function(X)
        np.testing.assert_equal(got, want)
        spoil(got[1])
        spoil(want[1])
        np.testing.assert_equal(got[1], want[1])  # the same memory is shared among them
    assert f.cache_info().traced == 1


def test_an_object_made_inside_is_made_anew_by_each_call():
    class Box:
        def __init__(self, part):
            self.part, self.own = part, [1]

    shared = [0]
    f = axiomjit.jit(lambda x: (x + 1, Box(shared)), strict=True)
    one, two = f(X)[1], f(X)[1]
    assert one is not two
    assert one.own is not two.own
    assert one.part is two.part is shared


def test_an_object_made_inside_is_not_copied_for_a_call():
    class Single:
        def __deepcopy__(self, memo):
            raise ValueError("only one")

    f = axiomjit.jit(lambda x: (x, Single()), strict=True)
    one, two = f(X)[1], f(X)[1]
    assert type(one) is type(two) is Single
    assert one is not two


OUTSIDE, DEFAULT = np.arange(1.0, 7.0), np.arange(6.0)


def kept():
    if "w" not in KEPT:
        KEPT["w"] = np.arange(6.0)
    return KEPT["w"]


SOURCES = {
    "global": lambda: OUTSIDE,
    "closure": (lambda w: lambda: w)(np.arange(6.0)),
    "default": lambda w=DEFAULT: w,
    "dict": kept,
}


@pytest.mark.parametrize("source", SOURCES)
def test_arrays_from_outside_are_read_anew_and_returned_as_themselves(source):
    KEPT.clear()
    get = SOURCES[source]
    get()  # the first call makes what later ones read
    f = axiomjit.jit(lambda x: (get() * x, get()[1:] - x[1:], get(), get()[::2]), strict=True)
    for k in range(3):
        f(X)
        get()[...] = np.arange(6.0) + k
        product, difference, itself, view = f(X)
        np.testing.assert_array_equal(product, get() * X)
        np.testing.assert_array_equal(difference, get()[1:] - X[1:])
        assert itself is get()
        assert np.shares_memory(view, get())
        view[1] = 99
        assert get()[2] == 99
    assert f.cache_info().traced <= 2  # once more where the array was made by the first


def resized(g):
    g.resize(10, refcheck=False)


def enlarged(g):
    g.resize(200_000, refcheck=False)


def reshaped(g):
    g.shape = 2, 3


def retyped(g):
    g.dtype = np.int64


def halved(g):
    g.dtype = np.float32


def restrided(g):
    g.strides = (0,)


def protected(g):
    g.flags.writeable = False


CHANGES = [resized, enlarged, reshaped, retyped, halved, restrided, protected]
USES = {
    "operand": lambda g, x: x[0] + g,
    "sum": lambda g, x: (x[0] * g).sum(),
    "view": lambda g, x: g[::2] * x[0],
    "view of view": lambda g, x: g[1:][::2] + x[0],
    "itself": lambda g, x: (x + 1, g),
    "its view": lambda g, x: (x + 1, g[1:]),
    "transposed": lambda g, x: g.T - x[0],
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("change", CHANGES)
def test_captured_arrays_that_lie_otherwise_are_followed_again(change, use):
    g = np.arange(6.0)
    f = axiomjit.jit(lambda x: USES[use](g, x), strict=True)
    for step in (lambda g: None, change):
        step(g)
        for x in (X, X + 1):
            np.testing.assert_equal(f(x), USES[use](g, x))
    assert f.cache_info().traced <= 2


@pytest.mark.parametrize("change", [resized, enlarged, reshaped, halved])
def test_arrays_of_a_cache_are_left_to_numpy(change):
    hidden = functools.lru_cache(lambda: np.arange(6.0))

    def function(x):
        return x[0] + hidden()[1:], hidden()[::2]

    with pytest.raises(NeedsValuesError, match="returns one object from its cache"):
        axiomjit.jit(function, strict=True)(X)
    f = axiomjit.jit(function)
    with pytest.warns(FallbackWarning, match="returns one object from its cache"):
        f(X)
    for step in (lambda g: None, change):
        step(hidden())
        np.testing.assert_equal(f(X), (X[0] + hidden()[1:], hidden()[::2]))
    assert f(X)[1].base is hidden()


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_programs_of_layouts_that_are_gone_are_dropped():
    g = np.arange(6.0)
    f = axiomjit.jit(lambda x: x[0] + g)
    for n in range(10, 40):
        g.resize(n, refcheck=False)
        assert f(X).shape == (n,)
    assert f._programs.count() == 1


def test_what_is_made_inside_dies():
    alive = weakref.WeakSet()

    class Box:
        def __init__(self, w):
            self.w = w

    def function(x):
        box = Box(np.ones(6))
        alive.add(box)
        return box.w * x

    follow(function, X)  # a call of the compiled function would not let it change `alive`
    gc.collect()
    assert not alive


def test_captured_subclasses_are_refused():
    w = np.ma.masked_less(np.ones((2, 2)), 2)
    with pytest.raises(NeedsValuesError, match="uses w, a MaskedArray of dtype float64"):
        axiomjit.jit(lambda x: np.add(x, w), strict=True)(np.ones((2, 2)))
