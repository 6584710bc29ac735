"""The outside of a function during one trace: the objects it reads, and the changes it makes.

Tracing changes no object from outside. A value that is read gets a source and a guard; arrays, and
numbers that change from call to call, become inputs of the program. A store or another change goes
to an overlay, which later reads see, and becomes an effect. Each call does the effects after the
program.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from enum import Enum
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import CODES
from axiomjit.base.errors import NeedsValuesError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import current, refused
from axiomjit.base.tree import cannot_be_hashed, form_of
from axiomjit.functions.sources import (
    MISSING,
    NUMBERS,
    VALUES,
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
    Guard,
    Guards,
    Is,
    Item,
    Keys,
    Length,
    Part,
    Same,
    Source,
    is_known_key,
    is_known_value,
)

Array = np.ndarray
MOST_ENTRIES: Final = 1000
"""The largest number of entries of a container from outside that may be read as a whole."""
MOST_EFFECTS: Final = 256
"""The largest number of effects of one program."""
KNOWN_BYTES: Final = 4096
"""The largest number of bytes of an array from outside whose elements are compared in each call."""
BY_IDENTITY: Final = (
    *(type, FunctionType, ModuleType, np.ufunc, Enum, CodeType),
    *(BuiltinFunctionType, MethodDescriptorType, WrapperDescriptorType),
)
"""Types of objects that are guarded by their identity."""
CONTAINERS: Final = (OrderedDict, defaultdict, dict, list, tuple, set, frozenset, deque)
"""Classes of containers whose entries have sources."""


def container_kind(kind: Any) -> Any:
    """The built-in container class that a class is or inherits from; None for other classes."""
    return _container_kind(kind)


@functools.lru_cache(maxsize=2048)
def _container_kind(kind: Any) -> Any:
    return next((base for base in CONTAINERS if issubclass(kind, base)), None)


def is_container(value: Any) -> bool:
    """True for an instance of a built-in container or of a subclass."""
    return container_kind(type(value)) is not None


def _is_descriptor(value: Any, source: Source) -> bool:
    """True if an attribute of a class is a descriptor, which computes attributes of instances."""
    return isinstance(source, ClassAttribute) and hasattr(type(value), "__get__")


def root_of(source: Source) -> Source:
    """The argument or fixed object from which the reads that lead to this source start."""
    while isinstance(source, Part):
        source = source.of
    return source


_STORED: Final[dict[str, type[Part]]] = {
    "attribute": Attribute,
    "plain attribute": Attribute,
    "item": Item,
    "cell": Contents,
}
"""The class of the part that an effect stores, by the name of the effect."""


class Wanted:
    """Facts that earlier traces of a function have found for later ones, by identity of sources."""

    def __init__(self, leaves: object = None) -> None:
        """Start without any facts."""
        self.numbers: set[object] = set()
        """The numbers that change from call to call, and that programs take as arguments."""
        self.fixed: set[object] = set()
        """The numbers that change from call to call but are guarded, since the function needs their
        values.
        """
        self.elements: set[object] = set()
        """The arrays whose elements are guarded, since the function needs the elements."""
        self.has_effects = False
        """True if a trace has recorded effects."""
        self.known_made = False
        """True if arrays that the function makes of known values must keep known values."""
        self.lines: set[str] = set()
        """The lines that make arrays of known values into which traced values are written later."""
        self.repeated: dict[tuple[CodeType, bool], str] = {}
        """For each body of a loop (and whether the loop is in a region), the reason why its trips
        are traced one by one.
        """
        self.for_regions: dict[tuple[CodeType, bool], set[str]] = {}
        """For each loop, the lines in `lines` that only the region of this loop needs."""
        self.may_have_regions, self.has_regions = True, False
        """The first is False if all loops are traced trip by trip; the second is True if a trace
        has made a region.
        """
        self.exits: set[int] = set()
        """The lines in branches of the function's own loops that no region can contain."""
        self.leaving: set[tuple[CodeType, bool]] = set()
        """The bodies of loops, as in `repeated`, that were refused because of lines in `exits`."""
        self.leaves = leaves
        """The function, if Python may run it with compiled trips of its loops; else None."""
        self.only_regions = False
        """True for a function that Python runs unless its loops are regions."""
        self.loops: dict[str, str] = {}
        """For each line of the user with a loop in the last trace, the reason why the loop is
        traced trip by trip, or a word of `loop_outcomes`.
        """
        self._forgotten: set[str] | None = None
        """The value of `lines` before `forget_regions` in this call; None if it was not called."""

    def begin_traces(self) -> None:
        """Note that a new call begins to trace."""
        self._forgotten = None

    def forget_regions(self) -> bool:
        """Trace all loops trip by trip from now on; False if no loop was a region."""
        if not self.has_regions or self.exits or self.only_regions:
            return False
        self._forgotten = set(self.lines)
        self.has_regions = self.may_have_regions = False
        for lines in self.for_regions.values():
            self.lines -= lines
        return True

    def remember_regions(self) -> None:
        """Allow regions again; the error that led to `forget_regions` is the function's own."""
        if self._forgotten is not None:
            self.has_regions = self.may_have_regions = True
            self.lines, self._forgotten = self._forgotten, None


class TraceAgain(BaseException):
    """Raised to end a trace, which must start again with the facts that are now in `Wanted`."""


class Effect(Record):
    """A change to an object outside the function, which each call makes after the program has run.

    `how` is a name in `effects.HOW`; `target` is the changed object; `values` are the stored
    values, or the arguments of a call; `line` is the line of the user.
    """

    how: str
    target: Any
    key: object
    values: tuple[object, ...]
    line: str | None


def refuse(seen: str, remedy: str = "do this outside the compiled function") -> NoReturn:
    """End the trace, so that NumPy runs the function.

    Raises:
        NeedsValuesError: always; this ends the trace even if the user's code catches the error.
    """
    asked = "follow a function once for all calls"
    raise refused(NeedsValuesError(asked, f"that it {seen}", remedy, user_location()))


def in_region() -> bool:
    """True while the body of a region, a loop or branch, is being traced."""
    following = current()
    return following is not None and following.region is not None


def refuse_in_region(seen: str) -> None:
    """In the body of a region, refuse a change of a Python object before the change is done.

    Raises:
        RegionRefused: a body of a region is being traced.
    """
    if in_region():
        raise lazy_import("axiomjit.graph.closing").RegionRefused(seen)


class Outside:
    """The sources, guards and effects of one trace, and the overlay of changes."""

    def __init__(self, wanted: Wanted, add_input: Callable[[Any, Source], Any]) -> None:
        """Start a trace.

        Args:
            wanted: The facts that earlier traces have found.
            add_input: A function that adds an outside array or number to the arguments of the
                program, and returns the object that represents the new argument.
        """
        self.wanted, self._add_input = wanted, add_input
        self.sources: list[Source] = []
        self.conditions: list[Guard] = []
        self.inputs: list[Source] = []
        self.effects: list[Effect] = []
        self.loops = wanted.loops = {}
        self._places: dict[object, Source] = {}
        self._raw: dict[int, Any] = {}  # values of sources, by number
        self._reads: dict[int, Any] = {}  # traced forms of these values, by number
        self._seen: dict[int, tuple[Any, Source]] = {}  # objects, by id
        self._stands: dict[int, Any] = {}  # the representative of each object, by id of the object
        self._originals: dict[int, tuple[Any, Any]] = {}  # the object of each representative
        self._parts: dict[int, dict[object, Any]] = {}  # stored parts, by id of the object
        self._copies: dict[int, Any] = {}  # containers that were read as a whole
        self._late: dict[int, list[tuple[str, tuple[Any, ...]]]] = {}  # changes before such a read
        self._changed: dict[int, Source] = {}
        self._generators: dict[int, Any] = {}
        self._arguments: dict[int, tuple[int, str, Array, Any]] = {}

    # Sources and guards

    def source(self, made: Source, value: Any = None) -> Source:
        """The one source of a place; a source that is no part of another source has a `value`."""
        known = self._places.setdefault(made.identity, made)
        if known is made:
            made.number, made.line = len(self.sources), user_location()
            self.sources.append(made)
            if not isinstance(made, Part):
                self._raw[made.number] = value
        return known

    def note_argument(self, place: int, name: str, array: Array, stands: Any) -> None:
        """Note an array argument, since the function may also reach this array from outside."""
        self._arguments[id(array)] = place, name, array, stands

    def value_of(self, source: Source) -> Any:
        """The value of a source in the call that is traced."""
        return self._raw.get(source.number, MISSING)

    def stored_sources(self) -> Iterator[Source]:
        """The sources of the places into which the function stores and from which it has read."""
        for effect in self.effects:
            kind = _STORED.get(effect.how)
            owner = None if effect.target is None else self.source_of(effect.target)
            if kind is not None and owner is not None and type(effect.key) is not slice:
                key = None if kind is Contents else effect.key
                found = self._places.get((kind, type(key), key, owner.identity))
                if found is not None:
                    yield found

    def fixed(self, value: Any, name: str = "") -> Source:
        """Note an object that is the same in all calls, and return its source."""
        source = self.source(Fixed(value, name), value)
        self._seen.setdefault(id(value), (value, source))
        self._originals.setdefault(id(value), (value, value))
        return source

    def argument(self, place: int, name: str, value: Any, is_static: bool) -> Any:
        """The traced form of an argument that is static, or neither an array nor a number."""
        return self.admit(value, self.source(Argument(place, name, is_static), value))

    def read(self, made: Part) -> Any:
        """The traced form of a part of an outside object; MISSING if the object has no such part.

        Each part is read only once in a trace, so that all reads see the part at the same moment.
        """
        source = self.source(made)
        if source.number not in self._reads:
            found = made.get(self._raw[made.of.number], made.key)
            self._reads[source.number] = self.admit(found, source)
        return self._reads[source.number]

    def exists(self, made: Part) -> bool:
        """True if an object from outside has a part; the guard compares only its existence."""
        source = self.source(made)
        known = self._reads.get(source.number, made.get(self._raw[made.of.number], made.key))
        if source.number not in self._reads:
            self._raw.setdefault(source.number, known)
            self.require(Is(source, MISSING) if known is MISSING else Defined(source))
        return known is not MISSING

    def require(self, guard: Guard) -> None:
        """Record a guard."""
        self.conditions.append(guard)

    def admit(self, value: Any, source: Source) -> Any:
        """Guard the value of a source; return the value, or an object that represents it."""
        self._raw[source.number] = value
        if value is MISSING or value is None or type(value) is bool:
            self.require(Is(source, value))
            return value
        if self._is_input(value, source):
            return self._input(value, source)
        if is_known_value(value):
            self.require(Equals(source, value))
            return value
        if id(value) in self._arguments and id(value) not in self._seen:
            place, name, _, stands = self._arguments[id(value)]
            argument = self.source(Argument(place, name), value)
            self._seen[id(value)] = value, argument
            self.represent(value, stands)
        if id(value) in self._seen:
            steady = isinstance(value, BY_IDENTITY) and not self.is_by_code(value)
            other = self._seen[id(value)][1]
            self.require(Is(source, value) if steady else Same(source, other))
            return self._stands.get(id(value), value)
        self._seen[id(value)] = value, source
        stands = value
        if isinstance(value, Array):
            stands = self._stands[id(value)] = self._array(value, source)
        elif _is_descriptor(value, source) or (
            isinstance(value, BY_IDENTITY) and not self.is_by_code(value)
        ):
            self.require(Is(source, value))
        elif isinstance(value, VALUES):
            self.require(Equals(source, value))
        else:
            self.read(Class(source))
        self._originals[id(stands)] = stands, value
        return stands

    def stand_for_generator(self, generator: Any) -> Any:
        """The tracer that stands for a generator of random numbers."""
        if id(generator) not in self._generators:
            source = self.source_of(generator)
            if source is not None:
                self.require(Is(source, generator))
            late = lazy_import("axiomjit.tracing.traced_random")
            self._generators[id(generator)] = late.TracedGenerator(generator)
        return self._generators[id(generator)]

    def represent(self, value: Any, stands: Any) -> None:
        """Let the object `stands` represent `value`, which is from outside and has a source."""
        self._stands[id(value)] = stands
        self._originals[id(stands)] = stands, value

    def is_by_code(self, value: Any) -> bool:
        """True for a function in an argument: guards compare its code and cells, not identity."""
        if type(value) is not FunctionType or id(value) not in self._seen:
            return False
        return isinstance(root_of(self._seen[id(value)][1]), Argument)

    def _is_input(self, value: Any, source: Source) -> bool:
        number = type(value) in NUMBERS or (isinstance(value, np.generic) and value.dtype in CODES)
        identity, wanted = source.identity, self.wanted
        if not number or identity in wanted.fixed:
            return False
        root = root_of(source)
        if root is source or (isinstance(root, Argument) and root.is_static):
            return False
        return identity in wanted.numbers or self._is_argument(source)

    def _is_argument(self, source: Source) -> bool:
        """True if a number at this source becomes an argument, as numbers in containers do."""
        if isinstance(source, Argument):
            return not source.is_static
        if isinstance(source, Item | Attribute):
            whole = self._raw[source.of.number]
            if isinstance(source, Attribute) and isinstance(whole, deque):
                return False  # `maxlen` of a deque
            kind: Any = type(whole)
            opened = form_of(kind) if isinstance(source, Attribute) else is_container(whole)
            if kind is SimpleNamespace or (opened and cannot_be_hashed(whole)):
                return self._is_argument(source.of)
            return isinstance(source, Item) and self._is_argument(source.of)
        return False

    def _input(self, value: Any, source: Source) -> Any:
        self.inputs.append(source)
        return self._add_input(value, source)

    def _array(self, value: Array, source: Source) -> Any:
        if type(value) not in (Array, np.memmap) or value.dtype not in CODES:
            refuse(
                f"uses {source}, a {type(value).__name__} of dtype {value.dtype}, which NumPy "
                "functions treat in ways of their own",
                "make it a numpy.ndarray outside the function, for example numpy.asarray(x)",
            )
        if source.identity not in self.wanted.elements:
            return self._input(value, source)
        known = value.copy(order="K")
        known.flags.writeable = False
        self.require(Elements(source, known))
        return known

    # Objects from outside

    def source_of(self, value: Any) -> Source | None:
        """The source of an object from outside or of its representative; None for other objects."""
        known = self._originals.get(id(value))
        return None if known is None else self._seen[id(known[1])][1]

    def identity_of(self, value: Any) -> Source | None:
        """The source of an object from outside, also of an array argument, to compare identity."""
        found = self.source_of(value)
        if found is None:
            for array, (place, name, given, stands) in self._arguments.items():
                if stands is value and array not in self._seen:
                    return self.source(Argument(place, name), given)
        return found

    def is_outside(self, value: Any) -> bool:
        """True for an object from outside, and for the object that represents it."""
        return id(value) in self._originals

    def original(self, value: Any) -> Any:
        """The object from outside that `value` represents; `value` itself if it represents none."""
        known = self._originals.get(id(value))
        return value if known is None else known[1]

    def owner(self, value: Any) -> Any:
        """The container of which `value` is a copy; `value` itself if there is no container."""
        known = self._originals.get(id(value))
        return known[1] if known is not None and is_container(known[1]) else value

    def give(self, copy: Any, owner: Any) -> Any:
        """Note that a copy for a library's function stands for a container; return the copy."""
        self._originals[id(copy)] = copy, self.owner(owner)
        return copy

    def end(self) -> None:
        """Drop all values that are from outside, and all that the function has made."""
        tables = self._raw, self._reads, self._seen, self._stands, self._originals, self._changed
        for table in (*tables, self._generators, self._arguments):
            table.clear()
        for made in (self.effects, self._parts, self._copies, self._late):
            made.clear()

    def guards(self) -> Guards:
        """The guards of the program; changed objects must be distinct from others of their type."""
        for number, source in self._changed.items():
            kind = type(self._seen[number][0])
            others = [s for n, (v, s) in self._seen.items() if type(v) is kind and n != number]
            if others:
                self.require(Distinct(source, tuple(others)))
        return Guards(self.sources, self.conditions, self.inputs)

    # The overlay

    def stored(self, owner: Any, key: object) -> Any:
        """A tuple with the part that the function has stored in an outside object.

        None if the function has stored no part at this key. A deleted part is MISSING.
        """
        owner = self.owner(owner)
        return self._parts.get(id(owner), {}).get(key)

    def store(self, how: str, owner: Any, key: object, value: Any) -> None:
        """Store a part of an object from outside in the overlay, and record an effect."""
        refuse_in_region("a change outside the function")
        owner = self.owner(owner)
        self._parts.setdefault(id(owner), {})[key] = (value,)
        self.effect(how, owner, key, () if value is MISSING else (value,))

    def effect(self, how: str, target: Any, key: object, values: tuple[object, ...]) -> None:
        """Record an effect on an object from outside, or a call of a function (no `target`)."""
        refuse_in_region("an effect outside the function")
        target = self.owner(target)
        if len(self.effects) == MOST_EFFECTS:
            refuse(f"does more than {MOST_EFFECTS} changes outside it in one call")
        source = None if target is None else self.source_of(target)
        if source is not None:
            self._changed[id(target)] = source
        self.effects.append(Effect(how, target, key, values, user_location()))

    def length(self, owner: Any) -> int:
        """The number of entries of a container from outside; the number is guarded."""
        owner = self.owner(owner)
        if id(owner) in self._copies or id(owner) in self._late or id(owner) in self._parts:
            return len(self.whole(owner))
        return self._length(owner)

    def _length(self, owner: Any) -> int:
        count = int(container_kind(type(owner)).__len__(owner))
        guard = Length(self._seen[id(owner)][1], count)
        if guard not in self.conditions:
            self.require(guard)
        return count

    def whole(self, owner: Any) -> Any:
        """A copy of a container from outside, after all changes up to now; each entry is guarded.

        Raises:
            NeedsValuesError: the container has too many entries, or an entry that no guard can
                compare.
        """
        owner = self.owner(owner)
        number = id(owner)
        if number not in self._copies:
            if len(owner) > MOST_ENTRIES:
                refuse(f"reads all of {self.source_of(owner)}, which has {len(owner):,} entries")
            made = self._copied(owner)
            for name, given in self._late.pop(number, ()):
                getattr(made, name)(*given)
            for key, stored in self._parts.pop(number, {}).items():
                if stored[0] is MISSING:
                    made.pop(key, None)
                else:
                    made[key] = stored[0]
            self._copies[number] = made
            self._parts.pop(number, None)
        return self._copies[number]

    def _copied(self, owner: Any) -> Any:
        source, kind = self._seen[id(owner)][1], container_kind(type(owner))
        if kind in (set, frozenset):
            if not all(map(is_known_key, owner)):
                refuse(f"reads {source}, a set of objects that are not compared by value")
            self.require(Keys(source, tuple(kind.__iter__(owner))))
            return kind(kind.__iter__(owner))
        if issubclass(kind, dict):
            keys = tuple(kind.__iter__(owner))
            if not all(is_known_key(key) or isinstance(key, BY_IDENTITY) for key in keys):
                refuse(f"reads {source}, whose keys are objects that are not compared by value")
            self.require(Keys(source, keys))
            entries = {key: self.read(Item(source, key)) for key in keys}
            if kind is not defaultdict:
                return kind(entries)
            return defaultdict(self.read(Attribute(source, "default_factory")), entries)
        found = [self.read(Item(source, k)) for k in range(self._length(owner))]
        if kind is deque:
            return deque(found, self.read(Attribute(source, "maxlen")))
        return tuple.__new__(type(owner), found) if kind is tuple else kind(found)

    def change(self, owner: Any, name: str, given: tuple[Any, ...]) -> None:
        """Record a change of a container by a method whose result is not used."""
        refuse_in_region("a change of a container")
        owner = self.owner(owner)
        number = id(owner)
        if number in self._copies:
            getattr(self._copies[number], name)(*given)
        else:
            if number in self._parts:
                self.whole(owner)
                return self.change(owner, name, given)
            self._late.setdefault(number, []).append((name, given))
        self.effect("method", owner, name, given)
        return None

    def needs_whole(self, owner: Any) -> bool:
        """True if a container was read as a whole, or if a method has changed the container."""
        owner = self.owner(owner)
        return id(owner) in self._copies or id(owner) in self._late

    def has_key(self, owner: Any, key: Any) -> bool:
        """True if a dict from outside has a key; the guard compares only whether the key exists."""
        owner = self.owner(owner)
        stored = self.stored(owner, key)
        if self.needs_whole(owner):
            return key in self.whole(owner)
        if stored is not None:
            return stored[0] is not MISSING
        return self.exists(Item(self._seen[id(owner)][1], key))

    def item(self, owner: Any, key: Any) -> Any:
        """An entry of a container from outside; MISSING if the container has no such entry."""
        owner = self.owner(owner)
        number = id(owner)
        if number in self._late:
            self.whole(owner)
        if number in self._copies:
            return Item.get(self._copies[number], key)
        stored = self.stored(owner, key)
        return self.read(Item(self._seen[number][1], key)) if stored is None else stored[0]

    def entries(self, owner: Any) -> Iterator[Any]:
        """Iterate over a container from outside; a change during the loop acts as in Python."""
        owner = self.owner(owner)
        if isinstance(owner, list | tuple | deque):
            place = 0
            while place < self.length(owner):
                yield self.item(owner, place)
                place += 1
        else:
            yield from self.whole(owner)
