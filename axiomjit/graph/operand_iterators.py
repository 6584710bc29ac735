"""Along which iterators of a library operation its operands run."""

from __future__ import annotations

from itertools import accumulate, pairwise

from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Op


def operand_iterators(op: Op) -> tuple[tuple[int, ...], ...]:
    """For each operand the iterators along which a library operation sees it.

    A single operand runs along all of them, and so do those of an operation that keeps all. Of two
    others, each runs along those that its map names, and the first one also along those that
    neither names, along which its values repeat. Where the operation says how many dimensions
    operands have, each has iterators of its own.
    """
    library = op.primitive if isinstance(op.primitive, LibraryOperation) else None
    if library is not None and library.ranks is not None:
        ends = accumulate(library.ranks, initial=op.rank)
        return tuple(tuple(range(low, high)) for low, high in pairwise(ends))
    if len(op.operands) == 1 or (library is not None and library.keeps):
        return (tuple(range(len(op.extents))),) * len(op.operands)
    first, second = (
        tuple(dict.fromkeys(k for function in index for k, _ in function.terms))
        for index in op.maps
    )
    repeated = (k for k in range(op.rank + 1) if k not in (*first, *second))
    return (*first, *repeated), second
