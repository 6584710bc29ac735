"""Static values that are equal but not the same, and objects whose state changes or that die."""

import dataclasses
import datetime
import enum
import gc
import weakref
from collections import OrderedDict, namedtuple
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import axiomjit
from axiomjit.dispatch.arguments import static_key

X = np.arange(3.0)
Pair = namedtuple("Pair", "a b")  # noqa: PYI024


@dataclasses.dataclass(frozen=True)
class Point:
    value: object


@dataclasses.dataclass(frozen=True, slots=True)
class Slotted:
    value: object


class Size(float):
    """A float of another type."""


EQUAL = [
    (1, 1.0, True, np.int64(1), np.float32(1), Fraction(1), Decimal(1), 1 + 0j, np.True_),
    (0.0, -0.0, np.float32(0.0), np.float32(-0.0), np.float64(-0.0), np.float16(-0.0), Size(0.0)),
    (0j, complex(-0.0, 0.0), complex(0.0, -0.0), np.complex64(complex(0.0, -0.0))),
    (Decimal("1.0"), Decimal("1.00")),
    (range(0, 2, 2), range(0, 1, 1)),
    (
        datetime.datetime(2000, 1, 1, 1, tzinfo=datetime.UTC),
        datetime.datetime(2000, 1, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1))),
    ),
]
WRAPPERS = {
    "itself": lambda v: v,
    "tuple": lambda v: (v, 2),
    "nested tuple": lambda v: ((v,), "a"),
    "named tuple": lambda v: Pair(v, 2),
    "frozenset": lambda v: frozenset([v]),
    "set": lambda v: {v},
    "dict value": lambda v: OrderedDict(a=v),
    "dict key": lambda v: OrderedDict([(v, 1)]),
    "dataclass": lambda v: Point(v),
    "slots": lambda v: Slotted((v,)),
}


@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("values", EQUAL, ids=lambda values: repr(values[0]))
def test_equal_values_are_told_apart(values, wrap):
    wrapped = [WRAPPERS[wrap](value) for value in values]
    keys = [static_key(value) for value in wrapped]
    assert len(set(keys)) == len(values)
    assert keys == [static_key(value) for value in wrapped]


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
@pytest.mark.parametrize("wrap", WRAPPERS)
@pytest.mark.parametrize("values", EQUAL, ids=lambda values: repr(values[0]))
def test_calls_see_the_value_they_were_given(values, wrap):
    f = axiomjit.jit(lambda x, s: (x + 1, repr(s)), static_argnames="s")
    for value in (*values, *values):
        given = WRAPPERS[wrap](value)
        assert f(X, given)[1] == repr(given)


def test_values_that_are_the_same_share_an_entry():
    f = axiomjit.jit(lambda x, s: x + 1)
    for _ in range(3):
        for made in (
            Point((1, "a")),
            Slotted(2.5),
            Pair("a", None),
            Decimal("2.50"),
            frozenset("a"),
        ):
            f(X, made)
    assert f.cache_info().traced == 5


@pytest.mark.parametrize(
    "keys", [(1, True), (1, 1.0), (0.0, -0.0), ((1,), (True,)), (Point(1), Point(1.0))], ids=str
)
def test_keys_of_dicts_are_told_apart(keys):
    f = axiomjit.jit(lambda d: {key: value * 2 for key, value in d.items()})
    for key in (*keys, *keys):
        assert repr(next(iter(f({key: X})))) == repr(key)


class Color(enum.Enum):
    RED = 1
    BLUE = 2


@pytest.mark.parametrize("kind", [np.float32, float, "f4", np.dtype("f4"), Color, np.ndarray, dict])
def test_types_are_static(kind):
    def function(x, t):
        return x.astype(t) if t not in (Color, np.ndarray, dict) else x * len(t.__name__)

    want = function(X, kind)
    got = axiomjit.jit(function)(X, kind)
    assert got.dtype == want.dtype
    np.testing.assert_array_equal(got, want)


def times_scale():
    return axiomjit.jit(lambda self, x: x * self.scale)


class Plain:
    def __init__(self, scale):
        self.scale = scale

    run = times_scale()


class Unhashable(Plain):
    run = times_scale()
    __hash__ = None

    def __eq__(self, other):
        return True


class Equal(Plain):
    run = times_scale()

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 7


class Slots:
    __slots__ = ("__weakref__", "scale")
    __init__ = Plain.__init__
    run = times_scale()


class NoWeakReferences:
    __slots__ = ("scale",)
    __init__ = Plain.__init__
    run = times_scale()


class Nested:
    def __init__(self, scale):
        self.inner = Plain([scale])

    def __setattr__(self, name, value):
        if name == "scale":  # is no attribute of its own
            self.inner.scale[0] = value
        else:
            super().__setattr__(name, value)

    @property
    def scale(self):
        return self.inner.scale[0]

    run = times_scale()


KINDS = [Plain, Unhashable, Equal, Slots, NoWeakReferences, Nested]


@pytest.mark.parametrize("kind", KINDS)
def test_state_of_instances_is_seen(kind):
    one, two = kind(2.0), kind(3.0)
    for value in (2.0, 5.0, 2.0, np.full(3, 7.0)):
        one.scale = value
        np.testing.assert_array_equal(one.run(X), X * value)
        np.testing.assert_array_equal(two.run(X), X * 3.0)
    one.scale[0] = 11.0
    assert one.run(X + 1)[0] == 11.0


@pytest.mark.parametrize("kind", [k for k in KINDS if k is not NoWeakReferences])
def test_instances_die_with_their_data(kind):
    jitted = vars(kind)["run"]
    one = kind(np.ones(3))
    data = weakref.ref(one.inner.scale[0] if kind is Nested else one.scale)
    alive = weakref.ref(one)
    for _ in range(3):  # natively, too
        one.run(X)
    del one
    gc.collect()
    assert alive() is None
    assert data() is None
    assert not [key for key in jitted._programs if "dead" in repr(key)]


@pytest.mark.filterwarnings("ignore::axiomjit.base.errors.RetraceWarning")
def test_many_instances_leave_nothing_behind():
    for k in range(600):
        Plain(float(k)).run(X)
    gc.collect()
    jitted = vars(Plain)["run"]
    assert len(jitted._plans) <= 2  # the numbers are an argument
    assert jitted._programs.count() <= 2
    assert not [one for one in gc.get_objects() if type(one) is Plain]


def test_a_static_argument_is_returned_as_itself():
    f = axiomjit.jit(lambda x, s: (x + 1, s))
    for given in (Plain(1.0), Point((1, 2)), Point((1, 2)), frozenset([1]), Plain(1.0)):
        assert f(X, given)[1] is given


@pytest.mark.parametrize("lock", ["plans", "programs"])
def test_an_instance_that_dies_under_a_lock_is_forgotten_later(lock):
    """Programs of named arrays are told apart by the instance."""
    jitted, axis = axiomjit.jit(lambda x, by: x * by.scale), axiomjit.make_axis(3, "axis")
    values, one = axiomjit.NamedArray(X, [axis]), Plain(2.0)
    jitted(values, one)
    assert len(jitted._plans) == 1
    with jitted._plans._lock if lock == "plans" else jitted._programs._lock:
        del one
        gc.collect()
    jitted(values, Plain(3.0))
    gc.collect()
    assert not jitted._plans
    assert not jitted._programs
