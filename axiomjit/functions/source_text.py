"""Syntax trees of functions, matched to the code that runs.

The file may have changed since it was compiled. So a tree is used only if compiling it gives the
code of the function: all fields of this code and of the code inside it, except the file's name.
Three texts are tried in turn: the lines of the function, inside stubs of the classes and functions
that `co_qualname` names; the statement of the module that has these lines; the whole file. The
first two texts are compiled together with imports of names that the code uses, because an `import
np` anywhere in a module changes the code of `np.f()`.

Lines are counted from the first one of the compiled text. `Definition.shift` is the distance to the
lines of the file; empty lines in front of the text would take longer to parse than a small
function.
"""

from __future__ import annotations
import __future__

import ast
import copy
import dis
import linecache
import sys
import warnings
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import CodeType, FunctionType
from typing import Any, Final

from axiomjit.base.caching import BoundedTable
from axiomjit.base.locks import FORKS_WAIT, imported
from axiomjit.base.records import Record
from axiomjit.functions.numpy_imports import DROP_IN, rebind_imports

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""The syntax node of a function."""
FILE_NAME: Final = "<axiomjit: a function's own text>"
"""Name of the file in our compilations; warnings about it are ignored."""
FUTURE: Final[int] = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name not in ("nested_scopes", "generators", "with_statement")
)
"""The flags of code that depend on imports from `__future__`."""
FAULTS: Final = (SyntaxError, ValueError, RecursionError, MemoryError, SystemError)
"""The errors of Python's parser and compiler for texts that are wrong or nested too deeply."""
_MOST_ENDS: Final = 5
"""The largest number of lines, or brackets, that are tried as the end of a function."""
_told = BoundedTable[int, "tuple[CodeType, list[str]]"]()
_trees = BoundedTable[int, "tuple[CodeType, Function]"](1000)
_files = BoundedTable[str, "tuple[int, _File | None]"]()


class Definition(Record):
    """The definition of a function; the tree is not shared, so the caller may change it."""

    node: Function
    owner: str | None
    """The class whose name is put before private names."""
    shift: int
    """The number to add to the line numbers of the node, to get lines of the file."""


def read_text(function: FunctionType) -> None:
    """Read the file of a function now, since the file may change later."""
    linecache.getlines(function.__code__.co_filename, function.__globals__)


def text_of(function: FunctionType) -> str | None:
    """Return the lines of a function's definition; None if no text compiles to its code."""
    code = function.__code__
    try:
        found = find_definition(code, function.__globals__)
    except FAULTS:
        return None
    if found is None:
        return None
    end = (found.node.end_lineno or 0) + found.shift
    lines = _file_lines(code, function.__globals__)
    return "".join(lines[code.co_firstlineno - 1 : end])


def tell_text(code: CodeType, text: str) -> None:
    """Store the definition's text of a code object that was received without its file."""
    before = ["\n"] * (code.co_firstlineno - 1)
    _told.keep(id(code), (code, [*before, *text.splitlines(keepends=True)]))


def tell_tree(code: CodeType, node: Function) -> None:
    """Store the syntax tree from which a code object was compiled as its definition."""
    _trees.keep(id(code), (code, copy.deepcopy(node)))


def _file_lines(code: CodeType, names: dict[str, Any]) -> list[str]:
    told = _told.get(id(code))
    if told is not None and told[0] is code:
        return told[1]
    return linecache.getlines(code.co_filename, names)


def find_definition(code: CodeType, names: dict[str, Any]) -> Definition | None:
    """Return a new tree of the definition of a function; None if no text compiles to its code.

    Raises one of `FAULTS` if the text is nested too deeply for the compiler or for the free stack.
    """
    known = _trees.get(id(code))
    if known is not None and known[0] is code:
        return Definition(copy.deepcopy(known[1]), None, 0)
    lines = _file_lines(code, names)
    found = _in_lines(code, lines)
    if found is None and lines:
        linecache.checkcache(code.co_filename)
        newer = linecache.getlines(code.co_filename, names)
        if newer != lines:
            found = _in_lines(code, newer)
    return found


def _in_lines(code: CodeType, lines: list[str]) -> Definition | None:
    if code.co_firstlineno > len(lines) or code.co_firstlineno < 1:
        return None
    names = _imported_names(code)
    with FORKS_WAIT:  # Python 3.11 counts the depth of trees for all threads together
        _ignore_warnings()
        return _in_own_lines(code, lines, names) or _in_file(code, lines, names)


def _ignore_warnings() -> None:
    """Hide warnings about the user's text, since Python has already shown them.

    `warnings.catch_warnings` would change the filters of other threads, too.
    """
    if not warnings.filters or warnings.filters[0] is not _IGNORED:
        if _IGNORED in warnings.filters:
            warnings.filters.remove(_IGNORED)  # type: ignore[attr-defined]
        warnings.filters.insert(0, _IGNORED)  # type: ignore[attr-defined]
        warnings._filters_mutated()  # type: ignore[attr-defined]


class _OwnFile:
    """An object like a compiled pattern, which matches the file name of our compilations."""

    def match(self, module: str) -> bool:
        return module == FILE_NAME


_IGNORED: Final[Any] = ("ignore", None, Warning, _OwnFile(), 0)


def compile_tree(module: ast.Module, code: CodeType) -> CodeType:
    """Compile a module under the `__future__` imports of a code object."""
    made: CodeType = compile(module, FILE_NAME, "exec", code.co_flags & FUTURE, dont_inherit=True)
    return made


def _in_own_lines(code: CodeType, lines: list[str], names: list[str]) -> Definition | None:
    """Return the definition from its own lines, if they compile alone."""
    is_lambda = code.co_name == "<lambda>"
    for text, shift in _lambda_texts(code, lines) if is_lambda else _def_texts(code, lines):
        node = _first_function(text, code)
        if node is not None:
            module, depth, owner = _within_stubs(node, code, names)
            if _rewrite_asserts(module, text, code):
                node = _first_function(text, code)
            elif _has_rebound_imports(code):
                rebind_imports(module)
            made = _code_at(compile_tree(module, code), depth)
            if node and any(is_same(part, code, shift) for part in made):
                return Definition(node, owner, shift)
    return None


def _first_function(text: str, code: CodeType) -> Function | None:
    try:
        body: list[Any] = ast.parse(text, FILE_NAME).body
    except SyntaxError:
        return None
    node = body[0]
    node = node.body[0] if isinstance(node, ast.If) else getattr(node, "value", node)
    return node if isinstance(node, Function) and _name(node) == code.co_name else None


def _def_texts(code: CodeType, lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield texts that may be the definition of a function, each with the shift of its lines."""
    first = code.co_firstlineno - 1
    indent = _indent(lines[first])
    tried = 0
    for end in range(max(map(_last_line, _parts(code))), len(lines) + 1):
        line = lines[end].lstrip() if end < len(lines) else ""
        if end == len(lines) or (line and line[0] != "#" and _indent(lines[end]) <= indent):
            text = "".join(lines[first:end])
            yield ("if 1:\n" + text, first - 1) if indent else (text, first)
            tried += 1
            if tried == _MOST_ENDS:
                return


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _last_line(code: CodeType) -> int:
    return max((line for _, _, line in code.co_lines() if line), default=code.co_firstlineno)


def _lambda_texts(code: CodeType, lines: list[str]) -> Iterator[tuple[str, int]]:
    """Yield texts that may define a lambda; each begins at a `lambda` of the first line."""
    last, stop = _end(code)
    if not 0 < last <= len(lines):
        return
    first = code.co_firstlineno - 1
    line, ending = lines[first], lines[last - 1]
    stop = len(ending.encode()[:stop].decode(errors="replace"))
    brackets = [k + 1 for k in range(stop, len(ending)) if ending[k] in ")]}"]
    place = line.find("lambda")
    while place >= 0:
        start = "(\n" + " " * len(line[:place].encode())
        for end in (stop, *brackets[:_MOST_ENDS]):
            inner = [*lines[first : last - 1], ending[:end]]
            inner[0] = inner[0][place:]
            yield f"{start}{''.join(inner)}\n)", first - 1
        place = line.find("lambda", place + 1)


def _end(code: CodeType) -> tuple[int, int]:
    """Return the last line and column of the source of a code object."""
    ends = ((line, column) for part in _parts(code) for _, line, _, column in part.co_positions())
    return max((e for e in ends if None not in e), default=(0, 0))  # type: ignore[return-value]


def _name(node: ast.AST) -> str:
    return getattr(node, "name", "<lambda>")


def _starts(node: Function) -> tuple[str, int]:
    """Return the name and the first line of a function."""
    marks = getattr(node, "decorator_list", None)
    return _name(node), marks[0].lineno if marks else node.lineno


def _within_stubs(
    node: Function, code: CodeType, names: list[str]
) -> tuple[ast.Module, int, str | None]:
    """Return the definition nested in stubs of its scopes, the number of stubs, the inner class.

    An enclosing function binds the names that are free in the code.
    """
    place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
    free = [name for name in code.co_freevars if name != "__class__"]
    inner: ast.stmt = ast.Expr(node, **place) if isinstance(node, ast.Lambda) else node
    outer = code.co_qualname.split(".")[:-1]
    depth, owner = 0, None
    while outer:
        name, depth = outer.pop(), depth + 1
        body: list[ast.stmt] = [inner]
        made: Any
        if name == "<locals>":
            name = outer.pop()
            bound: list[ast.expr] = [ast.Name(n, ast.Store(), **place) for n in free]
            if bound:
                body.insert(0, ast.Assign(bound, ast.Constant(None, **place), **place))
            nothing = ast.arguments([], [], None, [], [], None, [])
            made = ast.FunctionDef(name, nothing, body, [], None, None, **place)
        else:
            owner = owner or name
            made = ast.ClassDef(name, [], [], body, [], **place)
        if "type_params" in made._fields:
            made.type_params = []
        inner = made
    shown: list[ast.stmt] = [
        ast.Import([ast.alias(name, None, **place)], **place) for name in names
    ]
    return ast.Module([*shown, inner], []), depth, owner


def _code_at(whole: CodeType, depth: int) -> list[CodeType]:
    """Return the code objects at this depth of nesting inside a code object."""
    level = [whole]
    for _ in range(depth + 1):
        level = [part for one in level for part in one.co_consts if isinstance(part, CodeType)]
    return level


def _parts(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all code objects nested in it."""
    waiting = [code]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [part for part in one.co_consts if isinstance(part, CodeType)]


_fields: Final[Callable[[CodeType], tuple[object, ...]]] = attrgetter(
    *("co_name", "co_argcount", "co_posonlyargcount", "co_kwonlyargcount", "co_flags", "co_code"),
    *("co_names", "co_varnames", "co_freevars", "co_cellvars", "co_exceptiontable"),
    *("co_qualname", "co_linetable"),
)


def is_same(made: CodeType, code: CodeType, shift: int) -> bool:
    """True if two code objects are equal, and their lines differ by `shift` everywhere."""
    if made.co_firstlineno + shift != code.co_firstlineno:
        return False
    if _fields(made) != _fields(code) and not _same_lines(made, code, shift):
        return False
    pairs = zip(made.co_consts, code.co_consts, strict=False)
    return len(made.co_consts) == len(code.co_consts) and all(
        is_same(a, b, shift)
        if isinstance(a, CodeType) and isinstance(b, CodeType)
        else a is b or _same_constant(a, b)
        for a, b in pairs
    )


def _same_lines(made: CodeType, code: CodeType, shift: int) -> bool:
    """True if both differ only in columns, which `python -X no_debug_ranges` leaves out."""
    if _fields(made)[:-1] != _fields(code)[:-1] or _has_columns(made) == _has_columns(code):
        return False
    old = [(start, end, line) for start, end, line in code.co_lines()]
    return old == [(start, end, line and line + shift) for start, end, line in made.co_lines()]


def _has_columns(code: CodeType) -> bool:
    return any(column is not None for _, _, column, _ in code.co_positions())


def _same_constant(one: object, other: object) -> bool:
    if type(one) is not type(other):
        return False
    if isinstance(one, tuple):
        assert isinstance(other, tuple)
        return len(one) == len(other) and all(map(_same_constant, one, other))
    if isinstance(one, frozenset):
        assert isinstance(other, frozenset)
        return sorted(map(repr, one)) == sorted(map(repr, other))
    return repr(one) == repr(other)


def _imported_names(code: CodeType) -> list[str]:
    """Return the names in a code object that its file may import.

    Python compiles `name.f()` as a method call; for an imported name, it compiles a read of an
    attribute and a call. So a name with a method call is not imported; a name that has only
    attribute reads may be imported.
    """
    read: set[str] = set()
    called: set[str] = set()
    for part in _parts(code):
        for name, is_method in _attribute_reads(part):
            (called if is_method else read).add(name)
    return sorted(read - called)


_CODE: Final = {name: number for name, number in dis.opmap.items() if number < 256}
"""The numbers of the instructions in code objects; pseudo-instructions of the compiler are left
out.
"""
_READS: Final = {
    _CODE.get(name)
    for name in ("LOAD_GLOBAL", "LOAD_FAST", "LOAD_FAST_CHECK", "LOAD_DEREF", "LOAD_NAME")
}
_EXTENDED: Final = _CODE["EXTENDED_ARG"]
_METHOD: Final = _CODE.get("LOAD_METHOD", -1)
_SHIFTED: Final = sys.version_info >= (3, 12)
"""True if the last bit of `LOAD_ATTR` says whether the attribute is a method."""


def _attribute_reads(code: CodeType) -> Iterator[tuple[str, bool]]:
    """Yield the name before each read of an attribute, and True if the read is of a method."""
    ops, arguments = code.co_code[::2], code.co_code[1::2]
    for operation in {_CODE["LOAD_ATTR"], _METHOD} - {-1}:
        place = ops.find(operation)
        while place >= 0:
            before = place - 1
            while before > 0 and ops[before] in (0, _EXTENDED):
                before -= 1
            if before >= 0 and ops[before] in _READS:
                number = arguments[before]
                if before and ops[before - 1] == _EXTENDED:
                    number += 256 * arguments[before - 1]
                bit = _SHIFTED and arguments[place] & 1
                yield _name_read(code, ops[before], number), operation == _METHOD or bool(bit)
            place = ops.find(operation, place + 1)


def _name_read(code: CodeType, operation: int, number: int) -> str:
    if operation == _CODE["LOAD_GLOBAL"]:
        return code.co_names[number >> 1]
    if operation == _CODE["LOAD_NAME"]:
        return code.co_names[number]
    name: str = code._varname_from_oparg(number)  # type: ignore[attr-defined]
    return name


def _has_rewritten_asserts(code: CodeType) -> bool:
    return any(name.startswith("@py") for part in _parts(code) for name in part.co_names)


def _has_rebound_imports(code: CodeType) -> bool:
    """True if `axiomjit run` may have compiled the code."""
    return any(name.startswith(DROP_IN) for part in _parts(code) for name in part.co_names)


def _rewrite_asserts(module: ast.Module, text: str, code: CodeType) -> bool:
    """Rewrite `assert` as pytest does, if the code was compiled so; True if it was."""
    if not _has_rewritten_asserts(code):
        return False
    pytest: Any = imported("_pytest.assertion.rewrite")
    if pytest is not None:
        pytest.rewrite_asserts(module, text.encode(), code.co_filename)
    return pytest is not None


class _File:
    """The tree of a file, and the code objects that it compiles to."""

    def __init__(self, text: str, is_rebound: bool) -> None:
        self.text = text
        self.tree = ast.parse(text, FILE_NAME)
        if is_rebound:
            rebind_imports(self.tree)
        self._compiled: dict[bool, dict[tuple[str, int], list[CodeType]]] = {}

    def compiled(self, code: CodeType) -> list[CodeType]:
        """Return the file's code objects with the name and first line of the code object `code`."""
        is_rewritten = _has_rewritten_asserts(code)
        parts = self._compiled.get(is_rewritten)
        if parts is None:
            parts = self._compiled[is_rewritten] = {}
            module = ast.parse(self.text, FILE_NAME) if is_rewritten else self.tree
            _rewrite_asserts(module, self.text, code)
            for part in _parts(compile_tree(module, code)):
                parts.setdefault((part.co_name, part.co_firstlineno), []).append(part)
        return parts.get((code.co_name, code.co_firstlineno), [])


def _in_file(code: CodeType, lines: list[str], names: list[str]) -> Definition | None:
    """Return the definition, from a statement of the module or from the whole file."""
    text, is_rebound = "".join(lines), _has_rebound_imports(code)
    key, stamp = code.co_filename, hash((text, is_rebound))
    if key not in _files or _files[key][0] != stamp:
        _files.keep(key, (stamp, None))
        _files.keep(key, (stamp, _File(text, is_rebound)))
    file = _files[key][1]
    if file is None:
        return None
    holders = [s for s in file.tree.body if code.co_firstlineno in _lines_of(s)]
    place: dict[str, Any] = {"lineno": 1, "col_offset": 0}
    shown: list[ast.stmt] = [
        ast.Import([ast.alias(name, None, **place)], **place) for name in names
    ]
    alone = compile_tree(ast.Module([*shown, *holders], []), code)
    found = any(is_same(part, code, 0) for part in _parts(alone))
    found = found or any(is_same(part, code, 0) for part in file.compiled(code))
    return _node_in(holders, code) if found else None


def _lines_of(statement: ast.stmt) -> range:
    marks = getattr(statement, "decorator_list", None)
    first = marks[0].lineno if marks else statement.lineno
    return range(first, (statement.end_lineno or first) + 1)


def _node_in(statements: list[ast.stmt], code: CodeType) -> Definition | None:
    """Return the definition among these statements from which a code object was compiled."""
    found: list[tuple[Function, str | None]] = []
    waiting: list[tuple[ast.AST, str | None]] = [(statement, None) for statement in statements]
    while waiting:
        node, owner = waiting.pop()
        if isinstance(node, Function) and _starts(node) == (code.co_name, code.co_firstlineno):
            found.append((node, owner))
        owner = node.name if isinstance(node, ast.ClassDef) else owner
        waiting += [(child, owner) for child in ast.iter_child_nodes(node)]
    if len(found) > 1:
        place = _end(code)
        found = [one for one in found if _body_end(one[0]) == place]
    return Definition(copy.deepcopy(found[-1][0]), found[-1][1], 0) if found else None


def _body_end(node: Function) -> tuple[int | None, int | None]:
    last = node.body if isinstance(node, ast.Lambda) else node.body[-1]
    return last.end_lineno, last.end_col_offset
