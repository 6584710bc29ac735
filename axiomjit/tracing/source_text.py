"""Syntax trees of functions, matched to the code that runs.

The text of a file may be another one than what was compiled: so a tree counts only where compiling
it gives the code of the function. The lines of the function alone are tried first, within stubs of
what encloses it; then the whole file.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Iterable, Iterator
from types import CodeType, ModuleType
from typing import Any, Final

from axiomjit.base.bounded_tables import BoundedTable
from axiomjit.base.locks import FORKS_WAIT, imported

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
"""The node of a function."""
_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_FUTURE: Final[int] = sum(
    getattr(__future__, name).compiler_flag
    for name in __future__.all_feature_names
    if name not in ("nested_scopes", "generators", "with_statement")
)
"""The flags of code that depend on imports from `__future__`."""
MOST: Final = 4000
"""The most functions whose trees are kept."""
_MOST_LINES: Final = 5
"""How many lines beyond the last one with code are tried as the end of a function."""
_trees = BoundedTable[int, "tuple[CodeType, Function | None]"](MOST)
_files = BoundedTable[str, "tuple[int, _File | None]"]()


def function_tree(code: CodeType, names: dict[str, Any]) -> Function | None:
    """The tree of a function's own definition; None where no text compiles to its code.

    Args:
        code: The function's.
        names: Its global names.
    """
    known = _trees.get(id(code))
    if known is None or known[0] is not code:
        with FORKS_WAIT:  # Python 3.11 counts the depth of trees for all threads together
            known = _trees.keep(id(code), (code, _matched(code, names)))
    return known[1]


def _matched(code: CodeType, names: dict[str, Any]) -> Function | None:
    lines = linecache.getlines(code.co_filename, names)
    if not lines or code.co_firstlineno > len(lines):
        return None
    rewritten = any(name.startswith("@py") for name in (*code.co_names, *code.co_varnames))
    try:
        texts = _of_lambda(code, lines) if code.co_name == "<lambda>" else _of_lines(code, lines)
        for text, name in texts:
            for node in _definitions(_parsed(text, name), code):
                if not rewritten and _is_same(_alone(node, code, names), code):
                    return node
        return _in_file(code, lines, rewritten)
    except (SyntaxError, ValueError, RecursionError, MemoryError, SystemError):
        return None


def _parsed(text: str, name: str) -> ast.AST | None:
    try:
        return ast.parse(text, name)
    except SyntaxError:
        return None


def _of_lines(code: CodeType, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Texts that may be the definition: its lines, where they stand."""
    first, last = code.co_firstlineno - 1, _last_line(code)
    indent = _indent(lines[first])
    start = "\n" * (first - 1) + "if 1:\n" if indent and first else "\n" * first
    tried = 0
    for end in range(last, len(lines) + 1):
        over = end == len(lines) or (lines[end].strip() and _indent(lines[end]) <= indent)
        if over:
            yield start + "".join(lines[first:end]), code.co_filename
            tried += 1
            if tried == _MOST_LINES:
                return


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _last_line(code: CodeType) -> int:
    """The last line from which code was made."""
    found = [end for _, end, _, _ in code.co_positions() if end is not None]
    found += [_last_line(part) for part in code.co_consts if isinstance(part, CodeType)]
    return max((*found, code.co_firstlineno))


def _of_lambda(code: CodeType, lines: list[str]) -> Iterator[tuple[str, str]]:
    """Texts that may be the definition: from each `lambda` of its line to the end of its body."""
    last, stop = _end(code)
    if not last or last > len(lines):
        return
    first = code.co_firstlineno - 1
    line, ending = lines[first], lines[last - 1]
    stop = len(ending.encode()[:stop].decode())
    rest = ending[stop:]
    ends = [stop] + [stop + k + 1 for k, letter in enumerate(rest) if letter in ")]}"][:_MOST_LINES]
    place = line.find("lambda")
    while place >= 0:
        blank = " " * (len(line[:place].encode()) - 1)
        for end in ends:
            inner = [*lines[first : last - 1], ending[:end]]
            inner[0] = inner[0][place:]
            text = "".join(inner)
            shown = f"({blank}{text})" if place else text
            yield "\n" * first + shown, code.co_filename
        place = line.find("lambda", place + 1)


def _definitions(tree: ast.AST | None, code: CodeType) -> Iterator[Function]:
    """Definitions in a tree that have the name and first line of a code object."""
    for node in () if tree is None else ast.walk(tree):
        if isinstance(node, Function) and _name(node) == code.co_name:
            marks = getattr(node, "decorator_list", None)
            if (marks[0].lineno if marks else node.lineno) == code.co_firstlineno:
                yield node


def _name(node: ast.AST) -> str:
    return getattr(node, "name", "<lambda>")


def _alone(node: Function, code: CodeType, names: dict[str, Any]) -> CodeType | None:
    """The code of one definition, compiled within stubs of what encloses it."""
    inner: ast.stmt
    inner = ast.Expr(node) if isinstance(node, ast.Lambda) else node
    ast.copy_location(inner, node)
    free = [name for name in code.co_freevars if name != "__class__"]
    depth = 0
    outer = code.co_qualname.split(".")[:-1]
    while outer:
        name = outer.pop()
        inside, depth = name == "<locals>", depth + 1
        if inside:
            name = outer.pop()
        bound = [ast.Assign([ast.Name(n, ast.Store())], ast.Constant(None)) for n in free]
        body: list[ast.stmt] = [*bound, inner] if inside else [inner]
        stub: Any = ast.FunctionDef if inside else ast.ClassDef
        name = "stub" if name == "<lambda>" else name
        own: dict[str, Any] = {"args": _no_arguments()} if inside else {"bases": [], "keywords": []}
        made = stub(name=name, body=body, decorator_list=[], **own)
        if "type_params" in made._fields:
            made.type_params = []
        inner = ast.copy_location(made, node)
    module = ast.Module([*_imports(code, names), inner], [])
    ast.fix_missing_locations(module)
    return _code_in(_compiled(module, code), code, depth)


def _no_arguments() -> ast.arguments:
    return ast.arguments([], [], None, [], [], None, [])


def _imports(code: CodeType, names: dict[str, Any]) -> Iterator[ast.stmt]:
    """Imports of what is imported: calls of their attributes are compiled in another way."""
    own = names.get("__name__")
    for name in code.co_names:
        if name in names:
            value = names[name]
            if isinstance(value, ModuleType) or getattr(value, "__module__", own) != own:
                yield ast.Import([ast.alias(name)])


def _compiled(tree: Any, code: CodeType) -> CodeType:
    made: CodeType = compile(
        tree, code.co_filename, "exec", code.co_flags & _FUTURE, dont_inherit=True
    )
    return made


def _code_in(whole: CodeType, code: CodeType, depth: int) -> CodeType | None:
    """The equal code object within so many stubs; None where there is none."""
    level = [whole]
    for _ in range(depth + 1):
        level = [c for one in level for c in one.co_consts if isinstance(c, CodeType)]
    return next((one for one in level if _is_same(one, code)), None)


def _parts(code: CodeType) -> Iterator[CodeType]:
    waiting = [code]
    while waiting:
        one = waiting.pop()
        yield one
        waiting += [part for part in one.co_consts if isinstance(part, CodeType)]


def _is_same(made: CodeType | None, code: CodeType) -> bool:
    """Whether two code objects do the same at the same places; Python's `==` compares constants."""
    return (
        made is not None
        and made == code
        and made.co_linetable == code.co_linetable
        and made.co_freevars == code.co_freevars
    )


class _File:
    """A whole file: the code objects that its text gives, and the trees of its functions."""

    def __init__(self, text: str, code: CodeType, rewritten: bool) -> None:
        """Compile the text."""
        self.tree = ast.parse(text, code.co_filename)
        tree = ast.parse(text, code.co_filename)
        if rewritten:
            _rewrite_asserts(tree, text, code.co_filename)
        whole = _compiled(tree, code)
        self.parts: dict[tuple[str, int], list[CodeType]] = {}
        for part in _parts(whole):
            self.parts.setdefault((part.co_name, part.co_firstlineno), []).append(part)


def _rewrite_asserts(tree: ast.Module, text: str, name: str) -> None:
    """Change statements `assert` as pytest does in modules of tests."""
    pytest: Any = imported("_pytest.assertion.rewrite")
    if pytest is not None:
        pytest.rewrite_asserts(tree, text.encode(), name)


def _in_file(code: CodeType, lines: Iterable[str], rewritten: bool) -> Function | None:
    text = "".join(lines)
    key, stamp = f"{code.co_filename}{rewritten}", hash(text)
    if key not in _files or _files[key][0] != stamp:
        _files.keep(key, (stamp, None))
        _files.keep(key, (stamp, _File(text, code, rewritten)))
    file = _files[key][1]
    same = [] if file is None else file.parts.get((code.co_name, code.co_firstlineno), [])
    if not any(_is_same(part, code) for part in same):
        return None
    assert file is not None
    nodes = list(_definitions(file.tree, code))
    if len(nodes) == 1:
        return nodes[0]
    nodes = [node for node in nodes if _holds(node, _end(code))]
    return nodes[-1] if nodes else None


def _end(code: CodeType) -> tuple[int, int]:
    """The last line and column from which code was made."""
    ends = ((line, column) for _, line, _, column in code.co_positions())
    return max((e for e in ends if None not in e), default=(0, 0))  # type: ignore[return-value]


def _holds(node: Function, place: tuple[int, int]) -> bool:
    body: Any = node.body
    return isinstance(node, ast.Lambda) and (body.end_lineno, body.end_col_offset) == place
