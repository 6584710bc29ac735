"""The memory layouts in which arguments are given; each takes an array and lays it out anew.

Those that repeat elements in memory (`repeated`, `windows`) keep the shape, not the elements.
"""

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view


def dense(array):
    """C order."""
    return np.ascontiguousarray(array) if array.ndim else array


def fortran(array):
    """Fortran order."""
    return np.array(array, order="F")


def rolled(array):
    """The first dimension innermost, the others in C order."""
    if not array.ndim:
        return array
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 0, -1)), -1, 0)


def spread(array):
    """Every second element of a larger array."""
    wide = np.zeros([2 * n for n in array.shape], array.dtype)
    every = (slice(None, None, 2),) * array.ndim
    wide[every] = array
    return wide[every] if array.ndim else array


def framed(array):
    """The middle of a larger array."""
    wide = np.ones([n + 3 for n in array.shape], array.dtype)
    inner = tuple(slice(1, n + 1) for n in array.shape)
    wide[inner] = array
    return wide[inner] if array.ndim else array


def backward(array):
    """Negative strides."""
    back = (slice(None, None, -1),) * array.ndim
    return np.ascontiguousarray(array[back])[back] if array.ndim else array


def zigzag(array):
    """Every third element, every other dimension backward."""
    ways = [slice(None, None, -3 if d % 2 else 3) for d in range(array.ndim)]
    wide = np.zeros([max(3 * n - 2, 0) for n in array.shape], array.dtype)
    wide[tuple(ways)] = array
    return wide[tuple(ways)] if array.ndim else array


def repeated(array):
    """Stride 0 along the first dimension."""
    return np.broadcast_to(array[:1], array.shape) if array.size and array.ndim else array


def scalar(array):
    """Stride 0 along every dimension."""
    return np.broadcast_to(array[(0,) * array.ndim], array.shape) if array.size else array


def windows(array):
    """Windows that overlap, along the last two dimensions."""
    if array.ndim < 2 or not array.size:
        return array
    base = np.concatenate([array[..., 0], array[..., -1, 1:]], axis=-1)
    return sliding_window_view(base, array.shape[-1], axis=-1)


def swapped(array):
    """The other byte order."""
    return array.astype(array.dtype.newbyteorder())


def swapped_backward(array):
    """The other byte order, negative strides."""
    return backward(swapped(array))


def misaligned(array):
    """Elements at odd addresses."""
    room = np.zeros(array.nbytes + 1, "u1")[1:]
    placed = np.ndarray(array.shape, array.dtype, room)
    placed[...] = array
    return placed


def ragged(array):
    """A field of records: strides that are no whole elements."""
    records = np.zeros(array.shape, [("tag", "u1"), ("value", array.dtype)])
    records["value"] = array
    return records["value"]


def read_only(array):
    """What nobody may write into."""
    array = array.copy()
    array.flags.writeable = False
    return array


LAYOUTS = {
    function.__name__: function
    for function in (
        *(dense, fortran, rolled, spread, framed, backward, zigzag, repeated, scalar, windows),
        *(swapped, swapped_backward, misaligned, ragged, read_only),
    )
}
