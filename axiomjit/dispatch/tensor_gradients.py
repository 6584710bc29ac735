"""`deriv`: the derivative of a tensor of the axis language, as a tensor."""

from __future__ import annotations

from axiomjit.axis.functions import broadcast
from axiomjit.axis.tensors import Operand, Tensor, as_tensor, labelled, shown
from axiomjit.base.dtypes import is_inexact
from axiomjit.base.errors import GradientError, GraphValueError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.gradients.reverse import gradients
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Scalar


@hides_frames
def deriv(dependent: Operand, independent: Tensor, error: Operand | None = None) -> Tensor:
    """The derivative of a tensor by another tensor from which it is computed.

    Args:
        dependent: The tensor to differentiate.
        independent: A placeholder, a variable or a computed tensor, in its current state. Tensors
            that were computed before an assignment to a variable do not depend on its new value.
        error: The derivative of a later result by `dependent`, given as a tensor with the axes of
            `dependent`. Without `error`, `dependent` must have no axes.

    Returns:
        The derivative of `dependent`, or with `error` of `sum(error * dependent)`, by
        `independent`. The derivative is a tensor with the axes of `independent`; it is zero for
        elements on which `dependent` does not depend.

    Raises:
        GraphValueError: `dependent` has axes, and `error` is not given (a ValueError).
        GradientError: a tensor has no floats, or an operation has no derivative rule.

    Examples:
        >>> H = aj.make_axis(length=2, name="H")
        >>> x = aj.placeholder([H])
        >>> gradient = aj.deriv(aj.sum(x * x), x)
        >>> aj.transformers.make_transformer().computation(gradient, x)(np.array([1.0, 3.0]))
        array([2., 6.])
    """
    asked = f"deriv of {shown((dependent,))} by {shown((independent,))}"
    result, argument = as_tensor(dependent, asked), as_tensor(independent, asked)
    for tensor in (result, argument):
        if not is_inexact(tensor.dtype):
            seen = f"{tensor.dtype} elements, which have no derivatives"
            raise GradientError(asked, seen, "use tensors of floats", user_location())
    if error is None:
        if result.axes:
            raise GraphValueError(
                asked,
                f"a dependent with axes {result.axes}",
                "give error, the derivative by the dependent, or sum it first",
                user_location(),
            )
        one = Scalar(result.dtype, result.dtype.type(1), False)
        found = gradients([(result.node, one)], [argument.node])
        return labelled(found[argument.node], argument.axes, result, argument)
    given = broadcast(error, result.axes)
    seed = cast(given.node, result.dtype)
    found = gradients([(result.node, seed)], [argument.node])
    return labelled(found[argument.node], argument.axes, result, argument, given)
