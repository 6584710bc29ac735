"""Refusals of operations on traced arrays, kept until the traced function returns."""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from typing import Any, Final, NoReturn, ParamSpec, TypeVar

import numpy as np

from axiomjit.base.errors import (
    AxiomError,
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    NotDispatchedError,
    UnsupportedAttributeError,
    UnsupportedError,
)
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current, is_refusal, refused
from axiomjit.base.tree import Path, reachable
from axiomjit.graph.nodes import describe_call

P = ParamSpec("P")
R = TypeVar("R")

MOST_SEARCHED: Final = 1000
"""The largest number of values of a call that are searched for traced operands."""
VALUES: Final = frozenset(
    {
        *("item", "tolist", "tobytes", "tofile", "dump", "dumps"),
        *("hex", "is_integer", "as_integer_ratio", "bit_count"),
    }
)
"""Methods that return the values of elements, which are unknown in a trace."""


def recorded(method: Callable[P, R]) -> Callable[P, R]:
    """Return the wrapped method: refusals are raised at the end, even if user code catches them."""

    @functools.wraps(method)
    def watched(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except AxiomError as error:
            if isinstance(error, GraphTypeError | GraphValueError):
                error.add_operands(_lines_of(args, kwargs))
            if is_refusal(error):
                refused(error)
            raise

    return watched


def _lines_of(args: object, kwargs: object) -> tuple[str, ...]:
    """A line of a message for each traced operand of a call, in the order of the operands."""
    found = [one for _, one in reachable((args, kwargs), _entries, MOST_SEARCHED)]
    last = {id(one): one for one in reversed(found) if issubclass(type(one), WithoutValues)}
    return tuple(one.as_operand() for one in reversed(last.values()))


def _entries(path: Path, value: Any) -> Iterable[tuple[object, object]]:
    if issubclass(type(value), dict):
        return list(value.items())
    return enumerate(value) if issubclass(type(value), list | tuple) else ()


def traced(described: str) -> str:
    """The words for a traced value in a message: `a traced float64[3]`, `a traced Python float`."""
    return f"a traced {described.removeprefix('a ')}"


def refuse_value(
    asked: str, described: str, remedy: str, error: type[NeedsValuesError] = NeedsValuesError
) -> NoReturn:
    """Refuse an operation that needs the values of an array.

    Raises:
        NeedsValuesError: the function always raises this error, as an instance of the given class.
    """
    seen = f"{traced(described)}: its values are not known"
    raise refused(error(asked, seen, remedy, user_location()))


def note_asked(value: object) -> None:
    """Remember the node of the traced value whose values the function asks for."""
    following = current()
    if following is not None:
        following.asked = getattr(value, "_held", None)


def refuse_write(asked: str, described: str, remedy: str) -> NoReturn:
    """Refuse a write into an array: raise an error that describes the array.

    Raises:
        NeedsValuesError: the function always raises this error.
    """
    seen = f"a write into {traced(described)}"
    raise refused(NeedsValuesError(asked, seen, remedy, user_location()))


def refuse_outside(asked: str, place: object) -> NoReturn:
    """Refuse to write traced values into an array of known values.

    If the traced function made the array, the function is traced again; in that trace, the array is
    traced, too.

    Raises:
        NotDispatchedError: the function always raises this error.
    """
    following = current()
    if following is not None and following.want_traced is not None:
        following.want_traced(place)
    seen = f"a write of traced values into a {type(place).__name__} that is not traced"
    remedy = "write into an argument, or into an array that the compiled function makes"
    raise refused(NotDispatchedError(asked, seen, remedy, user_location()))


def refuse_method(name: str, described: str, compiled: Iterable[str]) -> NoReturn:
    """Refuse a method or attribute that is not compiled.

    Raises:
        NeedsValuesError: the method returns values.
        UnsupportedAttributeError: the method or attribute returns no values.
    """
    if name in VALUES:
        remedy = "keep it an array, and call this outside the compiled function"
        refuse_value(f"an array's values by array.{name}", described, remedy)
    raise refused(
        UnsupportedAttributeError(
            f"array.{name}",
            f"the attribute {name}, which is not compiled yet, of {described}",
            f"call it outside the compiled function; compiled methods: {', '.join(compiled)}",
            user_location(),
        )
    )


def value_of(value: Any) -> Any:
    """The value of a traced array or number, as NumPy's array or scalar; None if not known."""
    late = lazy_import("axiomjit.tracing.computed_numbers")
    return late.value_if_known(value.node)


class WithoutValues:
    """A base class that refuses operations which need the values of an array or number."""

    __slots__ = ()

    def description(self) -> str:
        """The type of the value, and the user's line where it was made."""
        raise NotImplementedError

    def as_operand(self) -> str:
        """The type and the origin of the value, for a line of a message."""
        raise NotImplementedError

    def _value(self, use: str) -> Any:
        found = value_of(self) if use in ("bool", "int") else None
        if found is not None:
            return found
        note_asked(self)
        if use == "bool":
            refuse_value(
                "the truth of an array's values decides what the function does next",
                self.description(),
                "choose with np.where(condition, a, b), run a loop until a condition holds outside "
                "the compiled function, or name a parameter that decides in static_argnames",
            )
        refuse_value(
            "an array's value as a Python number",
            self.description(),
            "compute with the array itself, or pass a Python number and name its parameter in "
            "static_argnames",
            NotDispatchedError,
        )

    def __index__(self) -> int:
        return operator.index(self._value("int"))

    def _rounded(self, function: Callable[..., Any] = round, *options: Any) -> Any:
        if isinstance(self, np.ndarray):
            raise TypeError("type numpy.ndarray doesn't define this method")
        return function(self._value("int"), *options)

    def __round__(self, digits: Any = None) -> Any:
        return self._rounded(round, digits)

    def __trunc__(self) -> Any:
        return self._rounded(math.trunc)

    def __floor__(self) -> Any:
        return self._rounded(math.floor)

    def __ceil__(self) -> Any:
        return self._rounded(math.ceil)

    def __array__(self, dtype: object = None, copy: object = None) -> NoReturn:
        note_asked(self)
        refuse_value(
            "an array's values by a function that NumPy does not dispatch",
            self.description(),
            "call this function outside the compiled one",
            NotDispatchedError,
        )

    def __hash__(self) -> int:
        if isinstance(self, np.ndarray):
            raise TypeError("unhashable type: 'numpy.ndarray'")
        note_asked(self)
        refuse_value(
            "an array's value as a key of a dict, set or cache",
            self.description(),
            "choose with np.where(...) or by an index into an array, or pass a Python number and "
            "name its parameter in static_argnames",
        )

    def __dlpack__(self, **options: object) -> NoReturn:
        self.__array__()

    def __dlpack_device__(self) -> NoReturn:
        self.__array__()

    def __str__(self) -> str:
        found = value_of(self)
        if found is not None:
            return str(found)
        note_asked(self)
        refuse_value(
            "an array's values as text",
            self.description(),
            "return the array and print it outside the compiled function; repr(x) gives its type",
        )

    def __format__(self, form: str) -> str:
        found = value_of(self)
        return str(self) if found is None else format(found, form)

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        refuse_value(
            "an array's values, to pickle them",
            self.description(),
            "pickle what the compiled function returns",
        )


def unsupported(name: str, operands: Iterable[object]) -> UnsupportedError:
    """The error for a call of a function that has no rule, so that it cannot be compiled."""
    return UnsupportedError(
        describe_call(name, *operands),
        f"{name}, which is not compiled yet",
        "call it outside the compiled function",
        user_location(),
    )
