"""Element types and the one place where promotion is decided, on NumPy's own `resolve_dtypes`."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.errors import GraphTypeError, NeedsValuesError, UnsupportedError
from axiomjit.base.trace_context import current

if TYPE_CHECKING:
    from numpy.typing import DTypeLike

DType = np.dtype[np.generic]

BOOL: Final[DType] = np.dtype(np.bool_)
INT: Final[DType] = np.dtype(np.int64)
FLOAT: Final[DType] = np.dtype(np.float64)
HALF: Final[DType] = np.dtype(np.float16)
SINGLE: Final[DType] = np.dtype(np.float32)
UNSIGNED: Final[DType] = np.dtype(np.uint64)
COMPLEX: Final[DType] = np.dtype(np.complex128)
_ALL: Final = (
    *("b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"),
    *("f2", "f4", "f8", "c8", "c16"),
)
DTYPES: Final[dict[str, DType]] = {code: np.dtype(code) for code in _ALL}
CODES: Final[dict[DType, str]] = {dtype: code for code, dtype in DTYPES.items()}

WEAK_TYPES: Final[dict[str, type]] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}
"""The Python type as which promotion sees a weak operand, by kind of dtype."""


def code(dtype: DType) -> str:
    """The code of a supported element type: its kind and its bytes."""
    return CODES[dtype]


def state_dtype(parts: Sequence[DType]) -> DType:
    """The dtype of a fold's state: that of its one value, or a record of several."""
    if len(parts) == 1:
        return parts[0]
    return np.dtype([(f"s{k}", part) for k, part in enumerate(parts)])


def state_parts(dtype: DType) -> tuple[DType, ...]:
    """The dtypes of the values that a fold's state has."""
    if dtype.fields is None or dtype.names is None:
        return (dtype,)
    return tuple(dtype.fields[name][0] for name in dtype.names)


def type_name(dtype: DType) -> str:
    """The code of an element type, the codes of a state's values, else NumPy's name."""
    if dtype.names is None:
        return CODES.get(dtype, str(dtype))
    return f"({', '.join(map(code, state_parts(dtype)))})"


def cast_name(code: str) -> str:
    """The function that casts to a dtype in generated source, where i1 and c8 are other names."""
    return str(DTYPES[code]) if code[0] in "iuc" else code


def float_route(code: str) -> str:
    """The signed integers through which a float becomes an integer of a dtype other than u8.

    x86-64 has instructions to 32 and 64 bits, which give the smallest integer for NaN and what
    does not fit; narrower results are their low bits. NumPy gives the same.
    """
    return "i8" if code in ("i8", "u4") else "i4"


def part_dtype(dtype: DType) -> DType:
    """The dtype of the real and imaginary parts; of a dtype that is not complex itself."""
    return np.empty(0, dtype).real.dtype


def convert(value: Any, dtype: DType) -> Any:
    """`value.astype(dtype)`; an imaginary part is dropped without a warning."""
    return (value.real if dtype.kind not in "bc" else value).astype(dtype)


def integer_range(dtype: DType) -> tuple[int, int]:
    """The smallest and largest number of an integer dtype."""
    bits = 8 * dtype.itemsize
    return (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def supported(dtype: DType, asked: str, where: str | None = None) -> DType:
    """The dtype in native byte order.

    Raises:
        GraphTypeError: elements of this type cannot be compiled.
    """
    native = dtype if dtype.isnative else dtype.newbyteorder("=")
    if native in CODES:
        return native
    names = ", ".join(str(d) for d in CODES)
    if dtype.hasobject or dtype.kind in "SUVMmT":
        remedy = f"pass numbers: convert first, for example x.astype(float); supported: {names}"
    else:
        remedy = f"convert with .astype(...) to one of: {names}"
    raise GraphTypeError(asked, f"elements of dtype {dtype}", remedy, where)


def wanted_dtype(dtype: DType, asked: str, where: str | None = None) -> DType:
    """The dtype that a result should have.

    Raises:
        NeedsValuesError: a followed function asks for a byte order that is not native.
        GraphTypeError: elements of this type cannot be compiled.
    """
    if not dtype.isnative and current() is not None:
        raise NeedsValuesError(
            asked,
            f"the dtype {dtype.str}: bytes in an order that is not native",
            "ask for native elements, and convert the result outside the compiled function",
            where,
        )
    return supported(dtype, asked, where)


def named(dtype: DTypeLike, asked: str, where: str | None = None) -> DType:
    """The dtype of a name, type or dtype, in native byte order.

    Raises:
        GraphTypeError: there is none, or elements of this type cannot be compiled.
    """
    try:
        return wanted_dtype(np.dtype(dtype), asked, where)
    except TypeError as error:
        if isinstance(error, GraphTypeError):
            raise
        raise GraphTypeError(asked, str(error), "name a dtype", where) from None


def walkable(array: np.ndarray) -> bool:
    """Whether kernels can walk an array: native, aligned elements, strides of whole ones."""
    whole = all(step % array.itemsize == 0 for step in array.strides) if array.itemsize else True
    return array.dtype.isnative and array.flags.aligned and whole


Promotable = DType | type


@lru_cache(maxsize=4096)
def resolve_loop(ufunc: np.ufunc, operands: tuple[Promotable, ...]) -> tuple[DType, ...]:
    """Operand and result dtypes of the loop that NumPy would run; a Python type is weak.

    Raises:
        GraphTypeError: NumPy has no loop for these operands.
        UnsupportedError: NumPy would compute in an element type that is not compiled yet.
    """
    shown = ", ".join(o.__name__ if isinstance(o, type) else str(o) for o in operands)
    asked = f"{ufunc.__name__}({shown})"
    if all(isinstance(o, type) for o in operands):
        operands = tuple(np.dtype(o) if isinstance(o, type) else o for o in operands)
    try:
        loop = ufunc.resolve_dtypes((*operands, *[None] * ufunc.nout))
    except TypeError as error:
        raise GraphTypeError(asked, str(error), "convert the operands with .astype(...)") from None
    if any(dtype not in CODES for dtype in loop):
        raise UnsupportedError(
            asked,
            f"NumPy computes this in {', '.join(str(d) for d in loop)}",
            f"convert the operands to one of: {', '.join(str(d) for d in CODES)}",
        )
    return tuple(loop)


@lru_cache(maxsize=1024)
def common(operands: tuple[Promotable, ...]) -> DType:
    """The dtype that holds all operands (`np.result_type` with weak Python numbers)."""
    samples = [o(0) if isinstance(o, type) else o for o in operands]
    return np.result_type(*samples)
