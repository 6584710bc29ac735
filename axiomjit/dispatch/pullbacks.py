"""Derivatives of functions with any results: `vjp`, `jvp`, `jacobian`, `hessian`, `vmap`."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.axis.axis import Axis
from axiomjit.base.errors import GradientError, GraphValueError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import Structure, unflatten_tree
from axiomjit.dispatch.derivatives import (
    Derivative,
    Marks,
    derived,
    gradient_array,
    has_floats,
    leaves_of,
    name_of,
    refuse_labels,
)
from axiomjit.dispatch.gradients import grad
from axiomjit.dispatch.jit import Jitted
from axiomjit.dispatch.named_maps import MappedAxis
from axiomjit.functions.transforms import has_form
from axiomjit.gradients.lifting import lifted
from axiomjit.gradients.marks import marked
from axiomjit.gradients.reverse import gradients
from axiomjit.gradients.transposes import zeros
from axiomjit.graph import builder
from axiomjit.graph.describe import describe_type
from axiomjit.graph.nodes import Node, Scalar
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import split
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.dims import Dim, product
from axiomjit.symbolic.index_maps import fixed, identity
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer, new_array

Call = Callable[..., Any]


class _Followed:
    """A function traced with marked arguments: its result, and the nodes of both."""

    def __init__(self, call: Call, name: str, args: Sequence[Any]) -> None:
        self.name, self.marks = name, Marks(name)
        pairs = [
            self.marks.mark(value, True, f"argument {k}", False) for k, value in enumerate(args)
        ]
        self.trees = [tree for tree, _ in pairs]
        self.inputs = [leaves for _, leaves in pairs]
        self.nodes = [leaf.node for leaves in self.inputs for leaf in leaves]
        self.returned = call(*self.trees)

    def results(self) -> tuple[list[Any], Structure]:
        """The leaves of the result, and their structure."""
        return leaves_of(self.returned)

    def gradient_trees(self, found: Mapping[Node, Node], nodes: Sequence[Node]) -> tuple[Any, ...]:
        """The gradients of all arguments, in their containers; None for leaves without floats."""
        each = iter(nodes)
        made = []
        for tree, leaves in zip(self.trees, self.inputs, strict=True):
            own = iter(leaves)
            parts, structure = leaves_of(tree)
            new = [
                gradient_array(found[next(each)], next(own)) if has_floats(part) else None
                for part in parts
            ]
            made.append(unflatten_tree(structure, iter(new)))
        return tuple(made)


def _seed(leaf: Any, value: Any, name: str) -> Node:
    """The cotangent or tangent of a leaf as a node of its shape and dtype."""
    if isinstance(leaf, AxisValue):
        like: Any = leaf
        value = (0 * like + value).node
    node = builder.strong(builder.as_node(node_of(value), "a cotangent"))
    if len(node.shape) != len(leaf.node.shape) or any(
        a != b for a, b in zip(node.shape, leaf.node.shape, strict=True)
    ):
        raise GraphValueError(
            f"a derivative of {name}",
            f"{describe_type(node)} as the cotangent or tangent of {describe_type(leaf.node)}",
            "give an array of the same shape",
            user_location(),
        )
    return builder.cast(node, leaf.node.dtype)


def _pairs(
    leaves: Sequence[Any], structure: Structure, given: Any, name: str
) -> list[tuple[Node, Node]]:
    """The results that are floats, with their cotangents."""
    values, other = leaves_of(given)
    if other != structure:
        raise GraphValueError(
            f"a derivative of {name}",
            "cotangents or tangents in other containers than the values",
            "give them in the same containers, in the same order",
            user_location(),
        )
    return [
        (leaf.node, _seed(leaf, value, name))
        for leaf, value in zip(leaves, values, strict=True)
        if has_floats(leaf)
    ]


class Pullback(Derivative):
    """`pullback(primals, cotangents)` of a function."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(lambda primals, cotangents: None)

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients of all arguments."""
        primals, cotangents = args
        followed = _Followed(call, name_of(self.function), primals)
        found = gradients(_pairs(*followed.results(), cotangents, followed.name), followed.nodes)
        made = followed.gradient_trees(found, followed.nodes)
        return followed.marks.unmark(made)


class GradientOfSum(Derivative):
    """The gradients of the sum of all results by all arguments."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients, in the containers of the arguments."""
        followed = _Followed(call, name_of(self.function), args)
        results = [leaf.node for leaf in followed.results()[0] if has_floats(leaf)]
        ones = [Scalar(node.dtype, node.dtype.type(1), False) for node in results]
        seeds = [
            (node, builder.broadcast_to(one, node.shape))
            for node, one in zip(results, ones, strict=True)
        ]
        found = gradients(seeds, followed.nodes)
        return followed.marks.unmark(followed.gradient_trees(found, followed.nodes))


class Pushforward(Derivative):
    """`pushforward(primals, tangents)` of a function: the result and its tangent."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(lambda primals, tangents: None)

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result, and its tangent in the same containers."""
        primals, tangents = args
        followed = _Followed(call, name_of(self.function), primals)
        leaves, structure = followed.results()
        seeds: list[Node] = []
        for tree, given in zip(followed.trees, tangents, strict=True):
            seeds += [seed for _, seed in _pairs(*leaves_of(tree), given, followed.name)]
        made = tangents_of(followed, leaves, seeds)
        whole = iter(made)
        new = [gradient_array(next(whole), leaf) if has_floats(leaf) else 0.0 for leaf in leaves]
        result = followed.returned, unflatten_tree(structure, iter(new))
        return followed.marks.unmark(result)


def tangents_of(followed: _Followed, leaves: Sequence[Any], seeds: Sequence[Node]) -> list[Node]:
    """The tangents of results: the adjoint of the pullback, which is linear in the cotangents."""
    results = [leaf.node for leaf in leaves if has_floats(leaf)]
    unknown = [marked(zeros(node.dtype, node.shape)) for node in results]
    followed.marks.nodes += unknown
    found = gradients(list(zip(results, unknown, strict=True)), followed.nodes)
    pulled = [(found[node], seed) for node, seed in zip(followed.nodes, seeds, strict=True)]
    tangents = gradients(pulled, unknown)
    return [tangents[node] for node in unknown]


def _called(function: Call, *args: Any) -> Any:
    """Call a function in a trace that has not seen the call."""
    return function(*args)


class _KeptPullback(Derivative):
    """The pullback of one `vjp` in a trace."""

    def __init__(self, followed: _Followed) -> None:
        self.function = _no_function
        self._followed = followed

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients of all arguments."""
        (cotangents,) = args
        followed = self._followed
        pairs = _pairs(*followed.results(), cotangents, followed.name)
        found = gradients(pairs, followed.nodes)
        return followed.marks.unmark(followed.gradient_trees(found, followed.nodes))


def _no_function() -> None:
    """Stands for a function that was traced already."""


def _traced_vjp(call: Call, fn: Any, *primals: Any, has_aux: bool = False) -> Any:
    followed = _Followed(lambda *args: call(fn, *args), name_of(fn), primals)
    aux: Any = None
    if has_aux:
        followed.returned, aux = followed.returned
    result = followed.marks.unmark((followed.returned, aux))
    pullback = _KeptPullback(followed)
    return (result[0], pullback, result[1]) if has_aux else (result[0], pullback)


@has_form(_traced_vjp)
@hides_frames
def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of a function, and the function that pulls cotangents of it back.

    Args:
        fn: The function, compiled or not.
        primals: Its arguments.
        has_aux: True if it returns (result, aux).

    Returns:
        `(result, pullback)`, or `(result, pullback, aux)`. `pullback(g)` takes cotangents in the
        containers of the result, and returns a tuple: for each argument the gradient of
        `sum(g * result)`, in the argument's containers.

    Examples:
        >>> y, pullback = aj.vjp(lambda x: x * x, np.array([1.0, 2.0]))
        >>> pullback(np.array([1.0, 10.0]))
        (array([ 2., 40.]),)
    """
    if current() is not None:
        made: tuple[Any, ...] = _traced_vjp(_called, fn, *primals, has_aux=has_aux)
        return made
    kept = _copied(primals)
    result = derived(fn, Value)(*kept)
    if has_aux:
        result, aux = result
        return result, _Applied(derived(fn, ResultOf), kept), aux
    return result, _Applied(derived(fn, Pullback), kept)


class Value(Derivative):
    """The function itself."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result; what the function writes into arguments is written into copies."""
        followed = _Followed(call, name_of(self.function), args)
        return followed.marks.unmark(followed.returned)


class ResultOf(Pullback):
    """The pullback of the first of two results."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients of all arguments."""
        return super().follow(lambda *given: call(*given)[0], args, kwargs)


class _Applied:
    """A compiled pullback with its primals."""

    def __init__(self, compiled: Jitted[..., Any], primals: tuple[Any, ...]) -> None:
        self._compiled, self._primals = compiled, primals

    def __call__(self, cotangents: Any) -> Any:
        """The gradients of all arguments."""
        return self._compiled(self._primals, cotangents)


def _copied(tree: Any) -> Any:
    """The tree with copies of its arrays, which later writes do not change."""
    leaves, structure = leaves_of(tree)
    new = (leaf.copy() if isinstance(leaf, np.ndarray) else leaf for leaf in leaves)
    return unflatten_tree(structure, new)


def _traced_jvp(call: Call, fn: Any, primals: Any, tangents: Any) -> Any:
    inner = Pushforward(fn)
    return inner.follow(lambda *args: call(fn, *args), (primals, tangents), {})


@has_form(_traced_jvp)
@hides_frames
def jvp(fn: Callable[..., Any], primals: Sequence[Any], tangents: Sequence[Any]) -> Any:
    """The result of a function, and its derivative along tangents of the arguments.

    Args:
        fn: The function, compiled or not.
        primals: Its arguments.
        tangents: A tangent for each, in the same containers.

    Returns:
        `(result, tangent)`, in the same containers.

    Examples:
        >>> aj.jvp(np.sin, (np.zeros(2),), (np.array([1.0, 2.0]),))
        (array([0., 0.]), array([1., 2.]))
    """
    refuse_labels(f"jvp of {name_of(fn)}", (*primals, *tangents))
    if current() is not None:
        return _traced_jvp(_called, fn, primals, tangents)
    return derived(fn, Pushforward)(tuple(primals), tuple(tangents))


class Jacobian(Derivative):
    """All derivatives of the results by some arguments."""

    def __init__(self, function: Call, argnums: int | tuple[int, ...], mode: str) -> None:
        """Choose the arguments, and the direction."""
        super().__init__(function)
        self.argnums, self.mode = argnums, mode

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The Jacobians, in the containers of the result, then of the argument."""
        numbers = (self.argnums,) if isinstance(self.argnums, int) else self.argnums
        chosen = [n + len(args) if n < 0 else n for n in numbers]
        name = name_of(self.function)
        for n in chosen:
            Marks(name).mark(args[n], True, f"argument {n}")

        def of_chosen(*some: Any) -> Any:
            given = list(args)
            for n, value in zip(chosen, some, strict=True):
                given[n] = value
            return call(*given, **kwargs)

        followed = _Followed(of_chosen, name, [args[n] for n in chosen])
        leaves, structure = followed.results()
        rows = [self._row(followed, leaf) for leaf in leaves]
        if isinstance(self.argnums, int):
            rows = [row[0] for row in rows]
        return followed.marks.unmark(unflatten_tree(structure, iter(rows)))

    def _row(self, followed: _Followed, leaf: Any) -> tuple[Any, ...]:
        """The Jacobians of one result by all arguments."""
        if not has_floats(leaf) or isinstance(leaf, AxisValue):
            raise GradientError(
                f"the Jacobian of {followed.name}",
                "a result that is no array of floats, or a tensor",
                "return arrays of floats",
                user_location(),
            )
        node = leaf.node
        sizes = [product(one.shape) for one in followed.nodes]
        total = sizes[0]
        for size in sizes[1:]:
            total = total + size
        forward = self.mode == "forward" or (self.mode == "auto" and product(node.shape) > total)
        make = _by_columns if forward else _by_rows
        found = make(followed, leaf)
        return followed.gradient_trees(
            dict(zip(followed.nodes, found, strict=True)), followed.nodes
        )


def basis(node: Node) -> tuple[Node, Dim]:
    """All arrays like a node with a one at one place, in C order, and their number."""
    count = product(node.shape)
    rank = len(node.shape)
    number = positions_along((count, *node.shape), (0,))
    place = positions_along((count, *node.shape), range(1, rank + 1))
    same = builder.elementwise(PRIMITIVES["equal"], number, place)
    return builder.cast(same, node.dtype), count


def _by_rows(followed: _Followed, leaf: Tracer) -> list[Node]:
    """The Jacobians of a result: a pullback for each of its elements."""
    node = leaf.node
    unknown = marked(zeros(node.dtype, node.shape))
    followed.marks.nodes.append(unknown)
    found = gradients([(node, unknown)], followed.nodes)
    rows, count = basis(node)
    made = lifted([found[one] for one in followed.nodes], {unknown: rows}, count)
    return [_apart(one, 0, node.shape) for one in made]


def _by_columns(followed: _Followed, leaf: Tracer) -> list[Node]:
    """The Jacobians of a result: a tangent for each element of an argument."""
    made = []
    for k, one in enumerate(followed.nodes):
        unknown = [marked(zeros(node.dtype, node.shape)) for node in followed.nodes]
        followed.marks.nodes += unknown
        (tangent,) = tangents_of(followed, [leaf], unknown)
        columns, count = basis(one)
        (column,) = lifted([tangent], {unknown[k]: columns}, count)
        rank = len(leaf.node.shape)
        turned = builder.transpose(column, [*range(1, rank + 1), 0])
        made.append(_apart(turned, rank, one.shape))
    return made


def _apart(node: Node, at: int, lengths: tuple[Dim, ...]) -> Node:
    """The node with dimensions of these lengths in place of one; without it if there are none."""
    if lengths:
        return split(node, at, lengths)
    shape = (*node.shape[:at], *node.shape[at + 1 :])
    places = identity(len(shape))
    return builder.view(node, (*places[:at], fixed(0), *places[at:]), shape)


_MODES: Final = ("auto", "reverse", "forward")


@hides_frames
def jacobian(
    fn: Callable[..., Any], argnums: int | Sequence[int] = 0, mode: str = "auto"
) -> Jitted[..., Any]:
    """The compiled function of all derivatives of a function's results.

    Args:
        fn: The function, compiled or not, of arrays that returns arrays.
        argnums: The positions of the arguments to differentiate by: an int, or a sequence.
        mode: "reverse" pulls each element of a result back, "forward" pushes each element of an
            argument; "auto" chooses by their numbers.

    Returns:
        A compiled function. For each result and argument it returns an array with the dimensions
        of the result, then those of the argument; a tuple for a sequence of `argnums`.

    Raises:
        GraphValueError: there is no such mode.

    Examples:
        >>> aj.jacobian(lambda x: x * x)(np.array([1.0, 2.0]))
        array([[2., 0.],
               [0., 4.]])
    """
    if mode not in _MODES:
        raise GraphValueError(
            f"jacobian(mode={mode!r})",
            "no mode of this name",
            f"give one of {', '.join(_MODES)}",
            user_location(),
        )
    numbers = argnums if isinstance(argnums, int) else tuple(argnums)
    return derived(fn, Jacobian, numbers, mode)


@hides_frames
def hessian(fn: Callable[..., Any], argnums: int = 0) -> Jitted[..., Any]:
    """The compiled function of all second derivatives of a function that returns one float.

    Args:
        fn: The function, compiled or not.
        argnums: The position of the argument to differentiate by.

    Returns:
        A compiled function that returns an array with the dimensions of the argument twice.

    Examples:
        >>> aj.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
        array([[ 6.,  0.],
               [ 0., 12.]])
    """
    return jacobian(grad(fn, argnums), argnums)


class Mapped(Derivative):
    """A function for many values of its arguments at once."""

    def __init__(self, function: Call, in_axes: Any, out_axes: int) -> None:
        """Choose the axes of the arguments and of the results."""
        super().__init__(function)
        self.in_axes, self.out_axes = in_axes, out_axes

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The results, with the mapped axis among their dimensions."""
        axes = self.in_axes if isinstance(self.in_axes, tuple) else (self.in_axes,) * len(args)
        name = name_of(self.function)
        if len(axes) != len(args):
            raise _wrong_axes(name, f"in_axes={axes} for {amount(len(args), 'argument')}")
        given: dict[Node, Node] = {}
        lengths: list[Dim] = []
        rows = [
            value if axis is None else self._row(value, axis, given, lengths)
            for value, axis in zip(args, axes, strict=True)
        ]
        if not lengths:
            raise _wrong_axes(name, "no array among the mapped arguments")
        if any(length != lengths[0] for length in lengths):
            raise _wrong_axes(name, "axes of different lengths")
        leaves, structure = leaves_of(call(*rows, **kwargs))
        places = [k for k, leaf in enumerate(leaves) if isinstance(leaf, Tracer)]
        made = lifted([leaves[k].node for k in places], given, lengths[0])
        for k, node in zip(places, made, strict=True):
            leaves[k] = new_array(_with_axis(node, self.out_axes))
        return unflatten_tree(structure, iter(leaves))

    def _row(self, tree: Any, axis: int, given: dict[Node, Node], lengths: list[Dim]) -> Any:
        """An argument with its first element along the axis for each array."""
        leaves, structure = leaves_of(tree)
        new = []
        for leaf in leaves:
            if not (isinstance(leaf, Tracer) and leaf.node.shape):
                raise _wrong_axes(name_of(self.function), "an argument without dimensions")
            node = leaf.node
            at = axis % len(node.shape)
            front = builder.transpose(node, [at, *(d for d in range(len(node.shape)) if d != at)])
            lengths.append(front.shape[0])
            rest = front.shape[1:]
            row = marked(builder.view(front, (fixed(0), *identity(len(rest))), rest))
            given[row] = front
            new.append(new_array(row) if row.shape else Tracer(row))
        return unflatten_tree(structure, iter(new))


def _with_axis(node: Node, axis: int) -> Node:
    """The node with its first dimension moved."""
    rank = len(node.shape)
    at = axis % rank
    order = [*range(1, at + 1), 0, *range(at + 1, rank)]
    return builder.transpose(node, order)


def _wrong_axes(name: str, seen: str) -> GraphValueError:
    return GraphValueError(
        f"vmap of {name}",
        seen,
        "give in_axes one axis for each argument, and None for those that are the same for all",
        user_location(),
    )


@hides_frames
def vmap(
    fn: Callable[..., Any], in_axes: Any = 0, out_axes: int = 0, axis: str | Axis | None = None
) -> Jitted[..., Any]:
    """The compiled function for many values of its arguments at once.

    Args:
        fn: The function of one value, compiled or not.
        in_axes: The axis along which the values of an argument are: one for all, or a tuple with
            one for each and None for those that are the same for all values.
        out_axes: The position of that axis in the results.
        axis: An axis of named arrays, or its name, instead: the function gets those that have it
            without it, and the results have it in front.

    Returns:
        A compiled function of the same arguments, each with one dimension more.

    Raises, when called:
        GraphValueError: the axes have different lengths, an argument has no dimensions, or no
            named array has the axis.
        UnsupportedError: a library function in it has no form for stacks.

    Examples:
        >>> aj.vmap(np.dot, (0, None))(np.ones((3, 2)), np.array([1.0, 2.0]))
        array([3., 3., 3.])
    """
    if axis is not None:
        return derived(fn, MappedAxis, axis)
    axes = tuple(in_axes) if isinstance(in_axes, list) else in_axes
    return derived(fn, Mapped, axes, out_axes)
