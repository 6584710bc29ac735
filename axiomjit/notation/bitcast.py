"""Reinterpret words of random bits as elements of a dtype (OCANNL shapes: Uint4x32_to_prec)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from axiomjit.base.dtypes import BOOL, DTYPES, DType, named
from axiomjit.base.errors import GraphTypeError, ShapeError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.graph.contractions import Projections
from axiomjit.graph.external_calls import bits_of
from axiomjit.graph.nodes import Node, describe_shape
from axiomjit.graph.shape_ops import reshaped
from axiomjit.graph.traced_values import NodeValue, ShapedValue
from axiomjit.notation.logic import Bitcast
from axiomjit.notation.rows import Solution
from axiomjit.notation.tensors import ShapedTensor, as_shaped, result_of
from axiomjit.symbolic.dims import Dim, dim

WORD = DTYPES["u4"]


@hides_frames
def bitcast(words: Any, dtype: DTypeLike) -> Any:
    """The bits of words as elements of a dtype, as by `words.view(dtype)`.

    Args:
        words: An array, a traced array, an axis tensor or a shaped tensor of dtype uint32 and shape
            (n, 4).
        dtype: A dtype of 1 to 16 bytes; with bool, bytes other than 0 become True.

    Returns:
        A new one-dimensional array of 16 n / itemsize elements; a shaped tensor has an inferred
        shape with this number of elements.

    Raises:
        GraphTypeError: the words are not uint32, or elements of the dtype cannot be compiled.
        ShapeError: the words have another shape, or the inferred shape has another number of
            elements.

    Examples:
        >>> words = np.array([[0, 0, 0, 0x3FF00000]], np.uint32)
        >>> aj.bitcast(words, "f8")
        array([0., 1.])
    """
    asked = f"bitcast to {np.dtype(dtype)}"
    kind = named(dtype, asked, user_location())
    if isinstance(words, ShapedValue):
        return _of_tensor(as_shaped(words, asked), kind, asked)
    if isinstance(words, NodeValue):
        placing = words.placing((words,), asked)
        with placing.with_lengths():
            return placing.wrap(_bits(placing.nodes[0], kind, asked), ((),))
    array = np.asarray(words)
    _check(array.dtype, array.shape, asked)
    bits = np.ascontiguousarray(array).reshape(-1)
    return bits.view(np.uint8) != 0 if kind == BOOL else bits.view(kind).copy()


def _of_tensor(words: ShapedTensor, kind: DType, asked: str) -> ShapedTensor:
    def project(solution: Solution) -> Projections:
        return Projections((), result.shape.lengths, (), ())

    def emit(where: Projections, nodes: Sequence[Node]) -> Node:
        return reshaped(_bits(nodes[0], kind, asked), where.shape)

    result = result_of(Bitcast(16 // kind.itemsize), [words], project, emit, asked)
    return result


def _bits(words: Node, kind: DType, asked: str) -> Node:
    _check(words.dtype, words.shape, asked)
    return bits_of(words, kind)


def _check(dtype: DType, shape: Sequence[int | Dim], asked: str) -> None:
    """Refuse words that are not uint32 of shape (n, 4)."""
    if dtype != WORD:
        remedy = "give uint32 words, as words.view(np.uint32) has them"
        raise GraphTypeError(asked, f"words of dtype {dtype}", remedy, user_location())
    if len(shape) != 2 or shape[1] != 4:
        seen = f"words of shape {describe_shape(tuple(map(dim, shape)))}"
        raise ShapeError(asked, seen, "give words of shape (n, 4)", user_location())
