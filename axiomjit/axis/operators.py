"""Python's operators on what has axes; what they do is installed by the modules that do it.

So `Tensor` and `NamedArray` have them without knowing those modules.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Generic, NoReturn, TypeVar

from axiomjit.base.errors import GraphTypeError
from axiomjit.base.origins import user_location

Result = TypeVar("Result")

_operations: Final[dict[str, Callable[..., Any]]] = {}


def install_operation(**operations: Callable[..., Any]) -> None:
    """Let these functions do the operations of their names."""
    _operations.update(operations)


def operation(name: str) -> Callable[..., Any]:
    """The function installed under a name; calls look it up each time."""
    return lambda *operands: _operations[name](*operands)


class AxisOperand(Generic[Result]):
    """What has axes: its operators are elementwise and give a `Result`.

    `==` is Python's identity, so that tensors can be keys; compare values with `equal`.
    """

    __slots__ = ()

    def _apply(self, name: str, *operands: object) -> Result:
        result: Result = _operations[name](*operands)
        return result

    def __array_ufunc__(
        self, ufunc: Any, method: str, *operands: object, **options: object
    ) -> object:
        return _operations["ufunc"](ufunc, method, operands, options)

    def __array_function__(
        self, function: Any, types: object, operands: Any, options: Any
    ) -> object:
        return _operations["function"](function, operands, options)

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

    def __add__(self, other: object) -> Result:
        return self._apply("add", self, other)

    def __radd__(self, other: object) -> Result:
        return self._apply("add", other, self)

    def __sub__(self, other: object) -> Result:
        return self._apply("subtract", self, other)

    def __rsub__(self, other: object) -> Result:
        return self._apply("subtract", other, self)

    def __mul__(self, other: object) -> Result:
        return self._apply("multiply", self, other)

    def __rmul__(self, other: object) -> Result:
        return self._apply("multiply", other, self)

    def __truediv__(self, other: object) -> Result:
        return self._apply("divide", self, other)

    def __rtruediv__(self, other: object) -> Result:
        return self._apply("divide", other, self)

    def __floordiv__(self, other: object) -> Result:
        return self._apply("floor_divide", self, other)

    def __rfloordiv__(self, other: object) -> Result:
        return self._apply("floor_divide", other, self)

    def __mod__(self, other: object) -> Result:
        return self._apply("remainder", self, other)

    def __rmod__(self, other: object) -> Result:
        return self._apply("remainder", other, self)

    def __pow__(self, other: object) -> Result:
        return self._apply("power", self, other)

    def __rpow__(self, other: object) -> Result:
        return self._apply("power", other, self)

    def __and__(self, other: object) -> Result:
        return self._apply("bitwise_and", self, other)

    def __rand__(self, other: object) -> Result:
        return self._apply("bitwise_and", other, self)

    def __or__(self, other: object) -> Result:
        return self._apply("bitwise_or", self, other)

    def __ror__(self, other: object) -> Result:
        return self._apply("bitwise_or", other, self)

    def __xor__(self, other: object) -> Result:
        return self._apply("bitwise_xor", self, other)

    def __rxor__(self, other: object) -> Result:
        return self._apply("bitwise_xor", other, self)

    def __lshift__(self, other: object) -> Result:
        return self._apply("left_shift", self, other)

    def __rlshift__(self, other: object) -> Result:
        return self._apply("left_shift", other, self)

    def __rshift__(self, other: object) -> Result:
        return self._apply("right_shift", self, other)

    def __rrshift__(self, other: object) -> Result:
        return self._apply("right_shift", other, self)

    def __matmul__(self, other: object) -> Result:
        return self._apply("dot", self, other)

    def __rmatmul__(self, other: object) -> Result:
        return self._apply("dot", other, self)

    def __neg__(self) -> Result:
        return self._apply("negative", self)

    def __pos__(self) -> Result:
        return self._apply("positive", self)

    def __abs__(self) -> Result:
        return self._apply("absolute", self)

    def __invert__(self) -> Result:
        return self._apply("invert", self)

    def __lt__(self, other: object) -> Result:
        return self._apply("less", self, other)

    def __le__(self, other: object) -> Result:
        return self._apply("less_equal", self, other)

    def __gt__(self, other: object) -> Result:
        return self._apply("greater", self, other)

    def __ge__(self, other: object) -> Result:
        return self._apply("greater_equal", self, other)
