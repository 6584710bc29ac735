"""Axes: the labels of all dimensions of a tensor, list and set at once."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from typing import Final, overload

from axiomjit.axis import Axis, make_axis, merged_axis
from axiomjit.axis_tags import AxisRole
from axiomjit.errors import AxesError, GraphTypeError
from axiomjit.origins import user_location


class Axes:
    """An ordered tuple of distinct axes, list and set at once.

    `+ ==` and indexing are those of a list, `- | &` and `is_..._set` those of an ordered set
    (seed 001_dbff47214f01994e.txt, "Axes operations"). Made by `make_axes`.
    """

    __slots__ = ("_axes",)

    def __init__(self, axes: Iterable[Axis] = ()) -> None:
        """See `make_axes`."""
        self._axes: Final = tuple(axes)
        for axis in self._axes:
            if not isinstance(axis, Axis):
                raise _refusal(self._axes, f"{axis!r} of type {type(axis).__name__}")
        twice = [a for k, a in enumerate(self._axes) if a in self._axes[:k]]
        if twice:
            raise AxesError(
                f"axes [{_listed(self._axes)}]",
                f"{_listed(dict.fromkeys(twice))} more than once",
                "use each axis once; make another axis of the same length with make_axis(...)",
                user_location(),
            )

    def __len__(self) -> int:
        return len(self._axes)

    def __iter__(self) -> Iterator[Axis]:
        return iter(self._axes)

    def __contains__(self, axis: object) -> bool:
        return axis in self._axes

    @overload
    def __getitem__(self, where: int) -> Axis: ...

    @overload
    def __getitem__(self, where: slice) -> Axes: ...

    def __getitem__(self, where: int | slice) -> Axis | Axes:
        return Axes(self._axes[where]) if isinstance(where, slice) else self._axes[where]

    def index(self, axis: Axis) -> int:
        """The position of an axis.

        Raises:
            AxesError: the axis is not there.
        """
        if axis in self._axes:
            return self._axes.index(axis)
        raise AxesError(
            f"the position of {axis!r}",
            f"axes [{_listed(self)}]",
            "ask for an axis that is there",
            user_location(),
        )

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The length of each axis, None where it is unknown."""
        return tuple(axis.length for axis in self)

    @property
    def full_lengths(self) -> tuple[object, ...]:
        """As `lengths`, with a tuple of the lengths of its parts for a merged axis."""
        return tuple(Axes(a.parts).full_lengths if a.parts else a.length for a in self)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The name of each axis."""
        return tuple(axis.name for axis in self)

    @property
    def size(self) -> int | None:
        """How many elements there are, None while a length is unknown."""
        known = [length for length in self.lengths if length is not None]
        return math.prod(known) if len(known) == len(self) else None

    @property
    def roots(self) -> Axes:
        """The axes on which the lengths depend (see `Axis.roots`)."""
        return Axes(dict.fromkeys(root for axis in self for root in axis.roots))

    def find_by_name(self, name: str) -> Axes:
        """The axes of this name."""
        return Axes(axis for axis in self if axis.name == name)

    def get_by_names(self, *names: str) -> Axes:
        """The axes of these names, in their order.

        Raises:
            AxesError: no axis, or more than one, has such a name.
        """
        found = [self.find_by_name(name) for name in names]
        for name, axes in zip(names, found, strict=True):
            if len(axes) != 1:
                raise AxesError(
                    f"the axis called {name!r} of {self}",
                    f"{len(axes)} axes of this name",
                    "name an axis that is there once",
                    user_location(),
                )
        return Axes(axis for axes in found for axis in axes)

    def role_axes(self, role: AxisRole) -> Axes:
        """The axes that have a role."""
        return Axes(axis for axis in self if axis.has_role(role))

    def set_shape(self, shape: Iterable[int]) -> None:
        """Assign a length to each axis, in order.

        Raises:
            AxesError: not as many lengths as axes, or an axis has another length.
        """
        lengths = tuple(shape)
        if len(lengths) != len(self):
            raise AxesError(
                f"shape {lengths} for axes {self}",
                f"{len(lengths)} lengths for {len(self)} axes",
                "give one length per axis",
                user_location(),
            )
        for axis, length in zip(self, lengths, strict=True):
            axis.length = length

    def flatten(self) -> Axis:
        """The axis that these make when they are merged in this order."""
        return merged_axis(self)

    def get_dual(self, offset: int) -> Axes:
        """Each axis at an offset from itself (see `Axis.get_dual`)."""
        return Axes(axis.get_dual(offset) for axis in self)

    @property
    def T(self) -> Axes:
        """The transposed axes, in the same order (see `Axis.T`)."""
        return Axes(axis.T for axis in self)

    def __add__(self, other: AxesLike) -> Axes:
        right = make_axes(other)
        both = self & right
        if both:
            raise AxesError(
                f"[{_listed(self)}] + [{_listed(right)}]",
                f"{_listed(both)} on both sides",
                "use | for the union of axes",
                user_location(),
            )
        return Axes((*self, *right))

    def __radd__(self, other: AxesLike) -> Axes:
        return make_axes(other) + self

    def __sub__(self, other: AxesLike) -> Axes:
        right = make_axes(other)
        return Axes(a for a in self if a not in right)

    def __or__(self, other: AxesLike) -> Axes:
        return Axes(dict.fromkeys((*self, *make_axes(other))))

    def __and__(self, other: AxesLike) -> Axes:
        right = make_axes(other)
        return Axes(a for a in self if a in right)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axes) and self._axes == other._axes

    def __hash__(self) -> int:
        return hash(self._axes)

    def is_sub_set(self, other: AxesLike) -> bool:
        """Whether every axis of these is one of `other`; equal sets are subsets."""
        return set(self) <= set(make_axes(other))

    def is_super_set(self, other: AxesLike) -> bool:
        """Whether every axis of `other` is one of these; equal sets are supersets."""
        return set(self) >= set(make_axes(other))

    def is_equal_set(self, other: AxesLike) -> bool:
        """Whether these and `other` have the same axes, in any order."""
        return set(self) == set(make_axes(other))

    def is_not_equal_set(self, other: AxesLike) -> bool:
        """Whether an axis is only in these or only in `other`."""
        return not self.is_equal_set(other)

    def __str__(self) -> str:
        return f"[{_listed(self)}]"

    def __repr__(self) -> str:
        return f"Axes{self}"


AxesLike = Axes | Axis | Iterable[Axis | Iterable[Axis]] | Mapping[str, int | None] | None


def _listed(axes: Iterable[object]) -> str:
    return ", ".join(str(a) for a in axes)


def _refusal(asked: object, seen: str) -> GraphTypeError:
    return GraphTypeError(
        f"axes from {asked!r}",
        seen,
        "list objects that make_axis(...) made",
        user_location(),
    )


def make_axes(axes: AxesLike = None) -> Axes:
    """The axes in the order given.

    Args:
        axes: An Axis, several in a list, tuple, generator or Axes, or nothing. Axes listed within
            the list are merged into one. A dictionary from names to lengths makes new axes.

    Returns:
        The Axes (seed 001_dbff47214f01994e.txt, "Axis and axes"); Axes come back as they are.

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: something listed is no Axis.
    """
    if isinstance(axes, Axes):
        return axes
    if isinstance(axes, Axis):
        return Axes((axes,))
    if axes is None:
        return Axes()
    if isinstance(axes, Mapping):
        return Axes(k if isinstance(k, Axis) else make_axis(axes[k], k) for k in axes)
    if isinstance(axes, str) or not isinstance(axes, Iterable):
        raise _refusal(axes, f"a {type(axes).__name__}")
    return Axes(_single(axis) for axis in axes)


def _single(axis: object) -> Axis:
    """The axis that stands for an item of a list: axes within it are merged."""
    if isinstance(axis, Axes | list | tuple):
        return merged_axis(make_axes(axis))
    return axis  # type: ignore[return-value]  # Axes refuses what is no axis
