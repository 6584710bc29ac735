"""Trace a function of numbers once, into a graph of scalars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import numpy as np

from axiomjit.base.array_values import ArrayValue
from axiomjit.base.dtypes import FLOAT, DType
from axiomjit.base.errors import AxiomError, GraphTypeError, NeedsValuesError, UnsupportedError
from axiomjit.base.origins import user_location
from axiomjit.graph import builder
from axiomjit.graph.nodes import Input, Node, Scalar
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS


class TracedNumber(ArrayValue[Any], TracedValue):
    """Stands for a number while a function of numbers is traced."""

    __slots__ = ("defers", "node")
    __array_priority__ = 2000

    def __init__(self, node: Node, defers: bool = False) -> None:
        """Represent a node without dimensions.

        With `defers`, an operation for whose dtypes NumPy has no loop returns a `RefusedNumber`.
        """
        self.node = node
        self.defers = defers

    @property
    def dtype(self) -> DType:
        """The dtype of the number."""
        return self.node.dtype

    def astype(self, dtype: Any) -> TracedNumber:
        """The number cast to another dtype."""
        return TracedNumber(builder.cast(self.node, np.dtype(dtype)), self.defers)

    @property
    def real(self) -> TracedNumber:
        """The real part of the number."""
        return TracedNumber(builder.part(self.node, "real"), self.defers)

    @property
    def imag(self) -> TracedNumber:
        """The imaginary part of the number."""
        return TracedNumber(builder.part(self.node, "imag"), self.defers)

    def _ufunc(self, ufunc: np.ufunc, method: str, operands: Any, options: Any) -> object:
        if method != "__call__" or options or ufunc not in UFUNCS:
            raise _unknown(f"numpy.{ufunc.__name__}" + ("" if not options else " with options"))
        return self._computed(UFUNCS[ufunc], operands)

    def _function(self, function: Any, operands: Any, options: Any) -> object:
        if function not in FUNCTIONS or options:
            raise _unknown(f"numpy.{function.__name__}")
        return self._computed(FUNCTIONS[function], operands)

    def _computed(self, rule: Callable[..., Any], operands: Sequence[object]) -> object:
        for value in operands:
            if isinstance(value, RefusedNumber):
                return value
        try:
            return _wrapped_result(rule(*map(_node_of, operands)), self.defers)
        except GraphTypeError as error:
            if not self.defers:
                raise
            return RefusedNumber(error.at(user_location()))

    def _value(self, use: str) -> NoReturn:
        asked, remedy = "value", "use NumPy's functions, which are followed"
        if use == "bool":
            asked, remedy = "truth", "write np.where(condition, a, b) instead of a branch"
        raise NeedsValuesError(
            f"the {asked} of a number in a function that is followed once for all elements",
            f"a traced {self.node.dtype}: its value is not known",
            remedy,
            user_location(),
        )

    def __index__(self) -> NoReturn:
        self._value("int")


class RefusedNumber(TracedNumber):
    """Stands for a number that NumPy cannot compute for the operands' dtypes."""

    __slots__ = ("error",)

    def __init__(self, error: AxiomError) -> None:
        super().__init__(Scalar(FLOAT, FLOAT.type(0), False), True)
        self.error = error

    @property
    def dtype(self) -> NoReturn:
        """Raise the stored error."""
        raise self.error

    @property
    def real(self) -> TracedNumber:
        """This object, which stands for its own real and imaginary part."""
        return self

    imag = real

    def astype(self, dtype: Any) -> TracedNumber:
        """Return this object."""
        return self


def _unknown(name: str) -> UnsupportedError:
    return UnsupportedError(
        f"{name} in a function of numbers",
        f"{name}, which is not compiled there",
        "use operators, NumPy's ufuncs and np.where",
        user_location(),
    )


def _node_of(value: object) -> object:
    if isinstance(value, TracedNumber):
        return value.node
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if isinstance(value, TracedValue):
        raise _captured(f"{value!r} from outside the function")
    if isinstance(value, np.ndarray | list):
        raise _captured(f"an array of shape {np.shape(value)} from outside the function")
    return value


def _captured(seen: str) -> GraphTypeError:
    return GraphTypeError(
        "an operation in a function of numbers",
        seen,
        "pass arrays as operands, each gives one number per element",
        user_location(),
    )


def _wrapped_result(made: Any, defers: bool) -> object:
    if isinstance(made, tuple):
        return tuple(TracedNumber(builder.strong(node), defers) for node in made)
    return TracedNumber(builder.strong(made), defers)


def trace_scalars(
    function: Callable[..., object],
    given: Sequence[Sequence[DType]],
    grouped: bool,
    asked: str,
    wanted: int | None = None,
) -> tuple[tuple[Node, ...], bool]:
    """The graph of scalars of a function, and True if it returned a tuple.

    Args:
        function: A function of numbers, which is called once.
        given: For each argument the dtypes of its numbers.
        grouped: True if each argument is a tuple of numbers, False if it is a single number.
        asked: The text of the traced function, for errors.
        wanted: The index of the only result that is used; by default all are. Unused results may be
            impossible to compute for these dtypes.

    Returns:
        The nodes of the results, with strong dtypes; the inputs are numbered in the order of
        `given`.

    Raises:
        GraphTypeError: the function returned a value that is not a number, or used an array.
        NeedsValuesError: the function branches on a value.
        UnsupportedError: the function calls another function that is not compiled.
    """
    count = 0
    arguments: list[object] = []
    for dtypes in given:
        inputs = (Input(d, count + k, ()) for k, d in enumerate(dtypes))
        numbers = tuple(TracedNumber(node, wanted is not None) for node in inputs)
        arguments.append(numbers if grouped else numbers[0])
        count += len(numbers)
    with np.errstate(all="ignore"):
        returned = function(*arguments)
    is_tuple = isinstance(returned, tuple | list)
    values = list(returned) if isinstance(returned, tuple | list) else [returned]
    for value in values if wanted is None else values[wanted : wanted + 1]:
        if isinstance(value, RefusedNumber):
            raise value.error
    return tuple(_result(value, asked) for value in values), is_tuple


def _result(value: object, asked: str) -> Node:
    if isinstance(value, TracedNumber):
        return value.node
    if isinstance(value, bool | int | float | complex | np.generic):
        node = builder.as_node(value, asked)
        assert isinstance(node, Scalar)
        return Scalar(node.dtype, node.value, False)
    raise GraphTypeError(
        asked,
        f"a result of type {type(value).__name__}",
        "return a number, or a tuple of numbers",
        user_location(),
    )
