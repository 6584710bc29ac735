"""The constructor of shaped tensors."""

from __future__ import annotations

from typing import Any

from axiomjit.base.errors import ShapeError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.notation.shapes import Shape
from axiomjit.notation.tensors import ShapedTensor, leaf


@hides_frames
def tensor(
    value: Any = None,
    *,
    batch: object = None,
    input: object = None,
    output: object = None,
    spec: str | None = None,
    exact: bool = False,
    param: bool = False,
    deduced: str | None = None,
    name: str | None = None,
) -> ShapedTensor:
    """Make a tensor with batch, input and output axes; its shape may be partly inferred.

    The dimensions are in memory order: batch, output, input.

    Args:
        value: An array, which is reshaped to the inferred shape; a number, to which all elements
            are equal; a fetch such as `axiomjit.notation.arange_like`, which makes the elements; or
            None for a tensor that has a shape but no values.
        batch: The batch axes, each a size, a `Size` or a pair of label and size; `()` for no axes.
        input: The input axes, given like `batch`.
        output: The output axes, given like `batch`.
        spec: All axes in label notation, such as "b|3->n", in place of `batch`, `input` and
            `output`.
        exact: True if an array keeps its dimensions, False if it is reshaped.
        param: True if the shape must follow from the uses of the tensor; a shape that they leave
            open is then an error.
        deduced: "input_equals_output" if input and output axes are the same.
        name: A name for messages.

    Returns:
        A shaped tensor, for pointwise operators, `@`, `.T`, `x[i]` and `einsum`.

    Raises:
        ShapeError: the shape is given both by `spec` and by axes, or does not fit the value.
        SpecError: the spec is not in label notation.
        GraphTypeError: the value cannot be an operand.

    Examples:
        >>> w = aj.tensor(2.0, param=True, batch=(), name="w")
        >>> x = aj.tensor([1.0, 2, 3], batch=(), input=(), output=(3,))
        >>> y = w @ x
        >>> y.shape.equate(aj.Shape(output=(2,)))
        >>> np.asarray(y)
        array([12., 12.])
        >>> print(w.shape)
        3->2
    """
    asked = "a tensor" if name is None else f"the tensor {name}"
    rows = (batch, input, output)
    if spec is None:
        shape = Shape(*rows, deduced=deduced, name=name)
    elif any(row is not None for row in rows):
        seen, remedy = "both spec= and batch=, input= or output=", "give one of them"
        raise ShapeError(asked, seen, remedy, user_location())
    else:
        shape = Shape.parse(spec, deduced, name)
    return leaf(value, asked, shape, name, exact, param)
