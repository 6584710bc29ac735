"""Dense layouts: the position in linear memory of the element at an index (ngraph tensors).

The linear index is the offset plus the sum of strides times indices, in elements. Sizes are the
allocated lengths, at least those of the shape; elements beyond the shape are alignment padding and
never accessed.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TypeVar

from axiomjit.base.errors import GraphValueError, PositionError, amount
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.symbolic.dims import Dim

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
