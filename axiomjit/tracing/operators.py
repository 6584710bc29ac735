"""Operators and operands of traced values, and the storages of these values.

A storage represents the memory of one array that a traced function makes. A node cannot identify
the memory: if `x + 1` is written twice, both results have one node, but they are two arrays.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final

from axiomjit.base.array_values import COMPARISONS, OPERATOR_UFUNCS, PREFIX, ArrayValue
from axiomjit.base.dtypes import BOOL, ELEMENT_TYPES, INT, is_complex, is_integer
from axiomjit.base.errors import AxiomError, NeedsValuesError, UnsupportedError
from axiomjit.base.locks import lazy_import
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current, refused
from axiomjit.base.tree import Path, reachable
from axiomjit.graph import builder
from axiomjit.graph.builder import cast
from axiomjit.graph.nodes import Node
from axiomjit.graph.primitives import COPY, PRIMITIVES
from axiomjit.graph.storages import VersionedStorage
from axiomjit.graph.traced_values import TracedValue
from axiomjit.numpy_rules.elementwise import UFUNCS
from axiomjit.numpy_rules.options import Rule
from axiomjit.numpy_rules.shapes import part_of
from axiomjit.tracing.lengths import SymbolicInt, SymbolicNumber, unwrap
from axiomjit.tracing.refusals import note_asked, recorded, refuse_value


class TracedStorage(VersionedStorage):
    """The memory that one array and its views share.

    NumPy's `reshape` returns a view or a copy, depending on the memory layout of the array, which
    is unknown for a computed array. So the result of `reshape` has its own storage, related to the
    storage of the array: after a write into one of the two, the other storage cannot be used.
    """

    __slots__ = ("_doubt", "_maybe_same", "_read_by", "region")

    def __init__(self, root: Node) -> None:
        super().__init__(root)
        following = current()
        self.region: Final[Any] = None if following is None else following.region
        """The region in whose body the memory was made."""
        self._maybe_same: Final[list[TracedStorage]] = []
        self._doubt: NeedsValuesError | None = None
        self._read_by: str | None = None

    @property
    def is_written(self) -> bool:
        """True if the storage was written."""
        return self.version is not self.root

    def relate(self, other: TracedStorage) -> None:
        """Record that this storage and the other one may be the same memory in NumPy."""
        self._maybe_same.append(other)
        other._maybe_same.append(self)

    def write(self, following: Callable[[Node], Node]) -> None:
        """Make the next version; related storages, which may be the same memory, become unusable.

        Raises:
            NeedsValuesError: earlier steps read this memory as a part of an object.
        """
        if self._read_by is not None:
            self._refuse_write(self._read_by)
        self._note_write()
        super().write(following)
        where = user_location() or "an earlier line"
        for one in self.related()[1:]:
            one._doubt = NeedsValuesError(
                "the values of an array that shares memory with another one, or does not",
                f"a write at {where} into the one of which the other is a reshape: a view of it "
                "or a copy, as the computed array lies in memory",
                "write before reshape, or reshape a copy: x.copy().reshape(...)",
            )

    def _note_write(self) -> None:
        """Tell the region that is traced, before a write, that this storage is written."""
        following = current()
        if following is not None and following.region is not None:
            following.region.note_write(self)

    def state(self) -> tuple[Node, NeedsValuesError | None]:
        """The current version, and the reason why the storage cannot be used (or None)."""
        return self.version, self._doubt

    def put_back(self, state: tuple[Node, NeedsValuesError | None]) -> None:
        """Return to an earlier state."""
        version, self._doubt = state
        super().write(lambda _: version)

    def related(self) -> list[TracedStorage]:
        """This storage, and the storages that may be the same memory."""
        found = [self]
        for one in found:
            found += (other for other in one._maybe_same if other not in found)
        return found

    def end(self, name: str) -> None:
        """Record that a function leaves undefined values in this memory: later uses are refused."""
        where = user_location() or "an earlier line"
        for one in self.related():
            one._doubt = NeedsValuesError(
                "the values of an array after a call that may have overwritten it",
                f"an overwritten argument of {name} at {where}",
                "leave out the option to overwrite it, or give the function a copy: x.copy()",
            )

    def keep(self, name: str) -> None:
        """Record that steps read this memory as a part of an object: later writes are refused.

        Raises:
            NeedsValuesError: the memory was written before.
        """
        self._read_by = name
        if self.is_written:
            self._refuse_write(name)

    def seal(self) -> None:
        """Record that a list has the values that this memory has now: later writes are refused."""
        self._read_by = "a list"

    @property
    def is_sealed(self) -> bool:
        """True if a write into this memory is refused."""
        return self._read_by is not None

    def _refuse_write(self, name: str) -> None:
        raise refused(
            NeedsValuesError(
                f"a write into an array that is a part of {name}",
                "that a step of the program reads the whole object",
                "write into it outside the compiled function",
                user_location(),
            )
        )

    def copy_values(self) -> None:
        """Make a copy of the current version the next version, with the same values."""
        self._note_write()
        super().write(lambda version: builder.elementwise(COPY, version))

    def current(self, node: Node) -> Node:
        """The current form of a node, as `VersionedStorage.current` gives it.

        Raises:
            NeedsValuesError: a write may have changed this storage; the memory layout decides.
        """
        if self._doubt is not None:
            doubt = self._doubt
            raise refused(NeedsValuesError(doubt.asked, doubt.seen, doubt.remedy, user_location()))
        return super().current(node)


def node_of(value: Any) -> object:
    """The node of a traced array, the Dim of a length, lists of these; or the unchanged value."""
    if isinstance(value, list | tuple | deque) and traced_in(value):
        return (tuple if isinstance(value, tuple) else list)(map(node_of, value))
    return value.node if issubclass(type(value), TracedValue) else unwrap(value)


def traced_in(value: object) -> list[Any]:
    """The traced arrays in nested lists and tuples; a list may contain itself."""
    return [one for one in leaves_in(value) if issubclass(type(one), TracedValue)]


def leaves_in(value: object) -> list[Any]:
    """The leaves of nested lists and tuples; a list may contain itself."""
    return [one for _, one in reachable((value,), _entries) if not _is_sequence(one)]


def _entries(path: Path, value: Any) -> Iterable[tuple[object, object]]:
    return enumerate(value) if _is_sequence(value) else ()


def _is_sequence(value: object) -> bool:
    return issubclass(type(value), list | tuple | deque)  # runs no code of the object's class


Made = Node | tuple[Node, ...] | list[Node] | bool


@recorded
def result_of(row: Rule, args: Sequence[object], kwargs: dict[str, object]) -> Made:
    """The nodes of the results that a NumPy rule gives for traced arrays."""
    options = {name: node_of(value) for name, value in kwargs.items()}
    try:
        if isinstance(options.get("dtype"), Node):
            raise TypeError("Cannot construct a dtype from an array")
        made: Made = row(*map(node_of, args), **options)
    except TypeError as error:
        traced: list[Any] = traced_in([*args[1:], *kwargs.values()])
        numbers = [one for one in traced if is_integer(one.node.dtype) and not one.node.shape]
        if isinstance(error, AxiomError) or not numbers:
            raise
        lengths = _lengths(args[1:]), {name: _lengths(value) for name, value in kwargs.items()}
        if not traced_in([*lengths[0], *lengths[1].values()]):
            return result_of(row, (args[0], *lengths[0]), lengths[1])
        note_asked(numbers[0])
        refuse_value(
            "an array's value as an axis, a length or another option",
            numbers[0].description(),
            "pass a Python int in place of the array",
        )
    return made


def _lengths(value: Any) -> Any:
    """The value, with lengths in place of computed integers, also in lists and tuples."""
    if isinstance(value, list | tuple):
        return (tuple if isinstance(value, tuple) else list)(map(_lengths, value))
    return lazy_import("axiomjit.tracing.python_numbers").position(value)


class TracedOperators(ArrayValue[Any], TracedValue):
    """Operators of an object that represents an array or a number while a function is traced."""

    __slots__ = ()

    @property
    def is_array(self) -> bool:
        """True if this object represents an array, whose memory operators can write in place."""
        raise NotImplementedError

    @property
    def node(self) -> Node:
        """The node that this object represents."""
        raise NotImplementedError

    @property
    def storage(self) -> TracedStorage | None:
        """The storage of an array; None for a number."""
        raise NotImplementedError

    def represented(self, node: Node) -> Any:
        """Represent the result of an operator."""
        raise NotImplementedError

    @recorded
    def _operate(self, name: str, *operands: Any) -> Any:
        """Apply an operator; Python numbers stay Python numbers, unlike in NumPy's functions."""
        if name in ("lt", "le", "gt", "ge"):
            _refuse_order(name, operands)
            if is_complex(self.node.dtype) and not any(map(_is_array, operands)):
                return self.represented(_in_order(name, *map(node_of, operands)))
        if name in _OF_NUMBERS and all(isinstance(one, _NUMBERS) for one in operands):
            try:
                made = UFUNCS[OPERATOR_UFUNCS[name]](*_numbers(*map(node_of, operands)))
            except UnsupportedError:
                if self.node.weak or name in PREFIX:
                    raise  # other operators may be external calls
            else:
                assert isinstance(made, Node)
                region = _region()
                if region is not None:
                    region.check_arithmetic(name, _numbers(*map(node_of, operands)), made)
                return self.represented(made)
        if name in _OF_BITS and _region() and all(_python_kind(one) is int for one in operands):
            return self.represented(_region().bits(name, *map(node_of, operands)))
        if name in _OF_BOOLS and all(_python_kind(one) is bool for one in operands):
            made = UFUNCS[OPERATOR_UFUNCS[name]](*map(node_of, operands))
            assert isinstance(made, Node)
            return self.represented(builder.python_number(made))
        return super()._operate(name, *operands)

    def _operate_in_place(self, name: str, other: Any) -> Any:
        """Write the result into this array; for a number, Python then calls the operator itself."""
        if not self.is_array:
            return NotImplemented
        if name == "matmul" and len(builder.as_node(node_of(other), "matmul").shape) < 2:
            raise ValueError(
                "inplace matrix multiplication requires the first operand to have at least one and "
                "the second at least two dimensions."
            )
        return super()._operate_in_place(name, other)


_OF_NUMBERS: Final = frozenset(
    {"add", "sub", "mul", "truediv", "pow", "floordiv", "mod", "neg", "abs", "invert"}
)
"""Operators that return Python numbers for Python numbers."""
_OF_BITS: Final = frozenset({"and", "or", "xor", "lshift", "rshift"})
"""Operators on the bits of integers."""
_OF_BOOLS: Final = frozenset({"and", "or", "xor"})
"""Operators that return Python bools for Python bools."""
_NUMBERS: Final = TracedValue | SymbolicNumber | int | float | complex


def _region() -> Any:
    """The region whose body is traced; None outside of bodies."""
    following = current()
    return None if following is None else following.region


def _numbers(*operands: object) -> Sequence[object]:
    """The operands; Python bools become integers if all operands are bools."""
    nodes = [n for n in operands if not isinstance(n, bool)]
    if all(isinstance(n, Node) and n.weak and n.dtype == BOOL for n in nodes):
        return [cast(n, INT) if isinstance(n, Node) else n for n in operands]
    return operands


def _python_kind(value: Any) -> type | None:
    """The class of a Python number, or of the number that a tracer represents; else None."""
    if issubclass(type(value), TracedValue):
        return ELEMENT_TYPES[value.node.dtype].python if value.node.weak else None
    if issubclass(type(value), SymbolicNumber):
        return int if issubclass(type(value), SymbolicInt) else float
    return type(value) if type(value) in (bool, int, float, complex) else None


def _is_array(value: Any) -> bool:
    is_traced = issubclass(type(value), TracedOperators)
    return value.is_array if is_traced else not isinstance(value, _NUMBERS)


def _in_order(name: str, left: object, right: object) -> Node:
    """Compare complex NumPy numbers: the real parts, or the imaginary parts if these are equal."""
    (a, b), (c, d) = ([part_of(one, part) for part in ("real", "imag")] for one in (left, right))
    strict = "less" if name in ("lt", "le") else "greater"
    names = strict, OPERATOR_UFUNCS[name].__name__
    first, second, equal, both, either = (
        partial(builder.elementwise, PRIMITIVES[one])
        for one in (*names, "equal", "logical_and", "logical_or")
    )
    return either(first(a, c), both(equal(a, c), second(b, d)))


def _refuse_order(name: str, operands: Sequence[object]) -> None:
    """Refuse to compare Python's complex numbers, which have no order."""
    pair = [_python_kind(one) for one in operands]
    if None not in pair and complex in pair:
        kinds = " and ".join(repr(kind.__name__) for kind in pair if kind)
        sign = COMPARISONS[name][1]
        raise TypeError(f"{sign!r} not supported between instances of {kinds}")
