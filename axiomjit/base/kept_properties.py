"""Properties that are computed at first use and kept.

`functools.cached_property` does that too, under one lock for all instances in Python 3.11: a child
that is forked while another thread computes one would wait for ever. Here two threads may compute
the same value; one of them is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

T = TypeVar("T")


class kept_property(Generic[T]):  # noqa: N801  # a decorator, as `property` is
    """A property whose value is computed once for each instance, which has a `__dict__`."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        """Keep what computes it."""
        self._compute, self.__doc__ = compute, compute.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    @overload
    def __get__(self, instance: None, owner: type) -> kept_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object, owner: type) -> kept_property[T] | T:
        if instance is None:
            return self
        value = self._compute(instance)
        vars(instance)[self._name] = value  # which Python finds before this from now on
        return value
