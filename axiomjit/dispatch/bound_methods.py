"""Compiled functions as methods of instances, and their pickles.

The module is separate because `jit.py` would become too long.

`pickle` stores functions by name. `cloudpickle` stores functions that another process cannot import
by value: functions of `__main__`, lambdas and closures. A compiled function is stored in the same
way as the pickler stores a plain function. The source text of the function is pickled, too;
programs, kernels, native entries and locks are not pickled.
"""

from __future__ import annotations

import copyreg
import functools
import sys
from types import FrameType, FunctionType
from typing import TYPE_CHECKING, Any, Final, cast

from axiomjit.base.native_callable import NativeCallable
from axiomjit.dispatch.retrace_reasons import CacheInfo
from axiomjit.functions.source_text import text_of
from axiomjit.functions.sources import GuardInfo

if TYPE_CHECKING:
    from axiomjit.debug.lowered import Explanation, Lowered


class BoundMethod(functools.partial[Any]):
    """A compiled method of an instance."""

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """Lower the method for these arguments, as `Jitted.lower` does."""
        jitted: Any = self.func
        return cast("Lowered", jitted.lower(*self.args, *args, **kwargs))

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """Explain the call of the method with these arguments, as `Jitted.explain` does."""
        jitted: Any = self.func
        return cast("Explanation", jitted.explain(*self.args, *args, **kwargs))

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """Compile the method for these arguments, as `Jitted.warm` does."""
        jitted: Any = self.func
        jitted.warm(*self.args, *args, **kwargs)

    def guards(self) -> tuple[tuple[GuardInfo, ...], ...]:
        """The guards of the programs of the method, as `Jitted.guards` returns them."""
        jitted: Any = self.func
        return cast("tuple[tuple[GuardInfo, ...], ...]", jitted.guards())

    def cache_info(self) -> CacheInfo:
        """The counts of `Jitted.cache_info`, which include the calls on all instances."""
        jitted: Any = self.func
        return cast("CacheInfo", jitted.cache_info())


BY_VALUE: Final = "cloudpickle"
"""The module name of the pickler that pickles by value; packages may include copies of this
module."""
_ENTRY: Final = frozenset(NativeCallable.__annotations__)


def reduced(
    compiled: Any, function: Any, name: str, options: tuple[object, ...], caller: FrameType | None
) -> tuple[Any, ...] | str:
    """The result of `__reduce__` of a compiled function.

    Returns:
        The name, or a constructor and the state. The constructor makes an empty object first, so
        that a function that refers to itself can be restored.
    """
    module = getattr(function, "__module__", None)
    found: object = sys.modules.get(module or "")
    is_known = functools.reduce(_attribute, name.split("."), found) is compiled
    if is_known and not _goes_by_value(str(module), caller):
        return name
    text = text_of(function) if type(function) is FunctionType else None
    state = function, name, *options, _attributes(compiled, function), text
    return copyreg.__newobj__, (type(compiled),), state  # type: ignore[attr-defined]


def _goes_by_value(module: str, caller: FrameType | None) -> bool:
    """True if the calling pickler stores functions of this module by value."""
    by_value = None if caller is None else _by_value_pickler(caller.f_locals.get("self"))
    if by_value is None:
        return False
    registered: Any = getattr(by_value, "list_registry_pickle_by_value", frozenset)
    parts = module.split(".")
    packages = {".".join(parts[: k + 1]) for k in range(len(parts))}
    return module == "__main__" or not packages.isdisjoint(registered())


def _by_value_pickler(pickler: object) -> object:
    """The module of a pickler that stores functions by value; None for any other object."""
    for kind in type(pickler).__mro__:
        if BY_VALUE in kind.__module__.split("."):
            return sys.modules.get(kind.__module__)
    return None


def _attributes(compiled: Any, function: object) -> dict[str, Any]:
    """The attributes that users set on a compiled function itself."""
    of_function = getattr(function, "__dict__", {})
    return {
        name: value
        for name, value in vars(compiled).items()
        if not (name.startswith("_") or name in _ENTRY or of_function.get(name) is value)
    }


def _attribute(owner: object, name: str) -> object:
    return getattr(owner, name, None)
