"""Regions: loops and branches as operations of a graph.

A region has bodies, which are closed graphs with one input per operand. The first operands are
versions of storages that the region overwrites; a carried number is a storage without dimensions.
The operands that a region does not overwrite are captured: bodies only read them. The value of a
region is its number of trips. A `Written` node is the next version of an overwritten storage. The
index of a loop is a symbol of the kind INDEX; lengths and index maps of the body may contain it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.dtypes import INT
from axiomjit.base.errors import amount
from axiomjit.base.records import Record, cached_property
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import (
    Graph,
    Node,
    Op,
    Update,
    is_view,
    map_fields,
    note,
    post_order,
    with_operands,
)
from axiomjit.graph.primitives import ALL, UPDATE
from axiomjit.symbolic.dims import Dim, Symbol, substitute
from axiomjit.symbolic.index_maps import identity, iterator

REGION_WEIGHT: Final = 30
"""The cost of a trip per element of the first operand, in additions."""


class Region(LibraryOperation):
    """A loop or a branch; `overwrites` is the number of operands that it overwrites."""

    __slots__ = ("__dict__",)

    overwrites: int = 0
    bodies: tuple[Graph, ...] = ()

    @cached_property
    def symbols(self) -> frozenset[Symbol]:
        """The symbols in the lengths of all nodes of the bodies, also of regions in them."""
        return frozenset[Symbol]().union(*(symbols_of(n) for b in self.bodies for n in b.nodes))

    # By all fields: regions with equal hashes are compared, and comparing lengths records guards.
    __hash__ = Record.__hash__


class Loop(Region):
    """A loop, whose body runs `trips` times, in order; `index` counts the trips from 0.

    If `trips` is None, the number of trips has no limit. If there is a second body, it computes a
    truth value before each trip, and the loop ends when the truth value is False.
    """

    index: Symbol | None = None
    trips: Dim | None = None

    @property
    def lengths(self) -> tuple[Dim, ...]:
        """The number of trips of the loop, if it has a limit."""
        return () if self.trips is None else (self.trips,)


class Cond(Region):
    """A branch: the first captured operand is a truth value, which selects one of two bodies."""


class Written(Update):
    """The next version of the first operand, which the region in the second operand overwrites.

    `place` is the number of the storage among the storages that the region overwrites.
    """

    place: int = 0


def symbols_of(node: Node) -> frozenset[Symbol]:
    """The symbols in the lengths of a node and in the bodies of a region."""
    region = node.primitive if isinstance(node, Op) else None
    return node.symbols | region.symbols if isinstance(region, Region) else node.symbols


def has_loops(op: Op) -> bool:
    """True if loops compute an op; views, regions and versions that regions write have none."""
    return not (is_view(op) or isinstance(op, Written) or isinstance(op.primitive, Region))


def region_node(region: Region, operands: Sequence[Node]) -> Op:
    """The node of a region with these operands; its value is the number of trips, an int64."""
    extents: list[Dim] = []
    maps = []
    for node in operands:
        first = len(extents)
        maps.append(tuple(iterator(first + d) for d in range(len(node.shape))))
        extents += node.shape
    return note(Op(INT, region, None, tuple(operands), tuple(maps), tuple(extents), 0))


def written_versions(node: Op) -> tuple[Written, ...]:
    """The next versions of the storages that a region overwrites."""
    assert isinstance(node.primitive, Region)
    found = []
    for k, old in enumerate(node.operands[: node.primitive.overwrites]):
        maps = identity(len(old.shape)), ()
        given = (old, node), maps, old.shape, len(old.shape)
        made = Written(old.dtype, UPDATE, None, *given, whole=old.shape, place=k)
        found.append(note(made))
    return tuple(found)


def after_region(node: Written) -> Written:
    """The version after a region, in which the present operand of the region is the old version."""
    region = node.operands[1]
    return node.replace(operands=(region.children[node.place], region))


def rebuilt(
    outputs: Sequence[Node],
    given: Mapping[Node, Node],
    lengths: Mapping[Symbol, Dim] | None = None,
) -> list[Node]:
    """The outputs, with nodes replaced by `given` and symbols replaced by `lengths`.

    Args:
        outputs: Nodes of a graph.
        given: For nodes on which the outputs depend, the nodes that replace them.
        lengths: For symbols in the other nodes and in bodies of regions, the lengths that replace
            them.
    """
    new = dict(given)
    for node in post_order(tuple(outputs), lambda n: () if n in given else n.children):
        if node not in new:
            made = with_operands(node, [new[child] for child in node.children])
            new[node] = made if lengths is None else _with_lengths(made, lengths)
    return [new[node] for node in outputs]


def _with_lengths(node: Node, lengths: Mapping[Symbol, Dim]) -> Node:
    made = map_fields(node, lambda child: child, lambda length: substitute(length, lengths))
    return with_lengths_inside(made, lengths)


def with_lengths_inside(node: Node, lengths: Mapping[Symbol, Dim]) -> Node:
    """The node with other lengths in place of symbols in its bodies, if it is a region."""
    region = node.primitive if isinstance(node, Op) else None
    if not isinstance(region, Region):
        return node
    bodies = tuple(with_lengths(body, lengths) for body in region.bodies)
    region = region.replace(bodies=bodies)
    if isinstance(region, Loop) and region.trips is not None:
        region = region.replace(trips=substitute(region.trips, lengths))
    return node.replace(primitive=region)


def with_lengths(body: Graph, lengths: Mapping[Symbol, Dim]) -> Graph:
    """The body with its symbols replaced by lengths."""
    inputs: Any = rebuilt(body.inputs, {}, lengths)
    return Graph(tuple(inputs), tuple(rebuilt(body.outputs, {}, lengths)), body.writes)


def region_fields(
    name: str, operands: Sequence[Node], written: int, bodies: Sequence[Graph]
) -> dict[str, Any]:
    """The fields that all regions have in common."""
    return {
        "name": name,
        "arity": len(operands),
        "evaluate": _no_function,
        "source": "",
        "loops": ALL,
        "weight": REGION_WEIGHT,
        "gives": INT,
        "ranks": tuple(len(node.shape) for node in operands),
        "overwrites": written,
        "bodies": tuple(bodies),
        "may_raise": any(one.may_raise for one in operations_of(bodies)),
        "is_speculative": any(one.is_speculative for one in operations_of(bodies)),
    }


def operations_of(bodies: Sequence[Graph]) -> Iterator[LibraryOperation]:
    """Yield the library operations and the regions in bodies."""
    for body in bodies:
        for op in body.ops:
            if isinstance(op.primitive, LibraryOperation):
                yield op.primitive


def _no_function(*operands: object) -> None:
    raise TypeError("a region is lowered to kernels, or evaluated by evaluate_graph")


def overwritten(node: Node) -> int:
    """The number of leading operands whose memory a node overwrites."""
    if isinstance(node, Update):
        return 1
    region = node.primitive if isinstance(node, Op) else None
    return region.overwrites if isinstance(region, Region) else 0


def overwritten_by(primitive: object) -> int:
    """The number of leading operands that a region overwrites; 0 for other primitives."""
    return primitive.overwrites if isinstance(primitive, Region) else 0


def region_faults(op: Op) -> Iterator[str]:
    """Yield the faults of a region: bodies that do not fit the operands or each other."""
    region = op.primitive
    assert isinstance(region, Region)
    for k, body in enumerate(region.bodies):
        kinds = [(node.dtype, node.shape) for node in body.inputs]
        if kinds != [(node.dtype, node.shape) for node in op.operands]:
            yield f"body {k} of {region} has other inputs than its operands"
        asks = isinstance(region, Loop) and k == 1
        if asks and body.writes or any(k >= region.overwrites for k in body.writes):
            yield f"body {k} of {region} writes {body.writes}"
        for position, node in zip(body.writes, body.final_values, strict=False):
            if (node.dtype, node.shape) != kinds[position]:
                yield f"body {k} of {region} changes the type of operand {position}"
        if len(body.results) != int(asks) or any(node.shape for node in body.results):
            yield f"body {k} of {region} returns {amount(len(body.results), 'value')}"
    if len(region.bodies) != 2 and not (isinstance(region, Loop) and len(region.bodies) == 1):
        yield f"{region} with {amount(len(region.bodies), 'body', 'bodies')}"
    if isinstance(region, Loop) and region.trips is None and len(region.bodies) < 2:
        yield f"{region} without an end"
