"""A kernel: one function of generated source, and the meaning of its argument words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from axiomjit.base.hashing import sha256
from axiomjit.base.records import Record
from axiomjit.base.target import ChosenTarget

ABI: Final = "2"
"""The version of the kernel interface: the meaning of words and of names in the source."""


class Parameter(Record):
    """One word of a kernel: a buffer's address, a scalar's bits or a length."""

    name: str
    kind: str
    dtype: str


class Traits(Record):
    """Facts about a kernel's loops that the compiler needs in addition to the source.

    `functions` counts calls of elementary functions; `strips` is True if several loops walk a unit
    of the grid. The combine part is ignored.
    """

    functions: int = 0
    strips: bool = False


class Kernel(Record):
    """The source of `kernel(w, lo, hi)`, its words in order, its target, and its key.

    If it `combines`, a call with lo == hi runs the combine part. The key covers the target's name
    and the source, in which buffers, iterators and lengths are numbered by first use; it does not
    depend on names of the program, ids or hash order.
    """

    source: str
    parameters: tuple[Parameter, ...]
    key: str
    combines: bool
    target: ChosenTarget
    traits: Traits = Traits()

    @property
    def polls(self) -> bool:
        """True if the last word is a cancellation flag; long loops end early once it is not 0."""
        return bool(self.parameters) and self.parameters[-1].kind == "flag"


def kernel_key(source: str, parameters: Sequence[Parameter], target: ChosenTarget) -> str:
    """The key of a kernel: equal for equal text, types of words and target."""
    types = ",".join(f"{p.kind}:{p.dtype}" for p in parameters)
    return sha256(f"{ABI}\n{target.name}\n{types}\n{source}".encode()).hexdigest()
