"""The adjoints of library operations: NumPy's functions of entire arrays, and SciPy's ufuncs.

A row of `LIBRARY` is a pullback `rule(g, y, *operands, **options)`. `g` is the cotangent of the
result `y`, and the options are the options of the call. `g`, `y` and the operands are arrays that
NumPy's functions accept. For a function with several results, the rule is called once for each
result, with the number of the result as `part`. The rule returns one cotangent for each operand, in
the operand's shape, or None. A rule that needs the other results calls the function again; this
costs nothing, since equal calls are the same node.

A row of `UFUNCS_OF_SCIPY` has partial derivatives, like a row of `rules.py`. A row of
`FUNCTIONS_OF_SCIPY` is a pullback.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from axiomjit.base.errors import amount
from axiomjit.base.tree import unflatten_tree
from axiomjit.gradients.cotangents import Cotangent
from axiomjit.gradients.decompositions import LINALG
from axiomjit.gradients.folds import Derive
from axiomjit.gradients.orders import ORDERS, Twin, of_sort
from axiomjit.gradients.rules import NoPath, Partial, Refused
from axiomjit.gradients.special import FUNCTIONS_OF_SCIPY, UFUNCS_OF_SCIPY
from axiomjit.gradients.structures import Contributions, Wanted
from axiomjit.gradients.transforms import FFT
from axiomjit.gradients.values import NodeArray, node_of
from axiomjit.graph import builder
from axiomjit.graph.external_calls import (
    ArrayFunction,
    NumberStore,
    Operand,
    ProbedCall,
    UfuncCall,
    WithNamedArrays,
    ufunc_name,
)
from axiomjit.graph.library_operations import (
    AFTER,
    NORMAL,
    PRINT,
    SORT,
    UNIFORM,
    LibraryOperation,
)
from axiomjit.graph.nodes import Op

Pullback = Callable[..., tuple[Any, ...]]
LIBRARY: Final[Mapping[Callable[..., Any], Pullback | NoPath | Refused]] = {
    **LINALG,
    **FFT,
    **ORDERS,
}
"""The pullback of each NumPy function that is called with entire arrays."""


_GIVEN: Final[dict[Callable[..., Any], Pullback]] = {}
"""Pullbacks of library functions that users have given."""


def give_rule(function: Callable[..., Any], rule: Pullback) -> None:
    """Register a pullback as the derivative of a library's function."""
    _GIVEN[function] = rule


def of_library(
    op: Op, operation: LibraryOperation, g: Cotangent, wanted: Wanted, derive: Derive
) -> Contributions | Refused:
    """The cotangents of the operands of a library operation."""
    if operation.evaluate is SORT.evaluate:
        return of_sort(op, g)
    if operation.evaluate is PRINT.evaluate:
        return {0: g.through(op.maps[0], op.shape, op.operands[0].shape)}
    if operation.evaluate in (NORMAL.evaluate, UNIFORM.evaluate, AFTER.evaluate):
        return {}
    evaluate = operation.evaluate
    if isinstance(evaluate, UfuncCall):
        return _of_ufunc(op, evaluate, g, wanted)
    if isinstance(evaluate, ArrayFunction):
        return _of_call(op, evaluate, g, wanted, derive)
    return Refused(f"{operation.name}, a step of a library without a derivative rule")


def _of_call(
    op: Op, evaluate: ArrayFunction, g: Cotangent, wanted: Wanted, derive: Derive
) -> Contributions | Refused:
    function: Any = evaluate.function
    options = dict(evaluate.options)
    if isinstance(function, NumberStore):
        return {0: g}
    names: tuple[str, ...] = ()
    if isinstance(function, WithNamedArrays):
        function, names = function.function, function.names
    if isinstance(function, ProbedCall):
        return _of_probed(op, function, evaluate.part, g, wanted)
    rule = _GIVEN.get(function) or LIBRARY.get(function) if _is_hashable(function) else None
    if rule is None:
        return Refused(f"{evaluate.name}, which NumPy runs as a whole and has no derivative rule")
    if isinstance(rule, NoPath):
        return {}
    if isinstance(rule, Refused):
        return rule
    first, *others = (NodeArray(node) for node in op.operands)
    if names:
        options |= dict(zip(names, others, strict=True))
        others = []
    if isinstance(rule, Twin):
        made = rule.function(first, *others, **options)
        if isinstance(made, Refused):
            return made
        nodes = derive([(made.node, g.cast_to(made.node).settled())], op.operands)
        numbers = {op.operands[k]: k for k in wanted}  # the last of equal operands
        return {k: Cotangent(nodes[node]) for node, k in numbers.items()}
    if evaluate.part is not None:
        options["part"] = evaluate.part
    made = rule(NodeArray(g.settled()), NodeArray(op), first, *others, **options)
    if isinstance(made, Refused):
        return made
    return {k: Cotangent(node_of(made[k], op.operands[k])) for k in wanted if made[k] is not None}


def _of_probed(
    op: Op, probed: ProbedCall, part: int | None, g: Cotangent, wanted: Wanted
) -> Contributions | Refused:
    """The operands' cotangents by a pullback, for a call whose types a probe found."""
    call = probed.call
    given = _GIVEN.get(call.function) if _is_hashable(call.function) else None
    rule = given or FUNCTIONS_OF_SCIPY.get(call.name)
    if rule is None:
        return Refused(f"{call.name}, which NumPy runs as a whole and has no derivative rule")
    arrays = iter(map(NodeArray, op.operands))
    leaves = [next(arrays) if isinstance(one, Operand) else one for one in call.leaves]
    whole: Any = unflatten_tree(call.structure, iter(leaves))
    options = whole[1] if part is None else {**whole[1], "part": part}
    made = rule(NodeArray(g.settled()), NodeArray(op), *whole[0], **options)
    if isinstance(made, Refused):
        return made
    if len(made) != len(op.operands):
        return Refused(
            f"{call.name}, whose pullback returns {amount(len(made), 'cotangent')} for "
            f"{amount(len(op.operands), 'array')}"
        )
    return {k: Cotangent(node_of(made[k], op.operands[k])) for k in wanted if made[k] is not None}


def _is_hashable(function: object) -> bool:
    return type(function).__hash__ is not None


def _of_ufunc(op: Op, call: UfuncCall, g: Cotangent, wanted: Wanted) -> Contributions | Refused:
    name = ufunc_name(call.ufunc)
    row = UFUNCS_OF_SCIPY.get(name)
    if row is None:
        return Refused(f"{name}, a ufunc without a derivative rule")
    if isinstance(row, Refused):
        return row
    if isinstance(row, NoPath):
        return {}
    seen = (
        builder.view(child, index, op.extents)
        for child, index in zip(op.operands, op.maps, strict=True)
    )
    arrays = iter(map(NodeArray, seen))
    values = [next(arrays) if value is None else value for value in call.given]
    places = [k for k, value in enumerate(call.given) if value is None]
    found: Contributions = {}
    for k in wanted:
        partial: Partial | Refused = row[places[k]]
        if isinstance(partial, Refused):
            return partial
        factor = partial(NodeArray(op), *values) if callable(partial) else partial
        here = g.times(builder.cast(node_of(factor, op), g.value.dtype))
        found[k] = here.through(op.maps[k], op.extents, op.operands[k].shape)
    return found
