"""The types of values in a kernel source, and the names in it that stand for LLVM code.

Two Numba types carry facts known when a kernel is compiled: `WordsType`, the kernel's parameter
list, and `BufferType`, the dtype and alias scope of one buffer. So every name is one global
intrinsic, and compiling a kernel registers nothing.

A name is defined like an intrinsic of Numba: by a function of the operands' types that returns the
signature and the emission, or None for types that it does not accept. Numba registers its own
intrinsics for inference; these are looked up among a kernel's names, without inference.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, Final, Self

from llvmlite import ir
from numba import from_dtype
from numba.core import types
from numba.core.errors import NumbaNotImplementedError
from numba.extending import models, register_model

from axiomjit.base.dtypes import DTYPES, HALF, DType, code, is_complex, part_dtype
from axiomjit.base.errors import UnsupportedError


class HalfType(types.Type):
    """float16, which kernels store, select and cast; Numba's type has no form on CPUs."""

    def __init__(self) -> None:
        super().__init__(name="Half")


@register_model(HalfType)
class _HalfModel(models.PrimitiveModel):
    """LLVM's half."""

    def __init__(self, manager: Any, fe_type: HalfType) -> None:
        super().__init__(manager, fe_type, ir.HalfType())


class FlagType(types.Type):
    """The type of a pointer to the cancellation flag."""

    def __init__(self) -> None:
        super().__init__(name="Flag")


@register_model(FlagType)
class _FlagModel(models.PrimitiveModel):
    """A pointer to the word."""

    def __init__(self, manager: Any, fe_type: FlagType) -> None:
        super().__init__(manager, fe_type, ir.IntType(64).as_pointer())


def kernel_type(name: str, dtype: DType) -> types.Type:
    """The type that kernels have for the elements of a dtype.

    Raises:
        UnsupportedError: a row of `DTYPES` has no type here.
    """
    if dtype == HALF:
        return HalfType()
    try:
        found: types.Type = from_dtype(dtype)
    except NumbaNotImplementedError as error:
        raise UnsupportedError(
            f"the row {name!r} of axiomjit/base/dtypes.py",
            f"Numba has no type for {dtype}",
            "define its type in runtime/codegen/kernel_types.py, as HalfType, and its casts in "
            "cast_builtins.py",
        ) from error
    return found


FLAG = FlagType()
NUMBA_TYPES: dict[str, types.Type] = {
    name: kernel_type(name, dtype) for name, dtype in DTYPES.items()
}
CODES: dict[types.Type, str] = {ty: name for name, ty in NUMBA_TYPES.items()}
PARTS: dict[str, str] = {c: code(part_dtype(d)) for c, d in DTYPES.items() if is_complex(d)}
"""For each complex dtype the dtype of its parts."""

WORD = ir.IntType(64)
BYTE = ir.IntType(8)

Emit = Callable[[Any, Any, Any, Any], Any]
Typed = tuple[Any, Emit] | None


class BufferType(types.Type):
    """A pointer to elements of one dtype, of buffer number `scope` of `count` in the kernel.

    A tile has count 0: LLVM sees for itself that a stack array aliases nothing.
    """

    prefix = "Buffer"

    def __init__(self, dtype: types.Type, scope: int, count: int) -> None:
        """Type of buffer number `scope` among the `count` buffers of a kernel."""
        self.dtype, self.scope, self.count = dtype, scope, count
        super().__init__(name=f"{self.prefix}{CODES[dtype]}N{scope}of{count}")


class CheckedBufferType(BufferType):
    """A buffer with its bounds: the first element and the end, counted from the pointer."""

    prefix = "CheckedBuffer"


class WordsType(types.Type):
    """The argument block: for each parameter its kind (buffer, scalar, length, flag) and dtype.

    A scalar takes one or more 64-bit words, any other parameter one. The name is short and
    alphanumeric because it becomes part of the kernel's symbol.
    """

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """Type of an argument block with these (kind, dtype code) parameters."""
        self.words = tuple(words)
        names = [kind[0].upper() + code for kind, code in self.words]
        sizes = [-(-DTYPES[code].itemsize // 8) if kind == "scalar" else 1 for kind, code in words]
        self.at: Final = tuple(accumulate(sizes, initial=0))
        """The first word of each parameter."""
        buffers = [kind == "buffer" for kind, _ in self.words]
        self.scope: Final = tuple(accumulate(buffers, initial=0))
        """The number of each parameter among the buffers."""
        self.count = self.scope[-1]
        super().__init__(name="W" + "".join(names))


register_model(BufferType)(models.PointerModel)


@register_model(CheckedBufferType)
class _CheckedBufferModel(models.PrimitiveModel):
    """The pointer and the two indices."""

    def __init__(self, manager: Any, fe_type: CheckedBufferType) -> None:
        element = manager.lookup(fe_type.dtype).get_data_type()
        members = [element.as_pointer(), WORD, WORD]
        super().__init__(manager, fe_type, ir.LiteralStructType(members))


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    """A WordsType value is a pointer to 64-bit words."""

    def __init__(self, manager: Any, fe_type: WordsType) -> None:
        super().__init__(manager, fe_type, WORD.as_pointer())


Definition = Callable[..., Typed]


class Intrinsic:
    """A name of the kernel language."""

    __slots__ = ("__name__", "define", "takes_literals")

    def __init__(self, define: Definition, takes_literals: bool = False) -> None:
        self.__name__: Final = define.__name__
        self.define: Final = define
        self.takes_literals: Final = takes_literals
        """True if numbers in the source have literal types, which carry the number."""

    def typed(self, operands: list[Any]) -> Typed:
        """The signature and the emission for operands of these types, or None."""
        return self.define(*operands)

    @classmethod
    def of_literals(cls, define: Definition) -> Self:
        """The intrinsic of a definition that gets the values of numbers in the source."""
        return cls(define, takes_literals=True)
