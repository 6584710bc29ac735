"""Element types, and type promotion by NumPy's own `resolve_dtypes`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from axiomjit.base.errors import GraphTypeError, NeedsValuesError, UnsupportedError
from axiomjit.base.records import Record
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
_INF: Final = float("inf")
_CINF: Final = complex(_INF, _INF)


class ElementType(Record):
    """One supported dtype.

    `code` is the kind and size in bytes, `python` the type that promotion uses for a weak operand,
    `cast` the name of the function that casts to the dtype in generated source. `least` and
    `greatest` bound the elements.
    """

    code: str
    python: type
    cast: str
    least: Any
    greatest: Any


_ROWS: Final = (
    ElementType("b1", bool, "b1", False, True),
    ElementType("i1", int, "int8", -(2**7), 2**7 - 1),
    ElementType("i2", int, "int16", -(2**15), 2**15 - 1),
    ElementType("i4", int, "int32", -(2**31), 2**31 - 1),
    ElementType("i8", int, "int64", -(2**63), 2**63 - 1),
    ElementType("u1", int, "uint8", 0, 2**8 - 1),
    ElementType("u2", int, "uint16", 0, 2**16 - 1),
    ElementType("u4", int, "uint32", 0, 2**32 - 1),
    ElementType("u8", int, "uint64", 0, 2**64 - 1),
    ElementType("f2", float, "f2", -_INF, _INF),
    ElementType("f4", float, "f4", -_INF, _INF),
    ElementType("f8", float, "f8", -_INF, _INF),
    ElementType("c8", complex, "complex64", -_CINF, _CINF),
    ElementType("c16", complex, "complex128", -_CINF, _CINF),
)
"""The supported element types; a new dtype needs one row here."""
DTYPES: Final[dict[str, DType]] = {row.code: np.dtype(row.code) for row in _ROWS}
CODES: Final[dict[DType, str]] = {dtype: code for code, dtype in DTYPES.items()}
ELEMENT_TYPES: Final[dict[DType, ElementType]] = {DTYPES[row.code]: row for row in _ROWS}


def is_bool(dtype: DType) -> bool:
    """True for booleans."""
    return dtype.kind == "b"


def is_signed(dtype: DType) -> bool:
    """True for signed integers."""
    return dtype.kind == "i"


def is_unsigned(dtype: DType) -> bool:
    """True for unsigned integers."""
    return dtype.kind == "u"


def is_integer(dtype: DType) -> bool:
    """True for integers, signed or not; False for booleans."""
    return dtype.kind in "iu"


def is_float(dtype: DType) -> bool:
    """True for real floating-point numbers."""
    return dtype.kind == "f"


def is_complex(dtype: DType) -> bool:
    """True for complex numbers."""
    return dtype.kind == "c"


def is_inexact(dtype: DType) -> bool:
    """True for floating-point numbers, real or complex."""
    return dtype.kind in "fc"


def is_real(dtype: DType) -> bool:
    """True for integers and real floating-point numbers; False for booleans."""
    return dtype.kind in "iuf"


def code(dtype: DType) -> str:
    """The code of a supported element type: its kind and size in bytes."""
    return CODES[dtype]


def state_dtype(parts: Sequence[DType]) -> DType:
    """The dtype of a reduction's state: the dtype of the only part, or a record of all parts."""
    if len(parts) == 1:
        return parts[0]
    return np.dtype([(f"s{k}", part) for k, part in enumerate(parts)])


def state_parts(dtype: DType) -> tuple[DType, ...]:
    """The dtypes of the values in a reduction's state."""
    if dtype.fields is None or dtype.names is None:
        return (dtype,)
    return tuple(dtype.fields[name][0] for name in dtype.names)


def type_name(dtype: DType) -> str:
    """The code of a supported dtype; the codes of the fields of a record; else NumPy's name."""
    if dtype.names is None:
        return CODES.get(dtype, str(dtype))
    return f"({', '.join(map(code, state_parts(dtype)))})"


def cast_name(code: str) -> str:
    """The name of the function that casts to a dtype in generated source."""
    return ELEMENT_TYPES[DTYPES[code]].cast


def float_route(code: str) -> str:
    """The signed integer type through which a float is cast to an integer type other than u8.

    x86-64 converts floats only to integers of 32 and 64 bits, and gives the smallest integer for
    NaN and overflow; a narrower integer consists of the low bits of such an integer. NumPy converts
    floats in the same way.
    """
    return "i8" if code in ("i8", "u4") else "i4"


def part_dtype(dtype: DType) -> DType:
    """The dtype of the real and imaginary parts of a complex dtype; a real dtype unchanged."""
    return np.empty(0, dtype).real.dtype


def complex_dtype(part: DType) -> DType:
    """The dtype of complex numbers whose parts are floats of a dtype."""
    return np.dtype(np.result_type(part, np.complex64))


def convert(value: Any, dtype: DType) -> Any:
    """The value cast to a dtype; an imaginary part is dropped without a warning."""
    return (value if is_bool(dtype) or is_complex(dtype) else value.real).astype(dtype)


def value_range(dtype: DType) -> tuple[Any, Any]:
    """The least and the greatest value of a dtype, infinities included."""
    row = ELEMENT_TYPES[dtype]
    return row.least, row.greatest


def supported(dtype: DType, asked: str, where: str | None = None) -> DType:
    """The dtype in native byte order.

    Raises:
        GraphTypeError: elements of this dtype cannot be compiled.
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
    """The requested dtype of a result, in native byte order.

    Raises:
        NeedsValuesError: a traced function asks for a byte order that is not native.
        GraphTypeError: elements of this dtype cannot be compiled.
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
    """The dtype that a name, a type or a dtype means, in native byte order.

    Raises:
        GraphTypeError: NumPy knows no such dtype, or elements of this dtype cannot be compiled.
    """
    try:
        return wanted_dtype(np.dtype(dtype), asked, where)
    except TypeError as error:
        if isinstance(error, GraphTypeError):
            raise
        raise GraphTypeError(asked, str(error), "name a dtype", where) from None


def walkable(array: np.ndarray) -> bool:
    """True if kernels can read an array.

    Kernels need native byte order, alignment, and strides that are multiples of the itemsize.
    """
    size = array.itemsize or 1
    whole = math.gcd(*array.strides, size) == size
    return array.dtype.isnative and array.flags.aligned and whole


Promotable = DType | type


@lru_cache(maxsize=4096)
def resolve_loop(ufunc: np.ufunc, operands: tuple[Promotable, ...]) -> tuple[DType, ...]:
    """Operand and result dtypes of the loop that NumPy would run; a Python type is a weak operand.

    Raises:
        GraphTypeError: NumPy has no loop for these operands.
        UnsupportedError: NumPy's loop uses an element type that is not compiled yet.
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
    """The common dtype of all operands (`np.result_type` with weak Python numbers)."""
    samples = [o(0) if isinstance(o, type) else o for o in operands]
    return np.result_type(*samples)
