"""Sample arguments of calls, and what they may change."""

import builtins
import cmath
import copy
import dataclasses
import datetime
import decimal
import functools
import itertools
import locale
import logging
import math
import operator
import os
import random
import re
import statistics
import struct
import sys
import warnings
from collections import ChainMap, Counter, OrderedDict, deque

import numpy as np

from axiomjit.functions.known_calls import kind_of_call

MODULES = (
    *(np, np.linalg, np.fft, np.random, np.char, np.strings, np.lib.stride_tricks),
    *(math, cmath, operator, functools, itertools, builtins),
    *(statistics, struct, copy, dataclasses, re),
)


def public(module):
    """The public functions and classes of a module, by name."""
    names = getattr(module, "__all__", None) or dir(module)
    found = {name: getattr(module, name) for name in names if not name.startswith("_")}
    return {name: value for name, value in found.items() if callable(value)}


def functions_of(module, *kinds):
    """The public functions of a module that have one of the kinds, by name."""
    found = public(module).items()
    return {name: f for name, f in found if kind_of_call(f).kind in kinds}


Point = dataclasses.make_dataclass("Point", ["x", "y"])


def samples():
    """Arguments of many kinds, made anew."""
    square = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
    row, whole = np.array([3.0, 1.0, 2.0]), np.array([2, 0, 1])
    return [
        *((row,), (square,), (whole,), (row, row), (square, square), (square, row), (row, 1)),
        *((row, row, row), (square, 1, 0), (whole, whole), (row, whole), (row > 1, row)),
        *((whole, 3), (row.shape,), (row, (3, 3)), (1, row), (row, 1, row), ("f8",), ("f8", "i4")),
        *((np.array(["ab", "c"]),), (np.array(["ab", "c"]), "a"), (np.array(["ab"]), "a", "b")),
        *((np.array([1], np.uint8),), (np.array(["2020-01-01"], "M8[D]"),), ([square, square],)),
        *(([row, row],), ([row, row], row), ("i,i->", whole, whole), (square, [0, 1], (0, 1))),
        *((0.5,), (0.5, 0.25), (3,), (3, 2), (2, 3, 5), (1 + 2j,), (True,), (False, True)),
        *(([3, 1, 2],), ([3, 1, 2], 1), ([0.5, 0.25, 1.0], [1.0, 2.0, 3.5]), ("text",)),
        *(("a", "text"), ("t", "s", "text"), (b"bytes",), ("3",), (97,), ({"a": 1},), ((1, 2),)),
        *((["a", "b"],), (int, object), (3, int), ([1, 2], [3, 4]), ("<i", 3), ("<i", b"abcd")),
        *((), (lambda *given: 1,), (Point(1, 2),), (property,), ("<i",), (iter, "__name__")),
        *((np.array([1.0, 2.0]), "K"), (3, "i4"), ([0, 1], (3, 3)), (4, 2, [1.0]), (0, 2, 5)),
    ]


def plain(value):
    """A value as text that tells whether it changed."""
    if isinstance(value, np.ndarray):
        return f"{value.dtype}{value.shape}{value.strides}{value.flags.writeable}{value.tobytes()}"
    if isinstance(value, list | tuple):
        return type(value).__name__ + str([plain(one) for one in value])
    return repr(value)


def process_state():
    """What functions might change beside their arguments."""
    return (
        *(np.geterr(), np.getbufsize(), str(np.get_printoptions()), random.getstate()),
        *(plain(list(np.random.get_state())), decimal.getcontext().prec, list(warnings.filters)),
        *(locale.setlocale(locale.LC_ALL), dict(os.environ), os.getcwd(), id(sys.stdout)),
        *(sys.getrecursionlimit(), logging.root.level, list(logging.root.handlers)),
    )


def runs(function, args):
    """Whether a call gives a result; its errors and warnings do not matter."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(*args)
        except Exception:
            return False
    return True


OWNERS = {
    list: lambda: [3, 1, 2],
    dict: lambda: {"a": 1, "b": 2},
    set: lambda: {1, 2},
    frozenset: lambda: frozenset({1, 2}),
    deque: lambda: deque([3, 1, 2]),
    OrderedDict: lambda: OrderedDict(a=1, b=2),
    Counter: lambda: Counter("aab"),
    ChainMap: lambda: ChainMap({"a": 1}, {"b": 2}),
    bytearray: lambda: bytearray(b"bytes"),
    str: lambda: "text",
    bytes: lambda: b"bytes",
    int: lambda: 3,
    float: lambda: 0.5,
    tuple: lambda: (1, 2),
    range: lambda: range(3),
    np.ndarray: lambda: np.array([3.0, 1.0, 2.0]),
    np.float64: lambda: np.float64(2.5),
    re.Pattern: lambda: re.compile("t"),
    datetime.datetime: lambda: datetime.datetime(2020, 1, 2),
    datetime.timedelta: lambda: datetime.timedelta(3),
    decimal.Decimal: lambda: decimal.Decimal("1.5"),
    struct.Struct: lambda: struct.Struct("<i"),
    np.poly1d: lambda: np.poly1d([1.0, 2.0]),
    np.polynomial.Polynomial: lambda: np.polynomial.Polynomial([1.0, 2.0]),
}


def methods_of(kind):
    """The names of the methods of a type, of special ones, too."""
    skipped = {"__class__", "__init_subclass__", "__subclasshook__"}
    found = {n for base in kind.__mro__ for n in vars(base) if callable(getattr(kind, n, None))}
    return sorted(found - skipped)
