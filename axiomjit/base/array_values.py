"""The base class of all objects that NumPy's functions and Python's operators treat as arrays.

The module also has the names of the operators, and the function that refuses arrays in chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

import numpy as np

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import hide_frames, hides_frames, user_location

INFIX: Final = {
    "add": ("add", "+"),
    "sub": ("subtract", "-"),
    "mul": ("multiply", "*"),
    "truediv": ("divide", "/"),
    "floordiv": ("floor_divide", "//"),
    "mod": ("remainder", "%"),
    "pow": ("power", "**"),
    "and": ("bitwise_and", "&"),
    "or": ("bitwise_or", "|"),
    "xor": ("bitwise_xor", "^"),
    "lshift": ("left_shift", "<<"),
    "rshift": ("right_shift", ">>"),
}
"""Operators with a mirrored method, such as `__radd__`, by method name without underscores."""
COMPARISONS: Final = {
    "eq": ("equal", "=="),
    "ne": ("not_equal", "!="),
    "lt": ("less", "<"),
    "le": ("less_equal", "<="),
    "gt": ("greater", ">"),
    "ge": ("greater_equal", ">="),
}
PREFIX: Final = {
    "neg": ("negative", "-"),
    "pos": ("positive", "+"),
    "invert": ("invert", "~"),
    "abs": ("absolute", None),
}
OPERATORS: Final = {
    stem: name for table in (INFIX, COMPARISONS, PREFIX) for stem, (name, _) in table.items()
}
"""The name of NumPy's function for each operator, by its method's name without underscores."""
SIGNS: Final = {
    name: sign
    for table in (INFIX, COMPARISONS, PREFIX)
    for name, sign in table.values()
    if sign is not None
}
"""The operator symbol for each NumPy function."""


def refuse_chunked(value: Any, asked: str) -> None:
    """Refuse an array in chunks, because a conversion to NumPy would compute and load all of it.

    DataArrays that hold an array in chunks are refused, too. The check computes no elements.

    Raises:
        GraphTypeError: the value is an array in chunks.
    """
    kind = type(value)
    if issubclass(kind, np.ndarray) or not (hasattr(kind, "compute") and hasattr(kind, "chunks")):
        return
    if value.chunks is None:
        return
    size = getattr(value, "nbytes", None)
    seen = f"a {kind.__module__}.{kind.__name__} in chunks, which would be loaded as a whole"
    raise GraphTypeError(
        asked,
        seen if size is None else f"{seen}: {size} bytes",
        "pass x.compute() where that fits into memory; functions that axiomjit.jit compiles, fold, "
        "einsum and functions made by elementwise take arrays in chunks",
        user_location(),
    )


Result = TypeVar("Result")
OPERATOR_UFUNCS: Final[Mapping[str, np.ufunc]] = {
    **{stem: getattr(np, name) for stem, name in OPERATORS.items()},
    **{"matmul": np.matmul, "divmod": np.divmod},
}
"""NumPy's ufunc for each operator, by the name of the operator's method without underscores."""


def _infix(name: str) -> Callable[[ArrayValue[Result], object], Result]:
    def operator(self: ArrayValue[Result], other: object) -> Any:
        try:  # `hides_frames` would be one more call
            return self._operate(name, self, other)
        except Exception as error:
            hide_frames(error)
            raise

    return operator


def _mirror(name: str) -> Callable[[ArrayValue[Result], object], Result]:
    return hides_frames(lambda self, other: self._operate(name, other, self))


def _write(name: str) -> Callable[[ArrayValue[Result], object], Result]:
    return hides_frames(lambda self, other: self._operate_in_place(name, other))


def _prefix(name: str) -> Callable[[ArrayValue[Result]], Result]:
    return hides_frames(lambda self: self._operate(name, self))


class _OfClass:
    """A method that is found on the class, where NumPy looks, but not on instances."""

    def __init__(self, name: str, method: Callable[..., Any]) -> None:
        self._name, self._method = name, method

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        if instance is None:
            return self._method
        raise AttributeError(self._name)


class ArrayValue(Generic[Result]):
    """An object that stands for an array or number; its operators give a `Result`.

    Python and NumPy call the methods below, which only this class defines. A subclass overrides
    these methods and flags:

    - `_operate`: computes an operator; by default by NumPy's ufunc for it
    - `_operate_in_place`: computes `x += y` and its like; by default by the ufunc with `out=(x,)`
    - `_ufunc`: answers a call of a ufunc or of a method of a ufunc; `_takes`: True for operands
      that `_ufunc` accepts
    - `_function`: answers a call of another function of NumPy; by default by NumPy's own
      implementation
    - `_defers`: True if calls with operands of a class that does not defer are left to that class
    - `_value`: returns the value for `bool`, `float`, `int` and `complex`; by default refuses
    - `as_argument`: returns the argument that compiled functions get instead, by default the object
      itself
    - `_is_converted`: True if xarray is to convert the object to an array, which it does only for
      instances without `__array_function__`
    - `_is_key`: True if `x == y` means `x is y`, so that the object can be a key of a dict
    - `__iter__`, `__index__`, `__array__`, `__len__`: defined by subclasses that support them,
      since Python and NumPy test for the methods

    For example, a lazy array is a subclass whose `_operate`, `_ufunc` and `_function` return new
    lazy arrays that record the operation, while `_value`, `__iter__` and `__array__` compute the
    values. A lazy array needs no other methods for NumPy or Python's operators.
    """

    __slots__ = ()
    _is_key: ClassVar[bool] = False
    _defers: ClassVar[bool] = False
    _is_converted: ClassVar[bool] = False

    def __init_subclass__(cls, **options: Any) -> None:
        """Hide `__array_function__` on instances if the class sets `_is_converted`."""
        super().__init_subclass__(**options)
        if cls._is_converted:
            name = "__array_function__"
            setattr(cls, name, _OfClass(name, getattr(cls, name)))

    def as_argument(self) -> Any:
        """Return the NumPy array or number that compiled functions get instead of this object."""
        return self

    def _operate(self, name: str, *operands: Any) -> Any:
        """Apply an operator, a key of `OPERATOR_UFUNCS`, to operands that include this object."""
        if any(getattr(value, "__array_ufunc__", self) is None for value in operands):
            return NotImplemented
        return OPERATOR_UFUNCS[name](*operands)

    def _operate_in_place(self, name: str, other: Any) -> Any:
        """Write an operator's result into this array, or return NotImplemented."""
        return OPERATOR_UFUNCS[name](self, other, out=(self,))

    def _takes(self, value: object) -> bool:
        """True if `_ufunc` accepts an operand; else the operand's class computes the ufunc."""
        return True

    def _ufunc(
        self, ufunc: np.ufunc, method: str, operands: Sequence[Any], options: dict[str, Any]
    ) -> Any:
        """Call a ufunc (method "__call__") or one of its methods."""
        raise NotImplementedError

    def _function(
        self, function: Any, operands: Sequence[Any], options: Mapping[str, Any]
    ) -> object:
        """Call a NumPy function that is not a ufunc."""
        return function._implementation(*operands, **options)

    def _value(self, use: str) -> Any:
        """Return the value for the conversion `use`, such as "bool", or refuse the conversion."""
        kind = type(self).__name__
        raise TypeError(f"{use}() argument must be a string or a real number, not {kind!r}")

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *operands: Any, **options: Any) -> Any:
        try:
            if not all(map(self._takes, (*operands, *(options.get("out") or ())))):
                return NotImplemented
            return self._ufunc(ufunc, method, operands, options)
        except Exception as error:
            hide_frames(error)
            raise

    def __array_function__(
        self,
        function: Any,
        types: Iterable[type],
        operands: Sequence[Any],
        options: dict[str, Any],
    ) -> object:
        others = (kind for kind in types if not issubclass(kind, np.ndarray))
        try:
            if self._defers and not all(getattr(kind, "_defers", False) for kind in others):
                return NotImplemented
            return self._function(function, operands, options)
        except Exception as error:
            hide_frames(error)
            raise

    def __bool__(self) -> bool:
        return bool(self._value("bool"))

    def __float__(self) -> float:
        return float(self._value("float"))

    def __int__(self) -> int:
        return int(self._value("int"))

    def __complex__(self) -> complex:
        return complex(self._value("complex"))

    def __eq__(self, other: object) -> Any:
        return self is other if self._is_key else self._operate("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self is not other if self._is_key else self._operate("ne", self, other)

    __hash__ = object.__hash__

    __lt__, __le__ = _infix("lt"), _infix("le")
    __gt__, __ge__ = _infix("gt"), _infix("ge")
    __neg__, __pos__ = _prefix("neg"), _prefix("pos")
    __abs__, __invert__ = _prefix("abs"), _prefix("invert")
    __divmod__, __rdivmod__ = _infix("divmod"), _mirror("divmod")
    __add__, __radd__, __iadd__ = _infix("add"), _mirror("add"), _write("add")
    __sub__, __rsub__, __isub__ = _infix("sub"), _mirror("sub"), _write("sub")
    __mul__, __rmul__, __imul__ = _infix("mul"), _mirror("mul"), _write("mul")
    __mod__, __rmod__, __imod__ = _infix("mod"), _mirror("mod"), _write("mod")
    __pow__, __rpow__, __ipow__ = _infix("pow"), _mirror("pow"), _write("pow")
    __and__, __rand__, __iand__ = _infix("and"), _mirror("and"), _write("and")
    __or__, __ror__, __ior__ = _infix("or"), _mirror("or"), _write("or")
    __xor__, __rxor__, __ixor__ = _infix("xor"), _mirror("xor"), _write("xor")
    __matmul__, __rmatmul__, __imatmul__ = _infix("matmul"), _mirror("matmul"), _write("matmul")
    __lshift__, __rlshift__, __ilshift__ = _infix("lshift"), _mirror("lshift"), _write("lshift")
    __rshift__, __rrshift__, __irshift__ = _infix("rshift"), _mirror("rshift"), _write("rshift")
    __truediv__, __rtruediv__ = _infix("truediv"), _mirror("truediv")
    __floordiv__, __rfloordiv__ = _infix("floordiv"), _mirror("floordiv")
    __itruediv__, __ifloordiv__ = _write("truediv"), _write("floordiv")


def text_of_call(method: str, options: Iterable[str]) -> str:
    """The text of a ufunc call in a message: the method and the names of the options."""
    names = ", ".join(options)
    return f"{method} with {names}" if names else method
