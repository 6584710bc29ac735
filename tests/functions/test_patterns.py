"""`match` statements that are instrumented, or compiled, do what Python does."""

import collections
import dataclasses
import enum
import math
import typing
from collections.abc import Sequence

import numpy as np
import pytest

import axiomjit
from axiomjit.base.errors import NeedsValuesError
from axiomjit.functions import patterns
from axiomjit.functions.expressions import constant
from axiomjit.functions.patterns import Patterns
from tests.functions.plain_hooks import PlainHooks, plain
from tests.functions.random_patterns import differences

STATEMENTS = 120
MOST = 600
"""A fault is found within this number of statements."""


def test_random_statements_behave_as_before():
    assert [text for number in range(STATEMENTS) for text in differences(number)] == []


def lists_only(self, value, count, starred):
    """Fault: other sequences are none, and texts are."""
    return isinstance(value, list | str) and (starred or len(value) == count)


def without_length(self, value, count, starred):
    """Fault: the length of a sequence is not compared."""
    return isinstance(value, Sequence)


def read_by_key(self, value, keys):
    """Fault: entries are read by their keys, which makes them."""
    try:
        return tuple(value[key] for key in keys)
    except KeyError:
        return None


def with_keys(self, value, keys):
    """Fault: the rest has all entries."""
    return {**self.mapping(value)}


def never_whole(self, kind):
    """Fault: no class stands for itself."""
    return [*getattr(kind, "__match_args__", [])]


def star_at_end(self, value, count, star):
    """Fault: the starred part is the last one."""
    parts = [*value]
    return tuple(parts) if star is None else (*parts[: count - 1], parts[count - 1 :])


HOOKS = {
    "is_sequence": (lists_only, without_length),
    "entries": (read_by_key,),
    "rest": (with_keys,),
    "_positional": (never_whole,),
    "parts": (star_at_end,),
}


@pytest.mark.parametrize(
    ("name", "fault"), [(name, fault) for name, faults in HOOKS.items() for fault in faults]
)
def test_faults_of_hooks_are_found(name, fault):
    made = type("Faulty", (PlainHooks,), {name: fault})
    assert finds(lambda function: plain(function, made))


def compared_the_other_way(self, node, value):
    """Fault: the value is the left operand."""
    hook, other = self._rewriter.hook, self._rewriter.expression(node.value)
    return [hook("truth", node, hook("compare", node, constant("==", node), other, value()))]


def equal_singletons(self, node, value):
    """Fault: singletons are compared by value."""
    other = constant(node.value, node)
    return [self._rewriter.hook("compare", node, constant("==", node), value(), other)]


def first_choice(self, node, value):
    """Fault: only the first alternative is tried."""
    return self._tests(node.patterns[0], value)


def without_star(self, node, value):
    """Fault: the rest of a mapping is not bound."""
    node.rest = None
    return MAPPING(self, node, value)


MAPPING = Patterns._mapping
FAULTS = {
    "MatchValue": compared_the_other_way,
    "MatchSingleton": equal_singletons,
    "MatchOr": first_choice,
    "MatchMapping": without_star,
}


@pytest.mark.parametrize("kind", FAULTS)
def test_faults_of_patterns_are_found(kind, monkeypatch):
    from axiomjit.base.caching import BoundedTable
    from axiomjit.functions import instrument

    table = patterns._PATTERNS
    monkeypatch.setitem(table, next(k for k in table if k.__name__ == kind), FAULTS[kind])
    monkeypatch.setattr(instrument, "_templates", BoundedTable(10))
    assert finds(plain)


def finds(instrument):
    return any(differences(number, instrument) for number in range(MOST))


# Compiled functions


class Way(enum.Enum):
    UP = 1
    DOWN = 2


@dataclasses.dataclass
class Move:
    way: Way
    by: float


@dataclasses.dataclass
class Turn:
    angle: float
    then: object = None


class Pair(typing.NamedTuple):
    first: object
    second: object


class Span:
    """A class with computed attributes, and one that may be missing."""

    __match_args__ = ("low", "width")

    def __init__(self, low, high):
        self.low, self.high = low, high

    @property
    def width(self):
        return self.high - self.low


class Rows(Sequence):
    def __init__(self, *rows):
        self.rows = rows

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, place):
        return self.rows[place]


class World:
    """What the functions below read."""

    def __init__(self):
        self.way, self.number, self.text = Way.UP, 2, "fast"
        self.options = {"mode": "linear", "gain": 2.0, "size": 3}
        self.plan = [Move(Way.UP, 2.0), Turn(0.5, Move(Way.DOWN, 1.0))]
        self.span, self.rows = Span(1.0, 4.0), Rows(np.arange(3.0), np.ones(3))
        self.pair, self.nested = Pair(3, [1, 2, 3]), {"a": {"b": [1, 2.5]}}
        self.seen, self.nothing, self.last = [], None, 0


world = World()
chosen = 0


def values(x):
    match world.way, world.number:
        case Way.UP, 1 | 2 as times:
            return x * times
        case Way.UP, _:
            return x * 100
        case Way.DOWN, int(times) | float(times):
            return -x * times
    return x + 1


def singletons(x):
    match world.nothing:
        case None:
            return x
        case True:
            return x + 1
        case False:
            return x - 1
    return x * 5


def entries(x):
    match world.options:
        case {"mode": "linear", "gain": gain, **rest}:
            return x * gain + len(rest)
        case {"mode": "square" | "quadratic", "size": size} if size > 2:
            return x * x * size
        case {"mode": _}:
            return x
        case {}:
            return -x


def instances(x):
    for step in world.plan:
        match step:
            case Move(Way.UP, by):
                x = x + by
            case Move(way=Way.DOWN, by=by):
                x = x - by
            case Turn(angle, Move(_, by) as move):
                x = x * angle + move.by + by
            case Turn(angle=angle) if angle > 1:
                x = x * math.cos(angle)
            case Turn():
                x = -x
    return x


def computed_attributes(x):
    match world.span:
        case Span(low, width) if width > 5:
            return x * low
        case Span(low, extra=more) | Span(low, high=more):
            return x + low * more


def sequences(x):
    match world.pair:
        case Pair(1, second=value):
            return x * value
        case (3, [first, *others, last]):
            return x * first + sum(others) - last
        case first, [*_, last] if last:
            return x * first * last
        case _, []:
            return x
        case [_, _]:
            return x + 1


def own_sequences(x):
    match world.rows:
        case [row]:
            return x + row
        case [row, other]:
            return x * row - other
        case [row, *_]:
            return x - row


def kinds(x):
    match world.number:
        case bool(truth):
            return x + 100 * truth
        case int(number) | float(number) if number > 0:
            return x * number
        case str(text) | [str(text), *_]:
            return x * len(text)
        case complex(real=real):
            return x + real
        case object(__class__=kind):
            return x + len(kind.__name__)


def nested(x):
    match world.nested:
        case {"a": {"b": [number, float(other)]}}:
            return x * number + other
        case {"a": {"b": []} | {"c": _}}:
            return x
        case {"a": other}:
            return x + len(other)


def stored(x):
    global chosen
    match world.number:
        case 0:
            world.seen.append("none")
        case int(chosen) if chosen < 3:
            world.seen.append(chosen)
        case world.last:
            world.number = 7
        case chosen:
            world.last = chosen
    return x + len(world.seen)


def arrays(x):
    match x, {"x": x}:
        case [np.ndarray(ndim=2, shape=(rows, _)), _]:
            return x * rows
        case [np.ndarray(shape=[length]) as y, {"x": z}] if length > 1:
            return y * length + z
        case [[*_] | str(), _]:
            return x * 100
    return x


def from_a_helper(x):
    def weight(step):
        match step:
            case Move(by=by) | Turn(then=Move(by=by)):
                return by
            case Turn(angle):
                return angle
        return 0

    return x * sum(weight(step) for step in [*world.plan, world.span])


def on_numbers(x, number=2):
    match number:
        case 0:
            return x
        case int() if number % 2:
            return x * number
        case _:
            return x - number


CHANGES = (
    lambda: setattr(world, "number", 3),
    lambda: world.options.update(gain=4.0, more=1),
    lambda: setattr(world, "way", Way.DOWN),
    lambda: setattr(world.plan[0], "by", 5.0),
    lambda: world.options.update(mode="square"),
    lambda: world.plan.append(Turn(2.0)),
    lambda: setattr(world, "pair", Pair(1, 2.0)),
    lambda: setattr(world.span, "high", 9.0),
    lambda: setattr(world.span, "extra", 1.5),
    lambda: setattr(world.span, "high", 2.0),
    lambda: setattr(world, "number", "abc"),
    lambda: setattr(world, "pair", (4, collections.deque([0, 7]))),
    lambda: setattr(world, "rows", Rows(np.full(3, 2.0), 1, 2)),
    lambda: world.nested["a"].update(b=[]),
    lambda: setattr(world, "nothing", True),
    lambda: world.options.pop("mode"),
    lambda: setattr(world, "number", 2.5),
    lambda: setattr(world, "nested", {"a": [1]}),
    lambda: setattr(world.plan[1], "then", None),
    lambda: setattr(Span, "__match_args__", ("high",)),
    lambda: world.plan.insert(0, "other"),
    lambda: setattr(world, "rows", Rows(np.arange(3.0))),
)
PROGRAMS = (
    *(values, singletons, entries, instances, computed_attributes, sequences, own_sequences),
    *(kinds, nested, stored, arrays, from_a_helper, on_numbers),
)


def outcomes(function):
    """The results of calls with changes between them, and what they leave."""
    world.__init__()
    Span.__match_args__, globals()["chosen"] = ("low", "width"), 0
    found = []
    for change in (lambda: None, *CHANGES):
        change()
        for x in (np.arange(3.0), np.ones(3)):
            try:
                result = repr(function(x))
            except NeedsValuesError:
                raise
            except Exception as error:
                result = type(error).__name__
            found.append((result, repr((world.seen, world.number, world.last, chosen))))
    return found


@pytest.mark.usefixtures("in_numpy")
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda f: f.__name__)
def test_compiled_statements_do_what_python_does(function):
    wanted = outcomes(function)
    assert outcomes(axiomjit.jit(function, strict=True)) == wanted


@pytest.mark.usefixtures("in_numpy")
def test_a_number_among_the_arguments_is_compared():
    compiled, x = axiomjit.jit(on_numbers, strict=True), np.arange(3.0)
    for number in (0, 1, 2, 3, 0, 4, 7):
        assert (compiled(x, number) == on_numbers(x, number)).all()


def by_value(x):
    match x.sum():
        case 0.0:
            return x
    return x * 2


def test_a_computed_value_is_compared_in_each_call():
    compiled = axiomjit.jit(by_value, strict=True)
    for x in (np.arange(3.0), np.zeros(3), np.arange(3.0), np.zeros(3)):
        np.testing.assert_array_equal(compiled(x), by_value(x))
