"""Temporaries: operands of an operator to which only the interpreter's stack has a reference.

NumPy writes the result of `(x * 2) + y` into the memory of `x * 2`. Operators of lazy arrays that
run at once let NumPy reuse the memory, too, if no reference to an operand remains after the
operator: the operand's NumPy array is passed without another reference, and NumPy decides. An
operand is known to have no reference after the operator if three conditions hold:

- in the bytecode of the user's function, the operator takes the result of an instruction from the
  stack, and there is no jump between the instruction and the operator
- that instruction made the handle of the operand
- the number of references to the handle is the number for an object on the stack

The first two conditions exclude callers in C, which may hold the only reference to an operand in a
container.
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

from axiomjit.base.array_values import INFIX
from axiomjit.base.caching import BoundedTable
from axiomjit.numpy.handles import Handle, concrete
from axiomjit.numpy.operations import Operation

LEAST_BYTES: Final = 256 * 1024
"""From this number of bytes on, NumPy reuses the memory of an operand."""
MOST_CODES: Final = 200
Producers = Mapping[int, Sequence[range]]
"""For the byte offset of each operator's instruction, the instructions that push its operands.

Each range has all byte offsets of one instruction: a running call may be at any of these offsets.
"""


def temporaries(left: Handle, right: Any) -> tuple[Handle, ...]:
    """The operands without a reference after the operator that the user's instruction runs.

    The caller must be a function that the operator's method calls with the operands, because the
    number of references and the frame of the user depend on the depth of the call.
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
    """True if one of the given instructions of a code object made a handle."""
    place = getattr(handle, "_place", None)
    if not place:
        return False
    of, offset = place[0]
    return of is code and any(offset in one for one in instructions)


def run_operator(operation: Operation, args: Sequence[Any], dying: Sequence[Handle]) -> Any:
    """The result of an operator on NumPy arrays; it may get the memory of an operand in `dying`.

    The handles in `dying` lose their values.
    """
    left, right = ([_taken_out(one, dying)] for one in args)
    with np.errstate(all="ignore"):
        return _OPERATORS[str(operation.sign)](left.pop(), right.pop())


def _taken_out(value: Any, dying: Sequence[Handle]) -> Any:
    """The NumPy array or number of an operand, removed from the handle if it is in `dying`."""
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
    """The byte offsets of the instruction that pushed the operand at a depth of the stack.

    Args:
        instructions: The instructions of a function.
        at: The number of the operator's instruction.
        depth: The depth of the operand below the top of the stack: 0 for the top, -1 for the next.

    Returns:
        An empty range if a jump leads to an instruction in between, or if an instruction in between
        moves values on the stack.
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
    """An object whose operator counts references to operands at the call depth of `temporaries`."""

    def __add__(self, other: _Probe) -> int:
        return _as_operator(self, other)


def _as_operator(left: _Probe, right: _Probe) -> int:
    return _counted(left, right)


def _counted(left: _Probe, right: _Probe) -> int:
    for one in (left, right):
        count = getrefcount(one)
    return count


_TEMPORARY: Final = _Probe() + _Probe()
"""The number of references that `temporaries` counts for an operand on the stack."""
