"""A loop of one block in LLVM's text: the operands of each value, and what the loop writes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

_NAME: Final = re.compile(r'%(?:"[^"]*"|[\w.$-]+)')
_RESULT: Final = re.compile(rf"  ({_NAME.pattern}) = (.*)")
_PHI: Final = re.compile(r"phi (.+?) \[ (.+), %([\w.]+) \], \[ (.+), %([\w.]+) \]")
_BRANCH: Final = re.compile(rf"  br i1 ({_NAME.pattern}), label %([\w.]+), label %([\w.]+)")
_COUNTING: Final = re.compile(r"(?:add|sub|shl|getelementptr|inttoptr|icmp)\b[^<]*")
_WRITES: Final = re.compile(
    r"\b(?:invoke|fence|volatile|atomic\w*|cmpxchg)\b|\bcall (?!.*@llvm\.)"
    r"|@llvm\.(?:mem|masked\.(?:store|scatter|compress))"
)
_POINTER: Final = re.compile(rf"\bptr ({_NAME.pattern})")
_SCOPE: Final = re.compile(r"!alias\.scope (!\d+)")


def _bare(text: str) -> str:
    """An instruction without its metadata."""
    return text.partition(", !")[0]


def operands(text: str) -> list[str]:
    """The values and labels that an instruction takes."""
    return _NAME.findall(_bare(text))


def replaced(text: str, names: dict[str, str]) -> str:
    """An instruction that takes other values."""
    return _NAME.sub(lambda found: names.get(found[0], found[0]), text)


def suffixed(value: str, suffix: str) -> str:
    """The name of a value with a suffix."""
    return f'{value[:-1]}{suffix}"' if value.endswith('"') else value + suffix


def result_of(line: str) -> str | None:
    """The value that a line defines."""
    found = _RESULT.match(line)
    return found[1] if found else None


def _results(lines: Iterable[str]) -> dict[str, str]:
    """The instruction that defines each value."""
    return {found[1]: found[2] for line in lines if (found := _RESULT.match(line))}


class Phi(NamedTuple):
    """A phi: its value in the first step, and the one that a step leaves for the next."""

    kind: str
    first: str
    next: str


class LoopText:
    """The loop with a label among the lines of a function, read but not changed.

    `entry` is the line that leads to the loop and nowhere else, `condition` the bit that decides
    whether it goes on; one of them is None where the label's block is not alone a loop.
    """

    def __init__(self, lines: Sequence[str], label: str) -> None:
        """Read the block of this label."""
        self.lines, self.label = lines, label
        self.start = next(k for k, line in enumerate(lines) if line.startswith(f"{label}:")) + 1
        self.stop = next(k for k in range(self.start, len(lines)) if lines[k] in ("", "}"))
        self.body = lines[self.start : self.stop]
        self.function, self.inside = _results(lines), _results(self.body)
        branch = _BRANCH.match(self.body[-1])
        self.condition = branch[1] if branch and label in branch.groups()[1:] else None
        self.goes_on = bool(branch and branch[2] == label)
        self.phis: dict[str, Phi] = {}
        self.before = ""
        for value, text in self.inside.items():
            phi = _PHI.match(text)
            if text.startswith("phi ") and not (phi and label in (phi[3], phi[5])):
                self.condition = None
            elif phi:
                outer, inner = (2, 4) if phi[5] == label else (4, 2)
                self.before = phi[outer + 1]
                self.phis[value] = Phi(phi[1], phi[outer], phi[inner])
        self.entry = self._entry()

    def _entry(self) -> int | None:
        inside = False
        for k, line in enumerate(self.lines):
            if inside and line == f"  br label %{self.label}":
                return k
            inside = line != "" and (inside or line.startswith(f"{self.before}:"))
        return None

    def parts(self, values: Iterable[str]) -> list[str]:
        """The values of one step from which these are computed, in order, without the phis."""
        found: set[str] = set()
        left = list(values)
        while left:
            value = left.pop()
            if value in self.inside and value not in self.phis and value not in found:
                found.add(value)
                left += operands(self.inside[value])
        return [value for value in self.inside if value in found]

    def users(self, value: str) -> set[str]:
        """The values and writes of the same step that use a value."""
        found = {value}
        for name, text in self.inside.items():
            if name not in self.phis and not found.isdisjoint(operands(text)):
                found.add(name)
        return found - {value}

    def counters(self, parts: Iterable[str]) -> list[str]:
        """The phis among the operands of these values."""
        taken = {name for part in parts for name in operands(self.inside[part])}
        return [name for name in self.phis if name in taken]

    def counts(self, parts: Iterable[str]) -> bool:
        """Whether these values only count steps or advance addresses."""
        return all(_COUNTING.fullmatch(_bare(self.inside[part])) for part in parts)

    def stays(self, load: str) -> bool:
        """Whether the loop writes no memory that this instruction loads."""
        if any(map(_WRITES.search, self.body)):
            return False
        stores = [line for line in self.body if line.startswith("  store ")]
        return not any(self._may_meet(self.inside[load], store) for store in stores)

    def _may_meet(self, load: str, store: str) -> bool:
        """Whether two accesses may be to the same memory: to different buffers or tiles none is."""
        here, there = _SCOPE.search(load), _SCOPE.search(store)
        if here and there:
            return here[1] == there[1]
        roots = self._root(load), self._root(store)
        kinds = {self.function.get(root, "").partition(" ")[0] for root in roots}
        apart = kinds in ({"alloca"}, {"alloca", "inttoptr"}) and roots[0] != roots[1]
        return not apart

    def _root(self, text: str) -> str:
        """The pointer that an access starts from."""
        pointer = ""
        while found := _POINTER.search(text):
            pointer = found[1]
            text = self.function.get(pointer, "")
            if not text.startswith("getelementptr"):
                break
        return pointer
