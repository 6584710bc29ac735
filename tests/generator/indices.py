"""Random index expressions: arrays read by every kind of index that NumPy has, also wrong ones."""

import re
from typing import NamedTuple

import numpy as np

from axiomjit.symbolic.data_dependent import OtherLengthError
from tests.generator.check import difference
from tests.generator.draws import Draws
from tests.passes.graphs import follow, in_numpy, quiet

CODES = ("i1", "i2", "i4", "i8", "u1", "u4", "i8", "i8")
SHAPES = ((), (1,), (2,), (3,), (0,), (2, 1), (1, 3), (2, 3), (3, 1, 2))
METS = ((), (3,), (2, 3), (1,), (2,), (0,))
KINDS = ("array", "array", "array", "list", "slice", "slice", "integer", "none", "number", "mask")


class Read(NamedTuple):
    """An array and the items of an index; those at the places `given` are arguments."""

    array: np.ndarray
    items: tuple
    given: tuple

    def __str__(self):
        return f"{self.array.shape} {self.array.dtype} {self.items}, arguments {self.given}"

    @property
    def arguments(self):
        """The array, then the items that are arguments."""
        return (self.array, *(self.items[k] for k in self.given))

    def __call__(self, array, *given):
        """The elements that the index takes."""
        return array[self.key(given)]

    def key(self, given):
        """The index, with what is given for the items that are arguments."""
        items = list(self.items)
        for k, item in zip(self.given, given, strict=True):
            items[k] = item
        return tuple(items) if len(items) != 1 else items[0]

    def function(self):
        """The read as a plain function, and in half of the cases with arithmetic around it."""
        if len(self.items) % 2:
            return lambda array, *given: self(array, *given)
        return lambda array, *given: self(array * 2, *given) + 1


def draw_read(seed, number):
    """A random read; about one in eight is an error in NumPy."""
    d = Draws(seed, number)
    rank = d.between(1, 4)
    shape = tuple(
        d.pick((1, 2, 3, 5, 6, 0) if d.chance(0.2) else (2, 3, 5, 6)) for _ in range(rank)
    )
    array = np.arange(int(np.prod(shape)), dtype=d.pick(("f8", "i4", "f4", "i8", "c16")))
    array = array.reshape(shape)
    if d.chance(0.3):
        array = array.transpose(d.order(range(rank)))
    met, wrong = d.pick(METS), d.chance(0.12)
    items, axis = [], 0
    while axis < rank and not (items and d.chance(0.15)):
        item, used = _item(d, array.shape[axis:], met, wrong)
        items.append(item)
        axis += used
    if d.chance(0.3):
        items.insert(d.between(0, len(items)), Ellipsis)
    if wrong and d.chance(0.1):
        items += [0] * (rank + 1 - axis)
    arrays = [k for k, item in enumerate(items) if isinstance(item, np.ndarray)]
    return Read(array, tuple(items), tuple(k for k in arrays if d.chance(0.6)))


def _item(d, lengths, met, wrong):
    """An index for the next dimensions, and how many it takes."""
    kind, n = d.pick(KINDS), lengths[0]
    if kind == "none":
        return None, 0
    if kind == "slice":
        ends = [None if d.chance(0.4) else d.between(-n - 2, n + 2) for _ in range(2)]
        return slice(*ends, d.pick((None, 1, 2, -1, -2, 3))), 1
    if kind in ("integer", "number") and (n or wrong):
        at = d.between(-n, n - 1) if n else 0
        at = at + 2 * n if wrong and d.chance(0.5) else at
        return (at if kind == "integer" else np.array(at, d.pick(("i8", "i4")))), 1
    if kind == "mask":
        rank = d.between(1, len(lengths))
        mask = np.array([d.chance(0.5) for _ in range(int(np.prod(lengths[:rank])))], bool)
        mask = mask.reshape(lengths[:rank])
        return (mask[1:] if wrong and d.chance(0.3) and len(mask) else mask), rank
    shape = tuple(1 if d.chance(0.2) else k for k in met[d.below(len(met) + 1) if met else 0 :])
    shape = d.pick(SHAPES) if wrong and d.chance(0.4) else shape
    if not n and not wrong:
        shape = (*shape[:-1], 0)
    low, high = -n, n - 1
    if wrong and d.chance(0.5):
        low, high = low - 1, high + 1
    count = int(np.prod(shape))
    values = np.array([d.between(low, max(low, high)) for _ in range(count)], np.int64)
    code = d.pick(CODES)
    values = (np.abs(values) if code[0] == "u" else values).reshape(shape).astype(code)
    return (values.tolist() if kind == "list" and values.ndim else values), 1


def read_failure(read, ways):
    """How a read differs from NumPy in values, dtype, shape or error; None where it does not."""
    return agreement_failure(read.function(), read.arguments, ways)


def agreement_failure(function, arguments, ways):
    """How what a function returns or raises differs from NumPy; None where it does not."""
    try:
        with quiet():
            want, refused = in_numpy(function, arguments), None
    except Exception as error:
        want, refused = None, error
    try:
        case = follow(function, *arguments)
        with quiet():
            for run in ways:
                for way, got in run(case):
                    if refused is not None:
                        return f"{way}: NumPy raises {refused!r}"
                    found = difference(got, want, arguments, way)
                    if found and found[0] not in ("strides", "shared"):
                        return f"{way}: {found[1]}"
    except OtherLengthError:
        return None  # NumPy runs such a call
    except Exception as error:
        if refused is not None and re.search("a value of shape|meet at", str(error)):
            return None if isinstance(refused, ValueError | TypeError | IndexError) else str(error)
        if refused is None or not isinstance(error, type(refused)):
            return f"{type(error).__name__}: {error}, NumPy: {refused!r}"
        if str(refused).strip() not in str(error) and not _is_other_fault(refused, error):
            return f"{error} where NumPy says {refused}"
        return None
    return None


def _is_other_fault(refused, error):
    """Whether there are several faults, of which another is found first."""
    known = ("out of bounds", "shape mismatch", "boolean index did not match", "a value of shape")
    known += ("could not be broadcast", "non-broadcastable output", "meet at dimension")
    known += ("invalid index to scalar", "too many indices")
    return all(any(text in str(e) for text in known) for e in (refused, error))
