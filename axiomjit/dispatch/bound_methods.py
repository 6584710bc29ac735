"""Compiled methods of instances; apart from `jit.py`, which has no room for them."""

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
        """As `Jitted.lower`."""
        jitted: Any = self.func
        return cast("Lowered", jitted.lower(*self.args, *args, **kwargs))

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """As `Jitted.explain`."""
        jitted: Any = self.func
        return cast("Explanation", jitted.explain(*self.args, *args, **kwargs))

    def warm(self, *args: Any, **kwargs: Any) -> None:
        """As `Jitted.warm`."""
        jitted: Any = self.func
        jitted.warm(*self.args, *args, **kwargs)

    def guards(self) -> tuple[tuple[GuardInfo, ...], ...]:
        """As `Jitted.guards`."""
        jitted: Any = self.func
        return cast("tuple[tuple[GuardInfo, ...], ...]", jitted.guards())

    def cache_info(self) -> CacheInfo:
        """As `Jitted.cache_info`: the calls on all instances."""
        jitted: Any = self.func
        return cast("CacheInfo", jitted.cache_info())
