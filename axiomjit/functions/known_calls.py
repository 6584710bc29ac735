"""Kinds of calls: the side effects of a call of a function, class or method.

Functions of libraries are known by identity, not by name: the names in `libraries` are looked
up in the modules that the process has loaded.
"""

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, GenericAlias, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.records import Record
from axiomjit.functions import libraries
from axiomjit.functions.known_methods import (
    ALL,
    ASKED,
    NUMBERS,
    OF_METHODS,
    Role,
    is_generated,
    role_of,
)
from axiomjit.functions.libraries import (
    fortran_writes,
    is_fortran,
    is_library,
    is_multimethod,
    is_of_family,
    is_of_scipy,
    module_name,
    module_of,
    public_module,
    public_name,
    replaced_in,
)
from axiomjit.tracing.creation import replacement

Kwargs = Mapping[str, Any]


class Kind(Enum):
    """The largest effect that a call may have."""

    PURE = "gives a result, changes nothing and keeps nothing"
    ASKS = "pure, but for special methods of its arguments"
    REPLACED = "done by a function of ours"
    CALLBACK = "runs functions that it gets, or what it gives runs them"
    WRITER = "changes an argument"
    EFFECT = "writes a message and gives None"
    DRAW = "draws random numbers, or sets the state of a generator"
    WRAPPER = "done by another callable"
    USER = "code of the user's"
    IMPURE = "asks for a time, a file, entropy or the environment"
    REFUSED = "not known, or changes what the process has"


class Parameter(Record):
    """A parameter of a function; the first one of a method is the owner."""

    place: int | None
    """The position of the parameter; None for parameters that are given by name only."""
    name: str

    def of(self, args: Sequence[Any], kwargs: Kwargs) -> Any:
        """The argument of a call for this parameter; None if the call gives none."""
        if self.place is not None and self.place < len(args):
            return args[self.place]
        return kwargs.get(self.name)


class Write(Record):
    """A parameter whose argument a call changes, always or only for some values of a flag."""

    parameter: Parameter
    flag: Parameter | None = None
    unless: object = None
    """The value of the flag for which the call changes nothing. The call also changes nothing if
    the flag is None or not given.
    """

    def is_done(self, args: Sequence[Any], kwargs: Kwargs) -> bool:
        """True if a call with these arguments changes the argument of the parameter."""
        flag = None if self.flag is None else self.flag.of(args, kwargs)
        if self.flag is None or flag is None:
            return self.flag is None
        return not (type(flag) in (bool, int) and flag == self.unless)


class CallKind(Record):
    """The kind of calls of one function, class or method."""

    kind: Kind
    name: str = ""
    """The name of the function in messages."""
    inner: Any = None
    """The function that is called instead: a replacement of ours, or the function that a wrapper
    wraps.
    """
    writes: tuple[Write, ...] = ()
    functions: tuple[Parameter, ...] | None = ()
    """Parameters that are functions, or lists of functions; None if any argument may be a
    function.
    """
    asks: tuple[str, ...] = ALL
    """Special methods that a call may run on arguments; with `ALL` it may also read any
    attribute."""
    asks_entries: tuple[str, ...] = ALL
    """Special methods that a call may run on objects inside the arguments."""
    hook: tuple[str, ...] = ()
    """The name of the equivalent hook, and its first arguments; empty if there is no such hook."""
    depends: Callable[[CallKind, Sequence[Any], Kwargs], CallKind] | None = None
    """A function that returns the kind of a call, given this kind and the arguments of the call;
    None if the kind does not depend on arguments.
    """

    def with_arguments(self, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
        """The kind of the call with these arguments."""
        return self if self.depends is None else self.depends(self, args, kwargs)

    def changed(self, args: Sequence[Any], kwargs: Kwargs) -> list[Any]:
        """The objects among the arguments that a call changes."""
        found: list[Any] = []
        for write in self.writes:
            given = write.parameter.of(args, kwargs)
            if given is not None and write.is_done(args, kwargs):
                found += given if type(given) is tuple else [given]
        return [one for one in found if one is not None]

    def called(self, args: Sequence[Any], kwargs: Kwargs) -> list[Any]:
        """The functions that a call runs."""
        every = (*args, *kwargs.values())
        if self.functions is not None:
            every = tuple(parameter.of(args, kwargs) for parameter in self.functions)
        flat = [one for v in every for one in (v if type(v) in (list, tuple) else [v])]
        return [one for one in flat if callable(one)]


def kind_of_call(callee: Any, own: str = "") -> CallKind:
    """The kind of calls of a function, class, method or callable object; no user code runs.

    Args:
        callee: The callable object.
        own: The package of the traced function, whose code counts as the user's.
    """
    kind = type(callee)
    if kind is FunctionType and not is_library(callee, own):
        return _GENERATED if is_generated(callee) else _USER
    found = _TABLE.find(callee)
    if found is not None:
        return found
    if kind is FunctionType:
        inner = callee.__dict__.get("stands_for")
        return _unlisted(callee) if inner is None else CallKind(Kind.WRAPPER, inner.__name__, inner)
    if kind is MethodType:
        return _of_bound(callee, own)
    if issubclass(kind, type):
        return _of_class(callee, own)
    if issubclass(kind, np.ufunc):
        return _TABLE.ufunc(callee)
    if issubclass(kind, BuiltinFunctionType | types.MethodWrapperType):
        owner = callee.__self__
        if owner is None or issubclass(type(owner), ModuleType):
            return _unlisted(callee)
        holder = owner if issubclass(type(owner), type) else type(owner)
        return kind_of_method(holder, callee.__name__, own)
    if issubclass(kind, types.MethodDescriptorType | types.WrapperDescriptorType):
        return kind_of_method(callee.__objclass__, callee.__name__, own)
    return _of_instance(callee, own)


def kind_of_method(owner: type, name: str, own: str = "") -> CallKind:
    """The kind of calls of a method of a class; the owner counts as the first argument.

    Args:
        owner: The class of the owner; if the owner is a class, the owner itself.
        name: The method's name.
        own: The package of the traced function, whose code counts as the user's.
    """
    if is_library(owner, own):
        return _TABLE.method(owner, name)
    return _of_method(owner, name, own)


class CallTable:
    """The kinds of functions and classes of the modules that are loaded, by identity."""

    def __init__(self) -> None:
        """Start with the names to look up."""
        self._kinds: dict[int, CallKind] = {}
        self._held: list[Any] = []
        self._waiting = tuple(dict.fromkeys(_names_of_modules()))
        self._count = 0
        self._methods: dict[tuple[int, str], tuple[type, CallKind]] = {}

    def method(self, owner: type, name: str) -> CallKind:
        """The kind of calls of a method of a library's class."""
        found = self._methods.get((id(owner), name))
        if found is None:
            found = self._methods[id(owner), name] = owner, _of_method(owner, name, "")
        return found[1]

    def ufunc(self, ufunc: np.ufunc) -> CallKind:
        """The kind of calls of a ufunc; the table keeps no ufunc made by `frompyfunc` alive."""
        found = _of_ufunc(ufunc)
        if found.kind is not Kind.REFUSED:
            self._held.append(ufunc)
            self._kinds[id(ufunc)] = found
        return found

    def find(self, callee: Any) -> CallKind | None:
        """The kind of calls of an object; None if no table names the object."""
        found = self._kinds.get(id(callee))
        if found is None:
            if len(sys.modules) == self._count:
                return None
            self._look_up()
            found = self._kinds.get(id(callee))
        if found is _OF_NUMPY:
            found = self._kinds[id(callee)] = _with_outputs(callee, found)
        return found

    def _look_up(self) -> None:
        """Look up the names of modules that were loaded since the last time."""
        count = len(sys.modules)
        loaded = [name for name in self._waiting if name in sys.modules]
        for module in loaded:
            for name, kind in _kinds_of_module(module):
                held = vars(sys.modules[module]).get(name)
                known = held is not None and is_library(
                    held
                )  # the user's program may have replaced it
                if known and not isinstance(held, ModuleType | np.ufunc):
                    self._held.append(held)
                    self._kinds[id(held)] = kind
        self._waiting = tuple(name for name in self._waiting if name not in loaded)
        self._count = count
        for library in [one for one in replaced_in if one in sys.modules]:
            for held, name, ours in replaced_in.pop(library)():
                self._held.append(held)
                self._kinds[id(held)] = CallKind(Kind.WRAPPER, name, ours)


def _names_of_modules() -> Iterator[str]:
    names = libraries
    for table in (
        *(names.PURE, names.REFUSED, names.WRITERS, names.CALLBACKS, names.EFFECTS),
        *(names.IMPURE, names.SEEDED, ASKED),
    ):
        yield from table
    yield from ("numpy.fft", "math")


def _kinds_of_module(module: str) -> Iterator[tuple[str, CallKind]]:
    """Yield the functions of a module that are listed by name, with their kinds.

    If a name is listed twice, the later kind counts.
    """
    names = libraries
    yield from ((name, _pure(module, name)) for name in names.PURE.get(module, "").split())
    asked = ASKED.get(module, {})
    for name in asked:
        yield name, _asking(module, name, CallKind(Kind.ASKS, f"{module}.{name}"))
    for name in names.REFUSED.get(module, "").split():
        yield name, CallKind(Kind.REFUSED, _shown(module, name))
    for name in names.IMPURE.get(module, "").split():
        least = names.PURE_WITH.get(f"{module}.{name}")
        depends = None if least is None else functools.partial(_pure_with, least)
        yield name, CallKind(Kind.IMPURE, _shown(module, name), depends=depends)
    for name in names.SEEDED.get(module, "").split():
        yield name, CallKind(Kind.PURE, f"{module}.{name}", depends=_unless_seeded)
    for name in names.EFFECTS.get(module, "").split():
        yield name, _asking(module, name, CallKind(Kind.EFFECT, _shown(module, name)))
    yield from _writers_and_callbacks(module)
    if module in ("math", "cmath", "builtins", "numpy", "numpy.fft", "numpy.random"):
        yield from _replacements(module)


def _shown(module: str, name: str) -> str:
    return libraries.SHOWN.get(module, f"{module}.") + name


def _pure(module: str, name: str) -> CallKind:
    if module == "numpy" or module in ("numpy.linalg", "numpy.fft"):
        return _OF_NUMPY
    if module in ("math", "cmath"):
        return CallKind(Kind.PURE, f"{module}.{name}", asks=(*NUMBERS, "__iter__", "__len__"))
    return CallKind(Kind.PURE, f"{module}.{name}")


def _asking(module: str, name: str, kind: CallKind) -> CallKind:
    """The kind, completed by a function's writes, equivalent hook, and called special methods."""
    found = ASKED.get(module, {}).get(name)
    if found is not None:
        kind = kind.replace(asks=found[0], asks_entries=found[1])
    if module == "operator" and name in libraries.OPERATORS:
        kind = kind.replace(hook=libraries.OPERATORS[name])
        if kind.hook[0] in ("in_place", "set item", "delete item"):
            kind = kind.replace(kind=Kind.WRITER, writes=(Write(Parameter(0, "a")),))
    if module == "builtins" and name in ("setattr", "delattr"):
        kind = kind.replace(kind=Kind.WRITER, writes=(Write(Parameter(0, "obj")),))
    if module == "builtins" and name in _DEPENDING:
        kind = kind.replace(depends=_DEPENDING[name])
    return kind


def _writers_and_callbacks(module: str) -> Iterator[tuple[str, CallKind]]:
    names = libraries
    changed = dict(_parameters_of(names.WRITERS.get(module, "")))
    called = dict(_parameters_of(names.CALLBACKS.get(module, "")))
    if module == "builtins":
        called |= dict.fromkeys(("sorted", "min", "max"), Parameter(None, "key"))
    for name in {**changed, **called}:
        kind = CallKind(Kind.WRITER if name in changed else Kind.CALLBACK, f"{module}.{name}")
        kind = _asking(module, name, kind)
        if name in changed:
            kind = kind.replace(writes=(Write(changed[name]),))
        if name in called:
            kind = kind.replace(functions=(called[name],))
        yield name, kind


def _parameters_of(words: str) -> Iterator[tuple[str, Parameter]]:
    """Yield the function and the parameter that each word `function:parameter:place` names."""
    for word in words.split():
        function, name, *place = word.split(":")
        at = place[0] if place else "0"
        yield function, Parameter(None if at == "-" else int(at), name)


def _replacements(module: str) -> Iterator[tuple[str, CallKind]]:
    """Yield the functions of a module that are replaced by ours, each with its kind."""
    for name, held in vars(sys.modules[module]).items():
        ours = None
        if not name.startswith("_") and callable(held) and hasattr(held, "__name__"):
            ours = replacement(held) if isinstance(held.__module__, str) else None
        if ours is None:
            continue
        kind = CallKind(Kind.REPLACED, f"{module}.{name}", ours)
        if held is np.fromfunction:
            kind = kind.replace(functions=(Parameter(0, "function"),))
        if held is len:
            kind = _asking(module, name, kind)
        if module in ("math", "cmath"):
            kind = kind.replace(asks=NUMBERS)
        if module == "numpy":
            kind = kind.replace(depends=_unless_now)
        yield name, kind


# Kinds that depend on the arguments


def _pure_with(least: int, kind: CallKind, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
    return kind.replace(kind=Kind.PURE) if len(args) + len(kwargs) >= least else kind


def _unless_seeded(kind: CallKind, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
    if all(one is None for one in (*args, *kwargs.values())):
        return kind.replace(kind=Kind.IMPURE, name=f"{kind.name}()")
    return kind


def _unless_now(kind: CallKind, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
    """The kind of a call with dates, which reads the clock if an argument is "now" or "today"."""
    waiting = [*args, *kwargs.values()]
    while waiting:
        one = waiting.pop()
        if type(one) is str and one in ("now", "today"):
            return kind.replace(kind=Kind.IMPURE, name=f"{kind.name}({one!r})")
        if type(one) in (list, tuple):
            waiting += one
    return kind


def _type_call(kind: CallKind, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
    """Refuse `type` with three arguments, which makes a class."""
    return kind if len(args) == 1 else CallKind(Kind.REFUSED, "type")


def _iter_call(kind: CallKind, args: Sequence[Any], kwargs: Kwargs) -> CallKind:
    """The kind of `iter`, which with two arguments calls the first one."""
    if len(args) < 2:
        return kind
    return kind.replace(kind=Kind.CALLBACK, functions=(Parameter(0, "object"),))


_DEPENDING: Final = {"type": _type_call, "iter": _iter_call}
_OF_NUMPY: Final = CallKind(Kind.PURE, "a function of NumPy's", depends=_unless_now)
"""A key that stands for NumPy's functions until their kinds are looked up."""


# Functions, classes and objects that no table names


def _with_outputs(function: Any, kind: CallKind) -> CallKind:
    """The kind with writes of the parameters for results (such as `out`) added."""
    name = f"{module_of(function)}.{getattr(function, '__name__', '')}"
    return kind.replace(name=name, writes=_outputs(function))


_OUT_PLACES: Final = {"dot": 2, "concatenate": 2, "take": 3, "choose": 2, "compress": 3}


_OUT_NAMES: Final = {"scipy.ndimage": ("output", "distances", "indices")}
"""The names of parameters for results in some public modules; other modules have only `out`."""


def _outputs(function: Any) -> tuple[Write, ...]:
    name, every = getattr(function, "__name__", ""), _every_parameter(function)
    places = {one.name.lower(): one for one in every}
    found = []
    for at in every:
        one = at.name
        if one in _OUT_NAMES.get(public_module(module_name(function)), ("out",)):
            found.append(Write(at))
        elif one == "overwrite_input" or (name == "nan_to_num" and one == "copy"):
            found.append(Write(every[0], at, one == "copy"))
        elif one.startswith("overwrite_"):
            target = one.removeprefix("overwrite_").lower()
            found.append(Write(places.get(target, every[0]), at, False))
    if "out" not in places:
        found.append(Write(Parameter(_OUT_PLACES.get(name), "out")))
    return tuple(found)


def _every_parameter(function: Any) -> list[Parameter]:
    """The parameters of a function; empty if it has no signature."""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return []
    placed = [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    named = [p.name for p in given if p.kind is p.KEYWORD_ONLY]
    return [*(Parameter(k, n) for k, n in enumerate(placed)), *(Parameter(None, n) for n in named)]


@functools.lru_cache(maxsize=512)
def _unlisted(callee: Any) -> CallKind:
    """The kind of a callable that no table names: pure in some packages, else unknown."""
    module = module_name(callee) if is_multimethod(callee) else module_of(callee)
    name = str(getattr(callee, "__name__", type(callee).__name__))
    owner = _class_of(callee, module, name)
    if owner is not None:
        return kind_of_method(owner, name)
    shown = public_name(callee) if is_of_scipy(callee) else f"{module}.{name}"
    denied = libraries.DENIED
    top = ".".join(module.split(".")[:2])
    words = f"{denied.get(module, '')} {denied.get(top, '')}".split()
    if not is_of_family(module) or "*" in words or name in words:
        return CallKind(Kind.REFUSED, shown)
    names = {parameter.name for parameter in _every_parameter(callee)}
    if not isinstance(callee, type) and names & libraries.DRAWING:
        return CallKind(Kind.REFUSED, shown)
    return CallKind(Kind.PURE, shown, writes=_outputs(callee), functions=None)


@functools.lru_cache(maxsize=512)
def _of_fortran(callee: Any) -> CallKind:
    """The kind of a function of SciPy's that f2py has wrapped."""
    writes = []
    for place, name, flag_place, flag in fortran_writes(callee):
        when = None if flag_place is None else Parameter(flag_place, flag)
        writes.append(Write(Parameter(place, name), when, False))
    return CallKind(Kind.PURE, public_name(callee), writes=tuple(writes))


def _class_of(function: Any, module: str, name: str) -> type | None:
    """The class that has a function as its method; None for other functions."""
    path = str(getattr(function, "__qualname__", "")).split(".")
    found: Any = sys.modules.get(module)
    for part in path[:-1]:
        found = None if found is None else vars(found).get(part)
    if not isinstance(found, type):
        return None
    return found if vars(found).get(name) is function else None


def _of_bound(method: MethodType, own: str) -> CallKind:
    """The kind of a method bound to an object; the user or a library may define the method."""
    function: Any = method.__func__
    owner: Any = method.__self__
    if not is_library(function, own):
        return CallKind(Kind.WRAPPER, "a method", function)
    name = str(getattr(function, "__name__", ""))
    return kind_of_method(owner if issubclass(type(owner), type) else type(owner), name, own)


def _of_ufunc(ufunc: np.ufunc) -> CallKind:
    name = f"numpy.{ufunc.__name__}"
    if ufunc.__name__.endswith("(vectorized)"):  # it calls a Python function
        return CallKind(Kind.REFUSED, name)
    outputs = (Write(Parameter(ufunc.nin + n, "out")) for n in range(ufunc.nout))
    return CallKind(Kind.PURE, name, writes=tuple(outputs))


def _of_class(kind: Any, own: str) -> CallKind:
    """The kind of the call that makes an instance of a class outside the tables."""
    shown = f"{kind.__module__}.{kind.__qualname__}"
    library = is_library(kind, own)
    if issubclass(kind, np.generic) and library:
        return CallKind(Kind.PURE, shown, depends=_unless_now)
    if library:
        pure = issubclass(kind, BaseException | Enum)
        return _GENERATED if pure else _unlisted(kind)
    if issubclass(kind, Enum):
        missing = role_of(kind, "_missing_", own)
        return CallKind(Kind.REFUSED if missing is Role.USER else Kind.PURE, shown)
    if issubclass(kind, BaseException | tuple) and not _has_own_start(kind, own):
        return _GENERATED
    foreign = [b for b in kind.__mro__ if b is not object and is_library(b, own)]
    known = all(_is_known_base(base) for base in foreign)
    return _USER if known else CallKind(Kind.REFUSED, shown)


def _has_own_start(kind: type, own: str) -> bool:
    """True if making an instance runs the user's code."""
    for name in ("__new__", "__init__"):
        held = next(vars(base)[name] for base in kind.__mro__ if name in vars(base))
        held = held.__func__ if isinstance(held, staticmethod) else held
        if isinstance(held, FunctionType) and not (is_library(held, own) or is_generated(held)):
            return True
    return False


def _is_known_base(base: type) -> bool:
    if issubclass(base, BaseException):
        return True
    kind = kind_of_call(base).kind
    return kind in (Kind.PURE, Kind.ASKS, Kind.CALLBACK, Kind.WRAPPER)


def _of_instance(callee: Any, own: str) -> CallKind:
    """The kind of an object with a `__call__`."""
    kind = type(callee)
    if is_fortran(callee):
        return _of_fortran(callee)
    if is_multimethod(callee):
        return _unlisted(callee)
    if issubclass(kind, NativeCallable):
        inner = getattr(callee, "_function", None)
        return CallKind(Kind.WRAPPER if inner else Kind.PURE, "a compiled function", inner)
    if issubclass(kind, functools.partial):
        return CallKind(Kind.WRAPPER, "functools.partial", callee.func)
    if issubclass(kind, functools._lru_cache_wrapper):
        return CallKind(Kind.WRAPPER, "functools.lru_cache", callee.__wrapped__)
    if issubclass(kind, GenericAlias) or kind.__module__ == "typing":
        inner = getattr(callee, "__origin__", None)
        if isinstance(inner, type):
            return CallKind(Kind.WRAPPER, inner.__qualname__, inner)
    if issubclass(kind, np.vectorize):
        return CallKind(Kind.CALLBACK, "numpy.vectorize", callee.pyfunc)
    if kind.__module__ == "operator" and kind.__name__ in ("itemgetter", "attrgetter"):
        item = kind.__name__ == "itemgetter"
        asked = ("__getitem__",) if item else ("__getattribute__", "__getattr__", "__get__")
        return CallKind(Kind.ASKS, f"operator.{kind.__name__}", asks=asked, asks_entries=asked)
    if kind.__module__.startswith("_cython"):  # a compiled function of Cython
        return _unlisted(callee)
    if kind.__module__ == "numpy" and kind.__name__ == "_ArrayFunctionDispatcher":
        return _unlisted(callee)
    return kind_of_method(kind, "__call__", own)


# Methods


_NDARRAY_OUT: Final = {
    **dict.fromkeys(("conj", "conjugate"), 1),
    **dict.fromkeys(("argmax", "argmin", "any", "all", "max", "min", "round", "choose", "dot"), 2),
    **dict.fromkeys(("sum", "prod", "mean", "std", "var", "cumsum", "cumprod"), 3),
    **dict.fromkeys(("clip", "take", "compress"), 3),
    "trace": 5,
    "ptp": 2,
}
_UFUNC_OUT: Final = {"reduce": 4, "accumulate": 4, "reduceat": 5, "outer": None}
_ROLES: Final = {
    Role.PURE: Kind.PURE,
    Role.WRITE: Kind.WRITER,
    Role.EFFECT: Kind.EFFECT,
    Role.DRAW: Kind.DRAW,
    Role.IMPURE: Kind.IMPURE,
    Role.USER: Kind.USER,
    None: Kind.REFUSED,
}


def _of_method(owner: type, name: str, own: str) -> CallKind:
    role = role_of(owner, name, own)
    kind = CallKind(_ROLES[role], f"{owner.__name__}.{name}")
    if owner.__module__ == "os" and role is Role.IMPURE:
        kind = kind.replace(name=f"os.environ.{name}")
    if role in (Role.WRITE, Role.EFFECT):
        kind = kind.replace(writes=(Write(Parameter(0, "self")),))
    if role is Role.PURE and issubclass(owner, np.ndarray | np.generic | np.ufunc):
        kind = kind.replace(**_of_array_method(owner, name))
    if role is Role.DRAW and name == "shuffle":
        kind = kind.replace(writes=(Write(Parameter(1, "x")),))
    if role is Role.DRAW:
        kind = kind.replace(writes=(*kind.writes, Write(Parameter(None, "out"))))
    builtin = owner.__module__ in ("builtins", "collections")
    if builtin and name in OF_METHODS:
        asks, entries = OF_METHODS[name]
        kind = kind.replace(asks=asks, asks_entries=entries)
    if name == "sort" and issubclass(owner, list):
        kind = kind.replace(functions=(Parameter(None, "key"),))
    if owner.__module__ == "re" and name in ("sub", "subn"):
        kind = kind.replace(kind=Kind.CALLBACK, functions=(Parameter(1, "repl"),))
    if owner.__module__.startswith("scipy"):
        kind = kind.replace(functions=None)
    if owner.__module__ == "random" and name == "shuffle":
        kind = kind.replace(writes=(*kind.writes, Write(Parameter(1, "x"))))
    if owner.__name__ == "Struct" and name == "pack_into":
        kind = kind.replace(kind=Kind.WRITER, writes=(Write(Parameter(1, "buffer")),))
    return kind


def _of_array_method(owner: type, name: str) -> dict[str, Any]:
    """Fields of the kind of a method of arrays or ufuncs: its writes, results included."""
    if issubclass(owner, np.ufunc):
        if name == "at":
            return {"kind": Kind.WRITER, "writes": (Write(Parameter(1, "a")),)}
        return {"writes": (Write(Parameter(_UFUNC_OUT.get(name), "out")),)}
    if name == "byteswap":
        return {"writes": (Write(Parameter(0, "self"), Parameter(1, "inplace"), False),)}
    if name in _NDARRAY_OUT:
        return {"writes": (Write(Parameter(_NDARRAY_OUT[name], "out")),)}
    return {}


_USER: Final = CallKind(Kind.USER)
_GENERATED: Final = CallKind(
    Kind.PURE, "a class", asks=("__index__", "__iter__", "__len__"), asks_entries=()
)
"""The kind of named tuples and exceptions, which store their arguments."""
_TABLE: Final = CallTable()
