"""Derivatives that users give or check: `custom_grad`, `stop_gradient`, `check_grad`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_inexact
from axiomjit.base.errors import GradientError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import unflatten_tree
from axiomjit.dispatch.derivatives import derived, has_floats, leaves_of, name_of, rewrapped
from axiomjit.dispatch.pullbacks import GradientOfSum, Pullback
from axiomjit.functions.transforms import Transform
from axiomjit.gradients.libraries import give_rule
from axiomjit.gradients.marks import GivenRule, in_its_body, ruled, stopped
from axiomjit.gradients.recomputing import Recomputed
from axiomjit.gradients.reverse import adjoint
from axiomjit.gradients.transposes import zeros
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, describe_type, is_view
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.dims import in_body
from axiomjit.tracing.tracer import Tracer, represented

Call = functools.partial[Any]


class CustomGradient(Transform):
    """A function that returns `(result, pullback)`; a call gives only the result."""

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of the function, recorded if a trace is running."""
        if current() is not None:
            return self.run(functools.partial(_called, self.function), args, kwargs)
        return self._both(self.function(*args, **kwargs))[0]

    def _both(self, returned: Any) -> tuple[Any, Any]:
        if isinstance(returned, tuple) and len(returned) == 2 and callable(returned[1]):
            return returned[0], returned[1]
        raise GradientError(
            f"custom_grad of {name_of(self.function)}",
            f"a result of type {type(returned).__name__}, not (result, pullback)",
            "return the result and a function that takes its cotangent",
            user_location(),
        )

    def run(self, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a traced call; the pullback computes the cotangents of its arguments."""
        result, pullback = self._both(call(*args, **kwargs))
        inputs: list[Node] = []
        places: list[list[int | None]] = []
        for value in args:
            own: list[int | None] = []
            for leaf in leaves_of(value)[0]:
                is_float = isinstance(leaf, Tracer) and is_inexact(leaf.node.dtype)
                own.append(len(inputs) if is_float else None)
                inputs += [leaf.node] if is_float else []
            places.append(own)
        leaves, structure = leaves_of(result)
        numbers = [k for k, one in enumerate(leaves) if isinstance(one, Tracer)]

        def pull(k: int, g: Node) -> list[Node | None]:
            """The cotangents of the inputs, computed from the cotangent of result k."""
            given = [
                represented(g if j == k else zeros(one.node.dtype, one.node.shape), one.is_array)
                if isinstance(one, Tracer)
                else one
                for j, one in enumerate(leaves)
            ]
            made = call.func(pullback, unflatten_tree(structure, iter(given)))
            return self._cotangents(made, places, inputs)

        new = list(leaves)
        for k in numbers:
            rule = GivenRule(tuple(inputs), functools.partial(pull, k))
            node = leaves[k].node
            made = in_its_body(node, rule) if in_body() else ruled(node, rule)
            new[k] = represented(made, leaves[k].is_array)
        return unflatten_tree(structure, iter(new))

    def _cotangents(
        self, made: Any, places: Sequence[Sequence[int | None]], inputs: Sequence[Node]
    ) -> list[Node | None]:
        """The nodes that a pullback returned, one per input; None means no cotangent."""
        if len(places) == 1 and not isinstance(made, tuple):
            made = (made,)
        found: list[Node | None] = [None] * len(inputs)
        if not isinstance(made, tuple) or len(made) != len(places):
            raise self._refused("not one cotangent for each argument")
        for value, own in zip(made, places, strict=True):
            parts = [None] * len(own) if value is None else leaves_of(value)[0]
            if len(parts) != len(own):
                raise self._refused("a cotangent in other containers than its argument")
            for part, number in zip(parts, own, strict=True):
                if number is not None and part is not None:
                    node = builder.as_node(getattr(part, "node", part), "a cotangent")
                    found[number] = self._fitted(node, inputs[number])
        return found

    def _fitted(self, node: Node, like: Node) -> Node:
        if len(node.shape) != len(like.shape) or any(
            a != b for a, b in zip(node.shape, like.shape, strict=True)
        ):
            raise self._refused(f"{describe_type(node)} for {describe_type(like)}")
        return builder.strong(node)

    def _refused(self, seen: str) -> GradientError:
        return GradientError(
            f"the pullback of {name_of(self.function)}",
            seen,
            "return a tuple with one cotangent, or None, for each argument, in its shape",
            user_location(),
        )


class Checkpoint(Transform):
    """A function whose intermediate values are computed again by a gradient, not stored."""

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of the function, recorded if a trace is running."""
        if current() is not None:
            return self.run(functools.partial(_called, self.function), args, kwargs)
        return self.function(*args, **kwargs)

    def run(self, call: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result of a traced call; its gradient calls the function again."""
        result = call(*args, **kwargs)
        if in_body():  # the adjoint of a trip computes its values again
            return result
        leaves, structure = leaves_of(result)
        given = leaves_of((tuple(args), dict(kwargs)))[0]
        places = [k for k, one in enumerate(leaves) if has_floats(one)]
        nodes = [leaves[k].node for k in places]
        inputs = [one.node for one in given if has_floats(one)]
        recomputed = Recomputed(inputs, nodes, adjoint)
        for number, (k, node) in enumerate(zip(places, nodes, strict=True)):
            if node in recomputed.depending and not is_view(node):
                pull = functools.partial(recomputed.pull, number)
                rule = GivenRule(recomputed.inputs, pull)
                leaves[k] = rewrapped(leaves[k], ruled(node, rule))
        return unflatten_tree(structure, iter(leaves))


@hides_frames
def checkpoint(function: Callable[..., Any]) -> Any:
    """Make gradients compute the values inside a function a second time, instead of storing them.

    Random numbers are drawn only once. A result that is a view, such as a transpose, is stored.

    Args:
        function: A function whose arguments and results are arrays, numbers, tensors, or containers
            of these.

    Returns:
        A function with the same results, for use in functions that are differentiated.

    Examples:
        >>> aj.grad(aj.checkpoint(lambda x: np.exp(np.sin(x)).sum()))(np.zeros(2))
        array([1., 1.])
    """
    return Checkpoint(function)


def _called(function: Any, *args: Any, **kwargs: Any) -> Any:
    return function(*args, **kwargs)


@hides_frames
def custom_grad(function: Callable[..., Any], pullback: Callable[..., Any] | None = None) -> Any:
    """Give a function its derivative.

    As a decorator, `custom_grad` takes a function that returns `(result, pullback)`. `pullback(g)`
    takes the cotangent of the result, and returns the cotangent of the argument, or a tuple with
    one cotangent per argument. The decorated function returns the result. With the argument
    `pullback`, `custom_grad` sets the derivative of a NumPy or SciPy function: `pullback(g, y,
    *args, **options)` gets the cotangent of the result y and the arguments of the call, and returns
    a tuple with one cotangent, or None, for each array among the arguments.

    Args:
        function: The function to decorate, or a function of NumPy or SciPy.
        pullback: The derivative of a function of NumPy or SciPy, written in NumPy.

    Returns:
        The decorated function, or the function of NumPy or SciPy itself.

    Examples:
        >>> @aj.custom_grad
        ... def identity(x):
        ...     return x * 1.0, lambda g: np.clip(g, -1, 1)
        >>> aj.grad(lambda x: (identity(x) * np.array([3.0, -0.5])).sum())(np.ones(2))
        array([ 1. , -0.5])
    """
    if pullback is None:
        return CustomGradient(function)
    give_rule(function, pullback)
    return function


@hides_frames
def stop_gradient(x: Any) -> Any:
    """The value of `x`, which all derivatives treat as a constant.

    Args:
        x: An array, a tensor, a number, or a container of these.

    Returns:
        The values of `x`, in the same containers.

    Examples:
        >>> aj.grad(lambda x: x * aj.stop_gradient(x))(3.0)
        3.0
    """
    if isinstance(x, AxisValue):
        (node,) = (folding := x.folding((x,), (), True)).nodes
        return folding.wrap(stopped(node))
    leaves, structure = leaves_of(x)
    new = [
        represented(stopped(one.node), one.is_array) if isinstance(one, Tracer) else one
        for one in leaves
    ]
    return unflatten_tree(structure, iter(new))


TOLERANCE: Final = 1e-6
STEP: Final = 1e-3


@hides_frames
def check_grad(fn: Callable[..., Any], *args: Any, order: int = 1, seed: int = 0) -> None:
    """Compare the derivative of a function with finite differences along a random direction.

    Args:
        fn: The function; its arguments are floats, arrays of floats, and containers of these.
        args: The arguments of the function, at a point where the function is smooth.
        order: If `order` is 2, the second derivatives are compared, too.
        seed: The seed of the random direction and of the random cotangents.

    Raises:
        GradientError: the derivative and the finite difference differ by more than 1e-6, relative
            to the larger value.
    """
    generator = np.random.default_rng(seed)
    direction = _random_direction(args, generator)

    def along(t: float) -> list[np.ndarray]:
        leaves, structure = leaves_of(args)
        moved = [
            one if step is None else one + t * step
            for one, step in zip(leaves, direction, strict=True)
        ]
        given: Any = unflatten_tree(structure, iter(moved))
        made = fn(*given)
        return [np.asarray(one) for one in leaves_of(made)[0] if _is_float(one)]

    at = [along(t * STEP) for t in (-2, -1, 1, 2)]
    cotangents = [generator.normal(size=one.shape) for one in at[0]]
    parts = zip(*at, cotangents, strict=True)
    slope = sum(
        float((np.conj(g) * (a - 8 * b + 8 * c - d)).real.sum()) for a, b, c, d, g in parts
    ) / (12 * STEP)
    result = fn(*args)
    leaves, structure = leaves_of(result)
    each = iter(cotangents)
    given = [next(each).astype(np.result_type(one)) if _is_float(one) else one for one in leaves]
    gradient = derived(fn, Pullback)(args, unflatten_tree(structure, iter(given)))
    found = sum(
        float((np.conj(g) * step).real.sum())
        for g, step in zip(leaves_of(gradient)[0], direction, strict=True)
        if step is not None
    )
    size = max(1.0, abs(slope), abs(found))
    if not abs(slope - found) <= TOLERANCE * size:
        raise GradientError(
            f"check_grad of {name_of(fn)}",
            f"a derivative of {found:.9g} along a direction, where differences give {slope:.9g}",
            "correct the derivative given by custom_grad; near a kink no derivative is right",
            user_location(),
        )
    if order > 1:
        check_grad(derived(fn, GradientOfSum), *args, order=order - 1, seed=seed + 1)


def _random_direction(args: Any, generator: np.random.Generator) -> list[Any]:
    """A random direction for each leaf that has floats, None for each other leaf."""
    return [
        generator.normal(size=np.shape(one)).astype(np.result_type(one)) if _is_float(one) else None
        for one in leaves_of(args)[0]
    ]


def _is_float(value: Any) -> bool:
    return isinstance(value, np.ndarray | float | complex | np.generic) and is_inexact(
        np.asarray(value).dtype
    )
