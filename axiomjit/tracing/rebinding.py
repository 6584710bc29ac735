"""Copies of a user's functions in which some names have other values: ours, for NumPy's functions.

Python says nothing when `np.zeros(n)` is called, so what is followed is a copy of the function: its
global names and closures, and the functions of the user's that it calls, have our functions in the
place of NumPy's. The code, and so the user's lines, stay the same. What is followed assigns to no
global name and to no variable of an enclosing function (`axiomjit.tracing.effects`).

Methods of objects and functions in containers are called as they are.
"""

from __future__ import annotations

import dis
import functools
from collections.abc import Callable, Collection, Iterator
from types import CellType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

from axiomjit.base.origins import is_library_code

MOST: Final = 200
"""The most functions that are copied; others are called as they are."""
_EMPTY: Final = object()


class Rebinding:
    """Copies of functions, in which other values stand for some."""

    def __init__(
        self,
        replaced: Callable[[Any], Any],
        is_represented: Callable[[object], bool] = lambda value: False,
        represent: Callable[[Any], Any] = lambda value: value,
        modules: Collection[str] = (),
        replaced_builtin: Callable[[str], Any] = lambda name: None,
        plain: Callable[[Any], Any] = lambda value: value,
    ) -> None:
        """Start without copies.

        Args:
            replaced: Our function for one of NumPy's or of `modules`; the same one where there is
                none.
            is_represented: Whether something else stands for an object and its methods.
            represent: What that is.
            modules: Modules of Python's library whose functions are replaced, too.
            replaced_builtin: Our function for what Python finds under a name, None for none.
            plain: What a value that was made of such values is outside.
        """
        self._known = frozenset({"numpy", *modules})
        self._replaced_builtin = replaced_builtin
        self._replaced, self._plain = replaced, plain
        self._is_represented, self._represent = is_represented, represent
        self._standing: dict[int, tuple[Any, Any]] = {}
        self._copies: dict[int, tuple[FunctionType, FunctionType]] = {}
        self._modules: dict[int, _Names] = {}
        self._spaces: dict[int, tuple[dict[str, Any], dict[str, Any]]] = {}

    def value(self, value: Any) -> Any:
        """What stands for a value: a copy of a function or module, ours for NumPy's, or itself."""
        kind = type(value)
        if self._is_represented(value):
            made = self._standing.get(id(value)) or (value, self._represent(value))
            return self._standing.setdefault(id(value), made)[1]
        if kind is MethodType and self._is_represented(value.__self__):
            return getattr(self.value(value.__self__), value.__name__)
        if kind is FunctionType and self._is_copied(value):
            return self._copied(value)
        if kind is MethodType and self._is_copied(value.__func__):
            return MethodType(self.value(value.__func__), self.value(value.__self__))
        if kind is functools.partial:
            return functools.partial(self.value(value.func), *value.args, **value.keywords)
        if kind is ModuleType:
            named = value.__name__ in self._known or value.__name__ == "numpy.random"
            shown = named or not is_library_code(value)
            return self._modules.setdefault(id(value), _Names(value, self)) if shown else value
        return self._replaced(value) if self._is_known(value) else value

    def original(self, value: object) -> object:
        """The function of which a value is the copy, what it stands for; others themselves."""
        pairs = (*self._copies.values(), *self._standing.values())
        return next((old for old, new in pairs if new is value), self._plain(value))

    def _is_copied(self, function: FunctionType) -> bool:
        return not is_library_code(function) and (
            id(function) in self._copies or len(self._copies) < MOST
        )

    def _copied(self, function: FunctionType) -> FunctionType:
        if id(function) in self._copies:
            return self._copies[id(function)][1]
        original, space = self._space(function.__globals__)
        closure = tuple(map(self._cell, function.__closure__ or ()))
        copy = FunctionType(function.__code__, space, function.__name__, None, closure or None)
        self._copies[id(function)] = function, copy  # before its names: it may call itself
        copy.__dict__ = function.__dict__
        copy.__module__, copy.__qualname__ = function.__module__, function.__qualname__
        copy.__defaults__ = function.__defaults__ and tuple(map(self.value, function.__defaults__))
        given = function.__kwdefaults__ or {}
        copy.__kwdefaults__ = {name: self.value(value) for name, value in given.items()}
        for name in set(names_of(function.__code__)) & original.keys():
            if space[name] is original[name]:
                space[name] = self.value(original[name])
        for name in set(names_of(function.__code__)) - original.keys() - space.keys():
            ours = self._replaced_builtin(name)
            if ours is not None:
                space[name] = ours
        for cell, new in zip(function.__closure__ or (), closure, strict=True):
            if new is not cell:
                new.cell_contents = self.value(cell.cell_contents)
        return copy

    def _space(self, names: dict[str, Any]) -> tuple[dict[str, Any], ...]:
        """The global names of a module, and their copy."""
        if id(names) not in self._spaces:
            self._spaces[id(names)] = names, dict(names)
        return self._spaces[id(names)]

    def _cell(self, cell: CellType) -> CellType:
        """The same variable, unless what is in it has a copy."""
        content = _contents(cell)
        kinds = (FunctionType, MethodType, functools.partial, ModuleType)
        own = issubclass(type(content), kinds) or self._is_represented(content)
        return CellType() if own or self._is_known(content) else cell

    def _is_known(self, value: object) -> bool:
        """Whether a function or class is one that may be replaced."""
        module = getattr(value, "__module__", None)
        known = isinstance(module, str) and module.partition(".")[0] in self._known
        return known and callable(value)


class _Names(ModuleType):
    """A module as copies of functions see it."""

    def __init__(self, module: ModuleType, rebinding: Rebinding) -> None:
        super().__init__(module.__name__, module.__doc__)
        self.__dict__.update(_axiomjit=(module, rebinding.value))
        for name in ("__file__", "__path__", "__package__", "__spec__"):
            self.__dict__.pop(name, None)

    def __getattr__(self, name: str) -> Any:
        module, value = self.__dict__["_axiomjit"]
        return value(getattr(module, name))

    def __setattr__(self, name: str, value: object) -> None:
        setattr(self.__dict__["_axiomjit"][0], name, value)

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_axiomjit"][0])


def _contents(cell: CellType) -> object:
    try:
        return cell.cell_contents
    except ValueError:  # nothing is assigned to it yet
        return _EMPTY


def names_of(code: CodeType) -> Iterator[str]:
    """Names of globals and attributes in a function and in those that it defines."""
    yield from code.co_names
    for part in code.co_consts:
        if isinstance(part, CodeType):
            yield from names_of(part)


def mentions(
    function: object, names: frozenset[str], is_represented: Callable[[object], bool]
) -> bool:
    """Whether a function of the user's, or one that it calls by name, mentions one of the names.

    Or it has an object, or a method of one, for which another one stands.
    """
    waiting: list[object] = [function]
    seen: dict[int, object] = {}
    while waiting and len(seen) < MOST:
        one: Any = waiting.pop()
        if id(one) in seen:
            continue
        seen[id(one)] = one
        if is_represented(one.__self__ if isinstance(one, MethodType) else one):
            return True
        if isinstance(one, MethodType):
            waiting.append(one.__func__)
        elif type(one) is functools.partial:
            waiting.append(one.func)
        elif isinstance(one, FunctionType) and not is_library_code(one):
            own = set(names_of(one.__code__)) | set(one.__code__.co_freevars)
            if own & names:
                return True
            waiting += _called(one, own)
    return False


def handles_errors(function: object) -> bool:
    """Whether a function of the user's, or one that it calls by name, may catch errors."""

    def handles(value: object) -> bool:
        own = isinstance(value, FunctionType) and not is_library_code(value)
        return own and bool(value.__code__.co_exceptiontable)  # type: ignore[attr-defined]

    return mentions(function, frozenset(), handles)


def compares_identity(function: object) -> bool:
    """Whether a function of the user's, or one that it calls by name, uses `is`, `in` or `id`."""

    def compares(value: object) -> bool:
        own = isinstance(value, FunctionType) and not is_library_code(value)
        return own and _has_identity(value.__code__)  # type: ignore[attr-defined]

    return mentions(function, frozenset({"id", "is_", "is_not"}), compares)


def _has_identity(code: CodeType) -> bool:
    """Whether code compares objects, and not only with a constant such as None."""
    before = None
    for step in dis.get_instructions(code):
        if step.opname == "CONTAINS_OP" or (step.opname == "IS_OP" and before != "LOAD_CONST"):
            return True
        before = step.opname
    return any(_has_identity(one) for one in code.co_consts if isinstance(one, CodeType))


def _called(function: FunctionType, names: set[str]) -> Iterator[object]:
    """What a function may call: by its global names, its closure, and names in modules."""
    values = [function.__globals__[name] for name in names & function.__globals__.keys()]
    values += [_contents(cell) for cell in function.__closure__ or ()]
    values += function.__defaults__ or ()
    for value in values:
        if type(value) is ModuleType and not is_library_code(value):
            yield from (vars(value)[name] for name in names & vars(value).keys())
        else:
            yield value
