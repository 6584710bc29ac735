"""`grad` and `value_and_grad`: compiled functions that run a function, then its adjoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import is_complex, is_inexact
from axiomjit.base.errors import GradientError, GraphValueError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.tree import data_leaves, is_labelled, unflatten_tree
from axiomjit.dispatch.derivatives import (
    Derivative,
    Marks,
    derived,
    gradient_array,
    is_traced,
    leaves_of,
    name_of,
)
from axiomjit.dispatch.jit import Jitted
from axiomjit.gradients.reverse import gradients
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Scalar, describe_type
from axiomjit.graph.primitives import PRIMITIVES

_VJP: Final = "use vjp, which takes the cotangent of any result, or jacobian"


def result_node(value: Any, name: str, holomorphic: bool) -> Node:
    """The node of a function's result, which must be one float.

    Raises:
        GradientError: the result is not one float.
    """
    remedy = _VJP
    if is_labelled(value):
        leaves, structure = leaves_of(value)
        data = [one for one, is_data in zip(leaves, data_leaves(structure), strict=True) if is_data]
        value = data[0] if len(data) == 1 else value
        remedy = "reduce it to one number, such as x.sum()"
    node: Node | None = value.node if is_traced(value) else None
    if node is None and isinstance(value, float | np.floating | complex | np.complexfloating):
        node = builder.as_node(value, "grad")
    wanted = "complex number" if holomorphic else "float"
    if node is None or node.shape or not is_inexact(node.dtype):
        seen = f"a result of type {type(value).__name__}" if node is None else describe_type(node)
        raise GradientError(
            f"the gradient of {name}", f"{seen}, not one {wanted}", remedy, user_location()
        )
    if is_complex(node.dtype) is not holomorphic:
        remedy = (
            "pass complex arguments"
            if holomorphic
            else "give holomorphic=True for f'(z) of a "
            "holomorphic function, or return a real number such as abs(z)"
        )
        raise GradientError(
            f"the gradient of {name}",
            f"{describe_type(node)}, not one {wanted}",
            remedy,
            user_location(),
        )
    return node


class Gradient(Derivative):
    """The gradient of a function by selected arguments, with or without the function's value."""

    takes_labels = True

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | tuple[int, ...],
        argnames: str | tuple[str, ...] | None,
        has_aux: bool,
        holomorphic: bool,
        with_value: bool,
    ) -> None:
        """Select the arguments; with `with_value`, the result is (value, gradient)."""
        super().__init__(function)
        self.argnums, self.argnames = argnums, argnames
        self.has_aux, self.holomorphic, self.with_value = has_aux, holomorphic, with_value

    def _names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str | int]:
        """For each selected argument, its position, or its name for an argument passed by name."""
        parameters = list(inspect.signature(self.function).parameters)
        chosen: list[str | int] = []
        if self.argnames is not None:
            names = (self.argnames,) if isinstance(self.argnames, str) else self.argnames
            for name in names:
                place = parameters.index(name) if name in parameters else len(args)
                chosen.append(name if name in kwargs else place)
        else:
            numbers = (self.argnums,) if isinstance(self.argnums, int) else self.argnums
            for number in numbers:
                place = number if number >= 0 else number + len(args)
                known = 0 <= place < len(args) or not 0 <= place < len(parameters)
                chosen.append(place if known else parameters[place])
        for one in chosen:
            if (one not in kwargs) if isinstance(one, str) else not 0 <= one < len(args):
                raise GraphValueError(
                    f"the gradient of {name_of(self.function)} by argument {one}",
                    f"a call with {len(args)} positional arguments and "
                    f"{', '.join(kwargs) or 'none'} by name",
                    "choose arguments of the call by argnums or argnames",
                    user_location(),
                )
        return chosen

    def follow(
        self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """Trace the function, then its adjoint."""
        name = name_of(self.function)
        marks, chosen = Marks(name), self._names(args, kwargs)
        trees: dict[str | int, list[Any]] = {}
        positional, named = list(args), dict(kwargs)
        for k, value in enumerate(args):
            positional[k], trees[k] = marks.mark(value, k in chosen, f"argument {k}")
        for key, value in kwargs.items():
            named[key], trees[key] = marks.mark(value, key in chosen, f"argument {key!r}")
        given = {one: positional[one] if isinstance(one, int) else named[one] for one in chosen}
        inputs = {one: [leaf.node for leaf in trees[one]] for one in chosen}
        returned = call(*positional, **named)
        aux: Any = None
        if self.has_aux:
            returned, aux = _two_of(returned, name)
        node = result_node(returned, name, self.holomorphic)
        one = Scalar(node.dtype, node.dtype.type(1), False)
        every = [leaf for each in inputs.values() for leaf in each]
        found = gradients([(node, one)], every)
        made = [self._tree(given[one], trees[one], inputs[one], found) for one in chosen]
        single = self.argnums if self.argnames is None else self.argnames
        gradient: Any = made[0] if isinstance(single, int | str) else tuple(made)
        if self.argnames is not None and not isinstance(self.argnames, str):
            gradient = dict(zip(self.argnames, made, strict=True))
        value = (returned, aux) if self.has_aux else returned
        if not self.with_value:
            return marks.unmark((gradient, aux) if self.has_aux else gradient)
        return marks.unmark((value, gradient))

    def _tree(
        self,
        tree: Any,
        leaves: Sequence[Any],
        inputs: Sequence[Node],
        found: Mapping[Node, Node],
    ) -> Any:
        """The gradient with respect to an argument, with its containers and coordinates."""
        every, structure = leaves_of(tree)
        made = []
        for leaf, node in zip(leaves, inputs, strict=True):
            value = found[node]
            if self.holomorphic and is_complex(value.dtype):
                value = builder.elementwise(PRIMITIVES["conjugate"], value)
            made.append(gradient_array(value, leaf))
        rest = iter(made)
        are_data = data_leaves(structure)
        pairs = zip(every, are_data, strict=True)
        return unflatten_tree(structure, iter([next(rest) if d else one for one, d in pairs]))


def _two_of(returned: Any, name: str) -> tuple[Any, Any]:
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned[0], returned[1]
    raise GradientError(
        f"the gradient of {name} with has_aux=True",
        f"a result of type {type(returned).__name__}, not a pair",
        "return (value, aux), or leave has_aux out",
        user_location(),
    )


def _options(
    argnums: Any, argnames: Any, has_aux: bool, holomorphic: bool
) -> tuple[Any, Any, bool, bool]:
    numbers = argnums if isinstance(argnums, int) else tuple(argnums)
    names = argnames if argnames is None or isinstance(argnames, str) else tuple(argnames)
    return numbers, names, bool(has_aux), bool(holomorphic)


@hides_frames
def grad(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    strict: bool = False,
) -> Jitted[..., Any]:
    """The compiled gradient of a function that returns one float.

    Args:
        fn: The function to differentiate, compiled or not.
        argnums: The positions of the arguments to differentiate by: an int, or a sequence.
        argnames: The names of the arguments to differentiate by, in place of `argnums`.
        has_aux: True if the function returns (value, aux); the result is then (gradient, aux).
        holomorphic: True to get f'(z) of a holomorphic function of complex arguments.
        strict: True to raise an error if the function needs values that are not known during the
            trace. Without `strict`, calls that need such values are traced one by one, slowly, with
            one warning.

    Returns:
        A compiled function with the same arguments. The gradient has the containers, shapes and
        dtypes of the argument. For a sequence of `argnums` the result is a tuple, for a sequence of
        `argnames` a dict.

    Raises, when called:
        GradientError: the result is not one float, or an argument has no floats.
        UnsupportedError: an operation has no derivative rule; the error names the line.

    Examples:
        >>> aj.grad(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
        array([ 3., 12.])
    """
    options = _options(argnums, argnames, has_aux, holomorphic)
    return derived(fn, Gradient, *options, False, strict=strict)


@hides_frames
def value_and_grad(
    fn: Callable[..., Any],
    argnums: int | Sequence[int] = 0,
    argnames: str | Sequence[str] | None = None,
    has_aux: bool = False,
    holomorphic: bool = False,
    strict: bool = False,
) -> Jitted[..., Any]:
    """The compiled function that returns (value, gradient); see `grad`.

    With `has_aux` the function returns ((value, aux), gradient). The function can be passed to
    `scipy.optimize.minimize(f, x, jac=True)`.

    Examples:
        >>> value, gradient = aj.value_and_grad(lambda x: np.sqrt((x**2).sum()))(np.array([3.0, 4]))
        >>> float(value), gradient
        (5.0, array([0.6, 0.8]))
    """
    options = _options(argnums, argnames, has_aux, holomorphic)
    return derived(fn, Gradient, *options, True, strict=strict)
