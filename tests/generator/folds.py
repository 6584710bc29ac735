"""Folds and scans by accumulators of users, whose results do not depend on where blocks end.

For arrays `fold` combines one element after the other in NumPy; while a function is followed it is
`axiomjit.fold`.
"""

import numpy as np

import axiomjit as aj
from axiomjit.graph.traced_values import NodeValue
from tests.passes.folded import MEANT


def first(a, b):
    """The first element that is not zero."""
    return np.where(a != 0, a, b)


def longest_run(a, b):
    """Elements at the start, at the end, in the longest run, and in all, that are not zero."""
    (start1, end1, best1, n1), (start2, end2, best2, n2) = a, b
    start = np.where(start1 == n1, n1 + start2, start1)
    end = np.where(end2 == n2, n2 + end1, end2)
    return start, end, np.maximum(np.maximum(best1, best2), end1 + start2), n1 + n2


def ones(e):
    """1 for each element that is not zero, and 1 for every element."""
    run = np.where(e != 0, 1, 0)
    return run, run, run, 1


OF_ALL = {
    "first": aj.Accumulator(0, first),
    "end": aj.Accumulator(None, lambda a, b: b),
    "start": aj.Accumulator(None, lambda a, b: a),
    "runs": aj.Accumulator((0, 0, 0, 0), longest_run, ones, lambda s: s[2]),
    "ends": aj.Accumulator((0, 0, 0, 0), longest_run, ones),
}
"""Exact for elements of every dtype."""
OF_INTEGERS = {name: meant.acc for name, meant in MEANT.items()}
"""Exact for integers of one dtype."""
ACCUMULATORS = OF_INTEGERS | OF_ALL
OPERANDS = {name: meant.operands for name, meant in MEANT.items()}
RESULTS = {"matrices": 4, "compose": 2, "spread": 2, "ends": 4}


def fold(*operands, acc, axes=None, running=False):
    """The fold of traced arrays, or of arrays, element by element."""
    acc = ACCUMULATORS[acc]
    if any(isinstance(operand, NodeValue) for operand in operands):
        return aj.fold(acc, *operands, axes=axes, running=running)
    arrays = np.broadcast_arrays(*operands)
    axes = range(arrays[0].ndim) if axes is None else np.atleast_1d(axes)
    moved = [np.moveaxis(array, list(axes), range(len(axes))) for array in arrays]
    kept = moved[0].shape[len(axes) :]
    rows = [array.reshape(int(np.prod(array.shape[: len(axes)])), *kept) for array in moved]
    results = elementwise_results(acc, rows, running)
    if running:
        results = [np.moveaxis(result, 0, int(axes[0])) for result in results]
    made = tuple(result[()] for result in results)
    return made if len(made) > 1 else made[0]


def grouped(state):
    """A state, or what lift and final give, as a tuple."""
    return state if isinstance(state, tuple) else (state,)


def elementwise_results(acc, rows, running):
    """The results of one chain along the first dimension of arrays of equal shape."""
    alone = not isinstance(acc.init, tuple) and (acc.init is not None or acc.lift is None)
    alone = alone and len(rows) == 1

    def lifted(elements):
        state = acc.lift(*elements) if acc.lift else tuple(elements)
        return tuple(np.broadcast_to(part, kept) for part in grouped(state))

    def combined(a, b):
        made = grouped(acc.combine(a[0], b[0]) if alone else acc.combine(a, b))
        return tuple(np.asarray(part).astype(d) for part, d in zip(made, dtypes, strict=True))

    kept = rows[0].shape[1:]
    init = None if acc.init is None else grouped(acc.init)
    dtypes = [part.dtype for part in lifted([np.zeros(kept, row.dtype) for row in rows])]
    dtypes = [np.result_type(d, value) for d, value in zip(dtypes, init or dtypes, strict=True)]
    for _ in range(3):  # as the states widen
        probe = tuple(np.zeros(kept, d) for d in dtypes)
        made = grouped(acc.combine(probe[0], probe[0]) if alone else acc.combine(probe, probe))
        dtypes = [np.result_type(d, part) for d, part in zip(dtypes, made, strict=True)]
    state = init and tuple(np.full(kept, v, d) for v, d in zip(init, dtypes, strict=True))
    states = []
    for elements in zip(*rows, strict=True):
        part = tuple(p.astype(d) for p, d in zip(lifted(elements), dtypes, strict=True))
        state = part if state is None else combined(state, part)
        states.append(state)
    if state is None:
        raise ValueError("nothing to fold and no initial value")
    wanted = states if running else [state]
    if acc.final:
        wanted = [grouped(acc.final(s[0] if alone else s)) for s in wanted]
    columns = [np.stack([np.broadcast_to(p, kept) for p in c]) for c in zip(*wanted, strict=True)]
    return columns if running else [column[0] for column in columns]


def is_exact(name, operands):
    """Whether a fold of arrays has one result wherever its blocks end."""
    if name in OF_ALL:
        return True
    dtypes = {np.asarray(operand).dtype for operand in operands}
    return len(dtypes) == 1 and dtypes.pop().kind in "iu"
