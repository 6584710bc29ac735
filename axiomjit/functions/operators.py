"""Operators, comparisons, truth values, iteration; special methods of users' classes are traced."""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import numpy as np

from axiomjit.base.locks import lazy_import
from axiomjit.base.tree import is_labelled
from axiomjit.functions.array_calls import first_traced, writing
from axiomjit.functions.known_methods import is_generated
from axiomjit.functions.libraries import is_object, is_users, users_function
from axiomjit.functions.objects import LIST_READS, Objects, is_plain
from axiomjit.functions.outside import (
    BY_IDENTITY,
    container_kind,
    in_region,
    is_container,
    refuse,
    refuse_in_region,
)
from axiomjit.functions.sources import (
    ATOMS,
    MISSING,
    Distinct,
    is_frozen,
    is_known_value,
    static_attribute,
)
from axiomjit.functions.texts import Text, is_computed
from axiomjit.graph.traced_values import AxisValue, TracedValue
from axiomjit.symbolic.index_ranges import UndecidedError
from axiomjit.tracing.lengths import known_numbers

_STEMS: Final = {
    **{"+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod"},
    **{"**": "pow", "@": "matmul", "<<": "lshift", ">>": "rshift"},
    **{"|": "or", "&": "and", "^": "xor"},
}
"""The names of the methods of infix operators, without underscores."""
BINARY: Final[dict[str, Callable[[Any, Any], Any]]] = {
    sign: getattr(operator, f"__{stem}__") for sign, stem in _STEMS.items()
}
IN_PLACE: Final[dict[str, Callable[[Any, Any], Any]]] = {
    sign: getattr(operator, f"__i{stem}__") for sign, stem in _STEMS.items()
}
UNARY: Final[dict[str, tuple[str, Callable[[Any], Any]]]] = {
    "-": ("__neg__", operator.neg),
    "+": ("__pos__", operator.pos),
    "~": ("__invert__", operator.invert),
}
_ORDER: Final[dict[str, tuple[str, str, Callable[[Any, Any], Any]]]] = {
    "<": ("__lt__", "__gt__", operator.lt),
    ">": ("__gt__", "__lt__", operator.gt),
    "<=": ("__le__", "__ge__", operator.le),
    ">=": ("__ge__", "__le__", operator.ge),
    "==": ("__eq__", "__eq__", operator.eq),
    "!=": ("__ne__", "__ne__", operator.ne),
}
_STEADY: Final = (np.ndarray, range, str, bytes, AxisValue, *BY_IDENTITY)
"""Types of objects from outside that have no contents, or whose guards compare the contents."""
_BY_POSITION: Final = Sequence.__iter__
"""Python's method that iterates by calling `__getitem__`."""
_CHANGEABLE: Final = (list, set, dict, deque)
_CHANGING: Final = {
    (list, "+"): "extend",
    (deque, "+"): "extend",
    (set, "|"): "update",
    (set, "-"): "difference_update",
    (set, "&"): "intersection_update",
    (set, "^"): "symmetric_difference_update",
    (dict, "|"): "update",
}
"""For in-place operators of containers, the names of equivalent methods."""


_WITHOUT_OTHERS: Final = frozenset({"enum", "builtins"})
"""Modules of base classes whose special methods call no method of a user's subclass."""


def is_equal_to_itself(value: Any) -> bool:
    """True for an instance of a user's class that is equal only to itself."""
    kind: Any = type(value)
    return is_users(kind) and kind.__eq__ is object.__eq__


def is_traced(value: object) -> bool:
    """True for a traced array."""
    return isinstance(value, TracedValue)


def has_methods(value: Any, *names: str) -> bool:
    """True if a value is of a user's class that defines one of these methods."""
    if is_plain(value) or not is_users(type(value)):
        return False
    found = [static_attribute(type(value), name) for name in names]
    return any(users_function(one) or _is_mixed_in(one) for one in found)


def _is_mixed_in(method: Any) -> bool:
    """True for a method of a library that may call other methods of the user's class."""
    if type(method) is not FunctionType or users_function(method) or is_generated(method):
        return False
    named_tuple = method.__code__.co_qualname.startswith("namedtuple.")
    return not named_tuple and method.__module__ not in _WITHOUT_OTHERS


def _is_container_and_atom(left: Any, right: Any) -> bool:
    """True for a container and a number, text or None, which are never equal."""
    if is_container(left):
        return type(right) in ATOMS
    return is_container(right) and type(left) in ATOMS


class _Sized:
    """An object whose `__len__` returns the given value, so that Python checks this value."""

    def __init__(self, length: Any) -> None:
        self._length = length

    def __len__(self) -> int:
        found: int = self._length
        return found


class Operators(Objects):
    """Operators on objects; Python and NumPy compute operators on arrays, numbers and texts."""

    def binary(self, sign: str, left: Any, right: Any) -> Any:
        """The result of the binary operator `sign`, applied to `left` and `right`."""
        if sign == "%" and type(left) is str and is_computed(right):
            return Text("percent", left, right)
        if is_plain(left) and is_plain(right):
            return BINARY[sign](left, right)
        if (is_object(left) and is_traced(right)) or (is_traced(left) and is_object(right)):
            return self.operator_of_library(sign, left, right)
        are_lists = self.appended is not None and type(left) is type(right) is list
        if are_lists and sign == "+" and not any(map(self.outside.is_outside, (left, right))):
            return left + right
        found = self._by_methods(_STEMS[sign], left, right)
        if found is not NotImplemented:
            return found
        return self.known.note(BINARY[sign](self.given(left), self.given(right)))

    def operator_of_library(self, sign: str, left: Any, right: Any) -> Any:
        """The result of the binary operator `sign` for an object of SciPy and a traced array."""
        raise NotImplementedError

    def _by_methods(self, stem: str, left: Any, right: Any) -> Any:
        """The result of a special method of a user's class; NotImplemented if there is none."""
        pairs = [(left, f"__{stem}__", right), (right, f"__r{stem}__", left)]
        if type(right) is not type(left) and issubclass(type(right), type(left)):
            pairs.reverse()
        return self._first_of(pairs, stem)

    def _first_of(self, pairs: list[tuple[Any, str, Any]], shown: str) -> Any:
        methods = [self._special(owner, name) for owner, name, _ in pairs]
        if all(method is MISSING for method in methods):
            return NotImplemented
        for method, (owner, name, other) in zip(methods, pairs, strict=True):
            if method is not MISSING:
                found = self.call(method, owner, other)
            elif static_attribute(type(owner), name) is MISSING or is_users(type(owner)):
                continue
            else:
                found = getattr(type(owner), name)(self.given(owner), other)
            if found is not NotImplemented:
                return found
        kinds = " and ".join(repr(type(pair[0]).__name__) for pair in sorted(pairs, key=id))
        raise TypeError(f"unsupported operand type(s) for {shown}: {kinds}")

    def _special(self, owner: Any, name: str) -> Any:
        """A special method that a user's class defines in Python; MISSING without such a method."""
        if is_plain(owner) or not is_users(type(owner)):
            return MISSING
        found = self._class_part(owner, type(owner), name)
        if _is_mixed_in(found):
            refuse(f"calls {name} of a {type(owner).__name__}, which {found.__module__} defines")
        return found if users_function(found) else MISSING

    def in_place(self, sign: str, left: Any, right: Any) -> Any:
        """The object to which the in-place operator `sign` binds the name of its left operand."""
        if is_plain(left):
            return (
                writing(IN_PLACE[sign], left, right)
                if is_plain(right)
                else self._in_place_plain(sign, left, right)
            )
        if in_region() and not isinstance(left, tuple | frozenset):
            if sign == "+" and self.recorded_append(left, "extend", (right,)):
                return left
            self.known.want_traced(left)
            refuse_in_region(f"a change of a {type(left).__name__}")
        method = self._special(left, f"__i{_STEMS[sign]}__")
        if method is not MISSING:
            found = self.call(method, left, right)
            return self.binary(sign, left, right) if found is NotImplemented else found
        if self.outside.is_outside(left) and container_kind(type(left)) in _CHANGEABLE:
            name = _CHANGING.get((container_kind(type(left)), sign))
            if name is None:
                return self._change_in_place(f"__i{_STEMS[sign]}__", left, self.given(right))
            if isinstance(left, set) and not isinstance(right, set | frozenset):
                return self._change_in_place(f"__i{_STEMS[sign]}__", left, self.given(right))
            entries = dict(right) if name == "update" and type(left) is dict else None
            given = list(self.iterate(right)) if entries is None else entries
            self.outside.change(left, name, (given,))
            return left
        if is_users(type(left)) or is_users(type(right)):
            return self.binary(sign, left, right)
        given = self.given(right)
        if type(left) is np.ndarray and first_traced([given]) is not None:
            self.known.want_traced(left)
        return writing(IN_PLACE[sign], left, given)

    def _change_in_place(self, name: str, left: Any, given: Any) -> Any:
        """Apply an in-place operator of a container that has no equivalent method."""
        if static_attribute(type(left), name) is MISSING or not is_known_value(given):
            refuse(f"calls {name} of a {type(left).__name__}, which lives on outside it")
        getattr(self.outside.whole(left), name)(given)
        self.outside.effect("method", left, name, (given,))
        return left

    def _in_place_plain(self, sign: str, left: Any, right: Any) -> Any:
        found = self._by_methods(_STEMS[sign], left, right)
        if found is not NotImplemented:
            return found
        return writing(IN_PLACE[sign], left, self.given(right))

    def unary(self, sign: str, value: Any) -> Any:
        """The result of the unary operator `sign`, such as `-value`."""
        name, plainly = UNARY[sign]
        method = self._special(value, name)
        return self.known.note(plainly(value)) if method is MISSING else self.call(method, value)

    def compare(self, sign: str, left: Any, right: Any) -> Any:
        """The result of a comparison, or of a test of identity or membership."""
        try:
            return self._compare(sign, left, right)
        except UndecidedError:
            late = lazy_import("axiomjit.functions.loop_hooks")
            return late.compared_in_trips(sign, left, right)

    def _compare(self, sign: str, left: Any, right: Any) -> Any:
        if sign in ("is", "is not"):
            return self._same(left, right) is (sign == "is")
        if sign == "in":
            return self.member(right, left)
        if sign == "not in":
            return not self.member(right, left)
        name, mirrored, plainly = _ORDER[sign]
        if is_plain(left) and is_plain(right):
            return plainly(left, right)
        found = self._compared(name, mirrored, left, right)
        if found is not NotImplemented:
            return found
        if sign == "!=" and self._special(left, "__eq__") is not MISSING:
            found = self._compared("__eq__", "__eq__", left, right)
            if found is not NotImplemented:
                return not self.truth(found)
        if sign in ("==", "!=") and any(map(is_equal_to_itself, (left, right))):
            return self._same(left, right) is (sign == "==")
        if sign in ("==", "!=") and _is_container_and_atom(left, right):
            return sign == "!="
        if self._entries_have(left, name) or self._entries_have(right, name):
            refuse(f"compares containers of objects that have their own {name}")
        return plainly(self.given(left), self.given(right))

    def _same(self, left: Any, right: Any) -> bool:
        """True if both are the same object; a guard checks that two outside objects differ."""
        outside = self.outside
        self.identifies = self.identifies or all(map(is_traced, (left, right)))
        if outside.original(left) is outside.original(right):
            return True
        if outside.source_of(left) is None and outside.source_of(right) is None:
            return False  # the key of the call says which array arguments are one object
        one, other = outside.identity_of(left), outside.identity_of(right)
        if one is not None and other is not None:
            outside.require(Distinct(one, (other,)))
        return False

    def _compared(self, name: str, mirrored: str, left: Any, right: Any) -> Any:
        pairs = [(left, name, right), (right, mirrored, left)]
        if type(right) is not type(left) and issubclass(type(right), type(left)):
            pairs.reverse()
        for owner, method_name, other in pairs:
            method = self._special(owner, method_name)
            if method is not MISSING:
                found = self.call(method, owner, other)
                if found is not NotImplemented:
                    return found
        return NotImplemented

    def _entries_have(self, container: Any, *names: str, depth: int = 8) -> bool:
        """True if an entry of a container, or of a container in it, has one of these methods."""
        if is_plain(container) or not is_container(container) or not depth:
            return False
        entries = [*container, *(container.values() if isinstance(container, dict) else ())]
        if any(has_methods(one, *names) for one in {type(one): one for one in entries}.values()):
            return True
        return any(self._entries_have(one, *names, depth=depth - 1) for one in entries)

    def key(self, value: Any) -> Any:
        """Return a key for a dict, set or item; refuse a key whose class defines hash or `==`."""
        kind = type(value)
        frozen = is_frozen(kind) and not self.outside.is_outside(value)
        generated = is_generated(static_attribute(kind, "__hash__")) or frozen
        if kind is Text:
            return str(value)
        if has_methods(value, "__hash__", "__eq__", "__index__") and not generated:
            refuse(f"has a {type(value).__name__} as key, which has methods of its own for that")
        return value

    def member(self, container: Any, value: Any) -> Any:
        """The result of `value in container`."""
        self.put_items(container)
        self.identifies = self.identifies or is_traced(value)
        method = self._special(container, "__contains__")
        if method is not MISSING:
            return self.truth(self.call(method, container, value))
        compares = is_users(type(value)) and not is_plain(value)
        if compares or self._entries_have(container, "__eq__"):
            return any(
                self.compare("is", one, value) or self.truth(self.compare("==", one, value))
                for one in self.iterate(container)
            )
        if is_users(type(container)) and not is_plain(container):
            return any(
                self.truth(self.compare("==", one, value)) for one in self.iterate(container)
            )
        return self.contains(container, value)

    def truth(self, value: Any) -> bool:
        """The result of `bool(value)`."""
        if type(value) is bool:
            return value
        if is_plain(value):
            return bool(value)
        if self.appended is not None and type(value) is list:
            return bool(self.length(value) > 0)
        if is_labelled(value):
            return bool(self.method(value, "item"))
        method = self._special(value, "__bool__")
        if method is not MISSING:
            return bool(self.call(method, value))
        if self._special(value, "__len__") is not MISSING:
            return bool(self.length(value) > 0)
        if is_container(value) and self.outside.is_outside(value):
            return self.outside.length(value) > 0
        if static_attribute(type(value), "__len__") is not MISSING:
            self.refuse_hidden(value)
        return bool(value)

    def iterate(self, value: Any) -> Any:
        """An iterator over a value."""
        if is_plain(value):
            return iter(value)
        self.put_items(value)
        if hasattr(type(value), "__next__"):
            refuse_in_region("an iterator")
        if is_users(type(value)) and static_attribute(type(value), "__iter__") is _BY_POSITION:
            self._class_part(value, type(value), "__iter__")
            return self._by_position(value)
        method = self._special(value, "__iter__")
        if method is not MISSING:
            return self._iterated(self.call(method, value))
        if is_users(type(value)) and self._special(value, "__getitem__") is not MISSING:
            return self._by_position(value)
        if self.outside.is_outside(value):
            if is_container(value):
                return self.outside.entries(value)
            self.refuse_hidden(value)
            if not isinstance(value, np.ndarray | range | str | bytes | type):
                refuse(f"iterates over a {type(value).__name__}")
        return iter(value)

    def refuse_hidden(self, value: Any) -> None:
        """Refuse to pass on an object from outside if no guard compares its contents.

        Raises:
            NeedsValuesError: the object has contents that no guard compares.
        """
        kind = type(value)
        guarded = is_container(value) or isinstance(value, _STEADY)
        if guarded or not self.outside.is_outside(value):
            return
        if hasattr(kind, "__next__"):
            refuse(f"takes from a {kind.__name__}, which lives on outside it")
        held = static_attribute(kind, "__len__")
        if issubclass(kind, SimpleNamespace) or not (held is MISSING or users_function(held)):
            refuse(f"uses what is in {self.source(value)}, a {kind.__name__}")

    def length(self, value: Any) -> Any:
        """The result of `len(value)`."""
        if self.appended is not None and type(value) is list:
            late = lazy_import(LIST_READS)
            if late.is_appended(value):
                return late.length_of(value)
        if self._special(value, "__len__") is not MISSING:
            return len(_Sized(known_numbers(self.method(value, "__len__"))))
        if is_container(value) and self.outside.is_outside(value):
            return self.outside.length(value)
        shape = getattr(value, "shape", ()) if isinstance(value, np.ndarray) else ()
        if not is_plain(value):
            self.refuse_hidden(value)
        return shape[0] if shape else len(value)

    def spread(self, value: Any) -> Any:
        """An iterator over a value that becomes a list; Python then asks for the value's length."""
        made = self.iterate(value)
        if self._special(value, "__len__") is not MISSING:
            self.length(value)
        elif self._special(value, "__length_hint__") is not MISSING:
            self.method(value, "__length_hint__")
        return made

    def _iterated(self, iterator: Any) -> Any:
        """Yield the items that the `__next__` of a user's class returns."""
        method = self._special(iterator, "__next__")
        if method is MISSING:
            return self.iterate(iterator)
        return self._by_next(iterator, method)

    def _by_next(self, iterator: Any, method: Any) -> Iterator[Any]:
        while True:
            try:
                found = self.call(method, iterator)
            except StopIteration:
                return
            yield found

    def _by_position(self, value: Any) -> Iterator[Any]:
        place = 0
        while True:
            try:
                found = self.item(value, place)
            except IndexError:
                return
            yield found
            place += 1

    def recorded_append(self, owner: Any, name: str, values: Sequence[Any]) -> bool:
        """Record `append` or `extend` of a list in a region; False if that is impossible."""
        if self.appended is None:
            return False
        late = lazy_import("axiomjit.functions.appended_lists")
        return bool(late.record_append(self.appended, owner, name, values))

    def method(self, owner: Any, name: str, /, *args: Any, **kwargs: Any) -> Any:
        """The result of `owner.name(*args, **kwargs)`."""
        raise NotImplementedError

    def given(self, value: Any) -> Any:
        """The value to pass to a library's function; entries of outside containers get guards.

        For a `Text` of computed values, this is the string.

        Raises:
            NeedsValuesError: the value is an object from outside about which nothing is known.
        """
        if type(value) is Text:
            return str(value)
        if is_plain(value):
            return value
        self.put_items(value)
        if is_container(value):
            if self.outside.is_outside(value):
                found = self._given_entries(self.outside.whole(value))
                return self.outside.give(found, value)
            return self._given_entries(value)
        self.refuse_hidden(value)
        return value

    def _given_entries(self, value: Any) -> Any:
        """The container itself, or a copy if it has outside containers as entries."""
        entries = value.values() if isinstance(value, dict) else value
        found = [self.given(one) for one in entries]
        if all(new is old for new, old in zip(found, entries, strict=True)):
            return value
        if isinstance(value, dict):
            return type(value)(zip(value, found, strict=True))
        if isinstance(value, tuple):
            return tuple.__new__(type(value), found)
        return deque(found, value.maxlen) if isinstance(value, deque) else type(value)(found)
