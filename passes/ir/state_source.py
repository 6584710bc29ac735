"""The operation of a fold -> lines of source that combine two states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from axiomjit.base.dtypes import DType, cast_name, code, is_float, part_dtype, resolve_loop
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.primitives import MAX, MIN, Primitive, UfuncFold
from axiomjit.graph.reductions import StateFold, computed
from axiomjit.passes.ir.loop_ir import Fold, Let, Nest, State, Take, statements

EXTREMES: Final = {MAX.name: ("larger", "&", -1), MIN.name: ("smaller", "|", 0)}
"""How an extreme of floats goes on: by which function of numbers, and how the bits of all elements
are joined, from which start, to tell the sign of a zero."""


def combined_element(combine: Primitive, held: str, kind: DType, value: str, dtype: DType) -> str:
    """What a scatter stores: an element that is held, combined with a value of some dtype."""
    result = resolve_loop(combine.ufunc, (dtype, dtype))[-1] if combine.ufunc else dtype
    codes = [code(dtype)] * 2
    cast = held if kind == dtype else f"{cast_name(code(dtype))}({held})"
    text = combine.written([cast, value], codes, code(result))
    return text if result == kind else f"{cast_name(code(kind))}({text})"


def is_flagged(state: State) -> bool:
    """Whether NaN and the signs of zeros are kept beside the state, and joined when it is taken.

    Then each step is a few independent instructions; `maximum`, which is exact in each step, is a
    chain of six. Cells of tiles wait for nothing, and are exact.
    """
    fold = state.accumulator
    plain = isinstance(fold, UfuncFold) and not fold.running and state.lanes is None
    return plain and fold.name in EXTREMES and is_float(state.dtype)


def flagged_step(state: State, names: Sequence[str], value: str) -> list[str]:
    """An extreme and its flags with one more element."""
    name, nan, *signs = names
    function, join, _ = EXTREMES[state.accumulator.name]
    steps = [f"{function}({name}, {value})", f"{nan} | isnan({value})"]
    return [*steps, *(f"{each} {join} bits({value})" for each in signs)]


def flagged_value(names: Sequence[str]) -> str:
    """An extreme with its flags, as the value of the state: a zero has the sign that they tell."""
    return f"extreme({', '.join(names)})"


def literal(value: Any, dtype: DType) -> str:
    """A number of a dtype, as source."""
    if isinstance(value, complex):
        part = code(part_dtype(dtype))
        return f"complex_of({part}({value.real!r}), {part}({value.imag!r}))"
    return f"{cast_name(code(dtype))}({value!r})"


def start_source(state: State) -> list[str]:
    """The values that a state is opened with; without identity they are never combined.

    A flagged extreme has met no NaN, and the bits of no element.
    """
    fold = state.accumulator
    if isinstance(fold, StateFold):
        pairs = zip(fold.start, state.parts, strict=True)
        return [literal(value.item(), dtype) for value, dtype in pairs]
    first = literal(fold.initial(state.dtype), state.dtype)
    if not is_flagged(state):
        return [first]
    bits = f"{cast_name(f'i{state.dtype.itemsize}')}({EXTREMES[fold.name][2]})"
    return [first, "b1(False)", *[bits] * state.signs]


def combine_source(
    fold: UfuncFold | StateFold,
    left: Sequence[str],
    right: Sequence[str],
    dtype: DType,
    fresh: Callable[[str], str],
) -> tuple[list[str], list[str]]:
    """Lines that combine two states of a dtype, and the values of the combined state.

    `left` are the values of the state that stands before, `fresh("u")` names what is computed.
    """
    if isinstance(fold, UfuncFold):
        kind = code(dtype)
        return [], [fold.combine.written((*left, *right), (kind, kind), kind)]
    lines: list[str] = []

    def text(value: Any) -> tuple[str, str]:
        if isinstance(value, Scalar):
            return literal(value.value.item(), value.dtype), code(value.dtype)
        found: tuple[str, str] = value
        return found

    def apply(op: Op, operands: Sequence[Any]) -> tuple[str, str]:
        named = [text(operand) for operand in operands]
        kind, name = code(op.dtype), fresh("u")
        written = op.primitive.written([n for n, _ in named], [c for _, c in named], kind)
        lines.append(f"{name} = {written}")
        return name, kind

    kinds = [code(value.dtype) for value in fold.start]
    given = [*zip(left, kinds, strict=True), *zip(right, kinds, strict=True)]
    outputs: Sequence[Node] = fold.outputs
    return lines, [text(value)[0] for value in computed(outputs, given, apply)]


def functions_of(nest: Nest) -> int:
    """How many calls of elementary functions a nest has."""
    found = 0
    for stmt in statements(nest):
        if isinstance(stmt, Let):
            found += stmt.primitive.elementary
        elif isinstance(stmt, Fold) or (isinstance(stmt, Take) and stmt.ahead):
            fold = stmt.state.accumulator
            found += fold.functions if isinstance(fold, StateFold) else 0
    return found
