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

    `holds(kind)` is true if `kind` is the class of the library's arrays in blocks. `stand_ins`
    returns the arguments of a call with NumPy arrays of the entire shapes in place of arrays in
    blocks; `explained` returns the error of a call with stand-ins, without made-up lengths.
    `answer` returns the results of a traced call, and `report` returns a text about the
    stages of a traced call. `described` returns the arguments with arrays in blocks in place of
    each `axiomjit.spec`. `apply` calls a function of arrays that is defined by a function of nodes.
    """

    holds: Callable[[type], bool]
    stand_ins: Callable[[Sequence[Any], Sequence[str]], tuple[Any, ...]]
    explained: Callable[[Exception, Sequence[Any], Sequence[str]], Exception]
    answer: Callable[[Any], Any]
    report: Callable[[Any], Any]
    described: Callable[[Any], Any]
    apply: Callable[[Any, Sequence[Any]], Any]


class Library(Record):
    """The functions for the objects of one library.

    `form` returns the `ContainerForm` that splits objects of a class, or None for other classes.
    `arrays` returns the values of a call with arrays in place of columns and tensors.
    """

    form: Callable[[type], Any] | None = None
    arrays: Callable[[Sequence[Any]], Sequence[Any]] | None = None
    blocks: Blocks | None = None


INSTALLED: Final[dict[str, Any]] = {}
"""The functions by which `graph.execution` runs graphs; later packages provide them."""
LIBRARIES: Final[dict[str, Library]] = {}
"""The known libraries, by the first part of the module name; `axiomjit` registers the libraries."""


@lru_cache(maxsize=512)
def library_name(kind: type) -> str:
    """The first part of the name of the module of a class."""
    return str(kind.__module__).partition(".")[0]


@lru_cache(maxsize=512)
def library_of(kind: type) -> Library | None:
    """The functions of the library that defines a class; None if the library is not registered."""
    return LIBRARIES.get(library_name(kind))


def in_blocks(values: Sequence[Any]) -> Blocks | None:
    """The functions for the first array in blocks among values; None if there is no such array."""
    for one in values:
        kind: Any = type(one)
        library = library_of(kind)
        if library is not None and library.blocks is not None and library.blocks.holds(kind):
            return library.blocks
    return None
