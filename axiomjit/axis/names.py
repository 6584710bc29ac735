"""Find the axis of a tensor that the user gives as an Axis or by its name.

Every function with an `axis` argument uses this module.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from axiomjit.axis.axis import Axis
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.origins import user_location

AxisName = Axis | str
"""An axis of a tensor, or the name of exactly one of its axes."""


def axis_of(own: Iterable[Axis], given: object, asked: str) -> Axis:
    """The axis of a tensor that the user gives as an Axis or by its name.

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
