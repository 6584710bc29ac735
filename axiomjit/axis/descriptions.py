"""Descriptions of tensors before anything is computed or allocated (ngraph tensors).

`BasicTensorDescription`, its simple views, and complex views of several tensors have a shape;
`TensorDescription` has axes. `Layout` holds strides in memory.
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
    """A tensor description with axes; the shape comes from their lengths.

    A length that is not known yet is a symbol. `view` describes the base of a view (ngraph tensors,
    "TensorDescription").
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
        """The tensor that this one is a simple view of; None if it is no view."""
        view = self.view
        return view.base_tensor if isinstance(view, SimpleTensorViewDescription) else None
