"""Named arrays, and the operators and methods that they share with tensors.

The functions that compute operators are in other modules, which are imported when a process first
uses an operator.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import TYPE_CHECKING, Any, Final, NoReturn, TypeVar

import numpy as np

from axiomjit.axis.axes import Axes, AxesLike, AxesOf, axes_at, make_axes
from axiomjit.base.array_values import OPERATORS, ArrayValue, refuse_chunked
from axiomjit.base.caching import BoundedTable
from axiomjit.base.dtypes import CODES, DType
from axiomjit.base.errors import AxesError, GraphTypeError
from axiomjit.base.locks import LazyRegistry
from axiomjit.base.origins import hides_frames, hides_frames_in_methods, user_location
from axiomjit.graph.execution import by_names, in_arrays
from axiomjit.graph.traced_values import NamedValue

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, DTypeLike

Result = TypeVar("Result")


_MODULES: Final = "elementwise functions numpy_protocol reductions state transformers views"
_OPERATIONS: Final[LazyRegistry[str, Callable[..., Any]]] = LazyRegistry(
    {}, "OPERATIONS", *(f"axiomjit.axis.{module}" for module in _MODULES.split())
)


def operation(name: str) -> Callable[..., Any]:
    """A function that calls the operation of this name; each call looks up the name."""
    return lambda *operands: _OPERATIONS[name](*operands)


@hides_frames_in_methods
class AxisOperand(ArrayValue[Result]):
    """A tensor or named array, whose operators are elementwise and return a `Result`.

    `x == y` means `x is y`, so that tensors can be keys of a dict; `equal` compares values.
    """

    __slots__ = ()
    _is_key = True

    def _apply(self, name: str, *operands: object) -> Result:
        result: Result = _OPERATIONS[name](*operands)
        return result

    def _operate(self, name: str, *operands: object) -> Any:
        if name == "divmod":
            return NotImplemented
        return self._apply("dot" if name == "matmul" else OPERATORS[name], *operands)

    def _operate_in_place(self, name: str, other: object) -> Any:
        return NotImplemented

    def _ufunc(self, ufunc: Any, method: str, operands: Any, options: Any) -> object:
        return _OPERATIONS["ufunc"](ufunc, method, operands, options)

    def _function(self, function: Any, operands: Any, options: Any) -> object:
        return _OPERATIONS["function"](function, operands, options)

    def __getitem__(self, key: object) -> Result:
        return self._apply("part", self, key)

    def __iter__(self) -> NoReturn:
        raise GraphTypeError(
            f"iteration over {self!r}",
            "axes, none of which is the first one",
            "take parts, as in x[0] or x[{axis: 0}]",
            user_location(),
        )


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
            GraphValueError: two axes have the same name.
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
