"""Bodies of regions while they are traced: the writes of a pass, the types of carried values.

A body is traced with placeholders that stand for the values of any trip. `graph/closing.py` makes a
graph of the recorded nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.array_values import OPERATOR_UFUNCS
from axiomjit.base.dtypes import (
    BOOL,
    COMPLEX,
    FLOAT,
    INT,
    UNSIGNED,
    DType,
    is_complex,
    supported,
    value_range,
)
from axiomjit.base.records import Record, cached_property
from axiomjit.base.trace_context import Following
from axiomjit.graph.builder import (
    as_node,
    broadcast_to,
    cast,
    elementwise,
    fold,
    python_number,
    strong,
)
from axiomjit.graph.closing import RegionRefused
from axiomjit.graph.external_calls import stored
from axiomjit.graph.indexing_ops import ZERO, as_mask
from axiomjit.graph.library_operations import AFTER
from axiomjit.graph.nodes import Node, Op, Scalar, post_order, size
from axiomjit.graph.primitives import ALL_OF, COPY, PRIMITIVES, WHERE
from axiomjit.graph.storages import update
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.symbolic.dims import Dim
from axiomjit.symbolic.index_maps import fixed, identity
from axiomjit.tracing.lengths import SymbolicFloat, SymbolicInt, SymbolicNumber
from axiomjit.tracing.operators import TracedStorage, node_of
from axiomjit.tracing.tracer import Tracer

EXACT: Final = 2**53
"""Integers up to this magnitude are floats without a rounding error."""
_LARGEST: Final = Scalar(FLOAT, FLOAT.type(2.0**63 - 2**12), False)
"""A bound for integers of 64 bits that allows for the rounding of floats."""
FALSE: Final = Scalar(BOOL, np.bool_(False), False)
_DEFAULT: Final = (BOOL, INT, FLOAT, COMPLEX)
"""The dtypes of Python's numbers, in the order of promotion."""


class _Unbound:
    """The class of UNBOUND, the value of a name that has no value."""

    __slots__ = ()

    def __repr__(self) -> str:
        return "UNBOUND"


UNBOUND: Final = _Unbound()
"""Stands for a name without a value; the front end raises Python's error if the name is read."""


class RegionBody:
    """One pass through a body: the storages that it writes, and its checks.

    A check is a condition that must hold in each trip; if a check fails, NumPy answers the call.
    """

    __slots__ = (
        *("_before", "checks", "drawn", "ends_call", "failing", "finals", "has_conditional"),
        *("mixed", "outer"),
    )

    def __init__(self, outer: RegionBody | None) -> None:
        self.outer, self.checks = outer, list[Node]()
        self.mixed: set[Node] = set() if outer is None else outer.mixed
        """Numbers that may be Python's, though their types are NumPy's."""
        self.ends_call = False
        """True if the body always reaches a check that never holds, such as the check of a
        `raise`.
        """
        self.has_conditional = False
        """True if a loop inside the body ends only by its condition."""
        self.failing: list[object] = []
        """The steps of the body that may raise an error."""
        self.drawn: Node | None = None
        """The last random draw of the body."""
        self.finals: dict[TracedStorage, Node] = {}
        self._before: dict[TracedStorage, Any] = {}

    def note_write(self, storage: TracedStorage) -> None:
        """Store the state of a storage before its first write."""
        for one in storage.related():
            self._before.setdefault(one, one.state())

    def owns(self, storage: TracedStorage) -> bool:
        """True if the body has made the storage, perhaps in a region inside it."""
        region = storage.region
        while region is not None and region is not self:
            region = region.outer
        return region is self

    def checked(self, positions: Node, length: Dim) -> Node:
        """Positions counted from an array's start; a check requires that all are within its length.

        Positions that fail the check are replaced by 0, so that memory is safe until NumPy answers
        the call.

        Raises:
            RegionRefused: the array may be empty.
        """
        if not length > 0:
            raise RegionRefused("a computed position in an empty array")
        over = size(length)
        negative = elementwise(PRIMITIVES["less"], positions, ZERO)
        behind = elementwise(PRIMITIVES["add"], positions, over)
        found = elementwise(WHERE, negative, behind, positions)
        # a number that is still negative is a large one without a sign
        within = elementwise(PRIMITIVES["less"], cast(found, UNSIGNED), cast(over, UNSIGNED))
        self.check(within)
        return elementwise(WHERE, within, found, ZERO)

    def asked(
        self, following: Following, condition: Callable[..., Any] | None, values: Sequence[Any]
    ) -> Node | None:
        """The truth value of a condition before a trip; None if the condition always holds.

        Raises:
            RegionRefused: the condition draws or writes, which the trip would do once more.
        """
        if condition is None:
            return None
        last, versions = following.last, [one.version for one in self._before]
        truth = truth_node(condition(*values))
        if following.last is not last:
            raise RegionRefused("a condition that draws")
        if versions != [one.version for one in self._before]:
            raise RegionRefused("a condition that writes")
        return truth

    def check(self, truth: Node) -> None:
        """Require that a condition holds, or that all elements of an array of bools are True."""
        axes = tuple(range(len(truth.shape)))
        self.checks.append(fold(ALL_OF, truth, axes) if axes else truth)

    def end_call(self) -> None:
        """Note that Python answers the call if the program reaches this place."""
        self.checks.append(FALSE)
        self.ends_call = True

    def check_arithmetic(self, name: str, operands: Sequence[object], made: Node) -> None:
        """Check that Python would raise no error, and that an integer result fits 64 bits.

        A number that may be a Python number is checked like a Python number.

        Args:
            name: The operator.
            operands: The numbers or nodes that the operator takes.
            made: The node of the operator's result.
        """
        if made.shape or not (made.weak or self._stays_mixed(operands, made)):
            return
        nodes = [strong(as_node(one, name)) for one in operands]
        if name in ("truediv", "floordiv", "mod") and not isinstance(nodes[1], Scalar):
            zero = Scalar(nodes[1].dtype, nodes[1].dtype.type(0), False)
            self.check(elementwise(PRIMITIVES["not_equal"], nodes[1], zero))
        if made.dtype == INT and name in ("add", "sub", "mul", "pow", "neg"):
            ends = _ends_of_operand(name, nodes)
            if ends is not None:
                for compare, operand, end in ends:
                    self.check(elementwise(PRIMITIVES[compare], operand, end))
                return
            about = UFUNCS[OPERATOR_UFUNCS[name]](*(cast(node, FLOAT) for node in nodes))
            assert isinstance(about, Node)
            size_ = elementwise(PRIMITIVES["absolute"], about)
            self.check(elementwise(PRIMITIVES["less"], size_, _LARGEST))

    def _stays_mixed(self, operands: Sequence[object], made: Node) -> bool:
        """True if a result is a Python number in each trip whose operands are Python numbers."""
        nodes = [one for one in operands if isinstance(one, Node)]
        others = [one for one in nodes if one not in self.mixed]
        if len(others) == len(nodes) or not all(one.weak for one in others):
            return False
        self.mixed.add(made)
        return True

    def bits(self, name: str, *operands: object) -> Node:
        """The result of an operator on the bits of Python integers, as a Python integer.

        Raises:
            RegionRefused: the operator shifts to the left: Python integers may then exceed 64 bits.
        """
        if name == "lshift":
            raise RegionRefused("a shift of a Python integer to the left")
        nodes = [strong(as_node(one, name)) for one in operands]
        made = UFUNCS[OPERATOR_UFUNCS[name]](*nodes)
        assert isinstance(made, Node)
        return python_number(made)

    def end(self) -> None:
        """Put all storages back into their earlier states; `finals` keeps their last versions."""
        for storage, state in self._before.items():
            if not self.owns(storage):  # the body may return its own storages
                self.finals[storage] = storage.version
                storage.put_back(state)


@contextmanager
def followed(
    following: Following, given: Mapping[TracedStorage, Node], draws: Node | None = None
) -> Iterator[RegionBody]:
    """Trace a body; placeholders stand for versions of storages (`given`) and the last draw.

    Raises:
        RegionRefused: the body writes into memory that views of the function share.
    """
    region = RegionBody(following.region)
    arguments, failing, last = following.arguments, len(following.may_fail), following.last
    following.last = draws
    for storage, node in given.items():
        region.note_write(storage)
        storage.put_back((node, storage.state()[1]))
    following.region, following.arguments = region, None
    try:
        yield region
    finally:
        following.region, following.arguments = region.outer, arguments
        drawn, following.last = following.last, last
        region.end()
    if isinstance(drawn, Node) and drawn is not draws:
        region.drawn = drawn
    region.failing = following.may_fail[failing:]
    del following.may_fail[failing:]
    for storage in region.finals:
        if len(storage.related()) > 1:
            raise RegionRefused("a write into an array that may share memory with another one")


def _ends_of_operand(name: str, nodes: Sequence[Node]) -> list[tuple[str, Node, Node]] | None:
    """The comparisons of an operand which say that its sum with a constant has 64 bits.

    Returns:
        Comparisons, each with the operand and its bound; None for other operations.
    """
    known = [k for k, node in enumerate(nodes) if isinstance(node, Scalar)]
    if name not in ("add", "sub") or len(known) != 1 or any(node.dtype != INT for node in nodes):
        return None
    constant, operand = nodes[known[0]], nodes[1 - known[0]]
    assert isinstance(constant, Scalar)
    number, (least, greatest) = int(constant.value), value_range(INT)
    if name == "add":
        low, high = least - number, greatest - number
    elif known == [1]:
        low, high = least + number, greatest + number
    else:
        low, high = number - greatest, number - least
    ends = ("greater_equal", low, low > least), ("less_equal", high, high < greatest)
    return [(c, operand, Scalar(INT, INT.type(end), False)) for c, end, is_near in ends if is_near]


class Pass(Record):
    """One pass through a body: the values given and returned, and the slots that changed.

    `truth` is the condition of a loop. The first `asked` checks of the region belong to the
    condition.
    """

    __slots__ = ("__dict__",)

    region: RegionBody
    given: tuple[Any, ...]
    returned: tuple[Any, ...]
    changed: frozenset[int]
    truth: Node | None = None
    asked: int = 0

    @cached_property
    def unread(self) -> tuple[Node, ...]:
        """The last draw, and the steps with unread results that may raise an error."""
        region, truth = self.region, [] if self.truth is None else [self.truth]
        given = [v.node for v in self.returned if issubclass(type(v), Tracer)]
        read = set(post_order((*region.finals.values(), *region.checks, *truth, *given)))
        drawn = [] if region.drawn is None else [region.drawn]
        failing = [one for one in region.failing if isinstance(one, Node) and one not in read]
        return (*drawn, *failing)


def after_steps(*steps: object) -> Node:
    """A number whose value is known only after the steps are done."""
    found: Node = Scalar(FLOAT, FLOAT.type(0), False)
    for node in (step for step in steps if isinstance(step, Node)):
        rank = len(node.shape)
        if all((n.constant or 0) > 0 for n in node.shape) and not is_complex(node.dtype):
            first = Op(node.dtype, COPY, None, (node,), ((fixed(0),) * rank,), (), 0)
            done: Node = cast(first, FLOAT)
        else:  # the value may have no element
            given = (stored(node),), (identity(rank),), node.shape, 0
            done = Op(FLOAT, AFTER.replace(ranks=(rank,)), None, *given)
        found = elementwise(PRIMITIVES["add"], found, done)
    return found


class Kind(Record):
    """The type of a carried value: a number (weak if it is Python's), or a newly bound array.

    A mixed number is a Python number in some trips and a NumPy number in the others.
    """

    dtype: DType
    weak: bool
    shape: tuple[Dim, ...] = ()
    is_array: bool = False
    is_mixed: bool = False


def kind_of(value: Any) -> Kind | None:
    """The type of a value that may be carried; None for other objects."""
    if issubclass(type(value), Tracer):
        node = value.node
        return Kind(node.dtype, node.weak, node.shape, value.is_array)
    if issubclass(type(value), SymbolicNumber):
        return Kind(INT if isinstance(value, SymbolicInt) else FLOAT, _is_weak(value))
    if type(value) in (bool, int, float, complex):
        kinds = {bool: BOOL, int: INT, float: FLOAT, complex: COMPLEX}
        if type(value) is int and not -(2**63) <= value < 2**63:
            return None
        return Kind(kinds[type(value)], True)
    if isinstance(value, np.generic) and value.dtype.kind in "biufc":
        return Kind(supported(value.dtype, "a carried number", None), False)
    return None


def refuse_carried(following: Following, value: Any) -> NoReturn:
    """Refuse to carry an object that changes.

    Raises:
        TraceAgain: the object is an array of known values, which the next trace makes traced.
        RegionRefused: otherwise.
    """
    if following.want_traced is not None:
        following.want_traced(value)
    raise RegionRefused(f"a carried {type(value).__name__} that changes")


def _is_weak(value: SymbolicNumber) -> bool:
    return not isinstance(value, SymbolicFloat) or value.node.weak


def joined(first: Any, one: Kind, other: Kind) -> Kind:
    """The type of a value that has either of two types; `first` is a value of type `one`, if known.

    Raises:
        RegionRefused: arithmetic in the joined type may differ from arithmetic in the first type.
    """
    if one == other:
        return one
    if one.shape != other.shape or one.is_array != other.is_array:
        raise RegionRefused("a carried value of changing shape")
    ranks = [_DEFAULT.index(k.dtype) if k.dtype in _DEFAULT else -1 for k in (one, other)]
    if -1 in ranks or BOOL in (one.dtype, other.dtype):
        raise RegionRefused(f"a carried value that is {one.dtype} and {other.dtype}")
    small = type(first) is not int or abs(first) <= EXACT
    if one.is_array or not small:
        raise RegionRefused("a carried number that may not be exact in the type it gets")
    found = _DEFAULT[max(ranks)]
    for kind in (one, other):
        if not kind.weak and kind.dtype != found:
            raise RegionRefused(
                f"a number that is {kind.dtype} in some trips and {found} in others"
            )
    is_mixed = one.is_mixed or other.is_mixed or one.weak is not other.weak
    return Kind(found, one.weak and other.weak, is_mixed=is_mixed)


def truth_node(value: Any) -> Node | None:
    """The node of a condition; None if the condition always holds."""
    if value is True:
        return None
    node = as_node(node_of(value), "a condition")
    if node.shape:
        raise RegionRefused("the truth of an array")
    return as_mask(strong(node))


def or_zeros(value: Any, kind: Kind) -> Any:
    """The value; for an unbound value, zeros of the given kind."""
    if value is not UNBOUND:
        return value
    return Tracer(broadcast_to(Scalar(kind.dtype, kind.dtype.type(0), False), kind.shape))


def stored_as(value: Any, kind: Kind) -> Node:
    """A value in the dtype of the cell that carries the value."""
    return cast(strong(as_node(node_of(value), "a carried value")), kind.dtype)


def replaced(old: Node, value: Node) -> Node:
    """The next version of a storage, after a value of its shape replaces all elements."""
    place = identity(len(old.shape))
    return update(old, place, value, place, old.shape)


def applied(name: str, *operands: Node) -> Node:
    """The result of an elementwise operation."""
    return elementwise(PRIMITIVES[name], *operands)


def all_true(*truths: Node) -> Node:
    """A truth value that is True if all given truth values are True."""
    found = Scalar(BOOL, np.bool_(True), False) if not truths else truths[0]
    for one in truths[1:]:
        found = applied("logical_and", found, one)
    return found


def is_unchanged(old: Any, new: Any) -> bool:
    """True if a value after a trip equals the value before the trip."""
    if new is old:
        return True
    if issubclass(type(old), SymbolicInt) and issubclass(type(new), SymbolicInt):
        return old.dim is new.dim
    if type(old) in (bool, int, float, complex, str) and type(old) is type(new):
        return repr(old) == repr(new)
    both = issubclass(type(old), Tracer) and issubclass(type(new), Tracer)
    return both and old.is_array and new.storage is old.storage and new.node is old.node
