"""Calls in the effect analysis: of the user's functions and classes, of libraries, of methods."""

from __future__ import annotations

import functools
import types
from collections.abc import Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType
from typing import Any, Final

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.tracing.effects import known_calls
from axiomjit.tracing.effects.builtin_functions import BUILTINS
from axiomjit.tracing.effects.methods import Methods
from axiomjit.tracing.effects.objects import Kwargs, Objects
from axiomjit.tracing.effects.values import (
    ANY,
    DYNAMIC,
    FRESH,
    NEW,
    NOTHING,
    OUTSIDE,
    SAME,
    SEQUENCES,
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
    is_a,
    is_constant,
    is_plain_origin,
    limited,
)
from axiomjit.tracing.generators import is_generator

_READS_WORDS: Final = """
    len iter next getitem contains array float int index bool str repr format eq ne lt le gt ge
    hash add radd sub rsub mul rmul truediv rtruediv pow neg abs complex round array_ufunc
    array_function call copy deepcopy
"""
_READS: Final = tuple(f"__{name}__" for name in _READS_WORDS.split())
"""Special methods that a function of a library may call."""
_ASKED: Final[dict[str, tuple[str, ...]]] = {
    "compare": ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"),
    "format": ("__format__", "__str__", "__repr__"),
    "key": ("__hash__", "__eq__", "__index__"),
    "len": ("__len__",),
    "bool": ("__bool__", "__len__"),
    "float": ("__float__", "__index__"),
    "int": ("__int__", "__index__"),
    "str": ("__str__", "__repr__"),
    "repr": ("__repr__",),
    "hash": ("__hash__",),
    "abs": ("__abs__",),
    "iter": ("__iter__",),
    "next": ("__next__",),
    **dict.fromkeys(
        ("isinstance", "issubclass", "type", "id", "callable", "hasattr", "getattr", "super"), ()
    ),
    **dict.fromkeys(("setattr", "delattr", "partial", "wraps", "property", "jit", "vars"), ()),
    **dict.fromkeys(("zip", "enumerate", "map", "filter", "list", "tuple", "dict"), ()),
}
_SHALLOW: Final = frozenset({"len", "bool", "float", "int", "abs", "iter", "next"})
"""Functions that ask nothing of what is in a container."""
_DECORATORS: Final = frozenset(
    {"jit", "wraps", "lru_cache", "cache", "contextmanager", "no_type_check", "overload", "njit"}
)
_SEEDED: Final = ("RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "SeedSequence")


class Calls(Methods):
    """What calls give and change."""

    def user_function(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, star: Value
    ) -> Value:
        """What a function of the user's gives."""
        raise NotImplementedError

    def closure(self, one: Closure, args: Sequence[Value], kwargs: Kwargs, star: Value) -> Value:
        """What a function gives that is defined inside."""
        raise NotImplementedError

    def call(
        self,
        function: Value,
        args: Sequence[Value],
        kwargs: Kwargs,
        text: str,
        star: Value = NOTHING,
    ) -> Value:
        """What a call gives.

        Args:
            function: What is called.
            args: The arguments by position.
            kwargs: Those by name.
            text: The function's text.
            star: What any further argument may be.
        """
        found = NOTHING
        for one in function:
            found |= self.call_one(one, args, kwargs, text, star)
        return limited(found)

    def call_one(
        self, one: Origin, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        """What a call of one function gives."""
        match one:
            case Known():
                return self._known_call(one, args, kwargs, text, star)
            case Closure():
                return self.closure(one, args, kwargs, star)
            case Method():
                return self._method(one, args, kwargs, text, star)
            case Partial():
                inner = [*one.args, *args]
                return self.call(one.function, inner, {**one.kwargs, **kwargs}, text, star)
            case LocalClass():
                return self._instance_of_local(one, args, kwargs, star)
            case Made():
                called = self.special(one, "__call__")
                if called is not None:
                    return self.call(called, args, kwargs, text, star)
                inner_functions = one.contents()
                self.run_functions([inner_functions], [*args, *kwargs.values(), star], text)
                return self.new((inner_functions, *args, *kwargs.values(), star), text)
            case Super():
                return NEW
        if one is SAME:
            return args[0] if args else star
        if one is OUTSIDE or one is VIEW:
            self.effect(f"calls {text}, which is not known")
        self.run_functions((*args, *kwargs.values(), star), (), text)
        method = known_calls.array_method(one, text.rpartition(".")[2])
        self.check_out(method, args, kwargs, text)
        return self.new((*args, *kwargs.values(), star), text)

    # Objects from outside

    def _known_call(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        value: Any = one.value
        if is_a(value, NativeCallable):
            wrapped = getattr(value, "__wrapped__", None)
            if wrapped is None:
                return self._library_call(one, args, kwargs, text, star)
            return self.call(self.known(wrapped), args, kwargs, text, star)
        if is_a(value, FunctionType):
            wrapped = value.__dict__.get("__wrapped__")
            if wrapped is not None and self.is_library(value) and not self.is_library(wrapped):
                return self.call(self.known(wrapped), args, kwargs, text, star)
            if self.is_library(value):
                return self._library_call(one, args, kwargs, text, star)
            return self.user_function(one, args, kwargs, star)
        if is_a(value, MethodType) and is_generator(value.__self__):
            owner = self.origin(value.__self__, one.named)
            return self.builtin_method(owner, value.__name__, args, kwargs, text, star)
        if is_a(value, MethodType):
            first = self.known(value.__self__)
            inner = self.known(value.__func__, one.named)
            return self.call(inner, [first, *args], kwargs, text, star)
        if is_a(value, functools.partial):
            inner_args = [*map(self.known, value.args), *args]
            named = {name: self.known(v) for name, v in value.keywords.items()}
            inner = self.known(value.func, one.named)
            return self.call(inner, inner_args, {**named, **kwargs}, text, star)
        called = self.special(one, "__call__")
        if called is not None:
            return self.call(called, args, kwargs, text, star)
        if is_a(value, type):
            return self.instance(one, args, kwargs, text, star)
        if is_a(value, functools._lru_cache_wrapper):
            return self._cached(self.call(self.known(value.__wrapped__), args, kwargs, text, star))
        if is_a(value, BuiltinFunctionType | types.MethodWrapperType):
            owner = value.__self__
            if owner is not None and not isinstance(owner, types.ModuleType):
                holder = self.origin(owner, one.named)
                return self.builtin_method(holder, value.__name__, args, kwargs, text, star)
            return self._library_call(one, args, kwargs, text, star)
        if is_a(value, types.MethodDescriptorType | types.WrapperDescriptorType):
            found = NOTHING
            for first_one in args[0] if args else star:
                found |= self.builtin_method(
                    first_one, value.__name__, args[1:], kwargs, text, star
                )
            return found
        if self._is_own(one):
            self.effect(f"calls {text}, which is not known")
        if is_a(value, np.vectorize):
            self.run_functions([self.known(value.pyfunc)], [*args, NEW], text)
            return NEW
        if hasattr(value, "__wrapped__") and hasattr(value, "__get__"):
            return self.call(self.known(value.__wrapped__), args, kwargs, text, star)
        return self._library_call(one, args, kwargs, text, star)

    def _cached(self, found: Value) -> Value:
        """What a function with a cache gives: the next call may get the same object."""
        return frozenset(VIEW if one is FRESH else one for one in found)

    def _library_call(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        value, every = one.value, (*args, *kwargs.values(), star)
        name, module = getattr(value, "__name__", ""), known_calls.module_of(value)
        special = BUILTINS.get(value) if _is_hashable(value) else None
        if special is not None:
            return special(self, args, kwargs, text, star)
        if value is print:
            self.effect("prints")
        self._refuse_impure(one, args, kwargs, text)
        if known_calls.is_python_ufunc(value):
            self.effect(f"calls {text}, which is not known")
        if name == "default_rng" and any(
            is_generator(o.value) for v in args for o in v if isinstance(o, Known)
        ):
            return frozenset(self.origin(o.value) for v in args for o in v if isinstance(o, Known))
        if name in ("seed", "set_state") and module.startswith("numpy.random") and one.named:
            self.draws = True
            return NEW
        if name in _DECORATORS and known_calls.is_library(value, self.own):
            return self._decorated(name, args)
        if not known_calls.is_pure(value if callable(name) or name else type(value)):
            self.effect(f"calls {text}, which is not known")
        self._check_writes(value, name, args, kwargs, text)
        self.ask(name, every, text)
        self.run_functions(every, every, text)
        kept = constant(kwargs.get("copy", NEW)) in ((False,), (None,))
        if is_a(value, np.ufunc) or not (kept or known_calls.gives_views(value)):
            return NEW
        if known_calls.module_of(value).partition(".")[0] == "numpy":
            return self._views(every)
        return NEW if name in _NUMBERS else self.new(every, text)

    def _decorated(self, name: str, args: Sequence[Value]) -> Value:
        functions = NOTHING if name == "wraps" or not args else args[0]
        found: set[Origin] = set()
        for one in functions:
            if is_user_function(one, self):
                plain = isinstance(one, Known) and name == "jit"
                found.add(self.origin(one.value) if plain and isinstance(one, Known) else one)
        return frozenset(found) or frozenset((SAME,))

    def _refuse_impure(self, one: Known, args: Sequence[Value], kwargs: Kwargs, text: str) -> None:
        """Refuse clocks, files and entropy, and generators without a seed."""
        value = one.value
        impure = known_calls.impure_name(value)
        if impure is not None:
            self.effect(f"calls {text}", impure)
        name, module = getattr(value, "__name__", ""), known_calls.module_of(value)
        if module.startswith("numpy.random") and name in (*_SEEDED, "default_rng"):
            given = [constant(v) for v in (*args, *kwargs.values())]
            if all(v == (None,) for v in given):
                if name == "default_rng" and one.named:
                    self.draws = True
                else:
                    self.effect(f"calls {text}", f"numpy.random.{name}()")
        kinds = module.startswith("numpy.random") and name in ("Generator", "RandomState")
        given_known = [o for v in args for o in v if isinstance(o, Known)]
        if kinds and not all(is_constant(one.value) for one in given_known):
            self.effect(f"calls {text} with a source of bits from outside", draws=True)
        if known_calls.module_of(value).partition(".")[0] == "numpy":
            for part in self._with_entries(frozenset().union(*args, *kwargs.values())):
                held = part.value if isinstance(part, Known) else None
                if is_a(held, str) and held in ("now", "today"):
                    self.effect(f"calls {text}", f"{text}({held!r})")

    def _check_writes(
        self, value: Any, name: str, args: Sequence[Value], kwargs: Kwargs, text: str
    ) -> None:
        written = name in known_calls.WRITERS
        options = {**dict(zip(known_calls.parameters(value), args, strict=False)), **kwargs}
        if name == "nan_to_num":
            written = constant(options.get("copy", NEW)) == (False,)
        for option, given in options.items():
            written = written or (option.startswith("overwrite_") and constant(given) != (False,))
        if written and args:
            self.mutate(args[0], f"calls {text}, which changes its argument")
            for one in args[0]:
                if isinstance(one, Made):
                    self.add(one, None, frozenset().union(*args[1:]))
        self.check_out(value, args, kwargs, text)

    def check_out(self, value: Any, args: Sequence[Value], kwargs: Kwargs, text: str) -> None:
        """Refuse results that are put into arrays from outside."""
        out = kwargs.get("out", NOTHING)
        top = known_calls.module_of(value).partition(".")[0]
        if value is not None and top in ("numpy", "scipy") and len(args) > 1:
            names = known_calls.parameters(value)
            if is_a(value, np.ufunc):
                out = out.union(*args[value.nin :])
            elif "out" in names:
                place = names.index("out")
                out = out.union(*args[place : place + 1])
        for one in out:
            inside = one.contents() if isinstance(one, Made) else frozenset((one,))
            self.mutate(inside, f"gives {text} an array for its result")

    def _views(self, every: Sequence[Value]) -> Value:
        """What a function of NumPy's gives that may be a view of its arguments."""
        found = set(NEW)
        for one in frozenset().union(*every):
            if isinstance(one, Known) and is_a(one.value, np.ndarray | bytearray | memoryview):
                found.add(VIEW)
            elif one in (VIEW, OUTSIDE, DYNAMIC):
                found.add(one)
            elif isinstance(one, Made):
                inner = one.contents()
                found |= {VIEW for part in inner if _is_outside_array(part)}
                if any(isinstance(part, Known) and entries_of(part.value) for part in inner):
                    found.add(OUTSIDE)
        return frozenset(found)

    def new(self, every: Sequence[Value], text: str) -> Value:
        """A new object that may hold the arguments of a call, and what is in them."""
        held = {one for value in every for one in value if not is_plain_origin(one)}
        if not held:
            return NEW
        made = self.made((self.place, "new"), None)
        self.add(made, None, frozenset(held) | NEW)
        for one in held:
            if isinstance(one, Made):
                self.add(made, None, one.contents())
            elif isinstance(one, Known) and entries_of(one.value) is not None:
                self.add(made, None, self.elements(frozenset((one,)), text))
        return frozenset((made,))

    def ask(self, name: str, every: Sequence[Value], text: str) -> None:
        """Look into special methods of the user's objects that a library's function may call.

        Args:
            name: The function's.
            every: Its arguments.
            text: The call.
        """
        names = _ASKED.get(name, _READS)
        for value in [self._with_entries(v) for v in every] if name not in _SHALLOW else every:
            for one in value:
                taken = names or name in ("zip", "enumerate", "map", "filter", "list", "tuple")
                if taken and isinstance(one, Known) and hasattr(type(one.value), "__next__"):
                    self.elements(frozenset((one,)), text)
                for method in names:
                    found = self.special(one, method)
                    if found is not None:
                        self.call(found, [], {}, text, ANY | NEW)

    def _with_entries(self, value: Value) -> Value:
        """A value with what is in it, in containers from outside and in those that are made."""
        found, waiting = set(value), list(value)
        while waiting:
            one = waiting.pop()
            inside = one.contents() if isinstance(one, Made) else NOTHING
            if isinstance(one, Known) and not is_constant(one.value):
                inside = self._several(entries_of(one.value) or ())
            waiting += inside - found
            found |= inside
        return frozenset(found)

    def run_functions(self, functions: Sequence[Value], given: Sequence[Value], text: str) -> Value:
        """Call the user's functions among the arguments of a library's with any of the others.

        Args:
            functions: Where there may be functions, also in what these hold.
            given: What they may be called with, also what is in these.
            text: The call.
        """
        found = {one for value in functions for one in value}
        for one in list(found):
            if isinstance(one, Made):
                found |= one.contents()
            elif isinstance(one, Known) and entries_of(one.value) is not None:
                found |= self._several(entries_of(one.value))
        called = [one for one in found if is_user_function(one, self)]
        if not called:
            return NOTHING
        star = set(NEW)
        for value in given:
            for one in value:
                if not is_user_function(one, self):
                    star.add(one)
                    star |= one.contents() if isinstance(one, Made) else NOTHING
                    if isinstance(one, Known) and entries_of(one.value) is not None:
                        star |= self._several(entries_of(one.value))
        return self.call(frozenset(called), [], {}, text, limited(frozenset(star)))

    # Instances

    def _is_own(self, one: Known) -> bool:
        kind = type(one.value)
        compiled = kind.__module__.startswith("_cython")
        return bool(kind.__flags__ & 1 << 9) and not (compiled or self.is_library(kind))

    def instance(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        """What a call of a class makes."""
        kind = one.value
        if kind in BUILTINS:
            return BUILTINS[kind](self, args, kwargs, text, star)
        if kind in SEQUENCES:
            return self._sequence(kind, args, text, star)
        if issubclass(kind, dict) and not kind.__flags__ & 1 << 9:
            return self._dict(kind, args, kwargs, text, star)
        if issubclass(kind, Enum):
            return NEW
        if kind in (super, type) or not kind.__flags__ & 1 << 9:
            return self._library_call(one, args, kwargs, text, star)
        if self.is_library(kind):
            return self._library_call(one, args, kwargs, text, star)
        foreign = [b for b in kind.__mro__ if b is not object and self.is_library(b)]
        if any(not known_calls.is_pure(base) for base in foreign):
            self.effect(f"calls {text}, which is not known")
        return self._user_instance(kind, args, kwargs, text, star)

    # Methods of built-in types and of libraries


def _is_hashable(value: Any) -> bool:
    return is_a(value, FunctionType | BuiltinFunctionType | type | np.ufunc)


def _is_outside_array(one: Origin) -> bool:
    return one is VIEW or (isinstance(one, Known) and is_a(one.value, np.ndarray))


def is_user_function(one: Origin, calls: Objects) -> bool:
    """Whether something is a function of the user's, which a library may call."""
    if isinstance(one, Closure | Partial | LocalClass):
        return True
    if isinstance(one, Method):
        changes = one.name in known_calls.MUTATORS
        return one.target is not None or changes or OUTSIDE in one.owner
    if not isinstance(one, Known):
        return False
    value = one.value
    if is_a(value, MethodType):
        value = value.__func__
    if is_a(value, functools.partial | NativeCallable | functools._lru_cache_wrapper):
        return True
    if is_a(value, FunctionType):
        return not calls.is_library(value) or not known_calls.is_pure(value)
    if is_a(value, BuiltinFunctionType | types.MethodWrapperType):
        owner = value.__self__
        bound = owner is not None and not isinstance(owner, types.ModuleType)
        return bound or not known_calls.is_pure(value)
    return is_a(value, type) and bool(value.__flags__ & 1 << 9) and not calls.is_library(value)


_NUMBERS_WORDS: Final = """
    abs all any ascii bin bool bytes callable chr complex divmod float format hash hex id int
    isinstance issubclass len oct ord pow range repr round str hasattr slice getsizeof
"""
_NUMBERS: Final = frozenset(_NUMBERS_WORDS.split())
"""Functions that give numbers, text and other constants."""
