"""Descriptions of tensors before anything is computed or allocated (ngraph tensors)."""

from axiomjit.axis.tensors import TensorDescription
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    BroadcastTensorDescription,
    ComplexTensorViewDescription,
    FlattenTensorDescription,
    Layout,
    PadTensorDescription,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    SliceTensorDescription,
    column_major_strides,
    complex_view,
    row_major_strides,
)

__all__ = [
    "BasicTensorDescription",
    "BroadcastTensorDescription",
    "ComplexTensorViewDescription",
    "FlattenTensorDescription",
    "Layout",
    "PadTensorDescription",
    "PermuteTensorDescription",
    "SimpleTensorViewDescription",
    "SliceTensorDescription",
    "TensorDescription",
    "column_major_strides",
    "complex_view",
    "row_major_strides",
]
