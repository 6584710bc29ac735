"""Arrays with axes that one can hold: what evaluating a tensor gives."""

from __future__ import annotations

from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from axiomjit.axes import Axes, AxesLike, make_axes
from axiomjit.axis_operators import AxisOperand
from axiomjit.dtypes import CODES, DType
from axiomjit.errors import AxesError
from axiomjit.origins import user_location


class NamedArray(AxisOperand[Any]):
    """An array, and one Axis for each of its dimensions.

    It can stand wherever an expression takes a tensor, as a constant. Operators give tensors;
    NumPy's ufuncs give named arrays. `np.asarray` gives the array.
    """

    __slots__ = ("axes", "values")

    def __init__(self, values: ArrayLike, axes: AxesLike = None) -> None:
        """Label the dimensions of an array, which is kept and not copied.

        Raises:
            AxesError: the shape is not the lengths of the axes, or a length is unknown.
        """
        self.values: Final[np.ndarray] = np.asarray(values)
        self.axes: Final[Axes] = make_axes(axes)
        if self.values.shape != self.axes.lengths:
            raise AxesError(
                f"a named array with axes {self.axes}",
                f"an array of shape {self.values.shape}",
                "list one axis per dimension, each with the length of its dimension set",
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
    def ndim(self) -> int:
        """How many axes there are."""
        return self.values.ndim

    @property
    def T(self) -> NamedArray:
        """The same array under transposed axes (see `Axis.T`)."""
        return NamedArray(self.values, self.axes.T)

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.values, dtype, copy=copy)

    def item(self) -> Any:
        """The one element as a Python number."""
        return self.values.item()

    def __bool__(self) -> bool:
        return bool(self.values)

    def __int__(self) -> int:
        return int(self.values)

    def __float__(self) -> float:
        return float(self.values)

    def __complex__(self) -> complex:
        return complex(self.values)

    def __repr__(self) -> str:
        return f"{CODES.get(self.dtype, str(self.dtype))}{self.axes}"

    def __str__(self) -> str:
        return f"{self!r}\n{self.values}"
