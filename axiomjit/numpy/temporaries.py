"""Temporaries: operands of an operator that nobody but the interpreter's stack holds.

NumPy writes the result of `(x * 2) + y` into the memory of `x * 2`. An operator of lazy arrays that
runs at once has the same chance where its operand dies with it: the NumPy array is passed without
another reference, and NumPy decides. That an operand dies is known if three things agree:

- the bytecode of the user's function: the operator takes the result of an instruction from the
  stack, with no jump between the two
- the handle of the operand was made by that instruction
- the number of references is that of an object on the stack

The first two exclude callers in C, which may hold the only reference to an operand in a container.
"""

from __future__ import annotations

import dis
import operator
import sys
from collections.abc import Callable, Mapping, Sequence
from sys import getrefcount
from types import CodeType
from typing import Any, Final

import numpy as np

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.operator_names import INFIX
from axiomjit.numpy.handles import Handle, concrete
from axiomjit.numpy.operations import Operation

LEAST_BYTES: Final = 256 * 1024
"""Bytes of an operand from which on NumPy reuses its memory."""
MOST_CODES: Final = 200
Producers = Mapping[int, Sequence[range]]
"""The instructions that push the operands of operators, by the operator's own.

They are offsets in bytes; a running call may be at any of its instruction's.
"""


def temporaries(left: Handle, right: Any) -> tuple[Handle, ...]:
    """The operands that die with the operator that the user's instruction runs.

    It is to be called by a function that the operator's method calls with the operands.
    """
    if left._facts.nbytes < LEAST_BYTES:
        return ()
    found: list[Handle] = []
    for one in (left, right):
        if isinstance(one, Handle) and one._link is None and getrefcount(one) <= _TEMPORARY:
            found.append(one)
    if not found or left is right:
        return ()
    frame = sys._getframe(3)
    producers = _producers(frame.f_code).get(frame.f_lasti, ())
    return tuple([one for one in found if _is_made_by(one, frame.f_code, producers)])


def _is_made_by(handle: Handle, code: CodeType, instructions: Sequence[range]) -> bool:
    """True if one of the instructions of some code made a handle with its value."""
    place = getattr(handle, "_place", None)
    if not place:
        return False
    of, offset = place[0]
    return of is code and any(offset in one for one in instructions)


def run_operator(operation: Operation, args: Sequence[Any], dying: Sequence[Handle]) -> Any:
    """The result of an operator on NumPy arrays, which NumPy may write into dying operands.

    The handles of these have no value any more.
    """
    left, right = ([_taken_out(one, dying)] for one in args)
    with np.errstate(all="ignore"):
        return _OPERATORS[str(operation.sign)](left.pop(), right.pop())


def _taken_out(value: Any, dying: Sequence[Handle]) -> Any:
    """The NumPy array or number of an operand; a dying one gives it up."""
    if not any(one is value for one in dying):
        return concrete(value)
    array, value._array = value._array, None
    return array


def _producers(code: CodeType) -> Producers:
    """The instructions that push the operands of the operators in a function."""
    found = _known.get(code)
    return _known.keep(code, _found_producers(code)) if found is None else found


def _found_producers(code: CodeType) -> Producers:
    found: dict[int, Sequence[range]] = {}
    instructions = [*dis.get_instructions(code)]
    for at, one in enumerate(instructions):
        if one.opname == "BINARY_OP":
            producers = (_producer(instructions, at, depth) for depth in (-1, 0))
            found[one.offset] = [producer for producer in producers if producer]
    return found


def _producer(instructions: Sequence[dis.Instruction], at: int, depth: int) -> range:
    """The instruction in front of another one that pushes what lies at a depth of the stack.

    An empty range is for a value that comes along a jump, or from an instruction that moves values.
    """
    height = 0
    for k in range(at - 1, -1, -1):
        after = instructions[k + 1]
        one = instructions[k]
        if height < depth or after.is_jump_target or one.opcode in _JUMPS or one.opname in _MOVES:
            return range(0)
        if height == depth:
            return range(one.offset, after.offset)
        height -= dis.stack_effect(one.opcode, one.arg)
    return range(0)


_JUMPS: Final = frozenset((*dis.hasjrel, *dis.hasjabs))
_MOVES: Final = frozenset(("SWAP", "COPY", "YIELD_VALUE", "SEND"))
_OPERATORS: Final[Mapping[str, Callable[[Any, Any], Any]]] = {
    sign: getattr(operator, f"__{stem}__") for stem, (_, sign) in INFIX.items()
}
_known: Final = BoundedTable[CodeType, Producers](MOST_CODES)


class _Probe:
    """An object whose operator counts references as `temporaries` does."""

    def __add__(self, other: _Probe) -> int:
        return _as_operator(self, other)


def _as_operator(left: _Probe, right: _Probe) -> int:
    return _counted(left, right)


def _counted(left: _Probe, right: _Probe) -> int:
    for one in (left, right):
        count = getrefcount(one)
    return count


_TEMPORARY: Final = _Probe() + _Probe()
"""The references to an operand on the stack, as `temporaries` counts them."""
