"""The report of a checked kernel about an access outside a buffer.

An access outside the bounds of its buffer is not performed; the first one is reported in words
in front of those of the kernel, and the bounds of each buffer follow them:

    place, index, low, high | words of the kernel | low, high of each buffer

`place` is 0 without a report, else `2 * number` for a load and one more for a store, where the
buffers count from 2 and a tile has number 1.
"""

from __future__ import annotations

from typing import Final

from axiomjit.base.errors import BoundsError
from axiomjit.passes.ir.kernel_ir import Kernel
from axiomjit.runtime.memory.allocation import ArgumentBlock

REPORT: Final = 4
"""The number of words in front of those of a checked kernel."""
TILE: Final = 1
"""The number that stands for all tiles."""
FIRST: Final = 2
"""The number of the first buffer."""


def refuse_report(kernel: Kernel, block: ArgumentBlock) -> None:
    """Raise an error for the access that a checked kernel reported in its argument block, if any.

    Raises:
        BoundsError: the kernel reached outside a buffer.
    """
    place, index, low, high = block[:REPORT]
    if not place:
        return
    number, stores = divmod(place, 2)
    buffers = [p for p in kernel.parameters if p.kind == "buffer"]
    name = "a tile" if number == TILE else f"buffer {buffers[number - FIRST].name}"
    verb = "store" if stores else "load"
    raise BoundsError(
        f"{verb} element {index} of {name} in a compiled kernel",
        f"the elements [{low}, {high}) that it may touch",
        "a defect of axiomjit, please report it with this source:\n" + kernel.source,
    )
