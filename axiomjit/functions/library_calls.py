"""Calls of functions and classes of Python's library, NumPy and others, in a traced function."""

from __future__ import annotations

import dataclasses
import functools
import operator
import warnings
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.errors import ImpureError, NeedsValuesError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import refused
from axiomjit.base.tree import is_labelled
from axiomjit.functions.array_calls import call_numpy, first_traced, writing
from axiomjit.functions.calls import Calls
from axiomjit.functions.known_calls import CallKind, Kind, kind_of_call
from axiomjit.functions.known_methods import ALL, COMPARISONS
from axiomjit.functions.libraries import is_object, is_step, is_users, public_name
from axiomjit.functions.objects import is_plain
from axiomjit.functions.operators import BINARY, has_methods
from axiomjit.functions.outside import (
    container_kind,
    in_region,
    is_container,
    refuse,
    refuse_in_region,
)
from axiomjit.functions.sources import MISSING, Fixed, Is, static_attribute
from axiomjit.functions.texts import RECORDED, Text, is_computed, joined
from axiomjit.functions.texts import known as known_text
from axiomjit.functions.transforms import FORMS
from axiomjit.tracing.generators import is_generator
from axiomjit.tracing.lengths import SymbolicNumber, converted, known_numbers
from axiomjit.tracing.operators import leaves_in, traced_in
from axiomjit.tracing.refusals import refuse_value

_NONE: Final = object()
_NOT_GENERATED: Final = frozenset(ALL) - {*COMPARISONS, "__repr__", "__hash__"}
"""Special methods that Python does not generate for dataclasses."""


class LibraryCalls(Calls):
    """Traces calls of library functions."""

    filters = 0
    """The number of open blocks that restore the filters of warnings at their end."""

    def library(self, function: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Call a function or class that is not the user's."""
        if in_region():
            lazy_import("axiomjit.functions.loop_hooks").refuse_changes(
                self, function, args, kwargs
            )
        special = _OURS.get(id(function))
        if special is not None:
            found = special(self, *args, **kwargs)
            if found is not NotImplemented:
                return found
        form = FORMS.get(id(function))
        if form is not None:
            named = dict(zip(kwargs, self.opened(kwargs.values()), strict=True))
            return form(self.call_opened, *self.opened(args), **named)
        if isinstance(function, operator.itemgetter | operator.attrgetter):
            return self._get_parts(function, *args)
        known = kind_of_call(function).with_arguments(args, kwargs)
        hook = _HOOKS.get(known.hook[0]) if known.hook else None
        if hook is not None:
            return hook(self, *known.hook[1:], *args, **kwargs)
        if known.kind in (Kind.PURE, Kind.ASKS, Kind.REPLACED):
            self._refuse_hidden(known, args, kwargs)
        found = _BY_KIND[known.kind](self, known, function, args, kwargs)
        if is_generator(found) or hasattr(type(found), "random_raw"):
            return self._made_generator(found, (*args, *kwargs.values()))
        return found

    def _made_generator(self, made: Any, given: Sequence[Any]) -> Any:
        """The object for a generator of random numbers, or a source of bits, that was made.

        Raises:
            NeedsValuesError: the generator uses a source of bits from outside the function.
        """
        if self.outside.is_outside(made):
            return made
        bits = made._bit_generator if is_generator(made) else made
        if id(bits) in self.made_generators or bits is made:
            self.made_generators[id(made)] = made
            return made
        if any(one is bits for one in given):
            refuse_draw(f"makes a {type(made).__name__} with a source of bits from outside")
        return lazy_import("axiomjit.tracing.traced_random").TracedGenerator(made, True)

    def _get_parts(self, getter: Any, owner: Any) -> Any:
        """The result of a call of an `operator.itemgetter` or `operator.attrgetter`."""
        keys = getter.__reduce__()[1]
        if isinstance(getter, operator.itemgetter):
            found = [self.item(owner, key) for key in keys]
        else:
            found = [functools.reduce(self.attribute, key.split("."), owner) for key in keys]
        return found[0] if len(found) == 1 else tuple(found)

    def library_method(
        self, owner: Any, name: str, found: Any, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Call a method written in C of an object whose class is a library's class."""
        if not isinstance(owner, ModuleType | type):
            refuse_in_region(f"{name} of a {type(owner).__name__}")
        known = kind_of_call(found)
        free = isinstance(owner, ModuleType | type) or known.kind is Kind.EFFECT
        if self.outside.is_outside(owner) and not free:
            if type(owner).__module__ == "random":
                refuse_draw(f"calls {name} of a {type(owner).__name__} that lives on outside it")
            refuse(f"calls {name} of a {type(owner).__name__}, which lives on outside it")
        return self.library(found, args, kwargs)

    def _run(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        """Call a function that changes nothing."""
        if is_step(function, args, kwargs):
            return self._call_scipy(known, function, args, kwargs)
        if isinstance(function, type) and any(map(self._is_container, (*args, *kwargs.values()))):
            if issubclass(function, BaseException | SimpleNamespace):
                return function(*args, **kwargs)
            if function not in _COPYING and not hasattr(function, "__next__"):
                refuse(f"gives what lives on outside it to {known.name}, which may keep it")
        given = [self._askable(one, known) for one in args]
        named = {key: self._askable(value, known) for key, value in kwargs.items()}
        if known.name.startswith("numpy.random."):  # the argument is a seed
            given = known_numbers(given)
            named = {key: known_numbers(value) for key, value in named.items()}
        return self.known.note(call_numpy(function, given, named))

    def keep_identity(self, value: Any) -> None:
        """Add a guard: an object from outside must be the identical object in later calls."""
        source = self.outside.source_of(value)
        if source is not None and not isinstance(source, Fixed):
            self.outside.require(Is(source, self.outside.original(value)))

    def operator_of_library(self, sign: str, left: Any, right: Any) -> Any:
        """The result of an operator on a traced array and an object of SciPy (a sparse matrix)."""
        owner = left if is_object(left) else right
        known = CallKind(Kind.PURE, f"{public_name(type(owner))} {sign} array")
        return self._call_scipy(known, BINARY[sign], (left, right), {})

    def _call_scipy(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        late = lazy_import("axiomjit.functions.scipy_calls")
        return self.known.note(late.call_scipy(self, known, function, args, kwargs))

    def _refuse_hidden(self, known: CallKind, args: Any, kwargs: Any) -> None:
        """End the trace if a call may run users' methods or write outside objects."""
        for one in (*args, *kwargs.values()):
            if self._entries_have(one, *_NOT_GENERATED.intersection(known.asks_entries)):
                refuse(f"gives {known.name} a container of objects whose methods it may call")
        overwrites = known.replace(writes=tuple(w for w in known.writes if w.flag is not None))
        if any(map(self.outside.is_outside, overwrites.changed(args, kwargs))):
            refuse(f"calls {known.name}, which overwrites what lives on outside it")

    def _askable(self, value: Any, known: CallKind) -> Any:
        """The argument for a library's function; refused if the function may read its parts."""
        if is_users(type(value)) and not is_plain(value):
            reads = self.outside.is_outside(value) and known.name not in _ASK_FOR_CLASSES
            if reads or known.kind is not Kind.PURE:
                kind = type(value).__name__
                refuse(f"gives a {kind} to {known.name}, which may ask for its parts or methods")
        return self.given(value)

    def _replaced(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        given = [self.given(one) for one in args]
        named = {key: self.given(v) for key, v in kwargs.items()}
        if hasattr(function, "_implementation") and first_traced([given]) is not None:
            return call_numpy(function, given, named)
        symbolic = any(isinstance(one, SymbolicNumber) for one in leaves_in((*given, named)))
        makes = function if self.outside.wanted.known_made and not symbolic else known.inner
        return self.known.note(makes(*given, **named))

    def _with_callbacks(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        given = [self._callback(one) for one in args]
        return function(*given, **{key: self._callback(v) for key, v in kwargs.items()})

    def _writing(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        changed = known.changed(args, kwargs)
        if not any(self.outside.is_outside(one) and is_container(one) for one in changed):
            for one in changed:
                if self.outside.is_outside(one) and not is_plain(one):
                    refuse(f"calls {known.name}, which changes what lives on outside it")
            given = [self.given(one) for one in args]
            if first_traced(given) is not None:
                for one in changed:
                    self.known.want_traced(one)
            return writing(function, *given, **{k: self.given(v) for k, v in kwargs.items()})
        if len(changed) > 1 or changed[0] is not args[0] or kwargs:
            refuse(f"calls {known.name}, which changes a container that lives on outside it")
        owner, *rest = args
        stored = [self.given(one) for one in rest]
        found = function(self.outside.whole(owner), *stored)
        self.outside.effect("function", owner, function, tuple(stored))
        return found

    def _effect(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        if kwargs.keys() - {"sep", "end", "flush", "file"} or kwargs.get("file") is not None:
            refuse(f"calls {known.name} with options that are not known")
        owner = getattr(function, "__self__", None)
        if hasattr(type(owner), "write"):
            return self._written(known, function, owner, args)
        values = tuple(self.shown(one) for one in args)
        called = functools.partial(function, **kwargs) if kwargs else function
        self.outside.effect("call", None, called, values)
        return None

    def _written(self, known: CallKind, function: Any, owner: Any, args: Any) -> Any:
        """Trace a write of texts into a stream; a write to an outside stream becomes an effect."""
        if not self.outside.is_outside(owner):
            return function(*map(self.given, args))
        values = tuple(self.shown(one) for one in args)
        self.outside.effect("method", owner, function.__name__, values)
        return len(values[0]) if function.__name__ == "write" else None

    def shown(self, value: Any) -> Any:
        """A copy of a value in its present state, to be shown as text later."""
        if type(value) is Text:
            return value
        if is_users(type(value)) and not is_plain(value):
            return self.text(value, 115)
        given = self.given(value)
        if is_container(given):
            return self._copied(given)
        return np.copy(given) if isinstance(given, np.ndarray) else given

    def _copied(self, value: Any) -> Any:
        entries = [
            self.shown(one) for one in (value.values() if isinstance(value, dict) else value)
        ]
        if isinstance(value, dict):
            return type(value)(zip(value, entries, strict=True))
        return type(value)(entries)

    def _wrapped(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        return self.call(known.inner, *args, **kwargs)

    def _draw(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        owner = getattr(function, "__self__", None)
        if owner is None:  # the method of a class, called with its owner
            owner, *args = args
        return self.method(owner, function.__name__, *args, **kwargs)

    def _impure(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        raise refused(
            ImpureError(
                f"{known.name} in a function that is followed once for all calls",
                "what it gives at that time, which every call would get",
                "call it outside and pass what it gives as an argument",
                user_location(),
            )
        )

    def _refused(self, known: CallKind, function: Any, args: Any, kwargs: Any) -> Any:
        name = known.name or getattr(function, "__qualname__", type(function).__name__)
        if name.startswith("random."):
            refuse_draw(f"calls {name}")
        refuse(f"calls {name}, which is not known")

    # Statements

    def context(self, manager: Any) -> Any:
        """The traced form of the context manager of a `with` statement."""
        if type(manager) is warnings.catch_warnings and not self.outside.is_outside(manager):
            return self._filtered(manager)
        enter = self._special(manager, "__enter__")
        if enter is not MISSING:
            return _Managed(self, manager, enter)
        if self.outside.is_outside(manager):
            refuse(f"enters a {type(manager).__name__}, which lives on outside it")
        return manager

    @contextmanager
    def _filtered(self, manager: Any) -> Iterator[Any]:
        """A context in which filters of warnings may be set; its end restores the filters."""
        self.filters += 1
        try:
            with manager as found:
                yield found
        finally:
            self.filters -= 1

    def _set_filter(self, function: Any, *args: Any, **kwargs: Any) -> None:
        if not self.filters:
            refuse(f"calls warnings.{function.__name__}, which changes what others see")
        function(*args, **kwargs)

    def mapping(self, value: Any) -> Any:
        """The mapping after `**` in a call, with traced values."""
        kind = type(value)
        is_dict = container_kind(kind) in (dict, defaultdict)
        if is_users(kind) and not (is_dict and not self._overrides(kind, "__iter__")):
            # Python reads the entries of other dicts without methods of their class
            return {key: self.item(value, key) for key in self.iterate(self.method(value, "keys"))}
        self.refuse_hidden(value)
        return self.outside.whole(value) if self._is_container(value) else value

    def _is_container(self, value: Any) -> bool:
        return is_container(value) and self.outside.is_outside(value)

    def text(self, value: Any, conversion: int = -1, spec: Any = "") -> Any:
        """The text of a value, converted and formatted as in an f-string."""
        if is_plain(value) and (is_computed(value) or type(spec) is Text):
            return self._computed_text(value, conversion, spec)
        if conversion == 114 or not has_methods(value, "__str__", "__format__"):
            generated = self._generated_text(value)
            if generated is not None:
                return self._computed_text(generated, -1, spec) if spec else generated
        for code, name in ((115, "__str__"), (114, "__repr__"), (-1, "__format__")):
            method = self._special(value, name)
            if method is not MISSING and conversion == code:
                more = (spec,) if name == "__format__" else ()
                found = self.call(method, value, *more)
                return found if type(found) is Text else str(found)
        if conversion == -1 and is_users(type(value)) and not is_plain(value):
            return self.text(value, 115) if not spec else format(value, spec)
        if conversion == 115 and self._special(value, "__repr__") is not MISSING:
            return self.text(value, 114)
        if self._entries_have(value, "__repr__"):
            refuse(f"shows a {type(value).__name__} of objects that have their own __repr__")
        given = self.given(value)
        if is_computed(given):
            return self._computed_text(self.shown(given), conversion, spec)
        shown: Any = {114: repr, 115: str, 97: ascii}.get(conversion)
        return format(given if shown is None else shown(given), spec)

    def _computed_text(self, value: Any, conversion: int, spec: Any) -> Any:
        if type(value) is Text and conversion in (-1, 115) and not spec:
            return value
        return Text("format", self.shown(value), conversion, spec)

    def _generated_text(self, value: Any) -> Any:
        """The text of the generated `__repr__` of a dataclass; None for other objects."""
        kind = type(value)
        if is_plain(value) or not dataclasses.is_dataclass(kind):
            return None
        inner = getattr(static_attribute(kind, "__repr__"), "__wrapped__", None)
        if inner is None or inner.__code__.co_filename != "<string>":
            return None
        fields = [field.name for field in dataclasses.fields(kind) if field.repr]
        shown: list[Any] = [f"{kind.__qualname__}("]
        for name in fields:
            shown += [f"{name}=", self.text(self.attribute(value, name), 114), ", "]
        return joined([*(shown[:-1] if fields else shown), ")"])


def refuse_draw(seen: str) -> NoReturn:
    """End the trace, since NumPy must run a function that draws random numbers.

    Raises:
        NeedsValuesError: always.
    """
    raise refused(
        NeedsValuesError(
            "random numbers drawn in a function that is followed once for all calls",
            f"that it {seen}: the numbers would be the same in every call",
            "draw them outside and pass them as an argument",
            user_location(),
        )
    )


class _Managed:
    """A context manager of a user's class, whose methods are traced."""

    def __init__(self, calls: LibraryCalls, manager: Any, enter: Any) -> None:
        self._calls, self._manager, self._enter = calls, manager, enter

    def __enter__(self) -> Any:
        return self._calls.call(self._enter, self._manager)

    def __exit__(self, *error: Any) -> Any:
        return self._calls.truth(self._calls.method(self._manager, "__exit__", *error))


_ASK_FOR_CLASSES: Final = ("dataclasses.fields", "dataclasses.is_dataclass")
"""Functions that read only the class of an object."""
_COPYING: Final = frozenset(
    {
        *(list, tuple, set, frozenset, dict, deque, OrderedDict, Counter, defaultdict),
        *(str, bytes, bytearray, int, float, complex, bool, np.dtype, np.ndarray),
    }
)
"""Classes whose constructors copy the entries of a container, and do not keep the container."""
_BY_KIND: Final[dict[Kind, Callable[..., Any]]] = {
    Kind.PURE: LibraryCalls._run,
    Kind.ASKS: LibraryCalls._run,
    Kind.REPLACED: LibraryCalls._replaced,
    Kind.CALLBACK: LibraryCalls._with_callbacks,
    Kind.WRITER: LibraryCalls._writing,
    Kind.EFFECT: LibraryCalls._effect,
    Kind.DRAW: LibraryCalls._draw,
    Kind.WRAPPER: LibraryCalls._wrapped,
    Kind.USER: LibraryCalls._refused,
    Kind.IMPURE: LibraryCalls._impure,
    Kind.REFUSED: LibraryCalls._refused,
}


def _type(calls: LibraryCalls, *args: Any) -> Any:
    if len(args) != 1:
        refuse("makes a class by type(...)")
    return args[0].__class__ if is_plain(args[0]) else calls.class_of(args[0])


def _getattr(calls: LibraryCalls, owner: Any, name: Any, default: Any = _NONE) -> Any:
    name = known_text(name)
    if default is _NONE:
        return calls.attribute(owner, name)
    try:
        found = calls.find(owner, name)
    except AttributeError:
        return default
    return default if found is MISSING else found


def _hasattr(calls: LibraryCalls, owner: Any, name: str) -> bool:
    return _getattr(calls, owner, name, MISSING) is not MISSING


def _isinstance(calls: LibraryCalls, value: Any, kinds: Any) -> bool:
    given = kinds if type(kinds) is tuple else (kinds,)
    for kind in given:
        check = calls._special(kind, "__instancecheck__")
        if check is not MISSING:
            if calls.truth(calls.call(check, kind, value)):
                return True
        elif isinstance(value, kind):
            calls.class_of(value)
            return True
    if not is_plain(value):
        calls.class_of(value)
    return False


def _partial(calls: LibraryCalls, function: Any, *args: Any, **kwargs: Any) -> Any:
    """The traced form of `functools.partial`; the parts of a partial from outside are read."""
    if type(function) is not functools.partial or not calls.outside.is_outside(function):
        return functools.partial(function, *args, **kwargs)
    callee, first, named = (calls.attribute(function, n) for n in ("func", "args", "keywords"))
    known = {key: calls.item(named, key) for key in calls.iterate(named)}
    return _partial(calls, callee, *calls.iterate(first), *args, **{**known, **kwargs})


def _next(calls: LibraryCalls, iterator: Any, default: Any = _NONE) -> Any:
    method = calls._special(iterator, "__next__")
    if method is MISSING:
        if calls.outside.is_outside(iterator):
            refuse("takes from an iterator with next(), which lives on outside it")
        return next(iterator) if default is _NONE else next(iterator, default)
    try:
        return calls.call(method, iterator)
    except StopIteration:
        if default is _NONE:
            raise
        return default


def _iter(calls: LibraryCalls, value: Any, *sentinel: Any) -> Any:
    if sentinel:
        return iter(functools.partial(calls.call, value), *sentinel)
    return calls.iterate(value)


def _map(calls: LibraryCalls, function: Any, *values: Any) -> Iterator[Any]:
    return map(functools.partial(calls.call, function), *map(calls.iterate, values))


def _filter(calls: LibraryCalls, function: Any, values: Any) -> Iterator[Any]:
    if function is None:
        return filter(calls.truth, calls.iterate(values))
    return filter(lambda one: calls.truth(calls.call(function, one)), calls.iterate(values))


def _zip(calls: LibraryCalls, *values: Any, strict: bool = False) -> Any:
    return zip(*map(calls.iterate, values), strict=strict)


def _enumerate(calls: LibraryCalls, values: Any, start: int = 0) -> Any:
    return enumerate(calls.iterate(values), start)


def _made_of(kind: Any) -> Callable[..., Any]:
    def make(calls: LibraryCalls, *values: Any, **named: Any) -> Any:
        iterate = calls.spread if kind in (list, tuple) else calls.iterate
        given = [v if is_plain(v) else iterate(v) for v in values]
        return kind(*given, **named)

    return make


def _dict(calls: LibraryCalls, *values: Any, **named: Any) -> Any:
    given = [calls.mapping(v) if hasattr(v, "keys") else calls.iterate(v) for v in values]
    return dict(*given, **named)


def _sum(calls: LibraryCalls, values: Any, start: Any = 0) -> Any:
    total = start
    for one in calls.iterate(values):
        total = calls.binary("+", total, one)
    return total


def _any(calls: LibraryCalls, values: Any) -> bool:
    return any(calls.truth(one) for one in calls.iterate(values))


def _all(calls: LibraryCalls, values: Any) -> bool:
    return all(calls.truth(one) for one in calls.iterate(values))


def _extreme(sign: str, plainly: Any) -> Callable[..., Any]:
    def choose(calls: LibraryCalls, *values: Any, key: Any = None, default: Any = _NONE) -> Any:
        given = list(calls.iterate(values[0]) if len(values) == 1 else values)
        if not given and default is not _NONE:
            return default
        keys = given if key is None else [calls.call(key, one) for one in given]
        keys = [calls.given(one) for one in keys]
        if key is None and (traced_in(keys) or in_region()):
            found = lazy_import("axiomjit.tracing.python_numbers").extreme(sign, keys)
            if found is not None:
                return found
        if not any(is_users(type(k)) for k in keys):
            places = range(len(given))
            return given[plainly(places, key=keys.__getitem__)] if given else plainly(given)
        best = 0
        for place in range(1, len(given)):
            if calls.truth(calls.compare(sign, keys[place], keys[best])):
                best = place
        return given[best]

    return choose


def _sorted(calls: LibraryCalls, values: Any, key: Any = None, reverse: Any = False) -> Any:
    given = list(calls.spread(values))
    keys = given if key is None else [calls.call(key, one) for one in given]
    keys = [calls.given(one) for one in keys]
    computed = traced_in(keys)
    if computed:
        refuse_value(
            "the order of computed values by sorted", computed[0].description(), "use np.sort"
        )
    if any(is_users(type(k)) for k in keys):
        less = functools.cmp_to_key(lambda a, b: -1 if calls.truth(calls.compare("<", a, b)) else 0)
        keys = list(map(less, keys))
    order = sorted(range(len(given)), key=keys.__getitem__, reverse=reverse)
    return [given[k] for k in order]


def _reduce(calls: LibraryCalls, function: Any, values: Any, *start: Any) -> Any:
    return functools.reduce(functools.partial(calls.call, function), calls.iterate(values), *start)


def _set_attribute(calls: LibraryCalls, owner: Any, name: Any, value: Any) -> None:
    calls.set_attribute(owner, known_text(name), value)


def _delete_attribute(calls: LibraryCalls, owner: Any, name: Any) -> None:
    calls.set_attribute(owner, known_text(name), MISSING)


def _text(conversion: int) -> Callable[..., Any]:
    def text(calls: LibraryCalls, *values: Any, **named: Any) -> Any:
        if len(values) != 1 or named or type(values[0]) is bytes:
            return str(*values, **named)
        return calls.text(values[0], conversion)

    return text


def _format(calls: LibraryCalls, value: Any, spec: Any = "") -> Any:
    return calls.text(value, -1, spec)


def _number(kind: type, *names: str) -> Callable[..., Any]:
    """The traced form of `float`, `int` or `complex`, for symbolic numbers and users' classes."""

    def number(calls: LibraryCalls, *values: Any, **named: Any) -> Any:
        if len(values) == 1 and is_labelled(values[0]):
            values = (calls.method(values[0], "item"),)
            return number(calls, *values) if is_plain(values[0]) else NotImplemented
        made = converted(kind, values[0]) if len(values) == 1 and not named else None
        if made is not None:
            return made
        for name in names if len(values) == 1 and not named else ():
            if calls._special(values[0], name) is not MISSING:
                found = calls.method(values[0], name)
                return kind(_Numbered(found)) if name == names[0] else kind(found)
        return NotImplemented

    return number


class _Numbered:
    """An object whose conversion returns a given number; Python then checks the number's class."""

    def __init__(self, number: Any) -> None:
        self._number = number

    def __float__(self) -> Any:
        return known_numbers(self._number)

    def __int__(self) -> Any:
        return known_numbers(self._number)

    def __complex__(self) -> Any:
        return known_numbers(self._number)


def _bool(calls: LibraryCalls, *values: Any) -> bool:
    return calls.truth(values[0]) if values else False


def _memory(calls: LibraryCalls, value: Any) -> Any:
    if traced_in([value]) or (isinstance(value, np.ndarray) and not value.flags.writeable):
        refuse("looks into the memory of an array")
    return memoryview(calls.given(value))


def _by_axes(name: str) -> Callable[..., Any]:
    def apply(calls: LibraryCalls, *values: Any, **named: Any) -> Any:
        late = lazy_import("axiomjit.functions.row_calls")
        return getattr(late, name)(calls, *values, **named)

    return apply


def _callable(calls: LibraryCalls, value: Any) -> bool:
    return callable(value)


_BUILTINS: Final[dict[Any, Callable[..., Any]]] = {
    type: _type,
    getattr: _getattr,
    hasattr: _hasattr,
    setattr: _set_attribute,
    delattr: _delete_attribute,
    len: LibraryCalls.length,
    isinstance: _isinstance,
    next: _next,
    iter: _iter,
    map: _map,
    filter: _filter,
    zip: _zip,
    enumerate: _enumerate,
    list: _made_of(list),
    tuple: _made_of(tuple),
    set: _made_of(set),
    frozenset: _made_of(frozenset),
    dict: _dict,
    sum: _sum,
    any: _any,
    all: _all,
    min: _extreme("<", min),
    max: _extreme(">", max),
    sorted: _sorted,
    functools.partial: _partial,
    functools.reduce: _reduce,
    str: _text(115),
    repr: _text(114),
    ascii: _text(97),
    format: _format,
    bool: _bool,
    float: _number(float, "__float__", "__index__"),
    int: _number(int, "__int__", "__index__", "__trunc__"),
    complex: _number(complex, "__complex__", "__float__", "__index__"),
    callable: _callable,
    np.apply_along_axis: _by_axes("along_axis"),
    np.apply_over_axes: _by_axes("over_axes"),
    memoryview: _memory,
    warnings.simplefilter: lambda calls, *a, **k: calls._set_filter(warnings.simplefilter, *a, **k),
    warnings.filterwarnings: lambda c, *a, **k: c._set_filter(warnings.filterwarnings, *a, **k),
}
"""The traced forms of Python's functions that may run methods of users' classes or read outside
objects.
"""
_OURS: Final = {id(function): ours for function, ours in {**_BUILTINS, **RECORDED}.items()}
_HOOKS: Final[dict[str, Callable[..., Any]]] = {
    "binary": LibraryCalls.binary,
    "in_place": LibraryCalls.in_place,
    "unary": LibraryCalls.unary,
    "not": lambda calls, value: not calls.truth(value),
    "truth": LibraryCalls.truth,
    "compare": LibraryCalls.compare,
    "contains": lambda calls, owner, value: calls.member(owner, value),
    "item": LibraryCalls.item,
    "set item": LibraryCalls.set_item,
    "delete item": lambda calls, owner, key: calls.set_item(owner, key, MISSING),
}
"""The traced forms of the functions of `operator`."""
