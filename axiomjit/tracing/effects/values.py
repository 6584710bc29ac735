"""Abstract values of the effect analysis: where a value may come from, and what it may hold.

A value is a set of origins. `x = W if flag else np.zeros(3)` is one of two: the known array `W`,
which lives outside the function, or a fresh one.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable
from enum import Enum
from types import (
    BuiltinFunctionType,
    CellType,
    FunctionType,
    MappingProxyType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

MOST: Final = 48
"""The most origins of one value; more known objects count as any object outside."""
LONGEST: Final = 64
"""The most entries of a container from outside that are told apart."""
CONSTANTS: Final = (
    *(int, float, complex, str, bytes, type(None), type(Ellipsis), type(NotImplemented)),
    *(slice, range, np.generic, np.dtype),
)
"""Types whose values nobody can change."""


class Origin:
    """Where a value comes from; compared by identity."""

    __slots__ = ()


class Simple(Origin):
    """An origin without parts."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        """Name it."""
        self.name = name

    def __repr__(self) -> str:
        return self.name


FRESH: Final = Simple("fresh")
"""Something that a known function or operator has made."""
DYNAMIC: Final = Simple("dynamic")
"""An array or number among the arguments, or a view of one: writes into it are compiled."""
VIEW: Final = Simple("view")
"""An array outside the function, or a view of one."""
OUTSIDE: Final = Simple("outside")
"""Any object outside the function."""
SAME: Final = Simple("same")
"""A function that gives its first argument, as a decorator may."""

Value = frozenset[Origin]
NOTHING: Final[Value] = frozenset()
NEW: Final[Value] = frozenset({FRESH})
ANY: Final[Value] = frozenset({OUTSIDE})


class Known(Origin):
    """An object that exists outside; `named` where a copy of the function sees ours for it."""

    __slots__ = ("named", "value")

    def __init__(self, value: Any, named: bool) -> None:
        """Refer to an object."""
        self.value, self.named = value, named

    def __repr__(self) -> str:
        return f"Known({type(self.value).__name__})"


class Made(Origin):
    """A container or an instance that the function makes at one place of its text.

    `kind` is its class; `items` has contents by constant index or key, `rest` any others, `fields`
    attributes. One that is in an `argument` belongs to the caller.
    """

    __slots__ = ("argument", "fields", "items", "kind", "read", "rest")

    def __init__(self, kind: object, argument: str | None = None) -> None:
        """Start empty."""
        self.kind, self.argument = kind, argument
        self.items: dict[object, Value] = {}
        self.fields: dict[str, Value] = {}
        self.rest: Value = NOTHING
        self.read = False

    def contents(self) -> Value:
        """Everything that it holds."""
        self.read = True
        return self.rest.union(*self.items.values(), *self.fields.values())


class Closure(Origin):
    """A function that is defined within one that is read, with its frame and defaults."""

    __slots__ = ("defaults", "frame", "node")

    def __init__(self, node: Any, frame: Any) -> None:
        """Define it."""
        self.node, self.frame = node, frame
        self.defaults: dict[str, Value] = {}


class LocalClass(Origin):
    """A class that is defined within a function that is read."""

    __slots__ = ("bases", "node", "space")

    def __init__(self, node: ast.ClassDef) -> None:
        """Define it."""
        self.node = node
        self.bases: Value = NOTHING
        self.space: dict[str, Value] = {}


class Method(Origin):
    """A method of a built-in type or a library's, or a function with its first argument."""

    __slots__ = ("name", "owner", "target")

    def __init__(self, owner: Value, name: str, target: Origin | None = None) -> None:
        """Bind `name` of one owner, or the function `target` to its first argument."""
        self.owner, self.name, self.target = owner, name, target


class Partial(Origin):
    """A function with some arguments."""

    __slots__ = ("args", "function", "kwargs")

    def __init__(self, function: Value, args: tuple[Value, ...], kwargs: dict[str, Value]) -> None:
        """Keep them."""
        self.function, self.args, self.kwargs = function, args, kwargs


class Super(Origin):
    """What `super()` gives: attributes of the classes after one."""

    __slots__ = ("kind", "owner")

    def __init__(self, kind: Any, owner: Value) -> None:
        """Begin after a class."""
        self.kind, self.owner = kind, owner


def is_a(value: Any, kinds: Any) -> bool:
    """As `isinstance`, without asking the user's object for its class."""
    return issubclass(type(value), kinds)


def limited(value: Value) -> Value:
    """The value, or one with fewer origins that may be at least as much."""
    if len(value) <= MOST:
        return value
    few = {one for one in value if not isinstance(one, Known) or callable(one.value)}
    return frozenset({*few, OUTSIDE, FRESH})


def is_constant(value: Any) -> bool:
    """Whether nobody can change an object, nor anything in it."""
    kind = type(value)
    if kind in (tuple, frozenset):
        return len(value) <= LONGEST and all(map(is_constant, value))
    return issubclass(kind, CONSTANTS) or is_a(value, Enum)


def is_function(value: Any) -> bool:
    """Whether an object is a function, class or module, which is true and not None."""
    kinds = (FunctionType, BuiltinFunctionType, MethodType, ModuleType, type, np.ufunc)
    return is_a(value, kinds)


def entries_of(value: Any) -> Iterable[Any] | None:
    """What a container of a built-in type holds, without keys; None of anything else."""
    if is_a(value, dict | MappingProxyType):
        return list(value.values())
    if is_a(value, list | tuple | set | frozenset | deque):
        return list(value)
    return None


def truth(value: Value) -> bool | None:
    """Whether a value is true, where all its origins agree; None where that is not known."""
    found: set[bool] = set()
    for one in value:
        filled = isinstance(one, Made) and one.kind is tuple and one.items
        if filled or isinstance(one, Closure | LocalClass | Partial | Method):
            found.add(True)
        elif (
            isinstance(one, Known)
            and (is_constant(one.value) or is_function(one.value))
            or isinstance(one, Known)
            and type(one.value) in (list, dict, set, tuple, deque)
        ):
            found.add(bool(one.value))
        else:
            return None
    return found.pop() if len(found) == 1 else None


def constant(value: Value) -> tuple[Any] | None:
    """The only constant that a value may be, in a tuple."""
    if len(value) == 1:
        (one,) = value
        if isinstance(one, Known) and is_constant(one.value):
            return (one.value,)
    return None


def is_none(value: Value) -> bool | None:
    """Whether a value is None, where that is known."""
    found = {_may_be_none(one) for one in value}
    return found.pop() if len(found) == 1 else None


def _may_be_none(one: Origin) -> bool | None:
    if isinstance(one, Known):
        return one.value is None
    return None if one in (FRESH, OUTSIDE) else False


SEQUENCES: Final = (list, tuple, set, frozenset, deque)


def is_plain_origin(one: Origin) -> bool:
    """Whether an object holds nothing that can be changed."""
    return one in (FRESH, DYNAMIC) or (isinstance(one, Known) and is_constant(one.value))


def is_dict(one: Made) -> bool:
    """Whether what was made is a dict."""
    return isinstance(one.kind, type) and issubclass(one.kind, dict)


def is_cached_property(held: object) -> bool:
    """Whether a member of a class is a `functools.cached_property`."""
    kind = type(held)
    return kind.__module__ == "functools" and kind.__name__ == "cached_property"


def contents(cell: CellType) -> Any:
    """What a closure holds; None before something is assigned."""
    try:
        return cell.cell_contents
    except ValueError:
        return None


def held_class(held: Any) -> Any:
    """The function that stands for a member of a class in questions about its module."""
    for name in ("fget", "func", "__func__"):
        inner = getattr(held, name, None)
        if is_a(inner, FunctionType):
            return inner
    return held if hasattr(held, "__module__") or hasattr(held, "__name__") else type(held)


def is_plain(held: Any) -> bool:
    """Whether a member of a class is a value, as an instance has it, too."""
    return is_constant(held) or is_a(held, np.ndarray | list | dict | set | tuple)


def is_key(key: object) -> bool:
    """Whether entries are told apart by a key."""
    return isinstance(key, int | str | bytes | float | type(None))
