"""`grad` and its like: compiled functions whose body is a function, then its adjoint."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.dtypes import is_complex, is_inexact
from axiomjit.base.errors import GraphTypeError, GraphValueError, NeedsValuesError
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import Structure, flatten_tree, unflatten_tree
from axiomjit.dispatch.jit import Jitted
from axiomjit.functions.transforms import Transform, has_form
from axiomjit.gradients.reverse import Marked, gradients, marked, unmarked
from axiomjit.graph import builder
from axiomjit.graph.describe import describe_type
from axiomjit.graph.nodes import Node, Op, Scalar, base_of
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.tracing.holders import traced_inside
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.tracer import Tracer, new_array, represented

_VJP: Final = "use vjp, which takes the cotangent of any result, or jacobian"


def leaves_of(value: object) -> tuple[list[Any], Structure]:
    """The leaves of nested containers, and their structure."""
    return flatten_tree(value, opens=lambda one: traced_inside(one) is not None)


class Marks:
    """The marked copies of the arguments of one gradient."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.nodes: list[Marked] = []

    def mark(self, tree: Any, by: bool, asked: str) -> tuple[Any, list[Tracer]]:
        """A tree with marked copies of its arrays, and the copies to take derivatives by."""
        leaves, structure = leaves_of(tree)
        chosen: list[Tracer] = []
        new: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Tracer) and is_inexact(leaf.node.dtype):
                node = marked(leaf.node)
                self.nodes.append(node)
                copy = new_array(node) if leaf.is_array else Tracer(node)
                chosen.append(copy)
                new.append(copy)
            elif by:
                raise self._no_float(leaf, asked)
            elif isinstance(leaf, Tracer) and leaf.is_array:
                node = marked(leaf.node)
                self.nodes.append(node)
                new.append(new_array(node))
            else:
                new.append(leaf)
        return unflatten_tree(structure, iter(new)), chosen

    def _no_float(self, leaf: Any, asked: str) -> GraphTypeError:
        seen = "an integer" if isinstance(leaf, SymbolicNumber | int) else type(leaf).__name__
        if isinstance(leaf, Tracer):
            seen = describe_type(leaf.node)
        return GraphTypeError(
            f"the gradient of {self.name} by {asked}",
            f"{seen}, which has no derivatives",
            "pass floats, for example x.astype(float), or choose other arguments by argnums",
            user_location(),
        )

    def unmark(self, tree: Any) -> Any:
        """The tree with the values that the marks stand for."""
        leaves, structure = leaves_of(tree)
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        nodes = unmarked([leaves[k].node for k in places], self.nodes)
        for k, node in zip(places, nodes, strict=True):
            leaves[k] = represented(node, leaves[k].is_array)
        return unflatten_tree(structure, iter(leaves))


def gradient_array(node: Node, like: Tracer) -> Tracer:
    """A gradient as a new array or number, like its argument."""
    if like.node.weak:
        return Tracer(builder.python_number(node))
    if not isinstance(base_of(node), Op):
        node = builder.elementwise(COPY, node)
    return new_array(node) if like.is_array else Tracer(node)


def result_node(value: object, name: str, holomorphic: bool) -> Node:
    """The node of the one float that a function returns.

    Raises:
        GraphTypeError: it returns something else.
    """
    node = value.node if isinstance(value, Tracer) else None
    if node is None and isinstance(value, float | np.floating | complex | np.complexfloating):
        node = builder.as_node(value, "grad")
    wanted = "complex number" if holomorphic else "float"
    if node is None or node.shape or not is_inexact(node.dtype):
        seen = f"a result of type {type(value).__name__}" if node is None else describe_type(node)
        raise GraphTypeError(
            f"the gradient of {name}", f"{seen}, not one {wanted}", _VJP, user_location()
        )
    if is_complex(node.dtype) is not holomorphic:
        remedy = (
            "pass complex arguments"
            if holomorphic
            else "give holomorphic=True for f'(z) of a "
            "holomorphic function, or return a real number such as abs(z)"
        )
        raise GraphTypeError(
            f"the gradient of {name}",
            f"{describe_type(node)}, not one {wanted}",
            remedy,
            user_location(),
        )
    return node


class _Derivative(Transform):
    """A function with derivatives; it runs only while it is traced."""

    def in_numpy(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Trace where a trace runs that has not seen the call; refuse otherwise."""
        if current() is not None:
            return self.run(self.function, args, kwargs)
        raise NeedsValuesError(
            f"the gradient of {_name_of(self.function)}",
            "a function that cannot be traced, or np.errstate that asks for errors of numbers",
            "write np.where(condition, a, b) instead of branches on values, and call it without "
            "np.errstate",
            user_location(),
        )


class Gradient(_Derivative):
    """The gradient of a function by some arguments, with or without its value."""

    def __init__(
        self,
        function: Callable[..., Any],
        argnums: int | tuple[int, ...],
        argnames: str | tuple[str, ...] | None,
        has_aux: bool,
        holomorphic: bool,
        with_value: bool,
    ) -> None:
        """Choose the arguments; `with_value` gives (value, gradient)."""
        super().__init__(function)
        self.argnums, self.argnames = argnums, argnames
        self.has_aux, self.holomorphic, self.with_value = has_aux, holomorphic, with_value

    def _names(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[str | int]:
        """For each chosen argument its position, or its name where it is passed by name."""
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
                    f"the gradient of {_name_of(self.function)} by argument {one}",
                    f"a call with {len(args)} positional arguments and "
                    f"{', '.join(kwargs) or 'none'} by name",
                    "choose arguments of the call by argnums or argnames",
                    user_location(),
                )
        return chosen

    def run(self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Trace the function, then its adjoint."""
        name = _name_of(self.function)
        marks, chosen = Marks(name), self._names(args, kwargs)
        trees: dict[str | int, list[Tracer]] = {}
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
        leaves: Sequence[Tracer],
        inputs: Sequence[Node],
        found: Mapping[Node, Node],
    ) -> Any:
        """The gradient by an argument, in the argument's containers."""
        _, structure = leaves_of(tree)
        made = []
        for leaf, node in zip(leaves, inputs, strict=True):
            value = found[node]
            if self.holomorphic and is_complex(value.dtype):
                value = builder.elementwise(PRIMITIVES["conjugate"], value)
            made.append(gradient_array(value, leaf))
        return unflatten_tree(structure, iter(made))


def _two_of(returned: Any, name: str) -> tuple[Any, Any]:
    if isinstance(returned, tuple) and len(returned) == 2:
        return returned[0], returned[1]
    raise GraphTypeError(
        f"the gradient of {name} with has_aux=True",
        f"a result of type {type(returned).__name__}, not a pair",
        "return (value, aux), or leave has_aux out",
        user_location(),
    )


def _name_of(function: object) -> str:
    return str(getattr(function, "__qualname__", type(function).__qualname__))


_KEPT: Final[BoundedTable[Hashable, Jitted[..., Any]]] = BoundedTable()
"""Compiled derivatives by function and options, so that `grad(f)(x)` in a loop compiles once."""


def derived(
    function: Callable[..., Any],
    make: Callable[..., Transform],
    *options: Any,
    strict: bool = False,
) -> Jitted[..., Any]:
    """The compiled derivative of a function, the same one for the same options."""
    key = id(function), make, options, strict
    known = _KEPT.get(key)
    if known is not None:
        return known
    static: Sequence[str] = ()
    inner = function
    if isinstance(function, Jitted):
        static, inner = tuple(function._static), function._function
    return _KEPT.keep(key, _Derived(make(function, *options), inner, static, strict))


class _Derived(Jitted[..., Any]):
    """A compiled derivative; it keeps its function, whose identity is its key."""

    def __init__(
        self,
        transform: Transform,
        inner: Callable[..., Any],
        static: Sequence[str],
        strict: bool,
    ) -> None:
        super().__init__(transform, static, strict)
        self._of = inner


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
        fn: The function, compiled or not.
        argnums: The positions of the arguments to differentiate by: an int, or a sequence.
        argnames: Their names instead.
        has_aux: True if the function returns (value, aux); the result is then (gradient, aux).
        holomorphic: True to get f'(z) of a holomorphic function of complex arguments.
        strict: As for `jit`.

    Returns:
        A compiled function of the same arguments. Its result has the containers, shapes and dtypes
        of the argument; a tuple for a sequence of `argnums`, a dict for one of `argnames`.

    Raises, when called:
        GraphTypeError: the result is not one float, or an argument has no floats.
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

    With `has_aux` it returns ((value, aux), gradient). `scipy.optimize.minimize(f, x, jac=True)`
    takes such functions.

    Examples:
        >>> value, gradient = aj.value_and_grad(lambda x: np.sqrt((x**2).sum()))(np.array([3.0, 4]))
        >>> float(value), gradient
        (5.0, array([0.6, 0.8]))
    """
    options = _options(argnums, argnames, has_aux, holomorphic)
    return derived(fn, Gradient, *options, True, strict=strict)


_ = has_form
