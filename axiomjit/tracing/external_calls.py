"""External calls: NumPy functions that the program calls, and their results' shapes and dtypes.

A function is first called with small arrays of different lengths and values. The lengths of the
function's results are inferred from the calls with small arrays, as functions of the lengths of its
operands. If that fails, the function is called once with the values of the traced call, and the
lengths of the results of this call are used. The program compares the shapes and dtypes of the
results in each call.
"""

from __future__ import annotations

import random
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.dtypes import (
    CODES,
    is_bool,
    is_complex,
    is_inexact,
    is_integer,
    is_unsigned,
    walkable,
)
from axiomjit.base.errors import InterruptedWritesError, UnsupportedError
from axiomjit.base.locks import new_lock
from axiomjit.base.origins import at_users_line, user_location
from axiomjit.base.records import Record
from axiomjit.base.trace_context import current
from axiomjit.base.tree import LEAF, Structure, flatten_tree, unflatten_tree
from axiomjit.graph import builder
from axiomjit.graph.evaluate_graph import evaluate_graph
from axiomjit.graph.external_calls import ExternalCall, Operand, ProbedCall, Result
from axiomjit.graph.indexing_ops import with_counts
from axiomjit.graph.library_operations import LibraryOperation
from axiomjit.graph.nodes import Graph, Input, Node, Op
from axiomjit.symbolic.data_dependent import DATA_DEPENDENT, OtherLengthError, data_dependent_in
from axiomjit.symbolic.dims import (
    DECLARED,
    LENGTH,
    Dim,
    Scope,
    Symbol,
    current_scope,
    dim,
    evaluate,
    product,
    symbols_in,
)
from axiomjit.symbolic.index_maps import infer_dim
from axiomjit.tracing.lengths import SymbolicNumber
from axiomjit.tracing.numpy_calls import Function, Represented, may_be_external
from axiomjit.tracing.operators import TracedOperators, node_of
from axiomjit.tracing.refusals import recorded, refuse_outside, unsupported
from axiomjit.tracing.writes import store_exactly, write_item

Array = np.ndarray
Lengths = Mapping[Symbol, int]
Given = tuple[list[object], Structure]

PROBES: Final = 4
"""The number of calls with small arrays."""
ATTEMPTS: Final = 24
SHORTEST: Final = 5
LONGEST: Final = 24
"""Small arrays have lengths of SHORTEST to LONGEST - 1; shorter lengths could equal constants."""
MOST_ELEMENTS: Final = 2**22
"""The largest number of elements of an array in a probe with small lengths."""
MOST_NOW: Final = 2**20
"""The largest number of elements of an array in the probe with the lengths of the traced call."""
NUMBERS: Final = (bool, int, float, complex)


class Written(Record):
    """A stand-in in a result for a written argument that the function returns, by its number."""

    number: int


CONSTANTS: Final = (type(None), str, np.dtype, ModuleType, Written)
"""Types of parts of results that are the same at each call."""
VARIED: Final = (LENGTH, DECLARED, DATA_DEPENDENT)


def infer_by_probe(call: ExternalCall, operands: Sequence[Node]) -> ProbedCall:
    """Infer the results of a call for operands like these from probes.

    Raises:
        UnsupportedError: a result is a view, or is not an array of a supported dtype.
        InterruptedWritesError: the function raises an error for the values of this call.
    """
    if _needs_given(call, operands):
        return _as_now(call, operands)
    tried: list[tuple[Lengths, list[Array], Given]] = []
    for lengths in _assignments(operands):
        arrays = [_small(node, lengths, len(tried)) for node in operands]
        try:
            with _quietly():
                tried.append((lengths, arrays, call.of(arrays)))
        except Exception:  # the function does not accept such values
            continue
    for _, arrays, made in tried:
        _check_results(call.name, arrays, made)
    return _related(call, operands, tried) or _as_now(call, operands)


def _needs_given(call: ExternalCall, operands: Sequence[Node]) -> bool:
    """True if LAPACK gets integers (pivots), which are positions in memory and are not checked."""
    return call.name.startswith("scipy.linalg.") and any(is_integer(n.dtype) for n in operands)


_lock: Final = new_lock()
"""The lock held while a function is tried, since the filters of warnings belong to all threads."""


@contextmanager
def _quietly() -> Iterator[None]:
    """A block without warnings: the program will give the warnings of the call."""
    with _lock, np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _assignments(operands: Sequence[Node]) -> Iterator[Lengths]:
    """Lengths of small arrays for which all recorded guards hold, then the lengths of this call.

    The lengths of this call show whether the results of larger arrays follow another rule.
    """
    scope = current_scope()
    every = symbols_in(*(length for node in operands for length in node.shape))
    varied = sorted((s for s in every if s.kind in VARIED), key=lambda s: s.name)
    drawn, found = random.Random(0), 0
    for _ in range(ATTEMPTS if varied else PROBES):
        chosen = drawn.sample(range(SHORTEST, LONGEST), min(len(varied), LONGEST - SHORTEST))
        lengths = {**scope.values, **dict(zip(varied, chosen, strict=False))}
        if not _are_small(operands, lengths, MOST_ELEMENTS):
            continue
        if not all(guard.holds(lengths) for guard in scope.guards):
            continue
        found += 1
        yield lengths
        if found == PROBES:
            break
    if varied and _are_small(operands, scope.values, MOST_NOW):
        yield scope.values


def _are_small(operands: Sequence[Node], lengths: Lengths, most: int) -> bool:
    """True if no length is negative, and no operand has more than `most` elements."""
    sizes = [evaluate(n, lengths) for node in operands for n in node.shape]
    whole = [evaluate(product(node.shape), lengths) for node in operands]
    return min(sizes, default=0) >= 0 and max(whole, default=0) <= most


def _small(node: Node, lengths: Lengths, number: int) -> Array:
    """Values that most functions accept: sorted, positive definite, or of both signs."""
    shape = tuple(evaluate(length, lengths) for length in node.shape)
    generator = np.random.default_rng(number)
    values = generator.uniform(0.1, 1, shape)
    if number % 2:
        values = generator.normal(0, 3, shape)
    if len(shape) == 1:
        values.sort()
    if len(shape) > 1 and shape[-1] == shape[-2]:
        values = values + values.swapaxes(-1, -2) + 9 * shape[-1] * np.eye(shape[-1])
    dtype = node.dtype
    if number == PROBES - 1 and is_inexact(dtype):
        values = np.rint(values)  # so that some values are equal
    if is_complex(dtype):
        return (values + 0.5j * values).astype(dtype)
    if is_bool(dtype):
        return np.asarray(values > 0.5)
    if is_integer(dtype):
        values = np.abs(values * 3) if is_unsigned(dtype) or number < 2 else values * 3
    return np.asarray(values).astype(dtype)


def _check_results(name: str, arrays: Sequence[Array], made: Given) -> None:
    """Refuse results that are views, or that are not arrays or numbers of a supported dtype.

    Raises:
        UnsupportedError: a result is refused.
    """
    leaves, structure = made
    if all(isinstance(leaf, CONSTANTS) for leaf in leaves):
        raise refusal(name, f"a result without arrays: {unflatten_tree(structure, iter(leaves))}")
    for leaf in leaves:
        if isinstance(leaf, np.ndarray):
            if type(leaf) is not np.ndarray or leaf.dtype not in CODES:
                raise refusal(name, f"a result that is a {type(leaf).__name__} of {leaf.dtype}")
            if any(np.may_share_memory(leaf, array) for array in arrays):
                raise refusal(name, "a result that is a view of its argument")
        elif not isinstance(leaf, (np.generic, *NUMBERS, *CONSTANTS)):
            raise refusal(name, f"a result that is a {type(leaf).__name__}")
        elif isinstance(leaf, np.generic) and leaf.dtype not in CODES:
            raise refusal(name, f"a result of {leaf.dtype}")


def refusal(
    name: str, seen: str, remedy: str = "call it outside the compiled function"
) -> UnsupportedError:
    """The error for a function that cannot be an external call of a program."""
    asked = f"{name} as a step of a compiled program"
    return UnsupportedError(asked, seen, remedy, user_location())


def _related(
    call: ExternalCall, operands: Sequence[Node], tried: Sequence[tuple[Lengths, Any, Given]]
) -> ProbedCall | None:
    """The call, with result lengths as functions of operand lengths; None if some are not found."""
    varied = any(length.constant is None for node in operands for length in node.shape)
    if len(tried) < (3 if varied else 1):
        return None
    leaves, structure = tried[0][2]
    same = all(other == structure and len(own) == len(leaves) for *_, (own, other) in tried)
    known: dict[Dim, list[int]] = {}
    for node in operands:
        for length in (*node.shape, product(node.shape)):
            if length.constant is None:
                known[length] = [evaluate(length, lengths) for lengths, *_ in tried]
    values = []
    for k in range(len(leaves) if same else 0):
        value = _common([own[k] for *_, (own, _) in tried], known)
        if value is UNKNOWN:
            return None
        values.append(value)
    return ProbedCall(call, structure, tuple(values)) if same else None


def _common(leaves: Sequence[Any], known: Mapping[Dim, Sequence[int]]) -> object:
    """The result or constant that all probes have in common; UNKNOWN if they differ."""
    if isinstance(leaves[0], CONSTANTS):
        same = all(type(leaf) is type(leaves[0]) and leaf == leaves[0] for leaf in leaves)
        return leaves[0] if same else UNKNOWN
    if any(isinstance(leaf, CONSTANTS) for leaf in leaves):
        return UNKNOWN
    arrays = [np.asarray(leaf) for leaf in leaves]
    kinds = {
        (array.dtype, array.ndim, isinstance(leaf, np.ndarray), type(leaf) in NUMBERS)
        for array, leaf in zip(arrays, leaves, strict=True)
    }
    if len(kinds) > 1:
        return UNKNOWN
    ((dtype, rank, *what),) = kinds
    shape = [infer_dim([array.shape[d] for array in arrays], known) for d in range(rank)]
    known_shape = tuple(length for length in shape if length is not None)
    return Result(known_shape, dtype, *what) if len(known_shape) == rank else UNKNOWN


UNKNOWN: Final = object()


def _as_now(call: ExternalCall, operands: Sequence[Node]) -> ProbedCall:
    """Run an external call on the values of this call; the operands' lengths become fixed."""
    for node in operands:
        for length in node.shape:
            if not data_dependent_in(length):  # such lengths are not known before the call runs
                int(length)  # records a guard: another length is another program
    arrays = _probe_operands(call.name, operands, _needs_given(call, operands))
    try:
        with _quietly():
            made = call.of(arrays)
    except Exception as error:
        raise InterruptedWritesError(
            call.name,
            f"that it raises {type(error).__name__}: {error}",
            "give it other values, or call it outside the compiled function",
            user_location(),
        ) from error
    _check_results(call.name, arrays, made)
    leaves, structure = made
    return ProbedCall(call, structure, tuple(map(_now, leaves)))


def _now(leaf: Any) -> object:
    if isinstance(leaf, CONSTANTS):
        return leaf
    array = np.asarray(leaf)
    what = isinstance(leaf, np.ndarray), type(leaf) in NUMBERS
    return Result(tuple(map(dim, array.shape)), array.dtype, *what)


def _probe_operands(name: str, operands: Sequence[Node], are_needed: bool) -> list[Array]:
    """The operands' values in this call; similar values if they are neither known nor needed.

    The values of random numbers, and of arrays whose lengths differ from the assumed lengths, are
    not known.

    Raises:
        UnsupportedError: a length of an operand is not known, or a value is needed and not known.
    """
    following, scope = current(), current_scope()
    counting = Scope(scope.values)
    counting.guards, counting.data_dependent = dict(scope.guards), scope.data_dependent
    graph = with_counts(Graph((), tuple(operands)), counting)
    drawn = any(map(_is_drawn, graph.ops))
    if following is not None and following.arguments is not None and not drawn:
        with suppress(OtherLengthError):
            values = evaluate_graph(graph, following.arguments(), scope.values)
            return list(values[: len(operands)])
    if are_needed:
        raise refusal(name, "integers that only the running program knows")
    for shape in (node.shape for node in operands):
        if data_dependent_in(*shape) and scope.value(product(shape)) > MOST_ELEMENTS:
            raise refusal(name, "a number of elements that only the running program knows")
    return [_small(node, scope.values, 0) for node in operands]


def _is_drawn(op: Op) -> bool:
    primitive = op.primitive
    return isinstance(primitive, LibraryOperation) and primitive.name.startswith("random.")


PLAIN: Final = (int, float, complex, str, bytes, np.generic, np.dtype, type, range)
PLAIN_VALUES: Final = (None, Ellipsis, np._NoValue)
OF_DTYPES: Final = frozenset(
    {np.iscomplexobj, np.isrealobj, np.result_type, np.can_cast, np.common_type}
)
"""Functions that read only the dtypes of arrays, not the elements."""
WRITING: Final = frozenset(
    {
        *(np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis),
        *(np.ndarray.put, np.ndarray.partition),
    }
)
"""Functions that write into their first argument, and return nothing."""


def _is_at(function: Function) -> bool:
    owner = getattr(function, "__self__", None)
    return type(owner) is np.ufunc and function.__name__ == "at"


@recorded
def call_externally(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    represented: Represented,
) -> object:
    """The results of a function that NumPy runs as an external call of the program.

    Raises:
        UnsupportedError: the results cannot be inferred, or the function cannot be called by a
            program.
        InterruptedWritesError: the function raises an error for the values of this call.
    """
    if not may_be_external(function):
        raise unsupported(name, map(node_of, args))
    if function in WRITING or _is_at(function):
        _write(function, name, args, kwargs)
        return None
    if function in OF_DTYPES:
        return of_dtypes(function, name, args, kwargs)
    out = kwargs.pop("out", None)
    call, operands = bound_call(function, name, args, kwargs)
    probed = infer_by_probe(call, operands)
    made = probed.nodes(operands)
    if out is not None:
        return store_exactly(out, made[0] if len(made) == 1 else tuple(made), name)
    return unflatten_tree(probed.structure, _represented(probed, made, represented))


def _represented(
    probed: ProbedCall, made: Sequence[Node], represented: Represented
) -> Iterator[object]:
    nodes = iter(made)
    for value in probed.values:
        yield represented(next(nodes), value.is_array) if isinstance(value, Result) else value


def bound_call(
    function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[ExternalCall, list[Node]]:
    """The call, with placeholders in place of its arrays, and the nodes of these arrays."""
    given, structure = flatten_tree((tuple(args), kwargs))
    leaves: list[object] = []
    operands: list[Node] = []
    for value in given:
        leaf = _leaf(value, name)
        if isinstance(leaf, Node):
            operands.append(leaf)
            leaf = Operand(_kind(value))
        leaves.append(leaf)
    return ExternalCall(name, at_users_line(function), structure, tuple(leaves)), operands


def _leaf(value: Any, name: str) -> object:
    """An argument of the call: the node of an array, or a value that is the same in every call."""
    if isinstance(value, TracedOperators):
        return value.node
    if isinstance(value, Kept):
        return value.value
    if isinstance(value, SymbolicNumber):
        return value.concrete_value()
    if type(value) is np.ndarray:
        if value.dtype not in CODES or not walkable(value):
            raise refusal(name, f"an array from outside of {value.dtype}")
        return builder.as_node(value, name)
    if isinstance(value, slice):
        return slice(*(_leaf(end, name) for end in (value.start, value.stop, value.step)))
    if isinstance(value, str) and value in ("K", "A"):
        raise refusal(name, "an order that depends on how an array lies in memory")
    if not isinstance(value, PLAIN) and not any(value is one for one in PLAIN_VALUES):
        raise refusal(name, f"an argument that is a {type(value).__name__}")
    return value


def _kind(value: Any) -> str:
    if type(value) is np.ndarray or value.is_array:
        return "array"
    return "number" if value.node.weak else "scalar"


class Kept(Record):
    """An argument of the function that is the same object in each call."""

    value: object

    __eq__ = object.__eq__
    __hash__ = object.__hash__


class OnCopies:
    """A form of a function that may write into arrays: the function gets copies of its arguments.

    A function in Fortran may write even into read-only arrays.
    """

    def __init__(self, function: Function, written: Sequence[Sequence[int]] = ()) -> None:
        """Wrap a function.

        Args:
            function: The function.
            written: For each array that the function writes into, the places of this array among
                the leaves of the arguments.
        """
        self._function, self._written = at_users_line(function), written

    def __call__(self, *args: Any, **kwargs: Any) -> tuple[object, list[Any]]:
        """The result, and the arrays that the function has written into."""
        given, structure = flatten_tree((args, kwargs))
        copies = [one.copy("K") if type(one) is np.ndarray else one for one in given]
        for places in self._written:
            for place in places[1:]:
                copies[place] = copies[places[0]]
        whole: Any = unflatten_tree(structure, iter(copies))
        leaves, made = flatten_tree(self._function(*whole[0], **whole[1]))
        written: list[Any] = [copies[places[0]] for places in self._written]
        found = [self._marked(leaf, written) for leaf in leaves]
        return unflatten_tree(made, iter(found)), written

    def _marked(self, leaf: object, written: Sequence[Array]) -> object:
        for number, array in enumerate(written):
            if leaf is array:
                return Written(number)
            if isinstance(leaf, np.ndarray) and np.may_share_memory(leaf, array):
                raise TypeError("a result that is a view of the array that is written")
        return leaf


class OrOnCopies:
    """A form of a function that gets copies of its arrays if it refuses read-only arrays.

    Functions in Cython often refuse read-only arrays, even if they write into no array.
    """

    def __init__(self, function: Function) -> None:
        self._function, self._copies = at_users_line(function), OnCopies(function)
        self._refuses = False

    def __call__(self, *args: Any, **kwargs: Any) -> object:
        """Call the function."""
        if not self._refuses:
            try:
                return self._function(*args, **kwargs)
            except ValueError as error:
                if "read-only" not in str(error):
                    raise
            self._refuses = True
        return self._copies(*args, **kwargs)[0]


@recorded
def call_on_copies(
    function: Function,
    name: str,
    args: Sequence[Any],
    kwargs: dict[str, Any],
    written: Sequence[Any],
    overwritten: Sequence[Any],
    represented: Represented,
) -> object:
    """The results of a function that writes into some of its arguments, as an external call.

    The function leaves results in the arrays `written`, and undefined values in the arrays
    `overwritten`, since these values depend on the memory layout. So the program does not use the
    arrays `overwritten` after the call.

    Raises:
        UnsupportedError: an overwritten array is an argument of the traced function, or from
            outside it; two arguments share memory that is written; or `call_externally` raises this
            error.
    """
    if not may_be_external(function):
        raise unsupported(name, map(node_of, args))
    for target in (*written, *overwritten):
        if not isinstance(target, TracedOperators) or target.storage is None:
            refuse_outside(name, target)
    given, _ = flatten_tree((tuple(args), kwargs))
    for target in overwritten:
        if isinstance(target.storage.root, Input):
            seen = "an array from outside the compiled function, which it may overwrite"
            remedy = "leave out the option to overwrite it, or give it a copy: x.copy()"
            raise refusal(name, seen, remedy)
    places = [_places_of(target, given, name) for target in written]
    call, operands = bound_call(OnCopies(function, places), name, args, kwargs)
    probed = infer_by_probe(call, operands)
    made = probed.nodes(operands)
    found = _represented(probed, made, represented)
    leaves = (written[one.number] if isinstance(one, Written) else one for one in found)
    whole: Any = unflatten_tree(probed.structure, leaves)
    for target, node in zip(written, made[len(made) - len(written) :], strict=True):
        write_item(target.storage, target.node, node)
    for target in overwritten:
        target.storage.end(name)
    return whole[0]


def _places_of(target: Any, given: Sequence[Any], name: str) -> list[int]:
    """The places, among the arguments, of an array that is written.

    Raises:
        UnsupportedError: another argument shows another part of the memory of this array.
    """
    found = []
    for place, one in enumerate(given):
        if isinstance(one, TracedOperators) and one.storage is target.storage:
            found.append(place)
            if one.node is not target.node:
                raise refusal(name, "an array to write into that shares memory with another one")
    return found


class MutatedOperand:
    """A pure form of a function that changes its first array: a changed copy is returned."""

    def __init__(self, function: Function) -> None:
        self._function = function

    def __call__(self, array: np.ndarray, *args: Any, **kwargs: Any) -> np.ndarray:
        """Return the copy after the function has changed it."""
        copy = np.array(array)
        self._function(copy, *args, **kwargs)
        return copy


def mutated_call(call: ExternalCall, target: TracedOperators) -> ProbedCall:
    """The call of a function that changes a copy of a traced array, and returns the copy."""
    result = Result(target.node.shape, target.node.dtype, True)
    return ProbedCall(call, LEAF, (result,))


def _write(function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> None:
    """Apply a function that changes its first argument to a copy, and write the copy back."""
    target, *others = args
    if not isinstance(target, TracedOperators) or target.storage is None:
        refuse_outside(name, target)
    call, operands = bound_call(MutatedOperand(function), name, (target, *others), kwargs)
    (made,) = mutated_call(call, target).nodes(operands)
    write_item(target.storage, target.node, made)


def of_dtypes(function: Function, name: str, args: Sequence[Any], kwargs: dict[str, Any]) -> object:
    """The result of a function that reads only dtypes, computed for arrays of ones."""
    call, operands = bound_call(function, name, args, kwargs)
    samples = [np.ones((1,) * len(node.shape), node.dtype) for node in operands]
    leaves, structure = call.of(samples)
    return unflatten_tree(structure, iter(leaves))
