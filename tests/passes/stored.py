"""Programs that write into storage, as cases of the passes."""

from collections.abc import Callable

import numpy as np

from axiomjit.axis.axes import make_axis
from axiomjit.axis.reductions import sum as total
from axiomjit.axis.state import assign, sequential, variable
from axiomjit.axis.tensors import Tensor, placeholder
from axiomjit.views.descriptions import Layout, row_major_strides
from tests.passes.examples import numbers
from tests.passes.graphs import Case, stored

PADDED = Layout(row_major_strides((6, 16)), 0, (6, 16))


def _storages(count: int = 2, layout: Layout | None = None) -> list[Tensor]:
    """Variables of one shape, each with other values."""
    axes = [make_axis(5, "H"), make_axis(9, "W")]
    return [variable(axes, None, numbers(5, 9) + 3 * k, layout) for k in range(count)]


def in_place() -> Case:
    """x = x * 2 + y, where it lies."""
    x, y = _storages(layout=PADDED)
    return stored([assign(x, x * 2 + y)])


def exchanged() -> Case:
    """x and y change places."""
    x, y = _storages()
    steps = [assign(x, y), assign(y, x)]
    before = x * 1.0
    return stored([before, sequential(steps), x - y])


def swapped() -> Case:
    """x = y and y = what x was, at once: neither order of the writes reads right."""
    x, y = _storages()
    old = x * 1.0
    x[...], y[...] = y, old
    return stored([x, y])


def swapped_rows() -> Case:
    """Two rows of one storage change places: one of them is kept, not the storage."""
    x, y = _storages()
    old = x[0] * 1.0
    x[0], x[2] = x[2], old
    return stored([x, y])


def reversed_rows() -> Case:
    """A storage is read at other places than it is written to."""
    (x,) = _storages(1)
    return stored([assign(x, x[::-1] + 1.0), x])


def parts() -> Case:
    """Parts are written one after the other, and read in between."""
    x, y = _storages(layout=PADDED)
    h, _ = x.axes
    steps = [assign(x[1:], y[:-1]), assign(y[:, ::2], total(x, [h])[::2]), assign(x[0], 7.0), x + y]
    return stored([sequential(steps), x])


def kept_apart() -> Case:
    """A loop that could join an earlier one must not pass what reads the storage in between."""
    a, b, x = _storages(3)
    columns = total(x, x.axes[:1])
    return stored([assign(a, b * 2), columns, assign(x, b + 1)])


def beside_a_fold() -> Case:
    """What is written over stands in one loop with a fold, and is still written once."""
    (x,) = _storages(1)
    row = variable(x.axes[1:], None, numbers(9))
    return stored([assign(row, row * 2), total(x, x.axes[:1])])


def given() -> Case:
    """A placeholder is written; its values before are an output, too."""
    h = make_axis(9, "H")
    p, q = placeholder([h]), placeholder([h])
    return stored([p, assign(p, p + q), q * p], [p, q], [numbers(9), numbers(9) + 1.0])


MAKERS: dict[str, Callable[[], Case]] = {
    f.__name__: f
    for f in (
        *(in_place, exchanged, swapped, swapped_rows, reversed_rows),
        *(parts, kept_apart, beside_a_fold, given),
    )
}


def assert_same(got, want, what):
    """Equal in number, dtype, shape and bits; zeros may differ in sign."""
    assert len(got) == len(want), what
    for k, (one, other) in enumerate(zip(got, want, strict=True)):
        assert (one.dtype, one.shape) == (other.dtype, other.shape), f"{what}: output {k}"
        assert np.array_equal(one, other), f"{what}: output {k}\n{one}\n{other}"
