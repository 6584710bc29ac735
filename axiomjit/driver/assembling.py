"""Running what was prepared, and putting the return value of a call together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from axiomjit.base.tree import LEAF, OfArgument, unflatten_tree
from axiomjit.driver.fresh import Memo, Recipe
from axiomjit.driver.tables import Ready


def assemble(
    ready: Ready,
    arguments: Sequence[object],
    statics: Sequence[tuple[int, object]] = (),
    given: Sequence[object] | None = None,
) -> object:
    """Run, and put the return value together: results without dimensions are NumPy scalars.

    `given` are the arguments before they were converted, which may be returned.
    """
    results = ready.runnable.run(arguments)
    if ready.structure is LEAF and ready.leaves[0] == (0, None):
        return results[0][()] if results[0].ndim == 0 else results[0]
    return unflatten_tree(ready.structure, _leaves(ready, results, statics, given or arguments))


def _leaves(
    ready: Ready,
    results: Sequence[np.ndarray],
    statics: Sequence[tuple[int, object]],
    given: Sequence[object],
) -> Iterator[object]:
    made: Memo = {}
    for number, value in ready.leaves:
        if number is None:
            yield value.now(statics, made) if isinstance(value, Recipe) else value
        elif isinstance(value, OfArgument):
            argument = given[value.position]
            yield argument if value.is_itself else _view_of(argument, results[number])
        else:
            result = results[number]
            if value is int or value is float:
                yield value(result)
            else:
                yield result[()] if result.ndim == 0 else result


def _view_of(argument: object, result: np.ndarray) -> np.ndarray:
    """The result as a new view of an argument, of a class of NumPy's that views keep."""
    if type(argument) is np.memmap:
        view = result.view(np.memmap)
        view.__array_finalize__(argument)
        return view
    return result.view() if result is argument else result
