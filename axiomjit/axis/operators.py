"""Python's operators on tensors and named arrays.

The functions that compute operators are in other modules, which are imported when a process first
uses an operator.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NoReturn, TypeVar

from axiomjit.base.array_values import OPERATORS, ArrayValue
from axiomjit.base.errors import GraphTypeError
from axiomjit.base.locks import LazyRegistry
from axiomjit.base.origins import hides_frames_in_methods, user_location

Result = TypeVar("Result")


_MODULES: Final = "elementwise functions numpy_protocol reductions state transformers views"
_OPERATIONS: Final[LazyRegistry[str, Callable[..., Any]]] = LazyRegistry(
    {}, "OPERATIONS", *(f"axiomjit.axis.{module}" for module in _MODULES.split())
)


def operation(name: str) -> Callable[..., Any]:
    """A function that calls the operation of this name; each call looks up the name."""
    return lambda *operands: _OPERATIONS[name](*operands)


@hides_frames_in_methods
class AxisOperand(ArrayValue[Result]):
    """A tensor or named array, whose operators are elementwise and return a `Result`.

    `x == y` means `x is y`, so that tensors can be keys of a dict; `equal` compares values.
    """

    __slots__ = ()
    _is_key = True

    def _apply(self, name: str, *operands: object) -> Result:
        result: Result = _OPERATIONS[name](*operands)
        return result

    def _operate(self, name: str, *operands: object) -> Any:
        if name == "divmod":
            return NotImplemented
        return self._apply("dot" if name == "matmul" else OPERATORS[name], *operands)

    def _operate_in_place(self, name: str, other: object) -> Any:
        return NotImplemented

    def _ufunc(self, ufunc: Any, method: str, operands: Any, options: Any) -> object:
        return _OPERATIONS["ufunc"](ufunc, method, operands, options)

    def _function(self, function: Any, operands: Any, options: Any) -> object:
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
