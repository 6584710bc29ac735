"""Calls of NumPy functions and methods that have no row of the table: steps that NumPy runs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import CODES, walkable
from axiomjit.base.tree import LEAF, flatten_tree, unflatten_tree
from axiomjit.graph import builder
from axiomjit.graph.external_calls import ExternalCall, ForeseenCall, Operand, Result
from axiomjit.graph.nodes import Node
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.operands import node_of
from axiomjit.tracing.operators import TracedOperators
from axiomjit.tracing.outside_arrays import plain
from axiomjit.tracing.probes import foresee, refusal
from axiomjit.tracing.refusals import recorded, refuse_outside, unsupported
from axiomjit.tracing.steps import Function, Represented, is_step
from axiomjit.tracing.writes import store_exactly, write_item

PLAIN: Final = (int, float, complex, str, bytes, np.generic, np.dtype, type, range)
PLAIN_VALUES: Final = (None, Ellipsis, np._NoValue)
OF_DTYPES: Final = frozenset(
    {np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type}
)
"""Functions of dtypes alone, whatever the elements."""
WRITING: Final = frozenset(
    {
        *(np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis),
        *(np.ndarray.put, np.ndarray.partition),
    }
)
"""Functions that write into their first argument, and return nothing."""


def _is_at(function: Function) -> bool:
    """Whether a function is the `at` of a ufunc."""
    owner = getattr(function, "__self__", None)
    return type(owner) is np.ufunc and function.__name__ == "at"


@recorded
def called_opaquely(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """What a function gives that NumPy runs as a step of the program.

    Raises:
        UnsupportedError: what it gives cannot be foreseen, or it cannot be called later.
        InterruptedWritesError: it raises an error for the values of this call.
    """
    if not is_step(function):
        raise unsupported(name, map(node_of, args))
    if function in WRITING or _is_at(function):
        _write(function, name, args, kwargs)
        return None
    if function in OF_DTYPES:
        return _of_dtypes(function, name, args, kwargs)
    out = kwargs.pop("out", None)
    call, operands = bound_call(function, name, args, kwargs)
    foreseen = foresee(call, operands)
    made = foreseen.nodes(operands)
    if out is not None:
        return store_exactly(out, made[0] if len(made) == 1 else tuple(made), name)
    return unflatten_tree(foreseen.structure, _represented(foreseen, made, represented))


def _represented(
    foreseen: ForeseenCall, made: Sequence[Node], represented: Represented
) -> Iterator[object]:
    nodes = iter(made)
    for value in foreseen.values:
        yield represented(next(nodes), value.is_array) if isinstance(value, Result) else value


def bound_call(
    function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[ExternalCall, list[Node]]:
    """The call with places for arrays, and the arrays."""
    given, structure = flatten_tree((tuple(args), kwargs))
    leaves: list[object] = []
    operands: list[Node] = []
    for value in map(plain, given):
        leaf = _leaf(value, name)
        if isinstance(leaf, Node):
            operands.append(leaf)
            leaf = Operand(_kind(value))
        leaves.append(leaf)
    return ExternalCall(name, function, structure, tuple(leaves)), operands


def _leaf(value: Any, name: str) -> object:
    """What stands for an argument: a node for an array, or what it is at every call."""
    if isinstance(value, TracedOperators):
        return value.node
    if isinstance(value, SymbolicNumber):
        return value.at_hand()
    if type(value) is np.ndarray:
        if value.dtype not in CODES or not walkable(value):
            raise refusal(name, f"an array from outside of {value.dtype}")
        return builder.as_node(value, name)
    if isinstance(value, slice):
        return slice(*(_leaf(end, name) for end in (value.start, value.stop, value.step)))
    if isinstance(value, str) and value in ("K", "A"):
        raise refusal(name, "an order that depends on how an array lies in memory")
    if not isinstance(value, PLAIN) and not any(value is one for one in PLAIN_VALUES):
        raise refusal(name, f"an argument that is a {type(value).__name__}")
    return value


def _kind(value: Any) -> str:
    if type(value) is np.ndarray or value.is_array:
        return "array"
    return "number" if value.node.weak else "scalar"


class Changed:
    """A function of an array that changes a copy of it, and gives the copy."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, array: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
        """The copy, once the function has changed it."""
        copy = np.array(array)
        self._function(copy, *args, **kwargs)
        return copy


def changed_call(call: ExternalCall, target: TracedOperators) -> ForeseenCall:
    """The call of a function that changes a copy of a traced array, and gives it."""
    result = Result(target.node.shape, target.node.dtype, True)
    return ForeseenCall(call, LEAF, (result,))


def _write(function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Write what a function leaves in its first argument into the traced array that this is."""
    target, *others = args
    if not isinstance(target, TracedOperators) or target.storage is None:
        refuse_outside(name, target)
    call, operands = bound_call(Changed(function), name, (target, *others), kwargs)
    (made,) = changed_call(call, target).nodes(operands)
    # what it leaves, in place of everything
    write_item(target.storage, target.node, made)


def _of_dtypes(
    function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> object:
    call, operands = bound_call(function, name, args, kwargs)
    samples = [np.ones((1,) * len(node.shape), node.dtype) for node in operands]
    leaves, structure = call.of(samples)
    return unflatten_tree(structure, iter(leaves))
