"""Reads and stores of attributes and items by Python's rules, without changing outside objects."""

from __future__ import annotations

import functools
import operator
import sys
import threading
from collections import Counter, defaultdict, namedtuple
from enum import Enum
from types import (
    CodeType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.native_callable import NativeCallable
from axiomjit.functions.array_calls import (
    KnownArrays,
    first_traced,
    item_of_indexed,
    writing,
)
from axiomjit.functions.libraries import is_library_module, is_users, users_function
from axiomjit.functions.outside import (
    BY_IDENTITY,
    CONTAINERS,
    Outside,
    container_kind,
    in_region,
    is_container,
    refuse,
    refuse_in_region,
)
from axiomjit.functions.sources import (
    ATOMS,
    MISSING,
    Attribute,
    Class,
    ClassAttribute,
    FunctionPart,
    Item,
    Source,
    is_known_value,
    own_dict,
    static_attribute,
)
from axiomjit.functions.texts import known as known_text
from axiomjit.graph.builder import as_node
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.joins import INDEXED
from axiomjit.tracing.creation import GRIDS, represented
from axiomjit.tracing.generators import Represents
from axiomjit.tracing.lengths import SymbolicNumber, known_numbers
from axiomjit.tracing.operators import leaves_in
from axiomjit.tracing.tracer import Tracer

LIST_READS: Final = "axiomjit.functions.list_reads"
_COMPUTED: Final = (GetSetDescriptorType, property, MemberDescriptorType)
"""Types of attributes whose values a library's class computes."""
_INDICES: Final = type(np.s_)


def _maker_by_index(value: Any) -> Any:
    """NumPy's `r_`, `mgrid` or the like, also for ours of `axiomjit.numpy`; None for others."""
    known = getattr(type(value), "stands_for", value)
    return known if any(known is one for one in (*INDEXED, *GRIDS)) else None


_HEAP: Final = 1 << 9
"""CPython's flag of classes that a class statement has made."""
_PLAIN: Final = (
    *ATOMS,
    CodeType,
    np.generic,
    np.dtype,
    np.ufunc,
    TracedValue,
    SymbolicNumber,
    Represents,
)


def is_plain(value: Any) -> bool:
    """True for numbers, texts and traced values, whose attributes are Python's or NumPy's."""
    kind: Any = type(value)
    return _is_plain(kind)


@functools.lru_cache(maxsize=2048)
def _is_plain(kind: Any) -> bool:
    if not issubclass(kind, _PLAIN):
        return False
    return not is_users(kind) or not any(
        type(one) is FunctionType
        for base in kind.__mro__
        if is_users(base)
        for one in vars(base).values()
    )


class Objects:
    """Reads and stores attributes and items; `call` runs functions of the user's."""

    appended: Any = None
    """The lists to which loops append as regions; None before the first such loop."""

    def __init__(self, outside: Outside) -> None:
        """Start without knowledge of objects; `outside` is the `Outside` of the trace."""
        self.outside = outside
        self.known = KnownArrays(outside.wanted)
        self.identifies = False
        """True if the identity of a traced array was asked for."""

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of `function(*args, **kwargs)`."""
        raise NotImplementedError

    def source(self, value: Any) -> Source:
        """The source of an object from outside."""
        found = self.outside.source_of(value)
        assert found is not None
        return found

    # Attributes

    def attribute(self, owner: Any, name: str) -> Any:
        """The attribute `owner.name`.

        Raises:
            AttributeError: the object has no attribute of this name.
        """
        found = self.find(owner, name)
        if found is MISSING:
            return (
                getattr(_nameless(owner), name)
                if isinstance(owner, ModuleType)
                else (_no_attribute(owner, name))
            )
        return found

    def find(self, owner: Any, name: str) -> Any:
        """The attribute `owner.name`; MISSING if the object has no attribute of this name."""
        if is_plain(owner):
            return getattr(owner, name, MISSING)
        if name == "__code__" and type(owner) is FunctionType and self.outside.is_outside(owner):
            return self.outside.read(FunctionPart(self.source(owner), name))
        if name in ("__dict__", "__subclasses__", "__globals__", "__closure__", "__code__"):
            refuse(f"asks for {name} of an object")
        if isinstance(owner, ModuleType):
            return self._of_module(owner, name)
        if isinstance(owner, type):
            return self._of_class(owner, name)
        kind: Any = type(owner)
        if name == "__class__":
            return self.class_of(owner)
        if isinstance(owner, np.ndarray):
            return getattr(owner, name, MISSING)
        if is_users(kind) and type(kind.__getattribute__) is FunctionType:
            refuse(f"reads attributes of a {kind.__name__}, which has its own __getattribute__")
        if isinstance(owner, threading.local):
            refuse(f"reads an attribute of a {kind.__name__}, which each thread has for itself")
        found = self._of_instance(owner, kind, name)
        if found is MISSING:
            other = self._class_part(owner, kind, "__getattr__")
            return MISSING if other is MISSING else self.call(other, owner, name)
        return found

    def class_of(self, owner: Any) -> Any:
        """The class of an object."""
        if self.outside.is_outside(owner) and not is_plain(owner):
            return self.outside.read(Class(self.source(owner)))
        return owner.__class__

    def _of_module(self, module: ModuleType, name: str) -> Any:
        if is_library_module(module) and not (module is sys and name in _STREAMS):
            found = getattr(module, name, MISSING)
            if found is not MISSING and not self._is_steady(found):
                self.outside.fixed(found, f"{module.__name__}.{name}")
            return found
        space = self.outside.fixed(vars(module))
        found = self.outside.item(vars(module), name)
        if found is MISSING and "__getattr__" in vars(module):
            refuse(f"reads {module.__name__}.{name}, which the module computes")
        del space
        return found

    def _is_steady(self, value: Any) -> bool:
        """True for a value of a library's module that does not change."""
        if is_known_value(value) or callable(value) or isinstance(value, BY_IDENTITY):
            return True
        return type(value) is _INDICES or _maker_by_index(value) is not None

    def _of_class(self, owner: Any, name: str) -> Any:
        if not is_users(owner):
            return getattr(owner, name, MISSING)
        if is_users(type(owner)) and static_attribute(type(owner), name) is not MISSING:
            return self._bound(owner, type(owner), self._class_part(owner, type(owner), name))
        if name in _OF_CLASSES:
            return getattr(owner, name, MISSING)
        found = self._static(owner, name)
        if isinstance(found, classmethod):
            return MethodType(found.__func__, owner)
        if isinstance(found, staticmethod):
            return found.__func__
        if found is MISSING:
            return getattr(owner, name, MISSING) if hasattr(type(owner), name) else MISSING
        if type(found) in _FUNCTIONS or isinstance(found, property):
            return found
        if is_users(type(found)) and hasattr(type(found), "__get__"):
            return self.call(type(found).__get__, found, None, owner)
        return found if not hasattr(type(found), "__get__") else getattr(owner, name)

    def _static(self, owner: Any, name: str) -> Any:
        """An attribute of a class, as it is stored there, before binding; it is guarded."""
        for base in type.__dict__["__mro__"].__get__(owner):
            stored = self.outside.stored(base, name)
            if stored is not None:
                return stored[0]
            if name in type.__dict__["__dict__"].__get__(base):
                break
        source = self.outside.source_of(owner)
        if source is None:
            return static_attribute(owner, name)
        return self.outside.read(ClassAttribute(source, name))

    def _class_part(self, owner: Any, kind: type, name: str) -> Any:
        """An attribute of the class of an object, before binding; guarded if it can change."""
        if not is_users(kind):
            return static_attribute(kind, name)
        if self.outside.is_outside(owner):
            self.class_of(owner)
        elif not self.outside.is_outside(kind):
            return static_attribute(kind, name)
        return self._static(kind, name)

    def _of_instance(self, owner: Any, kind: type, name: str) -> Any:
        held = self._class_part(owner, kind, name)
        outside = self.outside.is_outside(owner)
        if isinstance(held, property):
            return self._property(held, owner, name)
        if type(held) is MemberDescriptorType or not _is_data_descriptor(held):
            stored = self.outside.stored(owner, name)
            if stored is not None:
                if stored[0] is not MISSING:
                    return stored[0]
            elif outside and kind in CONTAINERS:
                pass
            elif outside:
                own = self.outside.read(Attribute(self.source(owner), name))
                if own is not MISSING:
                    return own
            else:
                own = Attribute.get(owner, name)
                if own is not MISSING:
                    return own
            if type(held) is MemberDescriptorType:
                return MISSING
        elif is_users(type(held)):
            return self.call(type(held).__get__, held, owner, kind)
        return MISSING if held is MISSING else self._bound(owner, kind, held)

    def _property(self, held: property, owner: Any, name: str) -> Any:
        if held.fget is None:
            return _no_attribute(owner, name)
        return self.call(held.fget, owner)

    def _bound(self, owner: Any, kind: Any, held: Any) -> Any:
        """An attribute of a class, bound to an instance."""
        if type(held) is FunctionType:
            return MethodType(held, owner)
        if isinstance(held, classmethod):
            return MethodType(held.__func__, self.class_of(owner))
        if isinstance(held, staticmethod):
            return held.__func__
        if isinstance(held, NativeCallable):
            return MethodType(held, owner)
        if isinstance(held, _CACHED):
            made = self.call(held.func, owner)
            assert held.attrname is not None
            self.set_attribute(owner, held.attrname, made)
            return made
        get = static_attribute(type(held), "__get__")
        if get is MISSING:
            return held
        if users_function(get):
            return self.call(get, held, owner, kind)
        if type(held) is _FIELD:
            return self.item(owner, held.__reduce__()[1][0])
        if isinstance(owner, Enum):
            return getattr(owner, held.__name__ if hasattr(held, "__name__") else held.name)
        if kind is FunctionType and held.__name__ in _SET_ANEW and self.outside.is_outside(owner):
            return self.outside.read(FunctionPart(self.source(owner), held.__name__))
        if self.outside.is_outside(owner) and type(held) in _COMPUTED:
            if is_container(owner):
                return self.outside.read(Attribute(self.source(owner), held.__name__))
            if is_users(kind) or not isinstance(owner, BY_IDENTITY):
                refuse(
                    f"reads a {type(held).__name__} of a {kind.__name__}, which lives on outside it"
                )
        return held.__get__(self.outside.original(owner), kind)

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Do `owner.name = value`, or `del owner.name` if the value is MISSING."""
        refuse_in_region("an assignment to an attribute")
        kind = type(owner)
        if isinstance(owner, ModuleType):
            if is_library_module(owner):
                refuse(f"sets {owner.__name__}.{name}, of a library")
            self.outside.fixed(vars(owner))
            self.outside.store("item", vars(owner), name, value)
            return
        deletes = value is MISSING
        special = "__delattr__" if deletes else "__setattr__"
        given = () if deletes else (value,)
        own = self._class_part(owner, kind, special)
        if type(own) is FunctionType:
            self.call(own, owner, name, *given)
            return
        held = self._class_part(owner, kind, name)
        if isinstance(held, property):
            setter = held.fdel if deletes else held.fset
            if setter is None:
                delattr(owner, name) if deletes else setattr(owner, name, value)  # raises
            self.call(setter, owner, *given)
            return
        setter = MISSING if held is MISSING else static_attribute(type(held), "__set__")
        if setter is not MISSING and type(held) is not MemberDescriptorType:
            if not users_function(setter):
                self._set_plainly(owner, name, value)
                return
            self.call(setter, held, owner, *given)
            return
        if not self.outside.is_outside(owner) and not isinstance(owner, type):
            delattr(owner, name) if deletes else setattr(owner, name, value)
            return
        if not (is_users(kind) or (isinstance(owner, type) and is_users(owner))) and not (
            type(owner) is FunctionType or own_dict(owner) is not None
        ):
            self._set_plainly(owner, name, value)
            return
        if isinstance(owner, type) and not self.outside.is_outside(owner):
            refuse(f"sets an attribute of the class {owner.__name__}")
        if deletes and self._own(owner, name) is MISSING:
            _no_attribute(owner, name)
        self.outside.store("delete attribute" if deletes else "attribute", owner, name, value)

    def _own(self, owner: Any, name: str) -> Any:
        """An attribute that an outside object itself has, not its class; MISSING if it has none."""
        stored = self.outside.stored(owner, name)
        if stored is not None:
            return stored[0]
        if not isinstance(owner, type):
            return self.outside.read(Attribute(self.source(owner), name))
        if name not in type.__dict__["__dict__"].__get__(owner):
            refuse(f"deletes {name} of {owner.__name__}, which has none of its own")
        return self._static(owner, name)

    def _set_plainly(self, owner: Any, name: str, value: Any) -> None:
        """Set an attribute of a built-in or library object that the function has made."""
        if self.outside.is_outside(owner) and not is_plain(owner):
            refuse(f"sets or deletes the attribute {name} of a {type(owner).__name__}")
        delattr(owner, name) if value is MISSING else setattr(owner, name, value)

    # Items

    def put_items(self, value: Any) -> None:
        """Put the items that a region has appended into a list, before another use of the list."""
        if self.appended is not None and type(value) is list:
            late = lazy_import(LIST_READS)
            if late.is_appended(value):
                late.put_items(self, value)

    def item(self, owner: Any, key: Any) -> Any:
        """The result of `owner[key]`."""
        if self.appended is not None:
            late = lazy_import(LIST_READS)
            if late.is_appended(owner):
                return late.item_of(self, owner, key)
            key = late.key_of(self, key)
        if is_plain(owner) or not self.outside.is_outside(owner):
            return self._item_inside(owner, key)
        kind = type(owner)
        special = self._class_part(owner, kind, "__getitem__")
        if type(special) is FunctionType:
            return self.call(special, owner, key)
        if is_container(owner):
            return self._entry(owner, key)
        if kind is MappingProxyType and not self.outside.effects:
            found = self.outside.read(Item(self.source(owner), self._key(key)))
            if found is MISSING:
                raise KeyError(key)
            return found
        if not isinstance(owner, type | np.ndarray):
            refuse(f"reads an item of a {kind.__name__}")
        return self._item_inside(owner, key)

    def _item_inside(self, owner: Any, key: Any) -> Any:
        kind = type(owner)
        symbolic = kind is np.ndarray and in_region() and _has_symbolic_number(key)
        if kind is np.ndarray and (symbolic or first_traced(key) is not None):
            traced: Any = Tracer(as_node(owner, "indexing"))
            return traced[key]
        maker = _maker_by_index(owner)
        if maker is not None:
            is_grid = any(maker is one for one in GRIDS)
            return represented(maker)[key] if is_grid else item_of_indexed(maker, key)
        if is_users(kind):
            special = self._class_part(owner, kind, "__getitem__")
            if type(special) is FunctionType:
                return self.call(special, owner, key)
        if isinstance(owner, type) and is_users(owner):
            made = self._static(owner, "__class_getitem__")
            if isinstance(made, classmethod) and users_function(made.__func__):
                return self.call(made.__func__, owner, key)
        return owner[self.key(key)]

    def key(self, value: Any) -> Any:
        """Return a key; refuse a key whose hash or index a method of the user's computes."""
        raise NotImplementedError

    def _entry(self, owner: Any, key: Any) -> Any:
        key = self._key(key)
        if isinstance(owner, dict):
            found = self.outside.item(owner, key)
            if found is MISSING:
                return self._missing(owner, key)
            return found
        if isinstance(key, slice):
            return self.outside.whole(owner)[key]
        place = key.__index__()
        if place < 0:
            place += self.outside.length(owner)
        found = MISSING if place < 0 else self.outside.item(owner, place)
        if found is MISSING:
            self.outside.length(owner)
            return container_kind(type(owner))()[place]  # raises
        return found

    def _key(self, key: Any) -> Any:
        """A key for a container from outside, with the values of symbolic numbers in this call."""
        if is_users(type(key)):
            refuse(f"looks for a {type(key).__name__} in a container")
        if isinstance(key, np.ndarray):
            hash(key)  # raises
        return known_text(known_numbers(key))

    def _missing(self, owner: Any, key: Any) -> Any:
        missing = self._class_part(owner, type(owner), "__missing__")
        if type(missing) is FunctionType and is_users(type(owner)):
            return self.call(missing, owner, key)
        if isinstance(owner, Counter):
            return 0
        factory = None
        if isinstance(owner, defaultdict):
            factory = self.outside.read(Attribute(self.source(owner), "default_factory"))
        if factory is None:
            raise KeyError(key)
        made = self.call(factory)
        self.set_item(owner, key, made)
        return made

    def set_item(self, owner: Any, key: Any, value: Any) -> None:
        """Do `owner[key] = value`, or `del owner[key]` if the value is MISSING."""
        if not is_plain(owner) and in_region():
            self.known.want_traced(owner)
            refuse_in_region(f"a write into a {type(owner).__name__}")
        self.put_items(owner)
        if self.appended is not None:
            key = lazy_import(LIST_READS).key_of(self, key)
        deletes = value is MISSING
        kind = type(owner)
        special = self._class_part(owner, kind, "__delitem__" if deletes else "__setitem__")
        if type(special) is FunctionType and not is_plain(owner):
            self.call(special, owner, key, *(() if deletes else (value,)))
        elif is_plain(owner) or not self.outside.is_outside(owner):
            if deletes:
                del owner[key]
                return
            if type(owner) is np.ndarray and first_traced([key, value]) is not None:
                self.known.want_traced(owner)
            writing(operator.setitem, owner, self.key(key), value)
        elif is_container(owner) and special is not MISSING:
            self._set_entry(owner, key, value)
        else:
            refuse(f"sets or deletes an item of a {kind.__name__}")

    def _set_entry(self, owner: Any, key: Any, value: Any) -> None:
        outside = self.outside
        key = self._key(key)
        known = not isinstance(owner, dict) or outside.needs_whole(owner)
        if value is MISSING and not known and outside.item(owner, key) is MISSING:
            raise KeyError(key)
        if known:
            copy = outside.whole(owner)
            if value is MISSING:
                del copy[key]
            else:
                copy[key] = value
            outside.effect(_how_item(value), owner, key, () if value is MISSING else (value,))
        else:
            outside.store(_how_item(value), owner, key, value)

    def contains(self, owner: Any, key: Any) -> bool:
        """The result of `key in owner`."""
        if is_plain(owner) or not self.outside.is_outside(owner):
            return key in owner
        if is_container(owner):
            if isinstance(owner, dict) and not is_users(type(key)):
                return self.outside.has_key(owner, self._key(key))
            return key in self.outside.whole(owner)
        return refuse(f"looks into a {type(owner).__name__}")


_SET_ANEW: Final = frozenset({"__defaults__", "__kwdefaults__"})
"""Attributes of functions that users' programs may replace."""
_STREAMS: Final = frozenset({"stdout", "stderr", "stdin"})
"""Attributes of `sys` that users' programs may replace."""
_CACHED: Final[Any] = vars(functools)["cached_property"]
"""The class of Python's own cached properties, which users' classes have."""
_FIELD: Final = type(namedtuple("_Pair", "first").first)  # type: ignore[attr-defined]
"""The class of descriptors for the fields of a namedtuple."""
_OF_CLASSES: Final = frozenset(
    {"__name__", "__qualname__", "__module__", "__mro__", "__bases__", "__doc__", "__class__"}
)
_FUNCTIONS: Final = (FunctionType, GetSetDescriptorType, MemberDescriptorType)


def _has_symbolic_number(key: Any) -> bool:
    return any(isinstance(one, SymbolicNumber) for one in leaves_in(key))


def _how_item(value: Any) -> str:
    return "delete item" if value is MISSING else "item"


def _is_data_descriptor(held: Any) -> bool:
    return held is not MISSING and static_attribute(type(held), "__set__") is not MISSING


def _nameless(module: ModuleType) -> Any:
    return ModuleType(module.__name__)


def _no_attribute(owner: Any, name: str) -> Any:
    raise AttributeError(
        f"{type(owner).__name__!r} object has no attribute {name!r}", name=name, obj=owner
    )
