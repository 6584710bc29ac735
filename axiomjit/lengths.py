"""What a traced function sees of a length or an integer argument: an int that may differ later."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from axiomjit.dims import Dim, dim


class Length:
    """An integer known by its value at hand and by how it depends on the arguments.

    Sums, differences, products and quotients of integers stay symbolic, so that the program is
    valid for other lengths. Everything else (comparisons, division, `range`, hashing, printing)
    takes the value at hand and leaves a guard: for another value the function is followed again.
    """

    __slots__ = ("dim",)

    def __init__(self, value: Dim) -> None:
        """Wrap a symbolic length."""
        self.dim = value

    def __index__(self) -> int:
        return int(self.dim)

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __complex__(self) -> complex:
        return complex(int(self))

    def __bool__(self) -> bool:
        return bool(self.dim)

    def __hash__(self) -> int:
        return hash(int(self))

    def __repr__(self) -> str:
        return repr(int(self))

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)

    def __round__(self, digits: int | None = None) -> int:
        return round(int(self), digits) if digits is not None else int(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(int(self), dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any
    ) -> object:
        if any(type(v).__name__ == "Tracer" for v in inputs):
            return NotImplemented
        values = [int(v) if isinstance(v, Length) else v for v in inputs]
        return getattr(ufunc, method)(*values, **options)


def unwrap(value: object) -> object:
    """The symbolic length behind a Length; other values as they are."""
    return value.dim if isinstance(value, Length) else value


def length(value: Dim) -> int | Length:
    """A length for the user: a plain int where it never differs."""
    return Length(value) if value.constant is None else value.constant


def _symbolic(name: str) -> Callable[[Length, Any], object]:
    """Integer arithmetic that stays symbolic; other operands get the value at hand."""

    def method(self: Length, other: Any) -> object:
        if isinstance(other, Length | int) and not isinstance(other, bool):
            return length(getattr(self.dim, name)(dim(unwrap(other))))  # type: ignore[arg-type]
        return _by_value(name)(self, other)

    return method


def _by_value(name: str) -> Callable[[Length, Any], object]:
    def method(self: Length, *others: Any) -> object:
        values = [int(v) if isinstance(v, Length) else v for v in others]
        return getattr(int(self), name)(*values)

    return method


def _compared(name: str) -> Callable[[Length, Any], object]:
    """Comparison; integers are compared as lengths, so that what is always so leaves no guard."""

    def method(self: Length, other: Any) -> object:
        if isinstance(other, float) and math.isfinite(other) and other == int(other):
            other = int(other)
        if isinstance(other, Length | int):
            return getattr(self.dim, name)(dim(unwrap(other)))  # type: ignore[arg-type]
        return _by_value(name)(self, other)

    return method


for _name in ("__add__", "__radd__", "__sub__", "__rsub__", "__mul__", "__rmul__"):
    setattr(Length, _name, _symbolic(_name))
for _name in ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__"):
    setattr(Length, _name, _compared(_name))
