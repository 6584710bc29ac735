"""`vjp`, `jvp`, `jacobian` and `hessian` of functions with results of any shape, and `vmap`.

`vmap` also takes an axis of named arrays and tensors.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.axis.axes import Axes
from axiomjit.axis.axis import Axis
from axiomjit.axis.tensors import Tensor, labelled
from axiomjit.base.errors import GradientError, GraphValueError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.trace_context import current
from axiomjit.base.tree import (
    Branch,
    Leaf,
    Structure,
    flatten_tree,
    leaf_count,
    unflatten_tree,
)
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
from axiomjit.functions.transforms import has_form
from axiomjit.gradients.lifting import lifted
from axiomjit.gradients.marks import marked
from axiomjit.gradients.reverse import gradients
from axiomjit.gradients.transposes import zeros
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node, Scalar, describe_type
from axiomjit.graph.primitives import PRIMITIVES
from axiomjit.graph.reductions import positions_along
from axiomjit.graph.shape_ops import split
from axiomjit.graph.traced_values import AxisValue
from axiomjit.symbolic.dims import Dim, product
from axiomjit.symbolic.index_maps import fixed, identity
from axiomjit.tracing.operators import node_of
from axiomjit.tracing.tracer import Tracer, new_array


class MappedAxis(Derivative):
    """A function of tensors, mapped over one axis that the function itself does not see."""

    def __init__(self, function: Callable[..., Any], axis: str | Axis) -> None:
        """Take the function and the axis, or the name of the axis."""
        super().__init__(function)
        self.axis = axis

    def follow(
        self, call: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> Any:
        """The results; a result that depends on the mapped arguments has the axis in front."""
        leaves, structure = leaves_of((tuple(args), dict(kwargs)))
        given: dict[Node, Node] = {}
        found = dict.fromkeys(a for one in leaves for a in self._own(one))
        if len(found) != 1:
            raise self._refused(
                "no named array with this axis" if not found else "different axes of this name"
            )
        (axis,) = found
        rows = [self._row(one, axis, given) if self._own(one) else one for one in leaves]
        whole: Any = unflatten_tree(structure, iter(rows))
        results, made = leaves_of(call(*whole[0], **whole[1]))
        places = [k for k, one in enumerate(results) if isinstance(one, Tensor)]
        length = next(iter(given.values())).shape[0]
        nodes = lifted([results[k].node for k in places], given, length)
        for k, node in zip(places, nodes, strict=True):
            if axis in results[k].axes:
                raise self._refused(f"a result that has the axis {axis} itself")
            results[k] = labelled(node, Axes((axis, *results[k].axes)), results[k])
        return unflatten_tree(made, iter(results))

    def _own(self, leaf: Any) -> list[Axis]:
        """The mapped axis in a list; an empty list if the leaf is not a tensor with this axis."""
        axes = leaf.axes if isinstance(leaf, Tensor) else ()
        return [one for one in axes if self.axis in (one, one.name)]

    def _row(self, tensor: Tensor, axis: Axis, given: dict[Node, Node]) -> Tensor:
        """The marked tensor at one position along the axis; `given` has its full node."""
        node, at = tensor.node, tensor.axes.index(axis)
        order = [at, *(d for d in range(len(node.shape)) if d != at)]
        front = builder.transpose(node, order)
        rest = front.shape[1:]
        row = marked(builder.view(front, (fixed(0), *identity(len(rest))), rest))
        given[row] = front
        return labelled(row, Axes(one for one in tensor.axes if one is not axis), tensor)

    def _refused(self, seen: str) -> GraphValueError:
        return GraphValueError(
            f"vmap of {name_of(self.function)} along axis {self.axis}",
            seen,
            "give named arrays, one or more of them with the axis; the function gets them "
            "without it",
            user_location(),
        )


Call = Callable[..., Any]


class _MarkedTrace:
    """The trace of a function with marked arguments: the result, and the nodes of the arguments."""

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
        """The leaves of the result, and the structure of the result."""
        return leaves_of(self.returned)

    def gradient_trees(
        self,
        found: Mapping[Node, Node],
        nodes: Sequence[Node],
        made_of: Callable[[Node, Any], Any] = gradient_array,
    ) -> tuple[Any, ...]:
        """The gradients of all arguments, in the containers of the arguments.

        A leaf without floats has None in place of a gradient. `made_of` makes an array or tensor
        of a gradient and the leaf.
        """
        each = iter(nodes)
        made = []
        for tree, leaves in zip(self.trees, self.inputs, strict=True):
            own = iter(leaves)
            parts, structure = leaves_of(tree)
            new = [
                made_of(found[next(each)], next(own)) if has_floats(part) else None
                for part in parts
            ]
            made.append(unflatten_tree(structure, iter(new)))
        return tuple(made)


def _seed(leaf: Any, value: Any, name: str) -> Node:
    """The cotangent or tangent of a leaf, as a node with the shape and dtype of the leaf."""
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
    """Pairs of a result that has floats and the cotangent of this result."""
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
    """The pullback of a function, with the arguments `(primals, cotangents)`."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(lambda primals, cotangents: None)

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients of all arguments."""
        primals, cotangents = args
        followed = _MarkedTrace(call, name_of(self.function), primals)
        found = gradients(_pairs(*followed.results(), cotangents, followed.name), followed.nodes)
        made = followed.gradient_trees(found, followed.nodes)
        return followed.marks.unmark(made)


class GradientOfSum(Derivative):
    """The gradients of the sum of all results with respect to all arguments."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients with respect to all arguments, in the same containers."""
        followed = _MarkedTrace(call, name_of(self.function), args)
        results = [leaf.node for leaf in followed.results()[0] if has_floats(leaf)]
        ones = [Scalar(node.dtype, node.dtype.type(1), False) for node in results]
        seeds = [
            (node, builder.broadcast_to(one, node.shape))
            for node, one in zip(results, ones, strict=True)
        ]
        found = gradients(seeds, followed.nodes)
        return followed.marks.unmark(followed.gradient_trees(found, followed.nodes))


class Pushforward(Derivative):
    """The pushforward of a function: from `(primals, tangents)`, the result and its tangent."""

    @property
    def __signature__(self) -> inspect.Signature:
        return inspect.signature(lambda primals, tangents: None)

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result, and its tangent in the containers of the result."""
        primals, tangents = args
        followed = _MarkedTrace(call, name_of(self.function), primals)
        leaves, structure = followed.results()
        seeds: list[Node] = []
        for tree, given in zip(followed.trees, tangents, strict=True):
            seeds += [seed for _, seed in _pairs(*leaves_of(tree), given, followed.name)]
        made = tangents_of(followed, leaves, seeds)
        whole = iter(made)
        new = [gradient_array(next(whole), leaf) if has_floats(leaf) else 0.0 for leaf in leaves]
        result = followed.returned, unflatten_tree(structure, iter(new))
        return followed.marks.unmark(result)


def tangents_of(followed: _MarkedTrace, leaves: Sequence[Any], seeds: Sequence[Node]) -> list[Node]:
    """The tangents of results, as the adjoint of the pullback, which is linear in cotangents."""
    results = [leaf.node for leaf in leaves if has_floats(leaf)]
    unknown = [marked(zeros(node.dtype, node.shape)) for node in results]
    followed.marks.nodes += unknown
    found = gradients(list(zip(results, unknown, strict=True)), followed.nodes)
    pulled = [(found[node], seed) for node, seed in zip(followed.nodes, seeds, strict=True)]
    tangents = gradients(pulled, unknown)
    return [tangents[node] for node in unknown]


def _called(function: Call, *args: Any) -> Any:
    """The result of a function called inside a trace, which records the function's operations."""
    return function(*args)


class _TracedPullback(Derivative):
    """The pullback that `vjp` returns inside a trace."""

    def __init__(self, followed: _MarkedTrace) -> None:
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
    """The function of a transform that needs no function, since it was traced already."""


def _traced_vjp(call: Call, fn: Any, *primals: Any, has_aux: bool = False) -> Any:
    followed = _MarkedTrace(lambda *args: call(fn, *args), name_of(fn), primals)
    aux: Any = None
    if has_aux:
        followed.returned, aux = followed.returned
    result = followed.marks.unmark((followed.returned, aux))
    pullback = _TracedPullback(followed)
    return (result[0], pullback, result[1]) if has_aux else (result[0], pullback)


@has_form(_traced_vjp)
@hides_frames
def vjp(fn: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """The result of a function, and its pullback, which maps cotangents to gradients.

    Args:
        fn: The function, compiled or not.
        primals: The arguments of the function.
        has_aux: True if the function returns (result, aux).

    Returns:
        `(result, pullback)`, or `(result, pullback, aux)`. `pullback(g)` takes cotangents in the
        containers of the result, and returns a tuple. For each argument the tuple has the gradient
        of `sum(g * result)`, in the containers of the argument.

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
        return result, _BoundPullback(derived(fn, ResultOf), kept), aux
    return result, _BoundPullback(derived(fn, Pullback), kept)


class Value(Derivative):
    """The function itself, compiled like a derivative."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The result; the function writes into copies of its arguments."""
        traced = _MarkedTrace(call, name_of(self.function), args)
        return traced.marks.unmark(traced.returned)


class ResultOf(Pullback):
    """The pullback of the first result of a function that returns `(result, aux)`."""

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The gradients of all arguments."""
        return super().follow(lambda *given: call(*given)[0], args, kwargs)


class _BoundPullback:
    """A compiled pullback, and the primals at which it is evaluated."""

    def __init__(self, compiled: Jitted[..., Any], primals: tuple[Any, ...]) -> None:
        self._compiled, self._primals = compiled, primals

    def __call__(self, cotangents: Any) -> Any:
        """The gradients of all arguments."""
        return self._compiled(self._primals, cotangents)


def _copied(tree: Any) -> Any:
    """The tree with copies of its arrays; later writes into the arrays do not change the copies."""
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
        primals: The arguments of the function.
        tangents: A tangent for each argument, in the containers of the argument.

    Returns:
        `(result, tangent)`; the tangent has the containers of the result.

    Examples:
        >>> aj.jvp(np.sin, (np.zeros(2),), (np.array([1.0, 2.0]),))
        (array([0., 0.]), array([1., 2.]))
    """
    refuse_labels(f"jvp of {name_of(fn)}", (*primals, *tangents))
    if current() is not None:
        return _traced_jvp(_called, fn, primals, tangents)
    return derived(fn, Pushforward)(tuple(primals), tuple(tangents))


class Jacobian(Derivative):
    """The derivatives of all result elements with respect to all elements of selected arguments."""

    def __init__(self, function: Call, argnums: int | tuple[int, ...], mode: str) -> None:
        """Take the function, the positions of the arguments, and the mode."""
        super().__init__(function)
        self.argnums, self.mode = argnums, mode

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The Jacobians; containers of the result contain containers of the argument."""
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

        followed = _MarkedTrace(of_chosen, name, [args[n] for n in chosen])
        leaves, structure = followed.results()
        rows = [self._row(followed, leaf) for leaf in leaves]
        if isinstance(self.argnums, int):
            rows = [row[0] for row in rows]
        return followed.marks.unmark(unflatten_tree(structure, iter(rows)))

    def _row(self, followed: _MarkedTrace, leaf: Any) -> tuple[Any, ...]:
        """The Jacobians of one result, by each of the selected arguments."""
        if not has_floats(leaf):
            raise GradientError(
                f"the Jacobian of {followed.name}",
                "a result that is no array of floats",
                "return arrays of floats",
                user_location(),
            )
        sizes = [_number_of_elements(one) for leaves in followed.inputs for one in leaves]
        total = sum(sizes[1:], sizes[0])
        forward = self.mode == "auto" and _number_of_elements(leaf) > total
        make = _by_columns if forward or self.mode == "forward" else _by_rows
        found = make(followed, leaf)
        return followed.gradient_trees(
            dict(zip(followed.nodes, found, strict=True)),
            followed.nodes,
            lambda node, argument: _jacobian_array(node, leaf, argument),
        )


def _jacobian_array(node: Node, result: Any, argument: Any) -> Any:
    """The derivatives of a result with respect to an argument, as an array or a tensor.

    A tensor has the axes of the result, then the dual axes of the argument, so that `dot` contracts
    the dual axes with the axes of a change of the argument (ngraph axes, "Dot operation").
    """
    if not isinstance(argument, Tensor):
        return gradient_array(node, argument)
    return labelled(node, result.axes + argument.axes.get_dual(-1), result, argument)


def _number_of_elements(leaf: Any) -> Any:
    """The number of elements of a traced array; for a tensor, by the present lengths of its axes.

    An axis whose length is not known counts as 1.
    """
    if not isinstance(leaf, Tensor):
        return product(leaf.node.shape)
    return math.prod(1 if axis.length is None else axis.length for axis in leaf.axes)


def basis(node: Node) -> tuple[Node, Dim]:
    """The unit arrays of a node's shape, one for each element, and the number of unit arrays."""
    count = product(node.shape)
    rank = len(node.shape)
    number = positions_along((count, *node.shape), (0,))
    place = positions_along((count, *node.shape), range(1, rank + 1))
    same = builder.elementwise(PRIMITIVES["equal"], number, place)
    return builder.cast(same, node.dtype), count


def _by_rows(followed: _MarkedTrace, leaf: Tracer) -> list[Node]:
    """The Jacobians of a result, by one pullback for each element of the result."""
    node = leaf.node
    unknown = marked(zeros(node.dtype, node.shape))
    followed.marks.nodes.append(unknown)
    found = gradients([(node, unknown)], followed.nodes)
    rows, count = basis(node)
    made = lifted([found[one] for one in followed.nodes], {unknown: rows}, count)
    return [_split_dimension(one, 0, node.shape) for one in made]


def _by_columns(followed: _MarkedTrace, leaf: Tracer) -> list[Node]:
    """The Jacobians of a result, computed from one tangent for each element of the arguments."""
    made = []
    for k, one in enumerate(followed.nodes):
        unknown = [marked(zeros(node.dtype, node.shape)) for node in followed.nodes]
        followed.marks.nodes += unknown
        (tangent,) = tangents_of(followed, [leaf], unknown)
        columns, count = basis(one)
        (column,) = lifted([tangent], {unknown[k]: columns}, count)
        rank = len(leaf.node.shape)
        turned = builder.transpose(column, [*range(1, rank + 1), 0])
        made.append(_split_dimension(turned, rank, one.shape))
    return made


def _split_dimension(node: Node, at: int, lengths: tuple[Dim, ...]) -> Node:
    """The node with dimension `at` split into dimensions of `lengths`; `()` drops the dimension."""
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
    """The compiled Jacobian: the derivatives of all elements of the results.

    Args:
        fn: A function of arrays that returns arrays, compiled or not.
        argnums: The positions of the arguments to differentiate with respect to: an int or a
            sequence.
        mode: "reverse" computes a pullback per element of the result, "forward" a tangent per
            element of the argument; "auto" selects the mode that computes fewer.

    Returns:
        A compiled function. For each result and argument, the function returns an array with the
        dimensions of the result, then the dimensions of the argument. For named arrays, the result
        has the argument's axes as dual axes (`axis - 1`), which `dot` contracts with the axes of a
        change of the argument. For a sequence of `argnums`, the function returns a tuple.

    Raises:
        GraphValueError: the mode is unknown.

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
    """The compiled Hessian: all second derivatives of a function that returns one float.

    Args:
        fn: The function, compiled or not.
        argnums: The position of the argument to differentiate by.

    Returns:
        A compiled function, which returns an array with the dimensions of the argument, twice.

    Examples:
        >>> aj.hessian(lambda x: (x**3).sum())(np.array([1.0, 2.0]))
        array([[ 6.,  0.],
               [ 0., 12.]])
    """
    return jacobian(grad(fn, argnums), argnums)


class Mapped(Derivative):
    """A function mapped over many values of its arguments."""

    def __init__(
        self, function: Call, in_axes: Sequence[Any], structure: Structure, out_axes: int
    ) -> None:
        """Take the function, the axes of arguments, in containers, and the axis of results."""
        super().__init__(function)
        self.in_axes, self.out_axes = unflatten_tree(structure, iter(in_axes)), out_axes

    def follow(self, call: Call, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The results, whose dimensions include the mapped axis."""
        own = self.in_axes
        axes: Sequence[Any] = own if isinstance(own, tuple | list) else (own,) * len(args)
        name = name_of(self.function)
        if len(axes) != len(args):
            raise _wrong_axes(name, f"in_axes={axes} for {amount(len(args), 'argument')}")
        given: dict[Node, Node] = {}
        lengths: list[Dim] = []
        rows = [
            self._row(value, axis, given, lengths) for value, axis in zip(args, axes, strict=True)
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

    def _row(self, tree: Any, axes: Any, given: dict[Node, Node], lengths: list[Dim]) -> Any:
        """The argument; a marked view at one position of the axis replaces each of its arrays."""
        leaves, structure = leaves_of(tree)
        found, outline = flatten_tree(axes)
        new = []
        for leaf, axis in zip(leaves, self._per_leaf(outline, structure, iter(found)), strict=True):
            if axis is None:
                new.append(leaf)
                continue
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

    def _per_leaf(self, axes: Structure, own: Structure, found: Iterator[Any]) -> list[Any]:
        """The axis of each leaf of an argument; one axis holds for all leaves of a container."""
        if isinstance(axes, Leaf):
            return [next(found)] * leaf_count(own)
        if isinstance(axes, Branch) and isinstance(own, Branch):
            forms = [(one.kind, one.keys, len(one.parts)) for one in (axes, own)]
            if forms[0] == forms[1]:
                pairs = zip(axes.parts, own.parts, strict=True)
                return [axis for pair in pairs for axis in self._per_leaf(*pair, found)]
        raise _wrong_axes(name_of(self.function), "containers in in_axes that the arguments lack")


def _with_axis(node: Node, axis: int) -> Node:
    """The node with its first dimension moved to position `axis`."""
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
    """The compiled function that maps a function over many values of its arguments.

    Args:
        fn: The function of one value, compiled or not.
        in_axes: The axis of an array along which its values are: one axis for all arguments, or a
            tuple with an axis per argument, and None for an argument with a single value. For an
            argument that is a container, an axis for all of it, or a container of axes.
        out_axes: The position of the mapped axis in the results.
        axis: An axis of named arrays, or its name, in place of `in_axes`. The function gets arrays
            without this axis; the results have the axis in front.

    Returns:
        A compiled function with the same arguments; each mapped array has one more dimension.

    Raises, when called:
        GraphValueError: the axes have different lengths, an argument has no dimensions, or no
            named array has the axis.
        UnsupportedError: the function calls a library function that cannot be mapped.

    Examples:
        >>> aj.vmap(np.dot, (0, None))(np.ones((3, 2)), np.array([1.0, 2.0]))
        array([3., 3., 3.])
    """
    if axis is not None:
        return derived(fn, MappedAxis, axis)
    axes, structure = flatten_tree(in_axes)
    return derived(fn, Mapped, tuple(axes), structure, out_axes)
