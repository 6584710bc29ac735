"""Build the Dask arrays of a call from its stages, by public functions of `dask.array`.

A stage becomes one `blockwise` operation. `reduction` combines the states of blocks, `overlap` adds
halos, and Dask slices and joins arrays. The keys of Dask arrays are made from tokens, so that equal
calls have equal keys.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice
from typing import Any, Final

import dask.array as da
import numpy as np
from dask.array.overlap import overlap
from dask.array.reductions import cumreduction
from dask.base import normalize_token
from dask.graph_manipulation import clone
from dask.highlevelgraph import MaterializedLayer

from axiomjit.base.config import config
from axiomjit.base.dtypes import state_parts
from axiomjit.base.native_callable import NativeCallable
from axiomjit.graph.nodes import Constant, Input, Node, Op
from axiomjit.graph.primitives import UfuncFold
from axiomjit.interop.dask_plans import Planned
from axiomjit.scale.axis_classes import JOINED, REDUCE, SLICE, TOTALS
from axiomjit.scale.block_graphs import BlockInput, block_graph
from axiomjit.scale.combining import AsBlock, Chosen, Combining, SameState
from axiomjit.scale.partitions import Places, number
from axiomjit.scale.refusals import too_thin
from axiomjit.scale.stages import Spans, Stage, Target
from axiomjit.scale.tasks import EdgesOf, block_task
from axiomjit.symbolic.dims import Dim

# Dask would hash the native entry of a compiled function, which is another one in each process.
normalize_token.register(NativeCallable, lambda one: (type(one).__qualname__, one.__reduce__()))

SPLIT: Final = 8
"""The number of states that one task combines; it is a constant, because rounding depends on it."""
FRESH: Final = 1000
"""The smallest index that `blockwise` gets for dimensions that are not grid axes."""


class Arrays:
    """The Dask arrays of the values of a call."""

    def __init__(self, planned: Planned) -> None:
        """Make the arrays of all stages, without computing elements."""
        self._planned = planned
        self._classified, self._values = planned.classified, planned.values
        self._made: dict[Node, Any] = {}
        self._read: dict[Node, int] = {}
        for stage in planned.stages:
            self._run(stage)

    def result(self, node: Node) -> Any:
        """The array of a result, without blocks that have no elements."""
        array = self._array(node)
        return _without_empty(array, range(array.ndim))

    def _array(self, node: Node) -> Any:
        """The array of an argument, of a captured array, or of a value of an earlier stage."""
        if node in self._made:
            return self._made[node]
        if isinstance(node, Input):
            return self._planned.trace.arguments[node.position]
        if isinstance(node, Constant):
            return node.array
        assert isinstance(node, Op)
        kind = self._classified.cuts.get(node)
        if kind == SLICE:
            made = self._slice(node)
        elif kind == JOINED:
            made = self._join(node)
        else:  # a part of a state, or a view of an argument
            (child,) = node.operands
            made = da.blockwise(
                Chosen(int(node.primitive.source)), range(len(node.shape)), self._array(child),
                range(len(node.shape)), dtype=node.dtype, meta=_meta(node),
            )  # fmt: skip
        self._made[node] = made
        return made

    # Stages

    def _run(self, stage: Stage) -> None:
        """Make the arrays of a stage's targets."""
        block = block_graph(stage, self._classified, self._values)
        grids = block.positioned
        needs = [self._needs_elements(one) for one in stage.targets]
        inputs = [one for one in block.inputs if isinstance(one, BlockInput)]
        names = ["" if isinstance(one, Dim) else self._name(one.node) for one in block.inputs]
        task = block_task(block, stage, self._values, needs, names)
        arguments: list[Any] = []
        edges: list[Any] = []
        fresh = iter(range(FRESH, 10 * FRESH))
        for one in inputs:
            array, index = self._argument(one, stage, fresh)
            arguments += [array, index]
            if one.depths is not None:
                edges += [self._edges(array, one), index]
        arguments += edges
        for grid in grids:
            arguments += [_positions(stage, grid), (grid, next(fresh))]
        if len(stage.targets) == 1:
            self._keep(stage.targets[0], self._blocks(task, stage.targets[0], arguments, fresh))
            return
        every = tuple(range(len(stage.partitions)))
        meta = np.empty((0,) * len(every), object)
        whole = da.blockwise(
            task, every, *arguments, dtype=object, meta=meta, align_arrays=False, token="stage"
        )
        for k, target in enumerate(stage.targets):
            self._keep(target, self._blocks(Chosen(k), target, [whole, every], fresh))

    def _needs_elements(self, target: Target) -> bool:
        """True if a target is a fold without identity: blocks without elements have no state."""
        fold, kind = target.node.fold, self._classified.cuts.get(target.node)
        return kind == REDUCE and fold is not None and not fold.has_identity

    def _blocks(self, task: Any, target: Target, arguments: Any, fresh: Any) -> Any:
        """The array whose blocks are the blocks of a target, or the states of a target."""
        node, index, new, lengths = target.node, [], {}, {}
        places = self._places(target)
        for d, grid in enumerate(target.grids if target.partial else target.own):
            place = places[d]
            if grid is None or place is None:
                if d >= len(node.shape):
                    continue
                fresh_index = next(fresh)
                new[fresh_index] = number(node.shape[d], self._values)
                index.append(fresh_index)
                continue
            index.append(grid)
            own = d < len(node.shape) and not (target.partial and d >= node.rank)
            lengths[grid] = _chunks(place.lengths()) if own else (1,) * place.partition.count
        meta = np.empty((0,) * len(index), node.dtype if not target.partial else object)
        return da.blockwise(
            task, tuple(index), *arguments, dtype=meta.dtype, meta=meta, new_axes=new,
            adjust_chunks=lengths, align_arrays=False, token="stage",
        )  # fmt: skip

    def _places(self, target: Target) -> Places:
        if target.partial:
            return self._classified.iterators[target.node]
        return self._classified.places[target.node]

    def _keep(self, target: Target, array: Any) -> None:
        """Store the array of a target; states of blocks are combined first."""
        node = target.node
        kind = self._classified.cuts.get(node)
        if kind == REDUCE:
            array = self._combined(node, array)
        elif kind == TOTALS:
            array = self._before(node, array)
        self._made[node] = array

    def _combined(self, node: Op, states: Any) -> Any:
        """The result of a fold, from the states of the blocks."""
        assert node.fold is not None
        several = bool(state_parts(node.dtype)[1:])
        axes = tuple(range(node.rank, states.ndim))
        dtype = np.dtype(object) if several else node.dtype
        return da.reduction(
            states,
            chunk=SameState(),
            combine=Combining(node.fold, node.dtype, False),
            aggregate=Combining(node.fold, node.dtype, True),
            axis=axes,
            concatenate=False,
            split_every=dict.fromkeys(axes, max(2, round(SPLIT ** (1 / len(axes))))),
            dtype=dtype,
            meta=np.empty((0,) * node.rank, dtype),
        )

    def _before(self, node: Op, states: Any) -> Any:
        """For each block, the fold of all previous blocks, computed by Dask's `cumreduction`."""
        assert isinstance(node.fold, UfuncFold)
        dtype, axis = node.fold.state_dtype(node.dtype), states.ndim - 1
        every = tuple(range(states.ndim))
        meta = np.empty((0,) * states.ndim, dtype)
        totals = da.blockwise(AsBlock(), every, states, every, dtype=dtype, meta=meta)
        start = node.fold.initial(dtype)
        binary = node.fold.combine.evaluate
        running = cumreduction(SameState(), binary, start, totals, axis, dtype)
        chunks = (*totals.chunks[:-1], (1,))
        none = da.full((*totals.shape[:-1], 1), start, dtype=dtype, chunks=chunks)
        return da.concatenate([none, running[..., :-1]], axis=axis)

    # Arguments of tasks

    def _argument(self, one: BlockInput, stage: Stage, fresh: Any) -> list[Any]:
        """An input of a stage and its index, as arguments of `blockwise`."""
        node = one.node
        array = self._array(node)
        if isinstance(array, int | float | complex):
            return [array, None]
        if isinstance(array, np.ndarray | np.generic):
            array = _held(np.asarray(array), one.spans, node, self._values)
        elif isinstance(node, Input):
            array = self._again(node, array, stage)
        index = tuple(next(fresh) if span is None else span.grid for span in one.spans)
        return [array, index]

    def _again(self, node: Input, array: Any, stage: Stage) -> Any:
        """The array of an argument, or a clone of the array whose blocks Dask computes again.

        If an earlier stage has read the array, `config.reread` decides whether a clone is made.
        """
        first = self._read.setdefault(node, stage.level)
        if first == stage.level or config.reread == "never":
            return array
        if config.reread == "auto" and _in_memory(array):
            return array
        return clone(array, seed=f"axiomjit-{stage.level}")

    def _edges(self, array: Any, one: BlockInput) -> Any:
        """For each block, the edges of the block and of its neighbours, which a stage reads."""
        assert one.depths is not None
        depth = {}
        for d, (low, high) in enumerate(one.depths):
            if not (low or high):
                continue
            lengths = array.chunks[d]
            if len(lengths) > 1 and min(lengths) < max(low, high):
                span = one.spans[d]
                assert span is not None
                name = self._name(one.node) if isinstance(one.node, Input) else ""
                raise too_thin(name, d, max(low, high), span.place.partition)
            depth[d] = min(low, 1), min(high, 1)
        every = tuple(range(array.ndim))
        edges = da.blockwise(
            EdgesOf(one.depths), every, array, every, dtype=object,
            meta=np.empty((0,) * array.ndim, object), token="edges",
            adjust_chunks={d: (1,) * array.numblocks[d] for d in every},
        )  # fmt: skip
        return overlap(edges, depth, dict.fromkeys(depth, "none"))

    def _name(self, node: Node) -> str:
        if isinstance(node, Input):
            return self._planned.trace.names[node.position]
        return "a captured array" if isinstance(node, Constant) else "a value of an earlier stage"

    # Slices and joins

    def _slice(self, node: Op) -> Any:
        """A part of an array, made by slicing the Dask array."""
        (child,), (index,) = node.operands, node.maps
        picked: list[Any] = []
        for function in index:
            start = number(function.offset, self._values)
            if not function.terms:
                picked.append(start)
                continue
            ((k, factor),) = function.terms
            step, count = number(factor, self._values), number(node.extents[k], self._values)
            end = start + step * count
            picked.append(slice(start, None if end < 0 else end, step))
        every = slice(None)
        lengths = [number(length, self._values) for length in child.shape]
        full = [slice(0, n, 1) for n in lengths]
        picked = [every if one == all_ else one for one, all_ in zip(picked, full, strict=True)]
        made = self._array(child)[tuple(picked)]
        for d, place in enumerate(self._classified.places[node]):
            if place is not None and made.numblocks[d] != place.partition.count:
                made = _without_empty(made, (d,))
        return made

    def _join(self, node: Op) -> Any:
        """The join of several arrays, made by Dask's `concatenate`."""
        axis = next(
            d for d in range(node.rank) if any(one[d].offset.constant != 0 for one in node.maps)
        )
        parts = [_without_empty(self._array(child), (axis,)) for child in node.operands]
        return da.concatenate(parts, axis=axis)


def _meta(node: Node) -> Any:
    return np.empty((0,) * len(node.shape), node.dtype)


def _chunks(lengths: Sequence[int | None]) -> tuple[float, ...]:
    return tuple(float("nan") if n is None else n for n in lengths)


def _held(array: np.ndarray, spans: Spans, node: Node, values: Any) -> Any:
    """The Dask array of an array in memory, in one block or in the blocks of its spans."""
    chunks = tuple(
        (n,) if span is None else span.place.partition.known
        for n, span in zip(array.shape, spans, strict=True)
    )
    return da.from_array(array, chunks=chunks)


def _positions(stage: Stage, grid: int) -> Any:
    """For each block along a grid axis, the start and the end of its range, and its length."""
    partition = stage.partitions[grid]
    rows = [(*ends, n) for ends, n in zip(partition.ends(), partition.known, strict=True)]
    return da.from_array(np.array(rows, np.int64), chunks=(1, 3))


def _in_memory(array: Any) -> bool:
    """True if the blocks of a Dask array are in memory, or are parts of one array in memory."""
    (layer, *others) = array.dask.layers.values()
    if others or not isinstance(layer, MaterializedLayer):
        return False
    kinds = {type(value).__name__ for value in islice(layer.mapping.values(), 64)}
    return not kinds.isdisjoint({"DataNode", "ndarray", "Future"})


def _without_empty(array: Any, axes: Sequence[int]) -> Any:
    """The array without blocks that are empty along `axes`; axes of length 0 keep all blocks."""
    for d in axes:
        kept = [k for k, n in enumerate(array.chunks[d]) if n != 0]
        if kept and len(kept) < array.numblocks[d]:
            array = array.blocks[(*[slice(None)] * d, kept)]
    return array
