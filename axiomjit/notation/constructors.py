"""Makes tensors that own a shape."""

from __future__ import annotations

from typing import Any

from axiomjit.base.errors import ShapeError
from axiomjit.base.origins import user_location
from axiomjit.notation.shapes import Shape
from axiomjit.notation.tensors import ShapedTensor, leaf


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
    """A tensor with batch, input and output axes; what of its shape is not given is inferred.

    Its dimensions lie in memory order: batch, output, input.

    Args:
        value: An array, whose elements are brought into the inferred shape; a number, which fills
            it; a fetch, such as `axiomjit.notation.arange_like`; or None for a tensor of which only
            the shape matters.
        batch: The batch axes, each a size, a `Size` or a pair of label and size; `()` for none.
        input: The input axes.
        output: The output axes.
        spec: All three in label notation instead, such as "b|3->n".
        exact: Whether an array keeps its dimensions.
        param: Whether its shape must come from its uses; it is an error if they leave it open.
        deduced: "input_equals_output" where input and output axes are the same.
        name: What to call it in messages.

    Returns:
        A tensor that pointwise operators, `@`, `.T`, `x[i]` and `einsum` take.

    Raises:
        ShapeError: the shape is given twice, or does not fit the value.
        SpecError: the spec cannot be read.
        GraphTypeError: the value is nothing one can compute with.

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
