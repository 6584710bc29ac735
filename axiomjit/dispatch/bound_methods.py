"""Compiled methods of instances; the module is separate because `jit.py` would become too long."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

from axiomjit.dispatch.retrace_reasons import CacheInfo
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
