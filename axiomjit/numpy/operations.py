"""The operations that segments record: NumPy's functions, ufuncs, methods and operators.

Segments record operations that can be fused into loops and cannot fail because of values:
elementwise operations, folds, scans, views, writes and creation. All functions that segments do not
record run at once.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np

from axiomjit.base.array_values import SIGNS
from axiomjit.graph.primitives import PRIMITIVES

Texts = Sequence[str]


class Operation:
    """A function of arrays that segments can record; each call becomes a statement."""

    __slots__ = ("apply", "is_exact", "name", "parameters", "sign")

    def __init__(self, apply: Callable[..., Any], name: str, is_exact: bool) -> None:
        """Wrap a function for segments.

        Args:
            apply: The function, which takes NumPy arrays.
            name: The name in the text of a segment: `np.sum`, or `.reshape` for a method.
            is_exact: True if compiled kernels give the same bits as NumPy for floats.
        """
        self.apply, self.name, self.is_exact = apply, name, is_exact
        self.parameters = _parameters(apply)
        self.sign = SIGNS.get(name.removeprefix("np.")) if is_exact else None

    def __repr__(self) -> str:
        return f"Operation({self.name})"

    def named(
        self, args: Sequence[Any], kwargs: Mapping[str, Any]
    ) -> tuple[Sequence[Any], Mapping[str, Any]]:
        """The arguments of a call, with the first operand by position, and `out` by name."""
        names = self.parameters
        if not args and names and names[0] in kwargs:
            kwargs = dict(kwargs)
            args = (kwargs.pop(names[0]),)
        if "out" in names and len(args) > (at := names.index("out")):
            behind = dict(zip(names[at:], args[at:], strict=False))
            if len(behind) == len(args) - at and behind.keys().isdisjoint(kwargs):
                return args[:at], {**kwargs, **behind}
        return args, kwargs

    def is_setting(self, key: int | str) -> bool:
        """True if an argument decides shapes; `key` is its position or its name."""
        if isinstance(key, int):
            if not self.parameters:
                return False
            key = self.parameters[min(key, len(self.parameters) - 1)]
        return key in SETTINGS or (self in VIEWS and key in self.parameters[1:])

    def text(self, args: Texts, kwargs: Mapping[str, str]) -> str:
        """The Python expression of a call of the operation.

        Lists and tuples are not operands of signs, since `*` would repeat them.
        """
        lists = any(text.startswith(("[", "(")) for text in args)
        if self.sign and not kwargs and len(args) <= 2 and not lists:
            return f"{args[0]} {self.sign} {args[1]}" if args[1:] else f"{self.sign}{args[0]}"
        if self is GET:
            return f"{args[0]}[{args[1]}]"
        if self is SET:
            return f"{args[0]}[{args[1]}] = {args[2]}"
        if self in IN_PLACE.values():
            return f"{args[0]} {self.name} {args[1]}"
        named = [f"{key}={value}" for key, value in kwargs.items()]
        if self.name.startswith("."):
            return f"{args[0]}{self.name}({', '.join([*args[1:], *named])})"
        return f"{self.name}({', '.join([*args, *named])})"


def _parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """The names of a function's parameters; none for ufuncs."""
    if isinstance(getattr(function, "__self__", function), np.ufunc):
        return ()
    return tuple(inspect.signature(function).parameters)


def _set(array: Any, index: Any, value: Any) -> None:
    array[index] = value


POWER: Final = Operation(operator.pow, "np.power", True)
"""The operator `**` with the exponents of `is_short_power`."""
_SHORT_POWERS: Final = (2, 1, 0.5, -1, 0)
_FLOATS: Final = frozenset({np.dtype("f8"), np.dtype("f4"), np.dtype("f2")})


def is_short_power(base: Any, exponent: Any) -> bool:
    """True for an exponent for which `**` of NumPy's arrays does not call `np.power`.

    For complex arrays, such exponents are integers and 0.5; for arrays of integers, such exponents
    are 1 and 2.
    """
    if type(exponent) not in (int, float) or exponent not in _SHORT_POWERS:
        return False
    dtype = getattr(base, "dtype", None)
    if dtype in _FLOATS or exponent in (1, 2):
        return True
    return getattr(dtype, "kind", "") == "c" and (type(exponent) is int or exponent == 0.5)


def _words(text: str) -> list[str]:
    return text.split()


SETTINGS: Final = frozenset(
    _words(
        "aweights axes axis axis1 axis2 bias casting copy correction ddof decimals deg "
        "destination device dtype edge_order endpoint equal_nan fweights include_initial index k "
        "keepdims like n num offset order repeats reps retstep returned rowvar shape shift "
        "source subok"
    )
)
"""The names of parameters that are not data, or whose values may be refused."""
GET: Final = Operation(lambda array, index: array[index], "[]", True)
SET: Final = Operation(_set, "[]=", True)


def _in_place(stem: str) -> Callable[[Any, Any], Any]:
    name = f"__i{stem}__"
    return lambda array, other: getattr(array, name)(other)


_EXACT_UFUNCS: Final = frozenset(
    _words(
        "add subtract multiply divide floor_divide remainder negative positive absolute fabs sqrt "
        "square reciprocal sign conjugate maximum minimum fmax fmin equal not_equal less "
        "less_equal greater greater_equal logical_and logical_or logical_xor logical_not "
        "bitwise_and bitwise_or bitwise_xor invert left_shift right_shift isnan isinf isfinite "
        "signbit copysign floor ceil trunc rint fmod divmod modf spacing nextafter heaviside "
        "bitwise_count gcd lcm"
    )
)
"""The ufuncs whose kernels give the same bits as NumPy for all dtypes."""
_COMPOSED_UFUNCS: Final = _words("deg2rad degrees divmod heaviside positive rad2deg radians square")
"""The ufuncs whose rules combine several primitives."""
IN_PLACE: Final[Mapping[str, Operation]] = {
    stem: Operation(_in_place(stem), f"{sign}=", True)
    for stem, sign in (
        *(("add", "+"), ("sub", "-"), ("mul", "*"), ("truediv", "/"), ("floordiv", "//")),
        *(("mod", "%"), ("and", "&"), ("or", "|"), ("xor", "^")),
        *(("lshift", "<<"), ("rshift", ">>")),
    )
}
"""The operators that write into their first operand, by the stem of the method's name."""
_EXACT_FUNCTIONS: Final = _words(
    "max min amax amin any all argmax argmin clip where copy round around real imag transpose "
    "swapaxes matrix_transpose moveaxis rollaxis squeeze expand_dims broadcast_to diagonal "
    "flip flipud fliplr rot90 atleast_1d atleast_2d atleast_3d reshape ravel concatenate "
    "stack vstack hstack dstack column_stack tile roll tril triu ptp diff zeros_like "
    "ones_like full_like empty_like zeros ones full arange copyto outer append ediff1d isclose "
    "isneginf isposinf nan_to_num nanmax nanmin repeat kron diagflat"
)
_ROUNDED_FUNCTIONS: Final = _words(
    "sum prod mean var std cumsum cumprod nansum nanmean trapezoid trace average linspace "
    "corrcoef cov cumulative_prod cumulative_sum gradient nanprod nanstd nanvar polyval sinc angle"
)
"""The functions that add or multiply in another order than NumPy, so that last bits may differ."""
_EXACT_METHODS: Final = _words(
    "reshape transpose swapaxes squeeze ravel flatten diagonal astype copy conj conjugate fill"
)
_AS_FUNCTIONS: Final = _words(
    "sum prod mean var std cumsum cumprod trace max min any all argmax argmin round clip"
)
"""The methods with the same arguments as the function of the same name."""
_FOLDING_METHODS: Final = ("reduce", "accumulate", "outer")
_FOLDS: Final = frozenset(_words("add multiply maximum minimum logical_and logical_or"))


def _method(name: str) -> Operation:
    return Operation(
        lambda array, *args, **kwargs: getattr(array, name)(*args, **kwargs), f".{name}", True
    )


_UFUNCS: Final[list[np.ufunc]] = [
    *(row.ufunc for row in PRIMITIVES.values() if row.ufunc is not None),
    *(getattr(np, name) for name in _COMPOSED_UFUNCS),
]
FUNCTIONS: Final[dict[object, Operation]] = {
    **{
        getattr(np, name): Operation(getattr(np, name), f"np.{name}", exact)
        for names, exact in ((_EXACT_FUNCTIONS, True), (_ROUNDED_FUNCTIONS, False))
        for name in names
    },
    **{
        ufunc: Operation(ufunc, f"np.{ufunc.__name__}", ufunc.__name__ in _EXACT_UFUNCS)
        for ufunc in _UFUNCS
        if ufunc.signature is None and getattr(np, ufunc.__name__, None) is ufunc
    },
}
"""The recorded operations, by NumPy's function."""
UFUNC_METHODS: Final[dict[tuple[np.ufunc, str], Operation]] = {
    (getattr(np, name), method): Operation(
        getattr(getattr(np, name), method),
        f"np.{name}.{method}",
        method == "outer" or name not in ("add", "multiply"),
    )
    for name in _FOLDS
    for method in _FOLDING_METHODS
}
"""The recorded methods of ufuncs, by ufunc and name."""
METHODS: Final[dict[str, Operation]] = {
    **{name: _method(name) for name in _EXACT_METHODS},
    **{name: FUNCTIONS[getattr(np, name)] for name in _AS_FUNCTIONS},
}
"""The recorded methods of arrays, by name."""
WRITES: Final = frozenset({FUNCTIONS[np.copyto], METHODS["fill"], SET, *IN_PLACE.values()})
"""The operations that write into their first operand."""
ASKING: Final = frozenset({np.ndim, np.shape, np.size, np.iscomplexobj, np.isrealobj})
"""The functions that only ask for the shape or the dtype of an array."""
WRITING_FUNCTIONS: Final = frozenset(
    {np.put, np.place, np.putmask, np.fill_diagonal, np.put_along_axis, np.nan_to_num}
)
"""The functions that may write into an operand other than `out`; such calls run at once."""
VIEWS: Final = frozenset(
    {
        GET,
        *(METHODS[name] for name in _EXACT_METHODS if name not in ("astype", "copy", "flatten")),
        *(
            FUNCTIONS[getattr(np, name)]
            for name in _words(
                "real imag transpose swapaxes matrix_transpose moveaxis rollaxis squeeze "
                "expand_dims broadcast_to diagonal flip flipud fliplr rot90 atleast_1d "
                "atleast_2d atleast_3d reshape ravel"
            )
        ),
    }
)
"""The operations whose result may be a view of the first operand."""
