"""Random vectors of sources: the native entry decides as `sources.Guards.read`; a row left out is
found."""

import random
from types import CellType, SimpleNamespace

import numpy as np
import pytest

from axiomjit.functions.sources import (
    MISSING,
    Argument,
    Attribute,
    Class,
    ClassAttribute,
    Contents,
    Distinct,
    Equals,
    Fixed,
    FunctionPart,
    Is,
    Item,
    Keys,
    Length,
    Same,
)
from axiomjit.functions.sources import Guards as SourceGuards
from axiomjit.runtime.native_call import native_entry, structures
from axiomjit.runtime.native_call.guard_tables import Guards
from tests.runtime.native_call.test_source_rows import X, Y, about, entry_of

pytestmark = pytest.mark.skipif(
    native_entry.refusal() != "" or structures.outside_refusal() != "",
    reason="this process has no native entry",
)
WORDS = ("a", "b", "c")
LEAVES = [0, 1, 2**70, 1.5, -0.0, 0.0, "text", "other", None, True, (1, (2.0, "x")), b"b"]
CONTAINERS = (dict, list, tuple, CellType, SimpleNamespace)


class World:
    """Nested values of every kind, and changes to them."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.kinds = [self._kind() for _ in range(3)]
        self.arrays = [np.ones(2), np.zeros((2, 3)), np.arange(4)]
        self.places = []
        self.roots = [self.value(3) for _ in range(3)]

    def _kind(self):
        slots = {"__slots__": ("a", "b")} if self.random.random() < 0.3 else {}
        base = type("Base", (), {"__slots__": ()} if slots else {"shared": 1})
        return type("Kind", (base,), slots | {"known": self.random.choice(LEAVES)})

    def value(self, depth):
        if depth == 0 or self.random.random() < 0.1:
            return self.random.choice([*LEAVES, *self.arrays, *self.kinds])
        if self.places and self.random.random() < 0.15:
            return self.random.choice(self.places)
        make = self.random.choice([*CONTAINERS, *self.kinds, *self.kinds, dict])
        if make is CellType:
            one = CellType(*([self.value(depth - 1)] * (self.random.random() < 0.8)))
        elif make in (list, tuple):
            one = make(self.value(depth - 1) for _ in range(self.random.randrange(4)))
        else:
            one = make()
            for name in self.random.sample(WORDS[: 2 if make in self.kinds else 3], 2):
                if self.random.random() < 0.8:
                    self.put(one, name, self.value(depth - 1))
        self.places.append(one)
        return one

    def put(self, whole, name, value):
        (whole.__setitem__ if isinstance(whole, dict) else whole.__setattr__)(name, value)

    def change(self, last):
        """Change something, perhaps a class at last; a function that undoes it."""
        whole, new = self.random.choice(self.places), self.value(1)
        if self.random.random() < 0.5:
            new = self.random.choice(self.vector)
        if new is MISSING or self.random.random() < 0.3:
            new = self.random.choice(LEAVES)
        if last and self.random.random() < 0.7:
            whole = self.random.choice(self.kinds)
        name = self.random.choice([*WORDS[:2], "known"])
        if isinstance(whole, tuple):
            return lambda: None
        if isinstance(whole, type) and "__slots__" in vars(whole):
            name = "known"
        if isinstance(whole, CellType | type) or not isinstance(whole, dict | list):
            where = "cell_contents" if isinstance(whole, CellType) else name
            try:
                old = [vars(whole)[where] if isinstance(whole, type) else getattr(whole, where)]
            except (AttributeError, KeyError, ValueError):
                old = []
            try:
                if old and self.random.random() < 0.3:
                    delattr(whole, where)
                else:
                    setattr(whole, where, new)
            except AttributeError:  # a slot hides or lacks the name
                return lambda: None
            return lambda: setattr(whole, where, *old) if old else delattr(whole, where)
        old = whole.copy()
        if self.random.random() < 0.3 and whole:
            whole.pop(*([self.random.choice([*whole])] if isinstance(whole, dict) else []))
        elif isinstance(whole, dict):
            whole[name] = new
        else:
            whole[:] = [*whole[1:], new]

        def undo():
            whole.clear()
            (whole.update if isinstance(whole, dict) else whole.extend)(old)

        return undo

    # --- sources and guards ---------------------------------------------------------------

    def sources(self, leaves):
        """Guards that hold now."""
        self.found, self.vector, self.guards, inputs = [], [], [], []
        for place in range(len(leaves)):
            self.add(Argument(place, f"x{place}"), leaves)
        self.add(Fixed(self.roots, "roots"), leaves)
        for _ in range(self.random.randrange(4, 20)):
            whole = self.random.choice(self.found)
            part = self.part(whole, self.vector[whole.number])
            if part is not None and self.vector[whole.number] is not MISSING:
                self.add(part, leaves)
        for source in self.found:
            value = self.vector[source.number]
            if type(value) is np.ndarray and self.random.random() < 0.5:
                inputs.append(source)
            elif self.random.random() < 0.7 or isinstance(source, Class):
                self.guards.append(self.guard(source, value))
        return SourceGuards(self.found, [g for g in self.guards if g is not None], inputs)

    def add(self, source, leaves):
        source.number = len(self.found)
        self.found.append(source)
        self.vector.append(source.read(self.vector, leaves))

    def part(self, whole, value):
        name = self.random.choice(WORDS)
        if isinstance(value, dict):
            return Item(whole, name)
        if isinstance(value, list | tuple):
            return Item(whole, self.random.randrange(3))
        if isinstance(value, CellType | type) and not isinstance(whole, Class):
            self.guards.append(Is(whole, value))
        if isinstance(value, CellType):
            return Contents(whole)
        if isinstance(value, type):
            return ClassAttribute(whole, self.random.choice(["known", "shared", "a", "z"]))
        if isinstance(value, (*self.kinds, SimpleNamespace)):
            return self.random.choice([Class(whole), Attribute(whole, name), Attribute(whole, "a")])
        return None

    def guard(self, source, value):
        atom = any(value is one for one in LEAVES) and value is not None
        if isinstance(source, Class):
            return Is(source, value)
        choice = self.random.random()
        others = [o for o in self.found if o is not source and value is not MISSING]
        alike = [o for o in others if self.vector[o.number] is value]
        if alike and self.random.random() < 0.5:
            return Same(source, self.random.choice(alike))
        if choice < 0.45 and len(alike) < len(others):
            return Distinct(source, tuple(o for o in others if o not in alike)[:3])
        if isinstance(value, list | dict | tuple) and choice < 0.75:
            keys = isinstance(value, dict) and choice < 0.6
            return Keys(source, tuple(value)) if keys else Length(source, len(value))
        return Equals(source, value) if atom else Is(source, value)


def read(sources, leaves):
    """The vector, None if a guard does not hold or a whole is of a kind without such a part."""
    try:
        return sources.read(leaves)
    except (AttributeError, TypeError):
        return None


def disagreements(seed):
    """How native calls of one random program differ from those in Python.

    "wrong" if one is answered natively whose guards do not hold, "slow" if the unchanged call is
    not; "left" counts others that Python answers though the guards hold.
    """
    world = World(seed)
    leaves = [world.value(2) for _ in range(2)]
    sources = world.sources(leaves)
    call = entry_of(sources, leaves)
    counts = {"refused": call is None, "wrong": 0, "slow": 0, "left": 0, "calls": 0, "fast": 0}
    if call is None:
        return counts
    counts["slow"] += call(*leaves) != "fast"
    for number in range(12):
        undone = [world.change(number == 11) for _ in range(world.random.randrange(1, 3))]
        given = list(leaves)
        if world.random.random() < 0.2:
            given[world.random.randrange(2)] = world.value(2)
        vector = read(sources, given)
        same = vector is not None and [
            (type(x), x.shape, x.dtype) if isinstance(x, np.ndarray) else None
            for x in sources.given(vector)
        ] == [(np.ndarray, x.shape, x.dtype) for x in sources.given(world.vector)]
        fast = call(*given) == "fast"
        counts["wrong"] += fast and not same
        counts["left"] += same and not fast
        counts["calls"] += 1
        counts["fast"] += fast
        for undo in reversed(undone):
            undo()
    return counts


def totals(seeds):
    found: dict[str, int] = {}
    for seed in seeds:
        for name, count in disagreements(seed).items():
            found[name] = found.get(name, 0) + count
    return found


def test_native_and_python_decide_alike():
    found = totals(range(400))
    assert found["wrong"] == found["slow"] == 0, found
    assert found["refused"] <= 20
    assert found["fast"] > 0.6 * found["calls"]
    # A class that was changed and changed back has another version; one whose instances were given
    # further attributes may have those that were missing.
    assert found["left"] < 0.2 * found["calls"], found


@pytest.mark.parametrize(
    "row",
    [
        *("dict_item", "position", "word", "own", "inline", "class", "version", "length", "keys"),
        *("equal", "bits", "integer", "same", "one", "distinct", "array"),
    ],
)
def test_a_row_left_out_is_found(row, monkeypatch):
    record = Guards._record

    def planted(self, guard, *words):
        if guard != row:
            record(self, guard, *words)
        elif guard == "array":  # the runner is given a value all the same
            record(self, "defined", words[0])

    monkeypatch.setattr(Guards, "_record", planted)
    for seed in range(400):
        found = disagreements(seed)
        if found["wrong"] or found["slow"]:
            return
    pytest.fail("no program told the difference")


def test_cells():
    one = CellType(X)
    held = entry_of(about(Is(Contents(Fixed(one, "c")), X)), [])
    assert held() == "fast"
    one.cell_contents = Y
    assert held() == "slow"
    del one.cell_contents
    assert held() == "slow"
    empty = entry_of(about(Is(Contents(Fixed(one, "c")), MISSING)), [])
    assert empty() == "fast"
    one.cell_contents = X
    assert (empty(), held()) == ("slow", "fast")


def test_parts_of_functions():
    def plain(a):
        return a

    def given(a=X, *, b=Y):
        return a

    part = FunctionPart(Fixed(plain, "plain"), "__code__")
    defaults, named = (
        FunctionPart(Fixed(plain, "p"), f"__{n}__") for n in ("defaults", "kwdefaults")
    )
    held = entry_of(about(Is(part, plain.__code__), Is(defaults, None), Is(named, None)), [])
    first = Item(FunctionPart(Argument(0, "f"), "__defaults__"), 0)
    read = entry_of(about(Is(first, X)), [given])
    assert held() == read(given) == "fast"
    assert read(plain) == read(3) == "slow"
    for name, value in (("code", given.__code__), ("defaults", (1,)), ("kwdefaults", {"b": 1})):
        old = getattr(plain, f"__{name}__")
        setattr(plain, f"__{name}__", value)
        assert held() == "slow"
        setattr(plain, f"__{name}__", old)
        assert held() == "fast"
    given.__defaults__ = (Y,)
    assert read(given) == "slow"
