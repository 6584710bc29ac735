"""Properties that are computed at first use and kept.

`functools.cached_property` does that too, under one lock for all instances in Python 3.11: a child
that is forked while another thread computes one would wait for ever. Here two threads may compute
the same value; one of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

T = TypeVar("T")


class cached_property(Generic[T]):  # noqa: N801  # a decorator, as `property` is
    """A property whose value is computed once for each instance, which has a `__dict__`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        """Keep what computes it."""
        self._compute, self.__doc__ = compute, compute.__doc__

    def __get__(self, instance: Any, owner: type) -> T:
        if instance is None:
            return self  # type: ignore[return-value]
        value = vars(instance)[self._compute.__name__] = self._compute(instance)
        return value  # which Python finds before this from now on
