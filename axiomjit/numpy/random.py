"""NumPy's random numbers, drawn at once and in order; large arrays are lazy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from numpy import random as _random

from axiomjit.numpy.at_once import DRAWN
from axiomjit.numpy.lazy_arrays import LazyArray, at_once
from axiomjit.numpy.namespace import like, wrapped
from axiomjit.numpy.segments import run_freely

__all__ = list(_random.__all__)
_WRITING: Final = frozenset({"shuffle", "permuted"})
_STATES: Final = frozenset({"get_state", "set_state", "seed", "spawn", "bytes"})


def _drawing(function: Any, module: str, is_method: bool) -> Callable[..., Any]:
    """Our version of a function or method that draws random numbers."""
    writes = function.__name__ in _WRITING

    def drawn(*args: Any, **kwargs: Any) -> Any:
        if any(type(one) is LazyArray for one in (*args, *kwargs.values())):
            return at_once(function, args, kwargs, writes, DRAWN)
        return wrapped(run_freely(function, *args, **kwargs))

    made = like(function, drawn, module)
    if is_method:
        made.__qualname__ = function.__qualname__
    return made


class _Kind(type):
    """The metaclass of our generators, which counts NumPy's generators as instances."""

    def __instancecheck__(cls, value: object) -> bool:
        return isinstance(value, cls.__mro__[1])

    def __subclasscheck__(cls, kind: type) -> bool:
        return issubclass(kind, cls.__mro__[1])


def _methods(kind: type) -> dict[str, Any]:
    """The methods that draw numbers, by name, as versions that make lazy arrays."""
    names = [name for name in dir(kind) if not name.startswith("_") and name not in _STATES]
    methods = {name: getattr(kind, name) for name in names}
    return {k: _drawing(v, __name__, True) for k, v in methods.items() if callable(v)}


class Generator(_random.Generator, metaclass=_Kind):
    """NumPy's `Generator`, whose large arrays are lazy arrays."""

    locals().update(_methods(_random.Generator))

    def __reduce__(self) -> Any:
        return Generator, (self.bit_generator,)


class RandomState(_random.RandomState, metaclass=_Kind):
    """NumPy's `RandomState`, whose large arrays are lazy arrays."""

    locals().update(_methods(_random.RandomState))

    def __reduce__(self) -> Any:
        return _restored, (self.get_state(legacy=False),)


def _restored(state: Any) -> RandomState:
    made = RandomState()
    made.set_state(state)
    return made


def _generator(seed: Any = None) -> Generator:
    if type(seed) is Generator:
        return seed
    return Generator(  # the bit generator of NumPy's generator is used
        _random.default_rng(seed).bit_generator
    )


default_rng: Final = like(_random.default_rng, _generator, __name__)


def __getattr__(name: str) -> Any:
    found = getattr(_random, name)
    if name in __all__ and name not in _STATES and not isinstance(found, type):
        found = globals()[name] = _drawing(found, __name__, False)
    return found


def __dir__() -> list[str]:
    return sorted({*dir(_random), *globals()})
