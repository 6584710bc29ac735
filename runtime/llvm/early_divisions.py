"""Loops over vectors that divide for the next vector while they compute with this one.

A division or square root keeps its unit busy for ten cycles and longer, and operations that wait
for it fill the processor's window of instructions. So it is started one step before its result is
needed: software pipelining of one stage (M. Lam, "Software pipelining: an effective scheduling
technique for VLIW machines", 1988). LLVM makes the vectors, so this works on its optimised text.
The last step repeats its own divisions, so that no other memory is read. This is the cost of the
method: too much for rows of a few vectors.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from axiomjit.runtime.llvm.loop_text import LoopText, operands, replaced, result_of, suffixed

USERS: Final = 6
"""The least number of operations that must need a division for it to be started early."""

_SLOW: Final = re.compile(r"fdiv <|(?:tail )?call <[^@]*@llvm\.sqrt\.")
_OPERATION: Final = re.compile(
    r"(?:f(?:add|sub|mul|div|neg|cmp|pext|ptrunc)|[su]itofp|fpto[su]i|icmp|select|bitcast|[sz]ext"
    r"|trunc|and|or|xor|[al]shr|shl|add|sub|mul)\b.*<\d+ x |(?:tail )?call <[^@]*@llvm\.(?!masked)"
)
_KIND: Final = re.compile(r"<\d+ x \w+>")


def start_early(module: str) -> str | None:
    """This module with divisions and roots of vector loops started early; None if it has none."""
    head, *functions = re.split(r"(?m)^(?=define )", module)
    changed = [_in_function(text) for text in functions]
    if not any(changed):
        return None
    return head + "".join(new or old for new, old in zip(changed, functions, strict=True))


def _in_function(text: str) -> str | None:
    labels = re.findall(r"(?m)^(vector\.body\d*):", text)
    if not labels:
        return None
    # LLVM wants numbered values in ascending order: they get names.
    text = re.sub(r"(?m)^(\d+):", r"number.\1:", re.sub(r"%(\d+)\b", r"%number.\1", text))
    lines, found = text.split("\n"), False
    for label in labels:
        loop = LoopText(lines, label)
        parts = _early(loop)
        if parts:
            lines, found = _pipelined(loop, parts), True
    return "\n".join(lines) if found else None


def _early(loop: LoopText) -> list[str]:
    """The values to compute early, in order: divisions, roots and what their operands need."""
    if (
        loop.condition is None
        or loop.entry is None
        or not loop.counts(loop.parts([loop.condition]))
    ):
        return []
    slow = [value for value, text in loop.inside.items() if _SLOW.match(text)]
    return loop.parts([value for value in slow if _gains(loop, value)])


def _gains(loop: LoopText, value: str) -> bool:
    """Whether an operation can be started early, and gains more than the register it takes."""
    parts = loop.parts([value])
    operations = _operations(loop, parts)
    loads = [part for part in parts if loop.inside[part].startswith("load <")]
    counting = [part for part in parts if part not in operations and part not in loads]
    counting += loop.parts(loop.phis[name].next for name in loop.counters(parts))
    waits = len(loop.users(value)) >= USERS
    return waits and loop.counts(counting) and all(map(loop.stays, loads))


def _operations(loop: LoopText, parts: Sequence[str]) -> list[str]:
    """The parts that are operations on vectors."""
    return [part for part in parts if _OPERATION.match(loop.inside[part])]


def _kind(text: str) -> str:
    """The type of the result of a vector operation."""
    operation, kinds = text.partition(" ")[0], _KIND.findall(text)
    if operation in ("fcmp", "icmp"):
        return re.sub(r"x \w+", "x i1", kinds[0])
    return str(kinds[1 if operation == "select" else -1 if " to <" in text else 0])


def _pipelined(loop: LoopText, parts: Sequence[str]) -> list[str]:
    """The function's lines with these parts computed one step ahead."""
    assert loop.condition is not None
    assert loop.entry is not None
    counters, inside = loop.counters(parts), loop.inside
    first = {part: suffixed(part, ".first") for part in parts}
    ahead = {part: suffixed(part, ".next") for part in parts}
    ahead |= {name: suffixed(name, ".ahead") for name in counters}
    begun = {name: phi.first for name, phi in loop.phis.items()} | first
    operations = _operations(loop, parts)
    needed = {
        name for line in loop.lines if result_of(line) not in first for name in operands(line)
    }
    control = loop.parts([loop.condition, *(loop.phis[name].next for name in counters)])

    def line(value: str, names: dict[str, str]) -> str:
        return f"  {names.get(value, value)} = {replaced(inside[value], names)}"

    block = [line(name, {}) for name in loop.phis]
    for part in operations:
        if part in needed:
            edges = f"[ {first[part]}, %{loop.before} ], [ {ahead[part]}, %{loop.label} ]"
            block.append(f"  {part} = phi {_kind(inside[part])} {edges}")
    block += [line(name, {}) for name in control]
    for name in counters:  # in the last step the place where it is already
        kind, _, following = loop.phis[name]
        places = (following, name) if loop.goes_on else (name, following)
        choice = ", ".join(f"{kind} {place}" for place in places)
        block.append(f"  {ahead[name]} = select i1 {loop.condition}, {choice}")
    block += [line(part, ahead) for part in parts]
    gone = {*loop.phis, *control, *operations}
    block += [text for text in loop.body if result_of(text) not in gone]
    before = [line(part, begun) for part in parts]
    lines = list(loop.lines)
    for start, stop, new in sorted(
        [(loop.start, loop.stop, block), (loop.entry, loop.entry, before)], reverse=True
    ):
        lines[start:stop] = new
    return lines
