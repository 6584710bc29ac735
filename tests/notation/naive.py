"""What a spec of label notation means, by loops over all labels: slow and independent."""

import itertools
import math

import numpy as np

from axiomjit.notation import Affine, Concat, Fixed, Label, parse_einsum

COMBINE = {
    "mul": lambda a, b: a * b,
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "div": lambda a, b: a / b,
}
REDUCE = {
    "sum": sum,
    "max": max,
    "min": min,
    "prod": math.prod,
    "mean": lambda v: sum(v) / len(v),
    "logsumexp": lambda v: math.log(sum(math.exp(x) for x in v)),
}
NEUTRAL = {"sum": 0, "max": -np.inf, "min": np.inf, "prod": 1, "mean": 0, "logsumexp": -np.inf}


def place(axis, at, sizes):
    """The index of an axis where labels have these values."""
    match axis:
        case Label(name=name):
            return at[name]
        case Fixed(index=index):
            return index
        case Affine(kernel=None):
            return axis.stride * at[axis.over] + axis.offset
        case Affine():
            before = axis.dilation * (sizes[axis.kernel] - 1) // 2 if axis.padded else 0
            window = axis.dilation * at[axis.kernel] - before
            return axis.stride * at[axis.over] + axis.offset + window
    raise NotImplementedError(axis)


def naive(spec, arrays, sizes, shape, combine="mul", reduce="sum", use_padding=False):
    """The result of this shape; no placeholders and row variables."""
    parsed = parse_einsum(spec, use_padding)
    assert not parsed.row_variables
    assert not any(isinstance(axis, Concat) for slot in parsed.slots for axis in slot)
    slots = [slot.in_memory_order(None) for slot in parsed.slots]
    found = {}
    for values in itertools.product(*(range(sizes[name]) for name in parsed.labels)):
        at = dict(zip(parsed.labels, values, strict=True))
        *read, written = [[place(axis, at, sizes) for axis in slot] for slot in slots]
        inside = all(
            0 <= k < n
            for index, array in zip(read, arrays, strict=True)
            for k, n in zip(index, array.shape, strict=True)
        )
        if not inside or not all(0 <= k < n for k, n in zip(written, shape, strict=True)):
            continue
        elements = [array[tuple(index)].item() for index, array in zip(read, arrays, strict=True)]
        if combine == "where":
            value = elements[1] if elements[0] else elements[2]
        else:
            value = elements[0]
            for other in elements[1:]:
                value = COMBINE[combine](value, other)
        found.setdefault(tuple(written), []).append(value)
    result = np.full(shape, NEUTRAL[reduce], float)
    for index, elements in found.items():
        result[index] = REDUCE[reduce](elements)
    return result
