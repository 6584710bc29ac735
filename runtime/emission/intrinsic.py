"""The names of a kernel source that stand for LLVM code: typed by their operands, then emitted.

A name is defined as Numba's intrinsics are: by a function of the operands' types that gives the
signature and the emission, or None where it takes no such operands. Numba registers each of its
own for inference; these are looked up in a kernel's names, and nothing is inferred.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Self

from axiomjit.runtime.emission.kernel_types import Typed

Definition = Callable[..., Typed]


class Intrinsic:
    """A name of the kernel language."""

    __slots__ = ("__name__", "define", "takes_literals")

    def __init__(self, define: Definition, takes_literals: bool) -> None:
        """Name a definition by the name of its function."""
        self.__name__: Final = define.__name__
        self.define: Final = define
        self.takes_literals: Final = takes_literals
        """Whether a number in the source has a type of its own, which tells the number."""

    def typed(self, operands: list[Any]) -> Typed:
        """The signature and the emission for operands of these types, or None."""
        return self.define(*operands)

    @classmethod
    def of_literals(cls, define: Definition) -> Self:
        """The intrinsic of a definition that has to know the numbers in the source."""
        return cls(define, takes_literals=True)


def intrinsic(define: Definition) -> Intrinsic:
    """The intrinsic of a definition."""
    return Intrinsic(define, takes_literals=False)
