"""Marked copies of nodes: variables of gradients, constants, values with a user's derivative."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from axiomjit.base.records import Record
from axiomjit.base.trace_context import current
from axiomjit.graph import builder
from axiomjit.graph.closing import given, hole_like
from axiomjit.graph.nodes import Node, Op, note, post_order, with_operands
from axiomjit.graph.primitives import COPY, NUMBER
from axiomjit.graph.regions import Written, after_region, overwritten
from axiomjit.symbolic.index_maps import identity

_numbers: Final = itertools.count(1)


class Marked(Op):
    """A copy of a value whose gradient is taken; the number of the copy distinguishes equal copies.

    Writes into the copy do not change an argument, and uses of the original value do not contribute
    to the gradient.
    """

    number: int = 0


class Stopped(Op):
    """A copy of a value that all derivatives treat as a constant."""


def stopped(node: Node) -> Stopped:
    """A copy of a node; cotangents of the copy are not passed on to the node."""
    rank = len(node.shape)
    primitive = NUMBER if node.weak else COPY
    return note(Stopped(node.dtype, primitive, None, (node,), (identity(rank),), node.shape, rank))


class GivenRule(Record):
    """A derivative given by the user: `pull(g)` gives a cotangent or None for each of `inputs`."""

    inputs: tuple[Node, ...]
    pull: Callable[[Node], Sequence[Node | None]]


def ruled(node: Node, rule: GivenRule) -> Marked:
    """A copy of a node with a rule for its cotangent; the rule is valid in the current trace."""
    new = marked(node)
    _rules()[new] = rule
    return new


def in_its_body(node: Node, rule: GivenRule) -> Node:
    """A copy of a node in a body that also contains its rule, which is closed with the body."""
    following = current()
    assert following is not None, "bodies are made in a trace"
    following.regions += 1
    hole = hole_like(node, following.regions)
    pairs = zip(rule.inputs, rule.pull(hole), strict=True)
    return given(node, hole, [(one, value) for one, value in pairs if value is not None])


def kept_regions() -> dict[Any, Any]:
    """For each value after a region, the equal value after a region that also keeps states."""
    following = current()
    return {} if following is None else following.kept


def _rules() -> dict[Any, Any]:
    """The rules of the current trace."""
    following = current()
    return {} if following is None else following.rules


def rule_of(node: Node) -> GivenRule | None:
    """The rule that the user has given for a node, or None."""
    return _rules().get(node)


def marked(node: Node) -> Marked:
    """A marked copy of a node."""
    rank = len(node.shape)
    primitive = NUMBER if node.weak else COPY
    parts = (node,), (identity(rank),), node.shape, rank
    return note(Marked(node.dtype, primitive, None, *parts, number=next(_numbers)))


def unmarked(outputs: Sequence[Node], marks: Sequence[Marked]) -> tuple[Node, ...]:
    """The outputs with the marked values in place of the marks; overwritten values are copied."""
    own, kept = set(marks), kept_regions()
    new: dict[Node, Node] = {}
    for node in post_order(tuple(outputs), _with_inputs):
        if node in kept:
            new[node] = new[kept[node]]
            continue
        operands = [new[child] for child in node.children]
        if node in own:
            new[node] = operands[0]
        elif isinstance(node, Written):
            new[node] = after_region(node.replace(operands=tuple(operands)))
        elif not own.isdisjoint(node.children[: overwritten(node)]):
            for k, child in enumerate(node.children[: overwritten(node)]):
                if child in own:
                    operands[k] = builder.elementwise(COPY, operands[k])
            new[node] = with_operands(node, operands)
        else:
            new[node] = with_operands(node, operands)
            _copy_rule(node, new)
    return tuple(new[node] for node in outputs)


def again(outputs: Sequence[Node], given: Mapping[Node, Node]) -> list[Node]:
    """The outputs with nodes replaced as in `given`, and with copies of the rules of the user."""
    kept, new = kept_regions(), dict(given)
    for node in post_order(tuple(outputs), lambda n: () if n in given else _with_inputs(n)):
        if node in new:
            continue
        if node in kept:
            new[node] = new[kept[node]]
            continue
        new[node] = with_operands(node, [new[child] for child in node.children])
        _copy_rule(node, new)
    return [new[node] for node in outputs]


def _copy_rule(node: Node, new: Mapping[Node, Node]) -> None:
    """Give the new form of a node the rule of the old form, with the new forms of its inputs."""
    rule = rule_of(node)
    if rule is not None:
        _rules()[new[node]] = rule.replace(inputs=tuple(new[one] for one in rule.inputs))


def with_kept_regions(outputs: Sequence[Node]) -> list[Node]:
    """The outputs, in which regions that also keep states replace regions that do not."""
    kept = kept_regions()

    def children(node: Node) -> tuple[Node, ...]:
        return (kept[node],) if node in kept else node.children

    new: dict[Node, Node] = {}
    for node in post_order(tuple(outputs), children):
        read = [new[child] for child in children(node)]
        new[node] = read[0] if node in kept else with_operands(node, read)
    return [new[node] for node in outputs]


def _with_inputs(node: Node) -> tuple[Node, ...]:
    """The operands of a node and the inputs of its rule; or the replacement, if there is one."""
    other = kept_regions().get(node)
    if other is not None:
        return (other,)
    rule = rule_of(node)
    return node.children if rule is None else (*node.children, *rule.inputs)
