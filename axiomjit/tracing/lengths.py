"""Lengths and integer arguments as a traced function sees them: ints that may differ later.

Floats computed from them may, too: `1 / x.size`, `np.sqrt(x.size)`, `len(x) ** 0.5`.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any, Final, Self

import numpy as np

from axiomjit.base.dtypes import FLOAT, INT
from axiomjit.base.errors import AxiomError, NotDispatchedError
from axiomjit.base.locks import lazy_import
from axiomjit.base.operator_names import INFIX, OPERATORS
from axiomjit.base.trace_context import current, is_usable, leaked_tracer_error
from axiomjit.graph.builder import as_node, elementwise, strong
from axiomjit.graph.nodes import Graph, LengthNode, Node, Op, Scalar, post_order
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.data_dependent import data_dependent_in
from axiomjit.symbolic.dims import Dim, current_scope, dim, product
from axiomjit.tracing.refusals import refuse_value

MOST_FACTORS: Final = 4
"""The largest exponent of a power that stays symbolic."""
_FACTORED: Final = frozenset({"multiply", "divide", "sqrt", "cast", "power"})
"""Primitives that are zero only if an operand is."""


class SymbolicNumber:
    """A number with its value in this call and its dependence on the arguments.

    Arithmetic stays symbolic if a subclass can express its result, so that the program is valid for
    other lengths. Everything else (comparisons, hashing, printing, functions that do not know it)
    uses the value of this call and records a guard: for another value the function is traced again.
    Only the trace that made it may use it.
    """

    __slots__ = ("__weakref__", "_following")

    def __init__(self) -> None:
        """Belong to the current trace."""
        self._following = current()

    def at_hand(self) -> Any:
        """The value in this call, with a guard."""
        raise NotImplementedError

    def operand(self) -> Dim | Node:
        """The Dim or node that computations record as operand."""
        raise NotImplementedError

    def __int__(self) -> int:
        return int(self.at_hand())

    def __float__(self) -> float:
        return float(self.at_hand())

    def __complex__(self) -> complex:
        return complex(self.at_hand())

    def __str__(self) -> str:
        return str(self.at_hand())

    def __format__(self, spec: str) -> str:
        return format(self.at_hand(), spec)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"{self.__class__.__name__!r} object has no attribute {name!r}")
        return getattr(self.at_hand(), name)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(self.at_hand(), dtype)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: object, **options: Any
    ) -> object:
        known = (SymbolicNumber, np.ndarray, np.generic, int, float, complex)
        if not all(issubclass(type(value), known) for value in inputs):
            return NotImplemented  # an array that is traced beside it refuses
        made = _computed(ufunc, *inputs) if method == "__call__" and not options else None
        if made is not None:
            return SymbolicFloat(strong(made))
        return getattr(ufunc, method)(*map(known_numbers, inputs), **options)

    def __array_function__(
        self,
        function: Callable[..., object],
        types: Iterable[type],
        args: tuple[object, ...],
        kwargs: dict[str, object],
    ) -> object:
        if not all(issubclass(kind, SymbolicNumber | np.ndarray) for kind in types):
            return NotImplemented  # beside a traced array
        return function(
            *map(known_numbers, args), **{k: known_numbers(v) for k, v in kwargs.items()}
        )


class SymbolicInt(SymbolicNumber):
    """An integer that depends on the arguments: a length, or an argument.

    Sums, differences, products and floor quotients of integers are integers, other arithmetic gives
    floats. `range` uses the value of this call. It claims to be an int (`isinstance`), which it
    represents. Once hashed it is a number, so that a dictionary can keep it as a key.
    """

    __slots__ = ("_dim", "_number")

    def __init__(self, value: Dim) -> None:
        """Wrap a symbolic length."""
        super().__init__()
        self._dim = value
        self._number: int | None = None

    @property
    def dim(self) -> Dim:
        """The symbolic length.

        Raises:
            TraceError: another function, or none, is traced here.
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
        if data_dependent_in(self.dim):
            refuse_value(
                "a number of elements that a mask chooses as a Python number",
                "length",
                "keep it a length: x.size and x.shape may be computed with",
                NotDispatchedError,
            )
        return int(self.dim)

    at_hand = __int__ = __index__

    def operand(self) -> Dim:
        """The symbolic length."""
        return self.dim

    def __trunc__(self) -> SymbolicInt:
        return self

    __floor__ = __ceil__ = __pos__ = __trunc__

    def __neg__(self) -> int | SymbolicInt:
        return length(-self.dim)

    def __divmod__(self, other: Any) -> object:
        return self // other, self % other

    def __bool__(self) -> bool:
        return bool(self.dim)

    def __hash__(self) -> int:
        if self._number is None:
            self._number = int(self)
        return hash(self._number)

    def _is_key(self) -> bool:
        """True if it was hashed in an earlier trace: then it is a plain number."""
        return self._number is not None and not is_usable(self._following)

    def __repr__(self) -> str:
        usable = is_usable(self._following)
        return repr(int(self)) if usable else f"<length {self._dim} of another call>"

    def __reduce_ex__(self, protocol: object) -> tuple[type[int], tuple[int]]:
        return int, (int(self),)

    def __round__(self, digits: int | None = None) -> int | SymbolicInt:
        return round(int(self), digits) if digits is not None else self


class SymbolicFloat(SymbolicNumber):
    """A float that is computed from lengths and numbers: Python's, or NumPy's after a ufunc.

    Sums, differences, products, quotients and roots of such floats are such floats.
    """

    __slots__ = ("_node",)

    def __init__(self, node: Node) -> None:
        """Wrap a node without dimensions that depends on nothing but lengths."""
        super().__init__()
        self._node = node

    @property
    def node(self) -> Node:
        """The node that computes it.

        Raises:
            TraceError: another function, or none, is traced here.
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
        """The node that computes it."""
        return self.node

    def at_hand(self) -> Any:
        """The value in this call; each length in it gets a guard."""
        for node in post_order((self.node,)):
            if isinstance(node, LengthNode):
                SymbolicInt(node.length).at_hand()
        evaluate = lazy_import("axiomjit.graph.evaluate_graph").evaluate_graph
        (value,) = evaluate(Graph((), (self.node,)), (), current_scope().values)
        return value.item() if self.node.weak else value[()]

    def __getitem__(self, key: Any) -> Any:
        if self._node.weak:
            raise TypeError("'float' object is not subscriptable")
        return self if isinstance(key, tuple) and not key else self.at_hand()[key]

    def __bool__(self) -> bool:
        return bool(self.at_hand())

    def __hash__(self) -> int:
        return hash(self.at_hand())

    def __repr__(self) -> str:
        return repr(self.at_hand()) if is_usable(self._following) else "<float of another call>"

    def __reduce_ex__(self, protocol: object) -> tuple[type[float], tuple[float]]:
        return float, (float(self),)

    def __trunc__(self) -> int:
        return math.trunc(float(self))

    def __floor__(self) -> int:
        return math.floor(float(self))

    def __ceil__(self) -> int:
        return math.ceil(float(self))

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.at_hand(), digits)

    def __pos__(self) -> SymbolicFloat:
        return self

    def __neg__(self) -> Any:
        return operator.mul(self, -1)


def _computed(ufunc: np.ufunc, *operands: Any) -> Node | None:
    """The node of a ufunc of numbers if it is a float; else None, and their values are needed."""
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
    """The value of a symbolic number, also in tuples and lists; other values unchanged."""
    if isinstance(value, tuple | list):
        return type(value)(map(known_numbers, value)) if not hasattr(value, "_fields") else value
    return value.at_hand() if issubclass(type(value), SymbolicNumber) else value


def unwrap(value: Any) -> Any:
    """The operand of a symbolic number, also in tuples, lists, slices; other values unchanged."""
    if issubclass(type(value), SymbolicNumber):
        return value.operand()
    if isinstance(value, slice):
        return slice(unwrap(value.start), unwrap(value.stop), unwrap(value.step))
    if isinstance(value, tuple | list):
        return type(value)(map(unwrap, value)) if not hasattr(value, "_fields") else value
    return value


def length(value: Dim) -> int | SymbolicInt:
    """A length for the user: a plain int if it never differs."""
    return SymbolicInt(value) if value.constant is None else value.constant


QUERIES: Final[dict[Callable[..., object], Callable[[Node], object]]] = {
    np.shape: lambda node: tuple(map(length, node.shape)),
    np.ndim: lambda node: len(node.shape),
    np.size: lambda node: length(product(node.shape)),
}
"""NumPy's functions that return lengths of a traced array."""


def _is_integer(value: object) -> bool:
    return issubclass(type(value), (SymbolicInt, int)) and not isinstance(value, bool)


_FLOATS: Final = {
    **dict.fromkeys(("__add__", "__radd__"), np.add),
    **dict.fromkeys(("__sub__", "__rsub__"), np.subtract),
    **dict.fromkeys(("__mul__", "__rmul__"), np.multiply),
    **dict.fromkeys(("__truediv__", "__rtruediv__"), np.divide),
    "__pow__": np.power,
}
"""Operators whose results may be symbolic floats."""


def _is_mirrored(name: str) -> bool:
    return name.startswith("__r") and name != "__rshift__"


def _symbolic(name: str) -> Callable[[SymbolicInt, Any], object]:
    """Integer arithmetic that stays symbolic; with other operands it may give a float."""
    of_floats = _of_floats(name)

    def method(self: SymbolicInt, other: Any) -> object:
        if not _is_integer(other) or (name in ("__floordiv__", "__mod__") and other == 0):
            return of_floats(self, other)
        result = getattr(self.dim, name)(dim(unwrap(other)))
        return length(result) if isinstance(result, Dim) else result

    return method


def _of_floats(name: str) -> Callable[[Any, Any], object]:
    """Arithmetic that gives a float, symbolic unless a value decides its type or an error."""
    by_value = _by_value(name)
    ufunc = _FLOATS.get(name)

    def method(self: SymbolicNumber, other: Any) -> object:
        if issubclass(type(other), TracedValue):
            return NotImplemented  # the traced array computes with it as a node
        if ufunc is None or not _is_real(other):
            return by_value(self, other)
        pair = (other, self) if _is_mirrored(name) else (self, other)
        if ufunc is np.power and type(other) is int and 0 < other <= MOST_FACTORS:
            return functools.reduce(operator.mul, [self] * other)
        if ufunc is np.power:
            is_whole = issubclass(type(other), np.integer) or (type(other) is int and other >= 0)
            if is_whole or not _is_exponent(other) or not _is_positive(unwrap(self)):
                return by_value(self, other)
            pair = self, float(other)
        if ufunc is np.divide and not _is_nonzero(unwrap(pair[1])):
            return by_value(self, other)
        made = _computed(ufunc, *pair)
        return by_value(self, other) if made is None else SymbolicFloat(made)

    return method


def _is_exponent(value: Any) -> bool:
    return not isinstance(value, SymbolicNumber) and -MOST_FACTORS <= value <= MOST_FACTORS


def _is_positive(value: Any) -> bool:
    return _is_made_of(value, lambda factor: bool(factor > 0))


def _is_nonzero(value: Any) -> bool:
    return _is_made_of(value, bool)


def _is_made_of(value: Any, holds: Callable[[Any], bool]) -> bool:
    """True if `holds` is true of all factors of a number; lengths among them get a guard."""
    if isinstance(value, LengthNode):
        return holds(value.length)
    if isinstance(value, Scalar):
        return holds(value.value)
    if isinstance(value, Op):
        factors = value.primitive.name in _FACTORED
        return factors and all(_is_made_of(part, holds) for part in value.operands)
    return holds(value)


@functools.wraps(math.sqrt)
def square_root(value: Any, /) -> Any:
    """Return `math.sqrt(value)`, which is symbolic for a positive symbolic number."""
    if not issubclass(type(value), SymbolicNumber) or not _is_positive(unwrap(value)):
        return math.sqrt(value)
    return SymbolicFloat(elementwise(PRIMITIVES["sqrt"], as_node(unwrap(value), "sqrt")))


def _by_value(name: str) -> Callable[..., object]:
    """The operator on the value of this call; a mirrored one has the other operand first."""
    mirrored = _is_mirrored(name)
    base = f"__{name[3:]}" if mirrored else name
    function: Callable[..., object] = divmod if base == "__divmod__" else getattr(operator, base)

    def method(self: SymbolicNumber, *others: Any) -> object:
        if any(issubclass(type(other), TracedValue) for other in others):
            return NotImplemented  # the traced array computes with it as a node
        operands = [self.at_hand(), *map(known_numbers, others)]
        return function(*(reversed(operands) if mirrored else operands))

    return method


def _compared(name: str) -> Callable[[SymbolicInt, Any], object]:
    """A comparison of integers as lengths: one that is always true or false records no guard."""
    symbolic = _symbolic(name)

    def method(self: SymbolicInt, other: Any) -> object:
        whole = issubclass(type(other), float) and other.is_integer()
        return symbolic(self, int(other) if whole else other)

    return method


def _equality(name: str) -> Callable[[SymbolicInt, Any], object]:
    """As other comparisons; a key of an earlier trace is a plain number."""
    compared = _compared(name)
    of_numbers: Callable[[object, object], object] = getattr(operator, name)

    def method(self: SymbolicInt, other: Any) -> object:
        if isinstance(other, SymbolicInt) and other._is_key():
            other = other._number
        return of_numbers(self._number, other) if self._is_key() else compared(self, other)

    return method


_Form = Callable[[str], Callable[..., object]]
_FORMS: Final[dict[_Form, str]] = {
    _symbolic: "add radd sub rsub mul rmul floordiv mod",
    _of_floats: "truediv rtruediv pow",
    _compared: "lt le gt ge",
    _equality: "eq ne",
}
_FORM_OF: Final = {name: form for form, names in _FORMS.items() for name in names.split()}
for _name in (*OPERATORS, *(f"r{name}" for name in INFIX), "divmod", "rdivmod"):
    _method = f"__{_name}__"
    if _method not in vars(SymbolicInt):
        setattr(SymbolicInt, _method, _FORM_OF.get(_name, _by_value)(_method))
    if _method not in vars(SymbolicFloat):
        _made = _of_floats if _method in _FLOATS else _by_value
        setattr(SymbolicFloat, _method, _made(_method))
