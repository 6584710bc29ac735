"""Descriptions of tensors before anything is computed or allocated (ngraph tensors).

A `BasicTensorDescription` and its views have a shape, a `TensorDescription` has axes. A `Layout`
holds strides in memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from axiomjit.axis.axes import Axes, AxesLike, make_axes
from axiomjit.views.complex_views import ComplexTensorViewDescription
from axiomjit.views.dense_layout import Layout
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    SimpleTensorViewDescription,
)

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

ViewDescription = SimpleTensorViewDescription | ComplexTensorViewDescription


class TensorDescription(BasicTensorDescription):
    """The description of a tensor with axes, whose lengths give the shape.

    A length that is not known yet is a symbol. `view` is the description by shape if the tensor is
    a view (ngraph tensors, "TensorDescription").
    """

    axes: Axes
    view: ViewDescription | None

    def __init__(
        self,
        axes: AxesLike,
        dtype: DTypeLike,
        read_only: bool = True,
        layout: Layout | None = None,
        view: ViewDescription | None = None,
    ) -> None:
        """Describe a tensor with axes.

        Raises:
            AxesError: an axis is listed twice.
            GraphValueError: the layout does not fit the lengths.
        """
        labels = make_axes(axes)
        shape = [axis.dim if axis.length is None else axis.length for axis in labels]
        super().__init__(shape, dtype, read_only, layout, axes=labels, view=view)

    @property
    def base_tensor(self) -> BasicTensorDescription | None:
        """The description of the viewed tensor if this tensor is a simple view, else None."""
        view = self.view
        return view.base_tensor if isinstance(view, SimpleTensorViewDescription) else None
