"""The objects of the effect analysis: reading and changing their attributes and entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from enum import Enum
from functools import partialmethod, singledispatchmethod
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
)
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.tree import state_of
from axiomjit.graph.traced_values import TracedValue
from axiomjit.tracing.effects.known_calls import ARRAY_VIEWS, is_library
from axiomjit.tracing.effects.values import (
    ANY,
    CONSTANTS,
    DYNAMIC,
    FRESH,
    LONGEST,
    NEW,
    NOTHING,
    OUTSIDE,
    VIEW,
    Closure,
    Known,
    LocalClass,
    Made,
    Method,
    Origin,
    Partial,
    Super,
    Value,
    constant,
    entries_of,
    held_class,
    is_a,
    is_cached_property,
    is_constant,
    is_dict,
    is_function,
    is_key,
    is_plain,
    limited,
)

Kwargs = Mapping[str, Value]
ABSENT: Final = object()
_MADE_BY_PYTHON: Final = 1 << 9


class Effect(Exception):
    """What a function may change outside itself, or asks at each call; where it does so."""

    def __init__(self, text: str, place: str, impure: str | None, draws: bool) -> None:
        """Say what it does, and `file:line`.

        Args:
            text: What it does.
            place: Where.
            impure: The clock, file or source of entropy that it asks.
            draws: Whether it draws random numbers that are no step.
        """
        super().__init__(text)
        self.text, self.place, self.impure, self.draws = text, place, impure, draws


class Objects:
    """Known and made objects, and what is read from them and stored into them."""

    place: object = None
    """The text of what is looked at."""

    def __init__(self, own: str) -> None:
        """Begin with no objects; `own` is the package of the function."""
        self.own = own
        self.again = False
        """Whether something grew that was read before."""
        self.file, self.line = "", 0
        self.draws = False
        self._known: dict[object, Known] = {}
        self._made: dict[object, Made] = {}
        self._bound: dict[object, Method] = {}
        self._pieces: dict[object, Any] = {}
        self.loose: Value = NOTHING
        """What was put into fresh objects."""

    def call(
        self,
        function: Value,
        args: Sequence[Value],
        kwargs: Kwargs,
        text: str,
        star: Value = NOTHING,
    ) -> Value:
        """What a call gives; `star` is what any further argument may be."""
        raise NotImplementedError

    def ask(self, name: str, every: Sequence[Value], text: str) -> None:
        """Look into special methods that a library's function may call."""
        raise NotImplementedError

    def of(self, value: Value, kind: object = list, key: object = None) -> Value:
        """A new container with entries that may be a value."""
        raise NotImplementedError

    def effect(self, text: str, impure: str | None = None, draws: bool = False) -> NoReturn:
        """Refuse the function.

        Raises:
            Effect: always.
        """
        raise Effect(text, f"{self.file}:{self.line}", impure, draws)

    def known(self, value: Any, named: bool = False) -> Value:
        """An object from outside, as a value."""
        if issubclass(type(value), TracedValue):  # it is refused where it is used
            return frozenset((DYNAMIC,))
        if issubclass(type(value), np.ndarray) and value.dtype.hasobject:
            self.effect("reads an array of objects from outside it")
        return frozenset((self.origin(value, named),))

    def origin(self, value: Any, named: bool = False) -> Known:
        """An object from outside; constants are one if they are equal."""
        kind = type(value)
        by_value = issubclass(kind, int | str | bytes | float | type(None))
        key: object = (kind, value) if by_value else (id(value), named)
        found = self._known.get(key)
        if found is None:
            found = self._known[key] = Known(value, named)
        return found

    def made(self, key: object, kind: object) -> Made:
        """What is made at one place of the text."""
        found = self._made.get(key)
        if found is None:
            found = self._made[key] = Made(kind)
        return found

    def bound(self, owner: Origin, name: str, target: Origin | None = None) -> Value:
        """A method of one owner."""
        key = owner, name, target
        if key not in self._bound:
            self._bound[key] = Method(frozenset((owner,)), name, target)
        return frozenset((self._bound[key],))

    def is_library(self, part: Any) -> bool:
        """Whether a function, class or module is not the user's."""
        return is_library(part, self.own)

    def add(self, made: Made, key: object, value: Value) -> None:
        """Put a value into what was made; at an unknown place where the key is None."""
        old = made.rest if key is None else made.items.get(key, NOTHING)
        new = limited(old | value)
        if new != old:
            self.again = self.again or made.read
            if key is None:
                made.rest = new
            else:
                made.items[key] = new

    def add_field(self, made: Made, name: str, value: Value) -> None:
        """Set an attribute of what was made."""
        old = made.fields.get(name, NOTHING)
        new = limited(old | value)
        if new != old:
            self.again = self.again or made.read
            made.fields[name] = new

    def loosen(self, value: Value) -> None:
        """Note what is put into a fresh object, which may be found in any."""
        new = self.loose | {one for one in value if _is_object(one)}
        self.again = self.again or new != self.loose
        self.loose = limited(new)

    # What may be changed

    def mutate(self, value: Value, text: str) -> None:
        """Refuse to change what may be outside.

        Args:
            value: What is changed.
            text: Says what the function does.
        """
        for one in value:
            if isinstance(one, Made) and one.argument is not None:
                self.effect(f"changes a list or dict in its argument {one.argument} ({text})")
            if isinstance(one, Made) and one.kind is None:  # a library's, which may hand it on
                self.mutate(frozenset(p for p in one.contents() if not isinstance(p, Made)), text)
            outside = isinstance(one, Known) and not is_constant(one.value)
            if outside or one in (VIEW, OUTSIDE):
                self.effect(f"{text}, which lives on outside it")

    # Classes

    def member(self, kind: type, name: str, after: type | None = None) -> Any:
        """What a class has under a name; `after` begins behind one of its classes."""
        order = kind.__mro__
        if after is not None and after in order:
            order = order[order.index(after) + 1 :]
        for base in order:
            if name in vars(base):
                return vars(base)[name]
        return ABSENT

    def special(self, one: Origin, name: str) -> Value | None:
        """A special method that the user's class of an object defines; None for others."""
        if isinstance(one, Known):
            kind = type(one.value)
        elif isinstance(one, Made):
            if isinstance(one.kind, LocalClass):
                found = self.of_class(one.kind, name)
                return self.rebound(found, one) if found else None
            if not isinstance(one.kind, type):
                return None
            kind = one.kind
        else:
            return None
        if not kind.__flags__ & _MADE_BY_PYTHON:
            return None
        held = self.member(kind, name)
        own = is_a(held, FunctionType | NativeCallable) and not self.is_library(held)
        return self.bind(held, one, kind) if own else None

    def of_class(self, kind: LocalClass, name: str) -> Value:
        """What a class that is made inside has under a name."""
        if name in kind.space:
            return kind.space[name]
        found = NOTHING
        for base in kind.bases:
            if isinstance(base, LocalClass):
                found |= self.of_class(base, name)
            elif isinstance(base, Known) and is_a(base.value, type):
                held = self.member(base.value, name)
                library = base.value is object or self.is_library(base.value)
                if held is not ABSENT and not (library and name.startswith("__")):
                    found |= self.known(held)
        return found

    def rebound(self, found: Value, one: Origin) -> Value:
        """Members of a class that is made inside, as an instance has them."""
        total = NOTHING
        for member in found:
            if isinstance(member, Known):
                total |= self.bind(member.value, one, type(one))
            elif isinstance(member, Closure):
                total |= self.bound(one, member.node.name, member)
            elif isinstance(member, Made) and member.kind is property:
                total |= self.call(member.contents(), [frozenset((one,))], {}, "a property")
            elif isinstance(member, Made):
                total |= {member} | member.contents()
            else:
                total |= {member}
        return total

    def bind(self, held: Any, one: Origin, kind: type) -> Value:
        """A member of a class, as its instance has it."""
        owner = frozenset((one,))
        if is_a(held, FunctionType | NativeCallable):
            return self.bound(one, held.__name__, self.origin(held))
        if is_a(held, staticmethod):
            return self.known(held.__func__)
        if is_a(held, classmethod):
            return self.bound(self.origin(kind), held.__func__.__name__, self.origin(held.__func__))
        if is_a(held, property):
            if not is_a(held.fget, FunctionType):
                return ANY
            return self.call(self.known(held.fget), [owner], {}, held.fget.__name__)
        if is_cached_property(held):
            return self.call(self.known(held.func), [owner], {}, str(held.attrname))
        if is_a(held, partialmethod | singledispatchmethod):
            self.effect(f"reads a {type(held).__name__}, which is not known")
        getter = self.member(type(held), "__get__")
        if isinstance(getter, FunctionType) and not self.is_library(getter):
            given = [self.known(held), owner, self.known(kind)]
            return self.call(self.known(getter), given, {}, "__get__")
        return self.known(held)

    # Attributes

    def attribute(self, value: Value, name: str) -> Value:
        """What an attribute gives."""
        found = NOTHING
        for one in value:
            found |= self._attribute(one, name)
        return limited(found)

    def _attribute(self, one: Origin, name: str) -> Value:
        if self.special(one, "__getattribute__") is not None:
            self.effect(f"reads .{name} by a __getattribute__, which is not known")
        if isinstance(one, Known):
            return self._known_attribute(one, name)
        if isinstance(one, Made):
            return self._made_attribute(one, name)
        if one is FRESH or one is DYNAMIC:
            return frozenset((one,))
        if one is VIEW:
            views = name in ARRAY_VIEWS and name in ("T", "real", "imag", "flat", "base", "mT")
            return frozenset((VIEW,)) if views else self.bound(one, name)
        if isinstance(one, Super):
            return self._after(one, name)
        if isinstance(one, LocalClass):
            return self.of_class(one, name)
        if isinstance(one, Method) and name == "__self__":
            return one.owner
        if isinstance(one, Closure | Partial):
            return self.bound(one, name) | self.loose
        return ANY if one is OUTSIDE else NEW

    def _after(self, one: Super, name: str) -> Value:
        found = NOTHING
        for owner in one.owner:
            kind: Any = None
            if isinstance(owner, Known):
                kind = owner.value if isinstance(owner.value, type) else type(owner.value)
            elif isinstance(owner, Made):
                kind = owner.kind
            if isinstance(one.kind, LocalClass):
                base = LocalClass(one.kind.node)
                base.bases = one.kind.bases
                held = self.of_class(base, name)
                found |= self.rebound(held, owner) if held else self.bound(owner, name)
            elif isinstance(kind, type):
                held = self.member(kind, name, one.kind)
                own = is_a(held, FunctionType) and not self.is_library(held)
                static = is_a(held, staticmethod | classmethod | property)
                plain = own or (static and not self.is_library(one.kind))
                found |= self.bind(held, owner, kind) if plain else self.bound(owner, name)
            else:
                found |= self.bound(owner, name)
        return found

    def _made_attribute(self, one: Made, name: str) -> Value:
        one.read = True
        found = one.fields.get(name, NOTHING)
        if isinstance(one.kind, LocalClass):
            held = self.of_class(one.kind, name)
            return found | (self.rebound(held, one) if held else NOTHING) or self.bound(one, name)
        if isinstance(one.kind, type):
            held = self.member(one.kind, name)
            if held is ABSENT or is_a(held, MemberDescriptorType | GetSetDescriptorType):
                getter = self.special(one, "__getattr__")
                if not found and getter is not None:
                    return self.call(getter, [NEW], {}, name)
                return found or (self.bound(one, name) if held is ABSENT else NOTHING)
            if one.kind.__flags__ & _MADE_BY_PYTHON and not is_a(held, BuiltinFunctionType):
                if is_a(held, property) or not self.is_library(held_class(held)):
                    return found | self.bind(held, one, one.kind)
                if found:
                    return found
                return self.bind(held, one, one.kind) if is_plain(held) else self.bound(one, name)
        inside = one.contents() if one.kind is None else NOTHING
        return found or inside | self.bound(one, name)

    def _known_attribute(self, one: Known, name: str) -> Value:
        value = one.value
        if name == "__dict__":
            return ANY
        if name == "__class__":
            return self.known(type(value))
        if is_a(value, ModuleType):
            return self._of_module(one, name)
        if is_a(value, type):
            return self._of_known_class(value, name)
        if is_a(value, np.ndarray):
            return self._of_array(one, name)
        if is_constant(value) or is_a(value, BuiltinFunctionType | np.ufunc | dict | list):
            return self.bound(one, name) if not _is_plain_subclass(value) else self._own(one, name)
        if is_a(value, FunctionType | NativeCallable | MethodType):
            return self._of_function(value, name)
        if is_a(value, SimpleNamespace):
            return self.known(vars(value)[name]) if name in vars(value) else self.bound(one, name)
        return self._own(one, name)

    def _own(self, one: Known, name: str) -> Value:
        """An attribute of an instance."""
        value, kind = one.value, type(one.value)
        if not kind.__flags__ & _MADE_BY_PYTHON or self.is_library(kind):
            return self._of_library(one, name)
        held = self.member(kind, name)
        if is_a(held, property):
            return self.bind(held, one, kind)
        state = state_of(value)
        if name in state:
            return self.known(state[name])
        if held is ABSENT or is_a(held, MemberDescriptorType):
            getter = self.special(one, "__getattr__")
            if getter is not None:
                return self.call(getter, [self.known(name)], {}, name)
            return self.bound(one, name)
        base = next(base for base in kind.__mro__ if name in vars(base))
        if base is object or (self.is_library(base) and not is_plain(held)):
            return self.bound(one, name)
        return self.bind(held, one, kind)

    def _of_library(self, one: Known, name: str) -> Value:
        state = getattr(one.value, "__dict__", None)
        if isinstance(state, dict) and name in state:
            return self.known(state[name])
        held = self.member(type(one.value), name)
        plain = is_a(held, MemberDescriptorType | GetSetDescriptorType)
        if plain or hasattr(type(one.value), "_fields"):
            found = getattr(one.value, name, None)
            return self.known(found) if not callable(found) else self.bound(one, name)
        if is_a(held, property) or is_cached_property(held):
            return frozenset((VIEW, OUTSIDE, FRESH))
        return self.bound(one, name)

    def _of_module(self, one: Known, name: str) -> Value:
        try:
            found = getattr(one.value, name)
        except Exception:  # the function raises it again, or runs in NumPy
            return NEW
        ours = one.value.__name__ in ("numpy", "numpy.random") or not self.is_library(one.value)
        return self.known(found, one.named and ours)

    def _of_known_class(self, kind: type, name: str) -> Value:
        if issubclass(kind, Enum) or not kind.__flags__ & _MADE_BY_PYTHON or self.is_library(kind):
            try:
                return self.known(getattr(kind, name))
            except AttributeError:
                return NEW
        held = self.member(kind, name)
        if held is ABSENT:
            held = self.member(type(kind), name)
            own = is_a(held, FunctionType | property) and not self.is_library(held_class(held))
            return self.bind(held, self.origin(kind), type(kind)) if own else ANY
        if is_a(held, staticmethod):
            return self.known(held.__func__)
        if is_a(held, classmethod):
            return self.bound(self.origin(kind), name, self.origin(held.__func__))
        if is_a(held, MemberDescriptorType):
            return NEW
        return self.known(held)

    def _of_function(self, value: Any, name: str) -> Value:
        if name in getattr(value, "__dict__", {}):
            return self.known(value.__dict__[name])
        if name in ("__name__", "__qualname__", "__doc__", "__module__"):
            return NEW
        if name in ("__self__", "__func__"):
            return self.known(getattr(value, name, None))
        return self.bound(self.origin(value), name)

    def _of_array(self, one: Known, name: str) -> Value:
        array = one.value
        if type(array) is not np.ndarray and not is_library(type(array), self.own):
            return self._of_subclass(one, name)
        if name in ("T", "real", "imag", "mT"):
            return self.view(array, name, lambda: getattr(array, name))
        if name in ("flat", "base", "data", "ctypes", "__array_interface__"):
            return frozenset((VIEW,))
        if name in ("shape", "size", "ndim", "dtype", "itemsize", "nbytes", "strides"):
            return self.known(getattr(array, name))
        return self.bound(one, name)

    def _of_subclass(self, one: Known, name: str) -> Value:
        held = self.member(type(one.value), name)
        if held is ABSENT or self.is_library(held_class(held)):
            state = getattr(one.value, "__dict__", {})
            return self.known(state[name]) if name in state else self.bound(one, name)
        return self.bind(held, one, type(one.value))

    def view(self, array: Any, key: object, made: Any) -> Value:
        """A view of a known array, one for each way to make it."""
        place = id(array), key
        if place not in self._pieces:
            try:
                self._pieces[place] = made(), array
            except Exception:  # the function raises it
                self._pieces[place] = None, array
        found = self._pieces[place][0]
        if found is None:
            return NEW
        plain = type(found) is np.ndarray and np.may_share_memory(found, array)
        return self.known(found) if plain else NEW

    def store_attribute(self, value: Value, name: str, new: Value, text: str) -> None:
        """Set or delete an attribute."""
        for one in value:
            if isinstance(one, Made):
                setter = self.special(one, "__setattr__")
                held: Any = self.member(one.kind, name) if isinstance(one.kind, type) else None
                if setter is not None:
                    self.call(setter, [self.known(name), new], {}, text)
                elif is_a(held, property) and is_a(held.fset, FunctionType):
                    given = [frozenset((one,)), new]
                    self.call(self.known(held.fset), given, {}, text)
                elif one.argument is not None:
                    self.mutate(frozenset((one,)), text)
                self.add_field(one, name, new)
            elif isinstance(one, LocalClass):
                one.space[name] = one.space.get(name, NOTHING) | new
            elif isinstance(one, Known):
                self.effect(f"{text}, which lives on outside it")
            else:
                self.mutate(frozenset((one,)), text)
                self.loosen(new)

    # Entries

    def elements(self, value: Value, text: str) -> Value:
        """What a loop over a value gives.

        Args:
            value: What is looped over.
            text: The loop, for what is refused.
        """
        found = NOTHING
        for one in value:
            found |= self._elements(one, text)
        return limited(found)

    def _elements(self, one: Origin, text: str) -> Value:
        iterate = self.special(one, "__iter__")
        if iterate is not None:
            return self._of_iterator(self.call(iterate, [], {}, text), one, text)
        getter = self.special(one, "__getitem__")
        if getter is not None:
            return self.call(getter, [NEW], {}, text)
        if isinstance(one, Made):
            return self.keys(one) if is_dict(one) else one.contents()
        if isinstance(one, Known):
            return self._known_elements(one, text)
        if one is FRESH:
            return NEW | self.loose
        if one is VIEW:
            return frozenset((VIEW, FRESH))
        return frozenset((one,)) if one is DYNAMIC else ANY

    def _of_iterator(self, found: Value, one: Origin, text: str) -> Value:
        total = NOTHING
        for made in found:
            step = self.special(made, "__next__")
            if step is not None:
                total |= self.call(step, [], {}, text)
            elif made is not one:
                total |= self._elements(made, text)
        return total

    def _known_elements(self, one: Known, text: str) -> Value:
        value = one.value
        if is_a(value, np.ndarray):
            if value.ndim <= 1:
                return NEW
            return frozenset((VIEW, FRESH))
        if is_a(value, str | bytes | bytearray | range) or is_constant(value):
            return self._several(value) if is_a(value, tuple | frozenset) else NEW
        if is_a(value, dict):
            return self._several(list(value))
        if entries_of(value) is not None:
            return self._several(value)
        if is_a(value, type) and issubclass(value, Enum):
            return self._several(list(value))
        if hasattr(type(value), "__next__"):
            self.effect(f"takes from the iterator {text}, which lives on outside it")
        return ANY

    def _several(self, entries: Any) -> Value:
        if len(entries) <= LONGEST:
            return frozenset().union(*map(self.known, entries))
        kinds = set(map(type, entries))
        if all(issubclass(kind, CONSTANTS) for kind in kinds):
            return NEW
        return frozenset((VIEW,)) if kinds <= {np.ndarray} else ANY

    def keys(self, one: Made) -> Value:
        """The keys of a dict that was made."""
        one.read = True
        named = [self.known(key) for key in one.items if is_key(key)]
        return frozenset().union(NEW, *named, one.fields.get("keys", NOTHING))

    def item(self, value: Value, key: Value, is_slice: bool, place: object) -> Value:
        """What an index gives; `place` is that of the text."""
        found = NOTHING
        for one in value:
            found |= self._item(one, key, is_slice, place)
        return limited(found)

    def _item(self, one: Origin, key: Value, is_slice: bool, place: object) -> Value:
        getter = self.special(one, "__getitem__")
        if getter is not None:
            return self.call(getter, [key], {}, "an item")
        if isinstance(one, Made):
            return self._made_item(one, key, is_slice, place)
        if isinstance(one, Known):
            return self._known_item(one, key, is_slice)
        if one is FRESH:
            return NEW | self.loose
        if one is VIEW:
            return frozenset((VIEW, FRESH))
        return frozenset((one,)) if one is DYNAMIC else ANY

    def _made_item(self, one: Made, key: Value, is_slice: bool, place: object) -> Value:
        one.read = True
        if is_slice:
            part = self.made((place, one), one.kind)
            self.add(part, None, one.contents())
            return frozenset((part,))
        number = constant(key)
        if number is not None and is_key(number[0]) and number[0] in one.items:
            return one.items[number[0]] | one.rest
        found = one.rest.union(*one.items.values())
        if one.kind is defaultdict:
            found |= self.call(one.fields.get("factory", NOTHING), [], {}, "a default")
        missing = self.special(one, "__missing__")
        if missing is not None:
            found |= self.call(missing, [key], {}, "an item")
        return found or NEW

    def _known_item(self, one: Known, key: Value, is_slice: bool) -> Value:
        value, number = one.value, constant(key)
        if is_a(value, np.ndarray):
            return self._array_item(one, key, is_slice)
        if is_constant(value) and not is_a(value, tuple):
            return NEW
        if is_a(value, dict) and (number is None or number[0] not in value):
            if is_a(value, defaultdict) and value.default_factory is not None:
                self.effect("looks up a key in a defaultdict, which lives on outside it")
            missing = self.special(one, "__missing__")
            if missing is not None:
                return self.call(missing, [key], {}, "an item") | self._several(entries_of(value))
        if is_a(value, dict | list | tuple):
            if number is not None and is_a(number[0], slice):
                part = self.made((self.place, one, "part"), type(value))
                self.add(part, None, self._several(entries_of(value)))
                return frozenset((part,))
            if number is not None:
                try:
                    found = value[number[0]]
                except Exception:  # the function raises it
                    return NEW
                return self.known(found)
            return self._several(entries_of(value))
        if is_function(value):
            return self._of_generic(value, key)
        return ANY

    def _of_generic(self, kind: Any, key: Value) -> Value:
        """What the index of a class or function gives: another class, as `list[int]` is."""
        held: Any = self.member(kind, "__class_getitem__") if is_a(kind, type) else ABSENT
        own = is_a(held, classmethod) and is_a(held.__func__, FunctionType)
        if own and not self.is_library(held.__func__):
            return self.call(self.known(held.__func__), [self.known(kind), key], {}, "an item")
        return NEW

    def _array_item(self, one: Known, key: Value, is_slice: bool) -> Value:
        array, number = one.value, constant(key)
        if number is not None and type(array) is np.ndarray:
            return self.view(array, repr(number[0]), lambda: array[number[0]])
        if array.ndim <= 1 and not is_slice and not any(isinstance(k, Made) for k in key):
            return NEW
        return frozenset((VIEW, FRESH))

    def store_item(self, value: Value, key: Value, new: Value, text: str) -> None:
        """Set or delete an entry."""
        for one in value:
            setter = self.special(one, "__setitem__")
            if setter is not None:
                self.call(setter, [key, new], {}, text)
            elif isinstance(one, Made):
                self.mutate(frozenset((one,)), text)
                number = constant(key)
                plain = number is not None and is_key(number[0]) and not _is_negative(number[0])
                self.add(one, number[0] if plain and number is not None else None, new)
                if is_dict(one):
                    self.add_field(one, "keys", key)
            elif one is FRESH:
                self.loosen(new)
            elif one is not DYNAMIC:
                self.mutate(frozenset((one,)), text)


def _is_object(one: Origin) -> bool:
    """Whether something is an object that a list can hold and an array cannot."""
    if isinstance(one, Known):
        return not is_constant(one.value) and not is_a(one.value, np.ndarray)
    return one not in (FRESH, DYNAMIC, VIEW)


def _is_plain_subclass(value: Any) -> bool:
    """Whether an object is an instance of a class that a program defines, of a built-in one."""
    return bool(type(value).__flags__ & _MADE_BY_PYTHON)


def _is_negative(key: object) -> bool:
    return isinstance(key, int) and key < 0
