"""Running axis graphs: `make_transformer().computation(outputs, *placeholders)(*arguments)`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from axiomjit import execution
from axiomjit.axes import Axes
from axiomjit.dims import Symbol
from axiomjit.errors import AxesError, AxiomError, GraphTypeError, GraphValueError
from axiomjit.graph import Graph, Input, Node, post_order, rewrite
from axiomjit.late_checks import bound_lengths
from axiomjit.named_arrays import NamedArray
from axiomjit.origins import origin, user_location
from axiomjit.tensors import Tensor, labels_of, shown, used_axes

Outputs = Tensor | list[Tensor] | tuple[Tensor, ...] | set[Tensor] | frozenset[Tensor] | None


class Transformer:
    """Makes computations; made by `make_transformer`."""

    def computation(
        self, outputs: Outputs, *placeholders: Tensor, named: bool = False
    ) -> Computation:
        """A function of arrays that computes tensors.

        Args:
            outputs: What to compute; its form is the form of the results.
            placeholders: Whose values the arguments of a call are, in this order; every
                placeholder that the outputs depend on.
            named: Whether results are named arrays.

        Raises:
            GraphTypeError: an output is no tensor.
            GraphValueError: a placeholder is missing, listed twice, or no placeholder.
        """
        return Computation(outputs, placeholders, named)


def make_transformer() -> Transformer:
    """A new transformer (seed 001_dbff47214f01994e.txt, "Properties")."""
    return Transformer()


class Computation:
    """A function of arrays, one per placeholder; made by `Transformer.computation`."""

    def __init__(
        self, outputs: Outputs, placeholders: tuple[Tensor, ...], named: bool = False
    ) -> None:
        """See `Transformer.computation`."""
        self._outputs: Final = outputs
        self._named: Final = named
        self._tensors: Final = _tensors(outputs)
        self._placeholders: Final = placeholders
        inputs = _listed_inputs(placeholders)
        self._axes: Final = used_axes((*self._tensors, *placeholders), Axes())
        self.graph: Final = _numbered_graph(self._tensors, inputs)
        self._lengths: dict[Symbol, int] | None = None

    def __call__(self, *arguments: object) -> Any:
        """Compute the outputs.

        Args:
            arguments: One array per placeholder, with exactly its shape; a named array with its
                axes in any order.

        Returns:
            Fresh arrays, or named ones: one for a single output, a tuple for a list or tuple, a
            dictionary from tensor to array for a set, None for None.

        Raises:
            AxesError: the length of an axis is unknown, or lengths do not fit.
            GraphTypeError: the elements of an argument cannot be cast.
            GraphValueError: the number of arguments, or the shape of one, is another.
        """
        arrays, lengths = self._bound(arguments)
        values: tuple[np.ndarray | NamedArray, ...] = execution.run(self.graph, arrays, lengths)
        if self._named:
            pairs = zip(values, self._tensors, strict=True)
            values = tuple(NamedArray(value, tensor.axes) for value, tensor in pairs)
        if self._outputs is None:
            return None
        if isinstance(self._outputs, Tensor):
            return values[0]
        if isinstance(self._outputs, list | tuple):
            return values
        return dict(zip(self._tensors, values, strict=True))

    def lower(self, *arguments: object) -> Any:
        """Every stage of the program for these arguments; nothing is run.

        The result has .graph .views .loops .source .llvm .asm and .cost.
        """
        return execution.lower(self.graph, *self._bound(arguments))

    def _bound(self, arguments: tuple[object, ...]) -> tuple[list[np.ndarray], dict[Symbol, int]]:
        """The arguments as arrays of the placeholders, and the length of each symbol."""
        if len(arguments) != len(self._placeholders):
            raise GraphValueError(
                f"a call with {len(arguments)} arguments",
                f"placeholders {_listed(self._placeholders)}",
                "pass one array per placeholder, in this order",
                user_location(),
            )
        if self._lengths is None:
            # Once: a length that is known never changes.
            nodes = [tensor.node for tensor in self._tensors]
            self._lengths = bound_lengths(nodes, self._axes, _listed(self._tensors))
        lengths = self._lengths
        arrays = [
            _checked_argument(k, tensor, value)
            for k, (tensor, value) in enumerate(zip(self._placeholders, arguments, strict=True))
        ]
        return arrays, lengths


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(_shown, items)) or "none"


def _tensors(outputs: object) -> tuple[Tensor, ...]:
    """The outputs in a row; those of a set in the order in which they were made."""
    if isinstance(outputs, set | frozenset):
        outputs = sorted(outputs, key=lambda x: x.serial if isinstance(x, Tensor) else -1)
    if isinstance(outputs, list | tuple):
        tensors = tuple(outputs)
    else:
        tensors = () if outputs is None else (outputs,)
    wrong = [type(x).__name__ for x in tensors if not isinstance(x, Tensor)]
    if wrong:
        raise GraphTypeError(
            "a computation",
            f"outputs of type {_listed(wrong)}",
            "list tensors; make one of an array or number with constant(value, axes)",
            user_location(),
        )
    return tensors


def _numbered_graph(tensors: tuple[Tensor, ...], inputs: Sequence[Input]) -> Graph:
    """The graph with inputs numbered in the order of the placeholders."""
    graph = Graph((), tuple(tensor.node for tensor in tensors))
    for node in post_order(graph.outputs):
        if isinstance(node, Input) and node not in inputs:
            missing = Tensor(node, labels_of(node))
            raise GraphValueError(
                f"a computation with {len(inputs)} placeholders",
                f"outputs that also depend on {missing!r}, made at {origin(node)}",
                "list every placeholder that the outputs depend on",
                user_location(),
            )
    numbered: dict[Node, Input] = {node: node.replace(position=k) for k, node in enumerate(inputs)}
    graph = rewrite(graph, lambda node: numbered.get(node, node))
    return Graph(tuple(numbered.values()), graph.outputs)


def _listed_inputs(placeholders: tuple[Tensor, ...]) -> list[Input]:
    found: list[Input] = []
    for tensor in placeholders:
        node = tensor.node if isinstance(tensor, Tensor) else None
        if not isinstance(node, Input) or node in found:
            again = "listed twice" if isinstance(node, Input) else "made otherwise"
            raise GraphValueError(
                f"a computation with {shown((tensor,))} as a placeholder",
                f"a {type(tensor).__name__} {again}",
                "list tensors that placeholder(axes) made, each once",
                user_location(),
            )
        found.append(node)
    return found


def _shown(value: object) -> str:
    return repr(value) if isinstance(value, Tensor) else str(value)


def _ordered(asked: str, tensor: Tensor, value: object) -> object:
    """The array of an argument with axes, in the order of the placeholder's."""
    if isinstance(value, Tensor):
        value = value.eval()
    if not isinstance(value, NamedArray):
        return value
    if value.axes.is_not_equal_set(tensor.axes):
        remedy = "pass an array with the axes of the placeholder, or np.asarray(x)"
        raise AxesError(asked, f"the named array {value!r}", remedy, user_location())
    return value.values.transpose([value.axes.index(axis) for axis in tensor.axes])


def _checked_argument(position: int, tensor: Tensor, value: object) -> np.ndarray:
    """The argument as an aligned array of the placeholder's dtype."""
    asked = f"argument {position} for the placeholder {tensor!r}"
    try:
        array = np.asarray(_ordered(asked, tensor, value))
    except ValueError as error:
        if isinstance(error, AxiomError):
            raise
        raise GraphTypeError(asked, str(error), "pass an array", user_location()) from None
    if not np.can_cast(array.dtype, tensor.dtype, "same_kind"):
        raise GraphTypeError(
            asked,
            f"elements of dtype {array.dtype}",
            f"convert with .astype(np.{tensor.dtype}), or give the placeholder another dtype",
            user_location(),
        )
    shape = tuple(axis.length for axis in tensor.axes)
    if array.shape != shape:
        raise GraphValueError(
            asked,
            f"an array of shape {array.shape}",
            f"pass an array of shape {shape}, one dimension per axis in this order",
            user_location(),
        )
    return np.require(array, tensor.dtype, "A")
