"""Shaped tensors, their constructor, and the operations that compute them (OCANNL shapes).

An operation posts its demands on shapes at once and computes nothing. When a shape is read, all
connected shapes are closed. Nodes of the graph are made after shapes are closed, once per tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, NoReturn

import numpy as np
from numpy.typing import DTypeLike

from axiomjit.base.array_values import ArrayValue, text_of_call
from axiomjit.base.dtypes import BOOL, DTYPES, DType, named
from axiomjit.base.errors import (
    GraphTypeError,
    GraphValueError,
    PositionError,
    ShapeError,
    UnsupportedError,
)
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder, execution
from axiomjit.graph.contractions import Projections
from axiomjit.graph.external_calls import bits_of
from axiomjit.graph.nodes import Node, describe_shape
from axiomjit.graph.primitives import Primitive
from axiomjit.graph.shape_ops import reshaped
from axiomjit.graph.storages import with_versions
from axiomjit.graph.traced_values import NodeValue, ShapedValue, TracedValue
from axiomjit.notation import projections
from axiomjit.notation.demands import ExactSizes
from axiomjit.notation.leaves import Source, Symbol, source_of
from axiomjit.notation.logic import (
    BatchSlice,
    Bitcast,
    CallSite,
    Compose,
    Logic,
    Pointwise,
    Transpose,
    demand_shapes,
    elements,
)
from axiomjit.notation.products import ConcatRuns
from axiomjit.notation.projections import Apply
from axiomjit.notation.shapes import Shape
from axiomjit.notation.solving import Cell, Origin, RowVariable, Solver, closed_row, open_row
from axiomjit.notation.specs import KINDS, MEMORY_ORDER
from axiomjit.notation.templates import Rows, Solution, Template, sizes_of
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import Dim, dim, product, symbol_of
from axiomjit.symbolic.dims import Symbol as LengthSymbol

Where = Projections | ConcatRuns
"""The projections of an operation, or the runs of a concatenation."""
Project = Callable[[Solution], Where]
"""A function that makes the projections of an operation; all shapes must be closed."""
Emit = Callable[[Any, Sequence[Node]], Node]
"""A function that makes the node of an operation from its projections and the operands' nodes."""


class Shaped(ShapedValue):
    """A tensor with a shape; `made` is the source of a leaf or the operation that computes it."""

    __slots__ = ("known_node", "made", "name", "shape")

    def __init__(self, shape: Shape, made: Source | Operation, name: str | None) -> None:
        """Store the shape and the source or operation; the node is made when it is first read."""
        self.shape = shape
        self.made = made
        self.name = name
        self.known_node: Node | None = None

    @property
    def called(self) -> str:
        """The name of the tensor in messages."""
        return "a tensor" if self.name is None else self.name

    @property
    def existing_node(self) -> Node:
        """The node, which must have been made before."""
        assert self.known_node is not None
        return self.known_node

    @property
    def node(self) -> Node:
        """The node, with dimensions in memory order; closes the shape.

        Raises:
            ShapeError: the shapes of operands do not fit.
            GraphValueError: a leaf has no values.
        """
        for tensor in self.operands_first():
            if tensor.known_node is None:
                tensor.shape.close()
                made = tensor.made
                shape = tensor.shape
                tensor.known_node = (
                    made.node(shape.lengths) if isinstance(made, Source) else made.node(shape)
                )
        return self.existing_node

    def operands_first(self) -> Iterator[Shaped]:
        """This tensor and all tensors from which it is computed, operands before results."""
        waiting: list[tuple[Shaped, bool]] = [(self, False)]
        seen: set[Shaped] = set()
        while waiting:
            tensor, ready = waiting.pop()
            if ready:
                yield tensor
            elif tensor not in seen:
                seen.add(tensor)
                waiting.append((tensor, True))
                if isinstance(tensor.made, Operation):
                    waiting += [(operand, False) for operand in tensor.made.operands]

    def lengths(self) -> dict[LengthSymbol, int]:
        """The values of the symbolic indices on which the tensor depends.

        Raises:
            GraphValueError: an index has no value.
            PositionError: the value of an index is outside its axis.
        """
        found: dict[LengthSymbol, int] = {}
        for tensor in self.operands_first():
            made = tensor.made
            if not isinstance(made, Operation) or made.symbol is None:
                continue
            index, length = made.symbol, made.operands[0].shape.lengths[0]
            if index.value is None:
                asked, seen = f"the values of {self.called}", f"{index!r}, which has no value"
                remedy = "give it one: index.bind(value)"
                raise GraphValueError(asked, seen, remedy, user_location())
            if length <= index.value:
                asked = f"the values of {self.called}"
                seen = f"{index!r} of value {index.value} for an axis of length {length}"
                remedy = "bind it to an index below the length"
                raise PositionError(asked, seen, remedy, user_location())
            symbol = symbol_of(index.dim)
            assert symbol is not None
            found[symbol] = index.value
        return found


class Operation:
    """An operation on shaped tensors: its rule for shapes, operands, and functions for its node."""

    __slots__ = ("emit", "logic", "operands", "project", "symbol", "template")

    def __init__(
        self,
        logic: Logic,
        operands: Sequence[Shaped],
        project: Project,
        emit: Emit,
        template: Template | None,
        symbol: Symbol | None,
    ) -> None:
        self.logic, self.operands = logic, tuple(operands)
        self.project, self.emit = project, emit
        self.template, self.symbol = template, symbol

    def node(self, shape: Shape) -> Node:
        """The node of the result; operands must have nodes."""
        return self.emit(self.where(shape), [operand.existing_node for operand in self.operands])

    def where(self, shape: Shape) -> Where:
        """The projections of operands and result; closes all shapes."""
        shape.close()
        for operand in self.operands:
            operand.shape.close()
        labels, rows = {}, {}
        if self.template is not None:
            cells, variables = self.template.labels, self.template.rows
            labels = {name: sizes_of(closed_row((cell,)))[0] for name, cell in cells.items()}
            rows = {name: sizes_of(open_row(row)) for name, row in variables.items()}
        known = tuple(_known(operand.shape) for operand in self.operands)
        solution = Solution(known, _known(shape), labels, rows)
        return self.project(solution)


def _known(shape: Shape) -> Rows:
    return Rows(*(sizes_of(shape.rows[kind]) for kind in KINDS))


class ShapedTensor(ArrayValue["ShapedTensor"], Shaped):
    """A tensor with batch, input and output axes; its shape may be partly inferred.

    `tensor` makes shaped tensors, and operations on shaped tensors make further shaped tensors. `x
    @ y` contracts the input axes of x with the output axes of y, `x.T` swaps input and output axes,
    and `x[i]` is a part along the leading batch axis. Other operators and NumPy's elementwise
    functions are pointwise. `np.asarray(x)` returns the values.
    """

    __slots__ = ("__weakref__",)
    __array_priority__ = 1000
    _is_key = _defers = True

    @property
    def spec(self) -> str:
        """The spec of the operation, or the sign of its rule for shapes; empty for a leaf."""
        return self.made.logic.spec if isinstance(self.made, Operation) else ""

    @property
    def dtype(self) -> DType:
        """The element type; closes the shape."""
        return self.node.dtype

    @property
    def T(self) -> ShapedTensor:
        """The tensor with input and output axes swapped."""

        def project(solution: Solution) -> Projections:
            return projections.transposed(self.shape, result.shape)

        result = result_of(Transpose(), [self], project, projections.summed, f"{self.called}.T")
        return result

    def projections(self) -> Projections | tuple[Projections, ...]:
        """The projections of the operation that computes this tensor.

        A concatenation has projections for each run. Unknown lengths are chosen first.

        Raises:
            GraphValueError: the tensor is a leaf, which no operation computes.
            ShapeError: the shapes do not fit.
        """
        if not isinstance(self.made, Operation):
            seen, remedy = "a tensor that is given", "ask a result of an operation"
            raise GraphValueError(f"{self.called}.projections()", seen, remedy, user_location())
        where = self.made.where(self.shape)
        return where if isinstance(where, Projections) else where.projections()

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        graph, _ = with_versions((self.node,), ())
        if graph.inputs:
            raise UnsupportedError(
                f"the values of {self!r}",
                "a tensor of arrays of a function that is being followed",
                "make the tensor outside of the function, or use einsum on arrays in it",
                user_location(),
            )
        *_, values = execution.run(graph, (), self.lengths())
        return np.asarray(values, dtype)

    def __getitem__(self, index: object) -> ShapedTensor:
        asked = f"{self.called}[{index!r}]"
        place: int | Symbol
        if isinstance(index, Symbol):
            logic, place = BatchSlice(index.range), index
        elif isinstance(index, int | np.integer) and not isinstance(index, bool):
            place = int(index)
            logic = BatchSlice(None, place + 1 if place >= 0 else -place)
        else:
            seen = f"an index of type {type(index).__name__}"
            remedy = "give an integer or a symbol for the leading batch axis; parts by einsum"
            raise GraphTypeError(asked, seen, remedy, user_location())

        def project(solution: Solution) -> Projections:
            return projections.sliced(place, self.shape, result.shape)

        symbol = index if isinstance(index, Symbol) else None
        result = result_of(logic, [self], project, projections.summed, asked, symbol)
        return result

    def _operate(self, name: str, *operands: Any) -> Any:
        return compose(*operands) if name == "matmul" else super()._operate(name, *operands)

    def _ufunc(self, ufunc: np.ufunc, method: str, operands: Any, options: Any) -> ShapedTensor:
        if method != "__call__" or options:
            seen = text_of_call(method, options)
            remedy = "use functions of elements without options; fold with einsum(..., reduce=)"
            raise UnsupportedError(f"np.{ufunc.__name__}", seen, remedy, user_location())
        return self.elementwise(ufunc, operands)

    def elementwise(
        self, function: Callable[..., object], operands: Sequence[object]
    ) -> ShapedTensor:
        """Apply an elementwise NumPy function, or matmul, to operands including this tensor.

        Raises:
            ShapeError: the shapes do not fit.
            UnsupportedError: the function is outside the table of primitives.
        """
        if function is np.matmul:
            return compose(*operands)
        apply = projections.rule_of(function)
        if apply is None:
            seen = "a function that is outside the table of primitives, or none of elements"
            remedy = "apply it to values, np.asarray(x), or write it in label notation"
            raise UnsupportedError(f"np.{function.__name__}", seen, remedy, user_location())
        return pointwise(apply, operands, function.__name__)

    def mapped(self, primitive: Primitive) -> ShapedTensor:
        """Apply a primitive of one operand to each element."""
        return pointwise(partial(builder.elementwise, primitive), (self,), primitive.name)

    def __iter__(self) -> NoReturn:
        seen = "a tensor whose shape may be open"
        remedy = "take parts x[0], x[1], ... along the leading batch axis, given by batch=n"
        raise GraphTypeError(f"iteration over {self!r}", seen, remedy, user_location())

    def _value(self, use: str) -> Any:
        if use != "bool":
            return super()._value(use)
        seen = "a tensor, which has values only when it is evaluated"
        remedy = "choose with where(condition, x, y), or look at np.asarray(x)"
        raise GraphTypeError(f"the truth of {self!r}", seen, remedy, user_location())

    def __repr__(self) -> str:
        name = "" if self.name is None else f" {self.name}"
        return f"<tensor{name} {self.shape}>"


def result_of(
    logic: Logic,
    operands: Sequence[ShapedTensor],
    project: Project,
    emit: Emit,
    asked: str,
    symbol: Symbol | None = None,
) -> ShapedTensor:
    """The result of an operation, whose shape gets its demands now and whose node is made later.

    `project` makes the projections, `emit` makes the node.

    Raises:
        ShapeError: the shapes do not fit.
    """
    shape = Shape.of_rows({kind: open_row(RowVariable(kind)) for kind in KINDS})
    rows = [operand.shape.rows for operand in operands]
    template = demand_shapes(logic, shape.rows, rows, CallSite(asked, user_location()))
    if template is not None:
        for operand, slot in zip(operands, template.spec.operands, strict=True):
            operand.shape.note_windows(slot, template.labels)
    return ShapedTensor(shape, Operation(logic, operands, project, emit, template, symbol), None)


def pointwise(apply: Apply, operands: Sequence[object], name: str) -> ShapedTensor:
    """Apply an elementwise function to shaped tensors, arrays and numbers."""
    asked = f"{name} of {' and '.join(map(_shown, operands))}"
    given = [_number_or_tensor(value, asked) for value in operands]
    tensors = [value for value in given if isinstance(value, ShapedTensor)]

    def project(solution: Solution) -> Projections:
        return projections.pointwise([tensor.shape for tensor in tensors], result.shape)

    def emit(where: Projections, nodes: Sequence[Node]) -> Node:
        ready = iter(nodes)
        every = [(v, False) if isinstance(v, Node) else (next(ready), True) for v in given]
        return projections.applied(apply, where, every)

    result = result_of(Pointwise(), tensors, project, emit, asked)
    return result


def compose(x: object, y: object) -> ShapedTensor:
    """The composition `x @ y`: sums of products over the input axes of x and output axes of y.

    Raises:
        ShapeError: the shapes do not fit.
        GraphTypeError: an operand is a tensor of another kind.
    """
    asked = f"{_shown(x)} @ {_shown(y)}"
    left, right = (as_shaped(value, asked) for value in (x, y))

    def project(solution: Solution) -> Projections:
        return projections.composed(left.shape, right.shape, result.shape)

    result = result_of(Compose(), [left, right], project, projections.summed, asked)
    return result


@hides_frames
def fma(a: object, b: object, c: object) -> ShapedTensor:
    """`a @ b + c`: the composition of tensors a and b, plus c.

    Args:
        a: A tensor, array or number.
        b: A tensor, array or number.
        c: A tensor, array or number.

    Raises:
        ShapeError: the shapes do not fit.
        GraphTypeError: an operand is a tensor of another kind.
    """
    return pointwise(UFUNCS[np.add], (compose(a, b), c), "fma")


def as_shaped(value: object, asked: str, split: bool = True) -> ShapedTensor:
    """The operand as a shaped tensor; the division of an array's dimensions into rows is inferred.

    Args:
        value: A tensor, array or number.
        asked: The text of the operation in messages.
        split: True if closing may choose the division of dimensions into rows that uses leave open.

    Raises:
        GraphTypeError: the value is a tensor of another kind, or cannot be an operand.
    """
    if isinstance(value, ShapedTensor):
        return value
    return leaf(value, asked, Shape(), None, exact=True, split=split)


def leaf(
    value: object,
    asked: str,
    shape: Shape,
    name: str | None,
    exact: bool = False,
    param: bool = False,
    split: bool = True,
) -> ShapedTensor:
    """Make a leaf with given values, whose shape may be inferred (see `tensor`, `as_shaped`)."""
    if isinstance(value, TracedValue):
        value = value.node  # type: ignore[attr-defined]
    if isinstance(value, NodeValue) or getattr(value, "axes", None) is not None:
        raise GraphTypeError(
            asked,
            "a tensor of another kind, whose dimensions are axes",
            "take its values, np.asarray(x), and say with tensor(values, batch=, input=, "
            "output=) which kind each dimension is of",
            user_location(),
        )
    source, known = source_of(value, asked)
    where = user_location()
    for kind, row in shape.rows.items():
        origin = Origin(asked, f"its {kind} axes", where) if param else None
        for unknown in row.flat.unknowns:
            unknown.leaf = True
            unknown.param = origin
    if known is not None:
        place = CallSite(asked, where)
        if exact:
            cells = [Cell(length) for length in known]
            rows = [shape.rows[kind] for kind in MEMORY_ORDER]
            origin = place.origin("the dimensions of its values")
            Solver().add([ExactSizes(rows, cells, origin, split)])
        else:
            count = Cell(product(known))
            Solver().add([elements(shape.rows, count, place.origin("the number of its values"))])
    return ShapedTensor(shape, source, name)


def _number_or_tensor(value: object, asked: str) -> Node | ShapedTensor:
    plain = isinstance(value, bool | int | float | complex | np.generic)
    if plain and not isinstance(value, NodeValue):
        return builder.as_node(value, asked)
    return as_shaped(value, asked)


def _shown(value: object) -> str:
    if isinstance(value, ShapedTensor):
        return value.name or "a tensor"
    if isinstance(value, bool | int | float | complex | np.generic):
        return repr(value)
    return f"an array of shape {value.shape}" if isinstance(value, np.ndarray) else "an operand"


@hides_frames
def tensor(
    value: Any = None,
    *,
    batch: object = None,
    input: object = None,
    output: object = None,
    spec: str | None = None,
    exact: bool = False,
    param: bool = False,
    deduced: str | None = None,
    name: str | None = None,
) -> ShapedTensor:
    """Make a tensor with batch, input and output axes; its shape may be partly inferred.

    The dimensions are in memory order: batch, output, input.

    Args:
        value: An array, which is reshaped to the inferred shape; a number, to which all elements
            are equal; a fetch such as `axiomjit.notation.arange_like`, which makes the elements; or
            None for a tensor that has a shape but no values.
        batch: The batch axes, each a size, a `Size` or a pair of label and size; `()` for no axes.
        input: The input axes, given like `batch`.
        output: The output axes, given like `batch`.
        spec: All axes in label notation, such as "b|3->n", in place of `batch`, `input` and
            `output`.
        exact: True if an array keeps its dimensions, False if it is reshaped.
        param: True if the shape must follow from the uses of the tensor; a shape that these uses
            leave open is then an error.
        deduced: "input_equals_output" if input and output axes are the same.
        name: A name for messages.

    Returns:
        A shaped tensor, for pointwise operators, `@`, `.T`, `x[i]` and `einsum`.

    Raises:
        ShapeError: the shape is given both by `spec` and by axes, or does not fit the value.
        SpecError: the spec is not in label notation.
        GraphTypeError: the value cannot be an operand.

    Examples:
        >>> w = aj.tensor(2.0, param=True, batch=(), name="w")
        >>> x = aj.tensor([1.0, 2, 3], batch=(), input=(), output=(3,))
        >>> y = w @ x
        >>> y.shape.equate(aj.Shape(output=(2,)))
        >>> np.asarray(y)
        array([12., 12.])
        >>> print(w.shape)
        3->2
    """
    asked = "a tensor" if name is None else f"the tensor {name}"
    rows = (batch, input, output)
    if spec is None:
        shape = Shape(*rows, deduced=deduced, name=name)
    elif any(row is not None for row in rows):
        seen, remedy = "both spec= and batch=, input= or output=", "give one of them"
        raise ShapeError(asked, seen, remedy, user_location())
    else:
        shape = Shape.parse(spec, deduced, name)
    return leaf(value, asked, shape, name, exact, param)


WORD = DTYPES["u4"]


@hides_frames
def bitcast(words: Any, dtype: DTypeLike) -> Any:
    """The bits of words as elements of a dtype, as by `words.view(dtype)`.

    Args:
        words: An array, a traced array, an axis tensor or a shaped tensor of dtype uint32 and shape
            (n, 4).
        dtype: A dtype of 1 to 16 bytes; with bool, bytes other than 0 become True.

    Returns:
        A new one-dimensional array of 16 n / itemsize elements; a shaped tensor has an inferred
        shape with this number of elements.

    Raises:
        GraphTypeError: the words are not uint32, or elements of the dtype cannot be compiled.
        ShapeError: the words have another shape, or the inferred shape has another number of
            elements.

    Examples:
        >>> words = np.array([[0, 0, 0, 0x3FF00000]], np.uint32)
        >>> aj.bitcast(words, "f8")
        array([0., 1.])
    """
    asked = f"bitcast to {np.dtype(dtype)}"
    kind = named(dtype, asked, user_location())
    if isinstance(words, ShapedValue):
        return _of_tensor(as_shaped(words, asked), kind, asked)
    if isinstance(words, NodeValue):
        placing = words.placing((words,), asked)
        with placing.with_lengths():
            return placing.wrap(_bits(placing.nodes[0], kind, asked), ((),))
    array = np.asarray(words)
    _check(array.dtype, array.shape, asked)
    bits = np.ascontiguousarray(array).reshape(-1)
    return bits.view(np.uint8) != 0 if kind == BOOL else bits.view(kind).copy()


def _of_tensor(words: ShapedTensor, kind: DType, asked: str) -> ShapedTensor:
    def project(solution: Solution) -> Projections:
        return Projections((), result.shape.lengths, (), ())

    def emit(where: Projections, nodes: Sequence[Node]) -> Node:
        return reshaped(_bits(nodes[0], kind, asked), where.shape)

    result = result_of(Bitcast(16 // kind.itemsize), [words], project, emit, asked)
    return result


def _bits(words: Node, kind: DType, asked: str) -> Node:
    _check(words.dtype, words.shape, asked)
    return bits_of(words, kind)


def _check(dtype: DType, shape: Sequence[int | Dim], asked: str) -> None:
    """Refuse words that are not uint32 of shape (n, 4)."""
    if dtype != WORD:
        remedy = "give uint32 words, as words.view(np.uint32) has them"
        raise GraphTypeError(asked, f"words of dtype {dtype}", remedy, user_location())
    if len(shape) != 2 or shape[1] != 4:
        seen = f"words of shape {describe_shape(tuple(map(dim, shape)))}"
        raise ShapeError(asked, seen, "give words of shape (n, 4)", user_location())
