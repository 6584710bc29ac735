"""The public names of `axiomjit.numpy` are NumPy's; functions that make arrays make lazy ones."""

import importlib
import inspect
import io
import pickle
import subprocess
import sys

import numpy
import pytest

import axiomjit
import axiomjit.numpy as np
from axiomjit.numpy.lazy_arrays import LazyArray
from axiomjit.numpy.namespace import REPLACED
from axiomjit.numpy.operations import FUNCTIONS
from axiomjit.numpy_rules.elementwise import UFUNCS

N = 5000


def is_ours(value):
    return type(value) is LazyArray


def test_all_names_of_numpy_are_there():
    space = {}
    exec("from axiomjit.numpy import *", space)
    assert set(numpy.__all__) <= set(dir(np)) & set(space)
    assert set(dir(numpy)) <= set(dir(np))
    for name in set(numpy.__all__) - {*REPLACED, "fft", "random"}:
        assert getattr(np, name) is getattr(numpy, name)
    assert axiomjit.numpy is np
    with pytest.raises(AttributeError, match="module 'numpy' has no attribute 'gone'"):
        _ = np.gone


@pytest.mark.parametrize(
    "name", ["linalg", "ma", "lib", "testing", "polynomial", "lib.stride_tricks"]
)
def test_submodules_are_numpys(name):
    theirs = importlib.import_module(f"numpy.{name}")
    assert importlib.import_module(f"axiomjit.numpy.{name}") is theirs
    assert theirs.__spec__.name == theirs.__name__


def test_submodules_with_functions_of_ours():
    fft = importlib.import_module("axiomjit.numpy.fft")
    assert fft is np.fft
    assert fft.rfft is numpy.fft.rfft
    assert is_ours(fft.fftfreq(N))
    assert set(dir(numpy.fft)) <= set(dir(fft))
    with pytest.raises(ModuleNotFoundError, match="gone"):
        importlib.import_module("axiomjit.numpy.gone")


def test_importing_takes_the_submodules_that_are_asked_for():
    code = "import sys, numpy, axiomjit.numpy.linalg as la\n"
    code += "print(la is numpy.linalg, 'numpy.f2py' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("True False\n", "")


MADE = {
    "zeros": (N,),
    "ones": ((50, 100), "f4"),
    "full": (N, 2.5),
    "arange": (3, 2 * N, 1),
    "linspace": (0, 1, N),
    "logspace": (0, 1, N),
    "geomspace": (1, 2, N),
    "eye": (100,),
    "identity": (100,),
    "tri": (100,),
    "indices": ((50, 60),),
    "fromiter": (range(N), int),
    "frombuffer": (bytes(8 * N),),
    "fromstring": ("1 " * N, int, -1, " "),
    "copy": (numpy.arange(N),),
    "array": (numpy.arange(N), float),
    "asarray": (list(range(N)),),
    "zeros_like": (numpy.arange(N),),
    "hanning": (N,),
    "diag": (numpy.arange(100),),
    "vander": (numpy.arange(100),),
    "fromfunction": (lambda i, j: i * 10 + j, (80, 90)),
    "meshgrid": (numpy.arange(80), numpy.arange(90)),
}


@pytest.mark.parametrize("name", MADE)
def test_large_arrays_are_lazy(name):
    for _ in range(3):
        ours, theirs = getattr(np, name)(*MADE[name]), getattr(numpy, name)(*MADE[name])
        several = isinstance(theirs, tuple | list)
        for one, other in zip(ours, theirs, strict=True) if several else [(ours, theirs)]:
            assert is_ours(one)
            assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
            numpy.testing.assert_array_equal(one, other)


def test_creation_is_recorded():
    for k in range(4):
        made = np.zeros(N), np.ones(N), np.full(N, 2.0), np.arange(N)
        total = made[0] + made[1] + made[2] + made[3]
        assert k < 2 or all(one.is_lazy for one in (*made, total))
        assert total[-1] == N + 2


def printed(code):
    """The words that a program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert not done.stderr
    return done.stdout.split()


def test_small_arrays_import_no_compiler():
    code = "import sys, axiomjit.numpy as np\nx = np.ones(10) + np.fft.fft(np.arange(10.0)).real\n"
    code += "print(*[name for name in sys.modules if name.startswith('axiomjit')])"
    found = {name.split(".")[1] for name in printed(code) if "." in name}
    assert found == {"_links", "base", "functions", "graph", "numpy", "runtime"}


def test_graphs_are_compiled_where_jit_is_not_imported():
    code = "import numpy, axiomjit as aj\nx = aj.placeholder([aj.make_axis(8)])\n"
    code += "f = aj.transformers.make_transformer().computation(aj.sum(x * 2), x)\n"
    code += "print(f(numpy.ones(8)), aj.stats()['kernels_run'])"
    assert printed(code) == ["16.0", "1"]


def test_ufuncs_with_rules_are_recorded():
    ufuncs = {one for one in UFUNCS if one.signature is None and one is not numpy.clip}
    ufuncs = {one for one in ufuncs if getattr(numpy, one.__name__, None) is one}
    assert ufuncs == {one for one in FUNCTIONS if isinstance(one, numpy.ufunc)}


def test_small_arrays_and_other_types_are_numpys():
    for made in (np.zeros(5), np.empty(N, object), np.ones(N, ">f8"), np.array(["a"] * N)):
        assert type(made) is numpy.ndarray
    assert type(np.asarray(3.0)) is numpy.ndarray
    with pytest.raises(ValueError, match="negative dimensions"):
        np.zeros((N, -1))
    with pytest.raises(TypeError):
        np.zeros()


WITH_ARGUMENTS_OF_THE_STANDARD = {
    "sort": "descending",
    "argsort": "descending",
    "fft.fftfreq": "dtype",
    "fft.rfftfreq": "dtype",
}


@pytest.mark.parametrize(
    "name",
    [
        *(n for n, one in REPLACED.items() if callable(one) and n != "ndarray"),
        *("fft.fftfreq", "fft.rfftfreq"),
    ],
)
def test_functions_are_named_and_documented_as_numpys(name):
    ours, theirs = np, numpy
    for part in name.split("."):
        ours, theirs = getattr(ours, part), getattr(theirs, part)
    assert (ours.__name__, ours.__doc__) == (theirs.__name__, theirs.__doc__)
    if getattr(theirs, "__text_signature__", True):
        found, expected = inspect.signature(ours), inspect.signature(theirs)
        if name in WITH_ARGUMENTS_OF_THE_STANDARD:
            parameters = found.parameters.copy()
            assert parameters.pop(WITH_ARGUMENTS_OF_THE_STANDARD[name]).kind.name == "KEYWORD_ONLY"
            found = inspect.Signature(
                [one.replace(annotation=inspect._empty) for one in parameters.values()]
            )
        assert found == expected
    assert pickle.loads(pickle.dumps(ours)) is ours


def test_conversion_of_lazy_arrays():
    x = np.arange(N) * 1.0
    assert np.asarray(x) is np.asanyarray(x) is np.asarray(x, float) is x
    assert np.ascontiguousarray(x) is np.require(x, float, "C") is x
    assert np.array(x) is not x
    y = np.array(x)
    y[0] = 7
    assert (x[0], y[0]) == (0, 7)
    assert np.asarray(x, "f4").dtype == "f4"
    assert np.array(x, ndmin=2).shape == (1, N)
    assert np.array(x, ndmin=2, copy=None).base is x
    assert np.asfortranarray(np.ones((50, 100))).flags.f_contiguous
    assert type(np.asarray(x, object)) is numpy.ndarray
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        np.asarray(x, "f4", copy=False)
    numpy.testing.assert_array_equal(np.array([x, x]), [numpy.arange(N)] * 2)
    assert np.array([x.sum(), 1]).tolist() == [N * (N - 1) / 2, 1]


def test_files_and_memory_of_others():
    file = io.StringIO("1 2\n" * N)
    assert is_ours(np.loadtxt(file))
    memory = bytearray(8 * N)
    x = np.frombuffer(memory)
    y = x + 1
    memory[:8] = numpy.float64(5).tobytes()
    assert (x[0], y[0]) == (5, 1)


def test_classes_of_arrays():
    assert isinstance(np.ones(N), np.ndarray)
    assert isinstance(numpy.ones(3), np.ndarray)
    assert not isinstance(3, np.ndarray)
    assert issubclass(numpy.matrix, np.ndarray)
    assert not issubclass(list, np.ndarray)
    assert np.ndarray[int, float] == numpy.ndarray[int, float]
    assert is_ours(np.ndarray((N,)))
    assert is_ours(np.ndarray((N,), buffer=bytearray(8 * N)))

    class Tagged(np.ndarray):
        def __new__(kind, length, tag):
            made = super().__new__(kind, (length,))
            made.tag = tag
            return made

        def __array_finalize__(self, source):
            self.tag = getattr(source, "tag", None)

    made = Tagged(N, "a")
    for view in (made.view(np.ndarray), made.view(type=np.ndarray), made.view(float, np.ndarray)):
        assert type(view) is numpy.ndarray
        assert view.base is made
    assert type(made.view("i8")) is Tagged
    assert type(made.view()) is Tagged
    assert issubclass(Tagged, numpy.ndarray)
    assert not issubclass(Tagged, LazyArray.__mro__[1:-1])
    assert (type(made), made[1:].tag) == (Tagged, "a")


def matrix_product(a, b):
    return np.r_["a b; b a"]


INDEXED = {
    "mgrid": lambda np, n: np.mgrid[0:n, 0:3],
    "mgrid of one": lambda np, n: np.mgrid[0 : n : 2 * n * 1j],
    "ogrid": lambda np, n: np.ogrid[0:n, 0:3],
    "r_": lambda np, n: np.r_[0:n, 7.5],
    "r_ of arrays": lambda np, n: np.r_["0,2", np.arange(n), np.arange(n) * 2],
    "c_": lambda np, n: np.c_[np.arange(n), np.ones(n)],
}


@pytest.mark.parametrize("make", INDEXED.values(), ids=INDEXED)
def test_arrays_of_indices(make):
    for n in (5, N):
        for _ in range(3):
            found, expected = make(np, n), make(numpy, n)
            several = isinstance(expected, tuple)
            pairs = zip(found, expected, strict=True) if several else [(found, expected)]
            for one, other in pairs:
                assert is_ours(one) == (other.size >= 4096)
                numpy.testing.assert_array_equal(one, other)


@pytest.mark.filterwarnings("ignore::PendingDeprecationWarning")
def test_makers_by_index_are_those_of_numpy():
    a, b = numpy.ones((2, 2)), numpy.zeros((2, 2))
    assert matrix_product(a, b).tolist() == numpy.r_["a b; b a"].tolist()
    for name in ("mgrid", "ogrid", "r_", "c_"):
        ours, theirs = getattr(np, name), getattr(numpy, name)
        assert isinstance(ours, type(theirs))
        assert type(pickle.loads(pickle.dumps(ours))) is type(ours)
        assert (len(ours) if name.endswith("_") else 0) == 0
    with pytest.raises(ValueError, match="special directive"):
        np.r_["q,r", 1]


def rows_of(x):
    return np.r_[x, 1.0], np.mgrid[0 : len(x), 0:2], np.c_[x, x]


def test_makers_by_index_are_followed():
    function = axiomjit.jit(rows_of, strict=True)
    for n in (6, 9):
        x = numpy.arange(n * 1.0)
        for _ in range(2):
            for one, other in zip(function(x), rows_of(x), strict=True):
                numpy.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("n", [5, N])
def test_methods_of_the_class(n):
    plain = numpy.arange(n * 1.0)
    for _ in range(3):
        x = np.asarray(plain.copy()) * 1
        assert np.ndarray.sum(x) == plain.sum()
        assert np.ndarray.__getitem__(x, 2) == 2
        np.ndarray.__setitem__(x, slice(1), 5)
        np.ndarray.fill(x[1:2], 7)
        assert np.ndarray.tolist(np.ndarray.__add__(x, 1))[:3] == [6, 8, 3]
        assert np.ndarray.__array_ufunc__(x, np.negative, "__call__", x)[0] == -5
    with pytest.raises(TypeError, match=r"numpy\.ndarray"):
        np.ndarray.sum([1, 2])
    assert np.ndarray.reshape.__name__ == "reshape"
    assert is_ours(np.ndarray.__new__(np.ndarray, (N,)))


def test_views_as_the_class():
    for _ in range(3):
        x = np.arange(N * 1.0) + 1
        y, z = x.view(np.ndarray), x.view(type=np.ndarray)
        y[0] = 9
        z[1] = 8
        assert is_ours(y)
        assert x[:3].tolist() == [9, 8, 3]
        assert x.view("i8", np.ndarray).dtype == "i8"


class Functions:
    array, zeros, draw, tile = np.array, np.zeros, np.random.random, np.hanning


def test_functions_that_are_attributes_of_classes():
    functions = Functions()
    assert functions.array([1, 2]).tolist() == [1, 2]
    assert functions.zeros(N).shape == (N,)
    assert functions.draw(3).shape == (3,)
    assert Functions.array is np.array
    with pytest.raises(TypeError):  # NumPy's is a method, too
        functions.tile(3)
