"""Symbolic numbers: lengths and integer arguments, whose values may differ in other calls.

Floats that are computed from such numbers are symbolic, too: `1 / x.size`, `np.sqrt(x.size)`,
`len(x) ** 0.5`.
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, Self

import numpy as np

from axiomjit.base.array_values import COMPARISONS, OPERATOR_UFUNCS, ArrayValue
from axiomjit.base.dtypes import FLOAT, INT
from axiomjit.base.errors import AxiomError, NotDispatchedError
from axiomjit.base.locks import lazy_import
from axiomjit.base.trace_context import current, is_usable, leaked_tracer_error
from axiomjit.graph.builder import as_node, elementwise, strong
from axiomjit.graph.nodes import Graph, LengthNode, Node, Op, Scalar, post_order
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, current_scope, dim, product
from axiomjit.symbolic.index_ranges import is_number_of_trip
from axiomjit.tracing.refusals import refuse_value

MOST_FACTORS: Final = 4
"""The largest exponent of a power that stays symbolic."""
LARGEST_EXPONENT: Final = 1000
"""Powers of two up to this exponent are finite floats."""
_FACTORED: Final = frozenset({"multiply", "divide", "sqrt", "cast", "power"})
"""Primitives whose result is zero only if an operand is zero."""


class SymbolicNumber(ArrayValue[Any]):
    """A number with its value in this call and its dependence on the arguments.

    Arithmetic stays symbolic if a subclass can express its result, so that the program is valid for
    other lengths. Every other operation (comparing, hashing, printing, a function that knows no
    symbolic numbers) uses the value of this call and records a guard: for another value the
    function is traced again. A symbolic number may be used only in the trace that has made it.
    """

    __slots__ = ("__weakref__", "_following")
    _defers = True

    def __init__(self) -> None:
        """Make a number of the current trace."""
        self._following = current()

    def concrete_value(self) -> Any:
        """The value in this call; a guard requires the same value in later calls."""
        raise NotImplementedError

    def operand(self) -> Dim | Node:
        """The Dim or node that a computation with this number records as its operand."""
        raise NotImplementedError

    def _value(self, use: str) -> Any:
        return self.concrete_value()

    def __str__(self) -> str:
        return str(self.concrete_value())

    def __format__(self, spec: str) -> str:
        return format(self.concrete_value(), spec)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
        return getattr(self.concrete_value(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.concrete_value(), dtype)

    def _takes(self, value: object) -> bool:
        known = (SymbolicNumber, np.ndarray, np.generic, int, float, complex, type(None))
        return issubclass(type(value), known)  # `isinstance` takes a traced array for a NumPy array

    def _ufunc(self, ufunc: np.ufunc, method: str, inputs: Any, options: Any) -> object:
        made = _computed(ufunc, *inputs) if method == "__call__" and not options else None
        if made is not None:
            return symbolic_float(strong(made))
        return getattr(ufunc, method)(*map(known_numbers, inputs), **options)

    def _function(self, function: Any, args: Any, kwargs: Any) -> object:
        named = {k: known_numbers(v) for k, v in kwargs.items()}
        return function(*map(known_numbers, args), **named)

    def _operate(self, name: str, *operands: Any) -> Any:
        """Apply an operator to symbolic numbers or, if that is impossible, to their values."""
        if any(issubclass(type(value), TracedValue) for value in operands):
            return NotImplemented  # a traced array treats the float as an unknown number
        made = self._symbolic(name, *operands)
        return _of_values(name, *operands) if made is None else made

    def _operate_in_place(self, name: str, other: object) -> Any:
        return NotImplemented

    def _symbolic(self, name: str, *operands: Any) -> Any:
        """The symbolic result of an operator; None if only the values of the operands decide it."""
        if name == "pos":
            return self
        if name not in _FLOATS or not all(map(_is_real, operands)):
            return None
        left, right = operands
        if name == "pow":
            if left is self and type(right) is int and 0 < right <= MOST_FACTORS:
                return functools.reduce(operator.mul, [self] * right)
            whole = issubclass(type(right), np.integer) or (type(right) is int and right >= 0)
            fits = left is self and not whole and _is_exponent(right)
            if not fits or not _is_positive(unwrap(left)):
                return None
            right = float(right)
        if name == "truediv" and not _is_nonzero(unwrap(right)):
            return None
        made = _computed(OPERATOR_UFUNCS[name], left, right)
        return None if made is None else symbolic_float(made)


class SymbolicInt(SymbolicNumber):
    """An integer that depends on the arguments: a length, or an integer argument.

    Sums, differences, products and floor quotients of integers are symbolic integers; other
    arithmetic gives symbolic floats. In the body of a loop, a quotient or remainder of its index is
    a traced number. `range` uses the value of this call. `isinstance(number, int)`
    is true. A number that was hashed, for example as a key of a dictionary, is a plain number after
    its trace.
    """

    __slots__ = ("_dim", "_number")

    def __init__(self, value: Dim) -> None:
        super().__init__()
        self._dim = value
        self._number: int | None = None

    @property
    def dim(self) -> Dim:
        """The symbolic length.

        Raises:
            TraceError: the trace that made this number is not running here.
        """
        if not is_usable(self._following):
            raise leaked_tracer_error(self._following, "length", "of an array or argument there")
        return self._dim

    @property  # type: ignore[misc]
    def __class__(self) -> type[int]:  # type: ignore[override]
        return int

    @property
    def real(self) -> SymbolicInt:
        """The integer itself."""
        return self

    imag = 0
    numerator, denominator = real, 1

    def conjugate(self) -> SymbolicInt:
        """The integer itself."""
        return self

    def __index__(self) -> int:
        if _is_chosen(self.dim):
            refuse_value(
                "a number of elements that a mask chooses as a Python number",
                "length",
                "keep it a length: x.size and x.shape may be computed with",
                NotDispatchedError,
            )
        return int(self.dim)

    concrete_value = __index__

    def operand(self) -> Dim:
        """The symbolic length."""
        return self.dim

    def __trunc__(self) -> SymbolicInt:
        return self

    __floor__ = __ceil__ = __trunc__

    def _value(self, use: str) -> Any:
        if use != "bool":
            return self.concrete_value()
        truth = _asked("ne", self, 0)
        return self.dim if truth is None else truth

    def _operate(self, name: str, *operands: Any) -> Any:
        if name in ("eq", "ne"):
            keys = [isinstance(value, SymbolicInt) and value._is_old() for value in operands]
            pairs = zip(operands, keys, strict=True)
            operands = tuple(value._number if is_old else value for value, is_old in pairs)
            if self._is_old():
                return _of_values(name, *operands)
        return super()._operate(name, *operands)

    def _symbolic(self, name: str, *operands: Any) -> Any:
        """The symbolic result of an operator; integer arithmetic and comparisons use Dims."""
        if name == "neg":
            return length(-self.dim)
        if name == "abs":
            return self if self.dim >= 0 else length(-self.dim)
        if name == "divmod":
            left, right = operands
            return left // right, left % right
        if name == "pow" and type(operands[0]) is float and operands[1] is self:
            return self._exponent_of(operands[0])
        if name in COMPARISONS:
            operands = tuple(map(_whole, operands))
            truth = _asked(name, *operands)
            if truth is not None:
                return truth
        divides = name in ("floordiv", "mod")
        if name not in _INTEGERS or not all(map(_is_integer, operands)):
            return super()._symbolic(name, *operands)
        if divides and (operands[0] is not self or operands[1] == 0):
            return None
        result = getattr(operator, name)(*(dim(unwrap(value)) for value in operands))
        if divides and isinstance(result, Dim) and is_number_of_trip(result):
            return lazy_import("axiomjit.tracing.python_numbers").number_of_trip(result)
        return length(result) if isinstance(result, Dim) else result

    def __hash__(self) -> int:
        if self._number is None:
            self._number = int(self)
        return hash(self._number)

    def _exponent_of(self, base: float) -> SymbolicFloat | None:
        """The power of a positive base; None if it may be too large for a float."""
        if not 0 < base < math.inf:
            return None
        most = int(LARGEST_EXPONENT / max(abs(math.log2(base)), sys.float_info.epsilon))
        fits = self.dim <= most if base > 1 else self.dim >= -most
        made = _computed(np.power, base, self) if fits else None
        return None if made is None else symbolic_float(made)

    def _is_old(self) -> bool:
        """True if the number was hashed in a trace that has ended; then it is a plain number."""
        return self._number is not None and not is_usable(self._following)

    def __repr__(self) -> str:
        usable = is_usable(self._following)
        return repr(int(self)) if usable else f"<length {self._dim} of another call>"

    def __reduce_ex__(self, protocol: object) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __round__(self, digits: int | None = None) -> int | SymbolicInt:
        return round(int(self), digits) if digits is not None else self


class SymbolicFloat(SymbolicNumber):
    """A float computed from lengths and numbers: a Python float, or a NumPy float after a ufunc.

    Sums, differences, products, quotients and roots of such floats are symbolic floats, too.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        super().__init__()
        self._node = node

    @property
    def node(self) -> Node:
        """The node that computes the float.

        Raises:
            TraceError: the trace that made this number is not running here.
        """
        if not is_usable(self._following):
            raise leaked_tracer_error(self._following, "float", "computed from lengths there")
        return self._node

    @property  # type: ignore[misc]
    def __class__(self) -> type[float]:  # type: ignore[override]
        return float if self._node.weak else np.float64

    @property
    def real(self) -> SymbolicFloat:
        """The float itself."""
        return self

    imag = 0.0

    def conjugate(self) -> SymbolicFloat:
        """The float itself."""
        return self

    def operand(self) -> Node:
        """The node that computes the float."""
        return self.node

    def concrete_value(self) -> Any:
        """The value in this call; a guard is recorded for each length in the float."""
        for node in post_order((self.node,)):
            if isinstance(node, LengthNode):
                SymbolicInt(node.length).concrete_value()
        evaluate = lazy_import("axiomjit.graph.evaluate_graph").evaluate_graph
        (value,) = evaluate(Graph((), (self.node,)), (), current_scope().values)
        return value.item() if self.node.weak else value[()]

    def __getitem__(self, key: Any) -> Any:
        if self._node.weak:
            raise TypeError("'float' object is not subscriptable")
        return self if isinstance(key, tuple) and not key else self.concrete_value()[key]

    def __hash__(self) -> int:
        return hash(self.concrete_value())

    def __repr__(self) -> str:
        return (
            repr(self.concrete_value()) if is_usable(self._following) else "<float of another call>"
        )

    def __reduce_ex__(self, protocol: object) -> tuple[type[float], tuple[float]]:
        return float, (float(self),)

    def __trunc__(self) -> int:
        return math.trunc(float(self))

    def __floor__(self) -> int:
        return math.floor(float(self))

    def __ceil__(self) -> int:
        return math.ceil(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.concrete_value(), digits)

    def _symbolic(self, name: str, *operands: Any) -> Any:
        return operator.mul(self, -1) if name == "neg" else super()._symbolic(name, *operands)


def _is_chosen(value: Dim) -> bool:
    """True if a number depends on the counts of masks, which are not known in the trace."""
    chosen = data_dependent_in(value)
    return bool(chosen) and not chosen <= current_scope().computed.keys()


def _asked(name: str, *operands: Any) -> bool | None:
    """The outcome of a comparison if a number in it depends on a mask; else None."""
    if not all(map(_is_integer, operands)):
        return None
    left, right = (dim(unwrap(value)) for value in operands)
    if not (_is_chosen(left) or _is_chosen(right)):
        return None
    late = lazy_import("axiomjit.tracing.python_numbers")
    found: bool | None = late.compared(OPERATOR_UFUNCS[name], left, right)
    return found


def _computed(ufunc: np.ufunc, *operands: Any) -> Node | None:
    """The node of a ufunc of numbers; None if the result is not a number of the dtype float64."""
    if ufunc not in UFUNCS or not all(map(_is_real, operands)):
        return None
    with suppress(AxiomError, ArithmeticError):
        made = UFUNCS[ufunc](*(as_node(unwrap(value), ufunc.__name__) for value in operands))
        if isinstance(made, Node) and made.dtype == FLOAT and not made.shape:
            return made
    return None


def _is_real(value: object) -> bool:
    """True if a value is an integer or float of 64 bits."""
    if issubclass(type(value), np.generic):
        return np.asarray(value).dtype in (INT, FLOAT)
    return issubclass(type(value), SymbolicNumber | int | float) and type(value) is not bool


def known_numbers(value: Any) -> Any:
    """The value of a symbolic number, also inside tuples and lists; other values are unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(map(known_numbers, value)) if not hasattr(value, "_fields") else value
    return value.concrete_value() if issubclass(type(value), SymbolicNumber) else value


def unwrap(value: Any) -> Any:
    """The operand of a symbolic number, also in tuples, lists, slices; or the unchanged value."""
    if issubclass(type(value), SymbolicNumber):
        return value.operand()
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    if isinstance(value, tuple | list):
        return type(value)(map(unwrap, value)) if not hasattr(value, "_fields") else value
    return value


def length(value: Dim) -> int | SymbolicInt:
    """A length for the user: a plain int if it is constant, else a SymbolicInt."""
    return SymbolicInt(value) if value.constant is None else value.constant


QUERIES: Final[dict[Callable[..., object], Callable[[Node], object]]] = {
    np.shape: lambda node: tuple(map(length, node.shape)),
    np.ndim: lambda node: len(node.shape),
    np.size: lambda node: length(product(node.shape)),
}
"""NumPy's functions that return lengths of a traced array."""


def _is_integer(value: object) -> bool:
    return issubclass(type(value), (SymbolicInt, int)) and not isinstance(value, bool)


def _whole(value: Any) -> Any:
    return int(value) if issubclass(type(value), float) and value.is_integer() else value


_FLOATS: Final = frozenset({"add", "sub", "mul", "truediv", "pow"})
"""Operators whose results may be symbolic floats."""
_INTEGERS: Final = frozenset({"add", "sub", "mul", "floordiv", "mod", *COMPARISONS})
"""Operators that are applied to symbolic lengths."""


def _of_values(name: str, *operands: Any) -> Any:
    """Apply an operator to the values that the operands have in this call."""
    function = divmod if name == "divmod" else getattr(operator, f"__{name}__")
    return function(*map(known_numbers, operands))


def _is_exponent(value: Any) -> bool:
    return not isinstance(value, SymbolicNumber) and -MOST_FACTORS <= value <= MOST_FACTORS


def _is_positive(value: Any) -> bool:
    return _is_made_of(value, lambda factor: bool(factor > 0))


def _is_nonzero(value: Any) -> bool:
    return _is_made_of(value, bool)


def _is_made_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    """True if `holds` is true for each factor of a number; every length in it records a guard."""
    if isinstance(value, LengthNode):
        return holds(value.length)
    if isinstance(value, Scalar):
        return holds(value.value)
    if isinstance(value, Op):
        factors = value.primitive.name in _FACTORED
        return factors and all(_is_made_of(part, holds) for part in value.operands)
    return holds(value)


def converted(kind: type, value: Any) -> Any:
    """`float(value)` or `int(value)` of a symbolic or computed number; None if it is refused."""
    if issubclass(type(value), TracedValue):
        return lazy_import("axiomjit.tracing.python_numbers").converted(kind, value)
    if kind is int and issubclass(type(value), SymbolicInt):
        return value
    if kind is float and issubclass(type(value), SymbolicNumber):
        made = _computed(np.multiply, value, 1.0)
        return symbolic_float(made) if made is not None and made.weak else None
    return None


def symbolic_float(node: Node) -> Any:
    """A float that depends on lengths; a traced number if it depends on the index of a loop."""
    made = SymbolicFloat(node)
    if not differs_between_trips(made):
        return made
    return lazy_import("axiomjit.tracing.python_numbers").float_of_trip(node)


def differs_between_trips(value: Any) -> bool:
    """True if a symbolic number depends on the index of a loop whose body is being traced."""
    indices = current_scope().indices if issubclass(type(value), SymbolicNumber) else None
    if indices is None:
        return False
    nodes = post_order((as_node(unwrap(value), "number"),))
    return any(isinstance(n, LengthNode) and indices.occur_in(n.length) for n in nodes)


@functools.wraps(math.sqrt)
def square_root(value: Any, /) -> Any:
    """Return `math.sqrt(value)`; the result for a positive symbolic number is symbolic."""
    if not issubclass(type(value), SymbolicNumber) or not _is_positive(unwrap(value)):
        return math.sqrt(value)
    return symbolic_float(elementwise(PRIMITIVES["sqrt"], as_node(unwrap(value), "sqrt")))
