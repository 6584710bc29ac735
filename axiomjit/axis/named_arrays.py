"""Named arrays: arrays with axes, such as the values of tensors."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.axis.axes import Axes, AxesLike, axes_at, make_axes
from axiomjit.axis.methods import AxisMethods
from axiomjit.base.array_values import refuse_chunked
from axiomjit.base.caching import BoundedTable
from axiomjit.base.dtypes import CODES, DType
from axiomjit.base.errors import AxesError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph.execution import by_names, in_arrays
from axiomjit.graph.traced_values import NamedValue

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike


class NamedArray(AxisMethods[Any], NamedValue):
    """An array, and one Axis for each of its dimensions.

    Every expression that takes a tensor also takes a named array, as a constant. Operators of named
    arrays return tensors; methods and NumPy's functions return named arrays. `np.asarray(x)`
    returns the array.

    Examples:
        >>> x = aj.NamedArray([[1.0, 2, 3], [4, 5, 6]], aj.make_axes({"H": 2, "W": 3}))
        >>> np.mean(x, axis="H").values
        array([2.5, 3.5, 4.5])
        >>> aj.jit(lambda x: x - x.max("W"))(x).values
        array([[-2., -1.,  0.],
               [-2., -1.,  0.]])
    """

    __slots__ = ("axes", "values")
    _is_converted = True

    @hides_frames
    def __init__(self, values: ArrayLike, axes: AxesLike = None) -> None:
        """Label the dimensions of an array without copying the array.

        Raises:
            AxesError: the shape differs from the lengths of the axes, or a length is unknown.
            GraphTypeError: the array is in chunks.
        """
        refuse_chunked(values, "a named array")
        self.values: Final[np.ndarray] = np.asarray(in_arrays((values,))[0])
        self.axes: Final[Axes] = make_axes(axes)
        if self.values.shape != self.axes.lengths:
            raise AxesError(
                f"a named array with axes {self.axes}",
                f"an array of shape {self.values.shape}",
                "list one axis per dimension, in order, each with the length of its dimension",
                user_location(),
            )

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self.values.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        """The length of each axis."""
        return self.values.shape

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.values.size

    @property
    def T(self) -> NamedArray:
        """The same array with transposed axes (see `Axis.T`)."""
        return NamedArray(self.values, self.axes.T)

    def transpose(self, *axes: object) -> NamedArray:
        """A view with the axes in another order; without arguments the same as `x.T`.

        Args:
            axes: The new order: each axis once, as an Axis, a name or a position, or one list of
                these.
        """
        if not axes:
            return self.T
        given = axes[0] if len(axes) == 1 else axes
        order = axes_at(self.axes, given, f"transpose of {self!r}")
        return NamedArray(self.values.transpose([self.axes.index(a) for a in order]), order)

    @staticmethod
    @hides_frames
    def from_xarray(array: Any, axes: AxesLike = None) -> NamedArray:
        """Make a named array of the data of a DataArray, which are not copied.

        Args:
            array: The DataArray; its coordinates and attributes are left out.
            axes: One axis per dimension, in order. By default each axis has the dimension's name;
                in all calls, dimensions of equal names and lengths get the same axis.

        Raises:
            GraphTypeError: the array is not a DataArray, its data are in chunks, or the name of a
                dimension is not a string.
            AxesError: the axes do not fit the shape.
        """
        named: NamedArray = by_names("to_named", array, axes)
        return named

    @hides_frames
    def to_xarray(self, coords: Any = None, name: Any = None, attrs: Any = None) -> Any:
        """A DataArray with the same values, not copied, and dimensions named after the axes.

        Args:
            coords: Coordinates, as for `xarray.DataArray`. From the `coords` of another DataArray,
                coordinates with dimensions that the result lacks are left out.
            name: The name of the DataArray.
            attrs: The attributes of the DataArray.

        Raises:
            GraphValueError: two axes have one name.
        """
        return by_names("from_named", self, coords, name, attrs)

    @property
    def dims(self) -> tuple[str, ...]:
        """The names of the axes, which xarray uses as names of dimensions."""
        return tuple(f"dim_{k}" if a.name is None else a.name for k, a in enumerate(self.axes))

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)

    def computed(
        self,
        function: Callable[..., Any],
        operands: Sequence[object],
        kept: BoundedTable[Hashable, Any],
        key: Hashable,
    ) -> Any:
        """Call a function of tensors with named arrays; its results are named arrays."""
        return self._apply("computed", function, operands, kept, key)

    def item(self) -> Any:
        """The only element as a Python number."""
        return self.values.item()

    def _value(self, use: str) -> np.ndarray:
        return self.values

    def __repr__(self) -> str:
        return f"{CODES.get(self.dtype, str(self.dtype))}{self.axes}"

    def __str__(self) -> str:
        return f"{self!r}\n{self.values}"
