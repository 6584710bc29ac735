"""Storages: writable memory, represented by a chain of versions of its values.

An object that can be written to, such as an axis tensor, has a storage and a view of the storage. A
storage refers to the node of its current version. A write makes the next version; a read refers to
the current version. Nodes refer to storages only by tokens.

A placeholder or variable names a storage. `Assign` writes into a storage, and `Sequential` orders
operations. `with_versions` replaces `Assign` and `Sequential`: each write becomes an `Update` of
the previous version, and each read refers to its version. `reads_of` finds the memory that the
loops of a stored value read, and the maps of the reads.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from axiomjit.base.locks import new_lock
from axiomjit.graph import builder
from axiomjit.graph.library_operations import PRINT
from axiomjit.graph.nodes import (
    PART_VIEWS,
    Constant,
    Graph,
    Input,
    Node,
    Op,
    Token,
    Update,
    base_of,
    post_order,
    rewrite,
    root_of,
    views_on,
    with_operands,
)
from axiomjit.graph.primitives import MATERIALIZE, PACK, UPDATE, VIEW, Primitive
from axiomjit.symbolic.dims import Dim, dim
from axiomjit.symbolic.index_maps import (
    Affine,
    IndexMap,
    compose,
    identity,
    iterator,
    strides_through,
)
from axiomjit.views.descriptions import row_major_strides

_lock: Final = new_lock()
"""The lock held while a next version is made, so that no thread's write is lost."""


class VersionedStorage:
    """Writable memory with its current version; `root` is the node of the first version."""

    __slots__ = ("_version", "root")

    def __init__(self, root: Node) -> None:
        self.root: Final = root
        self._version = root

    @property
    def version(self) -> Node:
        """The node of the current values."""
        return self._version

    def write(self, following: Callable[[Node], Node]) -> None:
        """Replace the current version by `following(version)`."""
        with _lock:
            self._version = following(self._version)

    def current(self, node: Node) -> Node:
        """The node with this storage's current version in place of an earlier version."""
        version = self._version
        if node is version or base_of(node) is version:
            return node
        _, views = views_on(node)
        now = version
        for view in views:
            now = view.replace(operands=(now,))
        return now


def view_map(node: Node) -> tuple[Node, IndexMap] | None:
    """The node that a view reads, and the map between the dimensions of node and view.

    None for a view that repeats elements.
    """
    index, shape = identity(len(node.shape)), node.shape
    while isinstance(node, Op) and node.primitive is VIEW and node.fold is None:
        walked = {k for function in node.maps[0] for k, _ in function.terms}
        if any(k not in walked and n.constant != 1 for k, n in enumerate(node.extents)):
            return None
        index = compose(node.maps[0], index)
        node = node.operands[0]
    return None if any(_repeats(function, shape) for function in index) else (node, index)


def _repeats(function: Affine, shape: tuple[Dim, ...]) -> bool:
    """True if points of a shape may share an index, as in overlapping windows.

    The step of the outer part of a split dimension is a symbolic length, which is large enough.
    """
    steps = [(k, step.constant) for k, step in function.terms if shape[k].constant != 1]
    if len(steps) < 2 or any(step is None for _, step in steps):
        return False
    reach = 0
    for k, step in sorted(steps, key=lambda pair: abs(pair[1] or 0)):
        if abs(step or 0) <= reach:
            return True
        length = shape[k].constant
        reach = sys.maxsize if length is None else reach + abs(step or 0) * (length - 1)
    return False


def update(
    old: Node,
    target: IndexMap,
    value: Node,
    source: IndexMap,
    extents: tuple[Dim, ...],
    positions: Sequence[tuple[Node, IndexMap]] = (),
    lengths: Sequence[Dim] = (),
    combine: Primitive | None = None,
) -> Update:
    """The next version of a storage: a value, read through `source`, is written at `target`.

    Positions, each within its length, are further iterators of the target, after the iterators of
    the extents. `combine` combines the value with the old element.
    """
    nodes, maps = tuple(n for n, _ in positions), tuple(index for _, index in positions)
    parts = (old, value, *nodes), (target, source, *maps), (*extents, *lengths), len(extents)
    return Update(old.dtype, UPDATE, None, *parts, whole=old.shape, combine=combine)


_serials: Final = itertools.count()


class Effect(Node):
    """A node with an effect: it writes, creates a storage, or orders other effects."""


class Assign(Effect):
    """A write of a value, read through `source`, at `target` of the root storage.

    The value of the node is the written part. The serial number distinguishes equal writes. A
    statement, `x[...] = y`, happens after all earlier expressions and before all later expressions.
    A write that is no statement happens when the expression that contains it is computed.
    """

    root: Root
    target: IndexMap
    value: Node
    source: IndexMap
    extents: tuple[Dim, ...]
    serial: int
    statement: bool

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the written part."""
        return self.extents

    @property
    def children(self) -> tuple[Node, ...]:
        """The written value, then the storage."""
        return self.value, self.root


class Materialized(Effect):
    """A new storage, created with a value."""

    value: Node
    storage: Token

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the value."""
        return self.value.shape

    @property
    def children(self) -> tuple[Node, ...]:
        """The value of the storage."""
        return (self.value,)


Root = Input | Materialized


class Sequential(Effect):
    """Operations that run in order; the value of the node is the value of the last operation."""

    steps: tuple[Node, ...]

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the value of the last operation."""
        return self.steps[-1].shape

    @property
    def weak(self) -> bool:
        """True if the last operation gives a Python number."""
        return self.steps[-1].weak

    @property
    def children(self) -> tuple[Node, ...]:
        """The operations, in order."""
        return self.steps


class Version(Effect):
    """The value of a storage after a statement has written into it."""

    effect: Node
    root: Root

    @property
    def shape(self) -> tuple[Dim, ...]:
        """The shape of the storage."""
        return self.root.shape

    @property
    def children(self) -> tuple[Node, ...]:
        """The effect, then the storage."""
        return self.effect, self.root


def storage_root(node: Node) -> Root | None:
    """The storage of a placeholder, variable or version; None for other nodes."""
    root = node.root if isinstance(node, Version) else node
    if isinstance(root, Input) and root.storage is None:
        return None
    return root if isinstance(root, Root) else None


def place_of(node: Node) -> tuple[Root, IndexMap] | None:
    """The storage of which a node is a view, and the map to it; None if the node is not writable.

    Real and imaginary parts, and views that repeat elements, are not writable.
    """
    seen = view_map(node)
    root = None if seen is None else storage_root(seen[0])
    return None if seen is None or root is None else (root, seen[1])


def assignment(
    version: Node, target: IndexMap, value: Node, source: IndexMap, extents: tuple[Dim, ...]
) -> Node:
    """The effect that writes a value, read through `source`, into a part of a storage.

    The value of the effect is the written part. The effect that made this version of the storage
    happens first.
    """
    return _assigned(version, target, value, source, extents, False)


def statement(
    version: Node, target: IndexMap, value: Node, source: IndexMap, extents: tuple[Dim, ...]
) -> Version:
    """The version of a storage after a statement wrote a value into a part of it."""
    effect = _assigned(version, target, value, source, extents, True)
    root = storage_root(version)
    assert root is not None
    return Version(root.dtype, effect, root)


def _assigned(
    version: Node,
    target: IndexMap,
    value: Node,
    source: IndexMap,
    extents: tuple[Dim, ...],
    is_statement: bool,
) -> Node:
    root = storage_root(version)
    assert root is not None, "only what has storage is assigned to"
    serial = next(_serials)
    effect = Assign(root.dtype, root, target, value, source, extents, serial, is_statement)
    return effect if version is root else Sequential(root.dtype, (version, effect))


class _Storage(VersionedStorage):
    """The state of a storage while `with_versions` performs effects in order.

    A node that was built before a statement, or from the version that the statement made, reads the
    version in `bound` until a write outside a statement happens. `writes` counts the writes outside
    statements.
    """

    __slots__ = ("bound", "writes")

    def __init__(self, root: Node) -> None:
        super().__init__(root)
        self.writes = 0
        self.bound: dict[Node, tuple[int, Node]] = {}

    def bind(self, name: Node) -> None:
        """Bind a node of this storage to the current version."""
        self.bound[name] = self.writes, self.version

    def read(self, name: Node) -> Node:
        """The version that a node of this storage reads."""
        writes, version = self.bound.get(name, (-1, self.version))
        return version if writes == self.writes else self.version


class _Effects:
    """The effects of a program, performed in order and once each, and their storages."""

    def __init__(self) -> None:
        self.storages: dict[Node, _Storage] = {}
        self.done: dict[Node, Node] = {}
        self.ran: list[Node] = []

    def value(self, node: Node) -> Node:
        """The node with versions in place of storages; its effects are performed first."""
        for effect in _outermost_effects(node):
            self._perform(effect)
        return self._with_versions(node)

    def _perform(self, effect: Effect) -> None:
        waiting = [effect]
        while (first := _first_effect_inside(waiting[-1])) is not None and first not in self.done:
            waiting.append(first)
        for one in reversed(waiting):
            if one not in self.done:
                self.done[one] = self._performed(one)

    def _performed(self, effect: Effect) -> Node:
        match effect:
            case Assign(root=root, target=target, extents=extents):
                place = target, self.value(effect.value), effect.source, extents
                storage = self._storage(root)
                if not effect.statement:
                    storage.writes += 1
                elif root not in storage.bound:
                    storage.bind(root)
                storage.write(lambda old: update(old, *place))
                return builder.view(storage.version, target, extents)
            case Materialized():
                made = builder.elementwise(MATERIALIZE, self.value(effect.value))
                self.storages[effect] = _Storage(made)
                return made
            case Sequential(steps=steps):
                values = [self.value(step) for step in steps]
                others = zip(steps[:-1], values[:-1], strict=True)
                self.ran += [value for step, value in others if _has_visible_effect(step)]
                return values[-1]
            case Version(effect=write, root=root):
                self.value(write)
                self._storage(root).bind(effect)
                return self._storage(root).version
        raise TypeError(type(effect).__name__)

    def _storage(self, root: Root) -> _Storage:
        if isinstance(root, Materialized):
            self._perform(root)
        return self.storages.setdefault(root, _Storage(root))

    def _with_versions(self, node: Node) -> Node:
        new: dict[Node, Node] = {}
        for part in post_order((node,), _plain_operands):
            match part:
                case Version() | Input() | Materialized():
                    root = part.root if isinstance(part, Version) else part
                    new[part] = self.storages[root].read(part) if root in self.storages else root
                case Effect():
                    new[part] = self.done[part]
                case _:
                    new[part] = with_operands(part, [new[child] for child in part.children])
        return new[node]


def _has_visible_effect(node: Node) -> bool:
    """True if computing a value has a visible effect, which must happen even without users."""
    own = post_order((node,), _plain_operands)
    return any(isinstance(part, Op) and part.primitive is PRINT for part in own)


def _plain_operands(node: Node) -> tuple[Node, ...]:
    """The operands of a node; none for an effect."""
    return () if isinstance(node, Effect) else node.children


def _outermost_effects(node: Node) -> Iterator[Effect]:
    """Yield the outermost effects in a node, from left to right."""
    return (part for part in post_order((node,), _plain_operands) if isinstance(part, Effect))


def _first_effect_inside(effect: Effect) -> Effect | None:
    """The first of the effects that are directly inside an effect; None if there are none."""
    inner = None
    if isinstance(effect, Sequential):
        inner = effect.steps[0]
    elif isinstance(effect, Version):
        inner = effect.effect
    return inner if isinstance(inner, Effect) else None


def with_versions(
    outputs: Sequence[Node], placeholders: Sequence[Input]
) -> tuple[Graph, tuple[Input, ...]]:
    """The program that computes outputs in order, and the variables of the program.

    The inputs of the program are the placeholders, followed by the variables; the number of an
    input is its position. The program writes the inputs that are assigned to. Printed values are
    additional results, before the outputs.
    """
    effects = _Effects()
    results = [effects.value(node) for node in outputs]
    results = [*effects.ran, *results]
    last = {r: s.version for r, s in effects.storages.items() if isinstance(r, Input)}
    found = (n for n in post_order((*results, *last.values())) if isinstance(n, Input))
    variables = tuple(n for n in dict.fromkeys(found) if n not in placeholders)
    inputs = (*placeholders, *variables)
    numbered = {node: node.replace(position=k, storage=None) for k, node in enumerate(inputs)}
    written = [node for node in inputs if node in last]
    nodes = (*results, *(last[node] for node in written))
    positions = tuple(numbered[node].position for node in written)
    graph = Graph(tuple(numbered.values()), nodes, positions)

    def number(node: Node) -> Node:
        return numbered[node] if isinstance(node, Input) else node

    return rewrite(graph, number), variables


def reads_of(
    unit: Op, stored: Collection[Node], operand: int | None = None
) -> dict[Node, set[IndexMap]]:
    """The stored nodes that the loops of an op read, each with the map of the read.

    A map leads from the dimensions of the stored node to the iterators of the op and of the folds
    that are computed inside the op. An update does not read the elements that it overwrites. With
    `operand`, only reads for this operand of the op are listed.
    """
    found: dict[Node, set[IndexMap]] = {}
    first = 1 if isinstance(unit, Update) else 0
    which = slice(first, None) if operand is None else slice(operand, operand + 1)
    stack = list(zip(unit.operands[which], unit.maps[which], strict=True))
    seen: set[tuple[Node, IndexMap]] = set()
    inner = len(unit.extents)
    while stack:
        node, index = stack.pop()
        if (node, index) in seen:
            continue
        seen.add((node, index))
        if not isinstance(node, Op) or node in stored:
            found.setdefault(node, set()).add(index)
            continue
        place = list(index)
        for _ in node.extents[node.rank :]:
            place.append(iterator(inner))
            inner += 1
        stack += [(c, compose(m, place)) for c, m in zip(node.operands, node.maps, strict=True)]
    return found


Strides = tuple[Dim, ...]
_layouts: ContextVar[Mapping[int, Strides] | None] = ContextVar("axiomjit_layouts", default=None)


@contextmanager
def laid_out(layouts: Mapping[int, Strides]) -> Iterator[None]:
    """A context in which the strides of the arguments, in elements and by position, are known."""
    token = _layouts.set(layouts)
    try:
        yield
    finally:
        _layouts.reset(token)


def strides_of(node: Node) -> Strides | None:
    """The strides of a node in elements; None for computed values.

    Arguments, held arrays, copies in C order and views of these have strides, which writes do not
    change. Later stages decide if and how computed values are stored.
    """
    node, views = views_on(node)
    node = root_of(node)
    strides: Strides | None = None
    if type(node) is Input:
        strides = (_layouts.get() or {}).get(node.position)
    elif isinstance(node, Constant):
        strides = strides_of_constant(node)
    elif isinstance(node, Op) and node.primitive is PACK:
        strides = row_major_strides(node.shape)
    for view in views:
        strides = None if strides is None else _strides_of_view(view, strides)
    return strides


def _strides_of_view(view: Op, strides: Strides) -> Strides:
    if view.primitive.name in PART_VIEWS:
        strides = tuple(stride * 2 for stride in strides)
    return strides_through(view.maps[0], strides, view.rank, dim)[1]


def strides_of_constant(node: Constant) -> Strides:
    """The strides of a held array, in elements."""
    return tuple(dim(step // node.array.itemsize) for step in node.array.strides)
