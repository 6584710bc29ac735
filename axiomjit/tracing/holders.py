"""Find traced values that other objects hold in attributes, slots, closures or iterators."""

from __future__ import annotations

import gc
from collections.abc import Iterable, Iterator, Sequence
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.trace_context import Following, current
from axiomjit.base.tree import Path, reachable
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.tracer import Tracer

LIMIT: Final = 20_000
"""The most objects that are searched; a traced value hidden deeper is refused where it is used."""
PLAIN: Final = (int, float, complex, str, bytes, type, ModuleType, CodeType, np.generic, Following)


def traced_inside(value: object) -> Tracer | SymbolicNumber | None:
    """The first traced array or length in a value and the objects it refers to; None without one.

    No user code runs: the references of an object are those that the garbage collector sees.
    Functions are searched through closures and defaults.
    """
    found = referred_by(value)
    return next((one for one in found if issubclass(type(one), Tracer | SymbolicNumber)), None)


def referred_by(value: object) -> Iterator[Any]:
    """A value and all objects that it refers to, directly or not, found without the user's code."""
    return (one for _, one in reachable((value,), _referred, LIMIT))


def traced_among(values: Sequence[object]) -> bool:
    """True if a call belongs to the function that is followed: an argument has traced values.

    Raises:
        TraceError: a value is traced, but not by the function that is followed here.
    """
    if current() is not None:
        return traced_inside(values) is not None
    traced = (v for v in values if isinstance(v, Tracer | SymbolicNumber))
    return any((v.node if isinstance(v, Tracer) else v.operand()) is not None for v in traced)


def _referred(path: Path, one: Any) -> Iterable[tuple[object, object]]:
    kind = type(one)
    if issubclass(kind, PLAIN):
        return ()
    if issubclass(kind, np.ndarray):
        return enumerate(one.ravel().tolist() if one.dtype.hasobject else ())
    if issubclass(kind, FunctionType):
        return enumerate(_held_by_function(one))
    if issubclass(kind, BuiltinFunctionType):
        return enumerate((one.__self__,))
    return enumerate(gc.get_referents(one))


def _held_by_function(function: FunctionType) -> Iterator[object]:
    yield from (function.__closure__, function.__defaults__, function.__kwdefaults__)
    yield function.__dict__
