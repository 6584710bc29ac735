"""Ufuncs that no primitive means, as steps of a program: NumPy runs their own loops.

Shape and dtype of what a ufunc gives are known from those of its operands, whatever the values.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base import dtypes
from axiomjit.base.counters import counter
from axiomjit.base.dtypes import CODES, DType
from axiomjit.base.errors import GraphTypeError, UnsupportedError
from axiomjit.base.locks import imported
from axiomjit.base.origins import user_location
from axiomjit.base.records import Record
from axiomjit.graph import builder
from axiomjit.graph.library_nodes import stored
from axiomjit.graph.library_operations import Labels, LibraryOperation, OperandArrays
from axiomjit.graph.nodes import Node, Op, Scalar
from axiomjit.graph.origins import note
from axiomjit.graph.primitives import ALL
from axiomjit.graph.promotion import cast, check_fits, promotable
from axiomjit.graph.seen import seen_call

WEIGHT: Final = 20
"""Additions that one element of a result costs."""
MODULES: Final = ("numpy", "scipy.special")
"""Where the name of a ufunc is looked up."""
count_opaque: Final = counter("opaque_calls")


class UfuncCall(Record):
    """The evaluation of a step: one of the results of a ufunc.

    `given` has an entry for each input: a number, or None for the next operand.
    """

    ufunc: np.ufunc
    given: tuple[np.generic | None, ...]
    result: int

    def __call__(self, operands: OperandArrays, labels: Labels, out: np.ndarray) -> None:
        """Write the result into `out`."""
        count_opaque()
        arrays = iter(operands)
        inputs = [next(arrays) if value is None else value for value in self.given]
        results: list[Any] = [None] * self.ufunc.nout
        results[self.result] = out
        self.ufunc(*inputs, out=tuple(results))


def ufunc_name(ufunc: np.ufunc) -> str:
    """The name of a ufunc with that of its module, where it is found."""
    name = ufunc.__name__
    for module in MODULES:
        if getattr(imported(module), name, None) is ufunc:
            return f"{module}.{name}"
    return f"ufunc.{name}"


def ufunc_step(ufunc: np.ufunc, operands: Sequence[Node], **options: Any) -> tuple[Node, ...]:
    """The results of a ufunc of broadcast operands, each a step of the program.

    Options are `dtype`, `signature` and `casting`, as NumPy has them.

    Raises:
        GraphTypeError: NumPy has no loop for these operands.
        UnsupportedError: it computes in elements that are not compiled.
    """
    name = ufunc_name(ufunc)
    loop = loop_with(ufunc, operands, **options)
    for node, dtype in zip(operands, loop, strict=False):
        check_fits(node, dtype)
    inputs = [cast(node, dtype) for node, dtype in zip(operands, loop, strict=False)]
    shape = builder.broadcast_shapes([node.shape for node in inputs], name, *operands)
    numbers = [node.value if isinstance(node, Scalar) else None for node in inputs]
    if all(number is not None for number in numbers):
        numbers[0] = None
    arrays = [node for node, number in zip(inputs, numbers, strict=True) if number is None]
    maps = tuple(builder.stretch_map(node.shape, shape) for node in arrays)
    results = []
    for k, dtype in enumerate(loop[ufunc.nin :]):
        shown = name if ufunc.nout == 1 else f"{name}[{k}]"
        operation = LibraryOperation(
            *(shown, len(arrays), UfuncCall(ufunc, tuple(numbers), k), "", ALL),
            weight=WEIGHT,
            gives=dtype,
            keeps=True,
            seen_once=False,
        )
        given = tuple(map(stored, arrays)), maps, shape, len(shape)
        results.append(note(Op(dtype, operation, None, *given)))
    return tuple(results)


def loop_with(
    ufunc: np.ufunc, operands: Sequence[Node], *, dtype: Any = None, **options: Any
) -> tuple[DType, ...]:
    """The dtypes of the operands and results of the loop that NumPy runs.

    Raises:
        GraphTypeError, UnsupportedError: as `ufunc_step`.
    """
    if dtype is not None:
        options["signature"] = (*[None] * ufunc.nin, *[dtype] * ufunc.nout)
    kinds = tuple(promotable(node) for node in operands)
    if not options:
        return dtypes.resolve_loop(ufunc, kinds)
    asked = seen_call(ufunc.__name__, *operands)
    if all(isinstance(kind, type) for kind in kinds):
        kinds = tuple(np.dtype(kind) for kind in kinds)
    try:
        loop = ufunc.resolve_dtypes((*kinds, *[None] * ufunc.nout), **options)
    except TypeError as error:
        remedy = "convert the operands with .astype(...), or leave these options out"
        raise GraphTypeError(asked, str(error), remedy, user_location()) from None
    if any(dtype not in CODES for dtype in loop):
        raise UnsupportedError(
            asked,
            f"NumPy computes this in {', '.join(map(str, loop))}",
            f"convert the operands to one of: {', '.join(map(str, CODES))}",
            user_location(),
        )
    return tuple(loop)
