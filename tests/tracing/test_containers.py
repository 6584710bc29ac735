"""Containers of results: taken apart and built again, or refused by name."""

import asyncio
import collections
import dataclasses
import functools
import itertools
import types
import typing

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import FallbackWarning, GraphValueError, NeedsValuesError, TraceError
from axiomjit.base.tree import flatten_tree, unflatten_tree
from axiomjit.tracing.trace import traced_inside
from tests.passes.graphs import follow_plainly as follow

X = np.arange(42.0).reshape(6, 7)

pytestmark = pytest.mark.usefixtures("in_numpy")


class Pair(typing.NamedTuple):
    first: object
    second: object


class Rows(list):
    pass


class Named(dict):
    def __setitem__(self, key, value):
        raise AssertionError("code of the user's is not called")


class Ordered(collections.OrderedDict):
    pass


class Point(tuple):
    pass


class Ring(collections.deque):
    pass


@dataclasses.dataclass
class Holder:
    value: object
    label: str = "one"


@dataclasses.dataclass(frozen=True)
class Frozen:
    value: object
    label: str = "one"


@dataclasses.dataclass(slots=True)
class Slotted:
    value: object
    label: str = "one"


@dataclasses.dataclass(eq=False)
class ByIdentity:
    value: object


@dataclasses.dataclass
class Checked:
    value: object
    doubled: object = dataclasses.field(init=False, default=None)

    def __post_init__(self):
        self.doubled = self.value * 2


class Slots:
    __slots__ = ("value",)

    def __init__(self, value):
        self.value = value


class Plain:
    def __init__(self, value):
        self.value = value


def rows(value):
    made = Rows([value, 1])
    made.label = value
    return made


def point(value):
    made = Point((value, 1))
    made.label = value
    return made


def same(result, expected):
    """Assert equal types, contents and attributes, at every depth."""
    if isinstance(expected, np.ndarray | np.generic):
        np.testing.assert_array_equal(result, expected)
        return
    assert type(result) is type(expected)
    leaves, structure = flatten_tree(expected, lambda value: True)
    if leaves and leaves[0] is expected:
        assert result == expected
        return
    found, shape = flatten_tree(result, lambda value: True)
    assert shape == structure
    for one, other in zip(found, leaves, strict=True):
        same(one, other)


REBUILT = {
    "tuple": lambda v: (v, 1),
    "list": lambda v: [v, "a"],
    "dict": lambda v: {"a": v, 2: None},
    "namedtuple": lambda v: Pair(v, 2),
    "OrderedDict": lambda v: collections.OrderedDict(b=v, a=1),
    "OrderedDict subclass": lambda v: Ordered(b=v, a=1),
    "defaultdict": lambda v: collections.defaultdict(list, a=v),
    "Counter": lambda v: collections.Counter({"a": v}),
    "deque": lambda v: collections.deque([v, 1]),
    "deque with an end": lambda v: collections.deque([v, 1], maxlen=3),
    "deque subclass": lambda v: Ring([v, 1], maxlen=2),
    "list subclass": rows,
    "dict subclass": lambda v: Named({"a": v}),
    "tuple subclass": point,
    "mapping proxy": lambda v: types.MappingProxyType({"a": v}),
    "namespace": lambda v: types.SimpleNamespace(a=v, b=1),
    "dataclass": Holder,
    "frozen dataclass": Frozen,
    "dataclass with slots": Slotted,
    "dataclass by identity": ByIdentity,
    "dataclass with __post_init__": Checked,
    "dataclass of a list": lambda v: Holder([v, {"a": v}]),
}
CONTENTS = {
    "array": lambda x: x * 2,
    "number": lambda x: x.sum(),
    "argument": lambda x: x,
    "length": lambda x: x.shape[0],
    "nested": lambda x: [Holder((x.shape[1], collections.deque([x + 1])))],
}


@pytest.mark.parametrize("content", CONTENTS)
@pytest.mark.parametrize("kind", REBUILT)
def test_containers_are_built_again(kind, content):
    def function(x):
        return REBUILT[kind](CONTENTS[content](x))

    f = axiomjit.jit(function, strict=True)
    for x in (X, X + 1, X.T.copy(), X[:5]):
        same(f(x), function(x))
    first, second = f(X), f(X)
    assert first is not second
    assert traced_inside([first, second]) is None


def test_every_kind_compiled(monkeypatch):
    monkeypatch.setattr(axiomjit.config, "disable", False)

    def function(x):
        y = x * 2
        return {kind: make(y) for kind, make in REBUILT.items()}

    f = axiomjit.jit(function)
    for x in (X, X + 1):
        same(f(x), function(x))


def test_settings_and_order_are_kept():
    result = axiomjit.jit(lambda x: collections.defaultdict(dict, b=x, a=x))(X)
    assert result.default_factory is dict
    assert axiomjit.jit(lambda x: collections.deque([x], maxlen=3))(X).maxlen == 3
    ordered = axiomjit.jit(lambda x: Ordered(b=x, a=x + 1))(X)
    ordered.move_to_end("b")
    assert list(ordered) == ["a", "b"]


@dataclasses.dataclass
class Linked:
    value: object
    other: object = None


def linked(x):
    one = Linked(x)
    one.other = one
    return one


def nested_list(x):
    one = [x]
    one.append(one)
    return one


@pytest.mark.parametrize("make", [linked, nested_list])
def test_containers_that_hold_themselves(make):
    with pytest.raises(GraphValueError, match="a container that holds itself"):
        axiomjit.jit(make, strict=True)(X)
    np.testing.assert_array_equal(axiomjit.jit(lambda x, h: x + 1)(X, make(X)), X + 1)


async def coroutine(x):
    return x


async def async_generator(x):
    yield x


def closure(x):
    return lambda: x + 1


def holding_function(x):
    def function():
        return 1

    function.value = [x]
    return function


SETS = {"set": lambda v: {v}, "frozenset": lambda v: frozenset([v])}
REFUSED = {
    **SETS,
    "map": lambda v: map(np.sin, [v]),
    "zip": lambda v: zip([v], [1], strict=True),
    "filter": lambda v: filter(None, [v]),
    "enumerate": lambda v: enumerate([v]),
    "list_reverseiterator": lambda v: reversed([v]),
    "list_iterator": lambda v: iter([v]),
    "chain": lambda v: itertools.chain([v]),
    "generator": lambda v: (w for w in [v]),
    "function": closure,
    "function with attributes": holding_function,
    "function with defaults": lambda v: lambda a=v: a,
    "partial": lambda v: functools.partial(np.add, v),
    "method": lambda v: Plain(v).__init__,
    "builtin_function_or_method": lambda v: [v].append,
    "ChainMap": lambda v: collections.ChainMap({"a": v}),
    "UserDict": lambda v: collections.UserDict(a=v),
    "dict_values": lambda v: {"a": v}.values(),
}


@pytest.mark.parametrize("depth", ["alone", "in a list", "in a dataclass"])
@pytest.mark.parametrize(
    ("kind", "content"),
    [
        (kind, content)
        for kind in REFUSED
        for content in ("array", "number", "length")
        if content == "length" or kind not in SETS
    ],
)
def test_other_holders_are_refused_by_name(kind, content, depth):
    around = {"alone": lambda v: v, "in a list": lambda v: [v], "in a dataclass": Holder}[depth]

    def function(x):
        return around(REFUSED[kind](CONTENTS[content](x)))

    name = kind.partition(" ")[0]
    with pytest.raises(TraceError, match=f"return a {name}\n  seen: .+\n  instead: return arrays"):
        axiomjit.jit(function, strict=True)(X)


INSTANCES = {
    "Plain": (Plain, lambda made: made.value),
    "Slots": (Slots, lambda made: made.value),
    "Plain of Slots": (lambda v: Plain([Slots(v)]), lambda made: made.value[0].value),
}


@pytest.mark.parametrize("kind", INSTANCES)
@pytest.mark.parametrize("content", ["array", "number", "length"])
def test_instances_of_users_classes_are_made_anew(kind, content):
    make, value_of = INSTANCES[kind]
    f = axiomjit.jit(lambda x: [make(CONTENTS[content](x))], strict=True)
    made = [f(x)[0] for x in (X, X + 1)]
    assert made[0] is not made[1]
    for x, one in zip((X, X + 1), made, strict=True):
        assert type(one) is type(make(1))
        same(value_of(one), CONTENTS[content](x))


def test_an_instance_of_what_cannot_be_returned_is_refused():
    function = axiomjit.jit(lambda x: Plain(functools.partial(closure(x))), strict=True)
    with pytest.raises(TraceError, match=r"return a partial\n  seen: .+\n  instead: return arrays"):
        function(X)


@pytest.mark.parametrize("make", [coroutine, async_generator])
def test_asynchronous_functions_are_not_called(make):
    with pytest.raises(TraceError, match=f"calls {make.__name__}: it is asynchronous"):
        axiomjit.jit(lambda x: [make(x)], strict=True)(X)


@pytest.mark.parametrize("kind", SETS)
def test_sets_take_no_arrays_and_no_number_that_is_not_known(kind):
    def function(x):
        return SETS[kind](x.sum())

    with pytest.raises(TypeError, match="unhashable type: 'numpy.ndarray'"):
        axiomjit.jit(SETS[kind])(X)
    with pytest.raises(NeedsValuesError, match="as a key of a dict, set or cache"):
        axiomjit.jit(function, strict=True)(X)
    with pytest.warns(FallbackWarning, match="as a key of a dict, set or cache"):
        assert axiomjit.jit(function)(X) == function(X)


@pytest.mark.parametrize(
    "make", [lambda x: (i for i in range(3)), lambda x: map(str, [1]), lambda x: iter([])]
)
def test_iterators_are_refused_even_if_they_hold_no_array(make):
    """They would be used up by the first caller."""
    with pytest.raises(TraceError, match="it would compute its values after the call"):
        axiomjit.jit(make, strict=True)(X)


def test_a_function_that_returns_a_generator_is_refused():
    def function(x):
        yield x + 1

    with pytest.raises(TraceError, match="return a generator"):
        axiomjit.jit(lambda x: function(x), strict=True)(X)


def test_a_function_that_returns_a_coroutine_is_refused_without_a_warning(recwarn):
    with pytest.raises(TraceError, match="calls coroutine: it is asynchronous"):
        axiomjit.jit(lambda x: coroutine(x), strict=True)(X)
    assert not recwarn.list
    assert asyncio.iscoroutinefunction(coroutine)


def test_searching_for_traced_values_ends_and_calls_no_user_code():
    class Hostile:
        def __getattribute__(self, name):
            raise AssertionError(name)

        def __iter__(self):
            raise AssertionError

        def __eq__(self, other):
            raise AssertionError

        def __hash__(self):
            raise AssertionError

    around = [Hostile()]
    around.append(around)

    def function(x):
        assert traced_inside(around) is None
        object.__setattr__(around[0], "value", [x])
        assert traced_inside(around) is x
        assert traced_inside(np.array([None, around], object)) is x
        object.__setattr__(around[0], "value", None)
        return x

    follow(function, X)  # a call of the compiled function would not let it change `around`
    large = [[k] for k in range(100_000)]
    assert traced_inside(large) is None


def test_objects_without_traced_values_are_returned_as_they_are():
    holder, plain = Holder(1), Plain([1])
    result = axiomjit.jit(lambda x: (x, holder, plain))(X)
    assert result[1] is holder
    assert result[2] is plain


def test_namedtuples_with_a_constructor_of_their_own_stay_whole():
    class Strict(tuple):
        def __new__(cls, one, two):
            return super().__new__(cls, (one, two))

    pair = Strict(1, 2)
    assert flatten_tree(pair)[0] == [pair]
    assert axiomjit.jit(lambda x, p: x * p[1])(X, pair)[0, 1] == 2
    with pytest.raises(TraceError, match="calls super\\(\\).__new__ of a tuple"):
        axiomjit.jit(lambda x: Strict(x, 1), strict=True)(X)


@pytest.mark.parametrize("kind", REBUILT)
def test_flatten_and_unflatten_are_inverse(kind):
    value = REBUILT[kind]((1, [2]))
    leaves, structure = flatten_tree(value, lambda value: True)
    again = unflatten_tree(structure, iter(leaves))
    assert again is not value
    same(again, value)
    assert hash(structure) == hash(flatten_tree(value, lambda value: True)[1])
