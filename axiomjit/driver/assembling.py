"""Running what was prepared, and putting the return value of a call together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from axiomjit.base.tree import LEAF, unflatten_tree
from axiomjit.driver.fresh import Memo, Recipe
from axiomjit.driver.tables import Ready


def assemble(
    ready: Ready, arguments: Sequence[object], statics: Sequence[tuple[int, object]] = ()
) -> object:
    """Run, and put the return value together: results without dimensions are NumPy scalars."""
    results = ready.runnable.run(arguments)
    if ready.structure is LEAF and ready.leaves[0] == (0, None):
        return results[0][()] if results[0].ndim == 0 else results[0]
    return unflatten_tree(ready.structure, _leaves(ready, results, statics))


def _leaves(
    ready: Ready, results: Sequence[np.ndarray], statics: Sequence[tuple[int, object]]
) -> Iterator[object]:
    made: Memo = {}
    for number, value in ready.leaves:
        if number is None:
            yield value.now(statics, made) if isinstance(value, Recipe) else value
        else:
            result = results[number]
            yield int(result) if value is int else result[()] if result.ndim == 0 else result
