"""The text of modules whose functions keep state outside themselves: statements by name."""

IMPORTS = """
import collections, contextlib, contextvars, copy, dataclasses, enum, functools, heapq, io
import itertools, logging, math, operator, os, pprint, random, sys, threading, time, typing
import warnings
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
    "ALIAS": "ALIAS = LOG",
    "SHARED": 'SHARED = {"log": LOG, "w": W, "state": STATE, "self": None}',
    "VIEW": "VIEW = W[1:]",
    "HOLDER": 'HOLDER = [None, {"deep": [[1, 2], {"x": 3}]}, (4, [5])]',
    "RNGS": 'RNGS = {"a": np.random.default_rng(3)}',
    "Vec": """
class Vec:
    def __init__(self, parts=(1.0, 2.0)):
        self.parts, self.log = list(parts), []

    def __add__(self, other):
        self.log.append("add")
        return Vec([part + other for part in self.parts])

    def __radd__(self, other):
        self.log.append("radd")
        return other + self.parts[0]

    def __mul__(self, other):
        return other * self.parts[0]

    __rmul__ = __mul__

    def __iadd__(self, other):
        self.parts[0] += other
        return self

    def __neg__(self):
        return Vec([-part for part in self.parts])

    def __len__(self):
        return len(self.parts)

    def __eq__(self, other):
        self.log.append("eq")
        return self.parts[0] == (other.parts[0] if isinstance(other, Vec) else other)

    def __lt__(self, other):
        return self.parts[0] < (other.parts[0] if isinstance(other, Vec) else other)

    def __hash__(self):
        return 7

    def __bool__(self):
        return self.parts[0] > 0

    def __iter__(self):
        self.log.append("iter")
        return iter(self.parts)

    def __contains__(self, one):
        self.log.append(one)
        return one in self.parts

    def __getitem__(self, key):
        return self.parts[key]

    def __setitem__(self, key, value):
        self.log.append(key)
        self.parts[key] = value

    def __delitem__(self, key):
        del self.parts[key]

    def __call__(self, v, by=1):
        self.log.append(by)
        return v * self.parts[-1] + by

    def __enter__(self):
        self.log.append("enter")
        return self.parts

    def __exit__(self, kind, error, trace):
        self.log.append("exit" if kind is None else kind.__name__)
        return kind is not None and issubclass(kind, Trouble)

    def __str__(self):
        return f"Vec{len(self.parts)}"

    def __format__(self, spec):
        self.log.append(spec)
        return spec + str(len(self.log))
""".strip(),
    "U": "U = Vec()",
    "Lazy": """
class Lazy:
    def __init__(self):
        self.asked, self.known = [], {"w": np.ones(5), "k": 3}

    def __getattr__(self, name):
        if name.startswith("__") or name not in self.known:
            raise AttributeError(name)
        self.asked.append(name)
        return self.known[name]
""".strip(),
    "L": "L = Lazy()",
    "Noted": """
class Noted:
    def __init__(self):
        object.__setattr__(self, "k", 1)

    def __setattr__(self, name, value):
        LOG.append(name)
        super().__setattr__(name, value)

    def __delattr__(self, name):
        LOG.append(-1)
        object.__delattr__(self, name)
""".strip(),
    "Z": "Z = Noted()",
    "Config": """
@dataclasses.dataclass
class Config:
    k: int = 2
    w: np.ndarray = dataclasses.field(default_factory=lambda: np.arange(5.0))
    names: list = dataclasses.field(default_factory=list)

    def step(self, v):
        self.k += 1
        self.names.append(self.k)
        return v * self.k + self.w

    @property
    def total(self):
        return self.k + len(self.names)
""".strip(),
    "D": "D = Config()",
    "Fast": """
@dataclasses.dataclass(frozen=True)
class Fast:
    k: int = 2
    bias: tuple = (1.0, 2.0)

    def apply(self, v):
        return v * self.k + self.bias[1]
""".strip(),
    "FAST": "FAST = Fast()",
    "Layer": """
class Layer:
    rate = 0.5

    def __init__(self):
        self.w, self.b, self.steps, self.best = np.ones(5), 0.0, 0, None
        self.history, self.rng = [], np.random.default_rng(4)

    def step(self, v):
        self.steps += 1
        out = v * self.w + self.b
        self.w = self.w - self.rate * out
        self.b += 0.25
        self.history.append(out.sum())
        return out

    def write(self, v):
        self.w += v
        self.w[0] = self.b
        self.best = v if self.best is None else np.maximum(self.best, v)
        return self.w * 2

    def noisy(self, v):
        return v + self.rng.normal(size=5)

    def fit(self, v):
        for _ in range(2):
            v = self.step(v)
        return v
""".strip(),
    "N": "N = Layer()",
    "NETS": "NETS = [Layer(), Layer()]",
    "Trouble": """
class Trouble(Exception):
    def __init__(self, k):
        super().__init__(k)
        self.k = k
""".strip(),
    "risky": """
def risky(v, n):
    LOG.append(n)
    if n > 3:
        raise Trouble(n)
    return v + n
""".strip(),
    "Color": "class Color(enum.Enum):\n    RED = 1\n    BLUE = 2",
    "COLOR": "COLOR = Color.RED",
    "Pair": "class Pair(typing.NamedTuple):\n    a: int\n    w: np.ndarray",
    "PAIR": "PAIR = Pair(2, np.ones(5))",
    "scaled_by": """
def scaled_by(v, by=2, *, off=0.5, extra=[1]):
    return v * by + off + len(extra)
""".strip(),
    "TIMES": "TIMES = functools.partial(scaled_by, by=3)",
    "WAYS": 'WAYS = {"a": lambda v: v + k, "b": scaled_by, "c": TIMES}',
    "kept_all": """
def kept_all(v, *args, **named):
    LOG.append(len(args))
    return v + len(named)
""".strip(),
    "Noting": """
class Noting:
    def __enter__(self):
        LOG.append("in")

    def __exit__(self, *error):
        LOG.append(len(error))
""".strip(),
    "Base": """
class Base:
    count = 0

    def go(self, v):
        LOG.append("base")
        return v + self.count

    @classmethod
    def made(cls, n):
        LOG.append(cls.__name__)
        self = cls()
        self.count = n
        return self
""".strip(),
    "Both": """
class Both(Base):
    def go(self, v):
        self.count += 1
        return super().go(v) * 2
""".strip(),
    "B": "B = Both()",
    "Node": """
class Node:
    def __init__(self, value, rest=None):
        self.value, self.rest = value, rest
""".strip(),
    "HEAD": "HEAD = Node(1, Node(2))",
    "RECORDS": "RECORDS = []",
    "ToLog": """
class ToLog(logging.Handler):
    def emit(self, record):
        RECORDS.append(record.getMessage())
""".strip(),
    "LOGGER": 'LOGGER = logging.Logger("generated")\nLOGGER.addHandler(ToLog())',
    "Walk": """
class Walk:
    def __init__(self, n):
        self.n, self.at = n, 0

    def __iter__(self):
        self.at = 0
        return self

    def __next__(self):
        if self.at >= self.n:
            raise StopIteration
        self.at += 1
        return self.at
""".strip(),
    "WALK": "WALK = Walk(3)",
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
