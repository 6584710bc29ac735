"""Random writes at index expressions: plain ones, in-place operators, values of the array."""

from typing import NamedTuple

import numpy as np

from tests.generator.draws import Draws
from tests.generator.indices import Read, agreement_failure, draw_read

KINDS = ("item", "item", "item", "augmented", "itself", "view", "at", "at", "at", "put")
UFUNCS = (np.add, np.add, np.subtract, np.multiply, np.maximum, np.minimum)
BITWISE = (np.bitwise_and, np.bitwise_or, np.bitwise_xor)
DTYPES = ("i8", "i8", "i4", "u1", "u8", "b1", "f8", "f4", "f2")


class Write(NamedTuple):
    """An index expression, what is written there, and in which form."""

    read: Read
    value: object
    kind: str

    @property
    def arguments(self):
        """The array, the value, then the items that are arguments."""
        return (self.read.array, self.value, *self.read.arguments[1:])

    def function(self):
        """The write into a new array, which is returned."""

        def written(array, value, *given):
            new = array * 2
            seen = new[::-1] if self.kind == "view" else new
            write(seen, self.read.key(given), value, self.kind)
            return new

        return written

    def __str__(self):
        shape, value = self.read.array.shape, np.array(self.value)
        return f"{self.kind} {shape} {self.read.array.dtype} {self.read.items} {value!r}"


def write(array, key, value, kind):
    """Write as a kind says."""
    if kind == "augmented":
        array[key] += value
    elif kind == "itself":
        array[key] = array[key][..., ::-1] * 3
    elif kind == "put":
        keys = key if isinstance(key, tuple) else (key,)
        positions = next((k for k in keys if isinstance(k, np.ndarray) and k.dtype != bool), 0)
        np.put(array, positions, value, mode="wrap" if len(keys) > 1 else "raise")
    elif isinstance(kind, np.ufunc):
        kind.at(array, key, value)
    else:
        array[key] = value


def draw_write(seed, number):
    """A random write; about one in eight is an error in NumPy."""
    d = Draws(seed, number)
    read = draw_read(seed, number)
    kind = d.pick(KINDS)
    try:
        shape = np.shape(read.array[read.key(read.arguments[1:])])
    except IndexError:
        shape = ()
    shape = shape[d.below(len(shape) + 1) :]
    shape = tuple(1 if d.chance(0.2) else n for n in shape)
    if d.chance(0.05):
        shape = (*shape, 4)
    count = int(np.prod(shape))
    value = np.array([d.between(-9, 9) for _ in range(count)], d.pick(("f8", "i8", "f4")))
    value = value.reshape(shape)
    if read.array.dtype.kind == "c" and d.chance(0.3):
        value = value * 1j
    if read.array.dtype.kind == "i" and kind == "augmented":
        value = value.astype("i4" if read.array.dtype == "i4" else "i8")
    if kind == "at":
        kind = d.pick(UFUNCS if read.array.dtype.kind != "c" else UFUNCS[:4])
    return Write(read, value if shape else value.item(), kind)


class Counted(NamedTuple):
    """Many positions that meet in small memory: how they are computed, combined and read."""

    target: np.ndarray
    positions: tuple
    value: np.ndarray
    ufunc: np.ufunc
    computed: int
    rows: bool

    @property
    def arguments(self):
        """The target, the value, then the positions."""
        return (self.target, self.value, *self.positions)

    def function(self):
        """The sums, or the like, that the positions get."""

        def counted(target, value, *positions):
            new = target[::-1] if self.computed == 1 else target
            new = new.copy()
            if self.computed > 1:
                positions = [
                    p * self.computed % n for p, n in zip(positions, new.shape, strict=False)
                ]
            key = positions[0] if len(positions) == 1 else tuple(positions)
            self.ufunc.at(new[1:] if self.rows else new, key, value[::-1])
            return new, np.bincount(np.abs(positions[0].reshape(-1)))

        return counted

    def __str__(self):
        made = f"{self.ufunc.__name__} {self.target.shape} {self.target.dtype}, {self.value.shape}"
        return f"{made} {self.value.dtype} at {self.positions!r} {self.computed} {self.rows}"


def draw_count(seed, number):
    """Random values that are combined at random positions, more of them than the target has."""
    d = Draws(seed, number)
    dtype = np.dtype(d.pick(DTYPES))
    shape = tuple(d.between(2, 6) for _ in range(d.between(1, 2)))
    count = d.pick((1, 3, 5, 24, 30, 48, 72))
    along = (count // 6, 6) if count % 6 == 0 and d.chance(0.3) else (count,)
    named = shape[: d.between(1, len(shape))]
    rows = d.chance(0.2)

    def whole(low, high, shape):
        return np.array([d.between(low, high) for _ in range(int(np.prod(shape)))]).reshape(shape)

    ends = [n - 1 if rows and not k else n for k, n in enumerate(named)]
    positions = tuple(whole(-n, n - 1, along).astype(d.pick(("i8", "i4"))) for n in ends)
    ufuncs = (*UFUNCS, *BITWISE) if dtype.kind in "iu" else UFUNCS
    if dtype.kind == "b":
        ufuncs = (np.add, np.multiply, *BITWISE, np.maximum)
    target, value = (whole(0, 3, s).astype(dtype) for s in (shape, (*along, *shape[len(named) :])))
    return Counted(target, positions, value, d.pick(ufuncs), d.pick((0, 0, 1, 2, 3)), rows)


def write_failure(drawn, ways):
    """How a write differs from NumPy in values, dtype, shape or error; None where it does not."""
    return agreement_failure(drawn.function(), drawn.arguments, ways)
