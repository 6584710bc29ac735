"""Prove that tracing has changed nothing outside the function, with `AXIOMJIT_CHECK=1`.

All objects that a function can reach, from its arguments, closure cells, defaults and global names,
are compared with their state after the trace. The comparison runs no code of the user's.
"""

from __future__ import annotations

import functools
import io
import mmap
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import (
    CellType,
    CodeType,
    FunctionType,
    GeneratorType,
    MemberDescriptorType,
    MethodType,
    ModuleType,
)
from typing import Any, Final

import numpy as np

from axiomjit.base.config import config
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.tree import Path, reachable
from axiomjit.functions.libraries import is_library_module, is_users, users_function
from axiomjit.functions.sources import ATOMS, own_dict
from axiomjit.functions.transforms import DERIVATIVES
from axiomjit.graph.captured import owner_of
from axiomjit.tracing.generators import is_generator

MOST: Final = 2000
"""The largest number of objects that are compared."""
MOST_BYTES: Final = 1 << 20
"""The largest number of bytes of an array that is compared."""
Steps = Iterable[tuple[object, Any]]


class ChangedError(AssertionError):
    """Raised if tracing has changed an object outside the function."""


@contextmanager
def nothing_changes(function: Any, arguments: Sequence[object]) -> Iterator[None]:
    """A context in which a function is traced; with `config.check`, outside objects are compared.

    Raises:
        ChangedError: an outside object differs afterwards.
    """
    if not config.check:
        yield
        return
    roots = {"function": function, "arguments": tuple(arguments)}
    before = [(path, value, _state(value)) for path, value in reachable([roots], _enter, most=MOST)]
    try:
        yield
    finally:
        for path, value, state in before:
            now = _state(value)
            if now != state:
                steps = [*path[1:], *_first_difference(state, now)]
                shown = "".join(f"[{step!r}]" for step in steps)
                raise ChangedError(f"tracing changed {shown}, of a {type(value).__name__}")


def _first_difference(one: Any, other: Any) -> list[object]:
    """A list with the name of the first part that differs; empty if the name is unknown."""
    pairs = zip(one, other, strict=False) if type(one) is type(other) is list else ()
    return next(([a[0]] for a, b in pairs if a != b and type(a[0]) is str), [])


def _enter(path: Path, value: Any) -> list[tuple[object, Any]]:
    return list(_parts(value))


def _state(value: Any) -> object:
    """The state of an object: its parts by identity, or the content of an array or stream."""
    if issubclass(type(value), np.ndarray) and not value.dtype.hasobject:
        content = value.tobytes() if value.nbytes <= MOST_BYTES and _has_memory(value) else b""
        return value.dtype.str, value.shape, value.strides, value.flags.writeable, content
    if is_generator(value):
        return repr(_generator_state(value))
    if type(value) is GeneratorType:
        return None if value.gi_frame is None else value.gi_frame.f_lasti
    if isinstance(value, io.StringIO | io.BytesIO):
        return None if value.closed else value.getvalue()
    if type(value) is bytearray:
        return bytes(value)
    if type(value).__module__ == "itertools":
        with suppress(TypeError):  # the iterator cannot be copied
            return repr(value.__reduce__()) if type(value).__name__ in ("count", "cycle") else None
    return [
        (step if type(step) in (str, int) else id(step), id(part)) for step, part in _parts(value)
    ]


def _has_memory(array: np.ndarray) -> bool:
    """False for a view that only describes a layout, as `Spec.stand_in` does."""
    return isinstance(owner_of(array).base, _MEMORY)


_MEMORY: Final = (type(None), bytes, bytearray, memoryview, mmap.mmap)
"""Types of the owners of an array's memory; NoneType if the array has allocated its own memory."""


def _generator_state(value: Any) -> object:
    if isinstance(value, np.random.RandomState):
        return value.get_state(legacy=False)
    return value.bit_generator.state


def _parts(value: Any) -> Steps:
    kind = type(value)
    if issubclass(kind, _WITHOUT_PARTS) or isinstance(value, NativeCallable):
        return
    for base, entries in _CONTAINERS.items():
        if issubclass(kind, base):
            yield from entries(value)
            break
    if issubclass(kind, type):
        if is_users(value):
            yield from dict(vars(value)).items()
    elif kind is ModuleType:
        if not is_library_module(value):
            yield from _held(value)
    elif kind is FunctionType:
        if users_function(value):
            yield from _of_function(value)
    elif is_users(kind) or own_dict(value) is not None:
        yield from _held(value)


def _held(value: Any) -> Steps:
    yield from dict(own_dict(value) or {}).items()
    for base in filter(is_users, type(value).__mro__):
        for name, held in list(vars(base).items()):
            if type(held) is MemberDescriptorType:
                with suppress(AttributeError):  # the slot has no value
                    yield name, held.__get__(value)


def _of_function(function: FunctionType) -> Steps:
    for name in ("__code__", "__defaults__", "__kwdefaults__"):
        yield name, getattr(function, name)
    yield from ((name, held) for name, held in dict(vars(function)).items() if name != DERIVATIVES)
    yield from zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    waiting, space = [function.__code__], function.__globals__
    while waiting:
        code = waiting.pop()
        yield from ((name, space[name]) for name in code.co_names if name in space)
        waiting += [part for part in code.co_consts if isinstance(part, CodeType)]


def _of_cell(cell: CellType) -> Steps:
    with suppress(ValueError):  # the cell is empty
        yield "contents", cell.cell_contents


def _entries(kind: Any) -> Callable[[Any], Steps]:
    return lambda value: enumerate(kind.__iter__(value))


_WITHOUT_PARTS: Final = (*ATOMS, np.generic, np.dtype, np.ufunc, CodeType)
_CONTAINERS: Final[Mapping[type, Callable[[Any], Steps]]] = {
    OrderedDict: lambda value: list(OrderedDict.items(value)),
    dict: lambda value: list(dict.items(value)),
    **{kind: _entries(kind) for kind in (list, tuple, set, frozenset, deque)},
    CellType: _of_cell,
    MethodType: lambda value: [("self", value.__self__), ("function", value.__func__)],
    functools.partial: lambda value: [
        *(("func", value.func), ("args", value.args), ("keywords", value.keywords))
    ],
    np.ndarray: lambda value: enumerate(value.flat) if value.dtype.hasobject else (),
}
