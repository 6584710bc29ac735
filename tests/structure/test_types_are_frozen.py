"""Nodes cannot change, IR fields are typed, and few lines are excused from the checkers."""

import ast
import fnmatch
import io
import re
import tokenize

import pytest

from tests.structure.sources import FOLDERS, nodes_of, read_sources

MAY_SET = (
    *("axiomjit/base/records.py", "axiomjit/graph/nodes.py"),
    # They do what the user's own code does to the user's objects.
    *(f"axiomjit/functions/{name}.py" for name in ("calls", "effects", "hooks")),
)
WITHOUT_ANY = ("passes/*_ir.py", "axiomjit/graph/nodes.py")
EXCUSE = re.compile(r"#\s*(type:\s*ignore|(?:ruff:\s*|flake8:\s*)?noqa)", re.IGNORECASE)
CODED = re.compile(r"#\s*(type:\s*ignore\[[\w-]+|(?:ruff:\s*)?noqa:\s*[A-Z]+\d+)", re.IGNORECASE)


def mutations(sources: dict[str, str]) -> list[str]:
    """Uses of `object.__setattr__` outside the files whose constructors freeze."""
    return [
        f"{name}:{node.lineno}: object.__setattr__"
        for name, source in sources.items()
        if name not in MAY_SET
        for node in nodes_of(source)
        if isinstance(node, ast.Attribute) and ast.unparse(node) == "object.__setattr__"
    ]


def loose_types(sources: dict[str, str]) -> list[str]:
    """Uses of `Any` in the files that declare IR."""
    found = []
    for name, source in sources.items():
        if any(fnmatch.fnmatch(name, pattern) for pattern in WITHOUT_ANY):
            for node in nodes_of(source):
                words = (getattr(node, field, None) for field in ("id", "attr", "name"))
                if "Any" in words:
                    found.append(f"{name}:{node.lineno}: Any")
    return found


def excuses(sources: dict[str, str]) -> list[str]:
    """Comments that silence a checker."""
    found = []
    for name, source in sources.items():
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT and EXCUSE.search(token.string):
                found.append(f"{name}:{token.start[0]}: {token.string}")
    return found


def too_many_excuses(sources: dict[str, str]) -> list[str]:
    """Excuses without a code; all of them if there is more than one per 1,000 lines."""
    found = excuses(sources)
    allowed = max(3, sum(len(source.splitlines()) for source in sources.values()) // 1000)
    return found if len(found) > allowed else [line for line in found if not CODED.search(line)]


@pytest.mark.parametrize("check", [mutations, loose_types, too_many_excuses])
def test_the_tree_passes(check):
    assert check(read_sources(*FOLDERS)) == []


def test_planted_mutation_is_found():
    source = "def f(node):\n    object.__setattr__(node, 'shape', ())\n"
    assert mutations({"axiomjit/graph/nodes.py": source}) == []
    assert mutations({"passes/fuse.py": source}) == ["passes/fuse.py:2: object.__setattr__"]


@pytest.mark.parametrize(
    "source",
    [
        "from typing import Any",
        "import typing\nx: typing.Any",
        "def f(x: 'int') -> list[Any]: ...",
    ],
)
def test_planted_any_is_found(source):
    assert loose_types({"passes/rewrite.py": source}) == []
    assert loose_types({"passes/ir/loop_ir.py": source})
    assert loose_types({"axiomjit/graph/nodes.py": source})


@pytest.mark.parametrize("comment", ["# type: ignore", "# noqa", "# ruff: noqa", "# NOQA :"])
def test_planted_excuse_without_code_is_found(comment):
    assert too_many_excuses({"a.py": f"x = 1  {comment}"}) == [f"a.py:1: {comment}"]


def test_planted_fourth_excuse_in_few_lines_is_found():
    source = "x = 1  # type: ignore[misc]\n" + "y = '# noqa'  # noqa: E501\n" * 2
    assert too_many_excuses({"a.py": source}) == []
    assert len(too_many_excuses({"a.py": source + "z = 1  # noqa: E741\n"})) == 4
    assert too_many_excuses({"a.py": source + "z = 1  # noqa: E741\n" + "\n" * 4000}) == []
