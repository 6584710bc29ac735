"""Instances and containers that a function makes, in the effect analysis."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Sequence
from types import FunctionType
from typing import Any

from axiomjit.tracing.effects.objects import Kwargs, Objects
from axiomjit.tracing.effects.values import (
    NEW,
    NOTHING,
    Known,
    LocalClass,
    Made,
    Origin,
    Value,
    entries_of,
    is_a,
)


class Instances(Objects):
    """What calls of classes make."""

    def _user_instance(
        self, kind: Any, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        made = self.made((self.place, kind), kind)
        one: Value = frozenset((made,))
        self.call(self.special(made, "__del__") or NOTHING, [], {}, "__del__")
        new = self.member(kind, "__new__")
        new = new.__func__ if is_a(new, staticmethod) else new
        if is_a(new, FunctionType) and not self.is_library(new):
            if hasattr(kind, "_fields") and "_make" in vars(kind):
                return self._record(made, kind._fields, kind._field_defaults, args, kwargs, star)
            one = self.call(self.known(new), [self.known(kind), *args], kwargs, text, star)
        start = self.member(kind, "__init__")
        if hasattr(kind, "_fields") and issubclass(kind, tuple):
            return self._record(made, kind._fields, kind._field_defaults, args, kwargs, star)
        if "__dataclass_fields__" in vars(kind) and is_generated(start):
            return self._dataclass(made, kind, args, kwargs, star)
        if is_a(start, FunctionType) and not self.is_library(start):
            self.call(self.known(start), [one, *args], kwargs, text, star)
        else:
            for value in (*args, *kwargs.values(), star):
                inside = issubclass(kind, list | tuple | set | dict | deque)
                self.add(made, None, self.elements(value, text) if inside else value)
        return one

    def _record(
        self,
        made: Made,
        names: Sequence[str],
        defaults: Any,
        args: Sequence[Value],
        kwargs: Kwargs,
        star: Value,
    ) -> Value:
        for place, name in enumerate(names):
            given = args[place] if place < len(args) else kwargs.get(name, star)
            if not given and name in defaults:
                given = self.known(defaults[name])
            self.add(made, place, given)
            self.add_field(made, name, given)
        return frozenset((made,))

    def _dataclass(
        self, made: Made, kind: Any, args: Sequence[Value], kwargs: Kwargs, star: Value
    ) -> Value:
        fields = [f for f in kind.__dataclass_fields__.values() if f.init]
        for place, field in enumerate(fields):
            given = args[place] if place < len(args) else kwargs.get(field.name, star)
            self.add_field(made, field.name, given or self._default(field))
        for field in kind.__dataclass_fields__.values():
            if not field.init:
                self.add_field(made, field.name, self._default(field))
        after = self.member(kind, "__post_init__")
        if isinstance(after, FunctionType):
            more = [kwargs[f.name] for f in fields if f._field_type.name == "_FIELD_INITVAR"]
            self.call(self.known(after), [frozenset((made,)), *more], {}, "__post_init__", star)
        return frozenset((made,))

    def _default(self, field: Any) -> Value:
        missing = type(field).__module__ and __import__("dataclasses").MISSING
        if field.default_factory is not missing:
            return self.call(self.known(field.default_factory), [], {}, field.name)
        return NOTHING if field.default is missing else self.known(field.default)

    def _instance_of_local(
        self, kind: LocalClass, args: Sequence[Value], kwargs: Kwargs, star: Value
    ) -> Value:
        made = self.made((self.place, kind), kind)
        start = self.of_class(kind, "__init__")
        if start:
            self.call(self.rebound(start, made), args, kwargs, kind.node.name, star)
        else:
            for name, value in kwargs.items():
                self.add_field(made, name, value)
            self.add(made, None, frozenset().union(*args, star))
        return frozenset((made,))

    def _sequence(self, kind: type, args: Sequence[Value], text: str, star: Value) -> Value:
        made = self.made((self.place, kind), kind)
        self.ask("", args, text)
        for value in (*args[:1], star):
            self.add(made, None, self.elements(value, text))
        return frozenset((made,))

    def _dict(
        self, kind: type, args: Sequence[Value], kwargs: Kwargs, text: str, star: Value
    ) -> Value:
        made = self.made((self.place, kind), kind)
        if issubclass(kind, defaultdict) and args:
            self.add_field(made, "factory", args[0])
            args = args[1:]
        self._fill(made, args, kwargs, text)
        self.add(made, None, star)
        return frozenset((made,))

    def _fill(self, made: Made, args: Sequence[Value], kwargs: Kwargs, text: str) -> None:
        """Put the entries of dicts, or of pairs, into a dict that is made."""
        for name, value in kwargs.items():
            self.add(made, name, value)
        for one in frozenset().union(*args):
            if isinstance(one, Made) and isinstance(one.kind, type) and issubclass(one.kind, dict):
                for key, value in list(one.items.items()):
                    self.add(made, key, value)
                self.add(made, None, one.rest)
                self.add_field(made, "keys", self.keys(one))
            elif isinstance(one, Known) and is_a(one.value, dict):
                self.add(made, None, self._several(entries_of(one.value)))
                self.add_field(made, "keys", self._several(list(one.value)))
            else:
                self.ask_mapping(one)
                pairs = self.elements(frozenset((one,)), text)
                self.add(made, None, self.item(pairs, self.known(1), False, self.place))
                self.add_field(
                    made, "keys", self.item(pairs, self.known(0), False, (self.place, 0))
                )

    def ask_mapping(self, one: Origin) -> None:
        """Look into what a user's object is asked that stands for a dict."""
        for name in ("keys", "__getitem__"):
            asked = self.special(one, name)
            self.call(asked or NOTHING, [NEW] if name != "keys" else [], {}, name)

    def of(self, value: Value, kind: object = list, key: object = None) -> Value:
        """A new container with entries that may be a value."""
        made = self.made((self.place, kind, key), kind)
        self.add(made, None, value)
        return frozenset((made,))


def is_generated(function: Any) -> bool:
    """Whether a method was made by `dataclass`."""
    return not isinstance(function, FunctionType) or function.__code__.co_filename == "<string>"
