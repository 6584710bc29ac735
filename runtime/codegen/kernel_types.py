"""The types of values in a kernel source, and the class of its intrinsics.

Two Numba types carry facts that are known when a kernel is compiled: `WordsType` has the parameter
list of the kernel, and `BufferType` the dtype and alias scope of one buffer. Hence every name of
the source is one global intrinsic, and the compilation of a kernel registers no types.

An intrinsic is defined as in Numba: a function of the operand types returns the signature and the
emitter, or None for types that it does not accept. Numba registers its intrinsics for type
inference; ours are looked up among the names of a kernel, without inference.
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
    """The data model of float16: LLVM's type `half`."""

    def __init__(self, manager: Any, fe_type: HalfType) -> None:
        super().__init__(manager, fe_type, ir.HalfType())


class FlagType(types.Type):
    """The type of a pointer to the cancellation flag."""

    def __init__(self) -> None:
        super().__init__(name="Flag")


@register_model(FlagType)
class _FlagModel(models.PrimitiveModel):
    """The data model of the flag: a pointer to a 64-bit word."""

    def __init__(self, manager: Any, fe_type: FlagType) -> None:
        super().__init__(manager, fe_type, ir.IntType(64).as_pointer())


def kernel_type(name: str, dtype: DType) -> types.Type:
    """The Numba type of elements of a dtype in kernels.

    Raises:
        UnsupportedError: there is no Numba type for a row of `DTYPES`.
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
"""For each complex dtype, the dtype of its parts."""

WORD = ir.IntType(64)
BYTE = ir.IntType(8)

Emit = Callable[[Any, Any, Any, Any], Any]
Typed = tuple[Any, Emit] | None


class BufferType(types.Type):
    """The type of a pointer to elements of buffer number `scope`, of `count` buffers in a kernel.

    A tile has the count 0, since LLVM knows that an array on the stack aliases nothing.
    """

    prefix = "Buffer"

    def __init__(self, dtype: types.Type, scope: int, count: int) -> None:
        """Make the type of buffer number `scope` among the `count` buffers of a kernel."""
        self.dtype, self.scope, self.count = dtype, scope, count
        super().__init__(name=f"{self.prefix}{CODES[dtype]}N{scope}of{count}")


class CheckedBufferType(BufferType):
    """The type of a buffer with its bounds: first element and end, counted from the pointer."""

    prefix = "CheckedBuffer"


class WordsType(types.Type):
    """The type of an argument block, with the kind and the dtype of each parameter.

    The kinds are buffer, scalar, length and flag. A scalar takes one or more 64-bit words, any
    other parameter one word. The name of the type is short and alphanumeric because it becomes part
    of the kernel's symbol.
    """

    def __init__(self, words: Sequence[tuple[str, str]]) -> None:
        """Make the type of an argument block with these (kind, dtype code) parameters."""
        self.words = tuple(words)
        names = [kind[0].upper() + code for kind, code in self.words]
        sizes = [-(-DTYPES[code].itemsize // 8) if kind == "scalar" else 1 for kind, code in words]
        self.at: Final = tuple(accumulate(sizes, initial=0))
        """For each parameter, the index of its first word."""
        buffers = [kind == "buffer" for kind, _ in self.words]
        self.scope: Final = tuple(accumulate(buffers, initial=0))
        """For each parameter, the number of buffers before it."""
        self.count = self.scope[-1]
        super().__init__(name="W" + "".join(names))


register_model(BufferType)(models.PointerModel)


@register_model(CheckedBufferType)
class _CheckedBufferModel(models.PrimitiveModel):
    """The data model of a checked buffer: the pointer and two indices."""

    def __init__(self, manager: Any, fe_type: CheckedBufferType) -> None:
        element = manager.lookup(fe_type.dtype).get_data_type()
        members = [element.as_pointer(), WORD, WORD]
        super().__init__(manager, fe_type, ir.LiteralStructType(members))


@register_model(WordsType)
class _WordsModel(models.PrimitiveModel):
    """The data model of an argument block: a pointer to 64-bit words."""

    def __init__(self, manager: Any, fe_type: WordsType) -> None:
        super().__init__(manager, fe_type, WORD.as_pointer())


Definition = Callable[..., Typed]


class Intrinsic:
    """An intrinsic: the definition of a name in kernel sources."""

    __slots__ = ("__name__", "define", "takes_literals")

    def __init__(self, define: Definition, takes_literals: bool = False) -> None:
        self.__name__: Final = define.__name__
        self.define: Final = define
        self.takes_literals: Final = takes_literals
        """True if the definition gets literal types for numbers in the source."""

    def typed(self, operands: list[Any]) -> Typed:
        """The signature and the emitter for operands of these types; None if they are refused."""
        return self.define(*operands)

    @classmethod
    def of_literals(cls, define: Definition) -> Self:
        """The intrinsic of a definition that gets literal types for numbers."""
        return cls(define, takes_literals=True)
