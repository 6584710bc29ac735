"""Values from outside a call, read and guarded by the native entry as `sources.Guards` does."""

import gc
import sys
import threading
import weakref
from array import array
from collections import OrderedDict, defaultdict
from dataclasses import dataclass, field
from types import CellType, FunctionType, ModuleType, SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest

from axiomjit.dispatch.source_guards import add_sources
from axiomjit.functions.sources import (
    MISSING,
    Argument,
    Attribute,
    Class,
    ClassAttribute,
    Contents,
    Defined,
    Distinct,
    Elements,
    Equals,
    Fixed,
    Is,
    Item,
    Keys,
    Length,
    Same,
)
from axiomjit.functions.sources import Guards as SourceGuards
from axiomjit.runtime.native_call import guard_tables, native_entry, structures
from axiomjit.runtime.native_call.guard_tables import Guards, with_table
from tests.runtime.native_call.native_tables import calling

pytestmark = pytest.mark.skipif(
    native_entry.refusal() != "" or structures.outside_refusal() != "",
    reason="this process has no native entry",
)


def numbered(*sources):
    """The sources with their numbers, wholes before their parts."""
    found = []

    def visit(source):
        if hasattr(source, "of"):
            visit(source.of)
        if source not in found:
            source.number = len(found)
            found.append(source)

    for one in sources:
        visit(one)
    return found


def about(*conditions, inputs=()):
    others = [
        other
        for one in conditions
        for other in (getattr(one, "others", ()) or (getattr(one, "other", None),))
        if other is not None
    ]
    given = (*(one.source for one in conditions), *others, *inputs)
    return SourceGuards(numbered(*given), conditions, inputs)


def entry_of(sources, leaves, plan=None, runner=None, order=None):
    """An entry for calls of one program; None if it has no native guards."""
    vector = sources.read(leaves)
    assert vector is not None
    guards = Guards(plan)
    number_of = add_sources(guards, sources, vector, order or range(len(leaves)))
    if number_of is None:
        return None
    numbers = [*map(number_of, sources.inputs)]
    for position, (number, value) in enumerate(zip(numbers, sources.given(vector), strict=True)):
        if not guards.add(number, value, position):
            return None
    runner = runner or ((lambda *_: "fast") if plan is None else None)
    passed = numbers if plan is None else ()
    table = guards.table(len(leaves), (), array("q", [0]), runner, passed=passed)
    cell = native_entry.new_cell(lambda *_: "slow")
    cell[0] = with_table((), table)
    return native_entry.new_entry(cell)


class Plain:
    level = 3

    def __init__(self, **given):
        for name, value in given.items():
            setattr(self, name, value)

    def method(self):
        return self.level


class Slotted:
    __slots__ = ("a", "b")


class WithDict(np.ndarray):
    pass


class Pair(NamedTuple):
    a: Any
    b: Any


@dataclass(frozen=True)
class Settings:
    shape: tuple
    scale: float = 1.5
    inner: Any = field(default_factory=list)


def plain(**given):
    return Plain(**given)


def with_materialised_dict(**given):
    one = Plain(**given)
    assert one.__dict__ is not None
    return one


def with_own_dict(**given):
    one = Plain()
    one.__dict__ = dict(given)
    return one


def slotted(**given):
    one = Slotted()
    for name, value in given.items():
        setattr(one, name, value)
    return one


def with_dict_word(**given):
    one = np.ones(2).view(WithDict)
    for name, value in given.items():
        setattr(one, name, value)
    return one


def module(**given):
    one = ModuleType("made")
    vars(one).update(given)
    return one


def named(**given):
    return SimpleNamespace(**given)


MAKERS = [
    plain,
    with_materialised_dict,
    with_own_dict,
    slotted,
    with_dict_word,
    module,
    named,
]
X, Y, Z = object(), object(), object()


@pytest.mark.parametrize("make", MAKERS)
def test_attributes(make):
    whole = Argument(0, "o")
    one = make(a=X)
    call = entry_of(about(Is(Attribute(whole, "a"), X)), [one])
    assert call(one) == "fast"
    assert call(make(a=X)) == "fast"
    assert call(make(b=Y, a=X)) == "fast"
    assert call(make(a=Y)) == "slow"
    assert call(make(b=X)) == "slow"
    assert call(make()) == "slow"
    assert call(object()) == "slow"
    one.a = Y
    assert call(one) == "slow"
    one.a = X
    assert call(one) == "fast"
    del one.a
    assert call(one) == "slow"


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("name", ["b", "never"])
def test_missing_attributes(make, name):
    if make is slotted and name == "never":
        name = "a"
    one = make(**({} if name == "a" else {"a": X}))
    sources = about(Is(Attribute(Argument(0, "o"), name), MISSING))
    call = entry_of(sources, [one])
    assert call(one) == "fast"
    assert call(make()) == "fast"
    setattr(one, name, Y)
    assert call(one) == "slow"
    delattr(one, name)
    assert sources.read([one]) is not None
    assert call(one) == "fast" or make is plain  # another instance may have it now


def test_an_attribute_that_no_instance_had():
    class New:
        pass

    one, other = New(), New()
    one.a = X
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "b"), MISSING)), [one])
    assert call(one) == call(other) == "fast"
    setattr(other, "".join(["b"]), Y)
    assert call(other) == "slow"
    other.__dict__["".join(["c", "d"])] = 1  # a key that is not interned
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "cd"), MISSING)), [one])
    assert (call(one), call(other)) == ("fast", "slow")


def test_an_instance_without_dict_has_only_its_slots():
    one = slotted(a=X)
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "method"), MISSING)), [one])
    assert call(one) == call(Slotted()) == "fast"
    assert call(Plain()) == "slow"


def test_another_dict_class_is_left_to_python():
    one = Plain(a=X)
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "a"), X)), [one])
    one.__dict__ = OrderedDict(a=X)
    assert call(one) == "slow"


def test_a_changed_class_is_left_to_python():
    class Base:
        pass

    class Child(Base):
        pass

    one = Child()
    one.a = X
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "a"), X)), [one])
    assert call(one) == "fast"
    Base.a = property(lambda _: Y)
    assert call(one) == "slow"
    del Base.a
    assert call(one) == "slow"  # a new version
    call = entry_of(about(Is(Attribute(Argument(0, "o"), "a"), X)), [one])
    assert call(one) == "fast"


CONTAINERS = [dict, OrderedDict, lambda *a: defaultdict(int, *a)]


@pytest.mark.parametrize("make", CONTAINERS)
@pytest.mark.parametrize(
    "key", ["a", "".join(["l", "ong"]), 1, -3, 2**70, None, True, (1, "x"), b"q"]
)
def test_entries_of_dicts(make, key):
    one = make({key: X, "other": Y})
    call = entry_of(about(Is(Item(Argument(0, "d"), key), X)), [one])
    assert call(one) == call(make({key: X})) == "fast"
    assert call(make({key: Y})) == call(make()) == call({}.keys()) == call(None) == "slow"
    absent = entry_of(about(Is(Item(Argument(0, "d"), "absent"), MISSING)), [one])
    assert absent(one) == absent(make()) == "fast"
    one["absent"] = None
    assert absent(one) == "slow"
    assert len(one) == 3


@pytest.mark.parametrize("make", [list, tuple, lambda items: Pair(*items)])
def test_positions(make):
    one = make([X, Y])
    for position, value in enumerate(one):
        call = entry_of(about(Is(Item(Argument(0, "s"), position), value)), [one])
        assert call(one) == call(make([X, Y])) == "fast"
        assert call(make([Y, X])) == call((X, Y, 3) if make is list else [X, Y]) == "slow"
    missing = entry_of(about(Is(Item(Argument(0, "s"), 2), MISSING)), [one])
    assert missing(one) == "fast"
    if make is list:
        assert call([X]) == call([]) == missing([1, 2, 3]) == "slow"
        assert missing([]) == "fast"
        del one[1]
        assert call(one) == "slow"


def test_classes_and_what_they_have():
    class Base:
        def method(self): ...

    class Child(Base):
        table = {"a": X}  # noqa: RUF012

    one = Argument(0, "o")
    kind = Class(one)
    method, absent, table = (ClassAttribute(kind, name) for name in ("method", "absent", "table"))
    conditions = (
        Is(kind, Child),
        Is(method, Base.method),
        Is(absent, MISSING),
        Is(Item(table, "a"), X),
    )
    given = Child()
    call = entry_of(about(*conditions), [given])
    assert call(given) == call(Child()) == "fast"
    assert call(Base()) == call(Child) == "slow"
    Child.table["a"] = Y
    assert call(given) == "slow"
    Child.table["a"] = X
    assert call(given) == "fast"
    Base.absent = 1
    assert call(given) == "slow"


def test_the_class_of_what_a_class_has():
    kind, one = Class(Argument(0, "o")), Plain()
    method = ClassAttribute(kind, "method")
    sources = about(
        Is(kind, Plain), Is(ClassAttribute(Class(method), "__get__"), FunctionType.__get__)
    )
    assert entry_of(sources, [one])(one) == "fast"


def test_the_class_in_a_global():
    class Here:
        size = 4

    space = {"Here": Here}
    name = Item(Fixed(space, ""), "Here")
    call = entry_of(about(Is(name, Here), Equals(ClassAttribute(name, "size"), 4)), [])
    assert call() == "fast"
    space["Here"] = Plain
    assert call() == "slow"
    space["Here"] = Here
    assert call() == "fast"
    Here.size = 5
    assert call() == "slow"


NAN, NEGATIVE_NAN = float("nan"), np.copysign(np.nan, -1.0)
ATOMS = [
    *(0, 1, -7, 2**62, 2**63, 2**100, -(2**63), True, False, None, ..., 0.0, -0.0, 1.0, 2.5),
    *(NAN, 1j, complex(0.0, -0.0), complex(-0.0, 0.0), 0j, "", "a", "long text", b"", b"long text"),
    *(np.float64(1.0), np.float64(-0.0), np.float32(1), np.int8(1), np.int16(1), np.bool_(True)),
    *(
        np.float16(1),
        np.int64(1),
        np.complex64(1),
        np.complex128(1),
        np.uint64(2**63),
        np.str_("a"),
    ),
    *((), (1,), (1.0,), (True,), (1, 2), (1, (2, "x")), (0.0,), (-0.0,), range(3), range(4)),
    *(slice(1, 2), slice(1, None), frozenset({1}), frozenset(), np.dtype("f8"), np.dtype(">f8")),
    *(np.datetime64("2020-01-01"), np.longdouble(1)),
]
OBJECTS = [[1], {}, X, int, np.ones(1)]


def again(value):
    """An equal object, another one where that can be."""
    if isinstance(value, bool | type(None) | type(...)):
        return value
    if isinstance(value, tuple):
        return tuple(map(again, value))
    if type(value) is str:
        return "".join(list(value))
    if type(value) in (int, float, complex):
        return type(value)(repr(value))
    if type(value) is bytes:
        return bytes(bytearray(value))
    return value.copy() if isinstance(value, np.generic) else value


@pytest.mark.parametrize("known", ATOMS, ids=repr)
def test_values(known):
    holder, space = Item(Fixed({}, ""), "v"), {"v": known}
    holder.of.value = space
    guard = Equals(holder, known)
    sources = about(guard)
    call = entry_of(sources, [])
    assert call is not None
    by_identity = (slice, np.str_, np.datetime64, np.longdouble)
    for value in (*ATOMS, *map(again, ATOMS), *OBJECTS):
        space["v"] = value
        wanted = sources.read([]) is not None
        found = call() == "fast"
        same = type(value) in by_identity and value is not known
        assert found == wanted or (same and not found), (known, value)
    space["v"] = again(known)
    assert call() == "fast" or type(known) in by_identity


@pytest.mark.parametrize("make", [list, tuple, dict.fromkeys, set, frozenset])
def test_lengths(make):
    one = make("ab")
    call = entry_of(about(Length(Argument(0, "c"), 2)), [one])
    assert call(one) == call(make("xy")) == "fast"
    assert call(make("a")) == call(make("abc")) == call("ab") == call(None) == "slow"
    if not isinstance(one, tuple | frozenset):
        one.clear()
        assert call(one) == "slow"


def test_keys():
    one = {"a": 1, "b": 2}
    about_keys = about(Keys(Argument(0, "d"), ("a", "b")))
    call = entry_of(about_keys, [one])
    assert call(one) == call({"a": 3, "b": 4}) == "fast"
    others = {"b": 1, "a": 2}, {"a": 1}, {"a": 1, "b": 2, "c": 3}, {"a": 1, "c": 2}, {}, ["a", "b"]
    assert [call(other) for other in others] == ["slow"] * 6
    del one["a"]
    assert call(one) == "slow"
    one["a"] = 1
    assert call(one) == "slow"
    # its order is not that of its table
    assert entry_of(about_keys, [OrderedDict(a=1, b=2)]) is None


def test_what_is_defined():
    space = {"a": None}
    call = entry_of(about(Defined(Item(Fixed(space, ""), "a"))), [])
    assert call() == "fast"
    del space["a"]
    assert call() == "slow"


def test_one_object_and_different_ones():
    a, b, c = (Argument(k, "abc"[k]) for k in range(3))
    same = entry_of(about(Same(a, b)), [X, X])
    assert (same(X, X), same(Y, Y), same(X, Y)) == ("fast", "fast", "slow")
    different = entry_of(about(Distinct(a, (b, c))), [X, Y, Z])
    assert different(X, Y, Z) == different(X, Y, Y) == "fast"
    assert different(X, X, Z) == different(X, Y, X) == "slow"
    space = {}
    left, right = (Item(Fixed(space, ""), name) for name in "lr")
    both = about(Same(left, right))
    missing = entry_of(both, [])
    for names in ("", "l", "r", "lr"):
        space.clear()
        space.update(dict.fromkeys(names, X))
        assert (missing() == "fast") == (both.read([]) is not None) == (names in ("", "lr"))


def test_parts_of_parts():
    space = {"settings": Settings((2, 3), inner=[{"w": X}])}
    settings = Item(Fixed(space, ""), "settings")
    inner = Item(Item(Attribute(settings, "inner"), 0), "w")
    conditions = Is(inner, X), Equals(Attribute(settings, "shape"), (2, 3))
    call = entry_of(about(*conditions, Is(Class(settings), Settings)), [])
    assert call() == "fast"
    space["settings"] = Settings((2, 3), inner=[{"w": X}])
    assert call() == "fast"
    for other in (
        Settings((2, 4), inner=[{"w": X}]),
        Settings((2, 3), inner=[{"w": Y}]),
        Settings((2, 3), inner=[{}]),
        Settings((2, 3), inner=[]),
        Settings((2, 3), inner=()),
        Settings([2, 3], inner=[{"w": X}]),
        None,
    ):
        space["settings"] = other
        assert call() == "slow"
    del space["settings"]
    assert call() == "slow"


def test_inputs_are_guarded_by_layout_and_passed_behind_the_arguments():
    space, argument = {"x": np.ones(3), "k": 2.5, "n": 4}, Argument(0, "a")
    inputs = [Item(Fixed(space, ""), name) for name in "xkn"]
    given = []
    call = entry_of(
        about(Is(argument, X), inputs=inputs), [X], runner=lambda *args: given.append(args)
    )
    call(X)
    ((a, x, k, n),) = given
    assert (a, x, k, n) == (X, space["x"], 2.5, 4) or x is space["x"]
    space.update(x=np.zeros(3), k=0.5)
    call(X)
    assert given[1][1] is space["x"]
    assert given[1][2] == 0.5
    for name, value in (("x", np.ones(4)), ("x", 1.0), ("k", 1), ("k", None), ("n", 5)):
        old, space[name] = space[name], value
        assert call(X) == "slow"
        space[name] = old
    assert len(given) == 2
    del space["x"]
    assert call(X) == "slow"


def test_a_plan_keeps_its_inputs_alive():
    """Another thread, or a step in Python, may drop the only other reference."""
    space = {"x": np.full(3, 7.0)}
    alive, seen = weakref.ref(space["x"]), []

    def kernel(result, error, words, low, high):
        space.clear()
        gc.collect()
        seen.append(alive() is not None)
        return 0

    source = Item(Fixed(space, ""), "x")
    call = entry_of(about(inputs=[source]), [], plan=calling(kernel))
    assert call().shape == (3,)
    assert seen == [True]
    assert alive() is None
    assert call() == "slow"


@pytest.mark.parametrize("fails", [False, True])
def test_no_reference_is_lost_or_kept(fails):
    x, one = np.ones(3), Plain(a={"k": [X, Y]}, n=2**80)
    space = {"x": x, "one": one, "cell": CellType(Z), "s": slotted(a=X)}
    root = Fixed(space, "")
    names = {name: Item(root, name) for name in space}
    items = Item(Item(Attribute(names["one"], "a"), "k"), 1)
    conditions = [
        Is(items, Y),
        Is(Contents(names["cell"]), Z),
        Is(Attribute(names["s"], "a"), X),
        Equals(Attribute(names["one"], "n"), 2**80),
        Is(Attribute(names["one"], "m"), MISSING),
    ]
    results = 3 if fails else 0
    plan = calling(lambda *_: results)
    call = entry_of(about(*conditions, inputs=[names["x"]]), [], plan=plan)
    counted = [x, one, X, Y, Z, space, one.a, one.a["k"], one.n, space["cell"], space["s"]]

    def counts():
        gc.collect()
        return [sys.getrefcount(value) for value in counted]

    def run():
        if fails:
            with pytest.raises(RuntimeError):
                call()
        else:
            assert call().shape == (3,)

    run()
    before = counts()
    for _ in range(100):
        run()
    one.a["k"][1] = X
    for _ in range(100):
        assert call() == "slow"
    one.a["k"][1] = Y
    space["x"] = None
    for _ in range(100):
        assert call() == "slow"
    space["x"] = x
    assert counts() == before


class Hostile:
    """A key that is found where another one is searched."""

    def __init__(self, key, act):
        self.key, self.act = hash(key), act

    def __hash__(self):
        return self.key

    def __eq__(self, other):
        self.act()
        return False


def test_code_of_keys_may_replace_all_it_can_reach():
    space: dict = {}
    cell = native_entry.new_cell(lambda *_: "slow")

    def act():
        cell[0] = ()
        space.pop("first", None)
        gc.collect()

    inner = {"a": np.ones(3)}
    space["first"] = inner
    space["second"] = {Hostile("k", act): 1, "k": X}
    root = Fixed(space, "")
    first, second = Item(root, "first"), Item(Item(root, "second"), "k")
    sources = about(Is(second, X), inputs=[Item(first, "a")])
    # The vector is written down here: to read it would run the key's code.
    vector = [space, space["second"], X, inner, inner["a"]]
    guards = Guards(None)
    number = add_sources(guards, sources, vector, ())(sources.inputs[0])
    assert guards.add(number, inner["a"], 0)
    table = guards.table(0, (), array("q", [0]), lambda x: x.sum(), passed=[number])
    cell[0] = with_table((), table)
    call = native_entry.new_entry(cell)
    del inner, table, guards, sources, vector
    assert call() == "slow"


def test_an_error_of_a_key_is_left_to_python():
    def act():
        raise KeyError("of the key")

    space = {Hostile("k", act): 1}
    guards = Guards(None)
    assert guards.item(guards.fixed(space), space, "k", ()) == 0
    cell = native_entry.new_cell(lambda *_: "slow")
    cell[0] = with_table((), guards.table(0, (), array("q", [0]), lambda: "fast"))
    assert native_entry.new_entry(cell)() == "slow"


def test_threads_may_drop_what_a_call_uses():
    space, stop, wrong = {"x": np.full(3, 5.0)}, threading.Event(), []

    def replace():
        while not stop.is_set():
            space["x"] = np.full(3, 5.0)

    source = Item(Fixed(space, ""), "x")
    call = entry_of(about(inputs=[source]), [], runner=lambda x: x.tolist())
    thread = threading.Thread(target=replace)
    thread.start()
    for _ in range(20_000):
        if call() != [5.0] * 3:
            wrong.append(1)
    stop.set()
    thread.join()
    assert wrong == []


class Odd:
    """An instance whose `__dict__` is code of the user's."""

    @property
    def __dict__(self):
        return {"a": X}


class Meta(type):
    pass


@pytest.mark.parametrize(
    "guard",
    [
        Elements(Argument(0, "x"), np.ones(2)),
        Length(Argument(0, "x"), -1),
        Is(Item(Argument(0, "x"), 0), MISSING),
    ],
    ids=lambda one: type(one).__name__,
)
def test_guards_without_row(guard):
    assert entry_of(about(guard), [np.ones(2)]) is None


@pytest.mark.parametrize(
    ("whole", "guard"),
    [
        (Odd(), Is(Attribute(Argument(0, "o"), "a"), MISSING)),
        (Plain, Is(Attribute(Argument(0, "o"), "level"), MISSING)),
        ({1, 2}, Keys(Argument(0, "o"), (1, 2))),
        ((np.void(b"ab"),), Equals(Argument(0, "o"), None)),
    ],
    ids=lambda one: type(one).__name__,
)
def test_values_without_row(whole, guard):
    if isinstance(guard, Equals):
        guard = Equals(guard.source, whole)
    assert entry_of(about(guard), [whole]) is None


def test_unknown_layouts_are_left_to_python(monkeypatch):
    for name in ("attribute_place", "version"):
        monkeypatch.setattr(guard_tables, name, lambda *_: None)
    monkeypatch.setattr(guard_tables, "outside_refusal", lambda: "unknown")
    one = Plain(a=X)
    for guard in (
        Is(Attribute(Argument(0, "o"), "a"), X),
        Is(Item(Argument(0, "o"), "a"), MISSING),
        Is(ClassAttribute(Fixed(Plain, "P"), "level"), 3),
        Keys(Fixed({}, ""), ()),
        Length(Fixed({}, ""), 0),
        Is(Contents(Fixed(CellType(X), "")), X),
    ):
        assert entry_of(about(guard), [one]) is None
