"""LoopProgram -> LoopProgram: long scatters into small memory may be shared by threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import count
from typing import Final

from axiomjit.base.dtypes import DType, is_signed, value_range
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.passes.ir.context import Context
from axiomjit.passes.ir.loop_ir import (
    Block,
    Cost,
    For,
    Index,
    Load,
    LoopProgram,
    Nest,
    Stmt,
    Store,
    dtypes_of,
    rewrite_body,
    walk,
)
from axiomjit.passes.ir.rewriting import AddedNumbers, all_steps, replace_nests
from axiomjit.passes.ir.view_ir import ArrayRole, Storage
from axiomjit.symbolic.data_dependent import HeuristicScope, data_dependent_in
from axiomjit.symbolic.dims import Dim, bound, dim, product, smaller
from axiomjit.views.descriptions import row_major_strides

MIN_POSITIONS: Final = 1 << 19
"""The smallest number of positions of a scatter that is privatised; with fewer, one thread is about
as fast.
"""
BLOCKS: Final = 16
"""The number of blocks of positions, each with a copy of the target, and so the largest number of
threads that help.
"""
MIN_POSITIONS_PER_CELL: Final = 8
"""The smallest number of positions per element of all copies together."""
MAX_COPY_BYTES: Final = 1 << 20
"""The largest number of bytes of the copies of one block, which stay in a core's own cache."""
PADDING: Final = 128
"""The number of bytes between copies, so that two threads never write into the same cache line."""


class Rule(Record):
    """The operations that combine values in a copy and copies with the target, for kinds of dtypes.

    A copy begins with `neutral` elements of its dtype. The result must be the same for every order
    of the values, so sums and products of floats have no rule.
    """

    kinds: str
    neutral: Callable[[DType], object]
    joined: str

    def begin(self, dtype: DType) -> Scalar:
        """The neutral element."""
        return Scalar(dtype, dtype.type(self.neutral(dtype)), False)


def _all_bits(dtype: DType) -> object:
    return -1 if is_signed(dtype) else value_range(dtype)[1]


RULES: Final = {
    "add": Rule("biu", lambda _: 0, "add"),
    "subtract": Rule("iu", lambda _: 0, "add"),
    "multiply": Rule("biu", lambda _: 1, "multiply"),
    "minimum": Rule("biuf", lambda dtype: value_range(dtype)[1], "minimum"),
    "maximum": Rule("biuf", lambda dtype: value_range(dtype)[0], "maximum"),
    "bitwise_and": Rule("biu", _all_bits, "bitwise_and"),
    "bitwise_or": Rule("biu", lambda _: 0, "bitwise_or"),
    "bitwise_xor": Rule("biu", lambda _: 0, "bitwise_xor"),
}
"""The rule of each primitive with which a scatter may combine values, by its name."""


def privatise_scatters(program: LoopProgram, context: Context) -> LoopProgram:
    """Add a parallel variant before long scatters into small memory.

    The units of the variant are blocks of positions. Each unit fills a copy of the target with the
    neutral element and scatters into the copy; the combine part combines the copies with the
    target. A single thread runs the scatter itself, which needs no copies; the variant runs only if
    several threads share the work. The scatter and the variant give the same bits, because an
    operation has a variant only if its result does not depend on the order of values: for floats,
    only minimum and maximum.

    Comparing the number of positions and the size of the target records guards in the scope. If the
    target has a data-dependent length (as the result of `bincount`), the comparison is done in the
    running program, when the length is known.

    Needs: nests with their costs.
    Gives: a legal loop program.
    Keeps: every result, bit for bit.
    """
    numbers, copied = AddedNumbers(program.numbers), count()
    dtypes = {number.name: number.dtype for number in program.numbers}

    def both(nest: Nest, cost: Cost) -> list[tuple[Nest, Cost]] | None:
        scatter = _scatter_in(nest, dtypes)
        if scatter is None:
            return None
        copies = scatter.copies(copied)
        filled = sum((copy.size_bytes for copy in copies), dim(0))
        read, written = cost.bytes_read + filled, cost.bytes_written + filled
        own = cost.replace(bytes_read=read, bytes_written=written)
        return [(scatter.shared(copies, numbers), own), (nest, cost)]

    with bound(HeuristicScope(context.scope)):
        made = replace_nests(program, both)
    return made if made is program else made.replace(numbers=tuple(numbers.every))


def _scatter_in(nest: Nest, numbers: dict[str, DType]) -> _Scatter | None:
    """The scatter of a nest, if copies may pay, else None; `numbers` has the dtypes of numbers."""
    loop = nest.body[0]
    if nest.partials or len(nest.body) > 1 or not isinstance(loop, For) or loop.kind != "scatter":
        return None
    if loop != For(loop.iterator, loop.extent, loop.kind, loop.body):
        return None
    within = list(walk((loop,)))
    dtypes = numbers | dtypes_of(within)
    stores = tuple(s for s in within if isinstance(s, Store))
    scatter = _Scatter(loop, stores)
    fits = all(_has_rule(store, dtypes[store.value]) for store in stores)
    return scatter if fits and scatter.may_pay else None


def _has_rule(store: Store, dtype: DType) -> bool:
    """True if a rule combines values of a dtype, and the memory is dense and has this dtype."""
    rule = None if store.combine is None else RULES.get(store.combine.name)
    buffer = store.buffer
    if rule is None or dtype != buffer.dtype or dtype.kind not in rule.kinds:
        return False
    dense = row_major_strides(buffer.shape)
    return all(own is other for own, other in zip(buffer.strides, dense, strict=True))


class _Scatter(Record):
    """The loop of a scatter, and its stores."""

    loop: For
    stores: tuple[Store, ...]

    @property
    def positions(self) -> Dim:
        """The number of values that the scatter stores."""
        loops = (s for s in walk((self.loop,)) if isinstance(s, For))
        return all_steps(loop for loop in loops if loop.kind == "scatter")

    @property
    def margins(self) -> tuple[Dim, ...]:
        """Numbers that are all 0 or more if positions and iterations are many, and copies small.

        If there are many iterations, no block is empty.
        """
        sizes = [product(store.buffer.shape) for store in self.stores]
        return (
            self.positions - MIN_POSITIONS,
            self.loop.extent - BLOCKS * BLOCKS,
            self.positions - sum(sizes, dim(0)) * (BLOCKS * MIN_POSITIONS_PER_CELL),
            dim(MAX_COPY_BYTES) - sum((store.buffer.size_bytes for store in self.stores), dim(0)),
        )

    @property
    def may_pay(self) -> bool:
        """True if no number in `margins` is known to be negative before the program runs."""
        known = [margin for margin in self.margins if not data_dependent_in(margin)]
        return not data_dependent_in(self.positions) and all(margin >= 0 for margin in known)

    def copies(self, numbers: Iterator[int]) -> tuple[Storage, ...]:
        """The partials: for each block, a copy of each target."""
        made: list[Storage] = []
        for store in self.stores:
            cells, dtype = _pitch(store) * BLOCKS, store.buffer.dtype
            if data_dependent_in(cells):
                cells = smaller(cells, self.positions // MIN_POSITIONS_PER_CELL + BLOCKS * PADDING)
            made.append(Storage(f"z{next(numbers)}", ArrayRole.PARTIAL, dtype, (cells,), (dim(1),)))
        return tuple(made)

    def shared(self, copies: Sequence[Storage], numbers: AddedNumbers) -> Nest:
        """The nest of blocks, which scatters into copies and combines them with the targets."""
        of_block = dict(zip(self.stores, copies, strict=True))
        blocks = For(f"{self.loop.iterator}g", dim(BLOCKS), "map", ())

        def into_copies(stmt: Stmt) -> tuple[Stmt, ...]:
            if not isinstance(stmt, Store):
                return (stmt,)
            copy, index = of_block[stmt], stmt.index
            # The term of the copy comes first, so that LLVM adds it to the address of the memory
            # once, before the loop.
            terms = ((blocks.iterator, _pitch(stmt)), *index.terms)
            return (stmt.replace(buffer=copy, index=index.replace(terms=terms)),)

        filled: list[Stmt] = []
        joined: list[Stmt] = []
        for number, (store, copy) in enumerate(of_block.items()):
            assert store.combine is not None
            rule, size = RULES[store.combine.name], product(store.buffer.shape)
            cells = For(f"{self.loop.iterator}c{number}", size, "map", ())
            cell = Index(dim(0), ((blocks.iterator, _pitch(store)), (cells.iterator, dim(1))))
            own = Index(dim(0), ((cells.iterator, dim(1)),))
            neutral = Store(copy, cell, numbers.named(rule.begin(copy.dtype)))
            filled.append(cells.replace(body=(neutral,)))
            name = f"{copy.name}v"
            whole = Store(store.buffer, own, name, PRIMITIVES[rule.joined])
            loop = cells.replace(body=(Load(name, copy, cell), whole))
            joined.append(blocks.replace(kind="scatter", body=(loop,)))
        size = (self.loop.extent + (BLOCKS - 1)) // BLOCKS
        block = Block(blocks.iterator, size)
        own_block = self.loop.replace(body=rewrite_body(self.loop.body, into_copies), block=block)
        body = blocks.replace(body=(*filled, own_block))
        margin, *margins = self.margins
        for other in margins:
            margin = smaller(margin, other)
        return Nest((body,), tuple(joined), tuple(copies), parallel_variant=margin)


def _pitch(store: Store) -> Dim:
    """The distance between the first elements of neighbouring copies, in elements."""
    return product(store.buffer.shape) + PADDING // store.buffer.dtype.itemsize
