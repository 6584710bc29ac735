"""`vmap` of a function along an axis of named arrays and tensors."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from axiomjit.axis.axes import Axes
from axiomjit.axis.axis import Axis
from axiomjit.axis.tensors import Tensor, labelled
from axiomjit.base.errors import GraphValueError
from axiomjit.base.origins import user_location
from axiomjit.base.tree import unflatten_tree
from axiomjit.dispatch.derivatives import Derivative, leaves_of, name_of
from axiomjit.gradients.lifting import lifted
from axiomjit.gradients.marks import marked
from axiomjit.graph import builder
from axiomjit.graph.nodes import Node
from axiomjit.symbolic.index_maps import fixed, identity


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
