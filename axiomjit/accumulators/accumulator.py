"""Accumulators: an initial value with functions that lift, combine and finish states.

The functions take and return numbers; they are traced into graphs of scalars, once per combination
of dtypes. The compiler has a reduction for each built-in accumulator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache, partial
from typing import Any, Final, NamedTuple, NoReturn

import numpy as np

from axiomjit.base.array_values import ArrayValue
from axiomjit.base.caching import DEFAULT_LIMIT, BoundedTable
from axiomjit.base.dtypes import FLOAT, DType, Promotable, common, convert
from axiomjit.base.errors import (
    AxiomError,
    GraphTypeError,
    GraphValueError,
    NeedsValuesError,
    UnsupportedError,
    amount,
)
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Input, Node, Scalar
from axiomjit.graph.primitives import MAX, MIN, SUM
from axiomjit.graph.reductions import StateFold, choose_position, log_sum_exp
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules import reductions
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.table import FUNCTIONS


class TracedNumber(ArrayValue[Any], TracedValue):
    """A stand-in for a number while a function of numbers is traced."""

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
    """A stand-in for a number that NumPy cannot compute for the operands' dtypes."""

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
    """The graph of scalars of a function, and True if the function returned a tuple.

    Args:
        function: A function of numbers, which is called once.
        given: For each argument, the dtypes of the numbers in the argument.
        grouped: True if each argument is a tuple of numbers, False if it is a single number.
        asked: The text of the traced function, for errors.
        wanted: The index of the only result that is used; by default all results are used. Unused
            results may be impossible to compute for the dtypes in `given`.

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


Number = bool | int | float | complex | np.generic
Start = Number | tuple[Number, ...]
MAX_WIDENINGS: Final = 8
"""The largest number of times that a state's dtypes may widen before they must be stable."""


class Accumulator:
    """An associative operation that reduces elements, starting from an initial value.

    The reduction of elements m1 to mN is `final(combine(... combine(combine(init, lift(m1)),
    lift(m2)) ..., lift(mN)))`, up to the placement of parentheses: elements are reduced in blocks.
    `init` is used once, as the leftmost operand; without elements the result is `final(init)`.

    Args:
        init: A number, or a tuple of numbers for a state of several values; None to start from the
            first element, so that an empty reduction is an error.
        combine: Takes two states and returns one state; the function must be associative. States
            are numbers, or tuples of numbers if `init` (or, without `init`, the result of `lift`)
            is a tuple.
        lift: Takes an element of each operand and returns a state; by default the elements
            themselves are the state.
        final: Takes a state and returns the result, a number or a tuple of numbers; by default the
            state is the result.
        commutative: True if the order of elements does not matter. If the order matters, elements
            are combined in lexicographic order of the listed axes.
        has_identity: True if combining a state with `init` changes nothing, so that `init` may be
            used more than once.
        pullback: The adjoint of `combine` for gradients. By default, and always for folds by
            groups, the pullback is derived from `combine`. The pullback takes the cotangent of the
            combined state, the combined state and both operands of `combine`, and returns the
            cotangents of these operands. The pullback is linear in its first argument.

    The functions are traced once per combination of dtypes; they may use operators, NumPy's ufuncs
    and `np.where`. The dtypes follow NumPy: a state has the dtype of the lifted elements, or a
    wider dtype to which `combine` or `init` promotes it.

    Raises:
        GraphTypeError: `init` is not a number or tuple of numbers, or a function is not callable.

    Examples:
        >>> last = aj.Accumulator(0.0, lambda a, b: b)
        >>> aj.fold(last, np.array([[1.0, 2.0], [3.0, 4.0]]), axes=1)
        array([2., 4.])
    """

    __slots__ = (
        *("_traced", "cache", "combine", "commutative", "final", "has_identity", "init", "lift"),
        "pullback",
    )

    init: Start | None
    combine: Callable[..., Any]
    lift: Callable[..., Any] | None
    final: Callable[..., Any] | None
    commutative: bool
    has_identity: bool
    pullback: Callable[..., Any] | None
    cache: BoundedTable[Hashable, Any]

    @hides_frames
    def __init__(
        self,
        init: Start | None,
        combine: Callable[..., Any],
        lift: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None,
        commutative: bool = False,
        has_identity: bool = False,
        pullback: Callable[..., Any] | None = None,
    ) -> None:
        """Store the functions; they are traced at the first fold of operands with new dtypes."""
        self.init = None if init is None else _checked_start(init)
        functions = ("combine", combine), ("lift", lift), ("final", final), ("pullback", pullback)
        for name, function in functions:
            if not callable(function) and (function is not None or name == "combine"):
                raise GraphTypeError(
                    f"Accumulator(..., {name}={function!r})",
                    f"a {type(function).__name__}, which cannot be called",
                    f"give a function of states as {name}",
                    user_location(),
                )
        self.combine, self.lift, self.final, self.pullback = combine, lift, final, pullback
        self.commutative, self.has_identity = bool(commutative), bool(has_identity)
        self._traced = lru_cache(maxsize=DEFAULT_LIMIT)(self._trace)
        self.cache = BoundedTable()

    def traced(self, operands: Sequence[DType]) -> TracedAccumulator:
        """The graphs of scalars of the functions, for elements of these dtypes."""
        return self._traced(tuple(operands))

    def __repr__(self) -> str:
        return f"Accumulator({self.init!r}, {_name_of(self.combine)})"

    def _trace(self, operands: tuple[DType, ...]) -> TracedAccumulator:
        lifted, grouped = self._lifted(operands)
        fold = self._with_stable_dtypes([node.dtype for node in lifted], grouped)
        states = tuple(cast(node, d) for node, d in zip(lifted, fold.parts, strict=True))
        if self.final is None:
            return TracedAccumulator(states, fold, None, grouped)
        asked = f"final of {self!r}"
        found, is_tuple = trace_scalars(self.final, [fold.parts], grouped, asked)
        return TracedAccumulator(states, fold, found, is_tuple)

    def _lifted(self, operands: tuple[DType, ...]) -> tuple[tuple[Node, ...], bool]:
        """The nodes of the state that `lift` makes of an element, and True if states are tuples."""
        lift = self.lift
        if lift is None:
            grouped = isinstance(self.init, tuple) or len(operands) > 1
            lift = (lambda *e: e) if grouped else (lambda e: e)
        asked = f"lift of {self!r}"
        found, is_tuple = trace_scalars(lift, [(d,) for d in operands], False, asked)
        if self.init is not None:
            wanted = len(self.init) if isinstance(self.init, tuple) else None
            self._check_state(found, is_tuple, wanted, asked)
        return found, is_tuple

    def _with_stable_dtypes(self, dtypes: list[DType], grouped: bool) -> StateFold:
        """The fold, whose state gets wider dtypes until `combine` no longer changes the dtypes."""
        start = self.init if isinstance(self.init, tuple) else (self.init,) * len(dtypes)
        parts = [
            common((d, _promotion_operands(value, d)))
            for d, value in zip(dtypes, start, strict=True)
        ]
        asked = f"combine of {self!r}"
        for _ in range(MAX_WIDENINGS):
            found, is_tuple = trace_scalars(self.combine, [parts, parts], grouped, asked)
            self._check_state(found, is_tuple, len(dtypes) if grouped else None, asked)
            wider = [common((d, node.dtype)) for d, node in zip(parts, found, strict=True)]
            if wider == parts:
                outputs = tuple(cast(n, d) for n, d in zip(found, parts, strict=True))
                values = tuple(_as_start(v, d) for v, d in zip(start, parts, strict=True))
                flags = self.commutative, self.has_identity, self.init is not None
                return StateFold(outputs, values, *flags, self._pullback(parts, grouped))
            parts = wider
        raise GraphTypeError(
            asked,
            f"a state whose dtypes widen each time it is combined: {', '.join(map(str, parts))}",
            "convert the result of combine with .astype(...)",
            user_location(),
        )

    def _pullback(self, parts: Sequence[DType], grouped: bool) -> tuple[Node, ...]:
        """The graph of the pullback for states of these dtypes; empty if there is no pullback."""
        pullback = self.pullback
        if pullback is None:
            return ()

        def both(*given: Any) -> Any:
            made = pullback(*given)
            if not grouped or not isinstance(made, tuple):
                return made
            return tuple(
                one for each in made for one in (each if isinstance(each, tuple) else (each,))
            )

        asked = f"pullback of {self!r}"
        found, is_tuple = trace_scalars(both, [parts] * 4, grouped, asked)
        if not is_tuple or len(found) != 2 * len(parts):
            kind = f"tuple of {amount(len(parts), 'number')}" if grouped else "number"
            raise GraphValueError(
                asked,
                amount(len(found), "number"),
                f"return the cotangents of both states, each a {kind}",
                user_location(),
            )
        return tuple(cast(node, part) for node, part in zip(found, (*parts, *parts), strict=True))

    def _check_state(
        self, found: Sequence[Node], is_tuple: bool, wanted: int | None, asked: str
    ) -> None:
        """Check that a state is a tuple of `wanted` values, or a number if `wanted` is None.

        Raises:
            GraphValueError: the state is a number instead of a tuple, a tuple instead of a number,
                or of another length.
        """
        if (len(found) if is_tuple else None) != wanted:
            shape = f"a tuple of {amount(len(found), 'number')}" if is_tuple else "a number"
            like = "a number" if wanted is None else f"a tuple of {amount(wanted, 'number')}"
            other = "lift gives" if self.init is None else f"init is {self.init!r},"
            raise GraphValueError(
                asked,
                f"{shape} as a state, where {other} {like}",
                f"return {like}",
                user_location(),
            )


class TracedAccumulator(NamedTuple):
    """The functions of an accumulator as graphs of scalars, for certain dtypes.

    The inputs of `lift` are one element of each operand. The inputs of `final` are the state's
    values; `final` is None if the state itself is the result.
    """

    lift: tuple[Node, ...]
    fold: StateFold
    final: tuple[Node, ...] | None
    is_tuple: bool
    """True if the result is a tuple."""


def _checked_start(init: object) -> Start:
    values = init if isinstance(init, tuple) else (init,)
    if values and all(isinstance(value, Number) for value in values):
        return init  # type: ignore[return-value]
    raise GraphTypeError(
        f"Accumulator({type(init).__name__}, ...)",
        "an init that is no number and no tuple of numbers",
        "give a number, or a tuple with one number per value of the state",
        user_location(),
    )


def _promotion_operands(value: Number | None, dtype: DType) -> Promotable:
    """The operand for promotion: Python numbers are weak, None stands for `dtype`."""
    if value is None:
        return dtype
    if isinstance(value, np.generic):
        return value.dtype
    return np.dtype(np.bool_) if isinstance(value, bool) else type(value)


def _as_start(value: Number | None, dtype: DType) -> np.generic:
    number: np.generic = convert(np.asarray(0 if value is None else value), dtype)[()]
    return number


def _name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


Build = Callable[[Node, tuple[int, ...]], Node]


class BuiltIn(Accumulator):
    """An accumulator implemented by the compiler's own reductions.

    The accumulator's functions define the result; `build(node, dimensions)` makes the reduction of
    a node. The functions of argmax and argmin get the position of an element as a second operand.
    """

    __slots__ = ("build", "name")

    def __init__(
        self,
        name: str,
        build: Build,
        init: Start | None,
        combine: Callable[..., Any],
        lift: Callable[..., Any] | None = None,
        final: Callable[..., Any] | None = None,
    ) -> None:
        """Make a commutative accumulator whose `init`, if any, is its identity."""
        super().__init__(init, combine, lift, final, True, init is not None)
        self.name, self.build = name, build

    def operand(self, nodes: Sequence[Node]) -> Node:
        """The only operand of a fold by this accumulator.

        Raises:
            GraphValueError: there are several operands.
        """
        if len(nodes) != 1:
            raise GraphValueError(
                f"fold({self.name!r}) of {amount(len(nodes), 'operand')}",
                f"{self.name} takes one",
                "fold an expression of the operands",
                user_location(),
            )
        return nodes[0]

    def __repr__(self) -> str:
        return self.name


def _numpy_fold(function: Callable[..., Any]) -> Build:
    def build(node: Node, axes: tuple[int, ...]) -> Node:
        made: Node = reductions.FUNCTIONS[function](node, axes)
        return made

    return build


def _in_state_dtype(e: Any) -> Any:
    return e.astype(SUM.result_dtype(e.dtype))


def _combine_positions(better: np.ufunc) -> Callable[[Any, Any], Any]:
    def combine(a: Any, b: Any) -> Any:
        (value, place), (other, later) = a, b
        tie = np.equal(other, value) | (np.isnan(other) & np.isnan(value))
        wins = better(other, value) | (np.isnan(other) & ~np.isnan(value))
        wins = (wins & ~np.isnan(value)) | (tie & np.less(later, place))
        return np.where(wins, other, value), np.where(wins, later, place)

    return combine


def _merge_exponentials(a: Any, b: Any) -> Any:
    """Combine two states: a maximum, and the sum of exp(element - maximum)."""
    (m, s), (n, t) = a, b
    top, low = np.maximum(m, n), np.minimum(m, n)
    share = np.exp(low - np.where(np.isfinite(top), top, 0.0))  # inf - inf would be NaN
    return top, np.where(m == top, s + t * share, s * share + t)


def _merge_moments(a: Any, b: Any) -> Any:
    """Combine two states: a count, a mean, and the sum of squared deviations from the mean."""
    (n1, mean1, square1), (n2, mean2, square2) = a, b
    n, apart = n1 + n2, mean2 - mean1
    share = n2 / np.where(n == 0, 1.0, n)
    return n, mean1 + apart * share, square1 + square2 + apart * apart * (n1 * share)


def _moments(e: Any) -> Any:
    return 1.0, e, 0.0


def _accumulators() -> tuple[BuiltIn, ...]:
    return (
        BuiltIn("sum", _numpy_fold(np.sum), 0, np.add, _in_state_dtype),
        BuiltIn("prod", _numpy_fold(np.prod), 1, np.multiply, _in_state_dtype),
        BuiltIn("max", _numpy_fold(np.max), None, np.maximum),
        BuiltIn("min", _numpy_fold(np.min), None, np.minimum),
        BuiltIn("any", _numpy_fold(np.any), False, np.logical_or, lambda e: e != 0),
        BuiltIn("all", _numpy_fold(np.all), True, np.logical_and, lambda e: e != 0),
        BuiltIn(
            "argmax",
            partial(choose_position, MAX),
            None,
            _combine_positions(np.greater),
            None,
            lambda s: s[1],
        ),
        BuiltIn(
            "argmin",
            partial(choose_position, MIN),
            None,
            _combine_positions(np.less),
            None,
            lambda s: s[1],
        ),
        BuiltIn(
            *("mean", _numpy_fold(np.mean), (0.0, 0.0)),
            lambda a, b: (a[0] + b[0], a[1] + b[1]),
            lambda e: (e, 1.0),
            lambda s: s[0] / s[1],
        ),
        BuiltIn(
            *("logsumexp", log_sum_exp, (-np.inf, 0.0), _merge_exponentials),
            lambda e: (e, 1.0),
            lambda s: s[0] + np.log(s[1]),
        ),
        BuiltIn(
            *("variance", _numpy_fold(np.var), (0.0, 0.0, 0.0), _merge_moments, _moments),
            lambda s: s[2] / s[0],
        ),
        BuiltIn(
            *("std", _numpy_fold(np.std), (0.0, 0.0, 0.0), _merge_moments, _moments),
            lambda s: np.sqrt(s[2] / s[0]),
        ),
    )


BUILT_IN: Final[dict[str, BuiltIn]] = {one.name: one for one in _accumulators()}
"""The built-in accumulators by name."""
