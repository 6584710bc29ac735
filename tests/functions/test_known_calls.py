"""Kinds of calls: the tables are complete, and no code of the user's runs to find a kind."""

import abc
import bisect
import contextlib
import dataclasses
import datetime
import decimal
import enum
import functools
import heapq
import io
import itertools
import logging
import math
import operator
import os
import random
import re
import statistics
import struct
import threading
import time
import typing
import uuid
import warnings
from collections import ChainMap, Counter, OrderedDict, UserDict, defaultdict, deque, namedtuple

import numpy as np
import pytest

import axiomjit
from axiomjit.functions import libraries
from axiomjit.functions.known_calls import Kind, kind_of_call, kind_of_method
from axiomjit.functions.known_methods import role_of
from tests.functions.call_samples import MODULES, functions_of, public, runs


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_each_public_function_of_a_module_has_a_kind(module):
    refused = {name for name, f in public(module).items() if kind_of_call(f).kind is Kind.REFUSED}
    named = libraries.REFUSED.get(module.__name__, "").split()
    assert refused <= {*named, "get_state", "Pattern", "Match"}


TYPES = (
    *(list, dict, set, frozenset, deque, OrderedDict, defaultdict, Counter, ChainMap, bytearray),
    *(str, bytes, int, float, complex, bool, tuple, range, slice, memoryview, property, object),
    *(np.ndarray, np.float64, np.float32, np.int64, np.datetime64, np.str_, np.dtype, np.ufunc),
    *(np.matrix, np.poly1d, np.polynomial.Polynomial, np.random.Generator, np.char.chararray),
    *(re.Pattern, re.Match, random.Random, UserDict, decimal.Decimal, struct.Struct),
    *(datetime.datetime, datetime.date, datetime.time, datetime.timedelta, datetime.timezone),
    *(type({}.keys()), type(iter([])), type(x for x in ()), itertools.chain, statistics.NormalDist),
)
FILES_AND_STATES = {
    *("dump", "dumps", "tofile", "fromfile", "scanner", "tounicode", "spawn", "samples"),
    *("get_state", "bit_generator"),
}
"""Methods that are not known on purpose."""


@pytest.mark.parametrize("kind", TYPES, ids=lambda kind: kind.__name__)
def test_each_public_method_of_a_type_has_a_role(kind):
    names = {name for name in dir(kind) if not name.startswith("_")}
    methods = {name for name in names if callable(getattr(kind, name))}
    assert {name for name in methods if role_of(kind, name) is None} <= FILES_AND_STATES


# Functions that run functions


CALLBACKS = [
    *((map, (abs, [1])), (filter, (abs, [1])), (functools.reduce, (max, [1, 2]))),
    *((functools.partial, (abs, 1)), (functools.cmp_to_key, (abs,)), (functools.lru_cache, (abs,))),
    *((itertools.accumulate, ([1], max)), (itertools.groupby, ([1], abs))),
    *((itertools.starmap, (abs, [[1]])), (itertools.takewhile, (abs, [1]))),
    *((itertools.dropwhile, (abs, [1])), (itertools.filterfalse, (abs, [1]))),
    *((np.vectorize, (abs,)), (np.frompyfunc, (abs, 1, 1)), (np.fromfunction, (abs, (2,)))),
    *((np.apply_along_axis, (abs, 0, [1])), (np.apply_over_axes, (abs, [1], 0))),
    *((operator.call, (abs, 1)), (iter, (abs, 1)), (re.sub, ("a", abs, "b"))),
    (defaultdict, (abs,)),
]


@pytest.mark.parametrize(("function", "args"), CALLBACKS)
def test_functions_that_are_run_are_named(function, args):
    known = kind_of_call(function).with_arguments(args, {})
    assert known.kind in (Kind.CALLBACK, Kind.REPLACED)
    assert [one for one in known.called(args, {}) if callable(one)] in ([abs], [max])


@pytest.mark.parametrize("function", [sorted, min, max, heapq.nlargest, bisect.bisect])
def test_keys_are_run(function):
    assert kind_of_call(function).called(([1],), {"key": abs}) == [abs]
    assert kind_of_call(function).called(([1],), {}) == []


def test_functions_of_piecewise_are_run():
    known = kind_of_call(np.piecewise)
    assert known.called((np.ones(2), [True], [abs, 0, max]), {}) == [abs, max]


def test_key_of_a_list_is_run():
    known = kind_of_method(list, "sort")
    assert known.called(([2, 1],), {"key": abs}) == [abs]


# Special methods that are asked for


class Recorder:
    """Records the special methods that it is asked for."""

    def __init__(self):
        self.asked = []


def _recording(name, found):
    def method(self, *given):
        self.asked.append(name)
        return found

    return method


for _name, _found in {
    **{"__len__": 3, "__bool__": True, "__str__": "a", "__repr__": "a", "__hash__": 1},
    **{"__eq__": True, "__lt__": True, "__gt__": True, "__abs__": 1, "__int__": 1, "__index__": 1},
    **{"__float__": 1.0, "__complex__": 1j, "__iter__": iter(()), "__round__": 1, "__add__": 1},
    **{"__radd__": 1, "__format__": "a", "__neg__": 1, "__contains__": True, "__divmod__": 1},
    **{"__reversed__": iter(()), "__getitem__": 1, "__trunc__": 1, "__floor__": 1, "__ceil__": 1},
    **{"__bytes__": b"a", "__length_hint__": 0, "__call__": 1, "__fspath__": "a", "keys": ()},
    **{"__pow__": 1, "__mul__": 1, "__sizeof__": 1, "__copy__": 1, "__deepcopy__": 1},
}.items():
    setattr(Recorder, _name, _recording(_name, _found))


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_special_methods_are_named(module):
    kinds = (Kind.PURE, Kind.ASKS, Kind.CALLBACK, Kind.REPLACED)
    for name, function in functions_of(module, *kinds).items():
        known = kind_of_call(function)
        for make in (lambda r: (r,), lambda r: (r, r), lambda r: ([r, r],), lambda r: (abs, [r])):
            recorder = Recorder()
            runs(function, make(recorder))
            assert set(recorder.asked) <= {*known.asks, *known.asks_entries}, name


# Other kinds


def users(x):
    return x


class Users:
    def method(self):
        return 1

    @classmethod
    def of_class(cls):
        return 1

    @staticmethod
    def of_none():
        return 1

    def __call__(self):
        return 1


class Plain(ValueError):
    pass


class Started(ValueError):
    def __init__(self, text):
        super().__init__(text.upper())


class Color(enum.Enum):
    RED = 1


class Fallback(enum.Enum):
    RED = 1

    @classmethod
    def _missing_(cls, value):
        return cls.RED


class Pair(typing.NamedTuple):
    x: int
    y: int


class Checked(Pair):
    def __new__(cls, x, y):
        return super().__new__(cls, y, x)


class Base(abc.ABC):
    @abc.abstractmethod
    def method(self): ...


class Derived(Base):
    def method(self):
        return 1


class Numbers(list):
    def total(self):
        return sum(self)


class Threads(threading.Thread):
    pass


@dataclasses.dataclass
class Data:
    x: int


@functools.lru_cache
def cached(x):
    return x


@contextlib.contextmanager
def managed():
    yield


@axiomjit.jit
def compiled(x):
    return x


@pytest.mark.parametrize(
    ("callee", "kind"),
    [
        *((users, Kind.USER), (lambda: 1, Kind.USER), (Users, Kind.USER), (Data, Kind.USER)),
        *((Users(), Kind.USER), (Users().method, Kind.WRAPPER), (Users.method, Kind.USER)),
        *((Users.of_class, Kind.WRAPPER), (Users.of_none, Kind.USER), (Derived, Kind.USER)),
        *((Numbers, Kind.USER), (Numbers().append, Kind.WRITER), (Numbers().total, Kind.WRAPPER)),
        *((Plain, Kind.PURE), (Started, Kind.USER), (ValueError, Kind.PURE)),
        *(
            (Color, Kind.PURE),
            (uuid.SafeUUID, Kind.PURE),
            (Fallback, Kind.REFUSED),
            (Pair, Kind.PURE),
            (Checked, Kind.USER),
        ),
        *((namedtuple("P", "x y"), Kind.PURE), (Pair(1, 2)._replace, Kind.PURE)),
        *((Threads, Kind.REFUSED), (threading.Lock, Kind.REFUSED), (os.remove, Kind.REFUSED)),
        *((cached, Kind.WRAPPER), (functools.partial(users), Kind.WRAPPER)),
        *((compiled, Kind.WRAPPER), (managed, Kind.REFUSED), (list[int], Kind.WRAPPER)),
        *((np.vectorize(users), Kind.CALLBACK), (np.frompyfunc(users, 1, 1), Kind.REFUSED)),
        *((np.add, Kind.PURE), (np.float32, Kind.PURE), (np.poly1d([1]), Kind.PURE)),
        *((operator.itemgetter(1), Kind.ASKS), (operator.attrgetter("x"), Kind.ASKS)),
        *((operator.methodcaller("x"), Kind.REFUSED), ([].append, Kind.WRITER)),
        *((list.append, Kind.WRITER), ([].copy, Kind.PURE), (dict.fromkeys, Kind.PURE)),
        *((print, Kind.EFFECT), (warnings.warn, Kind.EFFECT), (logging.info, Kind.EFFECT)),
        *((logging.getLogger("a").info, Kind.EFFECT), (io.StringIO().write, Kind.EFFECT)),
        *((logging.getLogger("a").setLevel, Kind.REFUSED), (logging.getLogger, Kind.PURE)),
        *((np.random.normal, Kind.DRAW), (np.random.default_rng(0).normal, Kind.DRAW)),
        *((np.random.PCG64(0).random_raw, Kind.WRITER), (logging.Logger.info, Kind.EFFECT)),
        *((np.random.BitGenerator.random_raw, Kind.WRITER), (random.Random.gauss, Kind.WRITER)),
        *((np.random.Generator.normal, Kind.DRAW), (UserDict.pop, Kind.WRITER)),
        *((random.random, Kind.REFUSED), (random.Random(0).random, Kind.WRITER)),
        *((eval, Kind.REFUSED), (globals, Kind.REFUSED), (id, Kind.REFUSED)),
        *((np.seterr, Kind.REFUSED), (np.errstate, Kind.PURE), (np.save, Kind.REFUSED)),
    ],
)
def test_kinds_of_other_callees(callee, kind):
    assert kind_of_call(callee).kind is kind


@pytest.mark.parametrize(
    ("callee", "name"),
    [
        *((time.time, "time.time"), (time.perf_counter, "time.perf_counter"), (open, "open")),
        *((input, "input"), (uuid.uuid4, "uuid.uuid4"), (os.urandom, "os.urandom")),
        *((np.load, "numpy.load"), (os.getenv, "os.getenv"), (os.environ.get, "os.environ.get")),
        *((datetime.datetime.now, "datetime.now"), (datetime.date.today, "date.today")),
        *((os.path.exists, "os.path.exists"), (time.gmtime, "time.gmtime")),
        *((np.random.PCG64, "numpy.random.PCG64()"), (random.Random, "random.Random()")),
    ],
)
def test_impure_functions_have_names(callee, name):
    known = kind_of_call(callee).with_arguments((), {})
    assert (known.kind, known.name) == (Kind.IMPURE, name)


@pytest.mark.parametrize(
    ("callee", "args", "kind"),
    [
        *((np.random.PCG64, (3,), Kind.PURE), (random.Random, (3,), Kind.PURE)),
        *((time.gmtime, (3,), Kind.PURE), (time.strftime, ("%Y",), Kind.IMPURE)),
        *((np.datetime64, ("now",), Kind.IMPURE), (np.datetime64, ("2020",), Kind.PURE)),
        *((np.array, (["today"], "M8[D]"), Kind.IMPURE), (np.array, (["a"],), Kind.REPLACED)),
        *((np.busday_count, ("2020-01-01", "today"), Kind.IMPURE), (iter, ([1],), Kind.ASKS)),
        *((iter, (users, 1), Kind.CALLBACK), (type, (1,), Kind.ASKS)),
        (type, ("A", (), {}), Kind.REFUSED),
    ],
)
def test_kinds_depend_on_arguments(callee, args, kind):
    assert kind_of_call(callee).with_arguments(args, {}).kind is kind


class Hostile(type):
    """A class whose objects run no code without an error."""

    def __hash__(cls):
        raise AssertionError

    def __eq__(cls, other):
        raise AssertionError


class Silent(metaclass=Hostile):
    def __getattribute__(self, name):
        raise AssertionError

    def __hash__(self):
        raise AssertionError

    def __eq__(self, other):
        raise AssertionError

    def __call__(self):
        return 1


def test_no_code_of_the_user_runs():
    assert kind_of_call(Silent()).kind is Kind.USER
    assert kind_of_call(Silent).kind is Kind.USER
    assert kind_of_method(Silent, "__call__").kind is Kind.USER
    assert kind_of_method(Silent, "other").kind is Kind.REFUSED


def test_functions_that_took_the_place_of_others_are_not_known(monkeypatch):
    def sqrt(x):
        return x

    monkeypatch.setattr(math, "sqrt", sqrt)
    assert kind_of_call(sqrt).kind is Kind.USER


def test_code_of_the_own_package_is_the_users():
    assert kind_of_call(pytest.approx).kind is Kind.REFUSED
    assert kind_of_call(pytest.approx, "_pytest").kind is Kind.USER


def test_operators_name_their_hooks():
    assert kind_of_call(operator.add).hook == ("binary", "+")
    assert kind_of_call(operator.imatmul).hook == ("in_place", "@")
    assert kind_of_call(operator.getitem).hook == ("item",)
    assert all(kind_of_call(getattr(operator, name)).hook for name in libraries.OPERATORS)


def of_library(module, text):
    """A function as a library defines it."""
    space = {"__name__": module}
    exec(text, space)
    return space["f"]


@pytest.mark.parametrize(
    ("function", "kind"),
    [
        (of_library("scipy.linalg._basic", "def f(a, b, overwrite_b=False): ..."), Kind.PURE),
        (
            of_library("scipy.stats._resampling", "def f(data, random_state=None): ..."),
            Kind.REFUSED,
        ),
        (of_library("scipy.stats._resampling", "def f(data, *, rng=None): ..."), Kind.REFUSED),
        (of_library("scipy.io._mmio", "def f(name): ..."), Kind.REFUSED),
        (of_library("scipy_like", "def f(name): ..."), Kind.USER),
        *((np.ma.median, Kind.PURE), (np.ma.put, Kind.WRITER), (np.ma.MaskedArray, Kind.PURE)),
        *((np.testing.assert_allclose, Kind.PURE), (np.testing.assert_warns, Kind.REFUSED)),
        (np.ma.array([1]).filled, Kind.PURE),
    ],
)
def test_packages_whose_functions_are_pure(function, kind):
    assert kind_of_call(function).kind is kind


def test_arrays_that_may_be_overwritten_are_named():
    function = of_library("scipy.linalg._basic", "def f(a, b, overwrite_b=False): ...")
    a, b = np.ones(1), np.ones(1)
    known = kind_of_call(function)
    assert known.changed((a, b), {}) == known.changed((a, b), {"overwrite_b": False}) == []
    assert [one is b for one in known.changed((a, b), {"overwrite_b": True})] == [True]
    assert [one is b for one in known.changed((a, b, True), {})] == [True]
    assert known.changed((a, b, 0), {}) == []
    known = kind_of_call(of_library("scipy.linalg._qz", "def f(A, B, *, overwrite_b=False): ..."))
    assert [one is b for one in known.changed((a, b), {"overwrite_b": 1})] == [True]


def test_any_argument_of_such_functions_may_be_run():
    function = of_library("scipy.optimize._root", "def f(fun, x0): ...")
    assert kind_of_call(function).called((abs, 1.0), {}) == [abs]
