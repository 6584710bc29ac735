"""Axis and Axes: labels for the dimensions of tensors, paired by identity, never by length.

In graphs the length of an axis is symbolic (design 3.2): each Axis owns one symbol, and the length
may become known after the graph is built.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterable, Iterator
from typing import Final, SupportsIndex, overload

from axiomjit.dims import Dim, Symbol, symbol
from axiomjit.errors import AxesError, GraphTypeError
from axiomjit.origins import user_location

_numbers: Final = itertools.count()


class Axis:
    """One dimension label; two axes are the same only if they are the same object.

    Made by `make_axis` (seed 001_dbff47214f01994e.txt, "Axis and axes").
    """

    __slots__ = ("__weakref__", "_length", "axis_class", "dim", "docstring", "name", "roles")

    name: Final[str | None]
    docstring: Final[str | None]
    roles: Final[tuple[object, ...]]
    axis_class: Final[object]
    dim: Final[Dim]

    def __init__(
        self,
        length: int | None = None,
        name: str | None = None,
        roles: Iterable[object] | None = None,
        docstring: str | None = None,
        axis_class: object = None,
    ) -> None:
        """See `make_axis`."""
        self.name = name
        self.docstring = docstring
        self.roles = tuple(roles or ())
        self.axis_class = axis_class
        self.dim = symbol(f"x{next(_numbers)}")
        self._length: int | None = None
        self.length = length

    @property
    def length(self) -> int | None:
        """The number of positions along the axis; None until it is known.

        A length can be assigned once, before or after the axis is used; the same value may be
        assigned again.

        Raises:
            AxesError: the length is negative, or another length is known.
            GraphTypeError: the length is no integer.
        """
        return self._length

    @length.setter
    def length(self, value: int | None) -> None:
        if value is None and self._length is None:
            return
        checked = None if value is None else _checked_length(self, value)
        if self._length is not None and checked != self._length:
            raise AxesError(
                f"length {checked} for axis {self}",
                f"its length is {self._length}, and tensors may rely on it",
                "make another axis with make_axis(...)",
                user_location(),
            )
        self._length = checked

    @property
    def symbol(self) -> Symbol:
        """The symbol that stands for the length in graphs."""
        atom = self.dim.terms[0][0][0]
        assert isinstance(atom, Symbol)
        return atom

    def __str__(self) -> str:
        length = "?" if self._length is None else self._length
        return f"length {length}" if self.name is None else f"{self.name}={length}"

    def __repr__(self) -> str:
        return f"Axis({self})"


def _checked_length(axis: Axis, value: object) -> int:
    shown = "an axis" if axis.name is None else f"axis {axis.name}"
    asked = f"length {value!r} for {shown}"
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        seen = f"a {type(value).__name__}"
        raise GraphTypeError(asked, seen, "give an integer", user_location())
    length = operator.index(value)
    if length < 0:
        raise AxesError(asked, "a negative number", "give 0 or more", user_location())
    return length


def make_axis(
    length: int | None = None,
    name: str | None = None,
    roles: Iterable[object] | None = None,
    docstring: str | None = None,
    axis_class: object = None,
) -> Axis:
    """A new axis, different from every other one.

    Args:
        length: Number of positions; may be assigned later as `axis.length`.
        name: For people only; equal names do not make axes match.
        roles: Tags that the axis keeps.
        docstring: What the axis stands for.
        axis_class: The class of the axis, kept.

    Returns:
        The axis (seed 001_dbff47214f01994e.txt, "Axis and axes").

    Raises:
        AxesError: the length is negative.
        GraphTypeError: the length is no integer.
    """
    return Axis(length, name, roles, docstring, axis_class)


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


AxesLike = Axes | Axis | Iterable[Axis] | None


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
        axes: An Axis, several in a list, tuple, generator or Axes, or nothing.

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
    if isinstance(axes, str) or not isinstance(axes, Iterable):
        raise _refusal(axes, f"a {type(axes).__name__}")
    return Axes(axes)
