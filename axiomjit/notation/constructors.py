"""Makes shaped tensors."""

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

    Its dimensions are in memory order: batch, output, input.

    Args:
        value: An array, which is reshaped to the inferred shape; a number, which fills it; a fetch,
            such as `axiomjit.notation.arange_like`; or None for a tensor that only has a shape.
        batch: The batch axes, each a size, a `Size` or a pair of label and size; `()` for none.
        input: The input axes.
        output: The output axes.
        spec: The three kinds of axes in label notation, such as "b|3->n", instead of the arguments
            above.
        exact: True if an array keeps its dimensions.
        param: True if the shape must follow from the tensor's uses; otherwise it is an error.
        deduced: "input_equals_output" if input and output axes are the same.
        name: A name for messages.

    Returns:
        A shaped tensor, for pointwise operators, `@`, `.T`, `x[i]` and `einsum`.

    Raises:
        ShapeError: the shape is given twice, or does not fit the value.
        SpecError: the spec cannot be read.
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
