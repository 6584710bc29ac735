"""Run axis graphs by `make_transformer().computation(outputs, *placeholders)(*arguments)`."""

from __future__ import annotations

import inspect
import operator
import weakref
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np

from axiomjit.axis.axes import Axes, bound_lengths
from axiomjit.axis.declarations import (
    declaration_of,
    has_layout,
    layout_of_storage,
    placed,
    starting_values,
)
from axiomjit.axis.named_arrays import NamedArray
from axiomjit.axis.tensors import Tensor, placeholder, shown, used_axes
from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.caching import BoundedTable
from axiomjit.base.errors import AxesError, AxiomError, GraphTypeError, GraphValueError, amount
from axiomjit.base.locks import new_lock
from axiomjit.base.native_callable import NativeCallable
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.overlaps import overlaps_itself
from axiomjit.base.tree import is_labelled
from axiomjit.graph import execution
from axiomjit.graph.execution import by_names
from axiomjit.graph.nodes import Graph, Input, Node, origin, post_order
from axiomjit.graph.storages import storage_root, with_versions
from axiomjit.symbolic.dims import Symbol


def _ordered(asked: str, tensor: Tensor, value: object) -> object:
    """The array of an argument with axes, transposed to the order of the placeholder's axes."""
    if isinstance(value, Tensor):
        value = value.eval()
    if is_labelled(value):
        return by_names("ordered", value, tensor.axes, asked)
    if not isinstance(value, NamedArray):
        return value
    if value.axes.is_not_equal_set(tensor.axes):
        remedy = "pass an array with the axes of the placeholder, or np.asarray(x)"
        raise AxesError(asked, f"the named array {value!r}", remedy, user_location())
    return value.values.transpose([value.axes.index(axis) for axis in tensor.axes])


def checked_argument(position: int, tensor: Tensor, value: object) -> np.ndarray:
    """The argument as an aligned array of the placeholder's dtype."""
    asked = f"argument {position} for the placeholder {tensor!r}"
    refuse_chunked(value, asked)
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
    layout = layout_of_storage(storage_root(tensor.node))
    # With an equal dtype that is another object, NumPy would return another array.
    aligned = np.require(array, None if array.dtype == tensor.dtype else tensor.dtype, "A")
    return aligned if has_layout(aligned, layout) else placed(aligned, layout)


def check_writable(position: int, tensor: Tensor, value: object) -> None:
    """Refuse an argument that is written if the caller's array would not get the new values.

    Raises:
        GraphTypeError: the argument is not an array of the placeholder's dtype, is read-only, or
            has elements that share memory, so that a write into one would change others.
    """
    if not isinstance(value, np.ndarray):
        seen = f"a {type(value).__name__}"
    elif value.dtype != tensor.dtype:
        seen = f"an array of dtype {value.dtype}"
    elif not value.flags.writeable:
        seen = "a read-only array"
    elif overlaps_itself(value):
        seen = "an array whose elements share memory"
    else:
        return
    raise GraphTypeError(
        f"argument {position} for the placeholder {tensor!r}, which the computation assigns to",
        seen,
        f"pass a writable NumPy array of dtype {tensor.dtype}, or assign to a variable",
        user_location(),
    )


def copy_overlapping(arrays: Sequence[np.ndarray], written: Collection[int]) -> list[np.ndarray]:
    """The arrays, with a copy in place of each array that shares memory with a written array.

    Raises:
        GraphValueError: two arrays that are both written share memory.
    """
    result = list(arrays)
    for position in written:
        for other, array in enumerate(arrays):
            if other == position or not np.may_share_memory(array, arrays[position]):
                continue
            if other in written:
                raise GraphValueError(
                    f"arguments {position} and {other}, which the computation assigns to",
                    "arrays that share memory",
                    "pass arrays that do not overlap",
                    user_location(),
                )
            result[other] = array.copy()
    return result


def leaf_key(leaf: Any, name: str) -> Hashable:
    """A cache key of an operand; operands with equal keys can use the same computation.

    The keys of two numbers are equal only if their bits are equal.

    Raises:
        GraphTypeError: the operand is an array without axes, or not a number.
    """
    if isinstance(leaf, NamedArray):
        return leaf.axes, leaf.dtype
    if isinstance(leaf, np.ndarray | np.generic) and not leaf.ndim:
        return type(leaf), leaf.dtype, leaf.tobytes()
    if isinstance(leaf, int | float | complex):
        return type(leaf), repr(leaf)
    is_array = isinstance(leaf, np.ndarray)
    raise GraphTypeError(
        f"argument {name} beside named arrays",
        f"an array of shape {leaf.shape}, whose dimensions have no axes"
        if is_array
        else f"a {type(leaf).__module__}.{type(leaf).__name__}",
        "say which axes they are with NamedArray(value, axes)",
        user_location(),
    )


Orders = Callable[[list[np.ndarray], Sequence[int]], Mapping[int, tuple[int, ...]]]
Outputs = Tensor | list[Tensor] | tuple[Tensor, ...] | set[Tensor] | frozenset[Tensor] | None


class Transformer:
    """Makes computations that share the values of variables; `make_transformer` makes it."""

    def __init__(self) -> None:
        self._variables: Final = VariableValues()

    def close(self) -> None:
        """Drop the values of variables; later computations start from the initial values."""
        self._variables.clear()

    def __enter__(self) -> Transformer:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @hides_frames
    def computation(
        self, outputs: Outputs, *placeholders: Tensor | str, named: bool = False
    ) -> Computation:
        """Make a function of arrays that computes tensors.

        Args:
            outputs: The tensor to compute, or several in a list, tuple or set; None for no results.
            placeholders: Every placeholder that the outputs depend on, in the order of a call's
                arguments; "all" for all placeholders in the order in which they were made.
            named: True if results are to be named arrays.

        Raises:
            GraphTypeError: an output is not a tensor.
            GraphValueError: a placeholder is missing or listed twice, or another object is listed.
        """
        return Computation(outputs, placeholders, named, self._variables)


def make_transformer() -> Transformer:
    """Make a transformer, which makes computations (ngraph axes, "Properties")."""
    return Transformer()


class VariableValues:
    """The arrays with the values of variables, made when a variable is first used."""

    def __init__(self) -> None:
        self.lock: Final = new_lock()
        self._arrays: Final[WeakKeyDictionary[Input, np.ndarray]] = WeakKeyDictionary()

    def clear(self) -> None:
        """Drop all values."""
        with self.lock:
            self._arrays.clear()

    def arrays(self, nodes: Sequence[Input], orders: Orders) -> list[np.ndarray]:
        """The arrays of variables; new arrays are kept for all later calls.

        `orders(arrays, positions)` gets the positions of new arrays without a requested layout, and
        returns for some of these arrays the order of dimensions in memory.
        """
        with self.lock:
            new = {k: node for k, node in enumerate(nodes) if node not in self._arrays}
            found = [
                starting_values(n) if k in new else self._arrays[n] for k, n in enumerate(nodes)
            ]
            arrays = [array for array in found if array is not None]
            assert len(arrays) == len(nodes), "placeholders get their values at each call"
            free = [
                k for k, n in new.items() if arrays[k].ndim > 1 and layout_of_storage(n) is None
            ]
            for k, order in orders(arrays, free).items() if free else ():
                arrays[k] = _in_order(arrays[k], order)
            for k, node in new.items():
                self._arrays[node] = arrays[k]
        return arrays


def _in_order(array: np.ndarray, order: tuple[int, ...]) -> np.ndarray:
    """A copy of the array whose dimensions have this order in memory, outermost first."""
    back = [order.index(d) for d in range(array.ndim)]
    return np.ascontiguousarray(array.transpose(order)).transpose(back)


class Computation(NativeCallable[Any]):
    """A function of arrays, made by `Transformer.computation`, with one argument per placeholder.

    Call a computation with one array of the exact shape per placeholder, in order, or with
    `feed_dict`, a dictionary from placeholder to array. A named array may have its axes in any
    order. The results are new arrays, or named arrays: one array for a single output, a tuple for a
    list or tuple, a dictionary from tensor to array for a set, None for None. A call raises these
    errors:

    - AxesError: the length of an axis is unknown, or lengths do not fit.
    - GraphTypeError: the elements of an argument cannot be cast to the placeholder's dtype.
    - GraphValueError: the number of arguments or the shape of an argument is wrong.
    """

    def __init__(
        self,
        outputs: Outputs,
        placeholders: tuple[Tensor | str, ...],
        named: bool = False,
        variables: VariableValues | None = None,
    ) -> None:
        """Store the outputs and build the program (see `Transformer.computation`)."""
        self.__signature__ = _SIGNATURE
        self._outputs: Final = outputs
        self._named: Final = named
        self._tensors: Final = _tensors(outputs)
        self._nodes: Final = tuple(tensor.node for tensor in self._tensors)
        if placeholders == ("all",):
            placeholders = _all_placeholders(self._nodes)
        inputs = _listed_inputs(placeholders)
        self._placeholders: Final = tuple(p for p in placeholders if isinstance(p, Tensor))
        self._axes: Final = used_axes((*self._tensors, *self._placeholders), Axes())
        self.graph, self._variable_nodes = _program(self._nodes, inputs)
        self._variables: Final = variables or VariableValues()
        self._lengths: dict[Symbol, int] | None = None

    def answer(self, args: Any, kwargs: Mapping[str, Any]) -> Any:
        """Compute the outputs; called if no native entry has answered the call."""
        return self._compute(*args, **kwargs)

    def _compute(self, *arguments: object, feed_dict: Mapping[Tensor, object] | None = None) -> Any:
        if feed_dict is not None:
            arguments = self._ordered_arguments(arguments, feed_dict)
        arrays, lengths = self._bound_arguments(arguments)
        shared = self._variables.lock if self._variable_nodes else nullcontext()
        with shared:
            found = execution.run(self.graph, arrays, lengths)
        self._write_back(arguments, arrays)
        if feed_dict is None and not self._variable_nodes and self._is_plain(arguments, arrays):
            self._install_native_entry(arrays, lengths, len(found) == len(self._tensors))
        return self._finished(found)

    def _install_native_entry(
        self, arrays: Sequence[np.ndarray], lengths: Mapping[Symbol, int], whole: bool
    ) -> None:
        """Install a native entry; `whole` is True if the graph has no results but the outputs."""
        listed = isinstance(self._outputs, list | tuple)
        arrays_only = whole and not self._named and (listed or isinstance(self._outputs, Tensor))
        method: Any = weakref.WeakMethod(self._finished)  # no cycle through the native entry
        execution.add_native_entry(
            *(self, self.graph, arrays, lengths),
            in_tuple=listed if arrays_only else None,
            finish=lambda found: method()(found),
        )

    def _is_plain(self, arguments: tuple[object, ...], arrays: Sequence[np.ndarray]) -> bool:
        """True if a native entry may answer calls: no argument is converted or written."""
        plain = not self.graph.writes and all(map(operator.is_, arguments, arrays))
        layouts = (layout_of_storage(storage_root(t.node)) for t in self._placeholders)
        wanted = plain and self.wants_guard() and self.misses > 1
        return wanted and all(layout is None for layout in layouts)

    def _finished(self, found: Sequence[np.ndarray]) -> Any:
        """The return value of a call, made from the results of the graph."""
        values: Any = tuple(found[len(found) - len(self._tensors) :])
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
        """Lower the computation for these arguments and return all stages, without a run.

        The result has the attributes graph, views, loops, source, llvm, asm and cost.
        """
        return execution.lower(self.graph, *self._bound_arguments(arguments))

    def _ordered_arguments(
        self, arguments: tuple[object, ...], feed_dict: Mapping[Tensor, object]
    ) -> tuple[object, ...]:
        """The values of `feed_dict` in the order of the placeholders."""
        fed = {storage_root(tensor.node): value for tensor, value in feed_dict.items()}
        wanted = [storage_root(tensor.node) for tensor in self._placeholders]
        if arguments or fed.keys() != set(wanted):
            given = f"{amount(len(arguments), 'argument')} and " if arguments else ""
            raise GraphValueError(
                f"a call with {given}values for {_listed(feed_dict)}",
                f"placeholders {_listed(self._placeholders)}",
                "give each placeholder a value, all of them in feed_dict or none",
                user_location(),
            )
        return tuple(fed[node] for node in wanted)

    def _bound_arguments(
        self, arguments: tuple[object, ...]
    ) -> tuple[list[np.ndarray], dict[Symbol, int]]:
        """The arguments as arrays of the placeholders' dtypes, and the length of each symbol."""
        if len(arguments) != len(self._placeholders):
            raise GraphValueError(
                f"a call with {amount(len(arguments), 'argument')}",
                f"placeholders {_listed(self._placeholders)}",
                "pass one array per placeholder, in this order",
                user_location(),
            )
        if self._lengths is None:
            # Once: a length that is known never changes.
            self._lengths = bound_lengths(self._nodes, self._axes, _listed(self._tensors))
        lengths = self._lengths
        arrays = [
            checked_argument(k, tensor, value)
            for k, (tensor, value) in enumerate(zip(self._placeholders, arguments, strict=True))
        ]
        written = [position for position in self.graph.writes if position < len(arrays)]
        for position in written:
            check_writable(position, self._placeholders[position], arguments[position])
        arrays = copy_overlapping(arrays, written)

        def orders(made: list[np.ndarray], free: Sequence[int]) -> Mapping[int, tuple[int, ...]]:
            count, whole = len(arrays), [*arrays, *made]
            places = [count + k for k in free]
            found = execution.chosen_orders(self.graph, whole, lengths, places)
            return {place - count: order for place, order in found.items()}

        return arrays + self._variables.arrays(self._variable_nodes, orders), lengths

    def _write_back(self, arguments: tuple[object, ...], arrays: Sequence[np.ndarray]) -> None:
        """Copy new values into the caller's arrays if the program wrote copies of these arrays."""
        for position in self.graph.writes:
            if position < len(arguments):
                given = arguments[position]
                if isinstance(given, np.ndarray) and arrays[position] is not given:
                    given[...] = arrays[position]


def _call_text(*arguments: object, feed_dict: Mapping[Tensor, object] | None = None) -> Any:
    """A function whose signature is also the signature of a computation's call."""


_SIGNATURE: Final = inspect.signature(_call_text)


def _listed(items: Iterable[object]) -> str:
    return ", ".join(map(_shown, items)) or "none"


def _tensors(outputs: object) -> tuple[Tensor, ...]:
    """The outputs as a tuple; the tensors of a set are in the order of their creation."""
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


def _program(nodes: tuple[Node, ...], inputs: Sequence[Input]) -> tuple[Graph, tuple[Input, ...]]:
    """The graph, with placeholders and then variables as inputs, and the variables."""
    graph, variables = with_versions(nodes, inputs)
    for node in variables:
        if not _is_variable(node):
            missing = _declared(node)
            raise GraphValueError(
                f"a computation with {amount(len(inputs), 'placeholder')}",
                f"outputs that also depend on {missing!r}, made at {origin(node)}",
                "list every placeholder that the outputs depend on",
                user_location(),
            )
    return graph, variables


def _is_variable(node: Input) -> bool:
    declaration = declaration_of(node)
    return declaration is not None and declaration.start is not None


def _declared(node: Input) -> Tensor:
    """The tensor of a placeholder before any write into it."""
    declaration = declaration_of(node)
    assert declaration is not None
    return Tensor(node, declaration.axes, declaration.uses)


def _all_placeholders(nodes: tuple[Node, ...]) -> tuple[Tensor, ...]:
    """The placeholders on which these nodes depend, in the order in which they were made."""
    found = [n for n in post_order(nodes) if isinstance(n, Input) and not _is_variable(n)]
    return tuple(_declared(n) for n in sorted(found, key=lambda n: n.position))


def _listed_inputs(placeholders: Sequence[object]) -> list[Input]:
    found: list[Input] = []
    for tensor in placeholders:
        node = storage_root(tensor.node) if isinstance(tensor, Tensor) else None
        if not isinstance(node, Input) or _is_variable(node) or node in found:
            again = "listed twice" if node in found else "made otherwise"
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


def _computed(
    function: Callable[..., Outputs],
    operands: Sequence[object],
    kept: BoundedTable[Hashable, Any],
    key: Hashable,
) -> Any:
    """Call a function of tensors with named arrays, by a cached computation."""
    leaves = tuple(leaf_key(value, str(k)) for k, value in enumerate(operands))
    named = [value for value in operands if isinstance(value, NamedArray)]
    found = kept.get((key, leaves))
    if found is None:
        given = [placeholder(v.axes, v.dtype) if isinstance(v, NamedArray) else v for v in operands]
        placeholders = tuple(value for value in given if isinstance(value, Tensor))
        made = Computation(function(*given), placeholders, named=True)
        found = kept.keep((key, leaves), made)
    return found(*named)


OPERATIONS: Final = {"computed": _computed}
