"""Tensors and views described by shape, dtype and layout; the view program is made of them.

Seed 002, "Basic Tensor Descriptions". Lengths are integers or, in programs, symbolic. What is
derived (the shape, dtype and layout of a view) is computed when the description is made; a layout
that cannot be known is None.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from axiomjit.base.dtypes import DType
from axiomjit.base.errors import GraphValueError, PositionError
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.symbolic.dims import Dim
from axiomjit.views.dense_layout import Layout, LengthLike

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

Nested = LengthLike | tuple[LengthLike, ...]


def known(length: LengthLike) -> int | None:
    """The length as an integer, None where it may differ."""
    return length.constant if isinstance(length, Dim) else length


def differ(one: LengthLike, other: LengthLike) -> bool:
    """Whether two lengths are never equal."""
    apart = known(one - other)
    return apart is not None and apart != 0


def refusal(asked: object, seen: object, remedy: str) -> GraphValueError:
    """The error of a description that does not fit."""
    return GraphValueError(str(asked), str(seen), remedy, user_location())


class BasicTensorDescription(Record):
    """A tensor by its shape and element type.

    `read_only` is true for an r-tensor, false for an l-tensor; `layout` is None until it is known
    (ngraph tensors, "BasicTensorDescription").
    """

    shape: tuple[Nested, ...]
    dtype: DType
    read_only: bool
    layout: Layout | None

    def __init__(
        self,
        shape: Iterable[Nested],
        dtype: DTypeLike,
        read_only: bool = True,
        layout: Layout | None = None,
        **own: object,
    ) -> None:
        """Describe a tensor; `own` are the attributes that a kind of description adds.

        Raises:
            GraphValueError: a length is negative, or the layout has other dimensions or sizes
                below the lengths.
        """
        super().__init__(tuple(shape), np.dtype(dtype), read_only, layout, **own)
        asked = f"a tensor of shape {self.shape}"
        if any((known(length) or 0) < 0 for length in self.lengths):
            raise refusal(asked, "a negative length", "give 0 or more")
        if layout is None:
            return
        if len(layout.strides) != self.rank:
            raise refusal(asked, f"strides {layout.strides}", "give one stride per dimension")
        for length, size in zip(self.lengths, layout.sizes or (), strict=bool(layout.sizes)):
            short = known(size - length)
            if short is not None and short < 0:
                raise refusal(asked, f"sizes {layout.sizes}", "give sizes of at least the lengths")

    @property
    def lengths(self) -> tuple[LengthLike, ...]:
        """The length of each dimension; the shape itself, unless dimensions are flattened."""
        return tuple(_product(n) if isinstance(n, tuple) else n for n in self.shape)

    @property
    def rank(self) -> int:
        """The number of dimensions."""
        return len(self.shape)


def _product(lengths: Iterable[LengthLike]) -> LengthLike:
    total: LengthLike = 1
    for length in lengths:
        total = length * total
    return total


class SimpleTensorViewDescription(BasicTensorDescription):
    """A view y[i] == x[f(i)] of one tensor, the `base_tensor`.

    Its dtype is that of the base unless it sees parts of the elements; what it can be written
    through decides `read_only` (ngraph tensors, "SimpleTensorViewDescription").
    """

    base_tensor: BasicTensorDescription

    def __init__(
        self,
        base_tensor: BasicTensorDescription,
        shape: Iterable[Nested],
        layout: Layout | None = None,
        read_only: bool | None = None,
        dtype: DTypeLike | None = None,
        **own: object,
    ) -> None:
        """Describe a view by its base, shape and layout."""
        super().__init__(
            shape,
            base_tensor.dtype if dtype is None else dtype,
            base_tensor.read_only if read_only is None else read_only,
            layout,
            base_tensor=base_tensor,
            **own,
        )


class BroadcastTensorDescription(SimpleTensorViewDescription):
    """Dimensions are added to the viewed tensor, each of length 1 and without a step in memory.

    `broadcast_shape` without these ones is the shape of the base; a length of 1 of the base is
    paired with the first one that can be it. Many places of the view may share an element once
    it is stretched, so that it cannot be written through.
    """

    broadcast_shape: tuple[LengthLike, ...]

    def __init__(
        self, base_tensor: BasicTensorDescription, broadcast_shape: Iterable[LengthLike]
    ) -> None:
        """Describe the view.

        Raises:
            GraphValueError: the shape without some of its ones is not that of the base.
        """
        broadcast_shape = tuple(broadcast_shape)
        rest = list(enumerate(base_tensor.lengths))
        from_base: list[int | None] = []
        for length in broadcast_shape:
            if rest and not differ(rest[0][1], length):
                from_base.append(rest.pop(0)[0])
            elif known(length) == 1:
                from_base.append(None)
            else:
                break
        if rest or len(from_base) < len(broadcast_shape):
            raise refusal(
                f"a broadcast to shape {broadcast_shape}",
                f"a tensor of shape {base_tensor.shape}",
                "give its lengths in order, with a 1 for each new dimension",
            )
        layout = None
        if (base := base_tensor.layout) is not None:
            sizes = base.sizes
            layout = Layout(
                [0 if d is None else base.strides[d] for d in from_base],
                base.offset,
                None if sizes is None else [1 if d is None else sizes[d] for d in from_base],
            )
        super().__init__(
            base_tensor, broadcast_shape, layout, True, broadcast_shape=broadcast_shape
        )


class FlattenTensorDescription(SimpleTensorViewDescription):
    """Neighbouring dimensions are merged: a tuple in `shape` holds the lengths of merged ones.

    The layout is known where merged dimensions walk memory as one.
    """

    def __init__(self, base_tensor: BasicTensorDescription, shape: Iterable[Nested]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: the lengths, tuples taken apart, are not those of the base.
        """
        shape = tuple(shape)
        groups = [n if isinstance(n, tuple) else (n,) for n in shape]
        lengths = tuple(n for group in groups for n in group)
        base = base_tensor.lengths
        if len(lengths) != len(base) or any(map(differ, lengths, base)):
            raise refusal(
                f"a flattened tensor of shape {shape}",
                f"a tensor of shape {base_tensor.shape}",
                "give its lengths in order, those of merged dimensions in a tuple",
            )
        layout = None
        if base_tensor.layout is not None:
            layout = _merged(groups, base_tensor.layout)
        super().__init__(base_tensor, shape, layout)


def _merged(groups: Sequence[tuple[LengthLike, ...]], layout: Layout) -> Layout | None:
    """The layout with the dimensions of each group as one, None where they do not walk as one."""
    strides: list[LengthLike] = []
    steps = iter(layout.strides)
    for group in groups:
        walked = [(n, s) for n, s in zip(group, steps, strict=False) if known(n) != 1]
        for (_, outer), (length, inner) in pairwise(walked):
            if known(outer - inner * length) != 0:
                return None
        strides.append(walked[-1][1] if walked else 0)
    return Layout(strides, layout.offset)


class PermuteTensorDescription(SimpleTensorViewDescription):
    """The dimensions in another order: dimension k is dimension `permutation[k]` of the base."""

    permutation: tuple[int, ...]

    def __init__(self, base_tensor: BasicTensorDescription, permutation: Iterable[int]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: not each dimension is listed once.
        """
        permutation = tuple(permutation)
        if sorted(permutation) != list(range(base_tensor.rank)):
            raise refusal(
                f"the permutation {permutation}",
                f"a tensor of shape {base_tensor.shape}",
                f"list each of the dimensions 0 to {base_tensor.rank - 1} once",
            )
        layout = base_tensor.layout
        super().__init__(
            base_tensor,
            [base_tensor.shape[d] for d in permutation],
            None if layout is None else layout.permuted(permutation),
            permutation=permutation,
        )


class SliceTensorDescription(SimpleTensorViewDescription):
    """Part of a tensor: `slices` has a slice or an integer, which drops it, per dimension."""

    slices: tuple[slice | int, ...]

    def __init__(self, base_tensor: BasicTensorDescription, slices: Iterable[slice | int]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: not one item per dimension, or part of an unknown length.
            PositionError: an integer is outside its dimension.
        """
        slices = tuple(slices)
        asked = f"the slices {slices}"
        if len(slices) != base_tensor.rank:
            seen = f"a tensor of shape {base_tensor.shape}"
            raise refusal(asked, seen, "give one slice or integer per dimension")
        parts = [_part(s, n, asked) for s, n in zip(slices, base_tensor.lengths, strict=True)]
        layout = None
        if (base := base_tensor.layout) is not None:
            offset = base.offset
            strides: list[LengthLike] = []
            for (start, step, length), stride in zip(parts, base.strides, strict=True):
                offset = offset + stride * start
                strides += [] if length is None else [stride * step]
            layout = Layout(strides, offset)
        shape = [length for _, _, length in parts if length is not None]
        super().__init__(base_tensor, shape, layout, slices=slices)


def _part(item: slice | int, length: LengthLike, asked: str) -> tuple[int, int, LengthLike | None]:
    """Start, step and length of a slice; an integer has no length."""
    if item == slice(None):
        return 0, 1, length
    size = known(length)
    if size is None:
        raise refusal(asked, f"the length {length}, not known yet", "slice known lengths")
    if isinstance(item, slice):
        taken = range(*item.indices(size))
        return taken.start, taken.step, len(taken)
    place = operator.index(item)
    if not -size <= place < size:
        raise PositionError(
            asked,
            f"a length of {size}",
            f"give integers from {-size} to {size - 1}",
            user_location(),
        )
    return place % size, 0, None


class PadTensorDescription(SimpleTensorViewDescription):
    """Zeros before and after the elements of each dimension: `pre_padding` and `post_padding`.

    `complex_view` says which places are zeros and which are the base's; such a view has no
    layout of its own and cannot be written through.
    """

    pre_padding: tuple[LengthLike, ...]
    post_padding: tuple[LengthLike, ...]

    def __init__(
        self,
        base_tensor: BasicTensorDescription,
        pre_padding: Iterable[LengthLike],
        post_padding: Iterable[LengthLike],
    ) -> None:
        """Describe the view.

        Raises:
            GraphValueError: not one padding per dimension, or a negative one.
        """
        before, after = tuple(pre_padding), tuple(post_padding)
        negative = any((known(n) or 0) < 0 for n in (*before, *after))
        if not len(before) == len(after) == base_tensor.rank or negative:
            raise refusal(
                f"paddings {before} before and {after} after",
                f"a tensor of shape {base_tensor.shape}",
                "give 0 or more per dimension, before and after",
            )
        shape = [a + n + b for a, n, b in zip(before, base_tensor.lengths, after, strict=True)]
        super().__init__(base_tensor, shape, None, True, pre_padding=before, post_padding=after)
