"""The text of modules whose functions keep state outside themselves: statements by name."""

IMPORTS = """
import collections, contextlib, contextvars, copy, functools, heapq, io, itertools, logging
import operator, os, pprint, random, sys, threading, warnings
from types import SimpleNamespace

import numpy as np
"""
PIECES = {
    "k": "k = 3",
    "once": "once = True",
    "W": "W = np.arange(5.0)",
    "V": "V = np.array([[1.0, 2.0, 3.0, 4.0, 5.0], [0.0, 1.0, 0.0, 1.0, 0.0]])",
    "I": "I = np.array([2, 0, 1, 1, 4])",
    "OBJ": "OBJ = np.array([1, 2.5, 3, 4, 5], dtype=object)",
    "LOG": "LOG = []",
    "NUMBERS": "NUMBERS = [3, 1, 2]",
    "STATE": 'STATE = {"n": 1, "prev": None, "seen": []}',
    "PARTS": "PARTS = [np.arange(5.0), np.ones(5)]",
    "TABLE": 'TABLE = {"w": np.arange(5.0), "deep": {"u": [np.ones(5)]}}',
    "SEEN": "SEEN = {1, 2}",
    "QUEUE": "QUEUE = collections.deque([1, 2, 3], maxlen=4)",
    "GROUPS": "GROUPS = collections.defaultdict(list)",
    "COUNTS": "COUNTS = collections.Counter(a=1)",
    "ORDER": "ORDER = collections.OrderedDict(a=1, b=2)",
    "BYTES": 'BYTES = bytearray(b"abc")',
    "NS": (
        "NS = SimpleNamespace(w=np.arange(5.0), k=2, first=True)\n"
        "NS.deep = SimpleNamespace(u=np.ones(5))"
    ),
    "Deep": "class Deep:\n    def __init__(self):\n        self.k, self.u = 2, np.ones(5)",
    "Described": """
class Described:
    def __get__(self, owner, kind=None):
        owner.parts.append(1)
        return owner.k

    def __set__(self, owner, value):
        owner.last = value
""".strip(),
    "Model": """
class Model:
    scale = 2.0
    shared = [1]
    table = np.array([0.0, 1.0, 0.0, 1.0, 0.0])

    def __init__(self):
        self.k, self.first, self.last, self.w = 3, True, None, np.arange(5.0)
        self.parts, self.names, self.deep = [np.ones(5), np.arange(5.0)], {"a": 1}, Deep()

    @property
    def scaled(self):
        return self.k * self.scale

    @property
    def counted(self):
        self.k += 1
        return self.k

    @counted.setter
    def counted(self, value):
        self.last, self.k = value, value + 1

    @functools.cached_property
    def total(self):
        return self.k + 10

    def apply(self, v):
        return v * self.w + self.k

    def count(self, v):
        self.k += 1
        self.parts.append(v)
        return v * self.k

    def first_time(self, v):
        if self.first:
            self.first = False
            return v * 100
        return v

    @classmethod
    def grow(cls):
        cls.scale += 1
        return cls.scale

    @staticmethod
    def doubled(v):
        return v + v

    def __getitem__(self, key):
        self.names[key] = self.names.get(key, 0) + 1
        return self.names[key]

    def __call__(self, v):
        self.last = v.shape
        return v - 1

    def chained(self):
        self.k += 1
        return self

    described = Described()

    def __len__(self):
        return self.k

    def __enter__(self):
        self.k += 1
        return self

    def __exit__(self, *error):
        self.k += 10
""".strip(),
    "S": "S = Model()",
    "Slots": """
class Slots:
    __slots__ = ("k", "w")

    def __init__(self):
        self.k, self.w = 1, np.ones(5)
""".strip(),
    "T": "T = Slots()",
    "count_up": """
def count_up():
    n = 0
    while True:
        n += 1
        yield n
""".strip(),
    "G": "G = count_up()",
    "rows": """
def rows():
    for p in (np.ones(5), np.arange(5.0), np.zeros(5)):
        yield p
""".strip(),
    "R": "R = rows()",
    "C": "C = itertools.count(3)",
    "CYCLE": "CYCLE = itertools.cycle([1, 2, 4])",
    "ITER": "ITER = iter([5, 6, 7, 8, 9, 10, 11, 12])",
    "RNG": "RNG = np.random.default_rng(7)",
    "OLD": "OLD = np.random.RandomState(7)",
    "LUCK": "LUCK = random.Random(7)",
    "TEXT": "TEXT = io.StringIO()",
    "VAR": 'VAR = contextvars.ContextVar("VAR", default=1)',
    "LOCAL": "LOCAL = threading.local()\nLOCAL.k = 1",
    "bump": "def bump():\n    global k\n    k += 1\n    return k",
    "bump_deep": "def bump_deep():\n    return bump() + 1",
    "note": "def note(v):\n    LOG.append(1)\n    return v",
    "note_in": "def note_in(log, v):\n    log.append(len(log))\n    return v",
    "spoil": "def spoil(w):\n    w[0] = 9.0\n    return w",
    "spoil_one": "def spoil_one():\n    W[1] = 8.0",
    "twice": "def twice(v):\n    return v * 2 + W",
    "norm": """
def norm(v):
    parts = []
    for p in PARTS:
        parts.append(v * p)
    return sum(parts)
""".strip(),
    "remembered": ("@functools.lru_cache\ndef remembered(n):\n    LOG.append(n)\n    return n + 1"),
    "kept": """
def kept(n, known={}):
    if n not in known:
        known[n] = n * 2
    return known[n]
""".strip(),
    "OPS": 'OPS = {"twice": twice, "note": note, "bump": bump}',
    "counting": """
def counting(v):
    counting.calls = getattr(counting, 'calls', 0) + 1
    return v * counting.calls
""".strip(),
    "logged": """
def logged(fn):
    @functools.wraps(fn)
    def inner(v):
        LOG.append(fn.__name__)
        return fn(v)

    return inner
""".strip(),
    "half": "@logged\ndef half(v):\n    return v / 2",
    "APPEND": "APPEND = functools.partial(LOG.append, 5)",
    "cells": """
def cells():
    n = 0

    def step():
        nonlocal n
        n += 1
        return n

    return step
""".strip(),
    "STEP": "STEP = cells()",
    "same": "def same(v):\n    return v",
    "get_log": "def get_log():\n    return LOG",
    "noting": """
def noting(n):
    for i in range(n):
        LOG.append(i)
        yield i
""".strip(),
    "pure": "def pure(n):\n    for i in range(n):\n        yield i",
    "noted": """
@contextlib.contextmanager
def noted():
    LOG.append("enter")
    yield
    LOG.append("leave")
""".strip(),
    "Registered": """
class Registered:
    def __init__(self):
        self.k = 2
        LOG.append("made")
""".strip(),
    "Fixed": "class Fixed:\n    def __init__(self):\n        self.k = 2",
    "Counted": """
class Counted:
    total = 0

    def __new__(cls):
        cls.total += 1
        return super().__new__(cls)

    def __init__(self):
        self.k = Counted.total
""".strip(),
    "deep_note": """
def deep_note(n):
    def inner(m):
        return note(m)

    return inner(n)
""".strip(),
    "recursive": """
def recursive(n, v):
    if n:
        LOG.append(n)
        return recursive(n - 1, v) + 1
    return v
""".strip(),
    "recurse": "def recurse(n, v):\n    return recurse(n - 1, v) + 1 if n else v",
    "Parent": "class Parent:\n    def hello(self):\n        LOG.append('hello')",
    "Child": """
class Child(Parent):
    def hello(self):
        super().hello()

    @classmethod
    def hello_class(cls):
        cls().hello()
""".strip(),
    "Odd": """
class Odd:
    def __init__(self):
        super().__setattr__("k", 2)

    def _note(self, *values):
        LOG.append(len(values))
        return 1

    __add__ = __radd__ = __mul__ = __rmul__ = __int__ = __index__ = __len__ = __lt__ = _note
    __iadd__ = __eq__ = __neg__ = __abs__ = __hash__ = __getitem__ = __getattr__ = _note
    __contains__ = _note
    __array_ufunc__ = None

    def __bool__(self):
        return bool(self._note())

    def __str__(self):
        return str(self._note())

    def __iter__(self):
        yield self._note()

    def __setattr__(self, name, value):
        self._note(name)

    def __delattr__(self, name):
        self._note(name)
""".strip(),
    "given": 'given = {"n": 1, "w": np.ones(5), "seen": []}',
}
"""Statements of a module by the name that each makes."""

METHODS = """
class Own(Model):
{function}

S = Own()
"""
CLOSURE = """
def make():
    c, flag, cell, notes = 2, True, np.arange(5.0), []

{function}
    return f


f = make()
"""
