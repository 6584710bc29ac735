"""Calls in a traced function; functions of the user are traced, too, and others must be known."""

from __future__ import annotations

import contextlib
import dataclasses
import dis
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from types import (
    BuiltinFunctionType,
    CodeType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
    WrapperDescriptorType,
)
from typing import Any, Final, cast

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.native_callable import NativeCallable
from axiomjit.functions.array_calls import call_ufunc, first_traced, writing
from axiomjit.functions.expressions import NoTextError, NotInstrumentedError
from axiomjit.functions.instrument import instrumented
from axiomjit.functions.known_calls import Kind, kind_of_call
from axiomjit.functions.libraries import is_users, users_function
from axiomjit.functions.objects import LIST_READS, is_plain
from axiomjit.functions.operators import Operators, has_methods, is_traced
from axiomjit.functions.outside import (
    Outside,
    in_region,
    is_container,
    refuse,
    refuse_in_region,
)
from axiomjit.functions.sources import (
    MISSING,
    Attribute,
    ClassAttribute,
    FunctionPart,
    Is,
    Length,
    Unchanged,
    is_known_value,
    static_attribute,
)
from axiomjit.functions.texts import Text, is_computed, joined
from axiomjit.functions.transforms import Transform
from axiomjit.graph.builder import as_node
from axiomjit.tracing.generators import METHODS as DRAWS
from axiomjit.tracing.generators import is_generator
from axiomjit.tracing.lengths import known_numbers
from axiomjit.tracing.operators import traced_in
from axiomjit.tracing.tracer import Tracer

_BUILT_IN: Final = (BuiltinFunctionType, MethodWrapperType)
_UNBOUND: Final = (MethodDescriptorType, WrapperDescriptorType)
_BLIND: Final = frozenset(
    {"append", "extend", "appendleft", "extendleft", "add", "discard", "clear", "update"}
)
"""Methods that change a container, and neither return nor depend on the container's entries."""
_CHANGING: Final = frozenset(
    {
        *("insert", "remove", "pop", "sort", "reverse", "popleft", "rotate", "popitem"),
        *("setdefault", "move_to_end", "difference_update", "intersection_update"),
        "symmetric_difference_update",
    }
)
"""Methods that change a container, and return or read entries of the container."""
_READING: Final = frozenset(
    {
        *("get", "keys", "values", "items", "copy", "index", "count", "union", "difference"),
        *("intersection", "symmetric_difference", "isdisjoint", "issubset", "issuperset"),
        *("most_common", "elements", "total", "__len__", "__iter__", "__reversed__"),
        *("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__", "__add__", "__mul__"),
        *("__or__", "__and__", "__sub__", "__xor__", "__repr__", "__str__", "__sizeof__"),
    }
)
"""Methods that leave a container unchanged."""
_WRITING: Final = ("fill", "put", "sort", "partition", "resize", "itemset", "setflags", "setfield")
"""Methods that change an array."""
_COMPARING: Final = {
    **dict.fromkeys(("index", "count", "remove"), ("__eq__",)),
    "sort": ("__lt__", "__gt__"),
}
"""For each method of a container that compares entries, the special methods that it calls on
them."""
_KEEPING: Final = frozenset({"append", "extend", "clear", "copy"})
"""Methods of lists that read no item."""
_STORING: Final = frozenset({"append", "appendleft", "add", "insert", "setdefault", "__setitem__"})
"""Methods that put an argument itself, not a copy, into a container."""


class Calls(Operators):
    """Traces calls of functions, methods and classes."""

    def __init__(self, outside: Outside, bind: Callable[..., FunctionType]) -> None:
        """Store the trace, and `bind(self, function, form)`, which makes the copy of a function.

        The form is None if the function has no source text.
        """
        super().__init__(outside)
        self._bind = bind
        self._copies: dict[int, tuple[FunctionType, FunctionType]] = {}
        self._codes: dict[int, CodeType] = {}
        self.handles_errors = False
        """True if a function that was traced may catch errors."""
        self.made_lists: list[tuple[list[Any], Any]] = []
        """The lists of comprehensions that are being made, innermost last, each with its region."""
        self.made_generators: dict[int, Any] = {}
        """The random generators that the function made with a seed; they are equal in every
        call.
        """

    def end(self) -> None:
        """Drop references to copies and arrays, since they may refer to objects of the user."""
        self.known.forget()
        self._copies.clear()
        self.made_generators.clear()

    # Functions

    def call(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of `function(*args, **kwargs)`."""
        if self.appended is not None:
            found = lazy_import(LIST_READS).called(self, function, args, kwargs)
            if found is not NotImplemented:
                return found
        kind = type(function)
        if kind is FunctionType:
            return self._call_function(function, args, kwargs)
        if _is_refused(function):
            return self.library(function, args, kwargs)
        if kind is MethodType:
            callee = self._part_of_method(function, "__func__")
            if isinstance(callee, FunctionType) and _is_hidden(callee):
                owner = self._part_of_method(function, "__self__")
                return self.library_method(owner, callee.__name__, function, args, kwargs)
            return self.call(callee, self._part_of_method(function, "__self__"), *args, **kwargs)
        if issubclass(kind, type):
            return self.make(function, args, kwargs)
        if issubclass(kind, NativeCallable):  # a subclass of `partial`
            inner = getattr(function, "_function", None)
            if inner is None:
                return self.library(function, args, kwargs)
            if self.outside.is_outside(function):
                inner = self.outside.read(Attribute(self.source(function), "_function"))
            return self.call(inner, *args, **kwargs)
        if issubclass(kind, Transform):
            inner = function.function
            if self.outside.is_outside(function):
                inner = self.outside.read(Attribute(self.source(function), "function"))
            given, values = self.opened(args), self.opened(kwargs.values())
            named = dict(zip(kwargs, values, strict=True))
            return function.run(functools.partial(self.call_opened, inner), given, named)
        if issubclass(kind, functools.partial):
            return self._call_partial(function, args, kwargs)
        if kind is functools._lru_cache_wrapper:
            return self._call_cached(function, args, kwargs)
        if issubclass(kind, _BUILT_IN) and not isinstance(function.__self__, ModuleType | None):
            owner = self._part_of_method(function, "__self__")
            return self.method(owner, function.__name__, *args, **kwargs)
        if issubclass(kind, _UNBOUND) and args:
            return self._call_unbound(function, args, kwargs)
        method = self._special(function, "__call__")
        if method is not MISSING:
            return self.call(method, function, *args, **kwargs)
        return self.library(function, args, kwargs)

    def call_opened(self, function: Any, /, *args: Any, **kwargs: Any) -> Any:
        """The result of `function(*args, **kwargs)`, with all items of its lists one by one."""
        found = self.call(function, *args, **kwargs)
        return found if self.appended is None else lazy_import(LIST_READS).opened(self, found)

    def opened(self, values: Iterable[Any]) -> list[Any]:
        """The values, in which traced arrays replace the arrays in containers and dataclasses."""
        return [self._opened(one) for one in values]

    def _opened(self, value: Any) -> Any:
        if is_container(value):
            return self.given(value)
        kind = type(value)
        if not (dataclasses.is_dataclass(kind) and self.outside.is_outside(value)):
            return value
        made = object.__new__(kind)
        for field in dataclasses.fields(kind):
            object.__setattr__(made, field.name, self._opened(self.attribute(value, field.name)))
        return made

    def _part_of_method(self, method: Any, name: str) -> Any:
        """The object or function of a bound method, by a source if the method is from outside."""
        if not self.outside.is_outside(method):
            return getattr(method, name)
        return self.outside.read(FunctionPart(self.source(method), name))

    def _call_function(self, function: FunctionType, args: Any, kwargs: Any) -> Any:
        if id(function.__code__) in self._codes:
            if stores_outside(function.__code__):
                refuse_in_region("a change of a variable of another function")
            return function(*args, **kwargs)
        if _is_generated(function) and function.__name__ == "__eq__" and len(args) == 2:
            return self._equal_fields(*args)
        if users_function(function):
            copy = self.copy_of(function)
            if copy.__code__ is function.__code__:
                refuse_in_region(f"a call of {function.__name__}, which has code without text")
                _refuse_objects(function, args, kwargs)
            return copy(*args, **kwargs)
        if _is_dispatcher(function) and args:
            return self._call_dispatched(function, args, kwargs)
        if function.__code__ is _MANAGER:  # `contextlib.contextmanager` made the function.
            inner = functools.partial(self.call, function.__wrapped__)  # type: ignore[attr-defined]
            return contextlib._GeneratorContextManager(inner, args, kwargs)
        return self.library(function, args, kwargs)

    def _call_dispatched(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Trace a call of a function made by `functools.singledispatch`."""
        registry = self.outside.fixed(function.registry, function.__qualname__)
        self.outside.require(Length(registry, len(function.registry)))
        kind = args[0].__class__ if is_plain(args[0]) else self.class_of(args[0])
        return self.call(function.dispatch(kind), *args, **kwargs)

    def copy_of(self, function: FunctionType) -> FunctionType:
        """The copy of a user's function that is traced in its place."""
        known = self._copies.get(id(function))
        if known is None:
            try:
                form = instrumented(function)
            except NoTextError:
                form = None
            except NotInstrumentedError as error:
                refuse(f"calls {function.__qualname__}: {error.reason}")
            copy = self._bind(self, function, form)
            self.handles_errors |= form is not None and "caught" in form.used
            self._codes |= _codes(copy.__code__)
            copy.__defaults__, copy.__kwdefaults__ = self._defaults(function)
            self._copies[id(function)] = known = function, copy
        return known[1]

    def _defaults(self, function: FunctionType) -> Any:
        """The traced defaults of a function; guards check that its other parts are unchanged."""
        outside = self.outside
        source = outside.source_of(function)
        source = outside.fixed(function, function.__name__) if source is None else source
        parts: dict[str, object] = {"__code__": function.__code__}
        if outside.is_by_code(function):
            parts["__globals__"] = function.__globals__
        found = []
        for name in ("__defaults__", "__kwdefaults__"):
            given = getattr(function, name)
            if given is None:
                parts[name] = None
            else:
                given = outside.read(FunctionPart(source, name))
                given = outside.whole(given) if outside.is_outside(given) else given
            found.append(given)
        outside.require(Unchanged(source, tuple(parts), tuple(parts.values())))
        return found

    def _call_partial(self, function: Any, args: Any, kwargs: Any) -> Any:
        if type(function) is not functools.partial:
            return self.call(function.func, *function.args, *args, **function.keywords, **kwargs)
        parts = [self.attribute(function, name) for name in ("func", "args", "keywords")]
        callee, first, named = parts
        given = {key: self.item(named, key) for key in self.iterate(named)}
        return self.call(callee, *self.iterate(first), *args, **{**given, **kwargs})

    def _call_cached(self, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function with a cache; the function is traced if it depends on arguments only."""
        outside = self.outside
        before = len(outside.effects), len(outside.inputs), len(outside.conditions)
        found = self.call(function.__wrapped__, *args, **kwargs)
        steady = all(isinstance(one, Is | Unchanged) for one in outside.conditions[before[2] :])
        if before[:2] != (len(outside.effects), len(outside.inputs)) or not steady:
            name = function.__qualname__
            refuse(f"calls {name}, which has a cache and uses what lives on outside it")
        if not (is_known_value(found) or (is_plain(found) and not isinstance(found, np.ndarray))):
            refuse(
                f"calls {function.__qualname__}, which returns one object from its cache again and "
                "again",
                "call it outside the compiled function",
            )
        return found

    def _call_unbound(self, function: Any, args: Any, kwargs: Any) -> Any:
        owner, name = args[0], function.__name__
        if not isinstance(owner, function.__objclass__):
            return function(*args, **kwargs)  # This raises an error.
        if function is object.__setattr__:
            return self.store_attribute(owner, *args[1:])
        if function is object.__delattr__:
            return self.store_attribute(owner, args[1], MISSING)
        if function is object.__init__:
            return None
        if function is object.__getattribute__:
            return self.attribute(owner, args[1])
        if self._overrides(type(owner), name):
            return self._call_of_base(owner, function, args[1:], kwargs)
        return self.method(owner, name, *args[1:], **kwargs)

    def _call_of_base(self, owner: Any, held: Any, args: Any, kwargs: Any) -> Any:
        """Call a method of a built-in class that a user's subclass overrides, as `super()` does."""
        name = held.__name__
        if self.outside.is_outside(owner):
            refuse(f"calls {name} of a {held.__objclass__.__name__} past its own class")
        if not is_plain(owner) and self._entries_have(owner, *_COMPARING.get(name, ())):
            refuse(f"calls {name} of a container of objects that have their own comparisons")
        if name not in _READING:
            refuse_in_region(f"{name} of a {type(owner).__name__}")
        given = args if name in _STORING else [self.given(one) for one in args]
        return held(owner, *given, **{key: self.given(v) for key, v in kwargs.items()})

    # Classes

    def make(self, kind: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Make a new instance of a class."""
        if not is_users(kind):
            return self.library(kind, args, kwargs)
        for name in ("__del__", "__getattribute__"):
            if type(static_attribute(kind, name)) is FunctionType:
                refuse(f"makes a {kind.__name__}, which has its own {name}")
        meta = type(kind)
        if is_users(meta) and type(static_attribute(meta, "__call__")) is FunctionType:
            refuse(f"makes a {kind.__name__}, whose metaclass has its own __call__")
        if hasattr(kind, "__members__") or hasattr(kind, "_fields"):
            return kind(*map(self.given, args), **kwargs)
        new = static_attribute(kind, "__new__")
        new = new.__func__ if isinstance(new, staticmethod) else new
        if type(new) is FunctionType:
            made = self.call(new, kind, *args, **kwargs)
            if not isinstance(made, kind):
                return made
        elif new is object.__new__:
            if kind.__abstractmethods__ if hasattr(kind, "__abstractmethods__") else ():
                return kind()  # This raises an error.
            made = object.__new__(kind)
        else:
            made = new(kind, *map(self.given, args), **kwargs)
        self._initialise(made, kind, args, kwargs)
        return made

    def _initialise(self, made: Any, kind: Any, args: Any, kwargs: Any) -> None:
        init = self._static(kind, "__init__")
        if type(init) is FunctionType:
            if dataclasses.is_dataclass(kind) and _is_generated(init):
                self._fill_dataclass(made, kind, init, args, kwargs)
            else:
                self.call(init, made, *args, **kwargs)
        elif init is object.__init__:
            if args or kwargs:
                object.__init__(made, *args, **kwargs)  # raises unless __new__ took them
        else:
            init(made, *map(self.given, args), **kwargs)

    def _fill_dataclass(self, made: Any, kind: Any, init: Any, args: Any, kwargs: Any) -> None:
        """Do what the generated `__init__` of a dataclass does."""
        bound = inspect.signature(init).bind(made, *args, **kwargs).arguments
        later = []
        for field in kind.__dataclass_fields__.values():
            variable = field._field_type is dataclasses._FIELD_INITVAR  # type: ignore[attr-defined]
            if field._field_type is dataclasses._FIELD_CLASSVAR:  # type: ignore[attr-defined]
                continue
            if field.init and field.name in bound:
                value = bound[field.name]
            elif field.default_factory is not dataclasses.MISSING:
                value = self.call(field.default_factory)
            elif field.default is not dataclasses.MISSING:
                value = self._static(kind, field.name) if not variable else field.default
                in_slot = value is MISSING or type(value) is MemberDescriptorType
                value = field.default if in_slot else value
            else:
                continue
            if variable:
                later.append(value)
            else:
                object.__setattr__(made, field.name, value)
        post = self._static(kind, "__post_init__")
        if post is not MISSING:
            self.call(post, made, *later)

    def _equal_fields(self, one: Any, other: Any) -> Any:
        """The result of the generated `__eq__` of a dataclass."""
        if self.class_of(one) is not self.class_of(other):
            return NotImplemented
        for field in dataclasses.fields(one):
            if field.compare:
                left, right = (self.attribute(value, field.name) for value in (one, other))
                if not (self._same(left, right) or self.truth(self.compare("==", left, right))):
                    return False
        return True

    def super(self, kind: Any, owner: Any) -> Any:
        """The result of `super()` in a method of the class `kind`."""
        return super(kind, owner)

    # Methods

    def method(self, owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The result of `owner.name(*args, **kwargs)`."""
        kind = type(owner)
        if kind is np.ufunc:
            if kind_of_call(owner).kind is Kind.REFUSED:
                refuse(f"calls {name} of {owner.__name__}, which is not known")
            given = [self.given(one) for one in args]
            named = {key: self.given(value) for key, value in kwargs.items()}
            return self.known.note(call_ufunc(owner, name, given, named))
        if name in ("join", "format") and type(owner) in (str, Text):
            return self._text_of(owner, name, args, kwargs)
        if is_plain(owner):
            given = [self.given(one) for one in args]
            return getattr(owner, name)(*given, **{k: self.given(v) for k, v in kwargs.items()})
        if is_container(owner) and not self._overrides(kind, name):
            return self._container_method(owner, name, args, kwargs)
        if kind is np.ndarray:
            return self._array_method(owner, name, args, kwargs)
        if is_generator(owner) and name in DRAWS and id(owner) in self.made_generators:
            refuse_in_region("a random draw")
            given, named = known_numbers(list(map(self.given, args))), dict(kwargs)
            if traced_in([*given, *named.values()]):
                refuse(f"gives a computed array to {name} of a generator that it made")
            return getattr(owner, name)(*given, **{k: known_numbers(v) for k, v in named.items()})
        if is_generator(owner) and name in DRAWS:
            stand = self.outside.stand_for_generator(self.outside.original(owner))
            return getattr(stand, name)(*map(self.given, args), **kwargs)
        if kind is super:
            return self._super_method(owner, name, args, kwargs)
        if kind is GeneratorType and not self.outside.is_outside(owner):
            refuse_in_region("an iterator")
            return getattr(owner, name)(*args, **kwargs)
        found = self.attribute(owner, name)
        bound = getattr(found, "__self__", None)
        if issubclass(type(found), _BUILT_IN) and bound is self.outside.original(owner):
            return self.library_method(owner, name, found, args, kwargs)
        return self.call(found, *args, **kwargs)

    def _text_of(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        """The result of the method `join` or `format` of a text."""
        if name == "join" and len(args) == 1 and not kwargs:
            parts = list(self.iterate(args[0]))
            if any(type(one) is Text for one in (owner, *parts)):
                between = [part for one in parts for part in (owner, one)]
                return joined(between[1:])
            return owner.join(parts)
        if any(has_methods(one, "__format__") for one in (*args, *kwargs.values())):
            refuse("formats an object that has its own __format__")
        values = [self.shown(one) for one in args]
        named = {key: self.shown(one) for key, one in kwargs.items()}
        if name == "format" and (type(owner) is Text or is_computed([values, named])):
            return Text("method", owner, tuple(values), named)
        return getattr(owner, name)(*map(self.given, args), **kwargs)

    def shown(self, value: Any) -> Any:
        """Return a copy of a value in its present state, to be shown as text later."""
        raise NotImplementedError

    def _overrides(self, kind: Any, name: str) -> bool:
        """True if a class of the user defines a method of this name."""
        found = static_attribute(kind, name) if is_users(kind) else None
        return type(found) in (FunctionType, property, classmethod, staticmethod)

    def _super_method(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        instance, after = owner.__self__, owner.__thisclass__
        kind = instance if isinstance(instance, type) else type(instance)
        mro = type.__dict__["__mro__"].__get__(kind)
        for base in mro[mro.index(after) + 1 :]:
            if is_users(base):  # a later call may find a method in this class
                known = self.outside.source_of(base)
                known = self.outside.fixed(base, base.__name__) if known is None else known
                self.outside.read(ClassAttribute(known, name))
            if name in vars(base):
                held = vars(base)[name]
                if is_users(base) and not isinstance(instance, type):
                    return self.call(self._bound(instance, kind, held), *args, **kwargs)
                break
        if name == "__init__" and base is object:
            return None
        if name in ("__setattr__", "__delattr__") and base is object:
            return self.store_attribute(instance, *args, *((MISSING,) * (name == "__delattr__")))
        if self.outside.is_outside(instance) and not is_users(base):
            refuse(f"calls super().{name} of a {base.__name__}")
        held = static_attribute(base, name)
        if isinstance(held, _UNBOUND):  # `getattr` would find the overriding method again
            return self._call_of_base(instance, held, args, kwargs)
        return self.call(getattr(owner, name), *args, **kwargs)

    def store_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Store an attribute without a call of the class's own `__setattr__`."""
        refuse_in_region("an assignment to an attribute")
        if self.outside.is_outside(owner):
            how = "delete plain attribute" if value is MISSING else "plain attribute"
            self.outside.store(how, owner, name, value)
        elif value is MISSING:
            object.__delattr__(owner, name)
        else:
            object.__setattr__(owner, name, value)

    def _container_method(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        named = {key: self._callback(value) for key, value in kwargs.items()}
        self.identifies = self.identifies or (name in _COMPARING and any(map(is_traced, args)))
        if name in _COMPARING and self._entries_have(owner, *_COMPARING[name]):
            refuse(f"calls {name} of a container of objects that have their own comparisons")
        if name not in _READING and name not in _AS_HOOKS:
            if self.recorded_append(owner, name, args):
                return None
            refuse_in_region(f"{name} of a {type(owner).__name__}")
        if name not in _KEEPING:
            self.put_items(owner)
        if not self.outside.is_outside(owner):
            stored = args if name in _STORING else tuple(map(self.given, args))
            return getattr(owner, name)(*stored, **named)
        stored = args if name in _STORING else tuple(self._taken(one) for one in args)
        if isinstance(owner, dict) and name == "update" and (named or not stored):
            stored, named = ({**dict(*stored), **named},), {}
        if name in _AS_HOOKS and not named:
            return _AS_HOOKS[name](self, owner, *args)
        if isinstance(owner, dict) and name in _OF_DICTS:
            return _OF_DICTS[name](self, owner, *args, **kwargs)
        if name in _BLIND and not named and type(owner) is not tuple:
            return self.outside.change(owner, name, stored)
        if name in _CHANGING:
            if named:
                refuse(f"calls {name} with options on a container that lives on outside it")
            found = getattr(self.outside.whole(owner), name)(*stored)
            self.outside.effect("method", owner, name, stored)
            return found
        if name not in _READING:
            refuse(f"calls {name} of a {type(owner).__name__}, which lives on outside it")
        return getattr(self.outside.whole(owner), name)(*stored, **named)

    def _taken(self, value: Any) -> Any:
        """The argument of a method that consumes entries; an iterator becomes a list."""
        taken = self.given(value)
        return list(taken) if hasattr(type(taken), "__next__") else taken

    def _array_method(self, owner: Any, name: str, args: Any, kwargs: Any) -> Any:
        """Call a method of an array of known values, which the function has made."""
        given = [self.given(one) for one in args]
        named = {key: self.given(value) for key, value in kwargs.items()}
        if name in _WRITING and in_region():
            self.known.want_traced(owner)
            refuse_in_region(f"{name} of an array of known values")
        if first_traced([given, list(named.values())]) is not None:
            if name in _WRITING:
                self.known.want_traced(owner)
            return getattr(Tracer(as_node(owner, name)), name)(*given, **named)
        return self.known.note(writing(getattr(owner, name), *given, **named))

    def library_method(
        self, owner: Any, name: str, found: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call a method written in C of an object whose class is a library's class."""
        raise NotImplementedError

    # Libraries

    def library(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function or class that is not the user's."""
        raise NotImplementedError

    def _callback(self, value: Any) -> Any:
        """A function that other code can call, and that traces a user's function in each call."""
        if not (users_function(value) or type(value) is MethodType or is_users(type(value))):
            return self.given(value)
        if not callable(value):
            return value

        @functools.wraps(value, updated=())
        def traced(*args: Any, **kwargs: Any) -> Any:
            return self.call(value, *args, **kwargs)

        return traced


def _refuse_objects(function: FunctionType, args: Any, kwargs: Any) -> None:
    """Refuse a call of a function without text if an argument is no array, number or text.

    Raises:
        NeedsValuesError: an argument is another object.
    """
    for one in (*args, *kwargs.values()):
        if not (is_plain(one) or isinstance(one, np.ndarray) or is_known_value(one)):
            kind = type(one).__name__
            refuse(f"calls {function.__name__}, which has code without text, with a {kind}")


def _is_hidden(function: FunctionType) -> bool:
    """True for a wrapper function of a library whose calls must be refused."""
    return not users_function(function) and kind_of_call(function).kind is Kind.REFUSED


def _is_refused(function: Any) -> bool:
    """True if a function is a bound method that must be refused, such as `random.random`."""
    bound = type(function) is MethodType and type(function.__func__) is FunctionType
    if not bound and not isinstance(function, BuiltinFunctionType):
        return False
    if bound and users_function(function.__func__):
        return False
    return kind_of_call(function).kind is Kind.REFUSED


def _get(calls: Calls, owner: Any, key: Any, default: Any = None) -> Any:
    return calls.item(owner, key) if calls.contains(owner, key) else default


def _set_default(calls: Calls, owner: Any, key: Any, default: Any = None) -> Any:
    if not calls.contains(owner, key):
        calls.set_item(owner, key, default)
    return calls.item(owner, key)


def _pop(calls: Calls, owner: Any, key: Any, *default: Any) -> Any:
    if default and not calls.contains(owner, key):
        return default[0]
    found = calls.item(owner, key)
    calls.set_item(owner, key, MISSING)
    return found


_AS_HOOKS: Final[dict[str, Callable[..., Any]]] = {
    "__getitem__": Calls.item,
    "__setitem__": Calls.set_item,
    "__delitem__": lambda calls, owner, key: calls.set_item(owner, key, MISSING),
    "__contains__": Calls.contains,
    "__iter__": Calls.iterate,
    "__iadd__": lambda calls, owner, other: calls.in_place("+", owner, other),
    "__ior__": lambda calls, owner, other: calls.in_place("|", owner, other),
}
"""The hook that is equivalent to a method of a container."""
_OF_DICTS: Final[Mapping[str, Callable[..., Any]]] = {
    "get": _get,
    "setdefault": _set_default,
    "pop": _pop,
}
"""Methods of dicts from outside that read one entry."""


def _codes(code: CodeType) -> dict[int, CodeType]:
    """The code objects of the functions inside a function, by id."""
    found: dict[int, CodeType] = {}
    for part in code.co_consts:
        if isinstance(part, CodeType):
            found |= {id(part): part} | _codes(part)
    return found


@functools.lru_cache(maxsize=1000)
def stores_outside(code: CodeType) -> bool:
    """True if a function assigns to variables of the functions around it."""
    return _stores(code, frozenset(code.co_freevars))


def _stores(code: CodeType, names: frozenset[str]) -> bool:
    how = ("STORE_DEREF", "DELETE_DEREF")
    own = any(one.opname in how and one.argval in names for one in dis.get_instructions(code))
    inner = [part for part in code.co_consts if isinstance(part, CodeType)]
    return own or any(_stores(part, names & {*part.co_freevars}) for part in inner)


def _is_dispatcher(function: FunctionType) -> bool:
    return function.__code__ is _DISPATCHER


_MANAGER: Final = cast(Any, contextlib.contextmanager(iter)).__code__
_DISPATCHER: Final = cast(Any, functools.singledispatch(repr)).__code__


def _is_generated(function: FunctionType) -> bool:
    return function.__code__.co_filename == "<string>"
