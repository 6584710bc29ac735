"""Descriptions of tensors and views by shape, dtype and layout; view programs consist of these.

The terms are ngraph's (ngraph tensors, "Basic Tensor Descriptions"). Lengths are integers or, in
programs, symbolic. The shape, dtype and layout of a view are derived when its description is made;
an unknown layout is None. Each index of a complex view selects a tensor and an element of this
tensor.

In a dense layout, the linear index is the offset plus the sum of strides times indices, in
elements. Sizes are the allocated lengths, which are at least the lengths of the shape; elements
beyond the shape are alignment padding and never accessed.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from axiomjit.base.dtypes import DType
from axiomjit.base.errors import GraphValueError, PositionError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.symbolic.dims import Dim, dim, product
from axiomjit.symbolic.index_maps import Affine, IndexMap, apply_map, fixed, identity, shift

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

LengthLike = int | Dim
AnyLength = TypeVar("AnyLength", int, Dim)


class Layout(Record):
    """The layout of a tensor: strides, an offset and, if there is padding, sizes, all in elements.

    Strides may be zero or negative. The layout of a transpose has its strides and sizes in the
    order of the transposed shape (ngraph tensors, "Dense L-Tensor Implementation").
    """

    strides: tuple[LengthLike, ...]
    offset: LengthLike = 0
    sizes: tuple[LengthLike, ...] | None = None

    def __init__(
        self,
        strides: Iterable[LengthLike],
        offset: LengthLike = 0,
        sizes: Iterable[LengthLike] | None = None,
    ) -> None:
        """Store strides, offset and sizes.

        Raises:
            GraphValueError: the numbers of sizes and strides differ.
        """
        given = None if sizes is None else tuple(sizes)
        super().__init__(tuple(strides), offset, given)
        if self.sizes is not None and len(self.sizes) != len(self.strides):
            raise GraphValueError(
                f"a layout with strides {self.strides}",
                f"sizes {self.sizes}",
                "give one size per stride, or none",
                user_location(),
            )

    def linear_index(self, index: Sequence[LengthLike]) -> LengthLike:
        """The linear index of the element at an index.

        Raises:
            GraphValueError: the numbers of indices and strides differ.
            PositionError: an index is outside the sizes, if there are sizes; the error is an
                IndexError, too.
        """
        if len(index) != len(self.strides):
            raise GraphValueError(
                f"the linear index of {tuple(index)}",
                amount(len(self.strides), "stride"),
                "give one number per dimension",
                user_location(),
            )
        for place, size in zip(index, self.sizes or (), strict=bool(self.sizes)):
            if not 0 <= place < size:
                raise PositionError(
                    f"the linear index of {tuple(index)}",
                    f"sizes {self.sizes}",
                    "give numbers from 0 to below the sizes",
                    user_location(),
                )
        total = self.offset
        for place, stride in zip(index, self.strides, strict=True):
            total = total + place * stride
        return total

    def permuted(self, permutation: Sequence[int]) -> Layout:
        """The layout whose dimension k is dimension `permutation[k]` of this layout."""
        sizes = None if self.sizes is None else [self.sizes[d] for d in permutation]
        return Layout([self.strides[d] for d in permutation], self.offset, sizes)


def row_major_strides(sizes: Sequence[AnyLength]) -> tuple[AnyLength, ...]:
    """Dense strides, the last dimension fastest: lengths (5, 3, 2) have strides (6, 2, 1)."""
    return ordered_strides(sizes, range(len(sizes)))


def column_major_strides(sizes: Sequence[AnyLength]) -> tuple[AnyLength, ...]:
    """Dense strides, the first dimension fastest: lengths (5, 3, 2) have strides (1, 5, 15)."""
    return ordered_strides(sizes, range(len(sizes))[::-1])


def ordered_strides(sizes: Sequence[AnyLength], order: Sequence[int]) -> tuple[AnyLength, ...]:
    """Dense strides for dimensions that have this order in memory, outermost first."""
    strides = [size * 0 + 1 for size in sizes]
    for outer, inner in reversed(list(pairwise(order))):
        strides[outer] = strides[inner] * sizes[inner]
    return tuple(strides)


Nested = LengthLike | tuple[LengthLike, ...]


def known(length: LengthLike) -> int | None:
    """The length as an integer; None if it is symbolic."""
    return length.constant if isinstance(length, Dim) else length


def differ(one: LengthLike, other: LengthLike) -> bool:
    """True if two lengths differ in every call."""
    apart = known(one - other)
    return apart is not None and apart != 0


def refusal(asked: object, seen: object, remedy: str) -> GraphValueError:
    """The error for a description that does not fit."""
    return GraphValueError(str(asked), str(seen), remedy, user_location())


class BasicTensorDescription(Record):
    """A tensor's shape and element type.

    `read_only` is True for an r-tensor, False for an l-tensor; `layout` is None until it is known
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
        """Describe a tensor; `own` holds the fields that a subclass adds.

        Raises:
            GraphValueError: a length is negative, the layout has another rank than the shape, or a
                size of the layout is less than the length.
        """
        super().__init__(tuple(shape), np.dtype(dtype), read_only, layout, **own)
        lengths = self.lengths
        if [length for length in lengths if (known(length) or 0) < 0]:
            raise self._refusal("a negative length", "give 0 or more")
        if layout is None:
            return
        if len(layout.strides) != len(lengths):
            raise self._refusal(f"strides {layout.strides}", "give one stride per dimension")
        for length, size in zip(lengths, layout.sizes or (), strict=bool(layout.sizes)):
            short = known(size - length)
            if short is not None and short < 0:
                raise self._refusal(f"sizes {layout.sizes}", "give sizes of at least the lengths")

    def _refusal(self, seen: str, remedy: str) -> GraphValueError:
        return refusal(f"a tensor of shape {self.shape}", seen, remedy)

    @property
    def lengths(self) -> tuple[LengthLike, ...]:
        """The length of each dimension; a merged dimension has the product of its lengths."""
        return tuple([_product(n) if isinstance(n, tuple) else n for n in self.shape])

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

    The dtype is the base's unless the view shows parts of elements; `read_only` is True if the view
    cannot be written through (ngraph tensors, "SimpleTensorViewDescription").
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
    """A view with added dimensions, each of length 1 and stride 0.

    `broadcast_shape` without the added lengths of 1 is the shape of the base; a length of 1 of the
    base is paired with the first possible 1. A broadcast view cannot be written through, since it
    may show an element at many indices.
    """

    broadcast_shape: tuple[LengthLike, ...]

    def __init__(
        self, base_tensor: BasicTensorDescription, broadcast_shape: Iterable[LengthLike]
    ) -> None:
        """Describe the view.

        Raises:
            GraphValueError: the shape without the added lengths of 1 differs from the shape of the
                base.
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
    """A view with merged neighbouring dimensions, each a tuple of lengths in `shape`.

    The layout is known if merged dimensions are contiguous in memory.
    """

    def __init__(self, base_tensor: BasicTensorDescription, shape: Iterable[Nested]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: the lengths, including the lengths in tuples, differ from the lengths
                of the base.
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
    """The layout with each group merged into one dimension; None if a group is not contiguous."""
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
    """A view with permuted dimensions: dimension k is dimension `permutation[k]` of the base."""

    permutation: tuple[int, ...]

    def __init__(self, base_tensor: BasicTensorDescription, permutation: Iterable[int]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: `permutation` does not list each dimension once.
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
    """A view of a part of a tensor: `slices` has a slice or an integer for each dimension."""

    slices: tuple[slice | int, ...]

    def __init__(self, base_tensor: BasicTensorDescription, slices: Iterable[slice | int]) -> None:
        """Describe the view.

        Raises:
            GraphValueError: the numbers of items and dimensions differ, or a slice takes a part of
                a dimension of unknown length.
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
    """The start, step and length of a slice; the length is None for an integer."""
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
    """A view with `pre_padding` zeros before and `post_padding` zeros after each dimension.

    `complex_view` separates zeros from base elements. A padded view has no layout and cannot be
    written through.
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
            GraphValueError: the numbers of paddings and dimensions differ, or a padding is
                negative.
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


Box = Sequence[tuple[LengthLike, LengthLike]]
"""A box-shaped region: its start and end along each dimension."""
PlaceMap = IndexMap | Callable[[tuple[int, ...]], Sequence[int]]
"""The map from an index of a view to an element of a tensor: an index map, or a function."""


def partition_fault(regions: Sequence[Box], lengths: Sequence[LengthLike]) -> str | None:
    """The reason why boxes do not partition a space; None if no reason is known."""
    for region in regions:
        if len(region) != len(lengths):
            return f"a region of {amount(len(region), 'dimension')} in a space of {len(lengths)}"
        for (low, high), length in zip(region, lengths, strict=True):
            if any((known(gap) or 0) < 0 for gap in (dim(low), high - low, length - high)):
                return f"a region from {low} to {high} along a length of {length}"
    filled = [r for r in regions if not any(known(high - low) == 0 for low, high in r)]
    pairs = () if _follow_each_other(filled) else combinations(filled, 2)
    for one, other in pairs:
        if all(_overlap(a, b) for a, b in zip(one, other, strict=True)):
            return f"regions {_shown(one)} and {_shown(other)}, which overlap"
    points = sum((product(tuple(dim(h - lo) for lo, h in r)) for r in regions), dim(0))
    whole = product(tuple(map(dim, lengths)))
    if (points - whole).constant not in (None, 0):
        return f"regions of {points} points in a space of {whole}"
    return None


def _follow_each_other(regions: Sequence[Box]) -> bool:
    """True if along some dimension each region starts where the region before it ends."""
    return any(
        all(known(new - end) == 0 for (_, end), (new, _) in pairwise(ranges))
        for ranges in zip(*regions, strict=True)
    )


def _overlap(one: tuple[LengthLike, LengthLike], other: tuple[LengthLike, LengthLike]) -> bool:
    gaps = known(one[1] - other[0]), known(other[1] - one[0])
    return all(gap is not None and gap > 0 for gap in gaps)


def _shown(region: Box) -> str:
    return " x ".join(f"[{low}, {high})" for low, high in region)


class ComplexTensorViewDescription(BasicTensorDescription):
    """A view y[i] == x[s(i)][f[s(i)](i)] of several tensors.

    `regions` are disjoint boxes that cover the shape, one per tensor. `maps` give for each tensor
    the element that the view shows at an index (ngraph tensors, "complex view"). A view of several
    tensors has no layout and is an r-tensor.
    """

    tensors: tuple[BasicTensorDescription, ...]
    regions: tuple[tuple[tuple[LengthLike, LengthLike], ...], ...]
    maps: tuple[PlaceMap, ...]

    def __init__(
        self,
        tensors: Iterable[BasicTensorDescription],
        regions: Iterable[Iterable[tuple[LengthLike, LengthLike]]],
        maps: Iterable[PlaceMap],
    ) -> None:
        """Describe the view; the ends of the regions give its shape.

        Raises:
            GraphValueError: the numbers of tensors, regions and maps differ, dtypes differ, or
                regions overlap or leave a gap.
        """
        tensors, maps = tuple(tensors), tuple(maps)
        boxes = tuple(tuple((low, high) for low, high in region) for region in regions)
        asked = f"a view of {amount(len(tensors), 'tensor')}"
        dtypes = sorted({str(tensor.dtype) for tensor in tensors})
        if not tensors or not len(tensors) == len(boxes) == len(maps):
            seen = f"{amount(len(boxes), 'region')} and {amount(len(maps), 'map')}"
            raise refusal(asked, seen, "give a region and a map for each of one or more tensors")
        if len(dtypes) > 1:
            raise refusal(asked, f"dtypes {', '.join(dtypes)}", "cast them to one dtype")
        ends = zip(*([high for _, high in box] for box in boxes), strict=False)
        shape = tuple(map(_last, ends))
        fault = partition_fault(boxes, shape)
        if fault is not None:
            raise refusal(asked, fault, "give boxes that share no place and leave none out")
        own = {"tensors": tensors, "regions": boxes, "maps": maps}
        super().__init__(shape, tensors[0].dtype, True, None, **own)

    def select(self, index: Sequence[int]) -> tuple[int, tuple[int, ...]]:
        """The number of the tensor that the view shows at an index, and the element's index there.

        Raises:
            PositionError: no region contains the index.
        """
        for number, region in enumerate(self.regions):
            limits = zip(index, region, strict=True)
            if all(low <= place < high for place, (low, high) in limits):
                return number, _mapped_place(self.maps[number], tuple(index))
        raise PositionError(
            f"the place {tuple(index)}",
            f"a view of shape {self.shape}",
            "ask for a place inside",
            user_location(),
        )


def _last(ends: Sequence[LengthLike]) -> LengthLike:
    """The largest end, or the last of several ends that cannot be compared."""
    last = ends[0]
    for end in ends[1:]:
        before = known(last - end)
        last = end if before is None or before < 0 else last
    return last


def _mapped_place(index: PlaceMap, place: tuple[int, ...]) -> tuple[int, ...]:
    if callable(index):
        return tuple(index(place))
    return tuple(_value(function, place) for function in index)


def _value(function: Affine, place: tuple[int, ...]) -> int:
    total = apply_map(function, [fixed(k) for k in place]).offset
    assert total.constant is not None, "places are asked for once lengths are known"
    return total.constant


def padded_regions(description: PadTensorDescription) -> tuple[Box, list[Box]]:
    """The region of a padded tensor's base, and the boxes of zeros around this region."""
    paddings = zip(description.pre_padding, description.base_tensor.lengths, strict=True)
    inner = tuple((before, before + length) for before, length in paddings)
    zeros: list[Box] = []
    for d, ((low, high), length) in enumerate(zip(inner, description.lengths, strict=True)):
        later = [(0, n) for n in description.lengths[d + 1 :]]
        for side in ((0, low), (high, length)):
            if known(side[1] - side[0]) != 0:
                zeros.append((*inner[:d], side, *later))
    return inner, zeros


def complex_view(description: PadTensorDescription) -> ComplexTensorViewDescription:
    """The view of the base and of zeros that is equal to a padded tensor."""
    inner, zeros = padded_regions(description)
    base = description.base_tensor
    zero = BasicTensorDescription((), base.dtype)
    maps: list[PlaceMap] = [shift(identity(len(inner)), [dim(0) - low for low, _ in inner])]
    maps += [() for _ in zeros]
    return ComplexTensorViewDescription([base, *[zero] * len(zeros)], [inner, *zeros], maps)
