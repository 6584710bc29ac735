"""The names of a kernel source in plain Python, which define the meaning of a kernel.

Values are NumPy scalars, so that float32 arithmetic stays float32. A buffer refuses any access
outside the memory that its array spans. `memory_builtins` and its neighbours compile the same
names.
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
    """The description of one word of a kernel's argument block."""

    @property
    def name(self) -> str:
        """The name of the word in messages."""

    @property
    def kind(self) -> str:
        """One of "buffer", "scalar", "length", "flag"."""

    @property
    def dtype(self) -> str:
        """The code of the dtype of a buffer's elements or of a scalar; "i8" for a length."""


class PlainBuffer:
    """The memory that an array spans, addressed in elements from the array's first element."""

    __slots__ = ("first", "name", "window")

    def __init__(self, name: str, array: np.ndarray[Any, Any]) -> None:
        """Address the memory of `array`, whose strides must be whole elements.

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
        """Position in `window` of the element `index` items away from the first.

        Raises:
            IndexError: that element is outside the array's memory.
        """
        position = self.first + int(index)
        if not 0 <= position < len(self.window):
            low, high = -self.first, len(self.window) - self.first
            raise IndexError(f"buffer {self.name}: element {index} is outside [{low}, {high})")
        return position


def load(a: PlainBuffer, i: int) -> Any:
    """The element `i` items away from the first."""
    return a.window[a.at(i)]


def load_ahead(a: PlainBuffer, i: int, n: int) -> Any:
    """The element `i` items away from the first."""
    return load(a, i)


def load_apart(a: PlainBuffer, i: int) -> Any:
    """The element `i` items away from the first."""
    return load(a, i)


def store(a: PlainBuffer, i: int, v: Any) -> None:
    """Write the element `i` items away from the first; `v` must have the buffer's dtype."""
    if np.asarray(v).dtype != a.window.dtype:
        raise TypeError(f"buffer {a.name} of {a.window.dtype}: stored {type(v).__name__}")
    a.window[a.at(i)] = v


def store_apart(a: PlainBuffer, i: int, v: Any) -> None:
    """Write the element `i` items away from the first; `v` must have the buffer's dtype."""
    store(a, i, v)


def live(h: int, n: int) -> int:
    """The end `n` of a loop; an end before its start if the flag is not 0."""
    return n if h == 0 else -1


def _float_to_int(v: float, code: str) -> Any:
    """The result of the compiled cast, the same on every platform."""
    if code == "u8":
        upper = v >= 2.0**63
        signed = _float_to_int(v - 2.0**63 if upper else v, "i8").astype(np.uint64)
        return signed ^ np.uint64(upper << 63)
    route = DTYPES[float_route(code)]
    low = value_range(route)[0]
    return route.type(int(v) if low <= v < -low else low).astype(DTYPES[code])


def _make_cast(code: str) -> Callable[[Any], Any]:
    """The cast function of one dtype, named by its code."""
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
    """Array of `n` cells; `dtype` is the cast function of their dtype."""
    cells = next(DTYPES[code] for code in DTYPES if cast_name(code) == dtype.__name__)
    return PlainBuffer("tile", np.full(n, poison(cells), cells))


def push(t: PlainBuffer, q: int, s: Any) -> int:
    """Add the sum of the next block to the tree of q blocks; return the new count."""
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
    """The sum of all q blocks, the smallest and latest subtree first."""
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
    """`push` for each of the first `width` cells of a tile."""
    for lane in range(width):
        _push_cell(t, q, load(s, lane), lane, width)
    return q + 1


def drain_lanes(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> None:
    """`drain` into each of the first `width` cells of a tile."""
    for lane in range(width):
        store(s, lane, _drain_cell(t, q, lane, width))


def push_mul(t: PlainBuffer, q: int, s: Any) -> int:
    """`push` of a product."""
    _push_cell(t, q, s, 0, 1, np.multiply)
    return q + 1


def drain_mul(t: PlainBuffer, q: int) -> Any:
    """The product of all q blocks, as `drain`."""
    return _drain_cell(t, q, 0, 1, 1, np.multiply)


def push_lanes_mul(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> int:
    """Do `push_mul` for each of the first `width` lanes, with the tree of that lane."""
    for lane in range(width):
        _push_cell(t, q, load(s, lane), lane, width, np.multiply)
    return q + 1


def drain_lanes_mul(t: PlainBuffer, q: int, s: PlainBuffer, width: int) -> None:
    """`drain_mul` into each of the first `width` cells of a tile."""
    for lane in range(width):
        store(s, lane, _drain_cell(t, q, lane, width, 1, np.multiply))


def add_reassoc(s: Any, v: Any) -> Any:
    """The accumulator add of a sum, here in order."""
    return s + v


def mul_reassoc(s: Any, v: Any) -> Any:
    """The accumulator multiplication of a product, here in order."""
    return np.multiply(s, v)


def complex_of(re: Any, im: Any) -> Any:
    """The complex number with these parts."""
    result = np.zeros(1, np.result_type(re, np.complex64))
    result.real, result.imag = re, im
    return result[0]


def select(c: Any, a: Any, b: Any) -> Any:
    """`a` if `c` else `b`."""
    return a if c else b


def maximum(a: Any, b: Any) -> Any:
    """The greater; NaN if either is NaN; +0 above -0."""
    if isinstance(a, np.complexfloating):
        return np.maximum(a, b)
    if a == b and np.signbit(a):
        return b
    return a if a >= b or a != a else b


def minimum(a: Any, b: Any) -> Any:
    """The smaller; NaN if either is NaN; -0 below +0."""
    if isinstance(a, np.complexfloating):
        return np.minimum(a, b)
    if a == b and np.signbit(b):
        return b
    return a if a <= b or a != a else b


def larger(s: Any, v: Any) -> Any:
    """The greater of two numbers; of two zeros either one; undefined for NaN."""
    return v if v > s else s


def smaller(s: Any, v: Any) -> Any:
    """The smaller of two numbers; of two zeros either one; undefined for NaN."""
    return v if v < s else s


def extreme(s: Any, g: Any, z: Any = None) -> Any:
    """NaN if g, else s with the sign of the number whose bits are z."""
    if g:
        return type(s)(math.nan)
    return s if z is None else np.copysign(s, z.view(s.dtype))


def bits(v: Any) -> Any:
    """The bits of a float as an integer, negative if the sign bit is set."""
    return v.view(f"i{v.itemsize}")


def rank_above(v: Any) -> Any:
    """The rank of a float among integers; NaN is above all others."""
    return _turned(bits(type(v)(np.nan) if v != v else v))


def rank_below(v: Any) -> Any:
    """The rank of a float among integers; NaN is below all others."""
    return _turned(bits(-type(v)(np.nan) if v != v else v))


def unranked(k: Any) -> Any:
    """The float of a rank."""
    return _turned(k).view(f"f{k.itemsize}")


def _turned(k: Any) -> Any:
    return k if k >= 0 else k ^ np.iinfo(k.dtype).max


def fmax(a: Any, b: Any) -> Any:
    """The greater; if one is NaN, the other one."""
    if isinstance(a, np.complexfloating):
        return np.fmax(a, b)
    return b if a != a else a if b != b else maximum(a, b)


def fmin(a: Any, b: Any) -> Any:
    """The smaller; if one is NaN, the other one."""
    if isinstance(a, np.complexfloating):
        return np.fmin(a, b)
    return b if a != a else a if b != b else minimum(a, b)


UFUNCS: Final = {name: one for name, one in vars(np).items() if isinstance(one, np.ufunc)}
"""NumPy's functions of scalars, by name; only functions that differ from them are defined here."""


def _reader(parameters: Sequence[KernelWord], kind: str) -> Callable[[Sequence[Any], int], Any]:
    """A function that reads words of one kind."""

    def read(w: Sequence[Any], k: int) -> Any:
        if parameters[k].kind != kind:
            raise TypeError(f"word {k} is a {parameters[k].kind}, not a {kind}")
        return w[k]

    return read


def plain_names(parameters: Sequence[KernelWord]) -> dict[str, Any]:
    """The globals of a kernel source that runs in plain Python."""
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
    """The argument block in plain Python: one array, scalar or length per parameter.

    Raises:
        TypeError: an argument is missing or has another dtype than its parameter.
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
        TypeError: arguments do not fit the parameters, or a value of another dtype is stored.
    """
    namespace = plain_names(parameters)
    exec(compile(source, "<kernel>", "exec"), namespace)
    with np.errstate(all="ignore"):
        namespace["kernel"](plain_words(parameters, arguments), lo, hi)
