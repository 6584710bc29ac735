"""The function that a task of a stage runs: the graph of a block, compiled once per process."""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, Final

import numpy as np

from axiomjit.base.caching import BoundedTable
from axiomjit.base.errors import GraphTypeError, GraphValueError
from axiomjit.base.records import Record
from axiomjit.graph.execution import run_block
from axiomjit.graph.nodes import Graph
from axiomjit.scale.block_graphs import BlockGraph, block_length, first_place, last_place
from axiomjit.scale.partitions import Values
from axiomjit.scale.tokens import token_of
from axiomjit.symbolic.dims import Dim, Symbol, evaluate

MOST_PROGRAMS: Final = 512
"""The largest number of programs of tasks that a process keeps."""
State = tuple[np.ndarray, ...] | None
"""The state of a fold in a block; None if the block has no elements and the fold no identity."""


class Program(Record):
    """The program that a task runs.

    `slots` has one entry per input: a position of the block, or None if the input is a block.
    `lengths` has the symbols whose values are equal in every block. `measured` has, for the symbol
    of each block length, an input and a dimension with this length. `positions` has, for each grid
    axis, the number of the input with the ranges of blocks. `partial` is true for targets that are
    states. `needs_elements` has an entry for each target: the number of its elements if its fold
    has no state without elements, else None. `used` has the symbols of the graph.
    """

    graph: Graph
    slots: tuple[Dim | None, ...]
    lengths: tuple[tuple[Symbol, int], ...]
    measured: tuple[tuple[Symbol, int, int], ...]
    derived: tuple[tuple[Symbol, Dim], ...]
    positions: tuple[tuple[int, int], ...]
    counts: tuple[int, ...]
    partial: tuple[bool, ...]
    needs_elements: tuple[Dim | None, ...]
    names: tuple[str, ...]
    used: tuple[Symbol, ...]

    def with_states(self, has_state: Sequence[bool]) -> Graph:
        """The graph without the results of targets that have no state, which must not be run."""
        if all(has_state):
            return self.graph
        results = iter(self.graph.outputs)
        parts = [tuple(islice(results, number)) for number in self.counts]
        outputs = (one for part, has in zip(parts, has_state, strict=True) if has for one in part)
        return self.graph.replace(outputs=tuple(outputs))


_programs: Final[BoundedTable[str, Program]] = BoundedTable(limit=MOST_PROGRAMS)


class BlockTask:
    """A function of blocks that runs a program; Dask compares such functions by their tokens."""

    __slots__ = ("_packed", "token")

    def __init__(self, token: str, packed: bytes) -> None:
        """Store the token and the compressed pickle of a program."""
        self.token, self._packed = token, packed

    def __reduce__(self) -> tuple[Any, ...]:
        return BlockTask, (self.token, self._packed)

    def __dask_tokenize__(self) -> object:
        return "axiomjit", self.token

    def __repr__(self) -> str:
        return f"<stage {self.token[:8]}>"

    __name__ = "stage"

    @property
    def program(self) -> Program:
        """The program, unpickled once per process."""
        found = _programs.get(self.token)
        if found is None:
            found = pickle.loads(zlib.decompress(self._packed))  # noqa: S301  # from our own graph
            _programs.keep(self.token, found)
        return found

    def __call__(self, *blocks: Any) -> Any:
        """The target of a block, an array or a state; a list if there are several targets."""
        program = self.program
        given = [_only(block) for block in blocks]
        taken = iter(given)
        arrays = [
            None if slot is not None else _plain(next(taken), name)
            for slot, name in zip(program.slots, program.names, strict=True)
        ]
        known = _lengths(program, arrays, given)
        for k, slot in enumerate(program.slots):
            if slot is not None:
                arrays[k] = np.array(evaluate(slot, known))
        has_state = [
            elements is None or evaluate(elements, known) > 0 for elements in program.needs_elements
        ]
        graph = program.with_states(has_state)
        made = iter(run_block(graph, arrays, {one: known[one] for one in program.used}))
        found: list[Any] = []
        for k, (number, has) in enumerate(zip(program.counts, has_state, strict=True)):
            mine = tuple(islice(made, number)) if has else None
            found.append(mine if program.partial[k] or mine is None else mine[0])
        return found[0] if len(found) == 1 else found


def block_task(
    block: BlockGraph,
    values: Values,
    partial: Sequence[bool],
    needs_elements: Sequence[bool],
    names: Sequence[str],
    grids: Sequence[int],
) -> BlockTask:
    """The task of a stage.

    Args:
        block: The graph of a block.
        values: The values of the symbols for lengths of entire arrays.
        partial: For each target, True if it is a state.
        needs_elements: For each target, True if its fold has no state without elements.
        names: The names of the inputs, for error messages.
        grids: The grid axes whose ranges the task gets behind the other inputs, in this order.
    """
    measured: dict[Symbol, tuple[int, int]] = {}
    for place, one in enumerate(block.inputs):
        for d, span in enumerate(() if isinstance(one, Dim) or one.is_before else one.spans):
            if span is not None and span.is_plain:
                measured.setdefault(block_length(span.grid), (place, d))
    inputs = sum(not isinstance(one, Dim) for one in block.inputs)
    nodes = (*block.graph.inputs, *block.graph.nodes)
    used = frozenset[Symbol]().union(*(node.symbols for node in nodes))
    program = Program(
        block.graph,
        tuple(one if isinstance(one, Dim) else None for one in block.inputs),
        tuple(sorted(((s, n) for s, n in values.items()), key=lambda item: item[0].name)),
        tuple((symbol, *where) for symbol, where in measured.items()),
        block.derived,
        tuple((grid, inputs + k) for k, grid in enumerate(grids)),
        block.counts,
        tuple(partial),
        tuple(n if needs else None for n, needs in zip(block.reduced, needs_elements, strict=True)),
        tuple(names),
        tuple(sorted(used, key=lambda symbol: symbol.name)),
    )
    found = token_of(program)
    if found not in _programs:  # a program in the table keeps its plans
        _programs.keep(found, program)
    return BlockTask(found, zlib.compress(pickle.dumps(program), 9))


def _only(block: Any) -> Any:
    """The block in nested lists of length 1, in which Dask passes a block of contracted axes."""
    while type(block) is list:
        (block,) = block
    return block


def _plain(value: Any, name: str) -> Any:
    if isinstance(value, int | float | complex):
        return value
    if type(value) is np.ndarray:
        return value
    if isinstance(value, np.generic) or type(value) is np.memmap:
        return np.asarray(value)
    raise GraphTypeError(
        f"a block of {name} in a compiled call",
        f"a {type(value).__module__}.{type(value).__name__}",
        "give arrays whose blocks are NumPy arrays, as by x.map_blocks(numpy.asarray)",
    )


def _lengths(program: Program, arrays: Sequence[Any], given: Sequence[Any]) -> Mapping[Symbol, int]:
    """The values of all symbols for a block."""
    known = dict(program.lengths)
    for grid, place in program.positions:
        first, last, length = np.asarray(given[place]).reshape(-1).tolist()
        known[first_place(grid)], known[last_place(grid)] = first, last
        known[block_length(grid)] = length
    for symbol, place, d in program.measured:
        known[symbol] = arrays[place].shape[d]
    for symbol, length in program.derived:
        known[symbol] = evaluate(length, known)
    for node, array, name in zip(program.graph.inputs, arrays, program.names, strict=True):
        if isinstance(array, np.ndarray):
            _check_shape(array, tuple(evaluate(n, known) for n in node.shape), name)
    return known


def _check_shape(array: np.ndarray, wanted: tuple[int, ...], name: str) -> None:
    if array.shape == wanted:
        return
    raise GraphValueError(
        f"a block of {name} of shape {wanted}",
        f"one of shape {array.shape}",
        "give arrays whose chunks say the lengths of their blocks, and whose blocks fit each other",
    )
