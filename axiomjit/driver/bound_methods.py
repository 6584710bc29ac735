"""Compiled methods of instances."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from axiomjit.driver.reasons import CacheInfo
    from axiomjit.show.explain import Explanation
    from axiomjit.show.lowered import Lowered


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

    def cache_info(self) -> CacheInfo:
        """As `Jitted.cache_info`: the calls on all instances."""
        jitted: Any = self.func
        return cast("CacheInfo", jitted.cache_info())
