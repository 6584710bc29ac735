"""Copies of functions in which each operation on outside objects calls a hook.

Reads of globals, cells, attributes and items, stores, deletions, calls, tests of truth values,
iteration and operators become calls of hooks, as the table in `expressions.py` says. The order of
evaluation, the calls and the line numbers are Python's.

The hooks are free names `_aj_<hook>` of the copy, bound to the attributes of one object.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import CellType, CodeType, FunctionType
from typing import Any, Final

from axiomjit.base.caching import BoundedTable
from axiomjit.base.locks import FORKS_WAIT
from axiomjit.functions.expressions import PREFIX, NoTextError, NotInstrumentedError
from axiomjit.functions.source_text import compile_tree, find_definition
from axiomjit.functions.statements import Rewriter

__all__ = ["Instrumented", "NotInstrumentedError", "instrumented"]

_MOST: Final = 4000
_ATTRIBUTES: Final = {"not": "not_", "import": "import_"}
"""Attributes of hooks whose names are keywords of Python."""
_UNKNOWN: Final = 0x80 | 0x100 | 0x200
"""The flags of coroutines, coroutines made of generators, and asynchronous generators."""
_templates = BoundedTable[int, "tuple[CodeType, CodeType | NotInstrumentedError]"](_MOST)


class Instrumented:
    """A function's instrumented code, from which `bind` makes functions."""

    def __init__(self, function: FunctionType, code: CodeType) -> None:
        """Take the function and the rewritten code, whose free names are those of hooks."""
        self._function, self.code = function, code
        names = [name.removeprefix(PREFIX) for name in code.co_freevars]
        self._attributes = [_ATTRIBUTES.get(name, name) for name in names]

    @property
    def used(self) -> frozenset[str]:
        """The attributes of an object with hooks that `bind` reads."""
        return frozenset(self._attributes)

    def bind(self, hooks: object) -> FunctionType:
        """Return a new function that has the defaults of the original and calls these hooks."""
        old = self._function
        cells = tuple([CellType(getattr(hooks, name)) for name in self._attributes])
        made = FunctionType(self.code, old.__globals__, old.__name__, old.__defaults__, cells)
        made.__kwdefaults__ = old.__kwdefaults__
        made.__qualname__ = old.__qualname__
        return made


def instrumented(function: FunctionType) -> Instrumented:
    """Return the instrumented code of a function; each code object is rewritten only once.

    Raises `NotInstrumentedError` if no source text compiles to the function's code, or if the
    function has a statement that hooks cannot trace.
    """
    code = function.__code__
    known = _templates.get(id(code))
    if known is None or known[0] is not code:
        try:
            made: CodeType | NotInstrumentedError = _rewritten(code, function.__globals__)
        except NotInstrumentedError as error:
            made = error.with_traceback(None)
        except (RecursionError, MemoryError, SystemError) as error:  # more stack may help
            raise NotInstrumentedError(f"its text is nested too deeply: {error}") from None
        known = _templates.keep(id(code), (code, made))
    if isinstance(known[1], NotInstrumentedError):
        raise type(known[1])(known[1].reason, known[1].line)
    return Instrumented(function, known[1])


def _rewritten(code: CodeType, names: Mapping[str, Any]) -> CodeType:
    first = code.co_firstlineno
    if code.co_flags & _UNKNOWN:
        raise NotInstrumentedError("it is asynchronous", first)
    try:
        found = find_definition(code, dict(names))
    except (SyntaxError, ValueError):
        found = None
    if found is None:
        raise NoTextError("no text compiles to its code", first)
    try:
        module = Rewriter(code, found).module()
    except NotInstrumentedError as error:
        line = error.line + found.shift if error.line else first
        raise NotInstrumentedError(error.reason, line) from None
    with FORKS_WAIT:  # Python 3.11 counts the depth of trees for all threads together
        whole = compile_tree(module, code)
    factory = next(part for part in whole.co_consts if isinstance(part, CodeType))
    made = next(part for part in factory.co_consts if isinstance(part, CodeType))
    return placed_code(made, code, found.shift, len(made.co_qualname))


def placed_code(
    made: CodeType, code: CodeType, shift: int, cut: int, around: CodeType | None = None
) -> CodeType:
    """Return compiled code with the file, lines and qualified names of the original.

    The body of a loop has the name of the function `around` it.
    """
    own = around is not None and made.co_name.startswith(PREFIX)
    owner = around if own and around is not None else made
    parts = made.co_consts
    if any(isinstance(part, CodeType) for part in parts):
        parts = tuple(
            [
                placed_code(p, code, shift, cut, owner) if isinstance(p, CodeType) else p
                for p in parts
            ]
        )
    return made.replace(
        co_consts=parts,
        co_filename=code.co_filename,
        co_firstlineno=made.co_firstlineno + shift,
        co_name=owner.co_name,
        co_qualname=code.co_qualname + _without_bodies(owner.co_qualname[cut:]),
    )


def _without_bodies(name: str) -> str:
    """A qualified name from which the names of generated loop bodies are removed."""
    first, *parts = name.split(".")
    for place in range(len(parts) - 1, -1, -1):
        if parts[place].startswith(PREFIX):
            del parts[place : place + 2]
    return ".".join([first, *parts])
