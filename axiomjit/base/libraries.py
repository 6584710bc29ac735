"""For each foreign library, the functions that replace its objects among arguments.

`axiomjit` registers these functions of `interop`, which is imported when an argument is an object
of such a library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.records import Record


class Library(Record):
    """The functions for the objects of one library.

    `form` returns the `ContainerForm` that splits objects of a class, or None for other classes.
    `arrays` returns the values of a call with arrays in place of columns and tensors.
    """

    form: Callable[[type], Any] | None = None
    arrays: Callable[[Sequence[Any]], Sequence[Any]] | None = None


LIBRARIES: Final[dict[str, Library]] = {}
"""The known libraries, by the first part of their modules' names; `axiomjit` registers them."""


@lru_cache(maxsize=512)
def library_name(kind: type) -> str:
    """The first part of the name of the module of a class."""
    return str(kind.__module__).partition(".")[0]


@lru_cache(maxsize=512)
def library_of(kind: type) -> Library | None:
    """The functions for objects of a class; None if its library has none."""
    return LIBRARIES.get(library_name(kind))
