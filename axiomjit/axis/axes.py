"""Lists of axes: one axis for each dimension of a tensor, with operators of lists and of sets.

Functions with an `axis` argument find an axis here by its name, and pair the axes of operands.
Requirements on lengths of axes are checked at once or, if a length is unknown, at a call; like the
origins of nodes, the requirements are stored in a table by node, not in the node.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, SupportsIndex, TypeVar, overload
from weakref import WeakKeyDictionary

from axiomjit.axis.axis import Axis, AxisRole, make_axis, merged_axis
from axiomjit.base.config import config
from axiomjit.base.errors import (
    AxesError,
    GraphTypeError,
    OuterProductWarning,
    PositionError,
    SameNameWarning,
    amount,
)
from axiomjit.base.origins import hides_frames, user_location, warn
from axiomjit.base.records import Record
from axiomjit.graph.nodes import Node, post_order, views_on
from axiomjit.symbolic.dims import Dim, Guard, Symbol, dim

AxisName = Axis | str
"""An axis of a tensor, or the name of exactly one of its axes."""


def axis_of(own: Iterable[Axis], given: object, asked: str) -> Axis:
    """The axis that the user gives, as an Axis or by name, among the axes of a tensor.

    Raises:
        AxesError: the tensor has no such axis, or several axes have the given name.
        GraphTypeError: the axis is given neither as an Axis nor by a name.
    """
    axes = tuple(own)
    if isinstance(given, Axis):
        if given in axes:
            return given
        raise AxesError(asked, _not_among(axes, given), _choice(axes), user_location())
    if not isinstance(given, str):
        seen = f"{given!r} of type {type(given).__name__} as an axis"
        raise GraphTypeError(asked, seen, _choice(axes), user_location())
    found = [axis for axis in axes if axis.name == given]
    if len(found) == 1:
        return found[0]
    seen, remedy = _several_fit(axes, found) if found else _no_axis_named(axes, given)
    raise AxesError(asked, seen, remedy, user_location())


def listed(axes: Iterable[Axis]) -> str:
    """The text of axes with their lengths, in brackets: `[H=2, W=3]`."""
    return f"[{axes_text(axes)}]"


def axes_text(axes: Iterable[Axis]) -> str:
    """The text of axes with their lengths, without brackets: `H=2, W=3`."""
    return ", ".join(map(str, axes))


def _not_among(axes: Sequence[Axis], given: Axis) -> str:
    """The message for an Axis that is not among `axes`; axes with equal names get their origins."""
    alike = [axis for axis in axes if axis.name is not None and axis.name == given.name]
    if alike:
        return f"axes {listed(axes)}, in which {with_origin(alike[0])} is not {with_origin(given)}"
    return f"axes {listed(axes)}, none of which is {given}"


def with_origin(axis: Axis) -> str:
    """The text of an axis, followed by the user's line where it was made."""
    return f"{axis} (made at {axis.origin})" if axis.origin else str(axis)


def _choice(axes: Sequence[Axis]) -> str:
    names = _names(axes)
    if not axes:
        return "leave it out: there are no axes"
    return f"name one of its axes: {names}" if names else "pass one of its axes, as x.axes[0]"


def _names(axes: Sequence[Axis]) -> str:
    return ", ".join(dict.fromkeys(repr(axis.name) for axis in axes if axis.name is not None))


def _no_axis_named(axes: Sequence[Axis], given: str) -> tuple[str, str]:
    """The message and the remedy for a name that no axis has."""
    import difflib  # imported here: only errors need it

    names = {axis.name.lower(): axis.name for axis in axes if axis.name is not None}
    near = difflib.get_close_matches(given.lower(), names, cutoff=0.5)
    meant = " or ".join(repr(names[one]) for one in near)
    seen = f"axes {listed(axes)}, none of which is called {given!r}"
    return seen, f"name one of its axes; near is {meant}" if near else _choice(axes)


def _several_fit(axes: Sequence[Axis], found: Sequence[Axis]) -> tuple[str, str]:
    """The message and the remedy for a name that several axes have."""
    each = " and ".join(map(with_origin, found))
    at = axes.index(found[0])
    seen = f"axes {listed(axes)}, of which {len(found)} have the name {found[0].name!r}: {each}"
    return (
        seen,
        f"pass the Axis itself, as x.axes[{at}], or rename(x, {{x.axes[{at}]: 'new name'}})",
    )


class Axes:
    """The axes of a tensor: distinct axes in an order, with operators of lists and of sets.

    `+`, `==` and indexing work as for a list; `-`, `|`, `&` and the `is_..._set` methods work as
    for an ordered set (ngraph axes, "Axes operations"). A name means the axis with this name in
    `axes["H"]`, `"H" in axes`, `axes.index("H")` and to the right of `-` and `&`. `make_axes` makes
    Axes.

    Examples:
        >>> axes = aj.make_axes({"H": 2, "W": 3})
        >>> axes - "H"
        Axes[W=3]
        >>> axes["W"].length
        3
    """

    __slots__ = ("_axes",)

    def __init__(self, axes: Iterable[Axis] = ()) -> None:
        """Store distinct axes; users call `make_axes`."""
        self._axes: Final = tuple(axes)
        for axis in self._axes:
            if not isinstance(axis, Axis):
                raise _refusal(self._axes, f"{axis!r} of type {type(axis).__name__}")
        twice = [a for k, a in enumerate(self._axes) if a in self._axes[:k]]
        if twice:
            raise AxesError(
                f"axes {listed(self._axes)}",
                f"{axes_text(dict.fromkeys(twice))} more than once",
                "use each axis once; make another axis of the same length with make_axis(...)",
                user_location(),
            )

    def __len__(self) -> int:
        return len(self._axes)

    def __iter__(self) -> Iterator[Axis]:
        return iter(self._axes)

    def __contains__(self, axis: object) -> bool:
        return axis in (self.names if isinstance(axis, str) else self._axes)

    @overload
    def __getitem__(self, where: int | str) -> Axis: ...

    @overload
    def __getitem__(self, where: slice) -> Axes: ...

    def __getitem__(self, where: int | str | slice) -> Axis | Axes:
        """The axis at a position or with a name; for a slice, the axes at its positions."""
        if isinstance(where, str):
            return axis_of(self, where, f"an axis of {self}")
        return Axes(self._axes[where]) if isinstance(where, slice) else self._axes[where]

    def index(self, axis: AxisName) -> int:
        """The position of an axis, which is given as the Axis or by its name.

        Raises:
            AxesError: there is no such axis, or several axes have the name.
        """
        return self._axes.index(axis_of(self, axis, f"the position of {axis!r}"))

    @property
    def lengths(self) -> tuple[int | None, ...]:
        """The length of each axis; None if unknown."""
        return tuple(axis.length for axis in self)

    @property
    def full_lengths(self) -> tuple[object, ...]:
        """The length of each axis; for a merged axis, a tuple with the lengths of its parts."""
        return tuple(Axes(a.parts).full_lengths if a.parts else a.length for a in self)

    @property
    def names(self) -> tuple[str | None, ...]:
        """The name of each axis."""
        return tuple(axis.name for axis in self)

    @property
    def size(self) -> int | None:
        """The number of elements; None while a length is unknown."""
        known = [length for length in self.lengths if length is not None]
        return math.prod(known) if len(known) == len(self) else None

    @property
    def roots(self) -> Axes:
        """The axes on which the lengths depend (see `Axis.roots`)."""
        return Axes(dict.fromkeys(root for axis in self for root in axis.roots))

    def find_by_name(self, name: str) -> Axes:
        """The axes with this name."""
        return Axes(axis for axis in self if axis.name == name)

    def get_by_names(self, *names: str) -> Axes:
        """The axes with these names, in the order of the names.

        Raises:
            AxesError: no axis has such a name, or several axes have it.
        """
        return Axes(axis_of(self, name, f"the axis called {name!r} of {self}") for name in names)

    def role_axes(self, role: AxisRole) -> Axes:
        """The axes that have a role."""
        return Axes(axis for axis in self if axis.has_role(role))

    def set_shape(self, shape: Iterable[int]) -> None:
        """Assign a length to each axis, in order.

        Raises:
            AxesError: the numbers of lengths and axes differ, or an axis already has another
                length.
        """
        lengths = tuple(shape)
        if len(lengths) != len(self):
            raise AxesError(
                f"shape {lengths} for axes {self}",
                f"{amount(len(lengths), 'length')} for {amount(len(self), 'axis', 'axes')}",
                "give one length per axis",
                user_location(),
            )
        for axis, length in zip(self, lengths, strict=True):
            axis.length = length

    def flatten(self) -> Axis:
        """The axis made by merging all axes in this order."""
        return merged_axis(self)

    def get_dual(self, offset: int) -> Axes:
        """The axes at an offset from these axes (see `Axis.get_dual`)."""
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
                f"{self} + {right}",
                f"{axes_text(both)} on both sides",
                "use | for the union of axes",
                user_location(),
            )
        return Axes((*self, *right))

    def __radd__(self, other: AxesLike) -> Axes:
        return make_axes(other) + self

    def __sub__(self, other: NewAxes) -> Axes:
        right = new_axes(self, other, f"a difference of {self}")
        return Axes(a for a in self if a not in right)

    def __or__(self, other: AxesLike) -> Axes:
        return Axes(dict.fromkeys((*self, *make_axes(other))))

    def __and__(self, other: NewAxes) -> Axes:
        right = new_axes(self, other, f"an intersection with {self}")
        return Axes(a for a in self if a in right)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Axes) and self._axes == other._axes

    def __hash__(self) -> int:
        return hash(self._axes)

    def is_sub_set(self, other: AxesLike) -> bool:
        """True if every axis of this set is also in `other`; this holds for equal sets, too."""
        return set(self) <= set(make_axes(other))

    def is_super_set(self, other: AxesLike) -> bool:
        """True if every axis of `other` is also in this set; this holds for equal sets, too."""
        return set(self) >= set(make_axes(other))

    def is_equal_set(self, other: AxesLike) -> bool:
        """True if both have the same axes, in any order."""
        return set(self) == set(make_axes(other))

    def is_not_equal_set(self, other: AxesLike) -> bool:
        """True if an axis is in only one of the two sets."""
        return not self.is_equal_set(other)

    def __str__(self) -> str:
        return listed(self)

    def __repr__(self) -> str:
        return f"Axes{self}"


AxesLike = Axes | Axis | Iterable[Axis | Iterable[Axis]] | Mapping[str, int | None] | None
AxesOf = Axes | AxisName | Iterable[AxisName | Iterable[AxisName]] | None
"""Axes of an operand, each given as the Axis or by its name."""
NewAxes = AxesLike | AxesOf
"""Axes of a result, each given as an Axis or as the name of an operand's axis."""
T = TypeVar("T")


def _refusal(asked: object, seen: str) -> GraphTypeError:
    return GraphTypeError(
        f"axes from {asked!r}",
        seen,
        "list objects that make_axis(length, name) made; {name: length, ...} makes new ones",
        user_location(),
    )


@hides_frames
def make_axes(axes: AxesLike = None) -> Axes:
    """Make an `Axes` of the given axes, in their order.

    Args:
        axes: An Axis, or several axes in a list, tuple, generator or Axes, or None for no axes. A
            list inside the list is merged into one axis. A dictionary from names to lengths makes
            new axes.

    Returns:
        The Axes (ngraph axes, "Axis and axes"); an argument that is an Axes is returned unchanged.

    Raises:
        AxesError: an axis is listed twice.
        GraphTypeError: an item is not an Axis.

    Examples:
        >>> aj.make_axes({"H": 2, "W": 3})
        Axes[H=2, W=3]
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
    return Axes(_axis_of_item(axis) for axis in axes)


def _axis_of_item(axis: object) -> Axis:
    """The axis that a list item gives; the axes of an inner list are merged."""
    if isinstance(axis, Axes | list | tuple):
        return merged_axis(make_axes(axis))
    return axis  # type: ignore[return-value]  # Axes refuses other objects


def axes_of(own: Axes, given: AxesOf, asked: str) -> Axes:
    """The axes of a tensor that the user gives: one or several, as Axis or by name.

    Args:
        own: The axes of the tensor.
        given: The requested axes; a list inside the list means one merged axis.
        asked: The operation that the caller performs, for the error.

    Raises:
        AxesError: an axis is not an axis of the tensor or is listed twice, or several axes have a
            given name.
        GraphTypeError: an axis is given neither as an Axis nor by a name.
    """
    return given if given is own else Axes(_own_axis(own, one, asked) for one in _items(given))


def _items(given: object) -> list[object]:
    """The items of an iterable; an Axis, a string or another object is a single item."""
    if given is None:
        return []
    single = isinstance(given, Axis | str | bytes | Mapping) or not isinstance(given, Iterable)
    return [given] if single else list(given)  # type: ignore[call-overload]


def _own_axis(own: Iterable[Axis], one: object, asked: str) -> Axis:
    if isinstance(one, Axes | list | tuple):
        parts = dict.fromkeys(part for axis in own for part in axis.parts)
        one = merged_axis(p if isinstance(p, Axis) else _own_axis(parts, p, asked) for p in one)
    return axis_of(own, one, asked)


def new_axes(own: Axes, given: NewAxes, asked: str) -> Axes:
    """The result of `make_axes` for axes given as Axis or by the name of an axis in `own`.

    Raises:
        AxesError: an axis is listed twice, or a given name belongs to no axis or to several axes.
        GraphTypeError: an axis is given neither as an Axis nor by a name.
    """
    if isinstance(given, Axes | Mapping):
        return make_axes(given)
    items = (axis_of(own, one, asked) if isinstance(one, str) else one for one in _items(given))
    return make_axes(items)  # type: ignore[arg-type]  # make_axes refuses other objects


def axes_at(own: Axes, given: object, asked: str) -> Axes:
    """The axes of a tensor that are given as Axis, by name, or by position as for NumPy's `axis`.

    Raises:
        PositionError: there is no such position; the error is an IndexError, like NumPy's.
    """
    items: list[Any] = [_axis_at(own, one, asked) for one in _items(given)]
    return axes_of(own, items, asked)


def _axis_at(own: Axes, one: object, asked: str) -> object:
    if isinstance(one, bool) or not isinstance(one, SupportsIndex):
        return one
    position, count = operator.index(one), len(own)
    if -count <= position < count:
        return own[position]
    remedy = f"give a position from {-count} to {count - 1}, or a name" if count else "leave it out"
    seen = f"position {position} among axes {own}"
    raise PositionError(asked, seen, remedy, user_location())


def by_axis(
    own: Axes, given: Mapping[AxisName, T], asked: str, others: Iterable[Axis] = ()
) -> dict[Axis, T]:
    """The dictionary `given`, in which axes of a tensor replace the names of axes as keys.

    Args:
        own: The axes of the tensor.
        given: A dictionary whose keys are axes or names of axes.
        asked: The operation that the caller performs, for the error.
        others: Further axes that may be keys; a name means one of them only if no axis of the
            tensor has this name.

    Raises:
        AxesError: a key is not an axis of the tensor, or two keys are the same axis.
        GraphTypeError: a key is neither an Axis nor a name.
    """
    found: dict[Axis, T] = {}
    for key, value in given.items():
        is_own = isinstance(key, str) and key in own
        axis = axis_of(own if is_own else dict.fromkeys((*own, *others)), key, asked)
        if axis in found:
            seen = f"two entries for {axis}"
            raise AxesError(asked, seen, "give each axis one entry", user_location())
        found[axis] = value
    return found


_warned: Final[set[tuple[str | None, str | None, str | None]]] = set()
"""The warnings given so far, as the user's line and the origins of two axes with one name."""


def common_order(left: Axes, right: Axes) -> Axes:
    """The union of axes, left axes first; in the order of `right` if it has all of them."""
    if left.is_super_set(right):
        return left
    return right if right.is_super_set(left) else left + (right - left)


def matched(left: Axes, right: Axes, asked: str) -> Axes:
    """The axes of `right`; an axis paired by class is replaced by its partner in `left`.

    Identical axes are paired first. Then remaining axes with the same class, offset and length are
    paired (ngraph tensors, "Axes").

    Raises:
        AxesError: an axis has two candidates, or the length of a candidate is unknown.
    """
    mine, theirs = left - right, right - left
    pairs: dict[Axis, Axis] = {}
    for axis in theirs:
        for candidate in mine:
            if not _of_one_kind(axis, candidate) or not _equal_lengths(candidate, axis, asked):
                continue
            if axis in pairs or candidate in pairs.values():
                twins = [a for a in (*mine, *theirs) if _of_one_kind(a, axis)]
                raise _pairing_refusal(asked, twins, "of which more than one pair could meet")
            pairs[axis] = candidate
    return Axes(pairs.get(axis, axis) for axis in right) if pairs else right


def _of_one_kind(one: Axis, other: Axis) -> bool:
    return one.axis_class is other.axis_class and one.dual_offset == other.dual_offset


def _equal_lengths(one: Axis, other: Axis, asked: str) -> bool:
    if one.dim is other.dim:
        return True
    if one.length is None or other.length is None:
        raise _pairing_refusal(asked, [one, other], "of which the length of one is unknown")
    return one.length == other.length


def _pairing_refusal(asked: str, axes: Iterable[Axis], why: str) -> AxesError:
    return AxesError(
        asked,
        f"axes {Axes(axes)} of one class, {why}",
        "say which axes meet with cast_axes(x, axes), or assign their lengths before",
        user_location(),
    )


def product_pairs(left: Axes, right: Axes) -> list[tuple[Axis, Axis]]:
    """The pairs of axes that `dot` contracts, in the order of the left axes.

    First each left axis is paired with the right axis at the next offset (ngraph tensors, "Axes").
    Then each remaining axis is paired with the same axis on the right (ngraph axes, "Dot
    operation").
    """
    pairs = {axis: axis + 1 for axis in left if axis + 1 in right}
    rest = right - pairs.values()
    pairs |= {axis: axis for axis in left if axis not in pairs and axis in rest}
    return [(axis, pairs[axis]) for axis in left if axis in pairs]


def check_outer(left: Axes, right: Axes, met: bool, asked: str) -> None:
    """Accept operands without a common axis, warn of them or refuse them, by `config.outer`.

    Raises:
        AxesError: the operands have no common axis, and `config.outer` is "error".
    """
    if met or not left or not right or config.outer == "allow":
        return
    seen = f"an outer product: {left} and {right} have no axis in common"
    remedy = "broadcast(x, axes) one of them to all axes; relabel an axis with cast_axes(x, axes)"
    if config.outer == "error":
        raise AxesError(asked, seen, remedy, user_location())
    warn(f"{asked}: {seen}; {remedy}", OuterProductWarning)


def check_names(left: Axes, right: Axes, result: Axes, asked: str) -> None:
    """Warn if two axes of a result have the same name, once per user's line and pair of axes.

    Different axes are not paired, so the result has an element for each pair of their positions.
    There is no warning if one operand has both axes, since the user then knows of both axes.
    """
    mine, theirs = (left - right) & result, (right - left) & result
    for axis in theirs:
        twins = [a for a in mine if a.name is not None and a.name == axis.name]
        for twin in twins:
            key = user_location(), twin.origin, axis.origin
            if key not in _warned:
                warn(
                    f"{asked}: the result has two different axes called {axis.name!r}: "
                    f"{with_origin(twin)} and {with_origin(axis)}. If they are the same, use one "
                    "Axis for both, or cast_axes(x, axes); if not, rename(x, names) one of them",
                    SameNameWarning,
                )
                _warned.add(key)


MessageParts = tuple[str, str, str]
"""The three parts of an error: the request, the finding, and the remedy."""


class Refusal(Record):
    """The error for a guard that fails: `explain` returns the three parts of the message."""

    explain: Callable[[], MessageParts]
    where: str | None


_required: Final[WeakKeyDictionary[Node, dict[Guard, Refusal]]] = WeakKeyDictionary()


def _check(guard: Guard, refusal: Refusal, lengths: Mapping[Symbol, int]) -> None:
    if not guard.holds(lengths):
        raise AxesError(*refusal.explain(), refusal.where)


def require(
    node: Node,
    left: Dim,
    sign: str,
    right: Dim,
    axes: Iterable[Axis],
    explain: Callable[[], MessageParts],
) -> None:
    """Require that `left sign right` holds wherever the value of a node is computed.

    Args:
        node: The node whose value is defined only if the comparison holds.
        left: A length.
        sign: The comparison, one of `== < <= > >=`.
        right: A length.
        axes: The axes whose lengths `left` and `right` depend on.
        explain: Returns the three parts of the error; may refer to axes, but not to the node.

    Raises:
        AxesError: the lengths are known, and the comparison does not hold.
    """
    guard = Guard(left - right, dim(0), sign, True)
    refusal = Refusal(explain, user_location())
    known = known_lengths(axes)
    roots = {root for axis in axes for root in axis.roots}
    if guard.left.constant is not None or len(known) == len(roots):
        _check(guard, refusal, known)
        return
    _required.setdefault(node, {}).setdefault(guard, refusal)


def empty_reduction_message(asked: str, name: str) -> MessageParts:
    """The three parts of the error for a reduction without elements that has no value."""
    seen = f"a length of 0, and {name} of nothing has no value"
    return asked, seen, "reduce axes that have a position"


def inherit(node: Node, source: Node) -> None:
    """Copy to `node` the requirements of `source` and of all nodes that `source` is a view of."""
    base, views = views_on(source)
    for one in (*reversed(views), base):
        for guard, refusal in _required.get(one, {}).items():
            _required.setdefault(node, {}).setdefault(guard, refusal)


def known_lengths(axes: Iterable[Axis]) -> dict[Symbol, int]:
    """The known lengths of the roots of axes, by symbol."""
    lengths = {root.symbol: root.length for axis in axes for root in axis.roots}
    return {symbol: length for symbol, length in lengths.items() if length is not None}


def bound_lengths(outputs: Iterable[Node], axes: Axes, asked: str) -> dict[Symbol, int]:
    """The lengths of the roots of `axes`, after checking the requirements of all needed nodes.

    Raises:
        AxesError: a length is unknown, or a requirement does not hold.
    """
    unknown = [root for root in axes.roots if root.length is None]
    if unknown:
        raise AxesError(
            f"values of {asked}",
            f"no length for {', '.join(map(repr, unknown))}",
            "assign axis.length before the call",
            user_location(),
        )
    lengths = known_lengths(axes)
    for node in post_order(tuple(outputs)):
        for guard, refusal in _required.get(node, {}).items():
            _check(guard, refusal, lengths)
    return lengths
