"""The project's own source files, as the structure tests read them."""

import ast
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FOLDERS = ("axiomjit", "passes", "runtime", "bench")
clone_only = pytest.mark.skipif(
    not (ROOT / "axiomjit" / "passes").is_symlink(),
    reason="this is an unpacked source distribution, not a clone",
)


def python_files(*folders: str) -> list[Path]:
    """All Python files below the folders of the root, symbolic links left out."""
    found = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sorted(path for path in found if path.resolve() == path)


def read_sources(*folders: str) -> dict[str, str]:
    """The text of each file, by its path below the root."""
    return dict(_read(*folders))


@cache
def _read(*folders: str) -> dict[str, str]:
    return {
        path.relative_to(ROOT).as_posix(): path.read_text(encoding="utf-8")
        for path in python_files(*folders)
    }


@cache
def parsed(source: str) -> ast.Module:
    """The tree of a text, which all rules share: none changes it."""
    return ast.parse(source)


@cache
def nodes_of(source: str) -> tuple[ast.AST, ...]:
    """All nodes of the tree of a text."""
    return tuple(ast.walk(parsed(source)))
