"""Methods of built-in types and of libraries, in the effect analysis."""

from __future__ import annotations

from collections.abc import Sequence
from types import FunctionType, MethodType
from typing import Any, Final

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.tracing.effects import known_calls
from axiomjit.tracing.effects.builtin_functions import text_of
from axiomjit.tracing.effects.instances import Instances
from axiomjit.tracing.effects.objects import Kwargs
from axiomjit.tracing.effects.values import (
    DYNAMIC,
    FRESH,
    NEW,
    NOTHING,
    OUTSIDE,
    SEQUENCES,
    VIEW,
    Known,
    LocalClass,
    Made,
    Method,
    Origin,
    Value,
    constant,
    entries_of,
    is_a,
    is_constant,
    is_dict,
)
from axiomjit.tracing.generators import METHODS, is_generator

_FILLING_WORDS: Final = """
    append insert add extend update setdefault appendleft extendleft __setitem__ __iadd__
"""
_FILLING: Final = frozenset(_FILLING_WORDS.split())
"""Methods that put their arguments into a container."""


class Methods(Instances):
    """What methods give and change."""

    def call_one(
        self, one: Origin, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        """What a call of one function gives."""
        raise NotImplementedError

    def instance(
        self, one: Known, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        """What a call of a class makes."""
        raise NotImplementedError

    def run_functions(self, functions: Sequence[Value], given: Sequence[Value], text: str) -> Value:
        """Call the user's functions among the arguments of a library's."""
        raise NotImplementedError

    def check_out(self, value: Any, args: Sequence[Value], kwargs: Kwargs, text: str) -> None:
        """Refuse results that are put into arrays from outside."""
        raise NotImplementedError

    def new(self, every: Sequence[Value], text: str) -> Value:
        """A new object that may hold the arguments of a call."""
        raise NotImplementedError

    def _method(
        self, one: Method, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        if one.target is not None:
            return self.call_one(one.target, [one.owner, *args], kwargs, text, star)
        found = NOTHING
        for owner in one.owner:
            found |= self.builtin_method(owner, one.name, args, kwargs, text, star)
        return found

    def builtin_method(
        self,
        one: Origin,
        name: str,
        args: Sequence[Value],
        kwargs: Kwargs,
        text: str,
        star: Value,
    ) -> Value:
        """What a method of a built-in type or of a library gives."""
        every = (*args, *kwargs.values(), star)
        if one is OUTSIDE:
            self.effect(f"calls {text}, which is not known")
        if name == "__setattr__" and len(args) > 1:
            self.store_attribute(frozenset((one,)), text_of(args[0]), args[1], f"calls {text}")
            return NEW
        if isinstance(one, Known):
            held = self._method_of_known(one, name, args, kwargs, text, star)
            if held is not None:
                return held
        if name in known_calls.MUTATORS:
            return self._changing(one, name, args, kwargs, text, star)
        method = None if isinstance(one, Made) else known_calls.array_method(one, name)
        self.check_out(method, args, kwargs, text)
        searches = name in ("index", "count", "remove", "__contains__", "get")
        self.ask("compare" if searches else "", [frozenset((one,))] if searches else [], text)
        self.ask("", every, text)
        self.run_functions(every, (frozenset((one,)), *every), text)
        if isinstance(one, Made):
            return self._made_method(one, name, args, text, star)
        if one is DYNAMIC:
            return frozenset((one, FRESH))
        if one is FRESH:
            return NEW | self.loose
        return self._read_known(one, name, args, text)

    def _changing(
        self,
        one: Origin,
        name: str,
        args: Sequence[Value],
        kwargs: Kwargs,
        text: str,
        star: Value,
    ) -> Value:
        """A method that changes its object."""
        owner = frozenset((one,))
        every = (*args, *kwargs.values(), star)
        if not (name == "__init__" and isinstance(one, Made)):
            self.mutate(owner, f"calls {text}, which changes {text.rpartition('.')[0] or 'it'}")
        self.run_functions(every, (owner, *every), text)
        if isinstance(one, Made):
            one.read = True
            if name == "send":
                self.loosen(frozenset().union(*every))
            if name == "popitem":
                return self.of(one.contents() | NEW, tuple, one)
            if name == "update" or name == "__init__":
                self._fill(one, args, kwargs, text) if is_dict(one) else self.add(
                    one, None, frozenset().union(*(self.elements(v, text) for v in every))
                )
            elif name in ("extend", "extendleft", "__iadd__"):
                self.add(one, None, self.elements(frozenset().union(*every), text))
            elif name == "setdefault" or name == "__setitem__":
                self.store_item(owner, args[0] if args else NEW, frozenset().union(*args[1:]), text)
            elif name in _FILLING:
                self.add(one, None, frozenset().union(*every))
            return one.contents() | NEW
        if one is FRESH:
            self.loosen(frozenset().union(*every))
            return NEW | self.loose
        return NEW

    def _method_of_known(
        self, one: Known, name: str, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value | None:
        """Methods of generators, functions, classes and library objects; None of others."""
        value = one.value
        if is_generator(value) and name in METHODS:
            return self._draw(one, name, args, kwargs, text)
        kind = type(value)
        module = kind.__module__
        if module == "random" and kind.__name__ in ("Random", "SystemRandom"):
            self.effect(f"calls {text}, of Python's random", draws=True)
        if name in ("__new__",):
            made = args[0] if args else frozenset((one,))
            return self._blank(made)
        if name == "__call__":
            return self.call(frozenset((one,)), args, kwargs, text, star)
        if known_calls.is_python_ufunc(value):
            self.effect(f"calls {text}, which is not known")
        if is_a(value, np.ufunc) and name == "at":
            self.mutate(args[0] if args else star, f"calls {text}, which changes its argument")
            return NEW
        if is_a(value, type):
            return self._class_method(one, name, args, kwargs, text, star)
        if is_a(value, FunctionType | MethodType | NativeCallable):
            return NEW if name in ("__get__", "cache_info") else None
        if is_constant(value) or is_a(value, np.ndarray | np.ufunc):
            return None
        if entries_of(value) is not None or is_a(value, bytearray):
            return None
        if kind.__flags__ & 1 << 9 and not self.is_library(kind):
            return None
        if hasattr(kind, "__next__"):
            self.effect(f"calls {text}, which changes an iterator that lives on outside it")
        if module == "os" and name in ("get", "keys", "items", "values", "copy", "__contains__"):
            return NEW
        if not known_calls.is_pure(kind):
            self.effect(f"calls {text}, which is not known")
        return None

    def _blank(self, kinds: Value) -> Value:
        """New instances without attributes."""
        found = NOTHING
        for one in kinds:
            kind = one.value if isinstance(one, Known) else one
            if isinstance(kind, type) and kind is not object or isinstance(kind, LocalClass):
                found |= {self.made((self.place, kind), kind)}
        return found or NEW

    def _class_method(
        self, one: Known, name: str, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value | None:
        if name == "_make":
            found = self.item(args[0] if args else star, NEW, False, self.place)
            return self.instance(one, [found] * len(one.value._fields), {}, text, star)
        held = getattr(one.value, name, None)
        impure = known_calls.impure_name(held)
        if impure is not None:
            self.effect(f"calls {text}", impure)
        if not known_calls.is_pure(one.value) and self.is_library(one.value):
            self.effect(f"calls {text}, which is not known")
        if name == "mro" or name.startswith("__sub"):
            return NEW
        return self.new((*args, *kwargs.values(), star), text)

    def _draw(
        self, one: Known, name: str, args: Sequence[Value], kwargs: Kwargs, text: str
    ) -> Value:
        """Numbers of a generator: a step where a copy of the function has a stand-in for it."""
        if not one.named:
            seen = "from a generator in an attribute or a container, or in a method"
            self.effect(f"calls {text}, {seen}", draws=True)
        self.draws = True
        if name == "shuffle" and args:
            self.mutate(args[0], f"calls {text}, which shuffles its argument")
        self.check_out(None, args, kwargs, text)
        return NEW

    def _made_method(
        self, one: Made, name: str, args: Sequence[Value], text: str, star: Value
    ) -> Value:
        inside = one.contents()
        if name in ("items",):
            pair = self.made((self.place, one, "pair"), tuple)
            self.add(pair, 0, self.keys(one) if is_dict(one) else inside)
            self.add(pair, 1, inside - one.fields.get("keys", NOTHING) | one.rest)
            return self.of(frozenset((pair,)), list, one)
        if name in ("keys",):
            return self.of(self.keys(one), list, one)
        if name in (
            "values",
            "copy",
            "union",
            "difference",
            "intersection",
            "__iter__",
            "elements",
        ):
            made = self.made((self.place, one, name), one.kind if name == "copy" else list)
            for key, value in list(one.items.items()) if name == "copy" else ():
                self.add(made, key, value)
            self.add(made, None, one.rest if name == "copy" else inside)
            for field, value in list(one.fields.items()) if name == "copy" else ():
                self.add_field(made, field, value)
            return frozenset((made,))
        if name == "get":
            found = self.item(frozenset((one,)), args[0] if args else NEW, False, self.place)
            return found.union(*args[1:], self.known(None))
        if name == "_replace":
            return frozenset((one,))
        if name in ("__getitem__", "__next__", "send", "__call__"):
            return inside | NEW
        return NEW if one.kind in SEQUENCES or is_dict(one) else inside | NEW

    def _read_known(self, one: Origin, name: str, args: Sequence[Value], text: str) -> Value:
        value: Any = one.value if isinstance(one, Known) else None
        if one is VIEW or is_a(value, np.ndarray):
            return frozenset((VIEW, FRESH)) if name in known_calls.ARRAY_VIEWS else NEW
        entries = entries_of(value)
        if entries is None or is_constant(value):
            return self.new(args, text)
        owner = frozenset((one,))
        if name == "items":
            pair = self.made((self.place, one, "pair"), tuple)
            self.add(pair, 0, self._several(list(value)))
            self.add(pair, 1, self._several(entries))
            return self.of(frozenset((pair,)), list, one)
        if name == "get":
            key = constant(args[0]) if args else None
            if key is not None and is_a(value, dict):
                found = value.get(key[0], self)
                return self.known(found) if found is not self else _default_of(self, args)
            return self._several(entries).union(_default_of(self, args))
        if name in ("keys", "__iter__"):
            return self.of(self.elements(owner, text), list, one)
        if name in ("values", "copy", "union", "difference", "intersection", "elements"):
            return self.of(self._several(entries), type(value) if name == "copy" else list, one)
        if name == "__getitem__":
            return self.item(owner, args[0] if args else NEW, False, self.place)
        return NEW


def _default_of(calls: Methods, args: Sequence[Value]) -> Value:
    return frozenset().union(*args[1:]) or calls.known(None)
