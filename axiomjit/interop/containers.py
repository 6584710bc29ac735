"""Convert columns and tensors of other libraries to NumPy arrays, without a copy if possible.

A container can be converted if its elements are in CPU memory, have a dtype of NumPy, and none of
them is missing. Boolean columns of polars and Arrow are copied, since they store bits, and so are
columns in several chunks. If the memory is read-only, so is the array. Containers that cannot be
converted are refused.

Conversions import no library, since the library of a container is already imported.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, NoReturn

import numpy as np

from axiomjit.base.dtypes import CODES, is_complex
from axiomjit.base.errors import GraphTypeError, GraphValueError, amount
from axiomjit.base.origins import hides_frames, user_location
from axiomjit.base.tree import library_name

Fill = int | float | complex | bool | np.generic | None
"""The number that replaces missing elements; None if missing elements are refused."""


@hides_frames
def filled(column: Any, value: Any) -> np.ndarray:
    """The elements of a column as a NumPy array, with a number in place of missing elements.

    Args:
        column: A Series or extension array of pandas, a Series of polars, or an array or chunked
            array of Arrow. In pandas NaN counts as missing, as for `isna`.
        value: The number, which the dtype of the column must hold exactly.

    Returns:
        A one-dimensional array with the dtype of the column. The array is a copy only if elements
        are missing or the column is not an array in memory.

    Raises:
        GraphTypeError: the object is not a column, or the column holds no numbers.
        GraphValueError: the dtype of the column cannot hold the value exactly.

    Examples:
        >>> import pandas
        >>> aj.filled(pandas.Series([1, None, 3], dtype="Int64"), 0)
        array([1, 0, 3])
    """
    convert = _FILLED.get(_library(column))
    if convert is None:
        _refuse(
            f"filled({_name(column)}, {value!r})",
            f"a {_name(column)}, which has no missing elements",
            "give a column of pandas, polars or Arrow",
        )
    if not isinstance(value, int | float | complex | np.generic):
        seen = f"a {type(value).__name__} as the value"
        _refuse(f"filled({_name(column)}, ...)", seen, "give a number")
    found: Any = convert(column, value)
    if not isinstance(found, np.ndarray):
        _refuse(f"filled({_name(column)}, {value!r})", "no column", "give a column of numbers")
    return found


def arrays_of(values: Sequence[Any]) -> list[Any]:
    """The values, with NumPy arrays in place of containers; other objects are unchanged.

    Raises:
        GraphTypeError: a container holds no numbers, or numbers of a dtype that NumPy lacks, or is
            not an array.
        GraphValueError: elements are missing, or pandas would align the operands first.
    """
    converters = [_ARRAYS.get(_library(value)) for value in values]
    if converters.count(_of_pandas) > 1:
        _check_indexes([one for one in values if _library(one) == "pandas"])
    pairs = zip(converters, values, strict=True)
    return [value if convert is None else convert(value) for convert, value in pairs]


def _library(value: object) -> str:
    kind: Any = type(value)
    return library_name(kind)


def _name(value: object) -> str:
    return f"{_library(value)}.{type(value).__name__}"


def _refuse(asked: str, seen: str, remedy: str) -> NoReturn:
    raise GraphTypeError(asked, seen, remedy, user_location())


def _refuse_elements(value: object, kind: str, remedy: str) -> NoReturn:
    _refuse(f"a {_name(value)} as an array", f"elements of type {kind}", remedy)


def _check_missing(value: object, missing: int, count: int) -> None:
    """Refuse a column with missing elements.

    Raises:
        GraphValueError: elements are missing.
    """
    if missing:
        raise GraphValueError(
            f"a {_name(value)} as an array",
            f"{amount(missing, 'missing element')} of {count}",
            "fill them, axiomjit.filled(column, value), or drop them first",
            user_location(),
        )


def _checked_fill(fill: Any, dtype: Any, column: object) -> Any:
    """The fill value, cast to the dtype of a column.

    Raises:
        GraphValueError: the dtype cannot hold the value exactly.
    """
    held = None
    if not np.iscomplexobj(fill) or is_complex(np.dtype(dtype)):
        with np.errstate(all="ignore"):
            held = np.asarray(fill).astype(dtype)
    if held is None or not (held == fill or (held != held and fill != fill)):
        raise GraphValueError(
            f"filled({_name(column)}, {fill!r})",
            f"elements of type {dtype}, which do not hold {fill!r}",
            "give a number of this type, or convert the column first",
            user_location(),
        )
    return held[()]


_NUMBERS_REMEDY: Final = "give columns of numbers: codes, lengths or flags made from them"
_DATES_REMEDY: Final = "give numbers, for example days or seconds since a date"


# pandas


def _check_indexes(values: Sequence[Any]) -> None:
    """Refuse Series whose indexes differ, since pandas would align them.

    Raises:
        GraphValueError: two indexes differ.
    """
    indexed = [one for one in values if type(one).__name__ == "Series"]
    for one in indexed[1:]:
        first, other = indexed[0].index, one.index
        if other is not first and not first.equals(other):
            raise GraphValueError(
                "several pandas.Series as arrays",
                f"different indexes, of lengths {len(first)} and {len(other)}",
                "align them, a.align(b), or give their arrays, a.to_numpy()",
                user_location(),
            )


def _of_pandas(value: Any, fill: Fill = None) -> Any:
    pandas = sys.modules["pandas"]
    if fill is None and type(value) is pandas.Series and value.dtype in CODES:
        return value.to_numpy()
    if isinstance(value, pandas.MultiIndex):
        remedy = "give one of its levels, index.get_level_values(k)"
        _refuse("a pandas.MultiIndex as an array", "tuples as elements", remedy)
    held = isinstance(value, pandas.Series | pandas.Index | pandas.api.extensions.ExtensionArray)
    if not held:
        return value
    dtype = value.dtype
    if isinstance(dtype, pandas.ArrowDtype):
        array = value if isinstance(value, pandas.api.extensions.ExtensionArray) else value.array
        return _of_arrow(array.__arrow_array__(), fill, value)
    numpy_dtype = dtype if isinstance(dtype, np.dtype) else getattr(dtype, "numpy_dtype", None)
    if numpy_dtype not in CODES:
        _refuse_pandas(value, dtype)
    if isinstance(dtype, np.dtype):
        found = value.to_numpy()
        if fill is None or not (missing := np.isnan(found)).any():
            return found
        return np.where(missing, _checked_fill(fill, numpy_dtype, value), found)
    array = value if isinstance(value, pandas.api.extensions.ExtensionArray) else value.array
    if fill is None:
        _check_missing(value, int(array.isna().sum()), len(value))
        return array.to_numpy(dtype=numpy_dtype, copy=False)
    number = _checked_fill(fill, numpy_dtype, value)
    return array.to_numpy(dtype=numpy_dtype, na_value=number)


def _refuse_pandas(value: Any, dtype: Any) -> NoReturn:
    name = str(dtype)
    if name == "category":
        _refuse_elements(value, name, "give the codes of the categories, column.cat.codes")
    if name.startswith(("datetime", "timedelta", "period")):
        _refuse_elements(value, name, _DATES_REMEDY)
    if name.startswith("interval"):
        _refuse_elements(value, name, "give the ends of the intervals, index.left and index.right")
    if name.startswith("Sparse"):
        _refuse_elements(value, name, "give a dense column, column.sparse.to_dense()")
    _refuse_elements(value, name, _NUMBERS_REMEDY)


# polars


def _of_polars(value: Any, fill: Fill = None) -> Any:
    polars = sys.modules["polars"]
    if not isinstance(value, polars.Series):
        return value
    dtype = value.dtype
    if dtype.is_temporal():
        _refuse_elements(value, str(dtype), _DATES_REMEDY)
    if dtype in (polars.Categorical, polars.Enum):
        _refuse_elements(value, str(dtype), "give the codes of the categories, .to_physical()")
    if dtype.is_nested() or dtype == polars.Object:
        remedy = "give a column of numbers, such as .explode() or .struct.field(name)"
        _refuse_elements(value, str(dtype), remedy)
    if not (dtype.is_integer() or dtype.is_float() or dtype == polars.Boolean):
        _refuse_elements(value, str(dtype), _NUMBERS_REMEDY)
    if "128" in str(dtype):
        _refuse_elements(value, str(dtype), "cast it to 64 bits")
    if value.null_count() and fill is not None:
        number = _checked_fill(fill, value.clear().to_numpy().dtype, value)
        value = value.fill_null(polars.lit(number.item(), dtype))
    _check_missing(value, value.null_count(), len(value))
    return value.to_numpy()


# Arrow


def _of_arrow(value: Any, fill: Fill = None, given: Any = None) -> Any:
    """The elements of an Arrow array; `given` is the column that contains the array, for errors."""
    pyarrow = sys.modules["pyarrow"]
    shown = value if given is None else given
    if isinstance(value, pyarrow.Tensor):
        return value.to_numpy()
    if not isinstance(value, pyarrow.Array | pyarrow.ChunkedArray):
        return value
    kind, types = value.type, pyarrow.types
    if types.is_dictionary(kind):
        _refuse_elements(shown, str(kind), "give the codes of the categories, column.indices")
    if types.is_temporal(kind):
        _refuse_elements(shown, str(kind), _DATES_REMEDY)
    if types.is_nested(kind):
        remedy = "give a column of numbers, such as .flatten() or .field(name)"
        _refuse_elements(shown, str(kind), remedy)
    if not (types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind)):
        _refuse_elements(shown, str(kind), _NUMBERS_REMEDY)
    if value.null_count and fill is not None:
        number = _checked_fill(fill, kind.to_pandas_dtype(), shown)
        value = value.fill_null(pyarrow.scalar(number, kind))
    _check_missing(shown, value.null_count, len(value))
    if isinstance(value, pyarrow.ChunkedArray):
        if value.num_chunks != 1:
            return value.to_numpy()
        value = value.chunk(0)
    return value.to_numpy(zero_copy_only=not types.is_boolean(kind))


# torch and JAX


def _of_torch(value: Any) -> Any:
    torch = sys.modules["torch"]
    if not isinstance(value, torch.Tensor):
        return value
    asked = "a torch.Tensor as an array"
    if value.requires_grad:
        seen = "a tensor that requires gradients, which this call would not record"
        _refuse(asked, seen, "give tensor.detach()")
    if value.device.type != "cpu":
        _refuse(asked, f"a tensor on the device {value.device}", "give tensor.cpu()")
    if value.layout is not torch.strided or value.is_quantized:
        kind = "quantized" if value.is_quantized else str(value.layout)
        remedy = "give tensor.dequantize()" if value.is_quantized else "give tensor.to_dense()"
        _refuse(asked, f"elements stored as {kind}", remedy)
    if value.is_conj() or value.is_neg():
        seen = "a tensor whose elements are conjugated or negated only when they are read"
        _refuse(asked, seen, "give tensor.resolve_conj().resolve_neg()")
    try:
        return value.numpy()
    except TypeError:
        _refuse_elements(value, str(value.dtype), "convert it, tensor.float()")


def _of_jax(value: Any) -> Any:
    jax = sys.modules["jax"]
    if not isinstance(value, jax.Array):
        return value
    asked = "a jax.Array as an array"
    if isinstance(value, jax.core.Tracer):
        remedy = "call this function outside jax.jit, or through jax.pure_callback"
        _refuse(asked, "an array whose elements jax has not computed yet", remedy)
    if value.is_deleted():
        _refuse(asked, "an array that was deleted or donated", "keep it, or copy it before")
    places = sorted({one.platform for one in value.devices()})
    if places != ["cpu"] or len(value.devices()) > 1:
        seen = f"an array on {amount(len(value.devices()), 'device')} ({', '.join(places)})"
        remedy = "bring it to one CPU, jax.device_put(x, jax.devices('cpu')[0])"
        _refuse(asked, seen, remedy)
    if jax.dtypes.issubdtype(value.dtype, jax.dtypes.extended):
        _refuse_elements(value, str(value.dtype), "give their numbers, jax.random.key_data(key)")
    if value.dtype not in CODES:
        _refuse_elements(value, str(value.dtype), "convert it, x.astype('float32')")
    return np.asarray(value)


_ARRAYS: Final[Mapping[str, Callable[[Any], Any]]] = {
    "pandas": _of_pandas,
    "polars": _of_polars,
    "pyarrow": _of_arrow,
    "torch": _of_torch,
    "jax": _of_jax,
    "jaxlib": _of_jax,
}
"""The functions that convert an object to an array, by the library of its class."""
_FILLED: Final[Mapping[str, Callable[..., Any]]] = {
    name: _ARRAYS[name] for name in ("pandas", "polars", "pyarrow")
}
"""The functions that convert a column and fill missing elements, by the library of its class."""
