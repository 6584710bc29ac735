"""The names of a kernel source as functions in plain Python, which define their meaning.

Values are NumPy scalars, so that float32 arithmetic stays float32. A buffer refuses any access
outside the memory that its array spans. `memory_builtins` and the modules beside it have the
compiled names.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol

import numpy as np
from numpy.lib.stride_tricks import as_strided

from axiomjit.base.dtypes import (
    DTYPES,
    cast_name,
    float_route,
    is_bool,
    is_complex,
    is_float,
    is_integer,
    value_range,
)
from axiomjit.runtime.elementary.functions import PLAIN_NAMES as ELEMENTARY
from axiomjit.runtime.memory.allocation import element_bounds, poison

Join = Callable[[Any, Any], Any]


class KernelWord(Protocol):
    """The description of one parameter in a kernel's argument block."""

    @property
    def name(self) -> str:
        """The name of the parameter in messages."""

    @property
    def kind(self) -> str:
        """The kind of the parameter: "buffer", "scalar", "length" or "flag"."""

    @property
    def dtype(self) -> str:
        """The code of the dtype of a buffer or scalar; "i8" for a length."""


class PlainBuffer:
    """The memory that an array spans, addressed in elements from the array's first element."""

    __slots__ = ("first", "name", "window")

    def __init__(self, name: str, array: np.ndarray[Any, Any]) -> None:
        """Take an array, whose strides must be multiples of the element size.

        Raises:
            ValueError: a stride is not a multiple of the element size.
        """
        itemsize = array.itemsize
        pairs = list(zip(array.strides, array.shape, strict=True))
        if any(step % itemsize for step, size in pairs if size > 1):
            raise ValueError(f"buffer {name}: strides {array.strides} are not whole elements")
        low, high = element_bounds(array)
        # Flipping the axes with negative strides puts the lowest address first.
        flips = tuple(slice(None, None, -1 if step < 0 else 1) for step in array.strides)
        self.name = name
        self.first = -low
        self.window = as_strided(array[flips] if flips else array, (high - low,), (itemsize,))

    def at(self, index: int) -> int:
        """The position in `window` of the element `index` items after the first.

        Raises:
            IndexError: the element is outside the memory of the array.
        """
        position = self.first + int(index)
        if not 0 <= position < len(self.window):
            low, high = -self.first, len(self.window) - self.first
            raise IndexError(f"buffer {self.name}: element {index} is outside [{low}, {high})")
        return position


def load(a: PlainBuffer, i: int) -> Any:
    """The element `i` items after the first element of a buffer."""
    return a.window[a.at(i)]


def load_ahead(a: PlainBuffer, i: int, n: int) -> Any:
    """The element `i` items after the first element of a buffer."""
    return load(a, i)


def load_apart(a: PlainBuffer, i: int) -> Any:
    """The element `i` items after the first element of a buffer."""
    return load(a, i)


def store(a: PlainBuffer, i: int, v: Any) -> None:
    """Write the element `i` items after the first; `v` must have the buffer's dtype."""
    if np.asarray(v).dtype != a.window.dtype:
        raise TypeError(f"buffer {a.name} of {a.window.dtype}: stored {type(v).__name__}")
    a.window[a.at(i)] = v


def store_apart(a: PlainBuffer, i: int, v: Any) -> None:
    """Write the element `i` items after the first; `v` must have the buffer's dtype."""
    store(a, i, v)


def live(h: int, n: int) -> int:
    """The end `n` of a loop, or -1 if the flag is set."""
    return n if h == 0 else -1


def _float_to_int(v: float, code: str) -> Any:
    """The result that the compiled cast of a float to an integer has on all platforms."""
    if code == "u8":
        upper = v >= 2.0**63
        signed = _float_to_int(v - 2.0**63 if upper else v, "i8").astype(np.uint64)
        return signed ^ np.uint64(upper << 63)
    route = DTYPES[float_route(code)]
    low = value_range(route)[0]
    return route.type(int(v) if low <= v < -low else low).astype(DTYPES[code])


def _make_cast(code: str) -> Callable[[Any], Any]:
    """The function that casts to a dtype, named by the code of the dtype."""
    dtype = DTYPES[code]

    def cast(v: Any) -> Any:
        value = np.asarray(v)
        if is_complex(value.dtype) and not (is_bool(dtype) or is_complex(dtype)):
            value = value.real
        if is_integer(dtype) and is_float(value.dtype):
            return _float_to_int(float(value), code)
        return value.astype(dtype)[()]

    cast.__name__ = cast_name(code)
    cast.__doc__ = f"`v` as {code}."
    return cast


def _make_bits(code: str) -> Callable[[Any], Any]:
    return lambda v: v.view(DTYPES[code])


CASTS: dict[str, Callable[[Any], Any]] = {code: _make_cast(code) for code in DTYPES}


def tile(n: int, dtype: Callable[[Any], Any]) -> PlainBuffer:
    """A buffer of `n` cells; `dtype` is the function that casts to their dtype."""
    cells = next(DTYPES[code] for code in DTYPES if cast_name(code) == dtype.__name__)
    return PlainBuffer("tile", np.full(n, poison(cells), cells))


def push(t: PlainBuffer, q: int, s: Any) -> int:
    """Add the sum of the next block to a tree of q blocks; return the new number of blocks."""
    _push_cell(t, q, s, 0, 1)
    return q + 1


def _push_cell(
    t: PlainBuffer, q: int, s: Any, lane: int, width: int, join: Join = operator.add
) -> None:
    level = 0
    while q >> level & 1:
        s = join(load(t, level * width + lane), s)
        level += 1
    store(t, level * width + lane, s)


def drain(t: PlainBuffer, q: int) -> Any:
    """The sum of all q blocks of a tree; the smallest, latest subtree is added first."""
    return _drain_cell(t, q, 0, 1)


def _drain_cell(
    t: PlainBuffer, q: int, lane: int, width: int, start: int = 0, join: Join = operator.add
) -> Any:
    s = t.window.dtype.type(start)
    for level in range(q.bit_length()):
        if q >> level & 1:
            s = join(load(t, level * width + lane), s)
    return s


def push_lanes(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> int:
    """Call `push` for each of the first `width` cells; return the new number of blocks."""
    for lane in range(width):
        _push_cell(t, q, load(s, lane), lane, width)
    return q + 1


def drain_lanes(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> None:
    """Store the result of `drain` in each of the first `width` cells of a tile."""
    for lane in range(width):
        store(s, lane, _drain_cell(t, q, lane, width))


def push_mul(t: PlainBuffer, q: int, s: Any) -> int:
    """Multiply the next block into a tree of q blocks; return the new number of blocks."""
    _push_cell(t, q, s, 0, 1, np.multiply)
    return q + 1


def drain_mul(t: PlainBuffer, q: int) -> Any:
    """The product of all q blocks of a tree, in the order of `drain`."""
    return _drain_cell(t, q, 0, 1, 1, np.multiply)


def push_lanes_mul(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> int:
    """Call `push_mul` for the first `width` cells of a tile; return the new number of blocks."""
    for lane in range(width):
        _push_cell(t, q, load(s, lane), lane, width, np.multiply)
    return q + 1


def drain_lanes_mul(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> None:
    """Store the result of `drain_mul` in each of the first `width` cells of a tile."""
    for lane in range(width):
        store(s, lane, _drain_cell(t, q, lane, width, 1, np.multiply))


def add_reassoc(s: Any, v: Any) -> Any:
    """The sum of two numbers; LLVM may reorder such sums, plain Python does not."""
    return s + v


def mul_reassoc(s: Any, v: Any) -> Any:
    """The product of two numbers; LLVM may reorder such products, plain Python does not."""
    return np.multiply(s, v)


def complex_of(re: Any, im: Any) -> Any:
    """The complex number with these real and imaginary parts."""
    result = np.zeros(1, np.result_type(re, np.complex64))
    result.real, result.imag = re, im
    return result[0]


def select(c: Any, a: Any, b: Any) -> Any:
    """The value `a` if `c` is true, otherwise `b`."""
    return a if c else b


def maximum(a: Any, b: Any) -> Any:
    """The greater of two numbers; NaN if one is NaN; +0 is greater than -0."""
    if isinstance(a, np.complexfloating):
        return np.maximum(a, b)
    if a == b and np.signbit(a):
        return b
    return a if a >= b or a != a else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller of two numbers; NaN if one is NaN; -0 is smaller than +0."""
    if isinstance(a, np.complexfloating):
        return np.minimum(a, b)
    if a == b and np.signbit(b):
        return b
    return a if a <= b or a != a else b


def larger(s: Any, v: Any) -> Any:
    """The greater of two numbers; of two zeros, either one; undefined if a number is NaN."""
    return v if v > s else s


def smaller(s: Any, v: Any) -> Any:
    """The smaller of two numbers; of two zeros, either one; undefined if a number is NaN."""
    return v if v < s else s


def extreme(s: Any, g: Any, z: Any = None) -> Any:
    """NaN if g is true, otherwise s with the sign of the number whose bits are z."""
    if g:
        return type(s)(math.nan)
    return s if z is None else np.copysign(s, z.view(s.dtype))


def bits(v: Any) -> Any:
    """The bits of a float as an integer, negative if the sign bit is set."""
    return v.view(f"i{v.itemsize}")


def rank_above(v: Any) -> Any:
    """The integer rank of a float, in the order of floats; NaN has the highest rank."""
    return _turned(bits(type(v)(np.nan) if v != v else v))


def rank_below(v: Any) -> Any:
    """The integer rank of a float, in the order of floats; NaN has the lowest rank."""
    return _turned(bits(-type(v)(np.nan) if v != v else v))


def unranked(k: Any) -> Any:
    """The float that has a rank."""
    return _turned(k).view(f"f{k.itemsize}")


def _turned(k: Any) -> Any:
    return k if k >= 0 else k ^ np.iinfo(k.dtype).max


def fmax(a: Any, b: Any) -> Any:
    """The greater of two numbers; if one is NaN, the other number."""
    if isinstance(a, np.complexfloating):
        return np.fmax(a, b)
    return b if a != a else a if b != b else maximum(a, b)


def fmin(a: Any, b: Any) -> Any:
    """The smaller of two numbers; if one is NaN, the other number."""
    if isinstance(a, np.complexfloating):
        return np.fmin(a, b)
    return b if a != a else a if b != b else minimum(a, b)


UFUNCS: Final = {name: one for name, one in vars(np).items() if isinstance(one, np.ufunc)}
"""The ufuncs of NumPy by name; this module defines the functions that differ from them."""


def _reader(parameters: Sequence[KernelWord], kind: str) -> Callable[[Sequence[Any], int], Any]:
    """The function that reads a parameter of this kind, and refuses other parameters."""

    def read(w: Sequence[Any], k: int) -> Any:
        if parameters[k].kind != kind:
            raise TypeError(f"word {k} is a {parameters[k].kind}, not a {kind}")
        return w[k]

    return read


def plain_names(parameters: Sequence[KernelWord]) -> dict[str, Any]:
    """The global names of a kernel source that runs in plain Python."""
    return {
        **UFUNCS,
        **{cast.__name__: cast for cast in CASTS.values()},
        **{f"bits_as_{cast_name(code)}": _make_bits(code) for code in DTYPES},
        **{kind: _reader(parameters, kind) for kind in ("buffer", "scalar", "length", "flag")},
        "live": live,
        "load": load,
        "load_ahead": load_ahead,
        "load_apart": load_apart,
        "store": store,
        "store_apart": store_apart,
        "tile": tile,
        "push": push,
        "drain": drain,
        "push_lanes": push_lanes,
        "drain_lanes": drain_lanes,
        "push_mul": push_mul,
        "drain_mul": drain_mul,
        "push_lanes_mul": push_lanes_mul,
        "drain_lanes_mul": drain_lanes_mul,
        "add_reassoc": add_reassoc,
        "mul_reassoc": mul_reassoc,
        "complex_of": complex_of,
        "clip": np.clip,
        "select": select,
        "real": np.real,
        "imag": np.imag,
        "maximum": maximum,
        "minimum": minimum,
        "larger": larger,
        "smaller": smaller,
        "bits": bits,
        "rank_above": rank_above,
        "rank_below": rank_below,
        "unranked": unranked,
        "extreme": extreme,
        "fmax": fmax,
        "fmin": fmin,
        **ELEMENTARY,
        "inf": math.inf,
        "nan": math.nan,
    }


def plain_words(parameters: Sequence[KernelWord], arguments: Sequence[Any]) -> list[Any]:
    """The argument block in plain Python: one buffer, scalar or length per parameter.

    Raises:
        TypeError: an argument is missing, or its dtype differs from the parameter's dtype.
    """
    if len(parameters) != len(arguments):
        raise TypeError(f"{len(parameters)} parameters, {len(arguments)} arguments")
    words: list[Any] = []
    for parameter, argument in zip(parameters, arguments, strict=True):
        if parameter.kind in ("length", "flag"):
            words.append(int(argument))
        elif parameter.kind == "scalar":
            words.append(CASTS[parameter.dtype](argument))
        elif argument.dtype != DTYPES[parameter.dtype]:
            raise TypeError(f"buffer {parameter.name}: {argument.dtype}, not {parameter.dtype}")
        else:
            words.append(PlainBuffer(parameter.name, argument))
    return words


def run_plain(
    source: str, parameters: Sequence[KernelWord], arguments: Sequence[Any], lo: int, hi: int
) -> None:
    """Run the function `kernel(w, lo, hi)` in `source` in plain Python, writing into arguments.

    Raises:
        IndexError: the kernel reached outside a buffer.
        TypeError: arguments do not fit the parameters, or a stored value has another dtype.
    """
    namespace = plain_names(parameters)
    exec(compile(source, "<kernel>", "exec"), namespace)
    with np.errstate(all="ignore"):
        namespace["kernel"](plain_words(parameters, arguments), lo, hi)
