"""Descriptions of tensors before anything is computed or allocated (ngraph tensors)."""

from axiomjit.axis.tensors import TensorDescription
from axiomjit.views.complex_views import ComplexTensorViewDescription, complex_view
from axiomjit.views.dense_layout import Layout, column_major_strides, row_major_strides
from axiomjit.views.descriptions import (
    BasicTensorDescription,
    BroadcastTensorDescription,
    FlattenTensorDescription,
    PadTensorDescription,
    PermuteTensorDescription,
    SimpleTensorViewDescription,
    SliceTensorDescription,
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
