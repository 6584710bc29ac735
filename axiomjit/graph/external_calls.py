"""Calls of NumPy's own functions and ufuncs on entire operands, as operations of a program.

An `ArrayCall` calls a function of arrays whose results have known shapes and dtypes. A function
with several results becomes one operation per result, on the same operands; a plan calls the
function once for all results in use. `ufunc_step` makes operations of ufuncs without a primitive.
The results of an `ExternalCall` are inferred by a probe; a result with another shape or dtype is
rejected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.base.counters import counter
from axiomjit.base.dtypes import (
    CODES,
    INT,
    DType,
    is_bool,
    is_complex,
    is_real,
    is_signed,
    is_unsigned,
)
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.base.locks import imported
from axiomjit.base.origins import catches_errors, user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import current
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.graph import builder
from axiomjit.graph.builder import cast, check_fits, promotable
from axiomjit.graph.library_operations import (
    BITCAST,
    Labels,
    LibraryOperation,
    OperandArrays,
    Shapes,
)
from axiomjit.graph.nodes import (
    Constant,
    Input,
    LengthNode,
    Node,
    Op,
    Scalar,
    base_of,
    describe_call,
    note,
)
from axiomjit.graph.primitives import ALL, COPY
from axiomjit.symbolic.data_dependent import (
    OtherResultError,
    UnfitNumberError,
    data_dependent_length,
)
from axiomjit.symbolic.dims import Dim, current_scope, product
from axiomjit.symbolic.index_maps import iterator, permutation

Options = tuple[tuple[str, Any], ...]
"""The keyword arguments of a function, as pairs of name and value."""
Shape = tuple[Dim, ...]
Lengths = tuple[int | None, ...]


class Extent(Record):
    """An option whose value is a length of the result, known when the function is called."""

    dimension: int


class ArrayFunction(Record):
    """The evaluation of a library operation: call a function of arrays, and select one result.

    `part` is the number of the selected result, None for a function with a single result. If
    `measured` is the number of a dimension, the result is the length of this dimension. Options are
    numbers, names, None, or an `Extent`.
    """

    name: str
    function: Callable[..., Any]
    options: Options = ()
    part: int | None = None
    measured: int | None = None

    def bound(self, shape: Lengths) -> Callable[..., Any]:
        """The function with its options filled in, for a result of this shape."""
        options = {
            name: shape[value.dimension] if isinstance(value, Extent) else value
            for name, value in self.options
        }
        return partial(self.function, **options) if options else self.function

    def selected(self, made: Any, dtype: DType, shape: Lengths) -> np.ndarray:
        """A result of a call, with checked shape and dtype; an unknown length in `shape` is None.

        Raises:
            OtherResultError: the result has another shape or dtype than inferred.
        """
        one = made if self.part is None else made[self.part]
        if self.measured is not None:
            return np.array(np.shape(one)[self.measured])
        one = np.asarray(one)
        if one.dtype is not dtype and one.dtype != dtype:
            raise OtherResultError(f"{self.name} gives {one.dtype}{one.shape}, not {dtype}")
        if one.shape != shape and not _fits(one.shape, shape):
            raise OtherResultError(f"{self.name} gives {one.dtype}{one.shape}, not {dtype}{shape}")
        return one

    def selected_copy(self, made: Any, dtype: DType, shape: Lengths) -> np.ndarray:
        """The selected result, in memory of its own and in C order."""
        one = self.selected(made, dtype, shape)
        return one if one.base is None and one.flags.carray else one.copy()

    def __call__(self, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
        """Call the function, and write the selected result into `out`."""
        made = self.bound(out.shape)(*operands)
        out[...] = self.selected(made, out.dtype, out.shape)

    @property
    def needs_shape(self) -> bool:
        """True if an option is a length of the result."""
        return any(isinstance(value, Extent) for _, value in self.options)

    def direct_function(self, *layout: object) -> Callable[..., Any] | None:
        """The function with its options; None if an option is a length."""
        return None if self.needs_shape else self.bound(())


def _fits(found: tuple[int, ...], shape: Lengths) -> bool:
    """True if a shape equals another shape, in which None is an unknown length."""
    pairs = zip(found, shape, strict=False)
    return len(found) == len(shape) and all(n is None or m == n for m, n in pairs)


def _resolved(options: Options) -> Options:
    """The options, with symbolic integers fixed to their values in this call."""
    return tuple((name, _number(value)) for name, value in options)


def _number(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(map(_number, value))
    return int(value) if isinstance(value, Dim) else value


class WithNamedArrays(Record):
    """A function whose arrays after the first are passed as keyword arguments."""

    function: Callable[..., Any]
    names: tuple[str, ...]

    def __call__(self, first: np.ndarray, *arrays: np.ndarray, **options: Any) -> Any:
        """Call the function with the arrays under their names."""
        return self.function(first, **dict(zip(self.names, arrays, strict=True)), **options)


class ArrayCall(Record):
    """A call of a NumPy function with nodes as operands; each result becomes a node.

    `additions(shapes, labels)` returns the cost of the call. `may_raise` and `is_speculative` are
    passed to `LibraryOperation`.
    """

    name: str
    function: Callable[..., Any]
    operands: tuple[Node, ...]
    options: Options = ()
    additions: Callable[[Shapes, Labels], Dim] | None = None
    may_raise: bool = False
    is_speculative: bool = False

    def dtypes(self, length: int = 1) -> tuple[DType, ...]:
        """The dtypes of the results, which do not depend on values.

        A trial call with arrays of ones finds the dtypes; all lengths of these arrays are `length`.
        The trial call may raise an error of NumPy.
        """
        kinds = tuple((node.dtype, len(node.shape)) for node in self.operands)
        known = tuple((k, v) for k, v in _resolved(self.options) if not isinstance(v, Extent))
        return _dtypes(self.function, kinds, known, length)

    def length(self, part: int | None = None, dimension: int = 0) -> Dim:
        """The data-dependent length of a dimension of a result.

        The program calls the function only once, for this length and all results.
        """
        count = self.result((), INT, part, dimension)
        return data_dependent_length(current_scope(), count)

    def result(
        self,
        shape: Shape,
        dtype: DType,
        part: int | None = None,
        measured: int | None = None,
        *,
        number: bool = False,
    ) -> Node:
        """The node of a result, or of the length of one dimension of a result.

        With `number`, the result is a Python number.
        """
        ranks = tuple(len(node.shape) for node in self.operands)
        evaluate = ArrayFunction(self.name, self.function, _resolved(self.options), part, measured)
        name = self.name if part is None else f"{self.name}[{part}]"
        name = name if measured is None else f"length of {name}"
        operation = LibraryOperation(
            *(name, len(ranks), evaluate, "", ALL),
            weight=CALL_WEIGHT,
            gives=dtype,
            additions=self.additions,
            direct_function=evaluate.direct_function if part is measured is None else None,
            ranks=ranks,
            may_raise=self.may_raise,
            is_speculative=self.is_speculative,
            number=number,
        )
        extents, maps = [*shape], []
        for node in self.operands:
            first = len(extents)
            maps.append(tuple(iterator(first + d) for d in range(len(node.shape))))
            extents += node.shape
        operands = tuple(map(stored, self.operands))
        given = operands, tuple(maps), tuple(extents), len(shape)
        made = note(Op(dtype, operation, None, *given))
        return may_fail(made) if self.may_raise else made

    def results(self, *shapes: Shape) -> tuple[Node, ...]:
        """The nodes of all results, in order."""
        dtypes = self.dtypes()
        every = zip(shapes, dtypes, strict=True)
        return tuple(self.result(shape, dtype, k) for k, (shape, dtype) in enumerate(every))


class NumberStore(Record):
    """A function that stores a Python or NumPy number in an element of a dtype, at run time."""

    dtype: DType
    is_python: bool

    def __call__(self, number: np.ndarray) -> np.ndarray:
        """An element of the dtype that holds this number.

        Raises:
            UnfitNumberError: NumPy refuses to store the number.
        """
        element = np.empty((), self.dtype)
        try:
            element[()] = number.item() if self.is_python else number[()]
        except Exception as error:
            raise UnfitNumberError(f"{type(error).__name__}: {error}") from error
        return element


def stored_elements(value: Any, dtype: DType) -> Any:
    """Nested lists in which each number is stored in an element of a dtype, by NumPy's rules.

    Raises:
        Errors of `stored_number` are passed on.
    """
    if isinstance(value, list | tuple):
        return [stored_elements(one, dtype) for one in value]
    node = builder.as_node(value, "an element of a list")
    return node if node.shape else cast(builder.strong(stored_number(node, dtype)), dtype)


def stored_number(value: Node, dtype: DType) -> Node:
    """A number that was checked to fit an element of a dtype; an array is returned unchanged.

    A known number is stored in a trial array, which raises NumPy's errors. The program checks an
    unknown number before it writes anything; if the number does not fit, NumPy runs the call.

    Raises:
        TypeError, ValueError, OverflowError: the dtype cannot hold the number.
    """
    check_fits(value, dtype)
    if value.weak and is_complex(value.dtype) and not (is_bool(dtype) or is_complex(dtype)):
        np.zeros(1)[:] = 1j
    if isinstance(value, Scalar):
        np.zeros(1, dtype)[0] = value.value.item() if value.weak else value.value
    elif not value.shape and _may_not_fit(value, dtype):
        store = NumberStore(dtype, value.weak)
        call = ArrayCall(
            "store", store, (builder.strong(value),), may_raise=True, is_speculative=True
        )
        return call.result((), dtype)
    return value


def _may_not_fit(value: Node, dtype: DType) -> bool:
    """True if NumPy may refuse to store a number; NumPy scalars wrap in unsigned elements."""
    if isinstance(value, LengthNode) or np.can_cast(value.dtype, dtype):
        return False
    return (is_real(value.dtype) or is_complex(value.dtype)) and (
        is_signed(dtype) or (value.weak and is_unsigned(dtype))
    )


def raise_numpy_error(function: Callable[..., Any], *operands: Node, **options: Any) -> None:
    """Raise NumPy's own error for operands of these shapes, without allocating them."""
    shapes = [tuple(map(int, node.shape)) for node in operands]
    dtypes = [node.dtype for node in operands]
    pairs = zip(shapes, dtypes, strict=True)
    function(*(np.broadcast_to(np.zeros((), dtype), shape) for shape, dtype in pairs), **options)


def as_named_tuple(kind: Any, *nodes: Node) -> tuple[Node, ...]:
    """The nodes of several results, in one of NumPy's named tuples."""
    named: tuple[Node, ...] = kind(*nodes)
    return named


CALL_WEIGHT: Final = 30
"""The default cost per element of the first operand, in additions."""


@lru_cache(maxsize=1024)
def _dtypes(
    function: Callable[..., Any],
    kinds: Sequence[tuple[DType, int]],
    options: Options,
    length: int,
) -> tuple[DType, ...]:
    """The dtypes of a function's results for operands with these dtypes and ranks."""
    with np.errstate(all="ignore"):
        made = function(
            *(np.ones((length,) * rank, dtype) for dtype, rank in kinds), **dict(options)
        )
    return tuple(np.asarray(one).dtype for one in (made if isinstance(made, tuple) else (made,)))


def call_key(operation: LibraryOperation) -> object:
    """The key that all results of one call share; None if there is no `ArrayFunction`."""
    one = operation.evaluate
    return (one.function, one.options) if isinstance(one, ArrayFunction) else None


def cubic_cost(shapes: Shapes, labels: Labels) -> Dim:
    """The cost of an operation on stacks of matrices, proportional to the cube of their length."""
    return product(shapes[0]) * shapes[0][-1] * 4


def sorted_along(operation: LibraryOperation, node: Node, axis: int) -> Node:
    """The elements sorted along a dimension; for ARGSORT, the positions that sort them."""
    return _along(operation, node, axis)


def _along(operation: LibraryOperation, node: Node, axis: int) -> Node:
    rank = len(node.shape)
    order = [*(d for d in range(rank) if d != axis), axis]
    index = permutation([order.index(d) for d in range(rank)])
    extents = tuple(node.shape[d] for d in order)
    dtype = operation.dtype(node.dtype)
    found = note(Op(dtype, operation, None, (stored(node),), (index,), extents, rank))
    return builder.transpose(found, [order.index(d) for d in range(rank)])


def bits_of(words: Node, dtype: DType) -> Node:
    """Reinterpret groups of four words as elements of a dtype; the result has one dimension.

    The words have dtype uint32 and shape (n, 4). The n groups of 16 bytes become 16 n / itemsize
    elements.
    """
    groups, four = words.shape
    extents = (groups * (16 // dtype.itemsize), groups, four)
    index = (iterator(1), iterator(2))
    operation = BITCAST.replace(gives=dtype)
    return note(Op(dtype, operation, None, (stored(words),), (index,), extents, 1))


def stored(node: Node) -> Node:
    """The node; a copy if the node has no memory, for instance if it is a broadcast number."""
    return node if has_memory(node) else builder.elementwise(COPY, node)


def has_memory(node: Node) -> bool:
    """True if a node is an array in memory or can be computed into one; numbers have no memory."""
    base = base_of(node)
    return isinstance(base, Op | Constant) or (isinstance(base, Input) and not base.weak)


def may_fail(node: Op) -> Op:
    """Mark a node that may raise an error; it is computed even if nothing reads it, as in NumPy."""
    following = current()
    if following is not None:
        following.may_fail.append(node)
        following.handles = following.handles or catches_errors(following.within)
    return node


UFUNC_WEIGHT: Final = 20
"""The cost per element of a result, in additions."""
MODULES: Final = ("numpy", "scipy.special")
"""The modules in which ufuncs are looked up by name."""
count_external_call: Final = counter("opaque_calls")


class UfuncCall(Record):
    """The evaluation of one result of a ufunc without a primitive.

    `given` has an entry per input: a known number, or None for the next operand.
    """

    ufunc: np.ufunc
    given: tuple[np.generic | None, ...]
    result: int

    def __call__(self, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
        """Call the ufunc, and write the result into `out`."""
        count_external_call()
        arrays = iter(operands)
        inputs = [next(arrays) if value is None else value for value in self.given]
        results: list[Any] = [None] * self.ufunc.nout
        results[self.result] = out
        self.ufunc(*inputs, out=tuple(results))


def ufunc_name(ufunc: np.ufunc) -> str:
    """The name of a ufunc, qualified by its module if the module is found."""
    name = ufunc.__name__
    for module in MODULES:
        if getattr(imported(module), name, None) is ufunc:
            return f"{module}.{name}"
    return f"ufunc.{name}"


def ufunc_step(ufunc: np.ufunc, operands: Sequence[Node], **options: Any) -> tuple[Node, ...]:
    """The results of a ufunc of broadcast operands; each is an operation of the program.

    The options are NumPy's `dtype`, `signature` and `casting`.

    Raises:
        GraphTypeError: NumPy has no loop for these operands.
        UnsupportedError: the loop has a dtype that is not compiled.
    """
    name = ufunc_name(ufunc)
    loop = loop_with(ufunc, operands, **options)
    for node, dtype in zip(operands, loop, strict=False):
        check_fits(node, dtype)
    inputs = [cast(node, dtype) for node, dtype in zip(operands, loop, strict=False)]
    shape = builder.broadcast_shapes([node.shape for node in inputs], name, *operands)
    numbers = [node.value if isinstance(node, Scalar) else None for node in inputs]
    if all(number is not None for number in numbers):
        numbers[0] = None
    arrays = [node for node, number in zip(inputs, numbers, strict=True) if number is None]
    maps = tuple(builder.stretch_map(node.shape, shape) for node in arrays)
    results = []
    for k, dtype in enumerate(loop[ufunc.nin :]):
        shown = name if ufunc.nout == 1 else f"{name}[{k}]"
        operation = LibraryOperation(
            *(shown, len(arrays), UfuncCall(ufunc, tuple(numbers), k), "", ALL),
            weight=UFUNC_WEIGHT,
            gives=dtype,
            keeps=True,
            reads_each_once=False,
            together=0,
        )
        given = tuple(map(stored, arrays)), maps, shape, len(shape)
        results.append(note(Op(dtype, operation, None, *given)))
    return tuple(results)


def loop_with(
    ufunc: np.ufunc, operands: Sequence[Node], *, dtype: Any = None, **options: Any
) -> tuple[DType, ...]:
    """The dtypes of the operands and results of the loop that NumPy runs.

    Raises:
        GraphTypeError, UnsupportedError: the loop is refused, as in `ufunc_step`.
    """
    if dtype is not None:
        options["signature"] = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
    kinds = tuple(promotable(node) for node in operands)
    if not options:
        return dtypes.resolve_loop(ufunc, kinds)
    asked = describe_call(ufunc.__name__, *operands)
    if all(isinstance(kind, type) for kind in kinds):
        kinds = tuple(np.dtype(kind) for kind in kinds)
    try:
        loop = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **options)
    except TypeError as error:
        remedy = "convert the operands with .astype(...), or leave these options out"
        raise GraphTypeError(asked, str(error), remedy, user_location()) from None
    if any(dtype not in CODES for dtype in loop):
        raise UnsupportedError(
            asked,
            f"NumPy computes this in {', '.join(map(str, loop))}",
            f"convert the operands to one of: {', '.join(map(str, CODES))}",
            user_location(),
        )
    return tuple(loop)


Array = np.ndarray


class Operand(Record):
    """A placeholder for an operand: an array, a NumPy scalar or a Python number, by its `kind`."""

    kind: str

    def of(self, array: Array) -> Any:
        """The value of the operand as this kind; an array is passed as a read-only view."""
        if self.kind == "number":
            return array.item()
        if self.kind == "scalar":
            return array[()]
        seen = array[...]
        seen.flags.writeable = False
        return seen


class Result(Record):
    """An inferred result: an array, a NumPy scalar or a Python number, with shape and dtype."""

    shape: tuple[Dim, ...]
    dtype: DType
    is_array: bool
    is_number: bool = False


class ExternalCall(Record):
    """A call of a function in which all arguments except the operands are fixed."""

    name: str
    function: Callable[..., Any]
    structure: Structure
    leaves: tuple[object, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    def of(self, arrays: Sequence[Array]) -> tuple[list[object], Structure]:
        """Call the function, and return the leaves and the structure of its result."""
        operands = iter(arrays)
        whole: Any = unflatten_tree(self.structure, self._filled(operands))
        args, kwargs = whole
        return flatten_tree(self.function(*args, **kwargs))

    def _filled(self, operands: Iterator[Array]) -> Iterator[object]:
        for leaf in self.leaves:
            yield leaf.of(next(operands)) if isinstance(leaf, Operand) else leaf


class ProbedCall(Record):
    """A call, and the result that probes inferred: containers of arrays and scalars.

    `values` are the leaves of the result, with a `Result` in place of each array or scalar.
    """

    call: ExternalCall
    structure: Structure
    values: tuple[object, ...]

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def results(self) -> list[Result]:
        """The results with inferred shapes and dtypes, in order."""
        return [value for value in self.values if isinstance(value, Result)]

    def __call__(self, *arrays: Array) -> object:
        """Call the function, and return its arrays and scalars; the caller checks their shapes.

        Raises:
            OtherResultError: the result differs from the inferred result, or the function raises an
                error.
        """
        count_external_call()
        name = self.call.name
        try:
            leaves, structure = self.call.of(arrays)
        except Exception as error:
            raise OtherResultError(f"{name} raises {type(error).__name__}: {error}") from error
        pairs = list(zip(self.values, leaves, strict=False))
        same = all(isinstance(value, Result) or value == leaf for value, leaf in pairs)
        if structure != self.structure or not same:
            raise OtherResultError(f"{name} gives other values than it gave at first")
        made = [leaf for value, leaf in pairs if isinstance(value, Result)]
        return made if len(made) > 1 else made[0]

    def nodes(self, operands: Sequence[Node]) -> list[Node]:
        """The node of each result; all belong to the same call."""
        call = ArrayCall(self.call.name, self, tuple(operands), may_raise=True, is_speculative=True)
        parts = range(len(self.results)) if len(self.results) > 1 else (None,)
        pairs = zip(self.results, parts, strict=True)
        return [call.result(o.shape, o.dtype, part, number=o.is_number) for o, part in pairs]
