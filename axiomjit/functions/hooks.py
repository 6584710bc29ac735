"""The hooks that the copy of one function calls: hooks for its names, and the hooks of `Calls`."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable
from types import FunctionType, ModuleType
from typing import Any, Final

from axiomjit.base.locks import lazy_import
from axiomjit.base.trace_context import current
from axiomjit.functions.libraries import is_library_module
from axiomjit.functions.library_calls import LibraryCalls
from axiomjit.functions.outside import TraceAgain, refuse, refuse_in_region
from axiomjit.functions.sources import MISSING, Contents, FunctionPart
from axiomjit.functions.texts import joined

LOOP_HOOKS: Final = frozenset(
    {"repeat", "each", "loop", "branch", "choice", "bound", "required"}
    | {"logical", "ordered", "negated", "holds", "raises", "walked"}
)
"""The hooks of loops and branches."""
COMPREHENSION_HOOKS: Final = frozenset({"listed", "consumed", "inner", "put", "when"})
"""The hooks of comprehensions."""


class FunctionHooks:
    """The hooks that the copy of one function calls, with the names that `instrument` uses."""

    def __init__(self, calls: LibraryCalls, function: FunctionType) -> None:
        """Store the trace, and the function with its namespace and cells."""
        self._calls, self._outside = calls, calls.outside
        self._function, self._space = function, function.__globals__
        names = function.__code__.co_freevars
        self._cells = dict(zip(names, function.__closure__ or (), strict=True))
        found = self._space.get("__builtins__", builtins)
        self._builtins = found if isinstance(found, dict) else vars(found)
        self._kept: Any = None
        for name in ("attribute", "item", "call", "method", "super", "binary", "unary"):
            setattr(self, name, getattr(calls, name))
        for name in ("compare", "in_place", "truth", "iterate", "spread", "key", "length"):
            setattr(self, name, getattr(calls, name))
        self.slice = slice
        self._patterns: Any = None

    def __getattr__(self, name: str) -> Any:
        """Return a hook of loops, or of `match` statements; few functions have any."""
        if name in LOOP_HOOKS:
            return getattr(
                lazy_import("axiomjit.functions.loop_hooks").LoopHooks(self._calls), name
            )
        if name in COMPREHENSION_HOOKS:
            late = lazy_import("axiomjit.functions.comprehension_hooks")
            return getattr(late.ComprehensionHooks(self._calls), name)
        if self._patterns is None:
            late = lazy_import("axiomjit.functions.patterns")
            self._patterns = late.PatternHooks(self)
        return getattr(self._patterns, name)

    # Names

    @property
    def globals(self) -> _Names:
        """An object that stores and deletes names of the namespace, as its attributes."""
        return _Names(self._store_global)

    @property
    def cells(self) -> _Names:
        """An object that stores and deletes variables of enclosing functions, as its attributes."""
        return _Names(self._store_cell)

    def name(self, name: str) -> Any:
        """The value of a global or builtin name."""
        self._outside.fixed(self._space)
        found = self._outside.item(self._space, name)
        if found is not MISSING:
            return found
        if name in self._builtins:
            return self._builtins[name]
        raise NameError(f"name {name!r} is not defined", name=name)

    def cell(self, name: str) -> Any:
        """The value of a variable of an enclosing function."""
        cell = self._cell(name)
        source = self._outside.source_of(cell)
        assert source is not None
        stored = self._outside.stored(cell, "contents")
        found = self._outside.read(Contents(source)) if stored is None else stored[0]
        if found is MISSING:
            raise NameError(
                f"cannot access free variable {name!r} where it is not associated with a value in "
                "enclosing scope",
                name=name,
            )
        return found

    def _cell(self, name: str) -> Any:
        """The cell of a variable; the cell is the source of the variable's value."""
        if not self._outside.is_by_code(self._function):
            self._outside.fixed(self._cells[name], name)
            return self._cells[name]
        source = self._outside.source_of(self._function)
        assert source is not None
        closure = self._outside.read(FunctionPart(source, "__closure__"))
        return self._outside.item(closure, list(self._cells).index(name))

    def _store_global(self, name: str, value: Any) -> None:
        self._outside.fixed(self._space)
        if value is MISSING and self._outside.item(self._space, name) is MISSING:
            raise NameError(f"name {name!r} is not defined", name=name)
        how = "delete item" if value is MISSING else "item"
        self._outside.store(how, self._space, name, value)

    def _store_cell(self, name: str, value: Any) -> None:
        if value is MISSING:
            refuse(f"deletes {name}, a variable of an enclosing function")
        cell = self._cell(name)
        self._outside.store("cell", cell, "contents", value)

    # Statements

    def target(self, owner: Any) -> Target:
        """An object that stands for `owner`: stores into attributes and items are recorded."""
        made = object.__new__(Target)
        _put_calls(made, self._calls)
        _put_owner(made, owner)
        return made

    def caught(self) -> None:
        """If the user's code has caught an error that ends the trace, raise this error again."""
        error = sys.exc_info()[1]
        if isinstance(error, TraceAgain):
            raise error
        if isinstance(error, NameError) and self._outside.wanted.forget_regions():
            raise TraceAgain
        following = current()
        if following is not None and following.refusal is not None:
            raise following.refusal
        if error is not None:
            refuse_in_region("an error that is caught")

    def context(self, manager: Any) -> Any:
        """The object that a `with` statement uses as its manager."""
        refuse_in_region("a with statement")
        return self._calls.context(manager)

    def import_(self, name: str, names: tuple[str, ...] | None, level: int) -> Any:
        """The result of an `import` statement: a loaded module, or a tuple of its values.

        `names` is None if the result is the outermost package, and empty if it is the module
        itself.
        """
        package = self._space.get("__package__") if level else None
        full = _absolute(name, str(package or ""), level)
        if full not in sys.modules:
            refuse(f"imports {full}, which is not loaded", "import it outside the function")
        if names is None:
            return sys.modules[full.partition(".")[0]]
        module = sys.modules[full]
        if not is_library_module(module):
            self._outside.fixed(module, full)
        if not names:
            return module
        if names == ("*",):
            refuse(f"imports all names of {full}", "import it outside the function")
        return tuple(self._imported(module, full, part) for part in names)

    def _imported(self, module: ModuleType, full: str, name: str) -> Any:
        found = self._calls.find(module, name)
        found = sys.modules.get(f"{full}.{name}", MISSING) if found is MISSING else found
        if found is MISSING:
            refuse(f"imports {full}.{name}, which is not loaded", "import it outside the function")
        return found

    def mapping(self, value: Any) -> Any:
        """The mapping that a call unpacks with `**`."""
        return self._calls.mapping(value)

    def join(self, *parts: Any) -> Any:
        """The text of an f-string, made of its parts."""
        return joined(parts)

    def format(self, value: Any, conversion: int = -1, spec: Any = "") -> Any:
        """The text of one part of an f-string."""
        return self._calls.text(value, conversion, spec)

    # Expressions

    def not_(self, value: Any) -> Any:
        """The value of `not value`."""
        return not self._calls.truth(value)

    def continues(self, value: Any, is_and: bool) -> bool:
        """True if `and` or `or` needs its next operand; otherwise the value is kept as result."""
        goes_on = self._calls.truth(value) is is_and
        if not goes_on:
            self._kept = value
        return goes_on

    def chain(self, sign: str, left: Any, right: Any) -> bool:
        """True if a chain of comparisons goes on, with `right` kept; else the result is kept."""
        found = self._calls.compare(sign, left, right)
        goes_on = self._calls.truth(found)
        self._kept = right if goes_on else found
        return goes_on

    def kept(self) -> Any:
        """The value that the last hook has kept."""
        found, self._kept = self._kept, None
        return found

    def unpack(self, value: Any, count: int, star: int | None) -> Any:
        """An iterator over a value that the function unpacks into `count` targets."""
        return self._calls.iterate(value)


class _Names:
    """An object whose attributes are names that the function assigns and deletes."""

    def __init__(self, store: Callable[[str, Any], None]) -> None:
        object.__setattr__(self, "_store", store)

    def __setattr__(self, name: str, value: Any) -> None:
        object.__getattribute__(self, "_store")(name, value)

    def __delattr__(self, name: str) -> None:
        object.__getattribute__(self, "_store")(name, MISSING)


class Target:
    """An object whose attributes and items the function stores or deletes."""

    __slots__ = ("_calls", "_owner")

    def __setattr__(self, name: str, value: Any) -> None:
        _calls_of(self).set_attribute(_owner_of(self), name, value)

    def __delattr__(self, name: str) -> None:
        _calls_of(self).set_attribute(_owner_of(self), name, MISSING)

    def __setitem__(self, key: Any, value: Any) -> None:
        _calls_of(self).set_item(_owner_of(self), key, value)

    def __delitem__(self, key: Any) -> None:
        _calls_of(self).set_item(_owner_of(self), key, MISSING)


_SLOTS: Final[Any] = vars(Target)
_put_calls, _calls_of = _SLOTS["_calls"].__set__, _SLOTS["_calls"].__get__
_put_owner, _owner_of = _SLOTS["_owner"].__set__, _SLOTS["_owner"].__get__


def _absolute(name: str, package: str, level: int) -> str:
    if not level:
        return name
    base = package.rsplit(".", level - 1)[0] if level > 1 else package
    return f"{base}.{name}" if name else base
