"""Recorded calls of operations: their keys, their statements, and their varying numbers."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any

from axiomjit.base.dtypes import is_bool
from axiomjit.numpy.facts import Facts
from axiomjit.numpy.handles import Handle
from axiomjit.numpy.operations import GET, SET, VIEWS, WRITES, Operation
from axiomjit.numpy.results import Result, Same
from axiomjit.numpy.statements import (
    OPERAND,
    Statement,
    Writer,
    encoded,
    numbers_in,
    pattern_of,
)


class Call:
    """A recorded call of an operation: arguments, value numbers of operands, key."""

    __slots__ = ("_numbers", "args", "key", "kwargs", "operands", "operation")

    def __init__(
        self,
        operation: Operation,
        args: Sequence[Any],
        kwargs: Mapping[str, Any],
        number: Callable[[Handle], int],
        mark: str | None = None,
    ) -> None:
        """Give every operand a value number; a `mark` distinguishes the key from other keys.

        Raises:
            UnrecordedError: a segment cannot record arguments of this kind.
        """
        self.operation, self.args, self.kwargs = operation, args, kwargs
        self._numbers: dict[int, int] = {}
        self.operands: list[Handle] = []

        def number_of(value: Any) -> int | None:
            if not isinstance(value, Handle):
                return None
            found = self._numbers.get(id(value))
            if found is None:
                found = self._numbers[id(value)] = number(value)
                self.operands.append(value)
            return found

        key: tuple[Hashable, ...] = tuple([encoded(one, number_of) for one in args])
        named = [(name, encoded(one, number_of)) for name, one in sorted(kwargs.items())]
        self.key = (operation, *key, *named) if mark is None else (mark, operation, *key, *named)

    def number(self, operand: Handle) -> int:
        """The value number of an operand."""
        return self._numbers[id(operand)]

    def operand(self, number: int) -> Handle:
        """The first operand with a value number."""
        return next(one for one in self.operands if self.number(one) == number)

    def varying(self) -> Sequence[int | float]:
        """The numbers in the call that may differ between calls with the same pattern."""
        if self.operation in (GET, SET):
            is_number = isinstance(self.args[0], Handle) and self.args[0]._facts.is_number
            return () if is_number else numbers_in(self.args)
        found = numbers_in(self.args) if self.operation.sign else ()
        return found if all(isinstance(one, float) for one in found) else ()

    def varies_simply(self) -> bool:
        """True if the call has two arguments: an operand, and a number that may vary.

        A number that is an index must not be negative.
        """
        if len(self.args) != 2 or self.kwargs or not isinstance(self.args[0], Handle):
            return False
        number = self.args[1]
        is_position = self.operation is GET and type(number) is int and number >= 0
        return is_position or type(number) is float

    def pattern(self) -> Hashable:
        """The key without the varying numbers, but with the shape that an index selects.

        Raises:
            IndexError: the index is outside the array.
        """
        shape = None
        if self.operation in (GET, SET):
            shape = _selected_shape(self.args[0], self.args[1])
        return pattern_of(self.key), shape

    def gathers(self) -> bool:
        """True if the call reads an array at positions."""
        return self.operation is GET and len(self.operands) > 1

    def written(self) -> tuple[int, ...]:
        """The value numbers of the root arrays into whose memory the call writes."""
        targets = [self.args[0]] if self.operation in WRITES else []
        out = self.kwargs.get("out", ())
        targets += out if isinstance(out, tuple) else (out,)
        return tuple({one.root()._number for one in targets if isinstance(one, Handle)})

    def statement(
        self, first: int, results: Sequence[Result], words: Mapping[int, str]
    ) -> Statement:
        """The call as a Python statement.

        Args:
            first: The value number of the first new result.
            results: The results of the call.
            words: The names of varying numbers, by their position.
        """
        read: list[int] = []

        def name_of(value: Any) -> str | None:
            if not isinstance(value, Handle):
                return None
            read.append(self.number(value))
            return OPERAND

        writer, index = Writer(name_of, words), self.operation in (GET, SET)
        args = [
            writer.index(one) if index and k == 1 else writer.text(one)
            for k, one in enumerate(self.args)
        ]
        text = self.operation.text(args, {k: writer.text(one) for k, one in self.kwargs.items()})
        if self.operation in VIEWS and _is_array_of_number(self.args[0], results):
            text = f"np.copy({text})"  # a number has no memory that a view could share
        names = []
        for result in results:
            is_new = result is not None and not isinstance(result, Same)
            names.append(f"v{first}" if is_new else "_")
            first += is_new
        target = ", ".join(names) if set(names) - {"_"} else ""
        return Statement(target, tuple(text.split(OPERAND)), tuple(read))


def _selected_shape(array: Any, index: Any) -> tuple[int, ...]:
    """The shape that an index selects, if arrays of positions and masks in it select no elements.

    Raises:
        IndexError: the index is outside the array.
    """
    parts: list[Any] = []
    for one in index if type(index) is tuple else (index,):
        if isinstance(one, Handle):
            parts += [slice(0)] * (len(one._facts.shape) if is_bool(one._facts.dtype) else 1)
        else:
            parts.append(one)
    return array._facts.sample[tuple(parts)].shape  # type: ignore[no-any-return]


def _is_array_of_number(operand: Any, results: Sequence[Result]) -> bool:
    """True if a number became an array with one element, as in `x.sum().ravel()`."""
    if not (isinstance(operand, Handle) and operand._facts.is_number):
        return False
    made = [one for one in results if isinstance(one, Facts) and not one.is_number]
    return any(one.nbytes == one.dtype.itemsize for one in made)
