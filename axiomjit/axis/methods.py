"""Methods of tensors and named arrays with NumPy's names: reductions and shapes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from axiomjit.axis.axes import Axes, AxesOf
from axiomjit.axis.operators import AxisOperand
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.origins import hides_frames_in_methods, user_location

Result = TypeVar("Result")


@hides_frames_in_methods
class AxisMethods(AxisOperand[Result]):
    """A tensor or named array with methods that NumPy's arrays have, too.

    `axis` is an Axis, a name, a position, or a list or tuple of these; by default all axes.
    `out_axes` are the remaining axes, in the order of the result.
    """

    __slots__ = ()

    if TYPE_CHECKING:

        @property
        def axes(self) -> Axes:
            """The axes of the dimensions."""

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.axes)

    def __len__(self) -> int:
        """The length of the first axis."""
        asked = f"len of {self!r}"
        if not self.axes:
            remedy = "ask for the length of one of its axes; it has one element"
            raise GraphTypeError(asked, "no axes", remedy, user_location())
        length = self.axes[0].length
        if length is None:
            seen = f"no length for {self.axes[0]}"
            raise AxesError(asked, seen, "assign axis.length before", user_location())
        return length

    def _fold(self, name: str, axis: AxesOf, out_axes: AxesOf, options: object) -> Result:
        asked = f"{name} of {self!r}"
        name = "variance" if name == "var" else name
        return self._apply("reduce", name, self, axis, out_axes, options, asked)

    def sum(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The sum over axes (see `axiomjit.sum`)."""
        return self._fold("sum", axis, out_axes, options)

    def prod(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The product over axes (see `axiomjit.prod`)."""
        return self._fold("prod", axis, out_axes, options)

    def mean(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The mean over axes (see `axiomjit.mean`)."""
        return self._fold("mean", axis, out_axes, options)

    def max(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The largest element over axes, or NaN if an element is NaN (see `axiomjit.max`)."""
        return self._fold("max", axis, out_axes, options)

    def min(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The smallest element over axes, or NaN if an element is NaN (see `axiomjit.min`)."""
        return self._fold("min", axis, out_axes, options)

    def var(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The variance over axes (see `axiomjit.var`)."""
        return self._fold("var", axis, out_axes, options)

    def std(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The square root of the variance over axes (see `axiomjit.std`)."""
        return self._fold("std", axis, out_axes, options)

    def any(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """True where at least one element over axes is not 0 (see `axiomjit.any`)."""
        return self._fold("any", axis, out_axes, options)

    def all(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """True where all elements over axes are not 0 (see `axiomjit.all`)."""
        return self._fold("all", axis, out_axes, options)

    def argmax(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The position of the first largest element over axes (see `axiomjit.argmax`)."""
        return self._fold("argmax", axis, out_axes, options)

    def argmin(self, axis: AxesOf = None, *, out_axes: AxesOf = None, **options: object) -> Result:
        """The position of the first smallest element over axes (see `axiomjit.argmin`)."""
        return self._fold("argmin", axis, out_axes, options)
