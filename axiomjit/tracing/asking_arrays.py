"""Arrays of known values that a followed function has or makes, as ones that ask traced arrays."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import CODES
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current
from axiomjit.graph import builder
from axiomjit.graph.primitives import COPY
from axiomjit.numpy_rules.table import METHODS
from axiomjit.tracing.operators import leaves_in, traced_in
from axiomjit.tracing.outside_arrays import OutsideArray
from axiomjit.tracing.tracer import Tracer, new_array

_ONLY: Final = 2
"""The reference count that Python tells for an object with one owner."""


class TracedLines:
    """The lines of the user's program on which arrays are made that traced values are written into.

    An array of known values cannot hold traced ones. So arrays that are made on one of `lines` are
    traced from the beginning. Where a traced value meets another such array, the line on which that
    was made is `wanted` when the function is followed again.
    """

    def __init__(self, lines: frozenset[str] = frozenset()) -> None:
        """Take the lines, of which there are none at first."""
        self.lines, self.wanted = lines, set[str]()

    def outside(self, array: np.ndarray) -> AskingArray:
        """What stands for an array from outside, which is never traced from the beginning."""
        made: Any = AskingArray.of(array)
        made.traced_lines = self
        found: AskingArray = made
        return found

    def shown(self, value: Any, given: Sequence[object] = ()) -> Any:
        """What stands for an array that NumPy made of what is given; other values as they are."""
        if type(value) in (tuple, list):
            return type(value)([self.shown(one, given) for one in value])
        computed = type(value) is AskingArray and value.flags.owndata
        if not (computed or is_array(value)):
            return value
        line = user_location() if _is_new(value, given) else None
        if line in self.lines and current() is not None:
            plain = value.view(np.ndarray)
            return new_array(builder.elementwise(COPY, builder.as_node(plain, "a new array")))
        made: Any = value if computed else AskingArray.of(value)
        made.traced_lines, made.line = self, made.line if line is None else line
        return made


class AskingArray(OutsideArray):
    """An array of known values; at traced positions its elements are traced.

    It was made on a `line`, or is a view of one that was; those from outside have none.
    """

    traced_lines: TracedLines | None = None
    line: str | None = None

    def __array_finalize__(self, other: Any) -> None:
        self.traced_lines = getattr(other, "traced_lines", None)
        self.line = getattr(other, "line", None)

    def __array_wrap__(
        self, array: Any, context: Any = None, return_scalar: bool = False, /
    ) -> Any:
        """What stands for the result of a ufunc; one that is written into stays itself."""
        if self.traced_lines is None or isinstance(array, AskingArray) or return_scalar:
            return super().__array_wrap__(array, context, return_scalar)
        return self.traced_lines.shown(array)

    def __getitem__(self, key: Any) -> Any:
        if first_traced(key) is not None:
            traced: Any = Tracer(builder.as_node(self.plain, "indexing"))
            return traced[key]
        return super().__getitem__(key)

    def want_traced(self) -> None:
        """Want the line on which this array was made, unless it is from outside."""
        if self.traced_lines is not None and self.line is not None:
            self.traced_lines.wanted.add(self.line)


def is_array(value: object) -> bool:
    """Whether a value is an array of numbers or bools, of no subclass."""
    return type(value) is np.ndarray and value.dtype in CODES


def _is_new(array: np.ndarray, given: Sequence[object]) -> bool:
    """Whether nobody else has the memory of an array; it may be a view of one that nobody has."""
    if not array.flags.owndata and sys.getrefcount(array.base) > _ONLY:
        return False
    others = (one for one in leaves_in(given) if isinstance(one, np.ndarray))
    return not any(np.may_share_memory(array, one) for one in others)


def first_traced(values: Any) -> Tracer | None:
    """The first traced array in lists of values, while a function is followed."""
    found = traced_in(values) if current() is not None else []
    return next((one for one in found if issubclass(type(one), Tracer)), None)


def _writer(name: str) -> Callable[..., Any]:
    known: Callable[..., Any] = getattr(np.ndarray, name)

    @functools.wraps(known)
    def method(self: AskingArray, *args: Any) -> Any:
        if first_traced(args) is not None:
            self.want_traced()
        return known(self, *args)

    return method


def _method(name: str) -> Callable[..., Any]:
    known: Callable[..., Any] = getattr(np.ndarray, name)

    @functools.wraps(known)
    def method(self: AskingArray, *args: Any, **kwargs: Any) -> Any:
        if first_traced([args, list(kwargs.values())]) is not None:
            return getattr(Tracer(builder.as_node(self.plain, name)), name)(*args, **kwargs)
        made = known(self, *args, **kwargs)
        given = (self, *args, *kwargs.values())
        return made if self.traced_lines is None else self.traced_lines.shown(made, given)

    return method


for _name in (*METHODS, "choose", "repeat", "searchsorted"):
    if callable(getattr(np.ndarray, _name, None)):
        setattr(AskingArray, _name, _method(_name))
for _name in ("__setitem__", "fill", "put"):
    setattr(AskingArray, _name, _writer(_name))
