"""How compiled functions are pickled: by name, or by the function and the options of `jit`.

Nothing that was prepared is in a pickle: no program, kernel, native entry or lock. Whoever
unpickles one compiles when calling it, or finds the kernels on disk.

`pickle` takes functions by name, `cloudpickle` also by value those that no other process could
import: of `__main__`, lambdas and closures. A compiled function that its module knows by its name
goes the same way as plain functions do with the pickler at hand.
"""

from __future__ import annotations

import copyreg
import functools
import sys
from types import FrameType
from typing import Any, Final

from axiomjit.base.guarded_calls import GuardedCall

BY_VALUE: Final = "cloudpickle"
"""A part of the name of modules whose picklers take functions by value; packages carry copies."""
_ENTRY: Final = frozenset(GuardedCall.__annotations__)


def reduced(
    compiled: Any, function: Any, name: str, options: tuple[object, ...], caller: FrameType | None
) -> tuple[Any, ...] | str:
    """What `__reduce__` of a compiled function gives.

    Args:
        compiled: the compiled function.
        function: what it wraps.
        name: the qualified name of that.
        options: how it is compiled.
        caller: what asks how to pickle it: a method of a pickler, or anything else.

    Returns:
        The name; or how to make an empty one, and the state for it, so that a function that
        refers to itself finds the empty one.
    """
    module = getattr(function, "__module__", None)
    found: object = sys.modules.get(module or "")
    is_known = functools.reduce(_attribute, name.split("."), found) is compiled
    if is_known and not _goes_by_value(str(module), caller):
        return name
    state = function, name, *options, _attributes(compiled, function)
    return copyreg.__newobj__, (type(compiled),), state  # type: ignore[attr-defined]


def _goes_by_value(module: str, caller: FrameType | None) -> bool:
    """Whether a pickler takes by value what stands in a module."""
    by_value = None if caller is None else _by_value_pickler(caller.f_locals.get("self"))
    if by_value is None:
        return False
    registered: Any = getattr(by_value, "list_registry_pickle_by_value", frozenset)
    parts = module.split(".")
    packages = {".".join(parts[: k + 1]) for k in range(len(parts))}
    return module == "__main__" or not packages.isdisjoint(registered())


def _by_value_pickler(pickler: object) -> object:
    """The module of a pickler that takes functions by value; None for any other object."""
    for kind in type(pickler).__mro__:
        if BY_VALUE in kind.__module__.split("."):
            return sys.modules.get(kind.__module__)
    return None


def _attributes(compiled: Any, function: object) -> dict[str, Any]:
    """What users gave to a compiled function, and nothing that it has of the one it wraps."""
    of_function = getattr(function, "__dict__", {})
    return {
        name: value
        for name, value in vars(compiled).items()
        if not (name.startswith("_") or name in _ENTRY or of_function.get(name) is value)
    }


def _attribute(owner: object, name: str) -> object:
    return getattr(owner, name, None)
