"""For each foreign library, the functions that replace its objects among arguments.

`axiomjit` registers these functions of `interop`, which is imported when an argument is an object
of such a library.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from axiomjit.base.records import Record


class Blocks(Record):
    """The functions for calls with a library's arrays in blocks.

    `holds` is True of their class, `stand_ins` gives the arguments of a call with arrays of the
    whole shapes in their places, `answer` the results of a traced call, `report` its stages.
    `described` gives arguments with arrays in the places of descriptions.
    """

    holds: Callable[[type], bool]
    stand_ins: Callable[[Sequence[Any], Sequence[str]], tuple[Any, ...]]
    answer: Callable[[Any], Any]
    report: Callable[[Any], Any]
    described: Callable[[Any], Any]


class Library(Record):
    """The functions for the objects of one library.

    `form` returns the `ContainerForm` that splits objects of a class, or None for other classes.
    `arrays` returns the values of a call with arrays in place of columns and tensors.
    """

    form: Callable[[type], Any] | None = None
    arrays: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    blocks: Blocks | None = None


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


def in_blocks(values: Sequence[Any]) -> Blocks | None:
    """The functions for the first array in blocks among values; None without any."""
    for one in values:
        kind: Any = type(one)
        library = library_of(kind)
        if library is not None and library.blocks is not None and library.blocks.holds(kind):
            return library.blocks
    return None
