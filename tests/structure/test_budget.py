"""Sizes stay readable: 700 lines a file, 60 a function, 100 columns a line."""

import ast

from tests.structure.sources import FOLDERS, nodes_of, read_sources

FILE_LINES, FUNCTION_LINES, COLUMNS = 700, 60, 100


def long_file(name: str, source: str) -> list[str]:
    """The file, if it has too many lines."""
    lines = len(source.splitlines())
    return [f"{name}: {lines} lines, at most {FILE_LINES}"] if lines > FILE_LINES else []


def long_functions_and_lines(name: str, source: str) -> list[str]:
    """Functions with too many lines, lines with too many columns."""
    found = []
    for node in nodes_of(source):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            lines = node.end_lineno - node.lineno + 1
            if lines > FUNCTION_LINES:
                found.append(f"{name}: {node.name} has {lines} lines, at most {FUNCTION_LINES}")
    for number, line in enumerate(source.splitlines(), 1):
        if len(line) > COLUMNS:
            found.append(f"{name}:{number}: {len(line)} columns, at most {COLUMNS}")
    return found


def test_files_are_short():
    sources = read_sources(*FOLDERS, "tests")
    assert [line for item in sources.items() for line in long_file(*item)] == []


def test_functions_and_lines_are_short():
    sources = read_sources(*FOLDERS)
    assert [line for item in sources.items() for line in long_functions_and_lines(*item)] == []


def test_planted_file_of_701_lines_is_found():
    assert long_file("a.py", "x = 1\n" * 700) == []
    assert long_file("a.py", "x = 1\n" * 701) == ["a.py: 701 lines, at most 700"]


def test_planted_function_of_61_lines_is_found():
    body = "@decorator\ndef f():\n" + "    x = 1\n" * 59
    assert long_functions_and_lines("a.py", body) == []
    assert long_functions_and_lines("a.py", body + "    x = 1\n") == [
        "a.py: f has 61 lines, at most 60"
    ]


def test_planted_line_of_101_columns_is_found():
    assert long_functions_and_lines("a.py", "#" * 100) == []
    assert long_functions_and_lines("a.py", "\n" + "#" * 101) == [
        "a.py:2: 101 columns, at most 100"
    ]
