"""The operation of a fold -> lines of source that combine two states."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from axiomjit.base.dtypes import DType, cast_name, code, part_dtype
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.primitives import UfuncFold
from axiomjit.graph.state_folds import StateFold, computed


def literal(value: Any, dtype: DType) -> str:
    """A number of a dtype, as source."""
    if isinstance(value, complex):
        part = code(part_dtype(dtype))
        return f"complex_of({part}({value.real!r}), {part}({value.imag!r}))"
    return f"{cast_name(code(dtype))}({value!r})"


def start_source(fold: UfuncFold | StateFold, parts: Sequence[DType]) -> list[str]:
    """The values that a state is opened with; without identity they are never combined."""
    if isinstance(fold, UfuncFold):
        return [literal(fold.initial(dtype), dtype) for dtype in parts]
    return [literal(value.item(), dtype) for value, dtype in zip(fold.start, parts, strict=True)]


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
