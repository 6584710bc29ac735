"""What is known of functions of libraries: which change something, and which give views."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Sequence
from types import FunctionType, ModuleType
from typing import Any, Final

import numpy as np

from axiomjit.base.origins import is_installed, is_library_code
from axiomjit.tracing.effects.values import Known, is_a
from axiomjit.tracing.impure import IMPURE

_PURE_MODULES_WORDS: Final = """
    math cmath operator _operator functools _functools itertools collections _collections
    _collections_abc copy dataclasses typing types enum abc _abc numbers fractions decimal
    _decimal statistics _statistics string re textwrap datetime _datetime contextlib
    bisect _bisect heapq _heapq zlib binascii struct _struct json
    posixpath ntpath genericpath fnmatch inspect keyword calendar graphlib array base64 hashlib
    _hashlib _struct uuid weakref reprlib unicodedata time platform locale
    _locale errno stat
"""
_PURE_MODULES: Final = frozenset(_PURE_MODULES_WORDS.split())
_PURE_BUILTINS_WORDS: Final = """
    abs all any ascii bin bool bytearray bytes callable chr classmethod complex dict divmod
    enumerate filter float format frozenset getattr hasattr hash hex id int isinstance
    issubclass iter len list map max memoryview min next object oct ord pow property range repr
    reversed round set slice sorted staticmethod str sum super tuple type zip vars locals
    globals dir __build_class__
"""
PURE_BUILTINS: Final = frozenset(_PURE_BUILTINS_WORDS.split())
_MUTATORS_WORDS: Final = """
    append extend insert remove pop clear sort reverse update setdefault popitem add discard
    difference_update intersection_update symmetric_difference_update appendleft extendleft
    popleft rotate fill put resize setflags partition itemset setfield move_to_end subtract
    write writelines close seek read readline readlines flush send throw truncate frombytes
    fromlist acquire release wait notify start  submit shutdown
    register cache_clear setstate __setitem__ __delitem__ __setattr__ __delattr__ __setstate__
    __next__ __iadd__ __isub__ __imul__ __itruediv__ __ifloordiv__ __imod__ __ipow__ __iand__
    __ior__ __ixor__ __ilshift__ __irshift__ __imatmul__ __init__ byteswap
"""
MUTATORS: Final = frozenset(_MUTATORS_WORDS.split())
"""Methods of built-in and library types that change their object, or something behind it."""
_ARRAY_VIEWS_WORDS: Final = """
    reshape ravel view transpose swapaxes squeeze diagonal astype __getitem__ __array__
    getfield to_device newbyteorder T real imag flat base mT data ctypes __array_interface__
    __iter__
"""
ARRAY_VIEWS: Final = frozenset(_ARRAY_VIEWS_WORDS.split())
"""Attributes of arrays that give their memory."""
_VIEW_FUNCTIONS_WORDS: Final = """
    asarray asanyarray ascontiguousarray asfortranarray asarray_chkfinite reshape ravel
    transpose squeeze atleast_1d atleast_2d atleast_3d broadcast_to broadcast_arrays swapaxes
    moveaxis rollaxis expand_dims split array_split hsplit vsplit dsplit diagonal diag real
    imag flip fliplr flipud rot90 require sliding_window_view as_strided permute_dims
    matrix_transpose unstack asmatrix frombuffer astype
    nditer ndenumerate ix_ trim_zeros
"""
_VIEW_FUNCTIONS: Final = frozenset(_VIEW_FUNCTIONS_WORDS.split())
WRITERS: Final = frozenset(
    {
        *("copyto", "put", "place", "putmask", "fill_diagonal", "put_along_axis", "shuffle"),
        *("setitem", "delitem", "iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow"),
        *("iand", "ior", "ixor", "ilshift", "irshift", "imatmul", "iconcat"),
        *("heappush", "heappop", "heapify", "heapreplace", "heappushpop"),
        *("insort", "insort_left", "insort_right"),
    }
)
"""Functions of NumPy, `operator`, `heapq` and `bisect` that change their first argument."""
_STATEFUL_WORDS: Final = """
    seterr seterrcall setbufsize set_printoptions set_string_function save savez
    savez_compressed savetxt tofile setstate seed _seterr setlocale setcontext getcontext
    attrgetter localcontext methodcaller register simplefilter singledispatch
"""
_STATEFUL: Final = frozenset(_STATEFUL_WORDS.split())
_OUT_PLACES: Final = {"dot": 2, "concatenate": 2, "take": 3, "choose": 2, "compress": 3}


def is_library(part: Any, own: str) -> bool:
    """Whether a function, class or module is a library's, not of the package `own`."""
    part = _home(part)
    return is_library_code(part) or is_installed(part, own)


class _Home:
    """The module in which a function was defined, which a decorator may hide."""

    def __init__(self, name: str) -> None:
        self.__module__ = name


def _home(part: Any) -> Any:
    if isinstance(part, FunctionType):
        name = part.__globals__.get("__name__")
        if isinstance(name, str):
            return _Home(name)
    return part


def module_of(value: Any) -> str:
    """The module of a function, class or instance; that of a built-in method its owner's."""
    module = getattr(_home(value), "__module__", None)
    if not isinstance(module, str):
        owner = getattr(value, "__self__", None)
        owner = getattr(value, "__objclass__", owner if isinstance(owner, type) else type(owner))
        module = getattr(owner, "__module__", "")
    return str(module)


def is_pure(value: Any) -> bool:
    """Whether a library's function or class changes nothing beside its first argument and `out`."""
    name, module = getattr(value, "__name__", ""), module_of(value)
    top = module.partition(".")[0]
    if name in _STATEFUL:
        return False
    if is_a(value, type) and issubclass(value, BaseException):
        return True
    if module == "builtins":
        return name in PURE_BUILTINS or not _is_public_builtin(value, name)
    if top in ("numpy", "scipy", "axiomjit"):
        return True
    if module in ("os", "posix", "nt"):
        return name in ("getenv", "cpu_count", "fspath", "getpid", "sched_getaffinity", "getcwd")
    if module == "sys":
        return name in ("getsizeof", "getrefcount", "exc_info", "intern", "getrecursionlimit")
    if module == "warnings":
        return name == "catch_warnings"
    if module == "random":
        return name == "Random"
    return module in _PURE_MODULES or top in ("collections", "json")


def _is_public_builtin(value: Any, name: str) -> bool:
    return vars(sys.modules["builtins"]).get(name) is value


def impure_name(value: Any) -> str | None:
    """The name of a function that gives something else at each call: a clock, a file, entropy."""
    name, module = getattr(value, "__name__", None), module_of(value)
    if (module, name) in IMPURE:
        shown = {"builtins": "", "io": "", "_io": "", "posix": "os.", "nt": "os."}
        return shown.get(module, f"{module}.") + str(name)
    owner = getattr(value, "__self__", None)
    if not isinstance(owner, type) or owner.__module__ not in ("datetime", "_datetime"):
        return None
    if name in ("now", "utcnow", "today"):
        return f"{owner.__name__}.{name}"
    return None


def gives_views(value: Any) -> bool:
    """Whether a function may give memory or elements of its arguments."""
    if is_a(value, np.ufunc):
        return False
    name, top = getattr(value, "__name__", ""), module_of(value).partition(".")[0]
    if top == "numpy":
        return name in _VIEW_FUNCTIONS
    return top not in ("math", "cmath", "scipy", "statistics", "_statistics", "re", "zlib")


def parameters(value: Any) -> Sequence[str]:
    """The names of the parameters that a library's function takes by position, in order."""
    try:
        return _parameters(value)
    except TypeError:  # an object without a hash
        return ()


@functools.lru_cache(maxsize=512)
def _parameters(value: Any) -> Sequence[str]:
    name = getattr(value, "__name__", "")
    if name in _OUT_PLACES:
        return ("",) * _OUT_PLACES[name] + ("out",)
    try:
        given = inspect.signature(value).parameters.values()
    except (TypeError, ValueError):
        return ()
    return [p.name for p in given if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


_EMPTY: Final = np.zeros(0)


def array_method(owner: Any, name: str) -> Any:
    """A method of an array or ufunc, as a function; None of other objects."""
    held = owner.value if isinstance(owner, Known) else _EMPTY
    return getattr(held, name, None) if is_a(held, np.ndarray | np.ufunc) else None


def is_python_ufunc(value: Any) -> bool:
    """Whether a ufunc calls a function of Python's, as those of `frompyfunc` do."""
    return is_a(value, np.ufunc) and value.__name__.endswith("(vectorized)")


def is_module(value: Any, *names: str) -> bool:
    """Whether an object is a module with one of the names."""
    return is_a(value, ModuleType) and value.__name__ in names
