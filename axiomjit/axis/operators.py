"""Python's operators on tensors and named arrays; their functions are in other modules' tables.

So `Tensor` and `NamedArray` have operators without importing those modules, which the first
operator of the process imports.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, NoReturn, TypeVar

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.locks import LazyRegistry
from axiomjit.base.operator_names import OPERATORS
from axiomjit.base.origins import user_location

Result = TypeVar("Result")


_MODULES: Final = "elementwise functions numpy_protocol reductions state transformers views"
_OPERATIONS: Final[LazyRegistry[str, Callable[..., Any]]] = LazyRegistry(
    {}, "OPERATIONS", *(f"axiomjit.axis.{module}" for module in _MODULES.split())
)


def operation(name: str) -> Callable[..., Any]:
    """The function of an operation; calls look it up each time."""
    return lambda *operands: _OPERATIONS[name](*operands)


def _infix(method: str) -> Callable[[AxisOperand[Result], object], Result]:
    name = OPERATORS[method]
    return lambda self, other: self._apply(name, self, other)


def _mirrored(method: str) -> Callable[[AxisOperand[Result], object], Result]:
    name = OPERATORS[method]
    return lambda self, other: self._apply(name, other, self)


def _prefix(method: str) -> Callable[[AxisOperand[Result]], Result]:
    name = OPERATORS[method]
    return lambda self: self._apply(name, self)


class AxisOperand(Generic[Result]):
    """A tensor or named array: its operators are elementwise and return a `Result`.

    `==` is Python's identity, so that tensors can be keys; compare values with `equal`.
    """

    __slots__ = ()

    def _apply(self, name: str, *operands: object) -> Result:
        result: Result = _OPERATIONS[name](*operands)
        return result

    def __array_ufunc__(
        self, ufunc: Any, method: str, *operands: object, **options: object
    ) -> object:
        return _OPERATIONS["ufunc"](ufunc, method, operands, options)

    def __array_function__(
        self, function: Any, types: object, operands: Any, options: Any
    ) -> object:
        return _OPERATIONS["function"](function, operands, options)

    def __getitem__(self, key: object) -> Result:
        return self._apply("part", self, key)

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(
            f"iteration over {self!r}",
            "axes, none of which is the first one",
            "take parts, as in x[0] or x[{axis: 0}]",
            user_location(),
        )

    def __eq__(self, other: object) -> bool:
        return self is other

    __hash__ = object.__hash__

    __add__ = _infix("add")
    __radd__ = _mirrored("add")
    __sub__ = _infix("sub")
    __rsub__ = _mirrored("sub")
    __mul__ = _infix("mul")
    __rmul__ = _mirrored("mul")
    __truediv__ = _infix("truediv")
    __rtruediv__ = _mirrored("truediv")
    __floordiv__ = _infix("floordiv")
    __rfloordiv__ = _mirrored("floordiv")
    __mod__ = _infix("mod")
    __rmod__ = _mirrored("mod")
    __pow__ = _infix("pow")
    __rpow__ = _mirrored("pow")
    __and__ = _infix("and")
    __rand__ = _mirrored("and")
    __or__ = _infix("or")
    __ror__ = _mirrored("or")
    __xor__ = _infix("xor")
    __rxor__ = _mirrored("xor")
    __lshift__ = _infix("lshift")
    __rlshift__ = _mirrored("lshift")
    __rshift__ = _infix("rshift")
    __rrshift__ = _mirrored("rshift")
    __lt__ = _infix("lt")
    __le__ = _infix("le")
    __gt__ = _infix("gt")
    __ge__ = _infix("ge")
    __neg__ = _prefix("neg")
    __pos__ = _prefix("pos")
    __abs__ = _prefix("abs")
    __invert__ = _prefix("invert")

    def __matmul__(self, other: object) -> Result:
        return self._apply("dot", self, other)

    def __rmatmul__(self, other: object) -> Result:
        return self._apply("dot", other, self)
