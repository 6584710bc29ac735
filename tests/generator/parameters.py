"""Calls of the table's functions in which one parameter is given what is odd, and maybe legal.

A case names a function, a parameter and what it is given. It fails where a compiled function
gives another result than NumPy, raises where NumPy does not or an error of another type, or speaks
of classes that stand for arrays while a function is followed.
"""

import inspect
import re
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import axiomjit
from axiomjit.base.errors import AxiomError
from axiomjit.dispatch.fallbacks import public_class
from axiomjit.numpy_rules.table import FUNCTIONS, METHODS
from axiomjit.tracing.creation import CREATORS
from axiomjit.tracing.tracer import WRITERS

SQUARE = np.array([[4.0, 1, 0, 0], [1, 5, 1, 0], [0, 1, 6, 2], [0, 0, 2, 7]])
ROW = np.array([1.0, 2, 4, 7, 8])
COUNTS = np.array([3, 1, 2, 1])
CALLS: dict[str, tuple[Any, ...]] = {
    "where": (SQUARE > 1, SQUARE, 2.0),
    "clip": (SQUARE, 1, 5),
    "full_like": (SQUARE, 2),
    "linspace": (0, 3, 4),
    "logspace": (0, 3, 4),
    "geomspace": (1, 8, 4),
    "swapaxes": (SQUARE, 0, 1),
    "moveaxis": (SQUARE, 0, 1),
    "rollaxis": (SQUARE, 1),
    "expand_dims": (SQUARE, 0),
    "squeeze": (SQUARE[:1], 0),
    "broadcast_to": (ROW, (2, 5)),
    "broadcast_arrays": (ROW, SQUARE[:, :1]),
    "reshape": (SQUARE, (2, 8)),
    "concatenate": ([ROW, ROW],),
    "stack": ([ROW, ROW],),
    "vstack": ([ROW, ROW],),
    "hstack": ([ROW, ROW],),
    "dstack": ([ROW, ROW],),
    "column_stack": ([ROW, ROW],),
    "append": (ROW, ROW),
    "roll": (SQUARE, 1),
    "pad": (ROW, 1),
    "compress": ([True, False, True], ROW),
    "extract": (ROW > 2, ROW),
    "bincount": (COUNTS,),
    "einsum": ("ij,j->i", SQUARE, ROW[:4]),
    "matrix_power": (SQUARE, 2),
    "solve": (SQUARE, ROW[:4]),
    "lstsq": (SQUARE, ROW[:4]),
    "multi_dot": ([SQUARE, SQUARE, SQUARE],),
    "tensorinv": (SQUARE, 1),
    "tensorsolve": (SQUARE, ROW[:4]),
    "ediff1d": (ROW,),
    "diff": (ROW,),
    "trapezoid": (ROW,),
    "cross": (SQUARE[:, :3], SQUARE[:, 1:]),
    "convolve": (ROW, ROW[:3]),
    "correlate": (ROW, ROW[:3]),
    "choose": (COUNTS - 1, [ROW[:4], ROW[1:], 7.0]),
    "select": ([ROW > 2, ROW > 1], [ROW, -ROW]),
    "array_split": (ROW, 2),
    "split": (SQUARE, 2),
    "vsplit": (SQUARE, 2),
    "hsplit": (SQUARE, 2),
    "dsplit": (SQUARE[:, None], 2),
    "ix_": (COUNTS, COUNTS),
    "meshgrid": (ROW, ROW),
    "partition": (ROW, 2),
    "argpartition": (ROW, 2),
    "lexsort": ((ROW, ROW),),
    "searchsorted": (ROW, 3.0),
    "digitize": (SQUARE, ROW),
    "percentile": (ROW, 30),
    "quantile": (ROW, 0.3),
    "nanpercentile": (ROW, 30),
    "nanquantile": (ROW, 0.3),
    "interp": (SQUARE, ROW, ROW),
    "take": (ROW, COUNTS),
    "take_along_axis": (ROW, COUNTS, 0),
    "put_along_axis": (ROW, COUNTS, 9.0, 0),
    "put": (ROW, COUNTS, 9.0),
    "copyto": (SQUARE, 2.0),
    "matmul": (SQUARE, SQUARE),
    "zeros": ((2, 3),),
    "ones": ((2, 3),),
    "full": ((2, 3), 2.0),
    "eye": (3,),
    "identity": (3,),
    "tri": (3,),
    "arange": (5,),
    "indices": ((2, 3),),
    "fromfunction": (np.add, (2, 3)),
    "tile": (ROW, 2),
    "repeat": (ROW, 2),
    "delete": (ROW, 1),
    "insert": (ROW, 1, 9.0),
    "resize": (ROW, (2, 3)),
    "apply_along_axis": (np.sum, 0, SQUARE),
    "apply_over_axes": (np.sum, SQUARE, [0]),
    "polyfit": (ROW, ROW, 1),
    "polyval": (ROW, ROW),
    "cov": (SQUARE,),
    "gradient": (ROW,),
    "unwrap": (ROW,),
    "triu": (SQUARE, 1),
    "vander": (ROW, 3),
    "fill_diagonal": (SQUARE, 1.0),
    "sliding_window_view": (ROW, 2),
}
"""The arguments of functions that are not called with `SQUARE` alone, twice where they want two."""
MORE = "tile repeat delete insert resize apply_along_axis apply_over_axes polyfit polyval cov"
MORE += " gradient unwrap triu tril vander nansum average array_equal flatnonzero"
SKIPPED = frozenset({"empty", "empty_like", "fromiter", "fromstring", "frombuffer"})
NOT_ASKED = frozenset({"device", "like", "out", "subok"})


LENIENT = {
    *("axes", "axis", "casting", "copy", "correction", "dtype", "ind", "indices", "invert"),
    *("kth", "minlength", "n", "optimize", "ord", "order", "shape", "stable", "weights"),
    *("where", "x"),
}
"""Parameters of some functions that take more than NumPy does, which raises an error."""
UNLIKE = frozenset({"partition", "argpartition", "take_along_axis", "put_along_axis"})
"""Functions that look at their arguments in another order, and raise another error."""
QUANTILES = frozenset({"percentile", "quantile", "nanpercentile", "nanquantile"})
"""Functions whose results of single float32 numbers are float64."""


class Odd(NamedTuple):
    """What a parameter is given: arguments of the compiled function, and what is made of them."""

    arguments: tuple[Any, ...]
    of: Callable[..., Any] = lambda value: value


THING = object()
ODD = {
    "int": Odd((1,)),
    "another int": Odd((7,)),
    "negative int": Odd((-1,)),
    "float": Odd((1.5,)),
    "NumPy int": Odd((np.int64(1),)),
    "NumPy float": Odd((np.float32(0.5),)),
    "bool": Odd((True,)),
    "array without dimensions": Odd((np.array(1),)),
    "array of ints": Odd((np.array([1, 0]),)),
    "array of floats": Odd((np.array([1.0, 0.5]),)),
    "element": Odd((np.array([1, 0]),), lambda value: value[0]),
    "row": Odd((np.array([[1, 0]]),), lambda value: value[0]),
    "computed number": Odd((np.array([0.5, 0.5]),), lambda value: value.sum()),
    "list": Odd((1,), lambda value: [value]),
    "tuple of two": Odd((1, 0), lambda *values: values),
    "list of an element": Odd((np.array([1, 0]),), lambda value: [value[0]]),
    "length": Odd((np.ones(6),), lambda value: value.shape[0]),
    "size in a list": Odd((np.ones((6, 2)),), lambda value: [value.size, 1]),
    "known array": Odd((), lambda: np.array([1, 0])),
    "known NumPy int": Odd((), lambda: np.int64(1)),
    "known float": Odd((), lambda: 1.5),
    "None": Odd((), lambda: None),
    "text": Odd((), lambda: "a"),
    "object": Odd((), lambda: THING),
    "empty list": Odd((), list),
    "set": Odd((), lambda: {1}),
    "complex": Odd((), lambda: 1j),
    "Ellipsis": Odd((), lambda: ...),
    "object array": Odd((np.array([1, None], object),)),
    "dates": Odd((np.array(["2020-01-01", "2020-01-02"], "M8[D]"),)),
}


class Case(NamedTuple):
    """A call of a function with one parameter given something odd."""

    function: str
    parameter: str
    odd: str


def functions() -> dict[str, Callable[..., Any]]:
    """The functions of the table, the methods and ufuncs, and some that are steps, by name."""
    found: dict[str, Callable[..., Any]] = {}
    for function in (*FUNCTIONS, *WRITERS, *CREATORS, *(getattr(np, n) for n in MORE.split())):
        module, name = function.__module__, function.__name__
        if name not in SKIPPED and module.startswith("numpy"):
            found[f"{module}.{name}"] = function
    for name in METHODS:
        found[f"ndarray.{name}"] = getattr(np.ndarray, name)
    found["ndarray.astype"], found["ndarray.transpose"] = np.ndarray.astype, np.ndarray.transpose
    for name in ("add", "power", "sqrt", "greater", "bitwise_and", "divmod", "matmul"):
        found[f"ufunc.{name}"] = getattr(np, name)
    return found


def usual(name: str, function: Callable[..., Any]) -> tuple[tuple[Any, ...], list[str]]:
    """The arguments by position of a call, and the names of all its parameters."""
    own = name.rpartition(".")[2]
    twin: Any = function
    if name.startswith("ndarray."):
        twin = getattr(np, {"conj": "conjugate"}.get(own, own), function)
    try:
        kinds = inspect.signature(twin).parameters.values()
    except ValueError:
        kinds = ()
    positional = [p.name for p in kinds if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    needed = [p for p in kinds if p.name in positional and p.default is p.empty]
    args = CALLS.get(own, (SQUARE,) * max(1, len(needed)))
    if own == "compress" and name.startswith("ndarray."):
        args = args[::-1]
    if isinstance(twin, np.ufunc):
        args = (SQUARE,) * twin.nin
        return args, ["x1", "x2", "axis", "dtype", "where", "casting"]
    by_name = [p.name for p in kinds if p.kind is p.KEYWORD_ONLY]
    return args, [*(positional or [f"argument {k}" for k in range(len(args))]), *by_name]


def cases() -> Iterator[Case]:
    """Every function, parameter, and odd thing."""
    for name, function in functions().items():
        _, parameters = usual(name, function)
        for parameter in parameters:
            if parameter not in NOT_ASKED:
                yield from (Case(name, parameter, odd) for odd in ODD)


def called(case: Case) -> tuple[Callable[..., Any], tuple[Any, ...]]:
    """A function that does the call, and its arguments: those of the case and the odd ones."""
    function = functions()[case.function]
    given, parameters = usual(case.function, function)
    odd = ODD[case.odd]
    place = parameters.index(case.parameter)
    if isinstance(function, np.ufunc) and place >= function.nin:
        place = len(given)
    own = case.function.rpartition(".")[2]

    def call(given: Any, *more: Any) -> Any:
        args, kwargs = list(given), {}
        if place < len(args):
            args[place] = odd.of(*more)
        else:
            kwargs[case.parameter] = odd.of(*more)
        if case.function.startswith("ndarray.") and isinstance(args[0], np.ndarray):
            made = getattr(args[0], own)(*args[1:], **kwargs)
        else:
            made = function(*args, **kwargs)
        return args[0] if made is None else made

    return call, (given, *odd.arguments)


def copied(value: Any) -> Any:
    """Arguments of their own for another call."""
    if isinstance(value, tuple | list):
        return type(value)(map(copied, value))
    return value.copy() if isinstance(value, np.ndarray) else value


def outcome(function: Callable[..., Any], arguments: Any) -> Any:
    """What a call gives, or the error that it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return function(*copied(arguments))
        except Exception as error:
            return error


INTERNAL = re.compile(
    r"'?\b(Input|Op|Constant|Node|Dim|Tracer|Traced\w*|SymbolicInt|Scalar)\b'? obj|_NoVal"
)


def same(found: Any, want: Any) -> bool:
    """Whether two results are one, but for last bits, and scalars for arrays of no dimensions."""
    if isinstance(want, tuple | list):
        alike = isinstance(found, tuple | list) and len(found) == len(want)
        return alike and all(map(same, found, want))
    if not isinstance(want, np.ndarray | np.generic | int | float | complex):
        return type(found) is type(want)
    one, other = np.asarray(found), np.asarray(want)
    if (one.dtype, one.shape) != (other.dtype, other.shape):
        return False
    if one.dtype.kind in "fc":
        return np.allclose(one, other, 1e-6, 1e-9, equal_nan=True)
    return bool((one == other).all())


def _own_name(case: Case) -> str:
    return case.function.rpartition(".")[2]


def failure(case: Case) -> str | None:
    """What is wrong with a case; None where nothing is."""
    function, arguments = called(case)
    want = outcome(function, arguments)
    found = outcome(axiomjit.jit(function), arguments)
    refused = outcome(axiomjit.jit(function, strict=True), arguments)
    if isinstance(refused, Exception) and INTERNAL.search(str(refused)):
        return f"{case} strictly: {type(refused).__name__}: {refused}"
    if isinstance(want, Exception):
        unlike = isinstance(found, Exception) and _own_name(case) in UNLIKE
        lenient = not isinstance(found, Exception) and case.parameter in LENIENT
        if unlike or lenient or isinstance(found, public_class(want)):
            return None
        return f"{case}: {found!r} where NumPy raises {want!r}"
    if _own_name(case) in QUANTILES and case.odd == "NumPy float":
        return None
    if isinstance(found, Exception) or not same(found, want):
        return f"{case}: {found!r} where NumPy gives {want!r}"
    if isinstance(refused, Exception) and not isinstance(refused, AxiomError):
        return f"{case} strictly: {refused!r} where NumPy gives {want!r}"
    return None
