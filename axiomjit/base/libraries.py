"""The functions that replace other libraries' objects among arguments, by library.

A later package adds the functions, which import nothing until there is an object of the library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.records import Record


class Library(Record):
    """The functions for the objects of one library.

    `form` gives the `ContainerForm` that splits objects of a class, None for other classes.
    `arrays` gives the values of a call with arrays in the places of columns and tensors.
    """

    form: Callable[[type], Any] | None = None
    arrays: Callable[[Sequence[Any]], Sequence[Any]] | None = None


LIBRARIES: Final[dict[str, Library]] = {}
"""By the first part of a module's name; later packages add."""


@lru_cache(maxsize=512)
def library_name(kind: type) -> str:
    """The first part of the name of the module of a class."""
    return str(kind.__module__).partition(".")[0]


@lru_cache(maxsize=512)
def library_of(kind: type) -> Library | None:
    """The functions for objects of a class; None if its library has none."""
    return LIBRARIES.get(library_name(kind))
