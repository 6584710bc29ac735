"""What was two mechanisms exists once."""

import ast
import re

import pytest

from tests.structure.sources import FOLDERS, read_sources

KIND = re.compile(r'\.kind (?:not )?(?:in|==|!=) "[biufc]{1,4}"')


def kinds_tested(sources):
    """Files that test letters of dtypes in place of the predicates of `base/dtypes.py`."""
    return {path for path, text in sources.items() if KIND.search(text)}


def installs(sources):
    """Functions that install others, by file."""
    return {
        (path, node.name)
        for path, text in sources.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef) and node.name.startswith("install")
    }


def evictions(sources):
    """Files that drop the oldest entry of a table themselves."""
    return {path for path, text in sources.items() if ".popitem(last=False)" in text}


def test_one_seat_for_dtypes():
    assert kinds_tested(read_sources(*FOLDERS)) == {"axiomjit/base/dtypes.py"}


def test_one_registry():
    assert installs(read_sources("axiomjit", "passes")) == {
        ("axiomjit/graph/execution.py", "install")
    }


def test_one_bounded_table():
    """That of kernels drops those that were not run for longest."""
    found = evictions(read_sources(*FOLDERS))
    assert found == {"axiomjit/base/bounded_tables.py", "runtime/compiling/kernel_cache.py"}


@pytest.mark.parametrize(
    ("find", "text"),
    [
        (kinds_tested, 'if node.dtype.kind in "fc": ...'),
        (installs, "def install_it(x): ..."),
        (evictions, "table.popitem(last=False)"),
    ],
)
def test_planted_doubles_are_found(find, text):
    assert find({"a.py": text})
