"""Shaped tensors, and the operations that compute them (OCANNL shapes).

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
from axiomjit.base.dtypes import DType
from axiomjit.base.errors import GraphTypeError, GraphValueError, PositionError, UnsupportedError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph import builder, execution
from axiomjit.graph.contractions import Projections
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import Primitive
from axiomjit.graph.storages import with_versions
from axiomjit.graph.traced_values import NodeValue, ShapedValue, TracedValue
from axiomjit.notation import emission
from axiomjit.notation.emission import Apply
from axiomjit.notation.joins import ConcatRuns
from axiomjit.notation.leaves import Source, source_of
from axiomjit.notation.logic import (
    BatchSlice,
    CallSite,
    Compose,
    Logic,
    Pointwise,
    Transpose,
    demand_shapes,
    elements,
)
from axiomjit.notation.rows import Rows, Solution, sizes_of
from axiomjit.notation.shapes import Shape
from axiomjit.notation.solving import Solver
from axiomjit.notation.specs import KINDS, MEMORY_ORDER
from axiomjit.notation.sums import ExactSizes
from axiomjit.notation.symbols import Symbol
from axiomjit.notation.templates import Template
from axiomjit.notation.terms import Cell, Origin, RowVariable, closed_row, open_row
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import Symbol as LengthSymbol
from axiomjit.symbolic.dims import product, symbol_of

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

    `tensor` and operations on such tensors make it. `x @ y` contracts the input axes of x with the
    output axes of y, `x.T` swaps input and output axes, and `x[i]` is a part along the leading
    batch axis. Other operators and NumPy's elementwise functions are pointwise. `np.asarray(x)`
    returns the values.
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
            return emission.transposed(self.shape, result.shape)

        result = result_of(Transpose(), [self], project, emission.summed, f"{self.called}.T")
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
            return emission.sliced(place, self.shape, result.shape)

        symbol = index if isinstance(index, Symbol) else None
        result = result_of(logic, [self], project, emission.summed, asked, symbol)
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
        apply = emission.rule_of(function)
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
        return emission.pointwise([tensor.shape for tensor in tensors], result.shape)

    def emit(where: Projections, nodes: Sequence[Node]) -> Node:
        ready = iter(nodes)
        every = [(v, False) if isinstance(v, Node) else (next(ready), True) for v in given]
        return emission.applied(apply, where, every)

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
        return emission.composed(left.shape, right.shape, result.shape)

    result = result_of(Compose(), [left, right], project, emission.summed, asked)
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
