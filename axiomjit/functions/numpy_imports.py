"""Change the trees of modules so that `numpy` is `axiomjit.numpy` in them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

DROP_IN: Final = "axiomjit.numpy"


def rebind_imports(tree: ast.AST) -> None:
    """Replace all imports of NumPy in a tree by imports of `axiomjit.numpy`, at the same places."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            node.names = [name for alias in node.names for name in _imported(alias)]
        elif isinstance(node, ast.ImportFrom):
            if node.level == 0 and is_numpy(node.module):
                node.module = f"axiomjit.{node.module}"
        elif isinstance(node, ast.Call) and node.args:
            _rebind_call(node, node.args[0])


def is_numpy(name: object) -> bool:
    """True for the name of NumPy or of a module in it."""
    return isinstance(name, str) and f"{name}.".startswith("numpy.")


def _imported(alias: ast.alias) -> Iterator[ast.alias]:
    """A name of an import statement, or the name that replaces it."""
    if not is_numpy(alias.name):
        yield alias
        return
    for name in dict.fromkeys([alias.name, alias.name if alias.asname else "numpy"]):
        new = ast.alias(f"axiomjit.{name}", alias.asname or "numpy")
        yield ast.copy_location(new, alias)  # `import numpy.fft` binds numpy, after the import


def _rebind_call(call: ast.Call, named: ast.expr) -> None:
    """Change the name in `import_module("numpy")` and `__import__("numpy")`, also of submodules."""
    if not isinstance(named, ast.Constant) or not is_numpy(named.value):
        return
    called = getattr(call.func, "attr", getattr(call.func, "id", ""))
    if called == "import_module":
        named.value = f"axiomjit.{named.value!s}"
    elif called == "__import__" and named.value == "numpy" and not (call.args[1:] or call.keywords):
        named.value, names = DROP_IN, ast.List([ast.Constant("ndarray")], ast.Load())
        call.keywords = [ast.keyword("fromlist", names)]  # otherwise it returns axiomjit
        ast.fix_missing_locations(call)
