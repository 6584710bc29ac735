"""Apply functions of numbers to arrays of different ranks, by broadcasting or accumulating."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from axiomjit.accumulators.accumulator import Accumulator, trace_scalars
from axiomjit.accumulators.arrays import ArrayFunction
from axiomjit.accumulators.fold import accumulator_of, fold_nodes
from axiomjit.base.errors import GraphTypeError, GraphValueError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.tree import is_labelled
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.execution import by_names, in_arrays
from axiomjit.graph.nodes import Node, Op, describe_call, describe_length, is_view
from axiomjit.graph.primitives import CAST, COPY
from axiomjit.graph.reductions import computed
from axiomjit.graph.traced_values import NamedValue, NodeValue, TracedValue
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import permutation

Mode = str | tuple[str, Accumulator | str]
ORDERS: Final = ("c", "f")


class PlacedNode(NamedTuple):
    """A node, and for each of its dimensions the corresponding dimension of the kernel."""

    node: Node
    dims: tuple[int, ...]


@hides_frames
def elementwise(
    fn: Callable[..., Any], modes: Mode | Sequence[Mode], order: str = "c"
) -> Elementwise:
    """Turn a function of numbers into a function of arrays, whose ranks may differ.

    With `order` "c" an array's dimensions are the first dimensions of the kernel, with "f" the last
    ones, as in NumPy. Arrays must have equal lengths along a dimension; a length of 1 does not
    stretch.

    Args:
        fn: Takes a number per array and returns a number, or a tuple of numbers. The function is
            traced once per combination of dtypes; it may use operators, NumPy's ufuncs and
            `np.where`.
        modes: The mode of the only result, or a list with a mode per result. With `"broadcast"` the
            result has the largest rank of all arrays; arrays of smaller rank are repeated. With
            `("accumulate", acc)` the result has the smallest rank; fn gets the numbers to which
            `acc`, an `Accumulator` or a name that `fold` accepts, has reduced arrays of larger
            rank.
        order: The order of dimensions, "c" or "f".

    Returns:
        A callable that takes one array per argument of fn. The callable returns a new array, or a
        list of arrays if fn returns a tuple. Traced arrays in a compiled function give traced
        results. DataArrays give DataArrays; their dimensions are paired by name, in any order.

    Raises:
        GraphValueError: a mode, an order or an accumulator is unknown; or, in a call, lengths
            differ, or the numbers of modes and results differ.
        GraphTypeError: in a call, an operand is a named array or tensor, whose axes only operators
            and `fold` pair.

    Examples:
        >>> scaled = aj.elementwise(lambda x, y: x * y, "broadcast")
        >>> scaled(np.ones((2, 3)), np.array([1.0, 2.0]))
        array([[1., 1., 1.],
               [2., 2., 2.]])
        >>> total = aj.elementwise(lambda x, y: x * y, ("accumulate", "sum"))
        >>> total(np.ones((2, 3)), np.array([1.0, 2.0]))
        array([3., 6.])
    """
    if order not in ORDERS:
        raise GraphValueError(
            f"elementwise(..., order={order!r})",
            "an order that is unknown",
            "use 'c' for the first dimensions, 'f' for the last ones as in NumPy",
            user_location(),
        )
    listed: Sequence[Any] = modes
    if isinstance(modes, str) or modes[:1] == ("accumulate",):
        listed = (modes,)
    return Elementwise(fn, tuple(map(_accumulator, listed)), order)


def _accumulator(mode: Mode) -> Accumulator | None:
    """The accumulator of a mode, None for "broadcast"."""
    if mode == "broadcast":
        return None
    if isinstance(mode, tuple) and len(mode) == 2 and mode[0] == "accumulate":
        return accumulator_of(mode[1])
    raise GraphValueError(
        f"elementwise(..., modes={mode!r})",
        "a mode that is unknown",
        "use 'broadcast', or ('accumulate', acc) with an Accumulator or the name of one",
        user_location(),
    )


class Elementwise(ArrayFunction):
    """The callable that `elementwise` returns."""

    container = list

    def __init__(
        self, fn: Callable[..., Any], accumulators: tuple[Accumulator | None, ...], order: str
    ) -> None:
        """Store the arguments; the function is traced at the first call of each signature."""
        super().__init__()
        self._fn, self._accumulators, self._order = fn, accumulators, order

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """The results for arrays, numbers or traced arrays.

        Raises:
            GraphTypeError: an operand is a named array or tensor.
        """
        if any(map(is_labelled, args)):
            return by_names("apply_elementwise", self, args)
        args = in_arrays(args)
        for k, value in enumerate(args):
            if isinstance(value, NamedValue | NodeValue) and not isinstance(value, TracedValue):
                raise GraphTypeError(
                    repr(self),
                    f"{value!r} as operand {k}: dimensions pair by place there, and no axis would",
                    "pass np.asarray(x), or pair axes with operators and fold(acc, ..., axes=)",
                    user_location(),
                )
        host = next((value for value in args if isinstance(value, TracedValue)), None)
        if host is None:
            return super().answer(args, kwargs)
        nodes = (builder.as_node(getattr(v, "node", v), "elementwise") for v in args)
        results, is_tuple = self.nodes([builder.strong(node) for node in nodes])
        found = list(map(host.folding((host,), (), False).wrap, results))
        return found if is_tuple else found[0]

    @property
    def accumulates(self) -> tuple[bool, ...]:
        """For each mode, True for ("accumulate", acc), False for "broadcast"."""
        return tuple(one is not None for one in self._accumulators)

    @property
    def order(self) -> str:
        """The `order` of dimensions: "c" or "f"."""
        return self._order

    def __repr__(self) -> str:
        return f"elementwise({getattr(self._fn, '__name__', self._fn)!s})"

    def nodes(self, arrays: Sequence[Node]) -> tuple[list[Node], bool]:
        """The results for operands that are nodes, and True if the function returned a tuple.

        Raises:
            GraphValueError: lengths differ, or the numbers of modes and results differ.
        """
        ranks = [len(node.shape) for node in arrays]
        rank, least = max(ranks, default=0), min(ranks, default=0)
        first = [0 if self._order == "c" else rank - r for r in ranks]
        extents = self._extents(arrays, first, rank)
        inputs = [
            PlacedNode(node, tuple(range(at, at + r)))
            for node, at, r in zip(arrays, first, ranks, strict=True)
        ]
        kept = tuple(range(least) if self._order == "c" else range(rank - least, rank))
        results: list[Node] = []
        is_tuple = False
        for k, accumulator in enumerate(self._accumulators):
            operands, dims = inputs, tuple(range(rank))
            if accumulator is not None:
                operands, dims = [self._folded(accumulator, x, kept) for x in inputs], kept
            asked = f"the function of {self!r}"
            dtypes = [(operand.node.dtype,) for operand in operands]
            wanted = k if len(self._accumulators) > 1 else None
            outputs, is_tuple = trace_scalars(self._fn, dtypes, False, asked, wanted)
            if len(outputs) != len(self._accumulators):
                modes = amount(len(self._accumulators), "mode")
                raise GraphValueError(
                    describe_call(repr(self), *arrays),
                    f"{amount(len(outputs), 'result')} and {modes}",
                    "give one mode for each result",
                    user_location(),
                )
            (result,) = _applied(outputs[k : k + 1], operands, extents)
            results.append(_broadcast_copy(result, dims, extents))
        return results, is_tuple

    def _folded(
        self, accumulator: Accumulator, operand: PlacedNode, kept: tuple[int, ...]
    ) -> PlacedNode:
        """An input reduced along all dimensions except `kept`."""
        if operand.dims == kept:
            return operand
        axes = tuple(at for at, d in enumerate(operand.dims) if d not in kept)
        nodes, is_tuple = fold_nodes(accumulator, [operand.node], axes)
        if is_tuple:
            raise GraphValueError(
                f"{self!r} accumulating by {accumulator!r}",
                f"a state of {amount(len(nodes), 'value')} for one number of the function",
                "give the accumulator a final that makes one number of a state",
                user_location(),
            )
        return PlacedNode(nodes[0], kept)

    def _extents(self, arrays: Sequence[Node], first: Sequence[int], rank: int) -> tuple[Dim, ...]:
        """The lengths of the kernel's dimensions.

        Raises:
            GraphValueError: two arrays have different lengths along a dimension.
        """
        found: dict[int, tuple[int, Dim]] = {}
        for k, (node, at) in enumerate(zip(arrays, first, strict=True)):
            for d, length in enumerate(node.shape):
                other, known = found.setdefault(at + d, (k, length))
                if known != length:
                    raise GraphValueError(
                        describe_call(repr(self), *arrays),
                        f"lengths {describe_length(known)} (dimension {at + d - first[other]} of "
                        f"input {other}) and {describe_length(length)} (dimension {d} of input "
                        f"{k}) on axis {at + d} of order {self._order!r}",
                        "make the lengths equal; a length of 1 does not stretch",
                        user_location(),
                    )
        return tuple(found[d][1] for d in range(rank))


def _applied(
    outputs: Sequence[Node], operands: Sequence[PlacedNode], extents: tuple[Dim, ...]
) -> list[PlacedNode]:
    """Apply a graph of scalars to arrays; each op has the dimensions of all its operands."""

    def placed(value: Any) -> PlacedNode:
        return value if isinstance(value, PlacedNode) else PlacedNode(value, ())

    def apply(op: Op, given: Sequence[Any]) -> PlacedNode:
        values = [placed(value) for value in given]
        if op.primitive is CAST:
            return PlacedNode(cast(values[0].node, op.dtype), values[0].dims)
        dims = tuple(sorted({d for value in values for d in value.dims}))
        maps = [permutation([dims.index(d) for d in value.dims]) for value in values]
        nodes = [value.node for value in values]
        return PlacedNode(
            builder.map_op(op.primitive, nodes, maps, tuple(extents[d] for d in dims)), dims
        )

    return [placed(value) for value in computed(outputs, operands, apply)]


def _broadcast_copy(value: PlacedNode, dims: tuple[int, ...], extents: tuple[Dim, ...]) -> Node:
    """The value broadcast to the dimensions `dims`, as a new array."""
    shape = tuple(extents[d] for d in dims)
    seen = builder.view(value.node, permutation([dims.index(d) for d in value.dims]), shape)
    if isinstance(seen, Op) and not is_view(seen):
        return seen
    return builder.elementwise(COPY, seen)
