"""The numbers of a program while passes add others."""

from __future__ import annotations

from collections.abc import Sequence

from axiomjit.graph.nodes import LengthNode, Scalar
from axiomjit.passes.ir.view_ir import Number


class AddedNumbers:
    """The numbers of a program, and those that are added to it."""

    def __init__(self, numbers: Sequence[Number]) -> None:
        """Begin with the numbers of a program."""
        self.every = list(numbers)
        self._names = {number.origin: number.name for number in numbers}

    def named(self, origin: Scalar | LengthNode) -> str:
        """The name of a number, which is added if there is none like it."""
        if origin not in self._names:
            number = Number(f"c{len(self.every)}", origin.dtype, origin)
            self.every.append(number)
            self._names[origin] = number.name
        return self._names[origin]
