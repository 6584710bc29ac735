"""Functions that give something else at each call: clocks, files, entropy; in a followed function.

What they give while a function is followed would be what every call gets. So the copy of the
function that is followed has, in their place, functions that refuse.
"""

from __future__ import annotations

import builtins
import functools
from collections.abc import Callable
from types import BuiltinFunctionType, FunctionType
from typing import Any, Final, NoReturn

from axiomjit.base.errors import ImpureError
from axiomjit.base.origins import user_location
from axiomjit.base.trace_context import current, refused
from axiomjit.tracing.lengths import known_numbers

_CLOCKS: Final = "time perf_counter monotonic process_time thread_time"
_FUNCTIONS: Final[dict[str, str]] = {
    "time": f"{_CLOCKS} {' '.join(f'{name}_ns' for name in _CLOCKS.split())} "
    "sleep localtime gmtime ctime",
    "uuid": "uuid1 uuid4",
    "secrets": "token_bytes token_hex token_urlsafe randbelow randbits choice",
    "posix": "urandom getrandom times",
    "nt": "urandom times",
    "io": "open",
    "_io": "open",
    "builtins": "input",
    "numpy": "load fromfile loadtxt genfromtxt",
}
_CLASSES: Final = {"datetime": ("datetime", "date")}
_SHOWN: Final = {"builtins": "", "io": "", "_io": "", "posix": "os.", "nt": "os."}
_KEPT: Final = ("__module__", "__name__", "__qualname__", "__doc__")
_METHODS: Final = ("now", "utcnow", "today")
_SEEDED: Final = ("RandomState", "PCG64", "PCG64DXSM", "MT19937", "Philox", "SFC64", "SeedSequence")
IMPURE: Final = frozenset(
    (module, name) for module, names in _FUNCTIONS.items() for name in names.split()
)
"""Functions that are refused, by module and name."""
MODULES: Final = frozenset({*_FUNCTIONS, *_CLASSES, "os"})
"""Modules in which a copy of a function sees functions that refuse."""
NAMES: Final = frozenset(name for _, name in IMPURE) | {*_METHODS, *_SEEDED}
"""Names in the code of functions that may call them."""


def refusing(value: Any) -> Any:
    """What refuses in place of a function or class, or itself where that gives always the same."""
    if not issubclass(type(value), BuiltinFunctionType | FunctionType | type):
        return value
    module, name = value.__module__, value.__name__
    if not isinstance(module, str) or not isinstance(name, str):
        return value
    if (module, name) in IMPURE:
        return _refusing(value, _SHOWN.get(module, f"{module}.") + name)
    if module in _CLASSES and name in _CLASSES[module]:
        return _class_refusing(value)
    if module.startswith("numpy.random") and name in _SEEDED:
        return _seeded(value, f"numpy.random.{name}")
    return value


def refusing_builtin(name: str) -> Any:
    """As `refusing`, for what Python finds under a name that no module defines; None if not so."""
    value = getattr(builtins, name, None)
    other = refusing(value)
    return None if other is value else other


def refuse_impure(asked: str) -> NoReturn:
    """Refuse to ask for a time, a file or entropy.

    Raises:
        ImpureError: always.
    """
    raise refused(
        ImpureError(
            f"{asked} in a function that is followed once for all calls",
            "what it gives at that time, which every call would get",
            "call it outside and pass what it gives as an argument",
            user_location(),
        )
    )


def _refusing(function: Callable[..., Any], asked: str) -> Callable[..., Any]:
    @functools.wraps(function, assigned=_KEPT, updated=())
    def called(*args: Any, **kwargs: Any) -> Any:
        if current() is not None:
            refuse_impure(asked)
        return function(*args, **kwargs)

    return called


def _seeded(kind: Any, asked: str) -> Callable[..., Any]:
    """A class of generators: made without a seed they start elsewhere at each call."""

    @functools.wraps(
        kind, assigned=("__module__", "__name__", "__qualname__", "__doc__"), updated=()
    )
    def made(*args: Any, **kwargs: Any) -> Any:
        if current() is not None and all(v is None for v in (*args, *kwargs.values())):
            refuse_impure(f"{asked}()")
        options = {name: known_numbers(value) for name, value in kwargs.items()}
        return kind(*map(known_numbers, args), **options)

    return made


@functools.lru_cache(maxsize=8)
def _class_refusing(kind: Any) -> Any:
    """A subclass that makes instances of the class itself, and cannot be asked for the time."""

    class Asked(type):
        def __instancecheck__(cls, instance: object) -> bool:
            return isinstance(instance, kind)

        def __subclasscheck__(cls, other: type) -> bool:
            return issubclass(other, kind)

    own = [name for name in _METHODS if hasattr(kind, name)]
    held = {m: staticmethod(_refusing(getattr(kind, m), f"{kind.__name__}.{m}")) for m in own}
    made = {"__new__": lambda cls, *args, **kwargs: kind(*args, **kwargs), **held}
    return Asked(kind.__name__, (kind,), {"__module__": kind.__module__, **made})
