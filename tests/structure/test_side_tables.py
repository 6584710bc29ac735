"""What lives beside the graph is listed once, with its reason: in the docstring of `dispatch`.

Tables that the process keeps, context variables, values of threads, and installs.
"""

import ast
import re

import pytest

from tests.structure.sources import ROOT, parsed, read_sources

PAGE = "axiomjit/dispatch/__init__.py"
FOLDERS = ("axiomjit", "passes", "runtime")
WEAK = {"WeakKeyDictionary", "WeakValueDictionary", "WeakSet"}
KEPT = {
    "ContextVar",
    "ProgramTable",
    "Table",
    "BoundedTable",
    "KernelCache",
    "dict",
    "OrderedDict",
    "defaultdict",
}
ROW = re.compile(r"^- `([\w/]+\.py)` `(\w+)`: (.+)$", re.MULTILINE)


def last_name(node):
    """The name of a class or function as it is used: of `weakref.WeakSet[int]` it is WeakSet."""
    node = node.value if isinstance(node, ast.Subscript) else node
    return getattr(node, "attr", getattr(node, "id", ""))


def thread_locals(tree):
    """Classes whose instances have other values in each thread."""
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return {"local"} | {c.name for c in classes if "local" in map(last_name, c.bases)}


def is_table(value, kinds):
    """Whether a value is a new table: one of these kinds without entries, or an empty `{}`."""
    if isinstance(value, ast.Call):
        name = last_name(value.func)
        filled = name in ("dict", "OrderedDict") and (value.args or value.keywords)
        return name in kinds and not filled
    return "dict" in kinds and isinstance(value, ast.Dict) and not value.keys


def tables(nodes, kinds):
    """Names, or attributes, that such values are assigned to."""
    for node in nodes:
        if isinstance(node, ast.Assign | ast.AnnAssign) and is_table(node.value, kinds):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from map(last_name, targets)


def installs(tree):
    """Functions `install_*`, and module variables that another function gives a new value."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            if node.name.startswith("install"):
                yield node.name
            else:
                yield from (n for g in node.body if isinstance(g, ast.Global) for n in g.names)


def found_in(source):
    """The names of what a file keeps beside the graph; weak tables of instances too."""
    tree = parsed(source)
    module = tables(tree.body, WEAK | KEPT | thread_locals(tree))
    return {*module, *tables(ast.walk(tree), WEAK), *installs(tree)}


def listed(text):
    """The rows of the docstring: path and name, in their order."""
    return [(path, name) for path, name, _ in ROW.findall(ast.get_docstring(parsed(text)) or "")]


def test_the_list_is_complete_and_true():
    found = {
        (path, name) for path, text in read_sources(*FOLDERS).items() for name in found_in(text)
    }
    rows = listed((ROOT / PAGE).read_text(encoding="utf-8"))
    assert sorted(rows) == sorted(found)


@pytest.mark.parametrize(
    ("source", "names"),
    [
        ("_t: Final[WeakKeyDictionary[A, B]] = WeakKeyDictionary()", {"_t"}),
        ("_t = weakref.WeakSet()", {"_t"}),
        ("class A:\n def f(self):\n  self._t: X = WeakValueDictionary()", {"_t"}),
        ("_v: ContextVar[int] = ContextVar('v', default=0)", {"_v"}),
        ("class A(threading.local): ...\n_a = A()", {"_a"}),
        ("_p: Final = ProgramTable(3)", {"_p"}),
        ("_d: Final[dict[str, int]] = {}", {"_d"}),
        ("_d = OrderedDict()", {"_d"}),
        ("def install_it(x):\n global _x\n _x = x", {"install_it"}),
        ("def change():\n global _x\n _x = 1", {"_x"}),
        ("T = {'a': 1}\nS = dict(a=1)\ndef f():\n d = {}\n t = Table(2)", set()),
        ("class A:\n def f(self):\n  self.d = {}", set()),
    ],
)
def test_planted_tables_are_found(source, names):
    assert found_in(source) == names


def test_planted_rows_are_read():
    text = '"""Runs.\n\n- `a/b.py` `_t`: one reason\n- `c.py` no name\n\nMay import `base`.\n"""'
    assert listed(text) == [("a/b.py", "_t")]
