"""Effects on storages, as the doors write them down, and how they become versions.

A placeholder or variable names a storage. `Assign` writes into one, `Sequence` puts operations in
an order; both stand in graphs only until `with_versions` has followed them in their order: then
each write is an `Update` of the version before, and each read is of the version of its moment.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from typing import Final

import numpy as np

from axiomjit import builder
from axiomjit.dense_layout import Layout
from axiomjit.dims import Dim
from axiomjit.graph import Graph, Input, Node, Op, Update, base_of, is_view, post_order
from axiomjit.index_maps import IndexMap, compose, identity
from axiomjit.library_rows import PRINT
from axiomjit.primitives import MATERIALIZE, UPDATE, VIEW

_serials: Final = itertools.count()


class Memory:
    """The storage of a placeholder or variable.

    `latest` stands for what it holds after the writes that `x[...] = y` has put down, None before
    the first one. `layout` is how it lies, where that was asked for; `start` makes the first
    values of a variable, by shape.
    """

    __slots__ = ("latest", "layout", "start")

    def __init__(
        self,
        layout: Layout | str | None = None,
        start: Callable[[tuple[int, ...]], np.ndarray] | None = None,
    ) -> None:
        """A storage that nothing was written into yet."""
        self.layout: Final = layout
        self.start: Final = start
        self.latest: Later | None = None


class Effect(Node):
    """A node that stands for something that happens."""


class Assign(Effect):
    """A value is written into a storage: at `target` of the root, read at `source`.

    Its value is the part that was written; the serial number tells equal writes apart. One that
    was `put_down` by `x[...] = y` happens between what was built before and what is built after;
    others happen where they stand.
    """

    root: Root
    target: IndexMap
    value: Node
    source: IndexMap
    extents: tuple[Dim, ...]
    serial: int
    put_down: bool

    @property
    def shape(self) -> tuple[Dim, ...]:
        """That of the part."""
        return self.extents

    @property
    def children(self) -> tuple[Node, ...]:
        """The value, then the storage."""
        return self.value, self.root


class Fresh(Effect):
    """A storage that is made at this moment and holds a value."""

    value: Node
    memory: Memory

    @property
    def shape(self) -> tuple[Dim, ...]:
        """That of the value."""
        return self.value.shape

    @property
    def children(self) -> tuple[Node, ...]:
        """The value."""
        return (self.value,)


Root = Input | Fresh


class Steps(Effect):
    """Operations in an order; the value is that of the last one, when it has its turn."""

    steps: tuple[Node, ...]

    @property
    def shape(self) -> tuple[Dim, ...]:
        """That of the last one."""
        return self.steps[-1].shape

    @property
    def weak(self) -> bool:
        """Whether the last one is a Python number."""
        return self.steps[-1].weak

    @property
    def children(self) -> tuple[Node, ...]:
        """The operations."""
        return self.steps


class Later(Effect):
    """A storage after a write that was put down."""

    before: Node
    root: Root

    @property
    def shape(self) -> tuple[Dim, ...]:
        """That of the storage."""
        return self.root.shape

    @property
    def children(self) -> tuple[Node, ...]:
        """The effect, then the storage."""
        return self.before, self.root


def latest(node: Node) -> Node:
    """A storage, or a view of one, after the writes that were put down so far; others as is."""
    base = base_of(node)
    root = root_of(base)
    now = base if root is None else memory_of(root).latest or root
    if now is base:
        return node
    views: list[Op] = []
    while is_view(node):
        assert isinstance(node, Op)
        views.append(node)
        node = node.operands[0]
    for view in reversed(views):
        now = view.replace(operands=(now,))
    return now


def root_of(node: Node) -> Root | None:
    """The storage that a node names, None where it names none."""
    root = node.root if isinstance(node, Later) else node
    if isinstance(root, Input) and not isinstance(root.memory, Memory):
        return None
    return root if isinstance(root, Root) else None


def memory_of(root: Root) -> Memory:
    """What is known of a storage."""
    assert isinstance(root.memory, Memory)
    return root.memory


def place_of(node: Node) -> tuple[Root, IndexMap] | None:
    """The storage that a node is all or a part of, and where; None where it is no l-tensor.

    Parts of elements, and views in which an element stands more than once, are none.
    """
    index = identity(len(node.shape))
    while isinstance(node, Op) and node.primitive is VIEW and node.fold is None:
        walked = {k for function in node.maps[0] for k, _ in function.terms}
        if any(k not in walked and n.constant != 1 for k, n in enumerate(node.extents)):
            return None
        index = compose(node.maps[0], index)
        node = node.operands[0]
    root = root_of(node)
    return None if root is None else (root, index)


def written(
    place: tuple[Root, IndexMap],
    value: Node,
    source: IndexMap,
    extents: tuple[Dim, ...],
    put_down: bool,
) -> Node:
    """The effect of writing a value, read through `source`, into a place.

    Its value is the part. What was put down before for the storage happens before.
    """
    root, target = place
    serial = next(_serials)
    effect = Assign(root.dtype, root, target, value, source, extents, serial, put_down)
    before = memory_of(root).latest
    return effect if before is None else Steps(root.dtype, (before, effect))


def put_down(root: Root, effect: Node) -> None:
    """Let an effect happen before whatever reads a storage from now on."""
    memory_of(root).latest = Later(root.dtype, effect, root)


def update(
    old: Node, target: IndexMap, value: Node, source: IndexMap, extents: tuple[Dim, ...]
) -> Update:
    """The next version of a storage."""
    parts = (old, value), (target, source), extents, len(extents)
    return Update(old.dtype, UPDATE, None, *parts, whole=old.shape)


class Versions:
    """Which node each storage holds now, while effects are followed in their order.

    What was built before a write was put down reads the version before it, until something else
    is written where it stands: `before` has that version and the number of such writes.
    """

    def __init__(self) -> None:
        """Nothing was written yet."""
        self.now: dict[Node, Node] = {}
        self.done: dict[Node, Node] = {}
        self.before: dict[Node, tuple[int, Node]] = {}
        self.others: Counter[Node] = Counter()
        self.ran: list[Node] = []

    def value(self, node: Node) -> Node:
        """The node over versions: its effects happen, each once, then the rest is read."""
        for effect in _effects(node):
            self._happen(effect)
        return self._read(node)

    def _happen(self, effect: Effect) -> None:
        waiting = [effect]
        while (first := _first(waiting[-1])) is not None and first not in self.done:
            waiting.append(first)
        for one in reversed(waiting):
            if one not in self.done:
                self.done[one] = self._once(one)

    def _once(self, effect: Effect) -> Node:
        match effect:
            case Assign(root=root, target=target, extents=extents):
                value = self.value(effect.value)
                old = self.now.get(root) or self.value(root)
                if effect.put_down:
                    self.before.setdefault(root, (self.others[root], old))
                else:
                    self.others[root] += 1
                self.now[root] = update(old, target, value, effect.source, extents)
                return builder.view(self.now[root], target, extents)
            case Fresh():
                value = self.value(effect.value)
                self.now[effect] = builder.elementwise(MATERIALIZE, value)
                return self.now[effect]
            case Steps(steps=steps):
                values = [self.value(step) for step in steps]
                others = zip(steps[:-1], values[:-1], strict=True)
                self.ran += [value for step, value in others if _is_seen(step)]
                return values[-1]
            case Later(before=before, root=root):
                self.value(before)
                self.before[effect] = self.others[root], self.now[root]
                return self.now[root]
        raise TypeError(type(effect).__name__)

    def _read(self, node: Node) -> Node:
        new: dict[Node, Node] = {}
        for part in post_order((node,), _inside):
            match part:
                case Later(root=root):
                    new[part] = self._held(part, root)
                case Input() | Fresh():
                    new[part] = self._held(part, part)
                case Effect():
                    new[part] = self.done[part]
                case Op():
                    operands = tuple(new[child] for child in part.operands)
                    same = operands == part.operands
                    new[part] = part if same else part.replace(operands=operands)
                case _:
                    new[part] = part
        return new[node]

    def _held(self, seen: Node, root: Node) -> Node:
        """What a storage holds for who names it in this way."""
        others, version = self.before.get(seen, (-1, root))
        return version if others == self.others[root] else self.now.get(root, root)


def _is_seen(node: Node) -> bool:
    """Whether somebody sees that a value is computed, also where nobody uses it."""
    own = post_order((node,), _inside)
    return any(isinstance(part, Op) and part.primitive is PRINT for part in own)


def _inside(node: Node) -> tuple[Node, ...]:
    """The operands; an effect is looked at as a whole."""
    return () if isinstance(node, Effect) else node.children


def _effects(node: Node) -> Iterator[Effect]:
    """The effects that are not inside others, from left to right."""
    return (part for part in post_order((node,), _inside) if isinstance(part, Effect))


def _first(effect: Effect) -> Effect | None:
    """What happens first within an effect, where that is one; chains of them may be long."""
    inner = None
    if isinstance(effect, Steps):
        inner = effect.steps[0]
    elif isinstance(effect, Later):
        inner = effect.before
    return inner if isinstance(inner, Effect) else None


def with_versions(
    outputs: Sequence[Node], placeholders: Sequence[Input]
) -> tuple[Graph, tuple[Input, ...]]:
    """The program that computes outputs one after the other, and the variables it takes.

    Its inputs are the placeholders, then the variables, numbered; it writes those of either that
    are assigned to. What is printed in between are results before those of the outputs.
    """
    versions = Versions()
    results = [versions.value(node) for node in outputs]
    results = [*versions.ran, *results]
    last = {root: node for root, node in versions.now.items() if isinstance(root, Input)}
    found = (n for n in post_order((*results, *last.values())) if isinstance(n, Input))
    variables = tuple(n for n in dict.fromkeys(found) if n not in placeholders)
    inputs = (*placeholders, *variables)
    numbered = {node: node.replace(position=k, memory=None) for k, node in enumerate(inputs)}
    written = [node for node in inputs if node in last]
    new: dict[Node, Node] = {}
    nodes = (*results, *(last[node] for node in written))
    for node in post_order(nodes):
        new[node] = numbered.get(node, node) if isinstance(node, Input) else node
        if isinstance(node, Op):
            new[node] = node.replace(operands=tuple(new[child] for child in node.operands))
    positions = tuple(numbered[node].position for node in written)
    graph = Graph(tuple(numbered.values()), tuple(new[node] for node in nodes), positions)
    return graph, variables
