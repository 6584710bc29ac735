"""Imports in functions: other threads may fork meanwhile, so no fork may cut them in two."""

import ast

import pytest

from tests.structure.sources import nodes_of, read_sources

LOADED = ("numpy._core",)
"""Parts of NumPy that are there once it is imported."""
HELD = {
    "axiomjit/base/target.py": {"find_target", "_known", "_host"},
    "axiomjit/axis/axes.py": {"_no_axis_named"},
    "runtime/codegen/compile_source.py": {"_namespace"},
    "runtime/object_cache/store.py": {"compiled", "run_passes"},
    "runtime/execution/library_calls.py": {"_libraries"},
}
"""Functions that are called under FORKS_WAIT, that report errors, or that import a library of which
compiled code knows nothing."""


def torn_imports(source, held=()):
    """The functions, and lines, that import modules while another thread may fork."""
    for function in nodes_of(source):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef) and (
            function.name not in held
        ):
            safe = any(
                isinstance(node, ast.Call)
                and getattr(node.func, "id", "") == "lazy_import"
                or isinstance(node, ast.With)
                and "FORKS_WAIT" in ast.unparse(node.items[0])
                for node in ast.walk(function)
            )
            for node in ast.walk(function):
                if isinstance(node, ast.Import | ast.ImportFrom) and not safe:
                    module = getattr(node, "module", None) or node.names[0].name
                    if not module.startswith(LOADED):
                        yield function.name, node.lineno


FOLDERS = (
    "base",
    "dispatch",
    "graph",
    "functions",
    "tracing",
    "accumulators",
    "notation",
    "axis",
    "debug",
    "views",
)


def test_functions_import_while_no_thread_forks():
    sources = read_sources("passes", "runtime", *(f"axiomjit/{folder}" for folder in FOLDERS))
    found = {path: [*torn_imports(text, HELD.get(path, ()))] for path, text in sources.items()}
    assert {path: lines for path, lines in found.items() if lines} == {}


@pytest.mark.parametrize(
    ("body", "count"),
    [
        ("import json", 1),
        ("from axiomjit.debug import lowered", 1),
        ("from numpy._core import umath", 0),
        ("lazy_import('json')\n    import json", 0),
        ("with FORKS_WAIT:\n        import json", 0),
    ],
)
def test_imports_are_found(body, count):
    assert len([*torn_imports(f"def f():\n    {body}")]) == count
