"""Lengths and integer arguments as a traced function sees them: ints that may differ later."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np

from axiomjit.algebra.chosen import chosen_in
from axiomjit.algebra.dims import Dim, dim, product
from axiomjit.base.errors import UnaskedError
from axiomjit.base.operator_names import INFIX, OPERATORS
from axiomjit.base.owners import current, is_usable, stranger
from axiomjit.graph.nodes import Node
from axiomjit.graph.traced_values import TracedValue
from axiomjit.tracing.refusals import refuse_value


class Length:
    """An integer with its value in this call and its dependence on the arguments.

    Sums, differences, products and quotients of integers stay symbolic, so that the program is
    valid for other lengths. Everything else (comparisons, division, `range`, hashing, printing)
    takes the value of this call and records a guard: for another value the function is followed
    again. It claims to be an int (`isinstance`), which it represents. Only the following that made
    it may look at it; once hashed it is a number, so that a dictionary can keep it as a key.
    """

    __slots__ = ("__weakref__", "_dim", "_following", "_number")

    def __init__(self, value: Dim) -> None:
        """Wrap a symbolic length."""
        self._dim = value
        self._following = current()
        self._number: int | None = None

    @property
    def dim(self) -> Dim:
        """The symbolic length.

        Raises:
            TraceError: another function, or none, is followed here.
        """
        if not is_usable(self._following):
            raise stranger(self._following, "length", "of an array or argument there")
        return self._dim

    @property  # type: ignore[misc]
    def __class__(self) -> type[int]:  # type: ignore[override]
        return int

    @property
    def real(self) -> Length:
        """The integer itself."""
        return self

    imag = 0
    numerator, denominator = real, 1

    def conjugate(self) -> Length:
        """The integer itself."""
        return self

    def __index__(self) -> int:
        if chosen_in(self.dim):
            refuse_value(
                "a number of elements that a mask chooses as a Python number",
                "length",
                "keep it a length: x.size and x.shape may be computed with",
                UnaskedError,
            )
        return int(self.dim)

    __int__ = __trunc__ = __floor__ = __ceil__ = __index__

    def __float__(self) -> float:
        return float(int(self))

    def __complex__(self) -> complex:
        return complex(int(self))

    def __bool__(self) -> bool:
        return bool(self.dim)

    def __hash__(self) -> int:
        if self._number is None:
            self._number = int(self)
        return hash(self._number)

    def _is_key(self) -> bool:
        """Whether it was hashed in another, ended following: from then on it is a plain number."""
        return self._number is not None and not is_usable(self._following)

    def __repr__(self) -> str:
        usable = is_usable(self._following)
        return repr(int(self)) if usable else f"<length {self._dim} of another call>"

    def __str__(self) -> str:
        return str(int(self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"'int' object has no attribute {name!r}")
        return getattr(int(self), name)

    def __copy__(self) -> Length:
        return self

    def __deepcopy__(self, memo: object) -> Length:
        return self

    def __reduce_ex__(self, protocol: object) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __format__(self, spec: str) -> str:
        return format(int(self), spec)

    def __round__(self, digits: int | None = None) -> int:
        return round(int(self), digits) if digits is not None else int(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(int(self), dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any
    ) -> object:
        known = (Length, np.ndarray, np.generic, int, float, complex)
        if not all(issubclass(type(value), known) for value in inputs):
            return NotImplemented  # beside an array that is followed, which says that it is one
        return getattr(ufunc, method)(*map(_at_hand, inputs), **options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Iterable[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        if not all(issubclass(kind, Length | np.ndarray) for kind in types):
            return NotImplemented  # beside an array that is followed
        return function(*map(_at_hand, args), **{k: _at_hand(v) for k, v in kwargs.items()})


def _at_hand(value: Any) -> Any:
    """The value of a Length, with a guard, also in tuples and lists; other values as they are."""
    if isinstance(value, tuple | list):
        return type(value)(map(_at_hand, value)) if not hasattr(value, "_fields") else value
    return int(value) if isinstance(value, Length) else value


def unwrap(value: Any) -> Any:
    """The symbolic length behind a Length, also within tuples, lists and slices."""
    if isinstance(value, Length):
        return value.dim
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    if isinstance(value, tuple | list):
        return type(value)(map(unwrap, value)) if not hasattr(value, "_fields") else value
    return value


def length(value: Dim) -> int | Length:
    """A length for the user: a plain int if it never differs."""
    return Length(value) if value.constant is None else value.constant


QUERIES: Final[dict[Callable[..., object], Callable[[Node], object]]] = {
    np.shape: lambda node: tuple(map(length, node.shape)),
    np.ndim: lambda node: len(node.shape),
    np.size: lambda node: length(product(node.shape)),
}
"""NumPy's functions that tell lengths of a traced array."""


def _is_integer(value: object) -> bool:
    return issubclass(type(value), (Length, int)) and not isinstance(value, bool)


def _symbolic(name: str) -> Callable[[Length, Any], object]:
    """Integer arithmetic that stays symbolic; with other operands it uses the length's value."""
    by_value = _by_value(name)

    def method(self: Length, other: Any) -> object:
        if not _is_integer(other) or (name in ("__floordiv__", "__mod__") and other == 0):
            return by_value(self, other)
        result = getattr(self.dim, name)(dim(unwrap(other)))
        return length(result) if isinstance(result, Dim) else result

    return method


def _by_value(name: str) -> Callable[..., object]:
    """The operator on the value of this call; a mirrored one has the other operand first."""
    mirrored = name.startswith("__r") and name != "__rshift__"
    base = f"__{name[3:]}" if mirrored else name
    function: Callable[..., object] = divmod if base == "__divmod__" else getattr(operator, base)

    def method(self: Length, *others: Any) -> object:
        if any(issubclass(type(other), TracedValue) for other in others) and chosen_in(self.dim):
            return NotImplemented  # a traced array takes it as a number that it does not know
        operands = [int(self), *map(_at_hand, others)]
        return function(*(reversed(operands) if mirrored else operands))

    return method


def _compared(name: str) -> Callable[[Length, Any], object]:
    """A comparison of integers as lengths: one that is always true or false records no guard."""
    symbolic = _symbolic(name)

    def method(self: Length, other: Any) -> object:
        whole = issubclass(type(other), float) and other.is_integer()
        return symbolic(self, int(other) if whole else other)

    return method


def _equality(name: str) -> Callable[[Length, Any], object]:
    """As other comparisons; a key left by another following is a plain number."""
    compared = _compared(name)
    of_numbers: Callable[[object, object], object] = getattr(operator, name)

    def method(self: Length, other: Any) -> object:
        if isinstance(other, Length) and other._is_key():
            other = other._number
        return of_numbers(self._number, other) if self._is_key() else compared(self, other)

    return method


_Form = Callable[[str], Callable[..., object]]
_FORMS: Final[dict[_Form, str]] = {
    _symbolic: "add radd sub rsub mul rmul floordiv mod",
    _compared: "lt le gt ge",
    _equality: "eq ne",
}
_FORM_OF: Final = {name: form for form, names in _FORMS.items() for name in names.split()}
for _name in (*OPERATORS, *(f"r{name}" for name in INFIX), "divmod", "rdivmod"):
    setattr(Length, f"__{_name}__", _FORM_OF.get(_name, _by_value)(f"__{_name}__"))
