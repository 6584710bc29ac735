"""Random generators that a followed function reaches: their states before and after.

Numbers drawn while a function is followed would be the same in every call. Python and NumPy say
nothing when a number is drawn, so the states of the generators are compared.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from types import BuiltinFunctionType, CodeType, FunctionType, MethodType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.algebra.chosen import OtherLengthError
from axiomjit.base.containers import state_of
from axiomjit.base.errors import NeedsValuesError, TraceError

MOST_FUNCTIONS: Final = 64
"""The most functions whose globals and closures are searched, the followed one included."""
FRESH: Final = {"random": 624, "numpy.random": 623}
"""The position of a global generator that was never used."""
_LEAVES: Final = (
    *(FunctionType, MethodType, BuiltinFunctionType, ModuleType, np.ufunc, np.ndarray, np.generic),
    *(type(None), int, float, complex, str, bytes, list, tuple, dict, set, frozenset),
)
"""Types whose instances have no attributes of interest."""


@contextmanager
def none_drawn(
    name: str,
    function: Callable[..., object],
    arguments: Iterable[object],
    known: Iterable[object] = (),
) -> Iterator[None]:
    """Follow a function inside; refuse it if it draws random numbers.

    Afterwards all generators have their old states. Watched are the global generators of `random`
    and `numpy.random`, those among the arguments and their attributes, those in variables that the
    function names, and those among the objects that are `known` to be in its reach.

    Raises:
        NeedsValuesError: the state of a generator has changed; the old one is back.
    """
    missing = [module for module in FRESH if module not in sys.modules]
    watched = _watched((*_reached(function, arguments), *(("a container", v) for v in known)))
    before = [(what, one, state_of_generator(one)) for what, one in watched]
    try:
        yield
    except (
        TraceError,
        OtherLengthError,
    ):  # the function may run in NumPy now, with the same numbers
        for _, one, state in before:
            put_back(one, state)
        raise
    drawn = [what for what, one, state in before if not _alike(state_of_generator(one), state)]
    drawn += [_global_name(module) for module in missing if _drawn_since_import(module)]
    if not drawn:
        return
    for _, one, state in before:
        put_back(one, state)
    raise NeedsValuesError(
        f"random numbers drawn in {name}, which is followed once for all calls",
        f"{' and '.join(drawn)} changed meanwhile; the numbers would be the same in every call",
        "draw them outside and pass them as an argument",
        _defined_at(function),
    )


def _global_name(module: str) -> str:
    return f"the global generator of {module}"


def _watched(reached: Iterable[tuple[str, object]]) -> Iterator[tuple[str, Any]]:
    """Every generator among what is reached, and the global ones, once, with its name."""
    python, numpy, bits = _types()
    kinds = (*python, *numpy, *bits)
    system = getattr(sys.modules.get("random"), "SystemRandom", ())
    seen: set[int] = set()
    for what, one in (*_global_generators(), *reached):
        kind = type(one)
        if issubclass(kind, kinds) and not issubclass(kind, system) and id(one) not in seen:
            seen.add(id(one))
            yield what, one


def _global_generators() -> Iterator[tuple[str, Any]]:
    for module, attribute in (("random", "_inst"), ("numpy.random.mtrand", "_rand")):
        if module in sys.modules:
            one = getattr(sys.modules[module], attribute, None)
            yield _global_name(module.removesuffix(".mtrand")), one


def _reached(function: object, arguments: Iterable[object]) -> Iterator[tuple[str, object]]:
    """Arguments, the variables that the function and those it calls name, and attributes."""
    values: list[tuple[str, object]] = [("the function", function)]
    values += [("an argument", value) for value in arguments]
    looked: set[int] = set()
    while values:
        what, value = values.pop()
        yield what, value
        yield from ((f"{what}.{name}", part) for name, part in _attributes(value))
        values += _behind(what, value)
        inner = _function_of(value)
        if inner is not None and id(inner) not in looked and len(looked) < MOST_FUNCTIONS:
            looked.add(id(inner))
            values += _named_by(inner)


def _attributes(value: object) -> Iterator[tuple[str, object]]:
    kind = type(value)
    if isinstance(value, type):
        yield from vars(value).items()
    elif not issubclass(kind, _LEAVES):
        yield from state_of(value).items()
        yield from vars(kind).items()


def _behind(what: str, value: object) -> Iterator[tuple[str, object]]:
    """The functions that a callable object calls, and the values it calls them with."""
    if isinstance(value, functools.partial):
        yield from ((what, part) for part in (value.func, *value.args))
        yield from value.keywords.items()
    elif isinstance(value, MethodType):
        yield what, value.__self__
    elif isinstance(vars(type(value)).get("__call__"), FunctionType):
        yield what, vars(type(value))["__call__"]


def _function_of(value: object) -> FunctionType | None:
    """The Python function behind a function, method or compiled function."""
    if isinstance(value, MethodType):
        value = value.__func__
    wrapped = getattr(value, "__dict__", {}).get("__wrapped__")
    value = wrapped if isinstance(wrapped, FunctionType) else value
    if not isinstance(value, FunctionType):
        return None
    module = value.__module__ or ""  # none for functions made by exec
    return None if module.split(".")[0] in ("numpy", "axiomjit") else value


def _named_by(function: FunctionType) -> Iterator[tuple[str, object]]:
    """The global variables, closures and defaults of a function; of modules what it names."""
    names = _names(function.__code__)
    for name in names & function.__globals__.keys():
        value = function.__globals__[name]
        if not isinstance(value, ModuleType):
            yield name, value
        elif value is not np:
            inside = vars(value)
            yield from ((f"{name}.{part}", inside[part]) for part in names & inside.keys())
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            yield name, cell.cell_contents
        except ValueError:  # not filled yet
            continue
    yield from (("a default", value) for value in function.__defaults__ or ())
    yield from (function.__kwdefaults__ or {}).items()


def _names(code: CodeType) -> set[str]:
    inner = (_names(part) for part in code.co_consts if isinstance(part, CodeType))
    return set(code.co_names).union(*inner)


def _types() -> tuple[tuple[type, ...], tuple[type, ...], tuple[type, ...]]:
    """The types of Python's generators, of NumPy's and of its bit generators, if imported."""
    python, numpy = sys.modules.get("random"), sys.modules.get("numpy.random")
    return (
        () if python is None else (python.Random,),
        () if numpy is None else (numpy.Generator, numpy.RandomState),
        () if numpy is None else (numpy.BitGenerator,),
    )


def _bits(generator: Any) -> Any:
    """NumPy's source of random bits behind a generator."""
    if isinstance(generator, _types()[2]):
        return generator
    return getattr(generator, "_bit_generator", None) or generator.bit_generator


def state_of_generator(generator: Any) -> Any:
    """The state of a generator, to be put back."""
    if issubclass(type(generator), _types()[0]):
        return generator.getstate()
    legacy = isinstance(generator, sys.modules["numpy.random"].RandomState)
    return generator.get_state(legacy=False) if legacy else _bits(generator).state


def put_back(generator: Any, state: Any) -> None:
    """Give a generator a state that it had."""
    if issubclass(type(generator), _types()[0]):
        generator.setstate(state)
    elif isinstance(generator, sys.modules["numpy.random"].RandomState):
        generator.set_state(state)
    else:
        _bits(generator).state = state


def _alike(one: object, other: object) -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return all(_alike(one[key], other[key]) for key in one)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, np.asarray(other))
    return one == other


def _drawn_since_import(module: str) -> bool:
    """Whether a global generator that was imported meanwhile was used."""
    if module not in sys.modules:
        return False
    if module == "random":
        return bool(sys.modules["random"].getstate()[1][-1] != FRESH[module])
    state = sys.modules["numpy.random"].mtrand._rand.get_state(legacy=False)
    return bool(state["state"]["pos"] != FRESH[module] or state["has_gauss"])


def _defined_at(function: object) -> str | None:
    inner = _function_of(function)
    if inner is None:
        return None
    return f"{inner.__code__.co_filename}:{inner.__code__.co_firstlineno}"
