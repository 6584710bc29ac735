"""The axis graph: a program with symbolic lengths and without layout.

An `Op` is a primitive, an optional fold (a reduction), and for each operand occurrence a map from
the operand's dimensions to the op's own iterators. Iterators 0 to rank - 1 are the dimensions of
the result; the other iterators are reduced, in their order. Nodes are immutable and compared by
identity; equal computations are one node. The user's lines are stored beside the graph (`note`,
`origin`); axes and names are stored in the front ends.

Glossary: axis (named dimension), length (of an axis), Dim (symbolic length), iterator and extent
(of a loop), map (operand dimensions to iterators), view (map onto a storage), fold (apply an
accumulator along iterators), kernel (one compiled loop nest), plan (steps in order).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from itertools import accumulate, pairwise
from operator import attrgetter
from typing import Final, TypeVar
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np

from axiomjit.base.dtypes import ELEMENT_TYPES, INT, DType, is_bool
from axiomjit.base.errors import TraceError
from axiomjit.base.locks import new_lock
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record, RecordType, cached_property
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.primitives import (
    BITS_AS,
    BITS_VIEWS,
    GATHER,
    IMAG,
    NUMBER,
    REAL,
    UPDATE,
    FoldRule,
    Primitive,
)
from axiomjit.symbolic.data_dependent import DataDependent, data_dependent_in
from axiomjit.symbolic.dims import Dim, Symbol, current_scope, symbols_in
from axiomjit.symbolic.index_maps import Conditions, IndexMap, Region, compose


class NodeType(RecordType):
    """The metaclass of nodes: it returns an existing node if the computation is the same."""

    def __call__(cls, *values: object, **named: object) -> Node:
        """The node of a class with these fields; equal fields give the same object."""
        node: Node = super().__call__(*values, **named)
        key = (cls, *node.identity())
        with _lock:
            return _interned.setdefault(key, node)


class Node(Record, metaclass=NodeType):
    """A value with a known dtype and a symbolic shape."""

    __slots__ = ("__dict__", "__weakref__")

    dtype: DType

    __eq__ = object.__eq__
    __hash__ = object.__hash__

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The length of each dimension of the value."""
        return ()

    @property
    def weak(self) -> bool:
        """True if the value is a Python number, which is weak in NumPy's promotion."""
        return False

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands of the node."""
        return ()

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols in all lengths of the fields, and in those of a library operation."""
        found: list[Dim] = []

        def noted(length: Dim) -> Dim:
            found.append(length)
            return length

        map_fields(self, lambda child: child, noted)
        if isinstance(self, Op) and isinstance(self.primitive, LibraryOperation):
            found += self.primitive.lengths
        return symbols_in(*found)

    def __bool__(self) -> bool:
        raise TypeError("the truth of a value that is not known")

    def __repr__(self) -> str:
        lengths = ", ".join(str(length) for length in self.shape)
        return f"{type(self).__name__}({self.dtype}[{lengths}])"

    def identity(self) -> tuple[object, ...]:
        """The key of the node's computation; nodes with equal keys are one object."""
        return type(self)._values(self)


_lock: Final = new_lock()
_interned: Final[WeakValueDictionary[tuple[object, ...], Node]] = WeakValueDictionary()


AnyNode = TypeVar("AnyNode", bound="Node")
_origins: Final[WeakKeyDictionary[Node, str]] = WeakKeyDictionary()


def note(node: AnyNode) -> AnyNode:
    """Record the user's current line for a node that has no line yet."""
    if node not in _origins:
        where = user_location()
        if where is not None:
            _origins[node] = where
    return node


def inherit(new: AnyNode, old: AnyNode) -> None:
    """Copy the line of an old node to its replacement, if the replacement has none."""
    where = _origins.get(old)
    if new is not old and where is not None:
        _origins.setdefault(new, where)


def origin(node: Node) -> str | None:
    """The user's line that made the node, as `file:line`; None if it is unknown."""
    return _origins.get(node)


class Token:
    """The identity of a storage, which nodes refer to; a token holds no data."""

    __slots__ = ("__weakref__",)


class Input(Node):
    """The argument of the program at a position; `is_weak` is true for a Python number.

    In front ends, `storage` is the token of the input's storage if the input is assignable.
    """

    position: int
    extents: tuple[Dim, ...]
    is_weak: bool = False
    storage: Token | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the argument."""
        return self.extents

    @property
    def weak(self) -> bool:
        """True if the argument is a Python number."""
        return self.is_weak


class Scalar(Node):
    """A number written in the program; its key has the bits, which distinguish -0.0 and NaNs."""

    value: np.generic
    is_weak: bool

    @property
    def weak(self) -> bool:
        """True if the number is a Python number."""
        return self.is_weak

    def identity(self) -> tuple[object, ...]:
        """The key of a scalar: its dtype, its bits, and True if it is weak."""
        return self.dtype, self.value.tobytes(), self.is_weak


class Constant(Node):
    """An array that the program holds: a constant, or a captured array."""

    array: np.ndarray
    extents: tuple[Dim, ...]

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the array."""
        return self.extents

    def identity(self) -> tuple[object, ...]:
        """The key of an array: the object and its layout, which users can change in place."""
        return id(self.array), self.dtype, self.extents, self.array.strides


class LengthNode(Node):
    """A length used as a number, such as the divisor of a mean; a weak int64."""

    length: Dim

    @property
    def weak(self) -> bool:
        """True, since a length is promoted like a Python integer."""
        return True


class Op(Node):
    """A primitive at every point of an iteration space; iterators from `rank` on are reduced.

    A join has a region per operand. The regions are disjoint boxes that cover the iteration space;
    the value at a point is the value of the operand whose region contains the point. Ops that are
    no joins have no regions. An op with a fold but without reduced iterators is a scan: its values
    are the partial reductions along the last iterator.

    Points of the iteration space that violate one of the `conditions` are skipped: nothing is read
    or reduced there. Without a fold, the values at skipped points are undefined, and only ops with
    conditions of their own read the op. A gather has no fold, and no loops over the iterators from
    `rank` on. At each point of a gather, the iterators from `rank` on have the values of the
    operands after the first, which were checked to be within the extents.
    """

    primitive: Primitive
    fold: FoldRule | None
    operands: tuple[Node, ...]
    maps: tuple[IndexMap, ...]
    extents: tuple[Dim, ...]
    rank: int
    regions: tuple[Region, ...] = ()
    conditions: Conditions = ()

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The extents of the iterators that are not reduced."""
        return self.extents[: self.rank]

    @property
    def looped_extents(self) -> tuple[Dim, ...]:
        """The extents of the iterators with loops; iterators of a gather's positions have none."""
        return self.extents[: self.rank] if self.primitive in (GATHER, UPDATE) else self.extents

    @property
    def weak(self) -> bool:
        """True if the value is a Python number: arithmetic of Python numbers, or a random draw."""
        # A stack avoids recursion on long chains; leaves are checked first, to finish early.
        seen: set[Node] = set()
        stack: list[Op] = [self]
        while stack:
            node = stack.pop()
            if node.primitive is NUMBER:
                continue
            if isinstance(node.primitive, LibraryOperation) and node.primitive.number:
                continue
            arithmetic = node.primitive.keeps_weak and not is_bool(node.dtype)
            leaves = (child for child in node.operands if not isinstance(child, Op))
            if not arithmetic or node.extents or not all(leaf.weak for leaf in leaves):
                return False
            stack += [c for c in node.operands if isinstance(c, Op) and c not in seen]
            seen.update(node.operands)
        return True

    @property
    def children(self) -> tuple[Node, ...]:
        """The operands, repeated if an operand occurs several times."""
        return self.operands


class Update(Op):
    """The next version of a storage: the second operand overwrites a part of the first.

    The iteration space is the iteration space of the second operand. For each point of the
    iteration space, the first map gives the element that is replaced; no element is replaced twice.
    The value has the shape of the first operand, `whole`. In the view program, the update writes
    into the memory of the first operand.

    Further operands are positions, as in a gather; the op is then a scatter. Several points of a
    scatter may write the same element. In a scatter, either the last value in C order remains, or
    each value is combined with the old value, in the dtype of the values.
    """

    whole: tuple[Dim, ...] = ()
    combine: Primitive | None = None

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the storage; it is a field, since chains of versions may be long."""
        return self.whole


class Saved(Op):
    """A stored copy of a value that is overwritten later; `number` distinguishes equal copies."""

    number: int = 0


def size(length: Dim) -> LengthNode:
    """The node with the value of a length."""
    return LengthNode(INT, length)


class Graph(Record):
    """A program: its inputs, in the order of arguments, and its outputs.

    `writes` are the positions of inputs that the program changes. The last outputs, one per write
    in order, are the final values of the inputs in `writes`; they are written but not returned. The
    counts of `data_dependent` lengths are outputs, too, between the results and the final values.
    """

    __slots__ = ("__dict__", "__weakref__")

    inputs: tuple[Input, ...]
    outputs: tuple[Node, ...]
    writes: tuple[int, ...] = ()
    data_dependent: tuple[DataDependent, ...] = ()

    @property
    def results(self) -> tuple[Node, ...]:
        """The outputs that the program returns."""
        return self.outputs[: len(self.outputs) - len(self.writes) - len(self.data_dependent)]

    @property
    def counts(self) -> tuple[Node, ...]:
        """The outputs that compute data-dependent lengths."""
        first = len(self.results)
        return self.outputs[first : first + len(self.data_dependent)]

    @property
    def final_values(self) -> tuple[Node, ...]:
        """The final values of the written inputs."""
        return self.outputs[len(self.outputs) - len(self.writes) :]

    @cached_property
    def nodes(self) -> tuple[Node, ...]:
        """All nodes on which the outputs depend, operands before users."""
        return tuple(post_order(self.outputs))

    @cached_property
    def ops(self) -> tuple[Op, ...]:
        """The nodes that are ops."""
        return tuple([node for node in self.nodes if isinstance(node, Op)])


def post_order(
    outputs: tuple[Node, ...],
    children: Callable[[Node], tuple[Node, ...]] = attrgetter("children"),
) -> list[Node]:
    """The nodes on which outputs depend, each once, operands before users.

    The function is iterative, so that long chains cause no deep recursion. `children` may leave out
    operands, which are then not visited.
    """
    opened: set[Node] = set()
    found: dict[Node, None] = {}
    stack = [*reversed(outputs)]
    while stack:
        node = stack[-1]
        if node in opened:  # all its operands are in `found`
            found[stack.pop()] = None
        else:
            opened.add(node)
            stack += [child for child in reversed(children(node)) if child not in opened]
    return list(found)


def rebuild(graph: Graph, rule: Callable[[Node, dict[Node, Node]], Node]) -> Graph:
    """The graph in which `rule` replaces every node, operands first.

    `rule` gets the node and the new nodes made so far. Unchanged parts of the graph remain the same
    objects.
    """
    new: dict[Node, Node] = {}
    for node in graph.nodes:
        new[node] = rule(node, new)
        inherit(new[node], node)
    outputs = tuple(new[node] for node in graph.outputs)
    return graph if outputs == graph.outputs else graph.replace(outputs=outputs)


def with_operands(node: Node, operands: Sequence[Node]) -> Node:
    """The op with other operands; a node without operands is returned unchanged."""
    if not isinstance(node, Op) or tuple(operands) == node.operands:
        return node
    return node.replace(operands=tuple(operands))


def map_fields(node: Node, other: Callable[[Node], Node], length: Callable[[Dim], Dim]) -> Node:
    """A copy of a node with functions applied to the nodes and to the lengths in its fields."""

    def leaf(value: object) -> object:
        if isinstance(value, Dim):
            return length(value)
        return other(value) if isinstance(value, Node) else value

    return node.map((Dim, Node, Primitive, FoldRule), leaf)


def rewrite(graph: Graph, rule: Callable[[Node], Node]) -> Graph:
    """The graph in which `rule` replaces every node, after its operands were replaced."""
    return rebuild(graph, lambda n, new: rule(with_operands(n, [new[c] for c in n.children])))


def users(graph: Graph) -> dict[Node, list[Op]]:
    """For each node, the ops that read it, once per occurrence."""
    found: dict[Node, list[Op]] = {}
    for node in graph.nodes:
        found.setdefault(node, [])
        if isinstance(node, Op):
            for child in node.operands:
                found[child].append(node)
    return found


Readers = dict[tuple[Op, IndexMap], None]
"""Ops that read a value, each with the map from the value to its iterators."""


def loop_readers(
    node: Node,
    users: Mapping[Node, Sequence[Op]],
    stored: Container[Node],
    known: Mapping[Node, Readers],
) -> Readers:
    """The ops whose loops read a value; `known` has these ops for each user of the value.

    A user reads the value in its own loops if the user is stored, is a fold, or gathers from the
    value. Any other user is computed inside the loops of its own readers, which then read the
    value.
    """
    found: Readers = {}
    for user in dict.fromkeys(users[node]):
        if is_view(user):
            continue
        for k, (child, index) in enumerate(zip(user.operands, user.maps, strict=True)):
            if child is not node:
                continue
            gathered = user.primitive is GATHER and k == 0
            if user in stored or user.fold is not None or gathered:
                found[user, index] = None
            else:
                found.update(((op, compose(index, outer)), None) for op, outer in known[user])
    return found


def is_partial(node: Node) -> bool:
    """True if a node has undefined elements, at points where a condition does not hold."""
    return isinstance(node, Op) and bool(node.conditions) and node.rank == len(node.extents)


PART_VIEWS: Final = {"real_view": REAL, "imag_view": IMAG}
"""For each view of real or imaginary parts, the primitive that computes the same parts."""
ELEMENT_VIEWS: Final = PART_VIEWS | {
    view.name: BITS_AS[dtype] for dtype, view in BITS_VIEWS.items()
}
"""For each view with elements of another dtype, the primitive that computes these elements."""


def is_scan(node: Node) -> bool:
    """True if a node is a scan: it has the partial reductions along its last iterator."""
    return isinstance(node, Op) and node.fold is not None and node.rank == len(node.extents)


VIEWS: Final = ("view", "read_only", *ELEMENT_VIEWS)
"""The names of the primitives of views."""


def is_view(node: Node) -> bool:
    """True if a node is a view: it only reads another node through a map."""
    return isinstance(node, Op) and node.fold is None and node.primitive.name in VIEWS


def root_of(node: Node) -> Node:
    """The first version of the storage to which a node belongs."""
    while isinstance(node, Update):
        node = node.operands[0]
    return node


def base_of(node: Node) -> Node:
    """The node that a view reads; the node itself if it is not a view."""
    while is_view(node):
        node = node.children[0]
    return node


def views_on(node: Node) -> tuple[Node, list[Op]]:
    """The node below a chain of views, and the views, with the outermost view last."""
    views: list[Op] = []
    while is_view(node):
        assert isinstance(node, Op)
        views.append(node)
        node = node.operands[0]
    return node, views[::-1]


def operand_iterators(op: Op) -> tuple[tuple[int, ...], ...]:
    """For each operand of a library operation, the iterators of its dimensions.

    A single operand uses all iterators, and so do the operands of an operation that keeps all
    iterators. Any other library operation has two operands. Each operand uses the iterators in its
    map. The first operand also uses the iterators that are in neither map; its values repeat along
    them. If the operation declares `ranks`, each operand has only iterators of its own.
    """
    library = op.primitive if isinstance(op.primitive, LibraryOperation) else None
    if library is not None and library.ranks is not None:
        ends = accumulate(library.ranks, initial=op.rank)
        return tuple(tuple(range(low, high)) for low, high in pairwise(ends))
    if len(op.operands) == 1 or (library is not None and library.keeps):
        return (tuple(range(len(op.extents))),) * len(op.operands)
    first, second = (
        tuple(dict.fromkeys(k for function in index for k, _ in function.terms))
        for index in op.maps
    )
    repeated = (k for k in range(op.rank + 1) if k not in (*first, *second))
    return (*first, *repeated), second


def describe_length(length: Dim) -> str:
    """The text of a length: its value in this call, or its name if the value is not known."""
    if data_dependent_in(length):
        return str(length)
    try:
        return str(current_scope().value(length))
    except (TraceError, KeyError):
        return str(length)


def describe_shape(shape: tuple[Dim, ...]) -> str:
    """The text of a shape with its known lengths, such as `[3, 100]`."""
    return "[" + ", ".join(map(describe_length, shape)) + "]"


def describe_type(value: object) -> str:
    """The text of a value's type, such as `float64[3, 100]`, `a Python float` or `a str`."""
    if not isinstance(value, Node):
        return f"a {type(value).__name__}"
    if value.weak:
        return f"a Python {ELEMENT_TYPES[value.dtype].python.__name__}"
    return f"{value.dtype}{describe_shape(value.shape)}{_explain_masks(value)}"


def describe_call(name: str, *operands: object) -> str:
    """The text of a call with the types of its operands, such as `add(float64[3], a str)`."""
    types = (describe_type(value).removesuffix(_explain_masks(value)) for value in operands)
    return f"{name}({', '.join(types)}){_explain_masks(*operands)}"


def _explain_masks(*values: object) -> str:
    """An explanation of the data-dependent lengths of values; an empty text if there are none."""
    lengths = (length for v in values if isinstance(v, Node) for length in v.shape)
    names = sorted(symbol.name for symbol in data_dependent_in(*lengths))
    if not names:
        return ""
    numbers = "the number" if len(names) == 1 else "the numbers"
    masks = "a mask chooses" if len(names) == 1 else "masks choose"
    return f" ({', '.join(names)}: {numbers} of elements that {masks})"
