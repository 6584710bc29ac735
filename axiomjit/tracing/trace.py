"""Traces a NumPy function once, with arrays of unknown values, to get its graph.

Traced values may also be held by other objects: in attributes, slots, closures or iterators.
"""

from __future__ import annotations

import gc
from collections.abc import (
    AsyncGenerator,
    Callable,
    Coroutine,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import ELEMENT_TYPES
from axiomjit.base.errors import (
    InterruptedWritesError,
    NeedsValuesError,
    TraceError,
    UnsupportedError,
)
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import Following, current, entered
from axiomjit.base.tree import OfArgument, Path, Structure, flatten_tree, reachable
from axiomjit.graph import builder
from axiomjit.graph.indexing_ops import with_counts
from axiomjit.graph.nodes import Graph, Input, Node, base_of, is_view, post_order, size
from axiomjit.graph.primitives import COPY
from axiomjit.graph.storages import Strides, laid_out
from axiomjit.symbolic.data_dependent import (
    Decisions,
    OtherLengthError,
    data_dependent_in,
    decisions,
)
from axiomjit.symbolic.dims import INDEX, Dim, Scope, bound
from axiomjit.tracing.lengths import SymbolicFloat, SymbolicInt, SymbolicNumber, unwrap
from axiomjit.tracing.refusals import traced
from axiomjit.tracing.tracer import Tracer

LIMIT: Final = 20_000
"""The largest number of objects that are searched; a traced value hidden deeper is refused where it
is used."""
PLAIN: Final = (int, float, complex, str, bytes, type, ModuleType, CodeType, np.generic, Following)


def traced_inside(value: object) -> Tracer | SymbolicNumber | None:
    """The first traced array or length in a value and in objects it refers to; None if absent.

    No user code runs: the search follows the references that the garbage collector sees. Functions
    are searched through closures and defaults.
    """
    found = referred_by(value)
    return next((one for one in found if issubclass(type(one), Tracer | SymbolicNumber)), None)


def referred_by(value: object) -> Iterator[Any]:
    """A value and all objects that it refers to, directly or not, found without the user's code."""
    return (one for _, one in reachable((value,), _referred, LIMIT))


def traced_among(values: Sequence[object]) -> bool:
    """True if a call belongs to the function that is traced: an argument has traced values.

    Raises:
        TraceError: a value is traced, but not in the trace that runs here.
    """
    if current() is not None:
        return traced_inside(values) is not None
    traced = (v for v in values if isinstance(v, Tracer | SymbolicNumber))
    return any((v.node if isinstance(v, Tracer) else v.operand()) is not None for v in traced)


def _referred(path: Path, one: Any) -> Iterable[tuple[object, object]]:
    kind = type(one)
    if issubclass(kind, PLAIN):
        return ()
    if issubclass(kind, np.ndarray):
        return enumerate(one.ravel().tolist() if one.dtype.hasobject else ())
    if issubclass(kind, FunctionType):
        return enumerate(_held_by_function(one))
    if issubclass(kind, BuiltinFunctionType):
        return enumerate((one.__self__,))
    return enumerate(gc.get_referents(one))


def _held_by_function(function: FunctionType) -> Iterator[object]:
    yield from (function.__closure__, function.__defaults__, function.__kwdefaults__)
    yield function.__dict__


Leaves = tuple[tuple[int | None, object], ...]


def take_results(
    returned: object,
    arguments: Mapping[int, Input],
    is_outside: Callable[[object], bool],
    is_made: Callable[[object], bool] | None = None,
) -> tuple[tuple[Node, ...], Structure, Leaves]:
    """The nodes of the results, the structure of the return value, and a node or value per leaf.

    A leaf is the number of a node, or a value (a Dim if the value depends on lengths). A
    data-dependent length is a node whose value becomes an `int`. A Python float computed from
    lengths is a node whose value becomes a `float`.

    Args:
        returned: The function's return value.
        arguments: The input of each argument, by the id of its tracer.
        is_outside: Returns True for a container from outside the function, which is a value and is
            not opened.
        is_made: Returns True for an instance that the function has made; each call makes a new
            instance.

    Raises:
        TraceError: a traced array belongs to another trace.
        UnsupportedError: a traced array is inside an object that is not a container.
    """
    values, structure = flatten_tree(
        returned,
        opens=lambda value: traced_inside(value) is not None,
        is_leaf=is_outside,
        is_made=is_made,
    )
    outputs: dict[Node, int] = {}
    owners: dict[Node, object] = {}
    leaves: list[tuple[int | None, object]] = []
    for value in values:
        if isinstance(value, Tracer):
            node = _array_of_its_own(value, owners)
            place = _place(value, node, arguments)
            leaves.append((outputs.setdefault(node, len(outputs)), place))
        elif isinstance(value, SymbolicInt) and data_dependent_in(value.dim):
            node = builder.elementwise(COPY, size(value.dim))
            leaves.append((outputs.setdefault(node, len(outputs)), int))
        elif isinstance(value, SymbolicFloat):
            node, made = value.node, float if value.node.weak else None
            leaves.append((outputs.setdefault(node, len(outputs)), made))
        elif is_outside(value):
            leaves.append((None, value))
        else:
            _check_holds_none(value)
            leaves.append((None, unwrap(value)))
    return tuple(outputs), structure, tuple(leaves)


def _place(value: Tracer, node: Node, arguments: Mapping[int, Input]) -> OfArgument | type | None:
    """The argument whose memory a result has; None if the memory of the result is new.

    For a Python number, the function returns the type of the number.
    """
    if id(value) in arguments:
        return OfArgument(arguments[id(value)].position, True)
    if node.weak:
        return ELEMENT_TYPES[node.dtype].python
    root = None if value.storage is None else value.storage.root
    return OfArgument(root.position, False) if isinstance(root, Input) and node.shape else None


def _array_of_its_own(value: Tracer, owners: dict[Node, object]) -> Node:
    """The node of a result; copied if another array among the results has the same node."""
    node, storage = value.node, value.storage
    if storage is None:
        # A number has no memory that a later write could change.
        return builder.elementwise(COPY, node) if is_view(node) and not node.weak else node
    for _ in range(len(owners) + 1):  # equal copies are one node: a second copy may be necessary
        if owners.setdefault(base_of(node), storage) is storage:
            break
        storage.copy_values()
        node = storage.current(node)
    return node


def _check_holds_none(value: object) -> None:
    """Refuse to return an object with a traced value inside if the object is not a container."""
    if isinstance(value, SymbolicNumber):
        return
    if isinstance(value, Coroutine):
        value.close()  # else Python warns that it was never awaited
    if isinstance(value, Iterator | Coroutine | AsyncGenerator):
        _refuse(value, "it would compute its values after the call, and only once")
    found = traced_inside(value)
    if isinstance(found, Tracer):
        _refuse(value, f"inside it {traced(found.description())}, known only after the call")
    if found is not None:
        _refuse(value, "inside it a length of a traced array, which may differ in another call")


def _refuse(value: object, seen: str) -> NoReturn:
    kind = type(value).__name__
    raise UnsupportedError(
        f"return a {kind}",
        seen,
        "return arrays in tuples, lists, dicts, their subclasses, or dataclasses, and make the "
        f"{kind} of them outside the compiled function",
        user_location(),
    )


class Trace(Record):
    """A traced function: its graph, and the structure of its return value.

    `leaves` has one entry per leaf of the structure: the number of a graph output, or a value that
    depends on no array (a Dim if the value depends on lengths). `decisions` are the comparisons of
    computed numbers on which the trace depends.
    """

    graph: Graph
    structure: Structure
    leaves: Leaves
    decisions: Decisions = ()


def trace(
    call: Callable[[Sequence[Tracer | SymbolicInt]], object],
    given: Sequence[Input | Dim],
    scope: Scope,
    layouts: Mapping[int, Strides] | None = None,
    following: Following | None = None,
) -> Trace:
    """Trace `call` with a tracer for each input, and a `SymbolicInt` for each integer argument.

    Args:
        call: The function, called once with the sequence of represented inputs.
        given: The inputs of the graph, and the symbols of integer arguments.
        scope: The scope with the lengths of this call, in which guards are recorded.
        layouts: The strides of arrays by position, in elements.
        following: The context of the trace, with names for messages and with the scalar inputs.

    Raises:
        NeedsValuesError: the function needs values, or a write cannot be traced.
        InterruptedWritesError: the function raises an error after writing into an argument or
            drawing random numbers.
        UnsupportedError: the function calls a NumPy function without a rule.
        GraphTypeError, GraphValueError: the types or shapes of operands do not fit.
        TraceError: traced values are used or returned where they cannot be tracked.
    """
    now = Following() if following is None else following
    now.within = trace.__code__
    with entered(now), bound(scope), laid_out(layouts or {}), np.errstate(all="ignore"):
        arrays = {v: Tracer(v) for v in given if isinstance(v, Input)}

        def represented(value: Input | Dim) -> Tracer | SymbolicInt:
            if isinstance(value, Input):
                return arrays[value] if value in arrays else arrays.setdefault(value, Tracer(value))
            return SymbolicInt(value)

        now.represent_input = represented
        tracers = [represented(v) for v in given]
        try:
            returned = call(tracers)
        except Exception as error:
            if now.refusal is None or now.refusal is error:
                now.refusal = None  # else its traceback would be in a reference cycle
                if not isinstance(error, TraceError):
                    _raise_instead(error, now, scope, bool(_written(arrays)))
                raise
            raise now.take_refusal() from None
        if now.refusal is not None:
            raise now.take_refusal()
        outputs, structure, leaves = take_results(
            returned, {id(t): node for node, t in arrays.items()}, now.lives_outside, now.is_made
        )
        written = _written(arrays)
        used, asked = set(post_order((*outputs, *written.values()))), (*now.may_fail, now.last)
        outputs += (*dict.fromkeys(n for n in asked if isinstance(n, Node) and n not in used),)
        positions = tuple(node.position for node in written)
        outputs += (*written.values(),)
        graph = _checked(Graph(tuple(arrays), outputs, positions), now)
        decided = decisions(scope)
        if scope.data_dependent:
            graph = with_counts(graph, scope)
    return Trace(graph, structure, leaves, decided)


def _checked(graph: Graph, following: Following) -> Graph:
    """The graph of the values; no value from inside a loop is used outside the loop.

    Raises:
        NeedsValuesError: a value used outside a loop depends on the index or on a carried value of
            the loop.
    """
    if not following.regions:
        return graph
    graph = lazy_import("axiomjit.graph.closing").graph_of_values(graph)
    known = set(graph.inputs)
    for node in graph.nodes:
        named = any(s.kind == INDEX for s in node.symbols)
        if named or (isinstance(node, Input) and node not in known):
            raise NeedsValuesError(
                "the value of one trip outside of its loop",
                "that the body stores it in a list, an attribute or a variable around it",
                "return it from the body, as a carried value",
                user_location(),
            )
    return graph


def _written(arrays: Mapping[Input, Tracer]) -> dict[Input, Node]:
    """The written arguments, with the node of the last version of each."""
    stored = {node: tracer.storage for node, tracer in arrays.items()}
    return {node: s.version for node, s in stored.items() if s is not None and s.is_written}


def _raise_instead(error: Exception, following: Following, scope: Scope, written: bool) -> None:
    """Raise another error than the function's own error if tracing alone may be the cause.

    Raises:
        InterruptedWritesError: the function wrote into an argument or drew random numbers before
            the error.
        OtherLengthError: the error may come from the estimate of a data-dependent length.
    """
    if written or following.last is not None:
        raise _interrupted(following.name, error) from error
    if scope.data_dependent:
        raise OtherLengthError(str(error)) from error
    _raise_earlier(following, scope)


def _raise_earlier(following: Following, scope: Scope) -> None:
    """Raise the error that an earlier step gives for the values of this call, as NumPy would.

    Raises:
        InterruptedWritesError: the function might have caught the error.
    """
    if following.arguments is None:
        return
    graph = Graph((), tuple(n for n in following.may_fail if isinstance(n, Node)))
    late = lazy_import("axiomjit.graph.evaluate_graph")
    try:
        late.evaluate_graph(graph, following.arguments(), scope.values)
    except Exception as error:
        if following.handles:
            raise _interrupted(following.name, error) from error
        raise error from None


def _interrupted(name: str, error: Exception) -> InterruptedWritesError:
    return InterruptedWritesError(
        f"{name}, which has written into its arguments or drawn random numbers",
        f"that it raises {type(error).__name__}: {error}",
        "run it in NumPy, which has done what stands before that",
        user_location(),
    )
