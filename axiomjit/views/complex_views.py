"""Views of several tensors: each index of a view selects a tensor and an element of this tensor."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import combinations, pairwise

from axiomjit.base.errors import PositionError, amount
from axiomjit.base.origins import user_location
from axiomjit.symbolic.dims import dim, product
from axiomjit.symbolic.index_maps import Affine, IndexMap, apply_map, fixed, identity, shift
from axiomjit.views.dense_layout import LengthLike
from axiomjit.views.descriptions import BasicTensorDescription, PadTensorDescription, known, refusal

Box = Sequence[tuple[LengthLike, LengthLike]]
"""A box-shaped region: its start and end along each dimension."""
PlaceMap = IndexMap | Callable[[tuple[int, ...]], Sequence[int]]
"""The map from an index of a view to an element of a tensor: an index map, or a function."""


def partition_fault(regions: Sequence[Box], lengths: Sequence[LengthLike]) -> str | None:
    """The reason why boxes do not partition a space, or None if none is known."""
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
    """The largest end; of ends that cannot be compared, the last one."""
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
