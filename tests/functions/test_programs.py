# ruff: noqa: B009, B010, B905, RET504 - as users write
"""Small programs as users write them: compiled, or left to NumPy, they do what Python does."""

import collections
import contextlib
import copy
import dataclasses
import enum
import functools
import itertools
import math
import operator
import typing

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError

pytestmark = pytest.mark.usefixtures("in_numpy")
LOG = []
CFG = {"a": 1.0, "mode": "x"}
W = np.arange(3.0)


class BadValue(Exception):
    def __init__(self, k):
        super().__init__(f"bad {k}")
        self.k = k


@contextlib.contextmanager
def noting(n):
    LOG.append(("in", n))
    try:
        yield n
    finally:
        LOG.append(("out", n))


def exit_stack(x):
    with contextlib.ExitStack() as st:
        v = st.enter_context(noting(1))
        return x + v


def suppressed(x):
    with contextlib.suppress(ValueError):
        raise ValueError("x")
    return x


def generator_as_manager(x):
    with noting(2) as n:
        y = x * n
    return y


def raised_and_caught(x):
    try:
        raise BadValue(3)
    except BadValue as e:
        return x * e.k, str(e)


def partial_of_a_method(x):
    f = functools.partial(LOG.append)
    f(1)
    return x


def method_under_a_name(x):
    app = LOG.append
    app(2)
    return x


def item_of_a_list(x):
    operator.itemgetter(0)([LOG]).append(3)
    return x


def copied_settings(x):
    c = copy.copy(CFG)
    c["a"] = 5
    return x * c["a"]


class Vector:
    def __init__(s, *v):
        s.v = v

    def __len__(s):
        return len(s.v)

    def __iter__(s):
        return iter(s.v)

    def __add__(s, o):
        return Vector(*(a + b for a, b in zip(s.v, o.v)))

    def __float__(s):
        return float(s.v[0])

    def __getitem__(s, i):
        return s.v[i]

    def __eq__(s, o):
        return s.v == o.v

    def __hash__(s):
        return hash(s.v)


def vectors(x):
    v = Vector(1.0, 2.0) + Vector(3.0, 4.0)
    return x * sum([*v]) + len(v) + float(v), v[0]


def key_with_methods(x):
    return {Vector(1.0): 1}[Vector(1.0)] * x


class Mode(enum.Enum):
    A = 1
    B = 2


def default_of_an_enum(x, m=Mode.A):
    return x if m is Mode.A else -x


def matched(x):
    match CFG:
        case {"mode": "x", "a": v}:
            return x * v
        case _:
            return x


class Simulation:
    count = 0

    def __init__(s):
        s.h = []
        s.u = np.ones(3)
        s.opts = {"k": 2.0}

    @property
    def k(s):
        return s.opts["k"]

    def step(s, x):
        Simulation.count += 1
        s.h.append(float(1))
        s.u = s.u * s.k + x
        return s.u


S = Simulation()


def simulation(x):
    return S.step(x)


def loop_over_pairs(x):
    out = []
    for i, (p, q) in enumerate(zip(W, [1, 2, 3])):
        out.append(p * q + x[i])
    return np.stack(out)


def gen(n):
    for i in range(n):
        yield i * 2


def generated(x):
    return sum(x * g for g in gen(3))


def walrus(x):
    if (n := x.shape[0]) > 2:
        return x * n
    return x


def stars(x, *a, **k):
    return x + sum(a) + k.get("z", 0)


def starred(x):
    return stars(x, *[1, 2], **{"z": 3})


class Pair(typing.NamedTuple):
    a: int
    b: object


def named_tuple(x):
    t = Pair(1, x)
    return t._replace(a=5).a * t.b


@dataclasses.dataclass
class Settings:
    a: float = 1.0
    b: list = dataclasses.field(default_factory=list)


def dataclass(x):
    d = Settings()
    d.b.append(x)
    return dataclasses.replace(d, a=3.0).a * d.b[0]


def noted(f):
    @functools.wraps(f)
    def w(*a, **k):
        LOG.append(f.__name__)
        return f(*a, **k)

    return w


@noted
def doubled(x):
    return x * 2


def notedrated(x):
    return doubled(x)


def global_array(x):
    global W
    W = W + 1
    return x * W


def accumulated(x):
    it = itertools.accumulate([1, 2, 3])
    return x * list(it)[-1]


def counted(x):
    c = collections.Counter("aab")
    return x * c["a"]


def fact(n):
    return 1 if n < 2 else n * fact(n - 1)


def recursive(x):
    return x * fact(4)


def closure_inside(x):
    def inner(y):
        nonlocal_x.append(y)
        return y

    nonlocal_x = []
    inner(x)
    return nonlocal_x[0] + 1


def default_dict(x):
    d = collections.defaultdict(list)
    d["k"].append(x)
    return d["k"][0]


def reduced(x):
    return functools.reduce(lambda a, b: a + b, [x, x, x])


def numbers(x):
    return max([1, 5, 3]) * x + min(2, 3) + abs(-2) + round(2.6) + int("3") + math.floor(2.5)


def list_written(x):
    del LOG[:]
    LOG.extend([1, 2])
    LOG[0] = x.sum()
    return x


def sets(x):
    s = {1, 2} | {3}
    return x * len(s)


def keys(x):
    for k in CFG:
        LOG.append(k)
    return x


def loop_with_else(x):
    while True:
        x = x + 1
        break
    else:
        x = x - 1
    return x


def missing_key(x):
    try:
        CFG["zz"]
    except KeyError as e:
        LOG.append(str(e))
    return x


def asserted(x):
    assert x.ndim == 1, "one"
    return x


def kinds(x):
    return x[..., None].shape, isinstance(x, np.ndarray), type(x)


def array_of_calls(x):
    return np.array([f(x) for f in (np.sum, np.max)])


def attributes_by_name(x):
    m = getattr(S, "k")
    setattr(S, "z", m)
    return x * m


def evaluated(x):
    return eval("x+1")


def imported(x):
    import math as mm

    return x * mm.pi


class Node:
    def __init__(s, v, n=None):
        s.v = v
        s.n = n


HEAD = Node(1.0, Node(2.0))


def linked_list(x):
    t = 0
    p = HEAD
    while p is not None:
        t = t + p.v
        p = p.n
    return x * t


def unpacked(x):
    a, *b = [1, 2, 3]
    return x * a + b[1]


def called_lambda(x):
    return (lambda y, z=2: y * z)(x)


def appended_and_popped(x):
    LOG.append(x)
    LOG.pop()
    return x


def sorted_pairs(x):
    return sorted([(2, "b"), (1, "a")])[0][0] * x


REFUSED = ("exit_stack", "key_with_methods", "evaluated")
HELPERS = ("noting", "gen", "noted", "doubled", "fact", "stars")
PROGRAMS = [
    function
    for name, function in list(globals().items())
    if type(function) is type(imported) and name not in HELPERS
]


def state():
    return repr((LOG, CFG, W, vars(S), Simulation.count))


def outcomes(function):
    """The results of four calls, and what they leave, with changes between them."""
    LOG.clear()
    CFG.clear()
    CFG.update(a=1.0, mode="x")
    globals()["W"] = np.arange(3.0)
    vars(S).clear()
    S.__init__()
    Simulation.count = 0
    found = []
    for number in range(4):
        try:
            result = repr(function(np.arange(3.0) + number))
        except NeedsValuesError:
            raise
        except Exception as error:
            result = type(error).__name__
        found.append((result, state()))
        if number == 1:
            CFG["a"], S.opts["k"] = 7.0, 3.0
    return found


@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_programs_do_what_python_does(function):
    wanted = outcomes(function)
    if function.__name__ not in REFUSED:
        assert outcomes(axiomjit.jit(function, strict=True)) == wanted
        return
    with pytest.raises(NeedsValuesError):
        outcomes(axiomjit.jit(function, strict=True))
    with pytest.warns(axiomjit.base.errors.FallbackWarning):
        assert outcomes(axiomjit.jit(function)) == wanted


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 2


@dataclasses.dataclass(frozen=True)
class Fast:
    k: int = 2


@dataclasses.dataclass
class Setting:
    k: float = 2.0


LEVELS = [Level.LOW]
ARGUMENTS = {
    "popped": (lambda x, q: x + q.popleft(), lambda: collections.deque([1, 2, 3], maxlen=4)),
    "next level": (lambda x, q: (LEVELS.append(Level(q[0] % 2 + 1)), x)[1], lambda: [Level.LOW]),
    "copied": (lambda x, q: x * copy.copy(q).k, lambda: Setting(3.0)),
    "as a dict": (lambda x, q: x * dataclasses.asdict(q)["k"], lambda: Setting(3.0)),
    "keys": (lambda x, q: x * {q[0]: 2, q[1]: 3}[q[0]], lambda: [Fast(2), Fast(2)]),
    "other keys": (lambda x, q: x * {q[0]: 2, q[1]: 3}[q[0]], lambda: [Fast(2), Fast(3)]),
}


@pytest.mark.parametrize("name", ARGUMENTS)
@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_arguments_are_what_they_are_in_each_call(name):
    function, make = ARGUMENTS[name]
    compiled = axiomjit.jit(function)
    found = []
    for run in (function, compiled):
        LEVELS[:] = [Level.LOW]
        given, other = make(), make()
        if isinstance(other, Setting):
            other.k = 7.0
        results = [repr(run(np.arange(3.0), one)) for one in (given, other, given)]
        found.append((results, LEVELS[:], repr(given)))
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.FallbackWarning")
def test_keys_of_another_call_may_be_equal():
    function = ARGUMENTS["keys"][0]
    compiled = axiomjit.jit(function)
    for q in ([Fast(2), Fast(3)], [Fast(2), Fast(2)], [Fast(3), Fast(2)]):
        np.testing.assert_array_equal(compiled(np.ones(3), q), function(np.ones(3), q))
